"""Functions of another body in compiled code, and `and`, `or` of numbers there."""

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost

numba = pytest.importorskip("numba")

X = np.array([1.3, 0.7, 2.1])


def placeholder(a, scale=1.0):
    return 0.0


@numba.extending.overload(placeholder)
def compiled_body(a, scale=1.0):
    if isinstance(a, numba.types.Array):
        return lambda a, scale=1.0: (a * a).sum() * 3 * scale
    if isinstance(a, numba.types.Float):
        return lambda a, scale=1.0: a * a * 3 * scale
    return None


@numba.njit
def through(a):
    return placeholder(a) * 2


@numba.njit
def by_keyword(a):
    return placeholder(a, scale=a)


@numba.njit
def of_pairs(pair):
    return placeholder(pair)


@numba.extending.register_jitable
def shared(a):
    return a * a


@numba.njit
def through_shared(a):
    return shared(a[0]) + a[1]


def test_an_overload_is_what_is_differentiated():
    np.testing.assert_allclose(npgrad.grad(through)(1.3), 12 * 1.3)  # of 6 a**2
    np.testing.assert_allclose(npgrad.grad(lambda x: through(x[0]))(X), [12 * X[0], 0, 0])
    value, gradient = npgrad.value_and_grad(through)(X)
    assert value == through(X)
    np.testing.assert_allclose(gradient, 12 * X)
    np.testing.assert_allclose(npgrad.jvp(through, (X,), (np.ones(3),))[1], (12 * X).sum())
    np.testing.assert_allclose(npgrad.grad(npgrad.grad(through))(1.3), 12.0)
    np.testing.assert_allclose(npgrad.grad(by_keyword)(1.3), 9 * 1.3**2)  # of 3 a**3


def test_an_overload_that_takes_nothing_of_the_kind_is_refused():
    with pytest.raises(GradientLost, match="no overload takes"):
        npgrad.grad(lambda x: of_pairs((x[0], x[1])))(X)


def test_a_jitable_function_is_itself():
    np.testing.assert_allclose(npgrad.grad(through_shared)(X), [2 * X[0], 1, 0])


@numba.njit
def both(a, b):
    return (a and b) + 3 * (a or b)


@numba.njit
def three(a, b, c):
    return (a > b and a * a) or b * c or c * c * c


@numba.vectorize
def elementwise(a, b):
    return a * a and a > 0 and b * a * 3


def test_and_and_or_give_an_operand():
    grad = npgrad.grad(both, argnums=(0, 1))
    assert grad(1.3, 0.7) == (3, 1)  # b + 3 a
    assert grad(0.0, 0.7) == (1, 3)  # a + 3 b
    assert npgrad.jvp(both, (1.3, 0.7), (2.0, 5.0))[1] == 2.0 * 3 + 5.0
    grad = npgrad.grad(three, argnums=(0, 1, 2))
    np.testing.assert_allclose(grad(2.0, 1.0, 5.0), (4.0, 0, 0))
    np.testing.assert_allclose(grad(1.0, 2.0, 5.0), (0, 5.0, 2.0))
    np.testing.assert_allclose(grad(-1.0, 0.0, 5.0), (0, 0, 75.0))
    by_first, by_second = npgrad.grad(lambda a, b: np.sum(elementwise(a, b)), argnums=(0, 1))(
        X, 2 * X
    )
    np.testing.assert_allclose(by_first, 6 * X)
    np.testing.assert_allclose(by_second, 3 * X)
    hessian = npgrad.hessian(lambda x: three(x[0], x[1], x[2]))(np.array([1.0, 2.0, 5.0]))
    np.testing.assert_allclose(hessian, [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
