"""Eigenvalues and eigenvectors, singular values and singular vectors.

Rules may use ``g``, ``y`` and NumPy's parameters ``a``, ``x``, ``UPLO``, ``full_matrices``,
``compute_uv``, ``hermitian``; they are adjoints. Symmetric arguments and the gauge: see ``linalg``.

Repeated values. Vectors of one value turn at a rate of 1 / 0. In a function that does not depend on
how they are chosen this rate is not needed, or meets a zero, and what is left of 0 / 0 is:

* in a function of the values alone (cotangents of the vectors absent): nothing; the gradient is
  right where the function is symmetric, and the mean of one-sided ones at kinks like ``w[0]``;
* in a function of the space that the vectors span: zero;
* in a function of matrices, ``(v * f(w)) @ v.T``: f'(w), which `tied` recovers from how the
  cotangents of equal values differ, since it is the ratio of what reaches the values to what
  reaches the vectors;
* elsewhere the two outputs do not determine the gradient, and NoDerivative is raised.

That serves first derivatives in reverse mode. Forward mode and higher orders need more than the
outputs tell, so they raise NoDerivative where the repeated values would matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.primitives import primitive
from npgrad.rules.linalg import (
    adjoint,
    conjugate,
    diagonal_mask,
    hermitian_part,
    main_diagonal,
    real,
    with_diagonal,
)
from npgrad.table import reverse

Array = Any

ADVICE = (
    " Use functions without a decomposition (inv, solve, slogdet, matrix_power), only the values "
    "(eigvalsh, svdvals), or move the argument by a little (1e-6 of its size)."
)
UNDETERMINED = (
    "{}: values are equal to rounding, and what reaches values and vectors there does not "
    "determine the gradient." + ADVICE
)
UNDETERMINED_FORWARD = (
    "{} in forward mode: values are equal to rounding, and the tangent mixes their vectors."
    + ADVICE
)


# ------------------------------------------------------------------------------- repeated values
@primitive
def first_order(a: Array) -> Array:
    """`a`, which is right at repeated values but whose own derivative would not be."""
    return a


def no_second_order(g: Array) -> Array:
    """Refused: eigenvectors of equal values have no second derivative that this one implies."""
    raise NoDerivative(
        "a second derivative through eigenvalues or singular values that are equal to rounding: "
        "values and vectors do not determine it." + ADVICE
    )


reverse(first_order, no_second_order, no_second_order)


def closeness(w: Array) -> float:
    """What counts as equal, in units of the largest value: a backward stable solver's error."""
    return 4 * w.shape[-1] * float(np.finfo(w.dtype).eps)


def repeated(w: Array) -> bool:
    """Whether neighbours among sorted real values are equal to rounding, anywhere in the stack."""
    if w.shape[-1] < 2:
        return False
    largest = np.maximum(np.abs(w[..., :1]), np.abs(w[..., -1:]))
    return bool(np.any(np.abs(w[..., 1:] - w[..., :-1]) <= closeness(w) * largest))


def close_pairs(w: Array, gap: Array) -> Array:
    """Which pairs of different places hold equal values."""
    largest = np.max(np.abs(w), axis=-1)[..., None, None]
    return (np.abs(gap) <= closeness(w) * largest) & ~diagonal_mask(w.shape[-1])


def gaps(w: Array) -> Array:
    """w_j - w_i."""
    return w[..., None, :] - w[..., :, None]


def over_gaps(a: Array, gap: Array, without: Array) -> Array:
    """The quotient a / gap, zero in the places `without`."""
    return np.where(without, 0, a / np.where(without, 1, gap))


def rotation_cotangent(c: Array, gw: Array | None, w: Array, ties: bool, name: str) -> Array:
    """The off-diagonal cotangent of V^H dA V from c = V^H gV: half of (c - c^H) over the gaps."""
    gap, skew = gaps(w), 0.5 * (c - adjoint(c))
    one = diagonal_mask(w.shape[-1])
    if not ties:
        return over_gaps(skew, gap, one)
    close = close_pairs(w, gap)
    # Equal values, if their vectors carry the same weight as well: f(w_j) - f(w_i) is rounding.
    # (Eigenvalues that are zero to rounding, with f(w) = w, are far apart in units of their own.)
    size = np.sqrt(np.sum(np.abs(c) ** 2, axis=-2))
    noise = 4 * closeness(w) * (size[..., None, :] + size[..., :, None])
    flat = close & ((np.abs(skew) <= noise) | (gap == 0))
    cotangent = over_gaps(skew, gap, one | flat)
    if gw is None:
        return cotangent
    h = 0.5 * (c + adjoint(c))
    return cotangent + np.where(flat, tied(h, gw, close, flat, noise, name), 0)


