"""What `elementwise_grad` and ``holomorphic=True`` take for granted is looked at."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import NotDifferentiable, ShapeMismatch

X = np.array([0.3, 1.2, -0.7])
Z = np.array([0.3 + 1j, -1.2 + 0.5j])

# -- elementwise_grad ------------------------------------------------------------------------------
ELEMENTWISE = {
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "constants": (lambda x: 2.0 * x + np.array([1.0, 2.0, 3.0])[: len(x)], lambda x: 2 + 0 * x),
    "where": (lambda x: np.where(x > 0, x**2, -x), lambda x: np.where(x > 0, 2 * x, -1)),
    "masked": (lambda x: masked(x), lambda x: np.where(x < 0, 0.0, 2 * x)),
    "through a list": (lambda x: np.stack([np.exp(v) for v in x]), np.exp),
    "a python number": (lambda x: 3.0, lambda x: 0 * x),
    "turned twice": (lambda x: np.sin(x[::-1])[::-1], np.cos),
}


def masked(x):
    y = x * x
    y[x < 0] = 0
    return y


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_pass(name):
    f, want = ELEMENTWISE[name]
    transform = npgrad.elementwise_grad(f)
    empty = [] if "list" in name else [X[:0]]
    for x in (X, X.astype(np.float32), X[:1], *empty):
        np.testing.assert_allclose(transform(x), want(x), rtol=1e-5 if x.dtype == "f" else 1e-13)
    inner = npgrad.elementwise_grad(npgrad.elementwise_grad(f))
    assert inner(X).shape == X.shape


MIXING = {
    "cumsum": np.cumsum,
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "reversed": lambda x: x[::-1].copy(),
    "centred": lambda x: x - np.mean(x),
    "sorted": lambda x: np.sort(x),
    "matrix": lambda x: np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) @ x,
}


@pytest.mark.parametrize("name", MIXING)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_function_that_mixes_entries_is_refused(name, dtype):
    with pytest.raises(NotDifferentiable, match=r"not elementwise.*jacobian"):
        npgrad.elementwise_grad(MIXING[name])(X.astype(dtype))


@pytest.mark.parametrize(
    ("f", "first", "then"),
    [
        (np.cumsum, X[:1], X),  # of one entry it is elementwise
        (lambda x: x * np.sum(x), np.zeros(3), X),
        (lambda x: np.where(x > 0, x, np.sum(x)), np.array([1.0, 2.0]), np.array([1.0, -2.0])),
    ],
)
def test_every_call_is_looked_at(f, first, then):
    transform = npgrad.elementwise_grad(f)
    np.testing.assert_allclose(transform(first), npgrad.grad(lambda x: np.sum(f(x)))(first))
    with pytest.raises(NotDifferentiable, match="not elementwise"):
        transform(then)


@pytest.mark.parametrize(
    ("f", "argnums", "args"),
    [
        (lambda x: x[:, None] * x, 0, (X,)),
        (lambda x, t: x * t, 0, (2.0, X)),
        (lambda x, t: x * t, (1, 0), (2.0, X)),
        (lambda p: p["a"] * p["b"], 0, ({"a": X, "b": 2.0},)),
    ],
)
def test_another_shape_is_refused(f, argnums, args):
    with pytest.raises(ShapeMismatch, match=r"one entry for each entry.*jacobian"):
        npgrad.elementwise_grad(f, argnums)(*args)


def test_one_number_as_the_output_has_its_gradient():
    np.testing.assert_allclose(npgrad.elementwise_grad(lambda x: np.sum(x**3))(X), 3 * X**2)
    np.testing.assert_allclose(
        npgrad.elementwise_grad(lambda x: np.max(np.cumsum(x)))(X), [1, 1, 0]
    )


def test_several_arguments_and_complex_ones():
    f = lambda x, y: np.where(x > 0, x * y, y)
    gx, gy = npgrad.elementwise_grad(f, (0, 1))(X, X + 2)
    np.testing.assert_allclose(gx, np.where(X > 0, X + 2, 0))
    np.testing.assert_allclose(gy, np.where(X > 0, X, 1))
    with pytest.raises(NotDifferentiable, match="not elementwise"):
        npgrad.elementwise_grad(lambda x, y: x * np.cumsum(y), (0, 1))(X, X + 2)
    length = npgrad.elementwise_grad(lambda z: np.abs(z[:]))(Z)
    np.testing.assert_allclose(length, Z / np.abs(Z))
    with pytest.raises(NotDifferentiable, match="not elementwise"):
        npgrad.elementwise_grad(lambda z: np.abs(np.cumsum(z)))(Z)


def test_inside_another_differentiation():
    third = lambda x: npgrad.elementwise_grad(lambda x: np.where(x > 0, x**3, x))(x)
    np.testing.assert_allclose(
        npgrad.grad(lambda x: np.sum(third(x)))(X), np.where(X > 0, 6 * X, 0)
    )


# -- holomorphic -----------------------------------------------------------------------------------
HOLOMORPHIC = {
    "product": (lambda z: np.sum(np.exp(z) * z), lambda z: np.exp(z) * (z + 1)),
    "quotient": (lambda z: np.sum(1 / z[::-1]), lambda z: -1 / z**2),
    "real and imag": (lambda z: np.sum((z.real + 1j * z.imag) ** 2), lambda z: 2 * z),
    "conjugate twice": (lambda z: np.sum(np.conj(np.sin(np.conj(z)))), np.cos),
    "fft": (lambda z: np.fft.fft(z)[1] ** 2, lambda z: 2 * (z[0] - z[1]) * np.array([1, -1])),
    "constant": (lambda z: 1j + 0 * np.sum(z), lambda z: 0 * z),
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_functions_pass(name):
    f, want = HOLOMORPHIC[name]
    np.testing.assert_allclose(npgrad.grad(f, holomorphic=True)(Z), want(Z), rtol=1e-12)
    value, got = npgrad.value_and_grad(f, holomorphic=True)(Z.astype(np.complex64))
    assert got.dtype == np.complex64 and np.iscomplexobj(value)
    np.testing.assert_allclose(got, want(Z), rtol=1e-4)


NOT_HOLOMORPHIC = {
    "z conj(z)": lambda z: np.sum(z * np.conj(z)),
    "conj": lambda z: np.sum(np.conj(z)),
    "times its length": lambda z: np.sum(z * np.abs(z)),
    "of the real part": lambda z: np.sum(np.sin(z.real) + 1j * z.imag),
    "angle": lambda z: np.sum(z + np.angle(z)),
    "written into a part": lambda z: np.sum(flipped(z)),
}


def flipped(z):
    y = z * 1.0
    y.imag = -z.imag
    return y


@pytest.mark.parametrize("name", NOT_HOLOMORPHIC)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_other_functions_are_refused(name, dtype):
    with pytest.raises(NotDifferentiable, match=r"not holomorphic here"):
        npgrad.grad(NOT_HOLOMORPHIC[name], holomorphic=True)(Z.astype(dtype))


def test_a_primitive_that_is_not_holomorphic():
    p = npgrad.primitive(lambda z: np.sum(z * np.conj(z)) + 0j)
    p.defvjp(lambda ans, z: lambda g: 2 * np.real(g) * z)
    with pytest.raises(NotDifferentiable, match="not holomorphic"):
        npgrad.grad(p, holomorphic=True)(Z)


def test_a_real_output_is_refused():
    with pytest.raises(NotDifferentiable, match="returned a real number"):
        npgrad.grad(lambda z: np.sum(np.abs(z)), holomorphic=True)(Z)


def test_second_derivatives_of_a_holomorphic_function():
    f = lambda z: z**3 + np.conj(np.conj(z))
    got = npgrad.grad(npgrad.grad(f, holomorphic=True), holomorphic=True)(1 + 2j)
    assert got == pytest.approx(6 * (1 + 2j))


# -- Jacobians of complex numbers ------------------------------------------------------------------
COMPLEX_OUTPUTS = {
    "fft": (np.fft.fft, np.array([1.0, 2.0])),
    "times i": (lambda x: 1j * x, 2.0),
    "more outputs": (lambda x: np.exp(1j * x * np.arange(5)), 1.0),
    "fewer outputs": (lambda x: np.sum(np.exp(1j * x)), X),
    "in a dict": (lambda x: {"real": x, "complex": x * 1j}, X),
}


@pytest.mark.parametrize("name", COMPLEX_OUTPUTS)
@pytest.mark.parametrize("transform", [npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd])
def test_a_complex_output_has_no_jacobian_in_either_mode(name, transform):
    f, x = COMPLEX_OUTPUTS[name]
    with pytest.raises(
        NotDifferentiable, match=r"Jacobian of a complex output.*np\.real and np\.imag"
    ):
        transform(f)(x)


def test_complex_arguments_of_jacobians():
    length = lambda z: np.abs(z) ** 2
    np.testing.assert_allclose(npgrad.jacrev(length)(Z), np.diag(2 * Z))
    np.testing.assert_allclose(npgrad.jacobian(length)(Z), np.diag(2 * Z))
    with pytest.raises(NotDifferentiable, match=r"jacfwd by a complex argument.*jacrev"):
        npgrad.jacfwd(length)(Z)
    with pytest.raises(NotDifferentiable, match=r"Hessian by a complex argument.*x \+ 1j \* y"):
        npgrad.hessian(lambda z: np.sum(length(z)))(Z)
