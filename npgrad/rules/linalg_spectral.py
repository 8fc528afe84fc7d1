"""Eigenvalues and eigenvectors, singular values and singular vectors.

Rules may use ``g``, ``y`` and NumPy's parameters ``a``, ``x``, ``UPLO``, ``full_matrices``,
``compute_uv``, ``hermitian``; they are adjoints. Symmetric arguments and the gauge: see
``linalg``; repeated values: see ``linalg_repeated``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph import backend
from npgrad.graph.array import unwrap
from npgrad.rules.linalg import (
    adjoint,
    conjugate,
    cotangent_read,
    diagonal_mask,
    hermitian_part,
    largest,
    main_diagonal,
    real,
    tangent_read,
    with_diagonal,
)
from npgrad.rules.linalg_factor import qr_jvp, qr_vjp
from npgrad.rules.linalg_gauge import TURNED, phase_rates, turns, with_phases
from npgrad.rules.linalg_repeated import (
    UNDETERMINED,
    UNDETERMINED_FORWARD,
    close_pairs,
    closeness,
    first_order,
    gaps,
    over_gaps,
    repeated,
    rotation_cotangent,
    rotation_rate,
)
from npgrad.table import reverse

Array = Any


# ---------------------------------------------------------------------------- Hermitian matrices
def eigh_vjp(g: Any, a: Array, y: Any, UPLO: Any) -> Array:
    """`hermitian_cotangent`, of the triangle that is read."""
    return cotangent_read(hermitian_cotangent(g, y), a, is_lower(UPLO))


def is_lower(UPLO: Any) -> bool:
    """Whether NumPy's parameter asks for the lower triangle."""
    return str(UPLO).upper() == "L"


def hermitian_cotangent(g: Any, y: Any) -> Array:
    """V (diag(gw) + rotation) V^H; without a cotangent of the vectors no gap is divided by."""
    (gw, gv), (w, v) = g, y
    vh, ties = adjoint(v), repeated(w)
    if gv is None:
        cotangent = (v * gw[..., None, :]) @ vh
    else:
        c = vh @ gv
        if c.dtype.kind == "c":
            (gv,) = with_phases(main_diagonal(c).imag, [gv], [v], "np.linalg.eigh")
            c = vh @ gv
        inner = rotation_cotangent(c, gw, w, ties, "np.linalg.eigh")
        cotangent = v @ (inner if gw is None else with_diagonal(inner, gw)) @ vh
    return first_order(cotangent) if ties else cotangent


def eigh_jvp(g: Array, a: Array, y: Any, UPLO: Any) -> Any:
    """With P = V^H dA V, dw is its diagonal, and the rest over the gaps turns the vectors."""
    w, v = y
    p = adjoint(v) @ tangent_read(g, a, is_lower(UPLO)) @ v
    dv = v @ rotation_rate(p, w, repeated(w), "np.linalg.eigh")
    if dv.dtype.kind == "c":
        (dv,) = phase_rates([dv], [v])
    return real(main_diagonal(p)), dv


def eigvalsh_vjp(g: Array, a: Array, UPLO: Any) -> Array:
    """The vectors are found anew: the values alone do not say them."""
    return eigh_vjp((g, None), a, np.linalg.eigh(a, UPLO), UPLO)


def eigvalsh_jvp(g: Array, a: Array, UPLO: Any) -> Array:
    """The diagonal of V^H dA V."""
    w, v = np.linalg.eigh(a, UPLO)
    tangent = real(np.sum(conjugate(v) * (tangent_read(g, a, is_lower(UPLO)) @ v), axis=-2))
    return first_order(tangent) if repeated(w) else tangent


reverse(np.linalg.eigh, eigh_vjp, eigh_jvp, holomorphic=False, batched=True)
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


def thin_svd(a: Array, hermitian: Any) -> Any:
    """The reduced factors; CuPy has no parameter ``hermitian``."""
    if hermitian:
        return np.linalg.svd(a, full_matrices=False, hermitian=True)
    return np.linalg.svd(a, full_matrices=False)


def _inner(vh: Array, g: Array | None) -> Array:
    return 0 if g is None else vh @ g


def completion(a: Array, u2: Array, s: Array) -> Any:
    """The QR factors of `a` if its null space `u2` is completed as theirs is, else None."""
    if backend.on_device(u2):
        return None
    sizes = unwrap(s)
    if not np.all(sizes > closeness(s) * sizes[..., :1]):  # of less rank: the null space is larger
        return None
    q, r = np.linalg.qr(a, "complete")
    allowed = 1e4 * np.finfo(u2.dtype).eps * a.shape[-2]
    off = np.abs(unwrap(q)[..., s.shape[-1] :] - unwrap(u2))
    return (q, r) if np.max(off, initial=0.0) <= allowed else None


