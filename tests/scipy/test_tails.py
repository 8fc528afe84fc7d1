"""Logarithms of distribution functions that are too small for a number, beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.scipy import stats

INF = np.inf

# Fifty digits: the value and the derivative by each argument
DIGITS = [
    (stats.gamma.logsf, (800.0, 2.2), (-792.07391414340072, -0.99850187312570767,
                                       6.1415686007782443)),
    (stats.gamma.logsf, (2000.0, 300.0), (-1136.3704043909193, -0.85058776824962193,
                                          1.8993750006963691)),
    (stats.gamma.logcdf, (20.0, 400.0), (-822.15663336040943, 19.002623951058525,
                                         -2.997112606064953)),
    (stats.beta.logcdf, (0.01, 200.0, 3.5), (-908.99245117155691, 19997.487438132946,
                                             -4.5927791041265586, 4.200050271164265)),
    (stats.t.logcdf, (-1e6, 60.0), (-709.07057390110979, 5.9999999996458065e-5,
                                    -11.276602175441323)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(DIGITS)))
def test_beside_fifty_digits(case):
    f, args, (value, *slopes) = DIGITS[case]
    which = tuple(range(len(args)))
    assert npgrad.vjp(f, *args)[0] == pytest.approx(value, rel=1e-13)
    assert npgrad.grad(f, which)(*args) == pytest.approx(slopes, rel=1e-11)
    for i in which:
        move = tuple(float(i == j) for j in which)
        assert npgrad.jvp(f, args, move)[1] == pytest.approx(slopes[i], rel=1e-11)


# One variable: a closed form of the logarithm, its first and second derivative
CLOSED = {
    "gamma": (lambda x: stats.gamma.logsf(x, 2.0), 800.0, lambda x: np.log1p(x) - x),
    "gamma scaled": (lambda x: stats.gamma.logsf(x, 1.0, scale=0.5), 400.0, lambda x: -2 * x),
    "chi2": (lambda x: stats.chi2.logsf(x, 2.0), 1600.0, lambda x: -0.5 * x),
    "chi2 from below": (lambda x: stats.chi2.logcdf(x, 2.0), 1e-300, lambda x: np.log(x / 2)),
    "beta": (lambda x: stats.beta.logsf(x, 1.0, 400.0), 0.9, lambda x: 400 * np.log1p(-x)),
    "beta from below": (
        lambda x: stats.beta.logcdf(x, 300.0, 1.0),
        0.05,
        lambda x: 300 * np.log(x),
    ),
    "t": (lambda t: stats.t.logsf(t, 1.0), 1e300, lambda t: -np.log(np.pi * t)),
    "t of two": (lambda t: stats.t.logcdf(t, 2.0), -1e150, lambda t: -np.log(2 * t * t)),
    "poisson": (lambda mu: stats.poisson.logcdf(1, mu), 800.0, lambda mu: np.log1p(mu) - mu),
    "poisson from above": (lambda mu: stats.poisson.logsf(0, mu), 1e-300, np.log),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    f, x, want = CLOSED[name]
    assert npgrad.vjp(f, x)[0] == pytest.approx(want(x), rel=1e-12)
    first = npgrad.grad(want)(x)
    assert npgrad.grad(f)(x) == pytest.approx(first, rel=1e-9)
    assert npgrad.jvp(f, (x,), (1.0,))[1] == pytest.approx(first, rel=1e-9)
    if abs(np.log10(x if x > 0 else -x)) < 100:
        second = npgrad.grad(npgrad.grad(want))(x)
        assert npgrad.grad(npgrad.grad(f))(x) == pytest.approx(second, rel=1e-7, abs=1e-12)
        assert npgrad.hvp(f, x, 1.0) == pytest.approx(second, rel=1e-7, abs=1e-12)
    both = npgrad.grad(lambda x: np.sum(f(x)))(np.array([x, 0.5]))
    np.testing.assert_allclose(both, [first, npgrad.grad(f)(0.5)], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (stats.gamma.logcdf, (0.0, 2.2)),
        (stats.beta.logcdf, (0.0, 2.0, 3.0)),
        (stats.chi2.logcdf, (0.0, 3.0)),
        (stats.expon.logcdf, (0.0,)),
    ],
)
def test_at_the_end_of_the_support_the_slope_is_infinite(f, args):
    assert npgrad.grad(f)(*args) == INF
    assert npgrad.jvp(lambda x: f(x, *args[1:]), (0.0,), (1.0,))[1] == INF


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_poisson_at_the_rate_zero():
    """log(mu^(k+1) / (k+1)!) has the slope (k+1) / mu."""
    f = lambda mu: stats.poisson.logsf(np.arange(3), mu)
    for jacobian in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_array_equal(jacobian(f)(0.0), [INF, INF, INF])


def test_single_precision_is_kept():
    x = np.array([800.0, 1.0], np.float32)
    value, pull = npgrad.vjp(lambda x: stats.gamma.logsf(x, np.float32(2)), x)
    assert value.dtype == np.float32 and pull(np.ones_like(value))[0].dtype == np.float32
    np.testing.assert_allclose(value, np.log1p(x) - x, rtol=1e-5)


# value, and the derivative by the first argument, where the law is at an end of what SciPy takes
AT_INFINITY = [
    (stats.gamma.logsf, (INF, 2.0), -INF, None),
    (stats.beta.logcdf, (0.5, INF, 2.0), -INF, None),
    (stats.poisson.logcdf, (1, INF), -INF, None),
    (stats.beta.cdf, (0.5, INF, 2.0), 0.0, 0.0),
    (stats.beta.sf, (0.5, 2.0, INF), 0.0, 0.0),
    (stats.gamma.cdf, (0.5, INF), 0.0, 0.0),
    (stats.chi2.sf, (0.5, INF), 1.0, 0.0),
    (stats.t.pdf, (INF, 3.0), 0.0, 0.0),
    (stats.t.cdf, (-INF, 3.0), 0.0, 0.0),
    (stats.t.sf, (-INF, INF), 1.0, 0.0),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", range(len(AT_INFINITY)))
def test_at_infinite_points_and_shapes(case):
    f, args, value, slope = AT_INFINITY[case]
    assert npgrad.vjp(lambda *shapes: f(args[0], *shapes), *args[1:])[0] == value
    if slope is not None:
        which = tuple(range(len(args)))
        assert npgrad.grad(f, which)(*args) == (slope,) * len(args)
        assert npgrad.jvp(f, args, (1.0,) * len(args))[1] == slope
