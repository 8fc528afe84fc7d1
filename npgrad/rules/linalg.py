"""Linear algebra: what all of ``np.linalg`` shares, and the list of its chapters.

``linalg_solve`` has inverses, equations and determinants, ``linalg_factor`` Cholesky and QR,
``linalg_spectral`` the eigenvalue and singular value decompositions, ``linalg_norm`` the norms and
the condition number. Products (matmul, multi_dot, outer, vecdot, ...) are with the contractions.

Conventions
-----------
*Stacks.* Matrices are the last two axes, whatever stands before them, also with no matrix at all.

*Symmetric arguments.* cholesky, eigh, eigvalsh, and pinv and svd with ``hermitian=True`` read one
triangle. Of a matrix that is Hermitian they count as functions of Hermitian matrices: the gradient
is Hermitian, so its product with a Hermitian direction is the derivative; a tangent is replaced by
its Hermitian part. This is the same for either triangle (``UPLO``, ``upper``), and for every route
to the same number: ``log det`` through cholesky, eigh and slogdet has one and the same gradient. Of
a matrix whose triangles differ (one that was filled in one triangle alone) they are functions of
the triangle that is read: gradient and tangent count there, twice off the diagonal, and nowhere
else. On a device, where a look at the values would wait for it, every matrix counts as Hermitian.

*Gauge.* Complex singular vectors and eigenvectors are defined up to a phase, null space columns
(``full_matrices``, ``mode="complete"``) up to a rotation. Derivatives are those of the very numbers
that NumPy returns, see ``linalg_gauge``. The vectors of ``eig`` follow LAPACK's rule (Euclidean
norm 1, largest component real), and the diagonal of the Cholesky and QR factors is real as LAPACK
makes it.

*Constant rank.* pinv and lstsq are differentiated at constant rank, where they are smooth.

*Repeated values.* See ``linalg_repeated``.

Here live the small helpers of these chapters.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.array import unwrap
from npgrad.primitives import beside

Array = Any


def transposed(a: Array) -> Array:
    """Each matrix transposed."""
    return a.swapaxes(-1, -2)


def adjoint(a: Array) -> Array:
    """Each matrix transposed and conjugated; a view where it is real."""
    t = a.swapaxes(-1, -2)
    return t.conj() if t.dtype.kind == "c" else t


def hermitian_part(a: Array) -> Array:
    """The Hermitian matrices nearest to `a`."""
    return 0.5 * (a + adjoint(a))


def triangles_differ(a: Array) -> Array | None:
    """Which matrices of `a` are not Hermitian, beyond rounding; None if all of them are."""
    a = unwrap(a)
    if type(a) is not np.ndarray:
        return None
    other = adjoint(a)
    if np.array_equal(a, other):
        return None
    with np.errstate(all="ignore"):  # the triangle that is not read may hold anything
        gap = np.max(np.abs(a - other), axis=(-2, -1), initial=0)
        size = np.max(np.abs(a), axis=(-2, -1), initial=0)
        differ: Array = ~(gap <= 100 * np.finfo(a.dtype).eps * size)
    return differ if differ.any() else None


def _strictly(n: int, lower: bool, like: Array) -> Array:
    mask = below_mask(n, like)
    return mask if lower else mask.swapaxes(-1, -2)


def matrix_read(a: Array, lower: bool = True) -> Array:
    """The Hermitian matrix of the triangle of `a` that is read; `a` itself if it is Hermitian."""
    if triangles_differ(a) is None:
        return a
    return hermitian_from_lower(a) if lower else adjoint(hermitian_from_lower(adjoint(a)))


def tangent_read(g: Array, a: Array, lower: bool = True) -> Array:
    """The tangent of that Hermitian matrix, given `g`, that of `a`."""
    differ = triangles_differ(a)
    if differ is None:
        return hermitian_part(g)
    triangle = hermitian_from_lower(g) if lower else adjoint(hermitian_from_lower(adjoint(g)))
    if differ.all():
        return triangle
    return np.where(differ[..., None, None], triangle, hermitian_part(g))


def cotangent_read(g: Array, a: Array, lower: bool = True) -> Array:
    """The cotangent of `a`, given `g`, the Hermitian one of that Hermitian matrix."""
    differ = triangles_differ(a)
    if differ is None:
        return g
    n = g.shape[-1]
    triangle = np.where(
        diagonal_mask(n, g), g, np.where(_strictly(n, lower, g), 2 * g, np.zeros_like(g))
    )
    return triangle if differ.all() else np.where(differ[..., None, None], triangle, g)


def largest(sizes: Array, axes: Any) -> Array:
    """The largest of `sizes`, which are not negative; 0 of none (CuPy has no ``initial=``)."""
    reduce = np.max if sizes.size else np.sum
    return reduce(sizes, axis=axes, keepdims=True)


def real(a: Array) -> Array:
    """The real part, without a call where `a` is real already."""
    return a.real if a.dtype.kind == "c" else a


def conjugate(a: Array) -> Array:
    """The complex conjugate, without a pass where `a` is real."""
    return a.conj() if a.dtype.kind == "c" else a


def scaled(g: Array, a: Array) -> Array:
    """Each matrix of `a` times its number in `g`."""
    return g[..., None, None] * a if g.ndim else g * a


def aligned(g: Array, ndim: int, total: int) -> Array:
    """A tangent of `ndim` axes with room for `total` after its batch axes, if it has any."""
    missing, lead = total - ndim, g.ndim - ndim
    if missing <= 0 or lead == 0:
        return g
    return g.reshape((*g.shape[:lead], *(1,) * missing, *g.shape[lead:]))


def identity(n: int, like: Array) -> Array:
    """The identity in the dtype and library of `like`."""
    return beside(like).eye(n, dtype=like.dtype)


def diagonal_mask(n: int, like: Array) -> Array:
    """True on the diagonal, where `like` lives."""
    xp = beside(like)
    return _diagonal(n) if xp is np else xp.eye(n, dtype=bool)


def below_mask(n: int, like: Array) -> Array:
    """True below the diagonal, where `like` lives."""
    xp = beside(like)
    return _below(n) if xp is np else xp.tri(n, k=-1, dtype=bool)


@functools.lru_cache(maxsize=16)  # making one costs as much as a product of 32 x 32 matrices
def _diagonal(n: int) -> Array:
    mask = np.eye(n, dtype=bool)
    mask.flags.writeable = False
    return mask


@functools.lru_cache(maxsize=16)
def _below(n: int) -> Array:
    mask = np.tri(n, k=-1, dtype=bool)
    mask.flags.writeable = False
    return mask


def main_diagonal(a: Array) -> Array:
    """The diagonal of each matrix."""
    return np.diagonal(a, axis1=-2, axis2=-1)


def with_diagonal(a: Array, v: Array) -> Array:
    """Each matrix of `a` plus the last axis of `v` on its diagonal."""
    return np.where(diagonal_mask(a.shape[-1], a), a + v[..., None, :], a)


def hermitian_from_lower(a: Array) -> Array:
    """The Hermitian matrix whose lower triangle is that of `a`; the diagonal's real part counts."""
    n = a.shape[-1]
    whole = np.where(below_mask(n, a), a, adjoint(a))
    return np.where(diagonal_mask(n, a), a.real, whole) if a.dtype.kind == "c" else whole


