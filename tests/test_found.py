"""Faults found by using npgrad as a newcomer does, one small program each.

Each test states what mathematics or NumPy's own value says. A test leaves its mark of expected
failure, and moves to the chapter of its subject, with the change that mends the fault.
"""

from __future__ import annotations

import numpy as np
import pytest

import npgrad


def found(reason: str) -> pytest.MarkDecorator:
    """The mark of a fault that is known and not mended yet."""
    return pytest.mark.xfail(strict=True, reason=reason)


X = np.array([1.0, 2.0, 3.0])


# --- a write into a view of a 0-d array, or of a NumPy scalar ---


def scalar_then_newaxis(x):
    w = np.sum(x)[None]
    w *= 3.0
    return np.sum(w * w)  # 9 s**2


def test_write_into_newaxis_of_a_scalar():
    value, gradient = npgrad.value_and_grad(scalar_then_newaxis)(X)
    assert value == scalar_then_newaxis(X) == 324.0
    np.testing.assert_allclose(gradient, np.full(3, 18.0 * 6.0))


def test_setitem_into_newaxis_of_a_scalar():
    def f(x):
        w = np.sum(x)[None]
        w[0] = x[1] ** 2
        return np.sum(w * w)  # x1**4

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 16.0
    np.testing.assert_allclose(gradient, [0.0, 32.0, 0.0])


def test_write_into_ellipsis_of_a_scalar():
    def f(x):
        w = np.sum(x)[...]
        w /= 2.0
        return np.sum(w * w)  # s**2 / 4

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 9.0
    np.testing.assert_allclose(gradient, np.full(3, 3.0))


def test_add_at_into_newaxis_of_a_scalar():
    def f(x):
        w = np.sum(x)[None]
        np.add.at(w, [0, 0], x[0])
        return np.sum(w * w)  # (s + 2 x0)**2

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 64.0
    np.testing.assert_allclose(gradient, [48.0, 16.0, 16.0])


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y.reshape(1),
        lambda y: y.ravel(),
        lambda y: y[None],
        lambda y: y[...],
        np.atleast_1d,
        lambda y: y.reshape(1, 1),
    ],
    ids=["reshape", "ravel", "newaxis", "ellipsis", "atleast_1d", "reshape2"],
)
def test_scaling_a_0d_array_through_a_view(view):
    def f(x):
        y = np.copy(x)
        v = view(y)
        v *= 3.0
        return y * 1.0

    x = np.array(2.5)
    assert npgrad.value_and_grad(f)(x)[0] == 7.5
    assert npgrad.grad(f)(x) == 3.0


def test_overwriting_a_0d_array_through_a_view():
    def f(x):
        y = np.copy(x)
        y.reshape(1)[0] = 7.0
        return y * 1.0

    assert npgrad.grad(f)(np.array(2.5)) == 0.0


# --- grad and its kin where recording is switched off around them ---


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: npgrad.grad(f)(x),
        lambda f, x: npgrad.jvp(f, (x,), (1.0,))[1],
        lambda f, x: npgrad.vjp(f, x)[1](1.0)[0],
        lambda f, x: npgrad.jacobian(f)(x),
        lambda f, x: npgrad.linearize(f, x)[1](1.0),
    ],
    ids=["grad", "jvp", "vjp", "jacobian", "linearize"],
)
def test_a_transform_inside_no_grad_is_not_zero(derivative):
    """A transform's result must not depend on what is around it, unless it is refused."""
    with npgrad.no_grad():
        try:
            slope = derivative(lambda x: x * x, 3.0)
        except npgrad.errors.NpgradError:
            return
    assert slope == 6.0


# --- a copy that NumPy makes and the recording does not ---


