"""Repeated eigenvalues and singular values: functions of matrices there, and what is refused.

The expected gradients come from functions of matrices that need no decomposition (products,
inverses) or from the integral representation of the exponential's derivative. Every test runs in
a basis that hides the multiplicity, so that LAPACK's values are equal to rounding only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative
from npgrad.testing import finite_difference_grad
from tests.samples.linalg import hermitian

Array = Any


def rotation(n: int, complex: bool = False) -> Array:
    rng = np.random.default_rng(7)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if complex else 0)
    return np.linalg.qr(a)[0]


def weights(n: int, complex: bool = False) -> Array:
    rng = np.random.default_rng(11)
    return rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if complex else 0)


def adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def herm(a: Array) -> Array:
    return (a + adjoint(a)) / 2


def inner(w: Array, a: Array) -> Array:
    return np.sum(np.real(np.conj(w) * a))


def through_eigh(f: Callable[[Array], Array], w: Array) -> Callable[[Array], Array]:
    def loss(a: Array) -> Array:
        values, v = np.linalg.eigh(a)
        return inner(w, (v * f(values)[..., None, :]) @ adjoint(v))

    return loss


def through_svd(f: Callable[[Array], Array], w: Array, full: bool = False) -> Any:
    def loss(a: Array) -> Array:
        u, s, vh = np.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        return inner(w, (u[..., :k] * f(s)[..., None, :]) @ vh[..., :k, :])

    return loss


def exponential_gradient(a: Array, w: Array) -> Array:
    """The adjoint of E -> integral of exp(t a) E exp((1 - t) a) over t in (0, 1)."""
    nodes, factors = np.polynomial.legendre.leggauss(20)

    def expm(x: Array) -> Array:
        values, v = np.linalg.eigh(x)
        return (v * np.exp(values)) @ adjoint(v)

    t = (nodes + 1) / 2
    return sum(
        p / 2 * expm(s * a) @ herm(w) @ expm((1 - s) * a) for s, p in zip(t, factors, strict=True)
    )


SPECTRA = {
    "all equal": [2.0, 2.0, 2.0, 2.0],
    "a pair": [1.0, 2.0, 2.0, 3.0],
    "two pairs": [1.0, 1.0, 3.0, 3.0],
    "a triple": [0.5, 2.0, 2.0, 2.0],
    "distinct": [1.0, 2.0, 3.0, 4.0],
}


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
class TestFunctionsOfHermitianMatrices:
    def matrix(self, values: list[float], complex: bool) -> tuple[Array, Array]:
        q = rotation(4, complex)
        return (q * np.array(values)) @ adjoint(q), weights(4, complex)

    def test_square(self, values: list[float], complex: bool) -> None:
        a, w = self.matrix(values, complex)
        got = npgrad.grad(through_eigh(lambda x: x**2, w))(a)
        np.testing.assert_allclose(got, herm(w) @ a + a @ herm(w), atol=1e-9)

    def test_inverse(self, values: list[float], complex: bool) -> None:
        a, w = self.matrix(values, complex)
        inverse = np.linalg.inv(a)
        got = npgrad.grad(through_eigh(lambda x: 1 / x, w))(a)
        np.testing.assert_allclose(got, -inverse @ herm(w) @ inverse, atol=1e-9)

    def test_exponential(self, values: list[float], complex: bool) -> None:
        a, w = self.matrix(values, complex)
        got = npgrad.grad(through_eigh(np.exp, w))(a)
        np.testing.assert_allclose(got, exponential_gradient(a, w), rtol=1e-7, atol=1e-8)

    def test_log_det(self, values: list[float], complex: bool) -> None:
        a, _ = self.matrix(values, complex)
        for loss in (
            lambda a: np.sum(np.log(np.linalg.eigh(a)[0])),
            lambda a: np.sum(np.log(np.linalg.eigvalsh(a))),
            lambda a: np.sum(np.log(np.linalg.svdvals(a))),
            lambda a: np.linalg.slogdet(a)[1],
            lambda a: 2 * np.sum(np.log(np.real(np.diagonal(np.linalg.cholesky(a))))),
        ):
            np.testing.assert_allclose(npgrad.grad(loss)(a), np.linalg.inv(a), atol=1e-10)

    def test_identity_through_svd(self, values: list[float], complex: bool) -> None:
        a, w = self.matrix(values, complex)
        a = a @ rotation(4, complex)
        for full in (False, True):
            np.testing.assert_allclose(
                npgrad.grad(through_svd(lambda s: s, w, full))(a), w, atol=1e-9
            )

    def test_cube_through_svd(self, values: list[float], complex: bool) -> None:
        """U s**3 V^H = A A^H A."""
        a, w = self.matrix(values, complex)
        a = a @ rotation(4, complex)
        got = npgrad.grad(through_svd(lambda s: s**3, w))(a)
        ah, wh = adjoint(a), adjoint(w)
        np.testing.assert_allclose(got, w @ ah @ a + a @ wh @ a + a @ ah @ w, atol=1e-8)

    def test_batch(self, values: list[float], complex: bool) -> None:
        """A stack in which some matrices have repeated values and others have not."""
        a, w = self.matrix(values, complex)
        q = rotation(4, complex)
        a = np.stack([a, (q * np.array([1.0, 3.0, 4.0, 6.0])) @ adjoint(q)])
        got = npgrad.grad(through_eigh(lambda x: x**2, w))(a)
        np.testing.assert_allclose(got, herm(w) @ a + a @ herm(w), atol=1e-8)


def test_quadratic_form_and_log_det() -> None:
    """Two functions share the decomposition: three equal values are enough to tell them apart."""
    q, w = rotation(5), weights(5)
    a = (q * np.array([2.0, 2.0, 2.0, 2.0, 3.0])) @ q.T

    def loss(a: Array) -> Array:
        values, v = np.linalg.eigh(a)
        return inner(w, (v / values) @ v.T) + np.sum(np.log(values))

    inverse = np.linalg.inv(a)
    want = inverse - inverse @ herm(w) @ inverse
    np.testing.assert_allclose(npgrad.grad(loss)(a), want, atol=1e-7)


def test_projector() -> None:
    """The space P of a repeated eigenvalue: along E it moves by (P E Q + Q E P) / gap."""
    q, w = rotation(4), weights(4)
    a = (q * np.array([1.0, 1.0, 4.0, 4.0])) @ q.T
    low = q[:, :2] @ q[:, :2].T
    high = np.eye(4) - low

    def loss(a: Array) -> Array:
        v = np.linalg.eigh(a)[1][:, :2]
        return inner(w, v @ v.T)

    want = (low @ herm(w) @ high + high @ herm(w) @ low) / (1.0 - 4.0)
    np.testing.assert_allclose(npgrad.grad(loss)(a), want, atol=1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("rank", [1, 2])
def test_rank_deficient_reconstruction(shape: tuple[int, int], rank: int) -> None:
    """U S V^H is the identity map, also where singular values are zero to rounding."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    w = rng.normal(size=shape)
    got = npgrad.grad(through_svd(lambda s: s, w))(a)
    np.testing.assert_allclose(got, w, rtol=1e-6, atol=1e-6)


