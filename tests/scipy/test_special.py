"""``npgrad.scipy.special`` against SciPy's functions and differences of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as theirs

import npgrad
from npgrad.scipy import special as ours
from tests.scipy.checks import check

X = np.array([[1.0, 2.0, -1.0], [0.5, 3.0, 0.1]])
B = np.array([[0.5, 1.5, 2.0], [1.0, -0.4, 0.3]])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    check(
        lambda x: ours.logsumexp(x, axis=axis, keepdims=keepdims),
        lambda x: theirs.logsumexp(x, axis=axis, keepdims=keepdims),
        X,
    )


def test_logsumexp_weights():
    check(
        lambda x, b: ours.logsumexp(x, axis=1, b=b),
        lambda x, b: theirs.logsumexp(x, axis=1, b=b),
        X,
        np.abs(B),
    )
    check(
        lambda x, b: ours.logsumexp(x, 0, b, return_sign=True)[0],
        lambda x, b: theirs.logsumexp(x, 0, b, return_sign=True)[0],
        X,
        -B,
    )
    signs = npgrad.vjp(lambda x: ours.logsumexp(x, 0, -B, return_sign=True), X)[0][1]
    assert np.array_equal(signs, theirs.logsumexp(X, 0, -B, return_sign=True)[1])


def test_logsumexp_broadcasts_weights():
    check(
        lambda x, b: ours.logsumexp(x, axis=0, b=b),
        lambda x, b: theirs.logsumexp(x, axis=0, b=b),
        X,
        np.array([[0.5], [2.0]]),
    )


def test_logsumexp_of_infinities():
    inf = np.inf
    gradient = npgrad.grad(lambda x: np.sum(ours.logsumexp(x, axis=1)))
    rows = np.array([[inf, 0.0, inf], [-inf, 0.0, 0.0]])
    assert np.array_equal(gradient(rows), [[0.5, 0, 0.5], [0, 0.5, 0.5]])


def test_logsumexp_of_a_number_and_of_a_list():
    assert npgrad.grad(ours.logsumexp)(2.0) == 1.0
    assert npgrad.grad(lambda x: ours.logsumexp([x, 2 * x]))(0.0) == 1.5


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_softmax(name, axis):
    check(
        lambda x: getattr(ours, name)(x, axis=axis),
        lambda x: getattr(theirs, name)(x, axis=axis),
        X,
    )


@pytest.mark.parametrize("n", [0, 1, 3])
def test_polygamma(n):
    check(lambda x: ours.polygamma(n, x), lambda x: theirs.polygamma(n, x), np.abs(X), single=False)


def test_the_order_of_polygamma_has_no_derivative():
    with pytest.raises(npgrad.errors.NoDerivative, match="with respect to the order"):
        npgrad.grad(lambda n: ours.polygamma(n, 1.0))(1.0)
    orders = npgrad.grad(lambda x: np.sum(ours.polygamma(np.array([0.0, 1.0]), x)))  # constants
    assert orders(2.0) == pytest.approx(theirs.polygamma(1, 2.0) + theirs.polygamma(2, 2.0))


@pytest.mark.parametrize("d", [1, 3])
def test_multigammaln(d):
    check(lambda a: ours.multigammaln(a, d), lambda a: theirs.multigammaln(a, d), X + 3)
    with pytest.raises(ValueError, match="condition"):
        npgrad.grad(lambda a: ours.multigammaln(a, 3))(0.5)


def test_other_names_are_scipys():
    assert ours.erf is theirs.erf
    assert npgrad.grad(ours.erf)(0.0) == pytest.approx(2 / np.sqrt(np.pi))


def test_of_a_sum_that_is_nan_every_gradient_is_nan():
    """The logarithm of a negative sum: SciPy's value is NaN, and says so."""
    b = np.array([[1.0, 1.0, -5.0], [1.0, 2.0, 3.0]])
    f = lambda x, b: ours.logsumexp(x, axis=1, b=b)
    value, pull = npgrad.vjp(f, 0 * X, b)
    assert np.array_equal(np.isnan(value), [True, False])
    for gradient in pull(np.ones(2)):
        assert np.all(np.isnan(gradient[0])) and np.all(np.isfinite(gradient[1]))
    for gradient in pull(np.array([0.0, 1.0])):  # not asked for
        assert np.all(gradient[0] == 0)
    tangent = npgrad.jvp(f, (0 * X, b), (np.ones_like(X), b))[1]
    assert np.array_equal(np.isnan(tangent), [True, False])


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_where_the_value_is_nan_so_is_the_gradient(name):
    f = getattr(ours, name)
    for bad in (np.nan, np.inf) if name != "logsumexp" else (np.nan,):
        with np.errstate(invalid="ignore"):
            value, pull = npgrad.vjp(lambda x, f=f: f(x), np.array([bad, 0.0, bad]))
            assert np.all(np.isnan(np.atleast_1d(value)[0]))
            assert np.any(np.isnan(pull(np.ones_like(value))[0]))


def test_an_entry_of_weight_zero_has_no_part_however_large_it_is():
    b, x = np.array([0.0, 1.0]), np.array([1000.0, 1.0])
    f = lambda x: ours.logsumexp(x, b=b)
    assert np.array_equal(npgrad.grad(f)(x), [0, 1])
    assert npgrad.jvp(f, (x,), (np.array([1.0, 0.0]),))[1] == 0
    assert np.array_equal(npgrad.hessian(f)(x), np.zeros((2, 2)))
    near = np.array([3.0, 1.0])
    mixed = npgrad.jacobian(lambda b: npgrad.grad(lambda x: ours.logsumexp(x, b=b))(near))(b)
    assert mixed[0, 0] == pytest.approx(np.exp(2.0))  # of b exp(x) / sum
