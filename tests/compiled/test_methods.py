"""Methods of functions made by ``numba.vectorize``, and ``where=``."""

import numpy as np
import pytest

import npgrad

numba = pytest.importorskip("numba")

X = np.array([[0.3, -1.2, 2.5], [1.0, 0.2, -0.4]])


@numba.vectorize
def lazy(a, b):
    return a * b + 0.5 * a


@numba.vectorize(["f8(f8, f8)"])
def eager(a, b):
    return a * b + 0.5 * a


@numba.vectorize(["f8(f8, f8)"], identity=1)
def with_identity(a, b):
    return a * b


def plain(a, b):
    """The same function of arrays."""
    return a * b + 0.5 * a


def folded(x):
    total = x[0]
    for row in x[1:]:
        total = plain(total, row)
    return total


@pytest.mark.parametrize("f", [lazy, eager])
def test_reduce_and_accumulate(f):
    for axis, moved in ((0, X), (1, X.T), (-1, X.T)):
        gradient = npgrad.grad(lambda x, axis=axis: np.sum(np.sin(f.reduce(x, axis=axis))))(X)
        expected = npgrad.grad(lambda x: np.sum(np.sin(folded(x))))(moved)
        expected = expected if axis == 0 else expected.T
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    check = npgrad.testing.check_grads
    check(lambda x: f.reduce(x), (X,), order=2)
    check(lambda x: f.accumulate(x, axis=1), (X,), order=2)
    check(lambda x: f.reduceat(x, [0, 2], axis=1), (X,), order=1)
    np.testing.assert_array_equal(npgrad.value(f.accumulate(npgrad.array(X))), eager.accumulate(X))


@pytest.mark.parametrize("f", [lazy, eager])
def test_outer(f):
    value, pull = npgrad.vjp(lambda a, b: f.outer(a, b), X, X[0])
    assert value.shape == (2, 3, 3)
    np.testing.assert_array_equal(value, plain(X[..., None], X[0]))
    weight = np.arange(18.0).reshape(2, 3, 3)
    by_a, by_b = pull(weight)
    np.testing.assert_allclose(by_a, np.sum(weight * (X[0] + 0.5), axis=-1))
    np.testing.assert_allclose(by_b, np.sum(weight * X[..., None], axis=(0, 1)))


def test_an_identity():
    gradient = npgrad.grad(lambda x: with_identity.reduce(x, axis=(0, 1)))(X)
    np.testing.assert_allclose(gradient, np.prod(X) / X)
    assert npgrad.value(with_identity.reduce(npgrad.array(np.zeros(0)))) == 1.0


@pytest.mark.parametrize("f", [lazy, eager])
def test_where(f):
    mask = X > 0.0

    def g(x):
        out = np.zeros_like(x) + 2.0 * x
        f(x, x, out=out, where=mask)
        return out

    expected = np.where(mask, 2.0 * X + 0.5, 2.0)
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(g(x)))(X), expected)
    gradient = npgrad.grad(lambda x: np.sum(f(x, x, where=mask)))(X)
    np.testing.assert_allclose(gradient, np.where(mask, 2.0 * X + 0.5, 0.0))
    with pytest.raises(npgrad.errors.NoDerivative, match="dtype"):
        f(npgrad.array(X), X, dtype=np.float32)


def test_at_is_refused():
    with pytest.raises(npgrad.errors.NpgradError):
        npgrad.grad(lambda x: np.sum(lazy.at(x * 1.0, [0], x[:1])))(X[0])
