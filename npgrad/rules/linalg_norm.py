"""Norms of vectors and matrices, and the condition number.

Rules may use ``g``, ``y`` and NumPy's parameters ``x``, ``ord``, ``axis``, ``keepdims``.

The gradient of a norm is its *direction*, an array of the argument's shape, times ``g``; a tangent
goes into the real part of the inner product with the direction. At kinks the direction is the one
that design and documentation promise: 0 for the norm of zeros and for a zero entry, equal shares
where several entries, rows, columns or singular values are largest (or smallest).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.linalg import adjoint, as_array, conjugate, largest, real
from npgrad.rules.linalg_solve import inverse_or_infinite
from npgrad.rules.linalg_spectral import safe_reciprocal
from npgrad.table import composed, reverse

Array = Any
Axes = tuple[int, ...]


# ------------------------------------------------------------------------------------ directions
def safe(y: Array) -> Array:
    """`y`, with 1 in place of 0: what is divided by it is 0 there as well."""
    return y + (y == 0)


def sign(x: Array) -> Array:
    """The unit number x / abs(x), zero at zero."""
    return x / safe(np.abs(x)) if x.dtype.kind == "c" else np.sign(x)


def shares(chosen: Array, axes: Any, like: Array) -> Array:
    """Equal weights for the True entries along `axes`, in the real dtype of `like`."""
    weights = chosen.astype(np.finfo(like.dtype).dtype)
    return weights / safe(np.sum(weights, axis=axes, keepdims=True))


def vector_direction(x: Array, y: Array, order: Any, axes: Axes) -> Array:
    """The direction of a vector norm over negative `axes`, which `y` has with length 1."""
    if order is None or order == 2:
        return x / safe(y)
    if order == 1:
        return sign(x)
    if order == 0:
        return np.zeros_like(x)
    if abs(order) == math.inf:
        sizes = np.abs(x)  # compared with their own extreme: y may differ from it by a rounding
        if order > 0:
            extreme = largest(sizes, axes)
        else:
            extreme = np.min(sizes, axis=axes, keepdims=True)
        return shares(sizes == extreme, axes, x) * sign(x)
    # x/y |x/y|**(p - 2); the derivative of a power below the first is infinite at 0, and set to 0
    z, zero = x / safe(y), x == 0
    size = np.abs(z)
    if order < 2:
        return z * np.where(zero, 0, np.where(zero, 1, size) ** (order - 2))
    return z * size ** (order - 2)


def matrix_direction(x: Array, y: Array, order: Any, axes: Axes) -> Array:
    """The direction of a matrix norm over two negative `axes`, rows and columns."""
    if order in (None, "fro", "f"):
        return x / safe(y)
    rows, columns = axes
    if order in (1, -1, math.inf, -math.inf):
        summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        if order > 0:
            chosen = sums == largest(sums, compared)
        else:
            chosen = sums == np.min(sums, axis=compared, keepdims=True)
        return shares(chosen, compared, x) * sign(x)
    matrices = np.moveaxis(x, axes, (-2, -1))
    if order == "nuc":
        direction = polar(matrices)
    else:
        u, s, vh = np.linalg.svd(matrices, full_matrices=False)
        # equal to the rounding error of singular values
        allowed = 16 * float(np.finfo(s.dtype).eps) * s[..., :1]
        extreme = s[..., :1] if order > 0 else s[..., -1:]
        weights = shares((np.abs(s - extreme) <= allowed) & (s > 0), -1, s)
        direction = (u * weights[..., None, :]) @ vh
    return np.moveaxis(direction, (-2, -1), axes)


@primitive
def polar(x: Array) -> Array:
    """U V^H of the singular value decomposition: the derivative of the sum of singular values.

    Singular values of exactly zero are left out, so that it is 0 for a matrix of zeros.
    """
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * (s > 0)[..., None, :]) @ vh


def polar_derivative(g: Array, x: Array) -> Array:
    """The second derivative of a real function along `g`, so that it is its own adjoint.

    In the frames of the singular vectors (P - P^H) / (s_i + s_j), and 1 / s_i out of their spaces:
    equal singular values do no harm.
    """
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    uh, v = adjoint(u), adjoint(vh)
    p = uh @ g @ v
    total = s[..., None, :] + s[..., :, None]
    inverse = safe_reciprocal(s)[..., None, :]
    moved = u @ ((p - adjoint(p)) * safe_reciprocal(total)) @ vh
    if x.shape[-2] > s.shape[-1]:
        moved = moved + ((g @ v - u @ p) * inverse) @ vh
    if x.shape[-1] > s.shape[-1]:
        moved = moved + u @ adjoint((adjoint(g) @ u - v @ adjoint(p)) * inverse)
    return moved


reverse(polar, polar_derivative, polar_derivative, holomorphic=False, batched=True)


# ----------------------------------------------------------------------------------------- rules
def plan(ndim: int, order: Any, axis: Any) -> tuple[bool, Axes]:
    """Is it a matrix norm, and the negative axes; as np.linalg.norm decides it."""
    if axis is None:
        axes = tuple(range(-ndim, 0))
        return order is not None and ndim == 2, axes
    axes = axis if isinstance(axis, tuple) else (axis,)
    return len(axes) == 2, tuple(a - ndim if a >= 0 else a for a in axes)


def restored(y: Array, axes: Axes, keepdims: Any) -> Array:
    """`y` with the axes that the norm took away, unless a number broadcasts all the same."""
    return y if keepdims or y.ndim == 0 else np.expand_dims(y, axes)


@functools.cache
def exact_from(dtype: str, power: float) -> float:
    """From which norm on the powers of its entries are kept to all their digits."""
    limits = np.finfo(dtype)
    return float((float(limits.tiny) / float(limits.eps)) ** (1 / power))


def scaled(x: Array, y: Array, order: Any, axes: Axes) -> tuple[Array, Array]:
    """`x` and its norm `y`, over the largest entry where powers of entries ran out of range.

    NumPy's value is then 0 or inf, or has lost digits: below 1e-146 and above 1e154 for squares.
    The direction is that of the vector all the same, which no factor changes.
    """
    if order in EXACT:
        return x, y
    power = 2.0 if order is None or isinstance(order, str) else max(abs(float(order)), 1.0)
    low = exact_from(y.dtype.char, power)
    usual = (y > low) & (y < math.inf)
    if usual if y.ndim == 0 else usual.all():
        return x, y
    most = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
    most = np.where(~usual & (most > 0) & (most < math.inf), most, 1)
    near = x / most
    if order is None or isinstance(order, str):
        order = 2
    return near, np.linalg.vector_norm(near, ord=order, axis=axes, keepdims=True)


EXACT = (0, 1, math.inf, -math.inf)  # norms that take no powers


def pull(g: Array, x: Array, y: Array, order: Any, plan: tuple[bool, Axes], keepdims: Any) -> Array:
    """`g` times the direction; for the Euclidean norm with the small arrays multiplied first."""
    matrix, axes = plan
    g, y = restored(g, axes, keepdims), restored(y, axes, keepdims)
    euclidean = order is None or (order in ("fro", "f") if matrix else order == 2)
    if euclidean or not matrix:
        x, y = scaled(x, y, order, axes)
    if euclidean:
        return x * (g / safe(y))
    return g * (matrix_direction if matrix else vector_direction)(x, y, order, axes)


def push(g: Array, x: Array, y: Array, order: Any, plan: tuple[bool, Axes], keepdims: Any) -> Array:
    """The real inner product of the tangent with the direction."""
    matrix, axes = plan
    y = restored(y, axes, keepdims)
    if not matrix or order in (None, "fro", "f"):
        x, y = scaled(x, y, order, axes)
    direction = (matrix_direction if matrix else vector_direction)(x, y, order, axes)
    return np.sum(real(conjugate(direction) * g), axis=axes, keepdims=bool(keepdims))


def norm_vjp(g: Array, x: Array, y: Array, ord: Any, axis: Any, keepdims: Any) -> Array:
    """See `pull`."""
    return pull(g, x, y, ord, plan(x.ndim, ord, axis), keepdims)


def norm_jvp(g: Array, x: Array, y: Array, ord: Any, axis: Any, keepdims: Any) -> Array:
    """See `push`."""
    return push(g, x, y, ord, plan(x.ndim, ord, axis), keepdims)


def vector_plan(ndim: int, axis: Any) -> tuple[bool, Axes]:
    """The axes of np.linalg.vector_norm, any number of which make one vector."""
    return False, plan(ndim, None, axis)[1]


def vector_norm_vjp(g: Array, x: Array, y: Array, ord: Any, axis: Any, keepdims: Any) -> Array:
    """See `pull`."""
    return pull(g, x, y, ord, vector_plan(x.ndim, axis), keepdims)


def vector_norm_jvp(g: Array, x: Array, y: Array, ord: Any, axis: Any, keepdims: Any) -> Array:
    """See `push`."""
    return push(g, x, y, ord, vector_plan(x.ndim, axis), keepdims)


def matrix_norm_vjp(g: Array, x: Array, y: Array, ord: Any, keepdims: Any) -> Array:
    """See `pull`."""
    return pull(g, x, y, ord, (True, (-2, -1)), keepdims)


def matrix_norm_jvp(g: Array, x: Array, y: Array, ord: Any, keepdims: Any) -> Array:
    """See `push`."""
    return push(g, x, y, ord, (True, (-2, -1)), keepdims)


reverse(np.linalg.norm, norm_vjp, norm_jvp, holomorphic=False, batched=True)
reverse(np.linalg.vector_norm, vector_norm_vjp, vector_norm_jvp, holomorphic=False, batched=True)
reverse(np.linalg.matrix_norm, matrix_norm_vjp, matrix_norm_jvp, holomorphic=False, batched=True)


# ------------------------------------------------------------------------------ condition number
def cond(x: Array, p: Any = None) -> Array:
    """A ratio of singular values, or a norm times that of the inverse; inf where singular."""
    x = as_array(x)
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        above, below = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        with np.errstate(all="ignore"):
            ratio = above / below
    else:
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise np.linalg.LinAlgError("cond: the last two dimensions must be square")
        inverse = inverse_or_infinite(x)
        with np.errstate(all="ignore"):
            other = np.linalg.norm(inverse, p, axis=(-2, -1))
            ratio = np.linalg.norm(x, p, axis=(-2, -1)) * other
    undefined = np.isnan(ratio)
    if np.any(undefined):  # 0 / 0 is infinite here, as in NumPy, where x itself has no nan
        ratio = np.where(undefined & ~np.any(np.isnan(x), axis=(-2, -1)), np.inf, ratio)
    return ratio


composed(np.linalg.cond, cond)