def tied(h: Array, gw: Array, close: Array, flat: Array, noise: Array, name: str) -> Array:
    """The cotangent between vectors of equal values, in a function of matrices V f(w) V^H.

    Its cotangent G, seen from the vectors, reaches the values as gw_i = f'(w) G_ii and the vectors
    as h = 2 f(w) G; so gw_i / h_ii = f' / 2f turns h into f'(w) G. Something that depends on the
    values alone (log det beside a quadratic form) adds the same to every gw_i: then three equal
    values are needed to tell, and the slope of gw over h is taken.
    """
    block = (close | diagonal_mask(h.shape[-1])).astype(gw.dtype)
    hd, gd = real(main_diagonal(h))[..., None, :], gw[..., None, :]
    count = np.sum(block, axis=-1, keepdims=True)
    allowed = 10 * float(np.finfo(gw.dtype).eps) ** 0.5
    limit = allowed * np.max(block * np.abs(gd), axis=-1, keepdims=True)

    def fit(x: Array, y: Array) -> tuple[Array, Array]:
        """Least squares of y over x in each block, and whether it is exact."""
        squares = np.sum(block * x * x, axis=-1, keepdims=True)
        least = (allowed * np.max(np.abs(hd), axis=-1, keepdims=True)) ** 2
        dependent = squares > np.maximum(least, np.max(noise, axis=-1, keepdims=True) ** 2)
        slope = np.sum(block * x * y, axis=-1, keepdims=True) / np.where(dependent, squares, 1)
        slope = np.where(dependent, slope, 0)
        return slope, np.max(block * np.abs(y - slope * x), axis=-1, keepdims=True) <= limit

    def centred(x: Array) -> Array:
        return x - np.sum(block * x, axis=-1, keepdims=True) / count

    ratio, proportional = fit(hd, gd)
    slope, affine = fit(centred(hd), centred(gd))
    affine = affine & ((count > 2) | (slope == 0))
    if np.any(flat & ~proportional & ~affine):
        raise NoDerivative(UNDETERMINED.format(name))
    return np.where(proportional, ratio, slope) * h


def rotation_rate(p: Array, w: Array, ties: bool, name: str) -> Array:
    """What `rotation_cotangent` transposes: the rate V^H dV from the off-diagonal of p."""
    gap, one = gaps(w), diagonal_mask(w.shape[-1])
    if ties:
        close = close_pairs(w, gap)
        largest = np.max(np.abs(p), axis=(-2, -1), keepdims=True)
        if np.any(close & (np.abs(p) > closeness(w) * largest)):
            raise NoDerivative(UNDETERMINED_FORWARD.format(name))
        one = one | close
    return over_gaps(p, gap, one)


# ---------------------------------------------------------------------------- Hermitian matrices
def eigh_vjp(g: Any, y: Any) -> Array:
    """V (diag(gw) + rotation) V^H; without a cotangent of the vectors no gap is divided by."""
    (gw, gv), (w, v) = g, y
    vh, ties = adjoint(v), repeated(w)
    if gv is None:
        cotangent = (v * gw[..., None, :]) @ vh
    else:
        inner = rotation_cotangent(vh @ gv, gw, w, ties, "np.linalg.eigh")
        cotangent = v @ (inner if gw is None else with_diagonal(inner, gw)) @ vh
    return first_order(cotangent) if ties else cotangent


def eigh_jvp(g: Array, y: Any) -> Any:
    """With P = V^H dA V, dw is its diagonal, and the rest over the gaps turns the vectors."""
    w, v = y
    p = adjoint(v) @ hermitian_part(g) @ v
    return real(main_diagonal(p)), v @ rotation_rate(p, w, repeated(w), "np.linalg.eigh")


def eigvalsh_vjp(g: Array, a: Array, UPLO: str) -> Array:
    """The vectors are found anew: the values alone do not say them."""
    return eigh_vjp((g, None), np.linalg.eigh(a, UPLO))


def eigvalsh_jvp(g: Array, a: Array, UPLO: str) -> Array:
    """The diagonal of V^H dA V."""
    w, v = np.linalg.eigh(a, UPLO)
    tangent = real(np.sum(conjugate(v) * (hermitian_part(g) @ v), axis=-2))
    return first_order(tangent) if repeated(w) else tangent


reverse(np.linalg.eigh, eigh_vjp, eigh_jvp, ignores=("UPLO",), holomorphic=False, batched=True)
reverse(np.linalg.eigvalsh, eigvalsh_vjp, eigvalsh_jvp, holomorphic=False, batched=True)


# ------------------------------------------------------------------------------- singular values
def safe_reciprocal(s: Array) -> Array:
    """1 / s, zero where s is zero."""
    return np.where(s == 0, 0, 1 / np.where(s == 0, 1, s))