@pytest.mark.parametrize(
    "turned",
    [
        lambda y: np.ascontiguousarray(y.T).T,
        lambda y: np.asfortranarray(y),
        lambda y: np.asarray(y, order="F"),
        lambda y: np.require(y, requirements="F"),
        lambda y: y.astype(float, order="F", copy=False),
    ],
    ids=["ascontiguousarray", "asfortranarray", "asarray", "require", "astype"],
)
def test_a_change_of_memory_order_copies(turned):
    def f(x):
        y = x * 1.0
        other = turned(y)
        other *= 0.0
        return np.sum(y * y)

    x = np.arange(6.0).reshape(2, 3) + 1.0
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 91.0
    np.testing.assert_allclose(gradient, 2.0 * x)


# --- a flat view of a matrix whose cotangent, or tangent, lies in another memory order ---


def differences(f, x, h=1e-6):
    """Central differences of a scalar function."""
    steps = np.eye(x.size).reshape(x.size, *x.shape) * h
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps]).reshape(x.shape)


M = np.array([[0.4, 1.2, -0.7], [0.9, -0.3, 1.5]])
W = np.array([[1.0, -2.0, 0.5, 3.0], [0.3, 1.0, -1.0, 2.0]])


def scaled_flat(x):
    y = x * 1.0
    v = y.ravel()
    v *= 2.0
    return np.sum((y.T @ W) ** 2)


def zeroed_flat(x):
    y = x * 1.0
    y.reshape(-1)[::2] = 0.0
    return np.sum((y.T @ W) ** 2)


def reshaped(x):
    y = x * 1.0
    v = y.reshape(3, 2)
    v *= 2.0
    return np.sum((y.T @ W) ** 2)


def filled_flat(x):
    y = np.zeros(x.shape, like=x)
    flat = y.ravel()
    flat[:] = x.ravel() * 2.0
    flat[2] = x[0, 0]
    return np.sum((y.T @ W) ** 2)


def flat_diagonal(x):
    k = x @ x.T
    k.flat[::3] *= 1.5
    return np.linalg.slogdet(k)[1]


def flat_and_cumsum(x):
    y = x * 1.0
    y.reshape(-1)[1] *= 2.0
    return np.sum(np.cumsum(y.T, axis=0) ** 2)


def flat_complex(x):
    y = x * 1.0
    z = y.ravel().view(complex)
    z *= 1j
    return np.sum((y.T @ W) ** 2)


FLAT = [scaled_flat, zeroed_flat, reshaped, filled_flat, flat_diagonal, flat_and_cumsum]


@pytest.mark.parametrize("f", [*FLAT, flat_complex], ids=lambda f: f.__name__)
def test_gradient_of_a_write_into_a_flat_view(f):
    x = M if f is not flat_complex else np.ascontiguousarray(M.T[:2, :].repeat(2, axis=1))
    np.testing.assert_allclose(npgrad.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-6)


def test_vjp_of_a_write_into_a_flat_view_by_order_of_the_cotangent():
    def f(x):
        y = x * 1.0
        v = y.ravel()
        v *= 2.0
        return y

    _, pull = npgrad.vjp(f, M)
    for order in "CF":
        np.testing.assert_array_equal(pull(np.ones((2, 3), order=order))[0], np.full((2, 3), 2.0))


def test_jvp_of_a_write_into_a_flat_view_of_a_transpose():
    """The second derivative of the sum of squares of 2 x is 8."""

    def f(x):
        y = x.T * 1.0
        v = y.ravel(order="F")
        v *= 2.0
        return np.sum(y * y)

    identity = np.eye(6).reshape(2, 3, 2, 3)
    np.testing.assert_allclose(npgrad.jacfwd(npgrad.grad(f))(M), 8.0 * identity)
    np.testing.assert_allclose(npgrad.hessian(f)(M), 8.0 * identity)


@pytest.mark.parametrize("jacobian", [npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd])
def test_jacobian_of_a_write_into_a_flat_view(jacobian):
    def f(x):
        y = x.T * 1.0
        v = y.ravel(order="F")
        v *= 2.0
        return y

    expected = 2.0 * np.eye(6).reshape(2, 3, 2, 3).swapaxes(0, 1)
    np.testing.assert_allclose(jacobian(f)(M), expected)
