"""Functions of ``numpy.ma`` that convert what they are given; gradients are differences."""

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative

X = np.array([[1.5, 0.7, 2.2], [0.4, 1.9, 1.1]])
MASK = np.array([[False, True, False], [False, False, True]])
WEIGHTS = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 2.5]])
LAST = np.array([[True, False, False], [True, False, False]])


def masked(x, mask=MASK):
    return np.ma.array(x, mask=mask)


PROGRAMS = {
    "average": lambda x: np.ma.average(masked(x)),
    "average weights": lambda x: np.ma.average(masked(x), weights=WEIGHTS * x),
    "average axis": lambda x: (np.ma.average(masked(x), axis=0) * [1.0, 2.0, 3.0]).sum(),
    "average line": lambda x: np.ma.average(masked(x), axis=1, weights=[1.0, 2.0, 3.0]).sum() ** 2,
    "average returned": lambda x: sum(v.sum() for v in np.ma.average(masked(x), 1, WEIGHTS, True)),
    "average of none": lambda x: np.ma.average(masked(x, LAST), axis=0).sum(),
    "where": lambda x: (np.ma.where(masked(x) > 1, masked(x) ** 2, 3 * x) * WEIGHTS).sum(),
    "where number": lambda x: np.ma.where(x > 1, masked(x), 0.0).sum(),
    "median": lambda x: np.ma.median(masked(x)),
    "median line": lambda x: np.ma.median(masked(x)[0], axis=0),
    "clip": lambda x: (np.ma.clip(masked(x), 1.0, 2.0) * WEIGHTS).sum(),
    "stack": lambda x: (np.ma.stack([masked(x), x**2]) * np.stack([WEIGHTS, WEIGHTS])).sum(),
    "vstack": lambda x: (np.ma.vstack([masked(x), x]).sum(axis=0) * WEIGHTS[0]).sum(),
    "hstack": lambda x: (np.ma.hstack([x, masked(x)])[0] * np.arange(6.0)).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    f = PROGRAMS[name]
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    expected = np.empty_like(X)
    for i in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[i] = 1e-5
        expected[i] = (f(X + step) - f(X - step)) / 2e-5
    np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9)


def test_masks_are_numpys():
    def f(x):
        made = np.ma.where(masked(x) > 1, masked(x), x)
        plain = np.ma.where(masked(X) > 1, masked(X), X)
        assert np.array_equal(np.ma.getmaskarray(made), np.ma.getmaskarray(plain))
        stacked = np.ma.stack([masked(x), x])
        assert np.array_equal(np.ma.getmaskarray(stacked)[0], MASK)
        none = np.ma.average(masked(x, LAST), axis=0)
        assert np.ma.getmaskarray(none).tolist() == [True, False, False]
        return x.sum()

    npgrad.grad(f)(X)


def test_a_median_along_an_axis_is_refused():
    with pytest.raises(NoDerivative, match="median along an axis"):
        npgrad.grad(lambda x: np.ma.median(masked(x), axis=0).sum())(X)


@pytest.mark.parametrize("name", ["sum", "mean", "cumsum", "var", "clip", "reshape", "conj"])
def test_a_method_has_its_name(name):
    """Packages of units look it up, and lost the unit: the method was called `method`."""
    assert getattr(npgrad.array(X), name).__name__ == name or name == "conj"