def check_null_space(g: Any, s: Array, square: bool) -> None:
    """A cotangent that reaches zero values and vectors: the vectors carry nothing of f'(0)."""
    gu, gs, gv = g
    if gs is None or (gu is None and gv is None):
        return
    zero = s == 0
    if square:
        zero = zero & (np.sum(zero, axis=-1, keepdims=True) > 1)
    if np.any(zero & (gs != 0)):
        raise NoDerivative(UNDETERMINED.format("np.linalg.svd (singular values of zero)"))


def svd_vjp(g: Any, a: Array, y: Any, compute_uv: Any, hermitian: Any) -> Array:
    """In the frames of the singular vectors the values, the rotations and the null spaces apart.

    With P = U^H dA V, the sum of the rotations of U and V is (P + P^H) over s_j - s_i, their
    difference (P - P^H) over s_j + s_i: only the first needs gaps.
    """
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
        cotangent = (u * g[..., None, :]) @ vh
        return first_order(cotangent) if repeated(s) else cotangent
    (gu, gs, gvh), (u, s, vh) = g, y
    size, (rows, columns) = s.shape[-1], a.shape[-2:]
    check_null_space(g, s, rows == columns)
    ties = repeated(s)
    u1, v1h = u[..., :size], vh[..., :size, :]
    u1h, v1 = adjoint(u1), adjoint(v1h)
    inverse = safe_reciprocal(s)[..., None, :]
    gv = None if gvh is None else adjoint(gvh)
    cu = 0 if gu is None else u1h @ gu[..., :size]
    cv = 0 if gv is None else v1h @ gv[..., :size]
    inner = None
    if gu is not None or gv is not None:
        inner = rotation_cotangent(cu + cv, gs, s, ties, "np.linalg.svd")
        apart = 0.5 * (cu - cv)
        total = s[..., None, :] + s[..., :, None]
        inner = inner + (apart - adjoint(apart)) * safe_reciprocal(total)
    if inner is None:
        cotangent = (u1 * gs[..., None, :]) @ v1h
    else:
        cotangent = u1 @ (inner if gs is None else with_diagonal(inner, gs)) @ v1h
    if gu is not None and rows > size:
        moved = gu[..., :size] - u1 @ cu
        if u.shape[-1] > size:
            u2 = u[..., size:]
            moved = moved - u2 @ (adjoint(gu[..., size:]) @ u1)
        cotangent = cotangent + (moved * inverse) @ v1h
    if gv is not None and columns > size:
        moved = gv[..., :size] - v1 @ cv
        if vh.shape[-2] > size:
            v2 = adjoint(vh[..., size:, :])
            moved = moved - v2 @ (adjoint(gv[..., size:]) @ v1)
        cotangent = cotangent + u1 @ adjoint(moved * inverse)
    if hermitian:
        cotangent = hermitian_part(cotangent)
    return first_order(cotangent) if ties else cotangent


def svd_jvp(g: Array, a: Array, y: Any, compute_uv: Any, hermitian: Any) -> Any:
    """What `svd_vjp` transposes."""
    if hermitian:
        g = hermitian_part(g)
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
        tangent = real(np.sum(conjugate(u) * (g @ adjoint(vh)), axis=-2))
        return first_order(tangent) if repeated(s) else tangent
    u, s, vh = y
    size = s.shape[-1]
    u1, v1 = u[..., :size], adjoint(vh[..., :size, :])
    gv, ghu = g @ v1, adjoint(g) @ u1
    p = adjoint(u1) @ gv
    ph = adjoint(p)
    total = s[..., None, :] + s[..., :, None]
    together = rotation_rate(p + ph, s, repeated(s), "np.linalg.svd")
    apart = (p - ph) * safe_reciprocal(total)
    inverse = safe_reciprocal(s)[..., None, :]
    du, dv = u1 @ (0.5 * (together + apart)), v1 @ (0.5 * (together - apart))
    if u.shape[-2] > size:
        du = du + (gv - u1 @ p) * inverse
        if u.shape[-1] > size:
            du = np.concatenate((du, -u1 @ adjoint(adjoint(u[..., size:]) @ gv * inverse)), axis=-1)
    if vh.shape[-1] > size:
        dv = dv + (ghu - v1 @ ph) * inverse
        if vh.shape[-2] > size:
            v2h = vh[..., size:, :]
            dv = np.concatenate((dv, -v1 @ adjoint(v2h @ ghu * inverse)), axis=-1)
    return du, real(main_diagonal(p)), adjoint(dv)


def svdvals_vjp(g: Array, x: Array) -> Array:
    """As svd with ``compute_uv=False``."""
    return svd_vjp(g, x, None, False, False)


def svdvals_jvp(g: Array, x: Array) -> Array:
    """As svd with ``compute_uv=False``."""
    return svd_jvp(g, x, None, False, False)