def test_rank_deficient_symmetric_reconstruction() -> None:
    rng = np.random.default_rng(4)
    b, w = rng.normal(size=(4, 2)), weights(4)
    np.testing.assert_allclose(
        npgrad.grad(through_eigh(lambda x: x, w))(b @ b.T), herm(w), atol=1e-6
    )
    got = npgrad.grad(through_eigh(np.exp, w))(b @ b.T)
    np.testing.assert_allclose(got, exponential_gradient(b @ b.T, w), rtol=1e-6, atol=1e-6)


def through_eig(a: Array) -> Array:
    w, v = np.linalg.eig(a)
    return inner(weights(2), (v * w**2) @ np.linalg.inv(v))


REFUSED: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "reconstruction at exactly zero": (through_svd(lambda s: s, weights(3)), np.zeros((3, 3))),
    "tall, a singular value exactly zero": (
        through_svd(lambda s: s, weights(3)[:, :2]),
        np.diag([1.0, 0.0, 0.0])[:, :2],
    ),
    "reconstruction of an exactly singular symmetric matrix": (
        through_eigh(lambda x: x, weights(3)),
        np.diag([1.0, 0.0, 0.0]),
    ),
    "general matrix with a repeated eigenvalue": (
        through_eig,
        2 * np.eye(2),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_undetermined_is_refused(name: str) -> None:
    f, a = REFUSED[name]
    with pytest.raises(NoDerivative, match="equal to rounding"):
        npgrad.grad(f)(a)


def test_two_functions_of_a_pair_are_refused() -> None:
    """Square root and inverse square root of the same decomposition: the pair cannot be split."""
    q = rotation(3)
    a = (q * np.array([1.0, 4.0, 4.0])) @ q.T
    first, second = weights(3), weights(3)[::-1]

    def loss(a: Array) -> Array:
        values, v = np.linalg.eigh(a)
        root = (v * np.sqrt(values)) @ v.T
        return inner(first, root) + inner(second, (v / np.sqrt(values)) @ v.T)

    with pytest.raises(NoDerivative, match=r"np\.linalg\.eigh.*equal to rounding"):
        npgrad.grad(loss)(a)


def test_second_order_at_repeated_values_is_refused() -> None:
    q, w = rotation(3), weights(3)
    a = (q * np.array([1.0, 4.0, 4.0])) @ q.T
    for loss in (through_eigh(np.sqrt, w), lambda a: np.sum(np.log(np.linalg.eigvalsh(a)))):
        slope = lambda a, loss=loss: np.sum(w * npgrad.grad(loss)(a))
        with pytest.raises(NoDerivative, match="second derivative"):
            npgrad.grad(slope)(a)


def test_forward_mode_at_repeated_values_is_refused() -> None:
    q, w = rotation(3), weights(3)
    a = (q * np.array([1.0, 4.0, 4.0])) @ q.T
    with pytest.raises(NoDerivative, match="forward mode"):
        npgrad.jvp(through_eigh(np.sqrt, w), (a,), (herm(w),))
    # within the eigenspaces nothing is mixed
    _, slope = npgrad.jvp(through_eigh(np.sqrt, w), (a,), (a,))
    root = (q * np.array([1.0, 2.0, 2.0])) @ q.T
    np.testing.assert_allclose(slope, inner(w, root) / 2, rtol=1e-9)


def test_qr_raw_is_refused() -> None:
    def loss(a: Array) -> Array:
        h, tau = np.linalg.qr(a, mode="raw")
        return np.sum(h) + np.sum(tau)

    with pytest.raises(NoDerivative, match="mode='raw'"):
        npgrad.grad(loss)(weights(3))


def test_symmetric_convention_of_both_triangles() -> None:
    """The gradient is symmetric, and the same for either triangle that is read."""
    a = weights(3)
    a = a @ a.T + np.eye(3)
    w = weights(3)
    lower = npgrad.grad(lambda a: inner(w, np.linalg.cholesky(a)))(a)
    upper = npgrad.grad(lambda a: inner(w.T, np.linalg.cholesky(a, upper=True)))(a)
    np.testing.assert_allclose(lower, upper, rtol=1e-12)
    np.testing.assert_allclose(lower, lower.T, rtol=1e-12)
    for uplo in "LU":
        got = npgrad.grad(lambda a, uplo=uplo: np.sum(np.log(np.linalg.eigh(a, uplo)[0])))(a)
        np.testing.assert_allclose(got, np.linalg.inv(a), rtol=1e-10)


@pytest.mark.parametrize("condition", [1e1, 1e12])
def test_quadratic_form_of_a_large_symmetric_matrix(condition: float) -> None:
    """The second factorization is spared: a multiple of the solution is as good."""
    rng = np.random.default_rng(7)
    n = 80
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    a = basis * np.geomspace(1, 1 / condition, n) @ basis.T
    a = 0.5 * (a + a.T)
    x = rng.normal(size=n)
    b = a @ x
    found = npgrad.grad(lambda a, b: 0.3 * (b @ np.linalg.solve(a, b)), argnums=(0, 1))(a, b)
    scale = 10 * condition * np.finfo(float).eps * np.linalg.norm(x)
    np.testing.assert_allclose(found[1], 0.6 * x, rtol=0, atol=scale)
    np.testing.assert_allclose(
        found[0], -0.3 * np.outer(x, x), rtol=0, atol=scale * np.linalg.norm(x)
    )


def test_a_form_that_is_not_quadratic_is_solved() -> None:
    rng = np.random.default_rng(8)
    n = 80
    for symmetric in (False, True):
        a = rng.normal(size=(n, n)) + 20 * np.eye(n)
        a = a + a.T if symmetric else a
        x, z = rng.normal(size=(2, n))
        b, c = a @ x, a.T @ z
        if not symmetric:
            c = b  # a multiple of the right-hand side, but A is not symmetric
            z = np.linalg.solve(a.T, b)
        found = npgrad.grad(lambda a, b, c=c: c @ np.linalg.solve(a, b), argnums=(0, 1))(a, b)
        np.testing.assert_allclose(found[1], z, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found[0], -np.outer(z, x), rtol=1e-10, atol=1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1e-155, 1e-148, 1e155, 1e160, 1e300])
