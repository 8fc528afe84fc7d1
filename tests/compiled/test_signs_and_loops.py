"""copysign in elementwise functions of Numba, and what a loop's ``else:`` says."""

import math

import numba
import numpy as np
import pytest

import npgrad


@numba.vectorize
def signed(x, y):
    return math.copysign(x * x * x, y) * 2.0


@numba.vectorize
def with_else(x):
    total = 0.0
    for _ in range(3):
        total += x
        if total > 100.0:
            break
    else:
        total += 1.0
    return total


def test_copysign_has_the_derivative_of_a_signed_absolute_value():
    x, y = np.array([1.5, -2.0, 0.5, -3.0]), np.array([1.0, 2.0, -3.0, -0.0])
    # f = 2 |x|**3 s, with s = -1 where y has its sign bit set: f' = 6 x |x| s, f'' = 12 |x| s
    side = np.array([1.0, 1.0, -1.0, -1.0])
    by_x, by_y = npgrad.grad(lambda x, y: np.sum(signed(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(by_x, 6 * x * np.abs(x) * side, rtol=1e-14)
    np.testing.assert_array_equal(by_y, np.zeros(4))
    tangent = npgrad.jvp(lambda x: signed(x, y), (x,), (2 * np.ones(4),))[1]
    np.testing.assert_allclose(tangent, 12 * x * np.abs(x) * side, rtol=1e-14)
    second = npgrad.grad(lambda x: np.sum(npgrad.grad(lambda z: np.sum(signed(z, y)))(x)))
    np.testing.assert_allclose(second(x), 12 * np.abs(x) * side, rtol=1e-14)
    single = npgrad.grad(lambda x: np.sum(signed(x, y.astype("f"))))(x.astype("f"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, by_x, rtol=1e-6)


def test_the_else_of_a_loop_is_named():
    with pytest.raises(npgrad.errors.NoDerivative, match="has an `else:`"):
        npgrad.grad(lambda x: np.sum(with_else(x)))(np.ones(2))