reverse(
    np.linalg.svd,
    svd_vjp,
    svd_jvp,
    ignores=("full_matrices",),
    holomorphic=False,
    batched=True,
)
reverse(np.linalg.svdvals, svdvals_vjp, svdvals_jvp, holomorphic=False, batched=True)


# ------------------------------------------------------------------------------ general matrices
def general_gaps(w: Array) -> tuple[Array, Array, bool]:
    """The gaps of unordered values, the pairs without one, and whether there are any.

    The diagonal is among the pairs.
    """
    gap = gaps(w)
    close = close_pairs(w, gap)
    return gap, close | diagonal_mask(w.shape[-1]), bool(np.any(close))


def largest_component(v: Array) -> Array:
    """The place in each vector that LAPACK made real: the largest; among equals, the real one."""
    return np.argmax(np.abs(v) * (1 + (v.imag == 0)), axis=-2)[..., None, :]


def eig_vjp(g: Any, y: Any) -> Array:
    """V^-H (diag(gw) + X / conj(gaps)) V^H, with X the cotangent of the vectors' mixture.

    dV = V X, less what changes a vector's length, less what makes its largest component complex.
    """
    (gw, gv), (w, v) = g, y
    vh = adjoint(v)
    gap, without, ties = general_gaps(w)
    if gv is None:
        inner = gw[..., :, None] * vh
    else:
        if ties and gw is not None:
            raise NoDerivative(UNDETERMINED.format("np.linalg.eig"))
        mixed = vh @ gv
        length = main_diagonal(mixed)
        x = mixed - (vh @ v) * real(length)[..., None, :]
        if v.dtype.kind == "c":
            place = largest_component(v)
            row = np.take_along_axis(v, place, axis=-2)  # the component, for each vector
            others = np.take_along_axis(v, place.swapaxes(-1, -2), axis=-2)
            turn = 1j * length.imag / row[..., 0, :].real
            x = x - adjoint(others) * turn[..., None, :]
        x = over_gaps(x, conjugate(gap), without)
        inner = (x if gw is None else with_diagonal(x, gw)) @ vh
    cotangent = np.linalg.solve(vh, inner)
    return first_order(cotangent) if ties else cotangent


def eig_jvp(g: Array, y: Any) -> Any:
    """With P = V^-1 dA V, dw is its diagonal; V times P over the gaps, brought to the gauge."""
    w, v = y
    p = np.linalg.solve(v, g @ v)
    gap, without, ties = general_gaps(w)
    if ties:
        off = np.where(diagonal_mask(w.shape[-1]), 0, np.abs(p))
        largest = np.max(np.abs(p), axis=(-2, -1), keepdims=True)
        if np.any(without & (off > closeness(w) * largest)):
            raise NoDerivative(UNDETERMINED_FORWARD.format("np.linalg.eig"))
    moved = v @ over_gaps(p, gap, without)
    dv = moved - v * real(np.sum(conjugate(v) * moved, axis=-2, keepdims=True))
    if v.dtype.kind == "c":
        place = largest_component(v)
        component = np.take_along_axis(v, place, axis=-2).real
        place = np.broadcast_to(place, (*moved.shape[:-2], 1, moved.shape[-1]))
        dv = dv - v * (1j * np.take_along_axis(moved, place, axis=-2).imag / component)
    return main_diagonal(p), dv


def order_of(w: Array, y: Array) -> Array | None:
    """For each of w the place in y of the same number; None if they stand in the same order.

    LAPACK finds values without vectors by another sweep, which may meet them in another order.
    """
    largest = np.max(np.abs(y), axis=-1, keepdims=True)
    if np.all(np.abs(w - y) <= 1e-3 * closeness(w) ** 0.5 * largest):
        return None
    return np.argmin(np.abs(y[..., None, :] - w[..., :, None]), axis=-1)


def eigvals_vjp(g: Array, a: Array, y: Array) -> Array:
    """The vectors are found anew: the values alone do not say them."""
    w, v = np.linalg.eig(a)
    order = order_of(w, y) if w.size else None
    if order is not None:
        g = np.take_along_axis(g, np.broadcast_to(order, g.shape), axis=-1)
    return eig_vjp((g, None), (w, v))


def eigvals_jvp(g: Array, a: Array, y: Array) -> Array:
    """The diagonal of V^-1 dA V."""
    w, v = np.linalg.eig(a)
    tangent = main_diagonal(np.linalg.solve(v, g @ v))
    order = order_of(y, w) if w.size else None
    if order is not None:
        tangent = np.take_along_axis(tangent, np.broadcast_to(order, tangent.shape), axis=-1)
    return first_order(tangent) if general_gaps(w)[2] else tangent


reverse(np.linalg.eig, eig_vjp, eig_jvp, holomorphic=False, batched=True)
reverse(np.linalg.eigvals, eigvals_vjp, eigvals_jvp, holomorphic=False, batched=True)