@pytest.mark.parametrize("order", [None, 1, 2, 3, 2.5, 0.5, -1, np.inf, "fro"])
def test_the_direction_of_a_norm_that_is_out_of_range(order, scale) -> None:
    """NumPy's value is 0 or inf there, or has lost digits; no factor changes the direction."""
    x = np.array([[3.0, 0.7], [-4.0, 1.6]]) if order == "fro" else np.array([3.0, -4.0, 0.5])
    sizes = np.abs(x)
    p = 2.0 if order in (None, "fro") else float(order)
    if p == np.inf:
        want = np.where(sizes == 4.0, np.sign(x), 0)
    else:
        want = np.sign(x) * (sizes / np.sum(sizes**p) ** (1 / p)) ** (p - 1)

    def norm(x):
        return np.linalg.norm(x, order)

    np.testing.assert_allclose(npgrad.grad(norm)(x * scale), want, rtol=1e-13)
    np.testing.assert_allclose(npgrad.jacfwd(norm)(x * scale), want, rtol=1e-13)
    if scale > 1e-300:  # of degree -1
        near, far = npgrad.hessian(norm)(x), npgrad.hessian(norm)(x * scale)
        np.testing.assert_allclose(far * scale, near, rtol=1e-11, atol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_norms_in_rows_of_which_some_are_out_of_range() -> None:
    x = np.array([[3.0, 4.0], [3e-200, 4e-200], [0.0, 0.0], [3e200, 4e200], [np.inf, 1.0]])
    gradient = npgrad.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(x)
    want = [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0], [0.6, 0.8], [np.nan, 0.0]]
    np.testing.assert_allclose(gradient, want, rtol=1e-14)
    single = npgrad.grad(lambda x: np.linalg.norm(x))(np.array([3e-30, 4e-30], np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, [0.6, 0.8], rtol=1e-6)
    z = npgrad.grad(lambda z: np.linalg.norm(z))(np.array([3e-200j, 4e-200]))
    np.testing.assert_allclose(z, [0.6j, 0.8], rtol=1e-14)


def test_open_vectors_that_lapack_did_not_choose_are_refused() -> None:
    """What does not depend on phases and bases has its gradient there as well."""
    rank_one = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, -1.0])
    with pytest.raises(NoDerivative, match=r"null space|equal to rounding"):
        npgrad.grad(lambda a: np.linalg.svd(a)[0][0, 3])(rank_one)
    apart = np.diag([5.0, 1.0, 3.0]).astype(complex)  # the first components are 0 but for one
    apart[1, 2], apart[2, 1] = 2 + 1j, 2 - 1j
    with pytest.raises(NoDerivative, match="phases"):
        npgrad.grad(lambda a: np.linalg.eigh(hermitian(a))[1][1, 0].imag)(apart)

    def free(a: Any) -> Any:
        return np.abs(np.linalg.eigh(hermitian(a))[1][1, 0]) ** 2

    np.testing.assert_allclose(
        npgrad.grad(free)(apart), finite_difference_grad(free, (apart,)), atol=1e-8
    )
