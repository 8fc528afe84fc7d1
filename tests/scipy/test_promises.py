"""What holds for all stand-ins: signatures, imports, Jacobians by either mode, leaves."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import npgrad
from npgrad.scipy import linalg, ndimage, signal, special, stats
from npgrad.scipy.spatial import distance

CHAPTERS = [
    "special",
    "linalg",
    "spatial.distance",
    "ndimage",
    "signal",
    "integrate",
    "interpolate",
]
X = np.random.default_rng(2).normal(size=(3, 3)) + 3 * np.eye(3)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_signatures_are_scipys(chapter):
    ours = importlib.import_module(f"npgrad.scipy.{chapter}")
    theirs = importlib.import_module(f"scipy.{chapter}")
    for name in ours.__all__:
        mine = inspect.signature(getattr(ours, name)).parameters
        wanted = inspect.signature(getattr(theirs, name)).parameters
        keywords = any(p.kind is p.VAR_KEYWORD for p in mine.values())
        positional = [n for n, p in wanted.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if keywords:
            assert list(mine)[: len(positional)][:4] == positional[:4], name
        else:
            assert [n for n in mine if n in wanted] == list(wanted), name
        for parameter in positional:
            if parameter in mine and mine[parameter].default is not inspect.Parameter.empty:
                default = wanted[parameter].default
                simple = isinstance(default, (int, float, str, bool, tuple, type(None)))
                assert not simple or mine[parameter].default == default, (name, parameter)


@pytest.mark.parametrize("chapter", [*CHAPTERS, "stats", "sparse"])
def test_a_name_that_neither_has_is_an_attribute_error(chapter):
    module = importlib.import_module(f"npgrad.scipy.{chapter}")
    with pytest.raises(AttributeError):
        module.no_such_function


def test_scipy_is_imported_with_the_first_chapter():
    code = (
        "import sys, npgrad, npgrad.scipy, npgrad.compat.autograd.numpy\n"
        "assert not any(m == 'scipy' or m.startswith('scipy.') for m in sys.modules)\n"
        "npgrad.scipy.special.softmax\n"
        "assert 'scipy.special' in sys.modules and 'scipy.stats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.logsumexp(x, axis=0),
        lambda x: special.softmax(x, axis=1),
        lambda x: linalg.solve(x, x[:, :2], assume_a="sym"),
        lambda x: linalg.solve_triangular(x, x[0], lower=True),
        linalg.expm,
        lambda x: linalg.sqrtm(x @ x.T),
        lambda x: linalg.solve_sylvester(x, x.T, x),
        lambda x: linalg.solve_banded((1, 1), x, x[1]),
        lambda x: linalg.cholesky(x @ x.T),
        lambda x: stats.gamma.logpdf(np.abs(x), 2.0, scale=np.abs(x[0])),
        lambda x: stats.multivariate_normal.logpdf(x, x[0], x @ x.T, allow_singular=True),
        lambda x: distance.cdist(x, x[:2]),
        lambda x: ndimage.correlate(x, x[:2, :2]),
        lambda x: signal.convolve(x, x[:2], mode="same"),
        lambda x: signal.fftconvolve(x, x[:2], mode="valid"),
        lambda x: signal.lfilter(x[0], x[1] + 2, x),
    ],
)
def test_jacobians_agree_by_both_modes(f):
    """Rows in one batched sweep, columns in one batched sweep."""
    np.testing.assert_allclose(npgrad.jacrev(f)(X), npgrad.jacfwd(f)(X), rtol=1e-9, atol=1e-10)


def test_leaves_and_stores():
    x = npgrad.array(X)
    store = np.sum(linalg.expm(0.1 * x) * special.softmax(x)).backward()
    f = lambda x: np.sum(linalg.expm(0.1 * x) * special.softmax(x))
    assert np.array_equal(store[x], npgrad.grad(f)(X))


def test_constants_made_in_the_function_are_constants():
    """In a differentiated function ``np.array([0.0, 1.0])`` is npgrad's, and still a constant."""
    from npgrad.scipy import integrate

    counts = lambda mu: np.sum(stats.poisson.logpmf(np.array([0.0, 1.0, 3.0]), mu))
    assert npgrad.grad(counts)(2.3) == pytest.approx(4 / 2.3 - 3, rel=1e-14)
    frozen = lambda mu: np.sum(stats.poisson(mu).logpmf(np.array([0.0, 1.0, 3.0])))
    assert npgrad.grad(frozen)(2.3) == pytest.approx(4 / 2.3 - 3, rel=1e-14)

    width, order = np.array([1.0, 0.7]), (1, 0)
    here = lambda x: np.sum(X * ndimage.gaussian_filter(x, np.array([1.0, 0.7]), order=order))
    there = npgrad.grad(lambda x: np.sum(X * ndimage.gaussian_filter(x, width, order=order)))
    np.testing.assert_allclose(npgrad.grad(here)(X), there(X), rtol=1e-14)

    def decay(rate):
        times = np.array([0.5, 1.0])
        return np.sum(
            integrate.solve_ivp(
                lambda t, y: -rate * y, np.array([0.0, 1.0]), np.array([1.0]), t_eval=times,
                rtol=1e-10, atol=1e-12,
            ).y
        )  # fmt: skip

    want = -0.5 * np.exp(-1.0) - np.exp(-2.0)
    assert npgrad.grad(decay)(2.0) == pytest.approx(want, rel=1e-8)

    def kinked(c):
        f = lambda x: np.where(x > 0.5, c * x, x)
        return integrate.quad(f, 0.0, 1.0, points=np.array([0.5]), full_output=True)[0]

    assert npgrad.grad(kinked)(2.0) == pytest.approx(0.375, rel=1e-14)

    chance = lambda c: c * stats.multivariate_normal.cdf(np.zeros(2), np.zeros(2), np.eye(2))
    assert npgrad.grad(chance)(2.0) == pytest.approx(0.25, rel=1e-6)


def test_what_has_no_derivative_is_refused_in_either_mode():
    refused = [
        lambda v: stats.poisson.logpmf([v, 1.0], 2.0),
        lambda v: stats.multivariate_normal.cdf(np.zeros(2), v * np.ones(2)),
    ]
    for f in refused:
        with pytest.raises(npgrad.errors.NoDerivative):
            npgrad.grad(lambda v, f=f: np.sum(f(v)))(1.0)
        with pytest.raises(npgrad.errors.NoDerivative):
            npgrad.jvp(f, (1.0,), (1.0,))
