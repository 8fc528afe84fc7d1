"""Inverses, linear equations, determinants and matrix powers.

Rules may use ``g``, ``y``, ``shape`` and NumPy's parameters ``a``, ``b``, ``rcond``, ``hermitian``,
``axes``, ``ind``, ``n``. The rules of inv, solve, det are transposes (the functions are
holomorphic); those of pinv, lstsq and slogdet are adjoints.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import weakref
from typing import Any

import numpy as np

from npgrad.implementations import one_blas_thread
from npgrad.primitives import primitive
from npgrad.rules.linalg import (
    adjoint,
    aligned,
    as_array,
    conjugate,
    cotangent_read,
    determinant,
    diagonal_mask,
    hermitian_part,
    identity,
    inverse,
    log_determinant,
    main_diagonal,
    matrix_read,
    real,
    scaled,
    tangent_read,
    transposed,
)
from npgrad.rules.matmul import product
from npgrad.table import composed, computed_by, reverse

Array = Any


# -------------------------------------------------------------------------------------- inverses
def inv_vjp(g: Array, y: Array) -> Array:
    """d(A^-1) = -A^-1 dA A^-1, transposed."""
    yt = transposed(y)
    return -product(product(yt, g), yt)


reverse(np.linalg.inv, inv_vjp, lambda g, y: -(y @ g @ y), batched=True)
computed_by(np.linalg.inv, inverse)


def pinv_vjp(g: Array, a: Array, y: Array, hermitian: Any) -> Array:
    """The adjoint of `pinv_jvp`: as there, P = y and the rank stays what it is."""
    read = matrix_read(a) if hermitian else a
    ph, gh = adjoint(y), adjoint(g)
    left, right = gh @ y, y @ gh  # G^H P and P G^H
    cotangent = (left - read @ (y @ left)) @ ph + ph @ (right - (right @ y) @ read)
    cotangent = cotangent - ph @ g @ ph
    return cotangent_read(hermitian_part(cotangent), a) if hermitian else cotangent


def pinv_jvp(g: Array, a: Array, y: Array, hermitian: Any) -> Array:
    """Golub and Pereyra (1973): P = A^+ moves by the inverse's term and one for each null space."""
    if hermitian:
        g, a = tangent_read(g, a), matrix_read(a)
    yh, gh = adjoint(y), adjoint(g)
    left, right = gh @ yh, yh @ gh
    return (left - y @ (a @ left)) @ y + y @ (right - (right @ a) @ y) - y @ g @ y


reverse(
    np.linalg.pinv,
    pinv_vjp,
    pinv_jvp,
    signature=None,
    ignores=("rcond", "rtol"),
    holomorphic=False,
    batched=True,
)


# ------------------------------------------------------------------------------------- equations
# From this many entries of A on, the cotangent of b is remembered from that of A: it saves one of
# three factorizations (a ratio of 2.8 to the forward at n = 1000 in place of 3.8); below, comparing
# costs as much as solving.
SHARED_SIZE = 64 * 64
_latest = threading.local()


def remember(a: Array, g: Array, z: Array) -> None:
    """Keep A^T z = g for the rule of b, which comes next, as long as `a` lives."""
    pair = [g.copy(), z]
    _latest.solution = (weakref.ref(a, lambda _: pair.clear()), pair)


def remembered(a: Array, g: Array) -> Array | None:
    """The z of the same A and equal g, once."""
    reference, pair = getattr(_latest, "solution", (None, []))
    if reference is None or reference() is not a:
        return None
    _latest.solution = (None, [])
    return pair[1] if pair and np.array_equal(pair[0], g) else None


# Between these numbers of rows one thread of BLAS solves as fast as two that are joined some twenty
# times, and on a busy machine a hundred times as fast. Smaller systems are solved in one anyway.
JOINED = (64, 512)


def joined(a: Array) -> bool:
    """Whether to solve with the matrix `a` in one thread of BLAS."""
    return JOINED[0] <= a.shape[-1] <= JOINED[1] and type(a) is np.ndarray


def solved(a: Array, g: Array, vector: bool) -> Array:
    """A^-1 g, where `g` holds vectors after any number of axes, or matrices."""
    if not vector or g.ndim == 1:
        with one_blas_thread() if joined(a) else contextlib.nullcontext():
            return np.linalg.solve(a, g)
    if g.ndim == a.ndim == 2:  # many vectors, one factorization
        return transposed(np.linalg.solve(a, transposed(g)))
    return np.linalg.solve(a, g[..., None])[..., 0]


