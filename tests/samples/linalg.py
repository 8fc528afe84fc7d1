"""Samples of ``npgrad.rules.linalg*``.

Functions that read one triangle are called with a symmetric argument made inside the call, since
they count as functions of symmetric matrices. Vectors whose phase LAPACK leaves open, and columns
of a null space, enter through functions that do not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.core import Sample

Array = Any
Make = Callable[[np.random.Generator], tuple[Array, ...]]


# ------------------------------------------------------------------------------------ arguments
def normal(*shapes: tuple[int, ...], complex: bool = False) -> Make:
    """Independent normal numbers."""

    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        arrays = [rng.normal(size=shape) for shape in shapes]
        return tuple(a + 1j * rng.normal(size=a.shape) if complex else a for a in arrays)

    return make


def regular(n: int, *others: tuple[int, ...], lead: tuple[int, ...] = (), **kind: Any) -> Make:
    """A well-conditioned n x n matrix (or a stack), then normal arrays."""

    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        first, *rest = normal((*lead, n, n), *others, **kind)(rng)
        return (0.5 * first + (1.5 + n**0.5) * np.eye(n), *rest)

    return make


def spread(rows: int, columns: int, lead: tuple[int, ...] = (), **kind: Any) -> Make:
    """Singular values 1, 2, 3, ...: no gap is small."""

    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        (a,) = normal((*lead, rows, columns), **kind)(rng)
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return ((u * (1.0 + np.arange(s.shape[-1])[::-1])) @ vh,)

    return make


def adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def hermitian(a: Array) -> Array:
    """The Hermitian part, with eigenvalues pulled apart."""
    return a + adjoint(a) + 4.0 * np.diag(np.arange(a.shape[-1])).astype(a.dtype)


def positive(a: Array) -> Array:
    return a @ adjoint(a) + np.eye(a.shape[-2], dtype=a.dtype)


def weights(*shape: int) -> Array:
    """Fixed numbers, all different, that no symmetry removes."""
    return np.cos(1.0 + 1.7 * np.arange(np.prod(shape))).reshape(shape)


def weighted(a: Array) -> Array:
    """`a` times fixed numbers in its own precision."""
    return a * weights(*a.shape[-2:]).astype(a.real.dtype)


# -------------------------------------------------------------------- inverses and equations
def solve(name: str, make: Make, call: Any = np.linalg.solve) -> Sample:
    return Sample(f"np.linalg.solve {name}", call, make)


def mixed(rng: np.random.Generator) -> tuple[Array, ...]:
    return regular(3)(rng)[0], rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))


INVERSES = [
    Sample("np.linalg.inv", np.linalg.inv, regular(3)),
    Sample("np.linalg.inv 1x1", np.linalg.inv, regular(1)),
    Sample("np.linalg.inv by name", lambda x: np.linalg.inv(a=x), regular(2)),
    Sample("np.linalg.inv stack", np.linalg.inv, regular(3, lead=(2, 2))),
    Sample("np.linalg.inv complex", np.linalg.inv, regular(3, complex=True)),
    Sample("np.linalg.inv transposed", lambda a: np.linalg.inv(a.T), regular(3)),
    Sample("np.linalg.inv reversed", lambda a: np.linalg.inv(a[::-1, ::-1]), regular(3)),
    Sample("np.linalg.inv no matrices", np.linalg.inv, normal((0, 3, 3))),
    Sample("np.linalg.inv no rows", np.linalg.inv, normal((2, 0, 0))),
    Sample("np.linalg.pinv tall", np.linalg.pinv, spread(4, 2)),
    Sample("np.linalg.pinv wide", np.linalg.pinv, spread(2, 4)),
    Sample("np.linalg.pinv square", np.linalg.pinv, regular(3)),
    Sample("np.linalg.pinv stack", np.linalg.pinv, spread(3, 2, lead=(2,))),
    Sample("np.linalg.pinv complex", np.linalg.pinv, spread(4, 3, complex=True)),
    Sample(
        "np.linalg.pinv of rank one",
        lambda a, b: np.linalg.pinv(np.outer(a, b), rcond=1e-5),
        lambda rng: (rng.normal(size=4) + 2, rng.normal(size=3) + 2),
    ),
    Sample(
        "np.linalg.pinv of rank two, complex",
        lambda a, b: np.linalg.pinv(a @ b, 1e-5),
        lambda rng: (spread(4, 2, complex=True)(rng)[0], spread(2, 3, complex=True)(rng)[0]),
    ),
    Sample("np.linalg.pinv rtol", lambda a: np.linalg.pinv(a, rtol=1e-6), spread(3, 2)),
    Sample(
        "np.linalg.pinv hermitian",
        lambda a: np.linalg.pinv(hermitian(a) + np.eye(3, dtype=a.dtype), hermitian=True),
        normal((3, 3)),
    ),
    Sample(
        "np.linalg.pinv hermitian, complex",
        lambda a: np.linalg.pinv(positive(a), hermitian=True),
        regular(3, complex=True),
    ),
    solve("vector", regular(3, (3,))),
    solve("matrix", regular(3, (3, 2))),
    solve("stack and vector", regular(3, (3,), lead=(2,))),
    solve("stack and matrix", regular(3, (3, 2), lead=(2,))),
    solve("stacks", regular(3, (2, 3, 2), lead=(2,))),
    solve("stacks that broadcast", regular(3, (4, 1, 3, 2), lead=(2,))),
    solve("matrix and stack", regular(3, (4, 3, 2))),
    solve("complex vector", regular(3, (3,), complex=True)),
    solve("complex stacks", regular(2, (2, 2, 1), lead=(2,), complex=True)),
    solve("real and complex", mixed),
    solve("a only", regular(3), lambda a: np.linalg.solve(a, weights(3).astype(a.dtype))),
    solve("b only", normal((3, 2)), lambda b: np.linalg.solve(np.diag([1, 2, 4]), b)),
    solve("with itself", regular(3), lambda a: np.linalg.solve(a, a @ a)),
    solve("transposed", regular(3, (3,)), lambda a, b: np.linalg.solve(a.T, b[::-1])),
    solve("no columns", regular(3, (3, 0))),
]


def lstsq(name: str, make: Make, call: Any = np.linalg.lstsq, **options: Any) -> Sample:
    return Sample(f"np.linalg.lstsq {name}", call, make, **options)


def with_right(make: Make, *shape: int, **kind: Any) -> Make:
    return lambda rng: (*make(rng), *normal(shape, **kind)(rng))


def deficient(rng: np.random.Generator) -> tuple[Array, ...]:
    return spread(5, 2)(rng)[0], spread(2, 3)(rng)[0], rng.normal(size=5)


LEAST_SQUARES = [
    lstsq("overdetermined", with_right(spread(5, 3), 5)),
    lstsq("overdetermined, matrix", with_right(spread(5, 3), 5, 2)),
    lstsq("underdetermined", with_right(spread(2, 4), 2)),
    lstsq("underdetermined, matrix", with_right(spread(2, 4), 2, 3)),
    lstsq("square", with_right(spread(3, 3), 3)),
    lstsq("complex", with_right(spread(4, 2, complex=True), 4, 2, complex=True)),
    lstsq("rcond", with_right(spread(4, 2), 4), lambda a, b: np.linalg.lstsq(a, b, rcond=-1)),
    lstsq(
        "of rank two",
        deficient,
        lambda a, c, b: np.linalg.lstsq(a @ c, b, rcond=1e-5)[0],
    ),
    lstsq("solution", with_right(spread(4, 2), 4), lambda a, b: np.linalg.lstsq(a, b)[0]),
    lstsq("residuals", with_right(spread(4, 2), 4, 2), lambda a, b: np.linalg.lstsq(a, b)[1]),
    lstsq("values", spread(4, 2), lambda a: np.linalg.lstsq(a, weights(4).astype(a.dtype))[3]),
]

# -------------------------------------------------------------------------------- determinants
DETERMINANTS = [
    Sample("np.linalg.det 1x1", np.linalg.det, normal((1, 1))),
    Sample("np.linalg.det 2x2", np.linalg.det, normal((2, 2))),
    Sample("np.linalg.det 4x4", np.linalg.det, regular(4)),
    Sample("np.linalg.det stack", np.linalg.det, normal((2, 3, 3))),
    Sample("np.linalg.det complex", np.linalg.det, normal((3, 3), complex=True)),
    Sample("np.linalg.det complex stack", np.linalg.det, normal((2, 2, 2), complex=True)),
    Sample("np.linalg.det no matrices", np.linalg.det, normal((0, 2, 2))),
    Sample("np.linalg.det no rows", np.linalg.det, normal((0, 0))),
    Sample(
        "np.linalg.det large",
        lambda a: np.linalg.det(a / a.shape[-1] ** 0.5 + np.eye(70, dtype=a.dtype)),
        lambda rng: (0.3 * rng.normal(size=(70, 70)),),
        batched=False,
    ),
    Sample("np.linalg.slogdet", np.linalg.slogdet, normal((3, 3))),
    Sample("np.linalg.slogdet log", lambda a: np.linalg.slogdet(a)[1], regular(3)),
    Sample("np.linalg.slogdet stack", np.linalg.slogdet, normal((2, 3, 3))),
    Sample("np.linalg.slogdet complex", np.linalg.slogdet, normal((3, 3), complex=True)),
    Sample(
        "np.linalg.slogdet complex sign",
        lambda a: np.linalg.slogdet(a).sign,
        normal((2, 2, 2), complex=True),
    ),
    Sample(
        "np.linalg.slogdet complex log",
        lambda a: np.linalg.slogdet(a).logabsdet,
        normal((2, 2), complex=True),
    ),
    Sample("np.linalg.slogdet no rows", lambda a: np.linalg.slogdet(a)[1], normal((2, 0, 0))),
]


# ------------------------------------------------------------------------------- factorizations
def complete(a: Array) -> Any:
    """What does not depend on how the null space is spanned."""
    q, r = np.linalg.qr(a, mode="complete")
    k = a.shape[-1]
    q2 = q[..., k:]
    return q[..., :k], r, q2 @ adjoint(q2)


FACTORS = [
    Sample("np.linalg.cholesky", lambda a: np.linalg.cholesky(positive(a)), normal((3, 3))),
    Sample(
        "np.linalg.cholesky upper",
        lambda a: np.linalg.cholesky(positive(a), upper=True),
        normal((3, 3)),
    ),
    Sample("np.linalg.cholesky 1x1", lambda a: np.linalg.cholesky(positive(a)), normal((1, 2))),
    Sample(
        "np.linalg.cholesky stack", lambda a: np.linalg.cholesky(positive(a)), normal((2, 3, 3))
    ),
    Sample(
        "np.linalg.cholesky complex",
        lambda a: np.linalg.cholesky(positive(a)),
        normal((3, 3), complex=True),
    ),
    Sample(
        "np.linalg.cholesky complex, upper",
        lambda a: np.linalg.cholesky(positive(a), upper=True),
        normal((2, 2, 2), complex=True),
    ),
    Sample(
        "np.linalg.cholesky in blocks",
        lambda a: np.linalg.cholesky(positive(a)),
        lambda rng: (0.1 * rng.normal(size=(150, 150)),),
        batched=False,
    ),
    Sample(
        "np.linalg.cholesky in blocks, complex stack",
        lambda a: np.linalg.cholesky(positive(a)),
        lambda rng: (0.1 * normal((2, 70, 70), complex=True)(rng)[0],),
        batched=False,
    ),
    Sample(
        "np.linalg.cholesky no matrices",
        lambda a: np.linalg.cholesky(positive(a)),
        normal((0, 2, 2)),
    ),
    Sample("np.linalg.qr tall", np.linalg.qr, spread(4, 3)),
    Sample("np.linalg.qr square", np.linalg.qr, regular(3)),
    Sample("np.linalg.qr wide", np.linalg.qr, normal((2, 4))),
    Sample("np.linalg.qr stack", np.linalg.qr, spread(3, 2, lead=(2,))),
    Sample("np.linalg.qr wide stack", np.linalg.qr, normal((2, 2, 3))),
    Sample("np.linalg.qr complex", np.linalg.qr, spread(4, 3, complex=True)),
    Sample("np.linalg.qr complex, wide", np.linalg.qr, spread(2, 3, complex=True)),
    Sample("np.linalg.qr q", lambda a: np.linalg.qr(a).Q, spread(3, 2)),
    Sample("np.linalg.qr q, wide", lambda a: np.linalg.qr(a)[0], spread(2, 3)),
    Sample("np.linalg.qr r", lambda a: np.linalg.qr(a).R, spread(3, 2)),
    Sample("np.linalg.qr mode r", lambda a: np.linalg.qr(a, "r"), spread(4, 3)),
    Sample("np.linalg.qr mode r, wide", lambda a: np.linalg.qr(a, mode="r"), spread(2, 4)),
    Sample(
        "np.linalg.qr mode r, complex", lambda a: np.linalg.qr(a, "r"), spread(3, 2, complex=True)
    ),
    Sample("np.linalg.qr complete", complete, spread(4, 2)),
    Sample("np.linalg.qr complete, complex", complete, spread(4, 2, complex=True)),
    Sample("np.linalg.qr complete, stack", complete, spread(3, 2, lead=(2,))),
    Sample("np.linalg.qr completion", lambda a: np.linalg.qr(a, "complete"), spread(5, 2)),
    Sample(
        "np.linalg.qr completion, complex stack",
        lambda a: np.linalg.qr(a, "complete"),
        spread(4, 2, (2,), complex=True),
    ),
    Sample("np.linalg.qr complete, wide", lambda a: np.linalg.qr(a, "complete"), spread(2, 3)),
]


# -------------------------------------------------------------------------------------- spectra
def eigh_function(a: Array, **options: Any) -> Any:
    """The values, and a function of a Hermitian matrix; phases do not matter."""
    w, v = np.linalg.eigh(hermitian(a), **options)
    return w, weighted((v * np.sin(w)[..., None, :]) @ adjoint(v))


def svd_function(a: Array, **options: Any) -> Any:
    """The values, and a function of a matrix; phases do not matter."""
    u, s, vh = np.linalg.svd(a, full_matrices=False, **options)
    return s, weighted((u * np.sin(s)[..., None, :]) @ vh)


def svd_full(a: Array) -> Any:
    """With the projectors on both null spaces."""
    u, s, vh = np.linalg.svd(a)
    k = s.shape[-1]
    u2, v2h = u[..., k:], vh[..., k:, :]
    f = (u[..., :k] * np.sin(s)[..., None, :]) @ vh[..., :k, :]
    return s, weighted(f), weighted(u2 @ adjoint(u2)), weighted(adjoint(v2h) @ v2h)


def eig_function(a: Array) -> Any:
    """The values, and a function of a general matrix."""
    w, v = np.linalg.eig(a)
    return w, weighted((v * np.sin(w)[..., None, :]) @ np.linalg.inv(v))


def turning(rng: np.random.Generator) -> tuple[Array, ...]:
    """Real, with two pairs of complex eigenvalues and a real one."""
    a = 0.3 * rng.normal(size=(5, 5)) + np.diag([1.0, 1.0, 3.0, 3.0, 6.0])
    a[0, 1] += 2
    a[1, 0] -= 2
    a[2, 3] += 3
    a[3, 2] -= 3
    return (a,)


def apart(n: int, lead: tuple[int, ...] = (), **kind: Any) -> Make:
    """Eigenvalues near 0, 3, 6, ..."""
    return lambda rng: (0.3 * normal((*lead, n, n), **kind)(rng)[0] + np.diag(3.0 * np.arange(n)),)


SPECTRA = [
    Sample("np.linalg.eigh", lambda a: np.linalg.eigh(hermitian(a)), normal((3, 3))),
    Sample("np.linalg.eigh UPLO", lambda a: np.linalg.eigh(hermitian(a), "U"), normal((3, 3))),
    Sample("np.linalg.eigh stack", lambda a: np.linalg.eigh(hermitian(a)), normal((2, 3, 3))),
    Sample("np.linalg.eigh 1x1", lambda a: np.linalg.eigh(hermitian(a)), normal((1, 1))),
    Sample("np.linalg.eigh values", lambda a: np.linalg.eigh(hermitian(a))[0], normal((3, 3))),
    Sample(
        "np.linalg.eigh vectors",
        lambda a: np.linalg.eigh(hermitian(a)).eigenvectors,
        normal((3, 3)),
    ),
    Sample("np.linalg.eigh function", eigh_function, normal((3, 3))),
    Sample("np.linalg.eigh complex function", eigh_function, normal((3, 3), complex=True)),
    Sample("np.linalg.eigh no matrices", eigh_function, normal((0, 2, 2))),
    Sample("np.linalg.eigh no rows", eigh_function, normal((2, 0, 0))),
    Sample("np.linalg.eigvalsh", lambda a: np.linalg.eigvalsh(hermitian(a)), normal((3, 3))),
    Sample(
        "np.linalg.eigvalsh UPLO",
        lambda a: np.linalg.eigvalsh(hermitian(a), UPLO="U"),
        normal((2, 2, 2), complex=True),
    ),
    Sample(
        "np.linalg.eigh phases",
        lambda a: np.linalg.eigh(hermitian(a)),
        spread(3, 3, complex=True),
    ),
    Sample(
        "np.linalg.eigh phases, upper stack",
        lambda a: np.linalg.eigh(hermitian(a), "U"),
        spread(3, 3, (2,), complex=True),
    ),
    Sample("np.linalg.svd", lambda a: np.linalg.svd(a, False), spread(4, 3)),
    Sample("np.linalg.svd wide", lambda a: np.linalg.svd(a, full_matrices=False), spread(2, 4)),
    Sample("np.linalg.svd square", np.linalg.svd, spread(3, 3)),
    Sample("np.linalg.svd stack", lambda a: np.linalg.svd(a, False), spread(3, 2, lead=(2,))),
    Sample("np.linalg.svd function", svd_function, spread(4, 3)),
    Sample("np.linalg.svd complex function", svd_function, spread(4, 3, complex=True)),
    Sample("np.linalg.svd complex function, wide", svd_function, spread(2, 3, complex=True)),
    Sample("np.linalg.svd completion", np.linalg.svd, spread(5, 2)),
    Sample("np.linalg.svd completion, wide stack", np.linalg.svd, spread(1, 3, (2,))),
    Sample("np.linalg.svd completion, complex", np.linalg.svd, spread(4, 1, complex=True)),
    Sample("np.linalg.svd phases", np.linalg.svd, spread(3, 3, complex=True)),
    Sample(
        "np.linalg.svd phases, wide",
        lambda a: np.linalg.svd(a, full_matrices=False),
        spread(2, 3, complex=True),
    ),
    Sample("np.linalg.svd full, tall", svd_full, spread(4, 2)),
    Sample("np.linalg.svd full, wide", svd_full, spread(2, 4)),
    Sample("np.linalg.svd full, complex", svd_full, spread(4, 2, complex=True)),
    Sample("np.linalg.svd full, complex wide stack", svd_full, spread(2, 3, (2,), complex=True)),
    Sample("np.linalg.svd u", lambda a: np.linalg.svd(a, False).U, spread(3, 2)),
    Sample("np.linalg.svd vh", lambda a: np.linalg.svd(a, False).Vh, spread(2, 3)),
    Sample("np.linalg.svd s", lambda a: np.linalg.svd(a)[1], spread(3, 2)),
    Sample(
        "np.linalg.svd compute_uv=False",
        lambda a: np.linalg.svd(a, compute_uv=False),
        spread(3, 4),
    ),
    Sample(
        "np.linalg.svd compute_uv=False, complex",
        lambda a: np.linalg.svd(a, True, False),
        spread(3, 2, (2,), complex=True),
    ),
    Sample(
        "np.linalg.svd hermitian",
        lambda a: np.linalg.svd(hermitian(a) - 3 * np.eye(3, dtype=a.dtype), hermitian=True),
        lambda rng: (0.3 * rng.normal(size=(3, 3)),),
    ),
    Sample(
        "np.linalg.svd hermitian, complex",
        lambda a: svd_function(hermitian(a) - 3 * np.eye(3, dtype=a.dtype), hermitian=True),
        lambda rng: (0.3 * normal((3, 3), complex=True)(rng)[0],),
    ),
    Sample(
        "np.linalg.svd hermitian, values",
        lambda a: np.linalg.svd(
            hermitian(a) - 3 * np.eye(3, dtype=a.dtype), compute_uv=False, hermitian=True
        ),
        lambda rng: (0.3 * rng.normal(size=(3, 3)),),
    ),
    Sample("np.linalg.svd no matrices", svd_function, normal((0, 3, 2))),
    Sample("np.linalg.svdvals", np.linalg.svdvals, spread(3, 4)),
    Sample("np.linalg.svdvals complex", np.linalg.svdvals, spread(3, 2, (2,), complex=True)),
    Sample("np.linalg.eig", np.linalg.eig, apart(3)),
    Sample("np.linalg.eig complex pairs", np.linalg.eig, turning),
    Sample("np.linalg.eig complex", np.linalg.eig, apart(3, complex=True)),
    Sample("np.linalg.eig stack", np.linalg.eig, apart(2, (2,))),
    Sample("np.linalg.eig function", eig_function, turning),
    Sample("np.linalg.eig vectors", lambda a: np.linalg.eig(a).eigenvectors, turning),
    Sample("np.linalg.eig values", lambda a: np.linalg.eig(a)[0], apart(3, (2,))),
    Sample("np.linalg.eigvals", np.linalg.eigvals, apart(3)),
    Sample("np.linalg.eigvals complex pairs", np.linalg.eigvals, turning),
    Sample("np.linalg.eigvals complex", np.linalg.eigvals, apart(3, (2,), complex=True)),
    Sample("np.linalg.eigvals no matrices", np.linalg.eigvals, normal((0, 2, 2))),
]

# ------------------------------------------------------------------ powers, tensors, conditions
POWERS = [
    Sample(f"np.linalg.matrix_power {n}", lambda a, n=n: np.linalg.matrix_power(a, n), regular(3))
    for n in (-3, -1, 0, 1, 2, 3, 4, 7)
] + [
    Sample(
        "np.linalg.matrix_power complex stack",
        lambda a: np.linalg.matrix_power(a, n=5),
        normal((2, 2, 2), complex=True),
    ),
    Sample(
        "np.linalg.tensorinv",
        lambda a: np.linalg.tensorinv((a + 4 * np.eye(6, dtype=a.dtype)).reshape(2, 3, 6), ind=2),
        normal((6, 6)),
    ),
    Sample(
        "np.linalg.tensorinv ind=1",
        lambda a: np.linalg.tensorinv((a + 4 * np.eye(6, dtype=a.dtype)).reshape(6, 3, 2), ind=1),
        normal((6, 6), complex=True),
    ),
    Sample(
        "np.linalg.tensorsolve",
        lambda a, b: np.linalg.tensorsolve(
            (a + 4 * np.eye(6, dtype=a.dtype)).reshape(2, 3, 3, 2), b
        ),
        normal((6, 6), (2, 3)),
    ),
    Sample(
        "np.linalg.tensorsolve axes",
        lambda a, b: np.linalg.tensorsolve(
            np.moveaxis((a + 4 * np.eye(6, dtype=a.dtype)).reshape(6, 2, 3), 1, 0), b, axes=(0, 2)
        ),
        normal((6, 6), (6,)),
    ),
]

CONDITIONS = [
    Sample(f"np.linalg.cond {p}", lambda a, p=p: np.linalg.cond(a, p), spread(3, 3, (2,)), tol=1e-5)
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")
] + [
    Sample("np.linalg.cond tall", np.linalg.cond, spread(4, 3)),
    Sample("np.linalg.cond complex", lambda a: np.linalg.cond(a, p=1), regular(3, complex=True)),
    Sample("np.linalg.cond complex values", np.linalg.cond, spread(3, 3, complex=True)),
]


# ---------------------------------------------------------------------------------------- norms
def norm(name: str, make: Make, *args: Any, **options: Any) -> Sample:
    return Sample(f"np.linalg.norm {name}", lambda x: np.linalg.norm(x, *args, **options), make)


VECTOR_ORDERS = (None, 2, 1, 0, 3, 2.5, 1.5, 0.5, -1, -2, -1.5, np.inf, -np.inf)
MATRIX_ORDERS = (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)

NORMS = [
    *(norm(f"vector {p}", normal((5,)), p) for p in VECTOR_ORDERS),
    *(norm(f"complex vector {p}", normal((4,), complex=True), p) for p in VECTOR_ORDERS),
    *(norm(f"axis {p}", normal((3, 4)), p, -1) for p in VECTOR_ORDERS),
    *(norm(f"axis keepdims {p}", normal((2, 3, 2)), p, (1,), True) for p in VECTOR_ORDERS),
    *(norm(f"matrix {p}", spread(4, 3), p) for p in MATRIX_ORDERS),
    *(norm(f"wide matrix keepdims {p}", spread(2, 3), p, keepdims=True) for p in MATRIX_ORDERS),
    *(norm(f"complex matrix {p}", spread(3, 4, complex=True), p) for p in MATRIX_ORDERS),
    *(norm(f"stack {p}", spread(3, 2, (2,)), p, axis=(-2, -1)) for p in MATRIX_ORDERS),
    *(
        norm(f"stack axes (2, 0) keepdims {p}", normal((2, 2, 3)), p, axis=(2, 0), keepdims=True)
        for p in MATRIX_ORDERS
    ),
    *(
        norm(f"complex stack axes (0, -1) {p}", normal((3, 2, 2), complex=True), p, axis=(0, -1))
        for p in MATRIX_ORDERS
    ),
    norm("three axes", normal((2, 3, 2))),
    norm("three axes keepdims", normal((2, 3, 2)), None, None, True),
    norm("of a number", normal(())),
    norm("square of matrix keepdims", normal((2, 2)), keepdims=True),
    norm("no rows", normal((0, 3)), axis=1),
    Sample("np.linalg.norm by name", lambda x: np.linalg.norm(x=x, ord=3), normal((4,))),
    Sample("np.linalg.norm steps", lambda x: np.linalg.norm(x[::-2].T, axis=0), normal((4, 3))),
    Sample("np.linalg.norm squared", lambda x: np.linalg.norm(x) ** 2, normal((2, 3))),
    Sample("np.linalg.vector_norm", np.linalg.vector_norm, normal((2, 3))),
    *(
        Sample(
            f"np.linalg.vector_norm {p}",
            lambda x, p=p: np.linalg.vector_norm(x, ord=p),
            normal((2, 3), complex=True),
        )
        for p in VECTOR_ORDERS
        if p is not None
    ),
    *(
        Sample(
            f"np.linalg.vector_norm axes {p}",
            lambda x, p=p: np.linalg.vector_norm(x, axis=(0, -1), ord=p, keepdims=True),
            normal((2, 3, 2)),
        )
        for p in VECTOR_ORDERS
        if p is not None
    ),
    Sample(
        "np.linalg.vector_norm axis", lambda x: np.linalg.vector_norm(x, axis=1), normal((2, 3))
    ),
    Sample("np.linalg.matrix_norm", np.linalg.matrix_norm, normal((2, 3))),
    *(
        Sample(
            f"np.linalg.matrix_norm {p}",
            lambda x, p=p: np.linalg.matrix_norm(x, ord=p, keepdims=True),
            spread(2, 3, (2,)),
        )
        for p in MATRIX_ORDERS
    ),
]

SAMPLES: list[Sample] = [
    *INVERSES,
    *LEAST_SQUARES,
    *DETERMINANTS,
    *FACTORS,
    *SPECTRA,
    *POWERS,
    *CONDITIONS,
    *NORMS,
]
