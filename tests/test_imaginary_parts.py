"""Where NumPy drops an imaginary part: the gradient is that of the real part, or it is refused."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad

Z = np.array([0.7 + 0.3j, 1.6 - 0.4j])

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")

NONLINEAR = {
    "prod": lambda z, **k: np.prod(z, **k),
    "x.prod": lambda z, **k: z.prod(**k),
    "cumprod": lambda z, **k: np.cumprod(z, **k),
    "nanprod": lambda z, **k: np.nanprod(z, **k),
    "var": lambda z, **k: np.var(z, **k),
    "std": lambda z, **k: np.std(z, **k),
    "nanvar": lambda z, **k: np.nanvar(z, **k),
    "multiply.reduce": lambda z, **k: np.multiply.reduce(z, **k),
    "multiply.accumulate": lambda z, **k: np.multiply.accumulate(z, **k),
    "einsum": lambda z, **k: np.einsum("i,i", z, z, casting="unsafe", **k),
    "matmul": lambda z, **k: np.matmul(z, z, casting="unsafe", **k),
}
LINEAR = {
    "sum": lambda z: np.sum(z, dtype=float),
    "mean": lambda z: np.mean(z, dtype=np.float32),
    "cumsum": lambda z: np.cumsum(z, dtype="f8"),
    "add.reduce": lambda z: np.add.reduce(z, dtype=float),
    "einsum of one": lambda z: np.einsum("i->", z, dtype=float, casting="unsafe"),
    "astype": lambda z: z.astype(float),
    "concatenate": lambda z: np.concatenate([z, 2 * z], dtype=float, casting="unsafe"),
    "interp of a number": lambda z: np.interp(z[0], [0.5, 1.0, 4.0], [1.0, 3.0, 0.0]),
    "insert": lambda z: np.insert(np.ones(2), 0, z[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", NONLINEAR)
@pytest.mark.parametrize("dtype", [float, "f4", np.dtype("f8")])
def test_a_real_dtype_of_complex_numbers_is_refused(name, dtype) -> None:
    """The value would be that of the real parts, and the rule multiplies the whole numbers."""
    f = NONLINEAR[name]
    assert np.isrealobj(f(Z, dtype=dtype))
    with pytest.raises(TypeError, match=r"drop their imaginary parts.*Write np.real\(x\)"):
        npgrad.grad(lambda z: np.sum(f(z, dtype=dtype)))(Z)
    real = npgrad.grad(lambda z: np.sum(f(np.real(z), dtype=dtype)))(Z)
    assert real.dtype == Z.dtype and not real.imag.any() and real.real.all()
    assert np.iscomplexobj(npgrad.grad(lambda z: np.sum(np.real(f(z, dtype=complex))))(Z))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions_have_the_gradient_of_the_real_part(name) -> None:
    def loss(z):
        return np.sum(LINEAR[name](z) ** 2)

    gradient = npgrad.grad(loss)(Z)
    step = 1e-6 * np.eye(2)
    if name == "mean":  # float32 carries no small differences
        want = np.full(2, 2 * np.mean(Z.real) / 2)
    else:
        want = [(loss(Z + d) - loss(Z - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(gradient.real, want, rtol=1e-6)
    assert not gradient.imag.any()


@pytest.mark.parametrize(
    ("f", "same"),
    [
        (lambda z: np.vdot(z, z * z).imag, lambda z: np.sum(np.conj(z) * z * z).imag),
        (lambda z: np.imag(np.vecdot(z, z * z)), lambda z: np.sum(np.conj(z) * z * z).imag),
        (lambda z: np.angle(np.vdot(z, z * z)), lambda z: np.angle(np.sum(np.conj(z) * z * z))),
    ],
)
def test_imaginary_parts_of_products_have_second_derivatives(f, same):
    """The cotangent of a number is NumPy's, which has axes to be given, and not Python's."""
    np.testing.assert_allclose(npgrad.hvp(f, Z, Z), npgrad.hvp(same, Z, Z))
    second, other = (
        npgrad.grad(lambda z, f=f: np.sum(np.imag(npgrad.grad(f)(z))))(Z) for f in (f, same)
    )
    np.testing.assert_allclose(second, other)
    assert npgrad.grad(f)(Z.astype(np.complex64)).dtype == np.complex64


def test_the_hessian_of_an_expectation_value():
    t = np.array([0.3, 0.4])  # of sum t**2 cos t
    hessian = npgrad.hessian(lambda t: np.vdot(np.exp(1j * t), 1j * t * t).imag)(t)
    slope = 2 * np.cos(t) - 4 * t * np.sin(t) - t * t * np.cos(t)
    np.testing.assert_allclose(hessian, np.diag(slope), rtol=1e-13, atol=1e-15)