def large(a: Array, g: Array) -> bool:
    """Whether remembering pays; recorded arrays and those of other libraries do without."""
    return a.size >= SHARED_SIZE and type(a) is np.ndarray is type(g)


def guessed(a: Array, g: Array, y: Array) -> Array | None:
    """The solution of A^T z = g as a multiple of `y`, if that is as good as a computed one.

    For the quadratic form b A^-1 b of a symmetric A (the likelihood of every Gaussian process) it
    is: z = c y with g = c b. Two passes over A tell, where a factorization takes n / 3. As good
    means a residual within 4 eps |A| |z|, a backward error no larger than that of elimination.
    """
    moved = y @ a  # A^T y
    c = moved @ g / (moved @ moved)
    z = c * y
    bound = 4 * np.finfo(a.dtype).eps * np.linalg.norm(a) * np.linalg.norm(z)
    return z if np.linalg.norm(c * moved - g) <= bound else None


def solve_vjp_matrix(g: Array, a: Array, y: Array) -> Array:
    """The cotangent of a: -z x^T with A^T z = g. Only a b of one axis is a vector (NumPy 2)."""
    vector = y.ndim < a.ndim
    z = None
    if large(a, g):
        if a.ndim == 2 and y.ndim == g.ndim == 1 and a.dtype.kind == "f":
            z = guessed(a, g, y)
        if z is None:
            z = solved(transposed(a), g, vector)
        remember(a, g, z)
    else:
        z = solved(transposed(a), g, vector)
    return -z[..., None] * y[..., None, :] if vector else -(z @ transposed(y))


def solve_vjp_right(g: Array, a: Array, shape: Any) -> Array:
    """The cotangent of b: z."""
    z = remembered(a, g) if large(a, g) else None
    return solved(transposed(a), g, len(shape) == 1) if z is None else z


def solve_jvp_matrix(g: Array, a: Array, y: Array) -> Array:
    """A dx = -dA x."""
    if y.ndim < a.ndim:
        return -np.linalg.solve(a, g @ y[..., None])[..., 0]
    return -np.linalg.solve(a, aligned(g, a.ndim, y.ndim) @ y)


def solve_jvp_right(g: Array, a: Array, shape: Any) -> Array:
    """A dx = db."""
    if len(shape) > 1:
        return np.linalg.solve(a, aligned(g, len(shape), a.ndim))
    if g.ndim == 1:
        return np.linalg.solve(a, g)
    return np.linalg.solve(a, aligned(g[..., None], 2, a.ndim))[..., 0]


reverse(
    np.linalg.solve,
    {"a": solve_vjp_matrix, "b": solve_vjp_right},
    {"a": solve_jvp_matrix, "b": solve_jvp_right},
    batched=True,
)


# --------------------------------------------------------------------------------- least squares
def lstsq_rcond(shape: Any, rcond: Any) -> float:
    """The cut-off that np.linalg.lstsq, which computes in double precision, took for the rank."""
    eps = float(np.finfo(np.float64).eps)
    if rcond is None:
        return float(eps * max(shape))
    return eps if rcond < 0 else float(rcond)


def column(v: Array, ndim: int) -> Array:
    """`v` as columns where b (of `ndim` axes) was a vector."""
    return v if ndim == 2 else v[:, None]


def residual(a: Array, b: Array, x: Array) -> Array:
    """What the least-squares solution leaves, as columns."""
    return column(b, b.ndim) - a @ x


def lstsq_vjp_a(g: Any, a: Array, b: Array, y: Any, rcond: Any) -> Array:
    """Through x as through pinv(a) @ b, through the sums of squares and the singular values."""
    gx, gr, _, gs = g
    x = column(y[0], b.ndim)
    parts = []
    if gx is not None:
        gx = column(gx, b.ndim)
        p = np.linalg.pinv(a, rcond=lstsq_rcond(a.shape, rcond))
        ph = adjoint(p)
        z = ph @ gx
        outside = gx - p @ (a @ gx)
        parts.append(residual(a, b, x) @ adjoint(p @ z) + (ph @ x) @ adjoint(outside))
        parts.append(-z @ adjoint(x))
    if gr is not None and gr.shape[0]:
        parts.append((-2 * gr * residual(a, b, x)) @ adjoint(x))
    if gs is not None:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        parts.append((u * gs) @ vh)
    return sum(parts[1:], parts[0]) if parts else np.zeros_like(a)


