"""Generalized functions of Numba's through their Python source, in wrapped code."""

import numpy as np
import pytest

import npgrad

numba = pytest.importorskip("numba")

X = np.array([[0.3, -1.2, 2.5, 0.7], [1.0, 0.2, -0.4, 0.9]])


@numba.guvectorize(["void(f8[:], f8, f8[:])"], "(n),()->(n)")
def moving_average(x, weight, out):
    state = x[0]
    for i in range(x.shape[0]):
        state = weight * x[i] + (1 - weight) * state
        out[i] = state


@numba.guvectorize(["void(f8[:], f8[:], f8[:])"], "(n),(n)->()")
def inner(x, y, out):
    out[0] = 0.0
    for i in range(x.shape[0]):
        out[0] += x[i] * y[i]


@pytest.mark.parametrize("x", [X, X[0]], ids=["loop", "core"])
def test_a_moving_average(x):
    f = npgrad.wrap(lambda x, w: moving_average(x, w))
    value, gradient = npgrad.value_and_grad(lambda x: np.sum(moving_average(x, 0.25) ** 2))(x)
    assert value == np.sum(moving_average(x, 0.25) ** 2)
    assert gradient.shape == x.shape
    npgrad.testing.check_grads(f, (x, 0.25), order=2)
    npgrad.testing.check_grads(f, (X[0], np.array([0.2, 0.6])), order=1)


def test_a_result_without_core_dimensions():
    gradient = npgrad.grad(lambda x: np.sum(inner(x, X[0])))(X)
    assert np.array_equal(gradient, np.broadcast_to(X[0], X.shape))
    f = npgrad.wrap(lambda x, y: inner(x, y))
    npgrad.testing.check_grads(f, (X, X[0]), order=2)


def test_a_buffer_that_is_filled():
    def f(x):
        out = np.zeros_like(x)
        moving_average(x, 0.5, out)
        return out

    npgrad.testing.check_grads(npgrad.wrap(f), (X,), order=1)


@numba.guvectorize("(n),()->(n),()")
def dynamic(x, weight, out, last):
    state = 0.0
    for i in range(x.shape[0]):
        state = weight * x[i] * x[i] + state
        out[i] = state
    last[0] = state * weight


@pytest.mark.parametrize("x", [X, X[0]], ids=["loop", "core"])
def test_a_dynamic_one_in_wrapped_code(x):
    def f(x, w):
        out, last = np.zeros(x.shape), np.zeros(x.shape[:-1])
        dynamic(x, w, out, last)
        return out * np.expand_dims(last, -1)

    sums = np.cumsum(0.25 * x * x, axis=-1)
    np.testing.assert_allclose(f(x, 0.25), sums * (0.25 * sums[..., -1:]), rtol=1e-14)
    npgrad.testing.check_grads(npgrad.wrap(f), (x, 0.25), order=2)
    assert type(dynamic).__name__ == "GUFunc"  # and no other after the call
    with pytest.raises(npgrad.errors.GradientLost):  # outside of wrapped code
        dynamic(npgrad.array(x), 0.25, np.zeros(x.shape), np.zeros(x.shape[:-1]))


def test_a_dynamic_one_into_a_plain_buffer():
    buffers = np.zeros(4), np.zeros(())

    def f(x):
        dynamic(x, 0.5, *buffers)
        return np.sum(buffers[0])

    with pytest.raises(npgrad.errors.NpgradError):
        npgrad.grad(f)(X[0])


@numba.guvectorize(["void(f8[:], f8[:], f8, f8[:])"], "(),(n),()->()")
def shifted_sum(start, x, weight, out):
    out[0] = start[0]  # an array of one, as its signature says; the weight is a number
    for i in range(x.shape[0]):
        out[0] += weight * x[i] ** 2


def test_an_input_without_core_dimensions_is_what_its_signature_says():
    x = np.array([[0.5, 1.0, 2.0], [1.5, -1.0, 0.3]])

    def f(x):
        return np.sum(np.array([2.0, 3.0]) * shifted_sum(x[:, 0], x, x[0, 1]))

    expected = 2 * x * np.array([[2.0], [3.0]]) * x[0, 1] + np.array([[2.0, 0, 0], [3.0, 0, 0]])
    expected[0, 1] += 2 * np.sum(x[0] ** 2) + 3 * np.sum(x[1] ** 2)
    assert np.allclose(npgrad.grad(f)(x), expected, rtol=1e-14)
