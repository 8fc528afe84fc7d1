"""``np.testing`` inside of a differentiated function: it compares values, and fails as NumPy's."""

import numpy as np
import numpy.testing as npt
import pytest
from numpy.testing import assert_allclose, assert_array_less

import npgrad

X = np.array([0.4, 1.2])


def by_module(x):
    rotation = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(2), atol=1e-12)
    return rotation[1, 0]


def by_alias(x):
    npt.assert_array_equal(x, X)
    npt.assert_equal({"a": [x[0], 2 * x[1]]}, {"a": [X[0], 2 * X[1]]})
    npt.assert_almost_equal(actual=x[0], desired=X[0])
    return np.sin(x[0])


def by_name(x):
    assert_allclose(x, X, rtol=1e-12)
    assert_array_less(x - 1e-9, X)
    return np.sin(x[0])


@pytest.mark.parametrize("f", [by_module, by_alias, by_name])
def test_assertions_that_hold(f) -> None:
    for _ in range(3):
        assert_allclose(npgrad.grad(f)(X), [np.cos(0.4), 0], rtol=1e-12)


def wrong(x):
    np.testing.assert_allclose(x, X + 1, rtol=1e-3)
    return x[0]


def test_an_assertion_that_fails_does() -> None:
    for _ in range(3):
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            npgrad.grad(wrong)(X)


def test_the_modules_are_as_before() -> None:
    before = npt.assert_allclose, np.testing.assert_allclose, assert_allclose
    npgrad.grad(by_name)(X)
    assert before == (npt.assert_allclose, np.testing.assert_allclose, assert_allclose)
