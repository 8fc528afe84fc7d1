"""Faults that a second trial of use found: half precision, flags, np.broadcast, Numba."""

import collections

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative

X = np.array([0.3, 1.2, 0.8])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tile(x, 3000),
        lambda x: np.tile(x, (3000, 1)),
        lambda x: np.repeat(x, 3000),
        lambda x: np.repeat(x[:, None] * np.ones((1, 3), "f2"), 3000, axis=0)[:, :1],
    ],
)
def test_copies_of_half_precision_are_summed_beyond_2048(f):
    gradient = npgrad.grad(lambda x: np.sum(f(x), dtype="f4"))(np.ones(3, "f2"))
    assert gradient.dtype == np.float16
    np.testing.assert_array_equal(gradient, 3000)


def test_tiles_of_half_precision_to_second_order():
    # f = 3000 x**2 / 100
    f = npgrad.grad(lambda x: np.sum(np.tile(x * x, 3000) / 100, dtype="f4"))
    gradient = npgrad.grad(lambda x: np.sum(f(x)))(np.ones(2, "f2"))
    np.testing.assert_allclose(gradient, 60, rtol=1e-2)


def test_writeable_is_a_flag_that_counts():
    def f(x, key):
        y = x * 1
        assert y.flags.writeable and y.flags["W"] and y.flags.c_contiguous
        if key:
            y.flags[key] = False
        else:
            y.flags.writeable = False
        assert not y.flags.writeable and not y.flags["WRITEABLE"]
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1.0
        y.flags.writeable = True
        y[0] = 5.0
        return np.sum(y)

    for key in ("", "WRITEABLE"):
        np.testing.assert_array_equal(npgrad.grad(lambda x, key=key: f(x, key))(X), [0, 1, 1])


def test_broadcast_gives_shapes_and_recorded_numbers():
    def shapes(x):
        b = np.broadcast(x, x[:, None], np.ones((2, 1, 1)))
        assert (b.shape, b.size, b.nd, b.ndim, b.numiter) == ((2, 3, 3), 18, 3, 3, 3)
        return x[0] * b.size

    np.testing.assert_array_equal(npgrad.grad(shapes)(X), [18, 0, 0])
    pairs = npgrad.grad(lambda x: sum(a * b for a, b in np.broadcast(x, x[:, None])))
    np.testing.assert_allclose(pairs(X), 2 * X.sum())  # (sum of x)**2
    assert type(npgrad.wrap(lambda: np.broadcast([1.0], [2.0]))()) is np.broadcast


def test_a_parallel_function_of_numba_is_named_with_its_way_out():
    numba = pytest.importorskip("numba")

    @numba.vectorize(["float64(float64)"], target="parallel")
    def squared(v):
        return v * v

    with pytest.raises(NoDerivative, match=r"npgrad.register_vjp\(squared"):
        npgrad.grad(lambda x: np.sum(squared(x)))(X)
    npgrad.register_vjp(squared, lambda ans, v: lambda g: 2 * g * v)
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(squared(x)))(X), 2 * X)


Pair = collections.namedtuple("Pair", "a b")


def test_a_named_tuple_of_recorded_values_is_an_argument_of_compiled_code():
    numba = pytest.importorskip("numba")

    @numba.njit
    def product(pair):
        return pair.a * pair.b.sum()

    expected = [X.sum() + X[0], X[0], X[0]]
    for _ in range(2):  # the second time beside the compiled function
        np.testing.assert_allclose(npgrad.grad(lambda x: product(Pair(x[0], x)))(X), expected)
        assert product(Pair(X[0], X)) == X[0] * X.sum()
    # constants of wrapped code are opened
    f = npgrad.grad(lambda x: x[0] * product(Pair(2.0, np.ones(3))))
    np.testing.assert_allclose(f(X), [6.0, 0, 0])
