"""``npgrad.scipy.integrate`` against SciPy's functions, differences and closed forms."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.integrate as theirs

import npgrad
from npgrad.scipy import integrate as ours
from tests.scipy.checks import check

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("name", ["trapezoid", "simpson", "cumulative_trapezoid"])
@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_samples(name, count):
    x = np.cumsum(0.5 + RNG.random(count))
    y = RNG.normal(size=(2, count))
    f, g = getattr(ours, name), getattr(theirs, name)
    check(lambda y: f(y, dx=0.3), lambda y: g(y, dx=0.3), y)
    check(f, g, y, x)
    check(lambda y, x: f(y, x, axis=0), lambda y, x: g(y, x, axis=0), y.T.copy(), x)


def test_quad_by_limits_and_parameters():
    f = lambda a, b, c: ours.quad(lambda x, c: np.exp(-c * x) * np.sin(x), a, b, args=(c,))[0]
    g = lambda a, b, c: theirs.quad(lambda x, c: np.exp(-c * x) * np.sin(x), a, b, args=(c,))[0]
    check(f, g, np.float64(0.3), np.float64(2.5), np.float64(0.7), single=False)
    check(f, g, np.float64(2.5), np.float64(0.3), np.float64(0.7), single=False)


def test_quad_of_a_closure_over_infinite_ranges():
    for low, high, share in [(-np.inf, np.inf, 1), (0, np.inf, 0.5), (-np.inf, 0, 0.5)]:
        ends = (low, high)
        f = lambda s, ends=ends: ours.quad(lambda x: np.exp(-((x / s) ** 2)), *ends)[0]
        assert npgrad.grad(f)(1.3) == pytest.approx(share * np.sqrt(np.pi), rel=1e-9)
        assert npgrad.grad(npgrad.grad(f))(1.3) == pytest.approx(0, abs=1e-7)
    lower = npgrad.grad(lambda a: ours.quad(lambda x: np.exp(-x), a, np.inf)[0])(0.5)
    assert lower == pytest.approx(-np.exp(-0.5), rel=1e-9)


def test_quad_refuses_what_it_cannot_sum():
    with pytest.raises(npgrad.errors.NoDerivative, match="singular"):
        npgrad.grad(lambda c: ours.quad(lambda x: c * x**-0.9, 0, 1)[0])(1.0)
    logarithm = npgrad.grad(lambda c: ours.quad(lambda x: c * np.log(x), 0, 1)[0])
    assert logarithm(1.0) == pytest.approx(-1, rel=1e-8)
    with pytest.raises(npgrad.errors.NoDerivative, match="weight"):
        npgrad.grad(lambda c: ours.quad(lambda x: c, 0, 1, weight="cos", wvar=2.0)[0])(1.0)


def test_plain_calls_are_scipys():
    assert ours.quad(np.sin, 0, 1) == theirs.quad(np.sin, 0, 1)
    times = np.linspace(0, 1, 4)
    decay = lambda y, t: -2 * y
    assert np.array_equal(ours.odeint(decay, 1.0, times), theirs.odeint(decay, 1.0, times))
    mine = ours.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=times)
    assert np.array_equal(mine.y, theirs.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=times).y)


def exact(y0, k, t):
    return y0 * np.exp(-k * (t - t[0]))


def test_odeint():
    """Against the closed form y0 exp(-k (t - t[0])), by everything that can vary."""
    t = np.array([0.0, 0.4, 0.5, 1.5])
    f = lambda y0, k, t: ours.odeint(lambda y, s, k: -k * y, y0, t, args=(k,))[:, 0]
    point = (np.float64(1.2), np.float64(0.8), t)
    moves = (np.float64(0.3), np.float64(-0.7), np.array([0.0, 0.1, -0.2, 0.3]))
    value, tangent = npgrad.jvp(f, point, moves)
    want, slope = npgrad.jvp(exact, point, moves)
    np.testing.assert_allclose(value, want, rtol=1e-7)
    np.testing.assert_allclose(tangent, slope, rtol=1e-6)
    weight = np.array([0.3, -1.0, 2.0, 0.7])
    for got, right in zip(
        npgrad.vjp(f, *point)[1](weight), npgrad.vjp(exact, *point)[1](weight), strict=True
    ):
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-7)
    second = npgrad.grad(npgrad.grad(lambda k: f(1.2, k, t)[-1]))(0.8)
    assert second == pytest.approx(1.2 * 1.5**2 * np.exp(-0.8 * 1.5), rel=1e-6)


def test_odeint_with_time_first_and_a_closure():
    f = lambda k: ours.odeint(lambda t, y: -k * y, [1.0], [0.0, 1.0], tfirst=True)[-1, 0]
    assert npgrad.grad(f)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-7)


def test_positions_are_scipys():
    for name in ("quad", "odeint", "solve_ivp", "trapezoid", "simpson"):
        assert [*inspect.signature(getattr(ours, name)).parameters] == [
            *inspect.signature(getattr(theirs, name)).parameters
        ]
    decay = lambda y, t: -y
    # after full_output come ml and mu, then rtol, atol, tcrit, h0, hmax
    settings = ((), None, 0, 0, None, None, 1e-10, 1e-10, None, 0.01, 0.05)
    f = lambda y0: ours.odeint(decay, y0, [0.0, 1.0], *settings)[-1, 0]
    assert abs(npgrad.grad(f)(2.0) - np.exp(-1.0)) < 1e-9
    calls = []
    counted = lambda y, t: (calls.append(t), -y)[1]
    counts = []
    for hmax in (0.0, 0.01):
        calls.clear()
        npgrad.grad(lambda y0, h: ours.odeint(counted, y0, [0.0, 1.0], hmax=h)[-1, 0])(2.0, hmax)
        counts.append(len(calls))
    assert counts[1] > 5 * counts[0]
    with pytest.raises(npgrad.errors.NoDerivative, match="tcrit"):
        npgrad.grad(lambda y0: ours.odeint(decay, y0, [0.0, 1.0], tcrit=[0.5])[-1, 0])(2.0)
    g = lambda c: ours.quad(lambda x: np.exp(-c * x), 0, 1, (), 0, 1e-12, 1e-12)[0]
    assert abs(npgrad.grad(g)(2.0) - (3 * np.exp(-2.0) - 1) / 4) < 1e-12
    with pytest.raises(npgrad.errors.NoDerivative, match="complex_func"):
        npgrad.grad(lambda c: ours.quad(lambda x: c * x, 0, 1, complex_func=True)[0])(2.0)