def completed_vjp(g2: Array, a: Array, u2: Array, s: Array) -> Array:
    """The cotangent of `a`, given `g2`, that of its null space `u2`."""
    factors = completion(a, u2, s)
    if factors is None:
        raise NoDerivative(TURNED.format("np.linalg.svd"))
    first = np.zeros_like(g2, shape=(*g2.shape[:-1], s.shape[-1]))
    return qr_vjp((np.concatenate((first, g2), axis=-1), None), a, factors, "complete")


def completed_jvp(g: Array, a: Array, u1: Array, u2: Array, s: Array, du1: Array) -> Array:
    """The tangent of the null space `u2` of `a`, whose range `u1` has the tangent `du1`."""
    factors = completion(a, u2, s) if u2.shape[-1] > 1 or u2.dtype.kind == "c" else None
    if factors is None:
        return -u1 @ (adjoint(du1) @ u2)
    return qr_jvp(g, a, factors, "complete")[0][..., s.shape[-1] :]


def svd_vjp(g: Any, a: Array, y: Any, compute_uv: Any, hermitian: Any) -> Array:
    """In the frames of the singular vectors the values, the rotations and the null spaces apart.

    With P = U^H dA V, the sum of the rotations of U and V is (P + P^H) over s_j - s_i, their
    difference (P - P^H) over s_j + s_i: only the first needs gaps.
    """
    if not compute_uv:
        u, s, vh = thin_svd(a, hermitian)
        cotangent = (u * g[..., None, :]) @ vh
        if hermitian:
            cotangent = cotangent_read(hermitian_part(cotangent), a)
        return first_order(cotangent) if repeated(s) else cotangent
    (gu, gs, gvh), (u, s, vh) = g, y
    size, (rows, columns) = s.shape[-1], a.shape[-2:]
    check_null_space(g, s, rows == columns)
    ties = repeated(s)
    u1, v1h = u[..., :size], vh[..., :size, :]
    u1h, v1 = adjoint(u1), adjoint(v1h)
    inverse = safe_reciprocal(s)[..., None, :]
    gv = None if gvh is None else adjoint(gvh)
    gu1, gv1 = (None if g is None else g[..., :size] for g in (gu, gv))
    cu, cv = _inner(u1h, gu1), _inner(v1h, gv1)
    if a.dtype.kind == "c" and (gu is not None or gv is not None):
        phases = main_diagonal(cu + cv).imag
        gv1, gu1 = with_phases(phases, [gv1, gu1], [v1, u1], "np.linalg.svd")
        cu, cv = _inner(u1h, gu1), _inner(v1h, gv1)
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
    if gu1 is not None and rows > size:
        moved = gu1 - u1 @ cu
        if gu is not None and u.shape[-1] > size:
            u2, g2 = u[..., size:], gu[..., size:]
            if turns(g2, u2):
                cotangent = cotangent + completed_vjp(g2, a, u2, s)
            else:
                moved = moved - u2 @ (adjoint(g2) @ u1)
        cotangent = cotangent + (moved * inverse) @ v1h
    if gv1 is not None and columns > size:
        moved = gv1 - v1 @ cv
        if gv is not None and vh.shape[-2] > size:
            v2, g2 = adjoint(vh[..., size:, :]), gv[..., size:]
            if turns(g2, v2):
                cotangent = cotangent + adjoint(completed_vjp(g2, adjoint(a), v2, s))
            else:
                moved = moved - v2 @ (adjoint(g2) @ v1)
        cotangent = cotangent + u1 @ adjoint(moved * inverse)
    if hermitian:
        cotangent = cotangent_read(hermitian_part(cotangent), a)
    return first_order(cotangent) if ties else cotangent


def svd_jvp(g: Array, a: Array, y: Any, compute_uv: Any, hermitian: Any) -> Any:
    """What `svd_vjp` transposes."""
    if hermitian:
        g = tangent_read(g, a)
    if not compute_uv:
        u, s, vh = thin_svd(a, hermitian)
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
    if vh.shape[-1] > size:
        dv = dv + (ghu - v1 @ ph) * inverse
    if a.dtype.kind == "c":
        dv, du = phase_rates([dv, du], [v1, u1])
    if u.shape[-1] > size:
        du2 = completed_jvp(g, a, u1, u[..., size:], s, du)
        du = np.concatenate((du, du2), axis=-1)
    if vh.shape[-2] > size:
        dv2 = completed_jvp(adjoint(g), adjoint(a), v1, adjoint(vh[..., size:, :]), s, dv)
        dv = np.concatenate((dv, dv2), axis=-1)
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
    return gap, close | diagonal_mask(w.shape[-1], w), bool(np.any(close))


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
        off = np.where(diagonal_mask(w.shape[-1], w), 0, np.abs(p))
        top = largest(np.abs(p), (-2, -1))
        if np.any(without & (off > closeness(w) * top)):
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
    top = largest(np.abs(y), -1)
    if np.all(np.abs(w - y) <= 1e-3 * closeness(w) ** 0.5 * top):
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