def lstsq_vjp_b(g: Any, a: Array, b: Array, y: Any, rcond: Any) -> Array:
    """pinv(a)^H times the cotangent of x, and twice the residual for its sum of squares."""
    gx, gr, _, _ = g
    parts = []
    if gx is not None:
        p = np.linalg.pinv(a, rcond=lstsq_rcond(a.shape, rcond))
        parts.append(adjoint(p) @ gx)
    if gr is not None and gr.shape[0]:
        r = 2 * gr * residual(a, b, column(y[0], b.ndim))
        parts.append(r if b.ndim == 2 else r[:, 0])
    return sum(parts[1:], parts[0]) if parts else np.zeros_like(b)


def lstsq_jvp_a(g: Array, a: Array, b: Array, y: Any, rcond: Any) -> Any:
    """The derivative of pinv(a) @ b; the residual is orthogonal to what a can reach."""
    x, gh = column(y[0], b.ndim), adjoint(g)
    p = np.linalg.pinv(a, rcond=lstsq_rcond(a.shape, rcond))
    r, moved = residual(a, b, x), g @ x
    inside = gh @ (adjoint(p) @ x)
    dx = p @ (adjoint(p) @ (gh @ r) - moved) + inside - p @ (a @ inside)
    squares = -2 * real(np.sum(conjugate(r) * moved, axis=0))
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    values = real(np.sum(conjugate(u) * (g @ adjoint(vh)), axis=0))
    return (
        dx if b.ndim == 2 else dx[:, 0],
        squares if y[1].shape[0] else np.zeros_like(y[1]),
        None,
        values,
    )


def lstsq_jvp_b(g: Array, a: Array, b: Array, y: Any, rcond: Any) -> Any:
    """Linear in b but for the sums of squares."""
    p = np.linalg.pinv(a, rcond=lstsq_rcond(a.shape, rcond))
    r = residual(a, b, column(y[0], b.ndim))
    squares = 2 * real(np.sum(conjugate(r) * column(g, b.ndim), axis=0))
    return p @ g, squares if y[1].shape[0] else np.zeros_like(y[1]), None, np.zeros_like(y[3])


reverse(
    np.linalg.lstsq,
    {"a": lstsq_vjp_a, "b": lstsq_vjp_b},
    {"a": lstsq_jvp_a, "b": lstsq_jvp_b},
    holomorphic=False,
)


# ---------------------------------------------------------------------------------- determinants
@primitive
def cofactor(a: Array) -> Array:
    """The matrix of cofactors, which exists for a singular matrix too: det(A) A^-T elsewhere.

    The product is accurate next to singular matrices as well, since det and inv come from the same
    pivots; at exactly singular ones the factors are those of the singular value decomposition.
    """
    try:
        return scaled(determinant(a), transposed(inverse(a)))
    except np.linalg.LinAlgError:
        u, s, vh = np.linalg.svd(a)
        off = ~diagonal_mask(s.shape[-1], s)
        others = np.prod(np.where(off, s[..., None, :], 1), axis=-1)
        phase = np.linalg.det(u) * np.linalg.det(vh)
        return scaled(phase, (conjugate(u) * others[..., None, :]) @ conjugate(vh))


# Up to this size the derivative of the cofactors is taken from singular values, an n^3 array of
# products; a larger matrix has a determinant that tells nothing of how near a singular one is.
SINGULAR_SIZE = 64


@primitive
def cofactor_derivative(g: Array, a: Array) -> Array:
    """The derivative of `cofactor` along `g`: with X = U^H g V, products of all but two values.

    d det(A)[G, H] = phase * sum over i != j of (prod of s_k, k not i, j) (X_ii Y_jj - X_ij Y_ji),
    which is finite and free of cancellation at singular matrices; symmetric in G and H, so that it
    is its own transpose.
    """
    n = a.shape[-1]
    if n > SINGULAR_SIZE:
        return regular_cofactor_derivative(g, a)
    u, s, vh = np.linalg.svd(a)
    one = diagonal_mask(n, s)
    left_out = one[:, None, :] | one[None, :, :]
    others = np.prod(np.where(left_out, 1, s[..., None, None, :]), axis=-1)
    x = adjoint(u) @ g @ adjoint(vh)
    ahead = np.sum(np.where(one, 0, others) * main_diagonal(x)[..., None, :], -1)
    inner = np.where(one, ahead[..., None, :], -others * transposed(x))
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return scaled(phase, conjugate(u) @ inner @ conjugate(vh))