def skew_from_lower(a: Array) -> Array:
    """The skew-Hermitian matrix whose lower triangle is that of `a`."""
    n = a.shape[-1]
    whole = np.where(below_mask(n, a), a, -adjoint(a))
    return np.where(diagonal_mask(n, a), 1j * a.imag if a.dtype.kind == "c" else 0, whole)


def as_array(value: Any) -> Array:
    """`value` as it is if it is an array already, recorded or not; plain lists as an array."""
    return value if hasattr(value, "dtype") and hasattr(value, "ndim") else np.asarray(value)


# ---------------------------------------------------------------------------------- small matrices
# What NumPy's functions of matrices call. Of a matrix of 4 x 4, np.linalg.inv takes 6.4 us, of
# which LAPACK 1.1, slogdet 5.5 and 1.4, det 4.4 and 1.3: programs of small matrices notice it.
LAPACK: Any = getattr(np.linalg, "_umath_linalg", None)
FEW = 4096  # entries up to which the Python around LAPACK counts
SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def is_small(a: Any) -> bool:
    """Whether `a` is a square matrix of few doubles, with which NumPy computes as they are."""
    return (
        type(a) is np.ndarray
        and a.dtype is backend.FLOAT
        and a.ndim == 2
        and a.shape[0] == a.shape[1]
        and 0 < a.size <= FEW
        and LAPACK is not None
    )


def inverse(a: Array) -> Array:
    """``np.linalg.inv``; LAPACK's result is NaN throughout where there is none."""
    if is_small(a):
        with backend.quiet():
            made = LAPACK.inv(a)
        if made[0, 0] == made[0, 0]:
            return made
    return np.linalg.inv(a)


def determinant(a: Array) -> Array:
    """``np.linalg.det``."""
    return LAPACK.det(a) if is_small(a) else np.linalg.det(a)


def log_determinant(a: Array) -> Any:
    """``np.linalg.slogdet``."""
    return SlogdetResult(*LAPACK.slogdet(a)) if is_small(a) else np.linalg.slogdet(a)
