"""Numba's types and errors, in the Python source of a compiled function that is recorded."""

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, NoDerivative

numba = pytest.importorskip("numba")
from numba import types  # noqa: E402
from numba.typed import Dict, List  # noqa: E402

njit = numba.njit


@njit
def nested(x, y):
    return x * y, (x * 2, y * 3)


def test_a_tuple_inside_of_a_returned_tuple():
    def f(p):
        a, (b, c) = nested(p[0], p[1])
        return a + 3 * b + 4 * c

    np.testing.assert_allclose(npgrad.grad(f)(np.array([1.0, 2.0])), [8.0, 13.0])
    with pytest.raises(GradientLost, match="a tuple inside of a tuple"):
        npgrad.grad(f, wrap=False)(np.array([1.0, 2.0]))


@njit
def in_double(x):
    s = x[0] * 0.1
    for i in range(x.size):
        s += x[i] * 0.3
    return s / 3.0


def test_floats_beside_float32_are_64_bit_wide():
    x = np.linspace(0.1, 2.3, 300, dtype=np.float32)
    value, gradient = npgrad.value_and_grad(in_double)(x)
    assert value == in_double(x) and value.dtype == np.float64
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient[1:], 0.1, rtol=1e-6)


@njit
def reciprocals(x):
    s = 0.0
    for i in range(x.size):
        s += 1.0 / x[i]
    return s


@njit(error_model="numpy")
def quiet_reciprocals(x):
    return (1.0 / x).sum()


@njit
def logarithms(x):
    return np.log(x).sum()


def test_a_division_by_zero_raises_where_the_compiled_one_does():
    def f(p):
        try:
            return reciprocals(p)
        except ZeroDivisionError:
            return p[1] * 5

    p = np.array([0.0, 2.0])
    value, gradient = npgrad.value_and_grad(f)(p)
    assert value == f(p) == 10.0
    np.testing.assert_array_equal(gradient, [0.0, 5.0])
    np.testing.assert_array_equal(npgrad.grad(quiet_reciprocals)(p), [-np.inf, -0.25])
    np.testing.assert_array_equal(npgrad.grad(logarithms)(p), [np.inf, 0.5])


@njit
def squares(a, x):
    s = 0.0
    for i in range(a.size):
        s += a[i] * a[i] * x[0]
    return s


@njit
def counted(a, x):
    for i in range(a.size):
        a[i] += 2
    return a[0] * x[0]


@njit
def wraps(a, x):
    a[0] = a[0] + 200
    return a[0] * x[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint32])
def test_integers_are_64_bits_wide(dtype):
    a = np.array([200, 3], dtype) * (500 if np.dtype(dtype).itemsize == 4 else 1)
    a = a.astype(dtype)
    expected = float(np.sum(a.astype(np.int64) ** 2))
    np.testing.assert_allclose(npgrad.grad(lambda x: squares(a, x))(np.ones(1)), [expected])
    assert squares(a, np.ones(1)) == expected
    filled = np.array([3, 4], dtype)
    np.testing.assert_allclose(npgrad.grad(lambda x: counted(filled, x))(np.ones(1)), [5.0])
    assert filled.tolist() == [5, 6]


def test_integers_that_wrap_are_refused():
    with pytest.raises(GradientLost, match="integers that do not fit"):
        npgrad.grad(lambda x: wraps(np.array([100, 2], np.uint8), x))(np.ones(1))


@njit
def modulus(x):
    return abs(complex(x, 1.0))


def test_the_modulus_of_a_complex_number_says_what_to_write():
    with pytest.raises(NoDerivative, match=r"np\.sqrt\(z\.real\*\*2 \+ z\.imag\*\*2\)"):
        npgrad.grad(lambda x: modulus(x))(1.5)


@njit
def collected(x):
    items = List()
    for v in x:
        items.append(v * v)
    table = Dict.empty(types.int64, types.float64)
    table[3] = items[0] * items[-1]
    more = List.empty_list(types.float64)
    more.extend(items)
    return table[3] + sum(more) + len(items)


def test_typed_containers_inside_of_a_function():
    x = np.array([1.5, 0.7, 2.2])
    value, gradient = npgrad.value_and_grad(collected)(x)
    assert value == pytest.approx(collected(x))
    a, _, c = x
    np.testing.assert_allclose(gradient, 2 * x + [2 * a * c**2, 0.0, 2 * c * a**2])


@njit
def integer_powers(x):
    s = 0.0
    for i in range(1, 4):
        s += x[0] * (i**-1)
    return s


@njit
def signs(x):
    s = 0.0
    for v in x:
        s += ((v > 0) - (v < 0)) * v * v
    return s


@numba.guvectorize(["void(float64[:], uint8[:], float64[:])"], "(n),(n)->()")
def weighted(x, w, r):
    r[0] = 0
    for i in range(x.shape[0]):
        r[0] += x[i] * (w[i] * w[i])


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def counted_twice(x, r):
    r[0] = 0
    for i in range(x.shape[0]):
        r[0] += x[i] * ((x[i] > 1) + (x[i] > 0.5))


def test_what_numba_computes_otherwise_is_found_in_the_first_gradient():
    x = np.array([2.7, 1.3])
    with pytest.raises(GradientLost, match="integer powers"):
        npgrad.grad(integer_powers)(x)
    with pytest.raises(GradientLost, match="sums of comparisons"):
        npgrad.grad(lambda x: counted_twice(x) + 0.0)(x)
    with pytest.raises(TypeError, match="numpy boolean") as caught:
        npgrad.grad(signs)(x)
    assert "np.sign(v)" in caught.value.__notes__[0]
    w = np.array([200, 2], np.uint8)
    np.testing.assert_allclose(npgrad.grad(lambda x: weighted(x, w))(x), [40000.0, 4.0])