def regular_cofactor_derivative(g: Array, a: Array) -> Array:
    """The same at a regular matrix: of any order, but it cancels next to singular ones."""
    z = np.linalg.inv(a)
    zt = transposed(z)
    trace = np.sum(zt * g, axis=(-2, -1))
    return scaled(np.linalg.det(a), scaled(trace, zt) - zt @ transposed(g) @ zt)


reverse(
    np.linalg.det,
    lambda g, a: scaled(g, cofactor(a)),
    lambda g, a: np.sum(cofactor(a) * g, axis=(-2, -1)),
    batched=True,
)
computed_by(np.linalg.det, determinant)
reverse(cofactor, cofactor_derivative, cofactor_derivative, batched=True)
composed(cofactor_derivative, regular_cofactor_derivative)


def inverse_or_infinite(a: Array) -> Array:
    """A^-1, infinite where A is exactly singular."""
    try:
        return inverse(a)
    except np.linalg.LinAlgError:
        singular = (np.linalg.slogdet(a)[0] == 0)[..., None, None]
        safe = np.where(singular, identity(a.shape[-1], a), a)
        return np.where(singular, np.inf, np.linalg.inv(safe))


def slogdet_vjp(g: Any, a: Array, y: Any) -> Array:
    """With t = tr(A^-1 dA), log|det| moves by Re t and the sign turns by i Im t."""
    sign, log = g
    if a.dtype.kind != "c":
        factor = np.zeros_like(sign) if log is None else log
    elif sign is None:
        factor = log
    else:
        turn = np.multiply(-1j, (sign.conj() * y[0]).imag)  # 1j * np.float64 is Python's complex
        factor = turn if log is None else log + turn
    try:
        return scaled(factor, adjoint(inverse(a)))
    except np.linalg.LinAlgError:  # a cotangent that was masked away stays zero
        cotangent = scaled(factor, adjoint(inverse_or_infinite(a)))
        return np.where((factor == 0)[..., None, None], 0, cotangent)


def slogdet_jvp(g: Array, a: Array, y: Any) -> Any:
    """Re t, and the sign times i Im t."""
    t = np.sum(transposed(inverse_or_infinite(a)) * g, axis=(-2, -1))
    if a.dtype.kind != "c":
        return np.zeros_like(t), t
    return np.multiply(1j, t.imag) * y[0], t.real


reverse(np.linalg.slogdet, slogdet_vjp, slogdet_jvp, holomorphic=False, batched=True)
computed_by(np.linalg.slogdet, log_determinant)


# ----------------------------------------------------------------- through what is decided above
def matrix_power(a: Array, n: Any) -> Array:
    """Products in NumPy's order, so that the value is NumPy's bit for bit."""
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("matrix_power: the last two dimensions must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        return np.zeros_like(a) + identity(a.shape[-1], a)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 3:
        return a @ a @ a
    result, power = None, a
    while True:
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else result @ power
        if not n:
            return result
        power = power @ power


def tensorinv(a: Array, ind: int = 2) -> Array:
    """The inverse of the matrix that the axes make, split at `ind`."""
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    a = as_array(a)
    shape, size = a.shape, 1
    for extent in shape[ind:]:
        size *= extent
    return np.linalg.inv(a.reshape(size, -1)).reshape(shape[ind:] + shape[:ind])


def tensorsolve(a: Array, b: Array, axes: Any = None) -> Array:
    """Equations with the matrix that the axes make; `axes` of a go last."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = a.transpose(order)
    shape, size = a.shape[-(a.ndim - b.ndim) :], 1
    for extent in shape:
        size *= extent
    if a.size != size**2:
        raise np.linalg.LinAlgError(
            "tensorsolve: prod(a.shape[b.ndim:]) and prod(a.shape[:b.ndim]) must be equal"
        )
    return np.linalg.solve(a.reshape(size, size), b.reshape(-1)).reshape(shape)


composed(np.linalg.matrix_power, matrix_power)
composed(np.linalg.tensorinv, tensorinv)
composed(np.linalg.tensorsolve, tensorsolve)
