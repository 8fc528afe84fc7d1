"""The triangular factorizations: Cholesky and QR.

Rules may use ``g``, ``y`` and NumPy's parameters ``a``, ``upper``, ``mode``; they are adjoints.
The conventions (symmetric arguments, gauge) are in ``linalg``.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.implementations import one_blas_thread
from npgrad.primitives import primitive
from npgrad.rules.linalg import (
    adjoint,
    below_mask,
    cotangent_read,
    diagonal_mask,
    hermitian_from_lower,
    skew_from_lower,
    tangent_read,
    transposed,
)
from npgrad.rules.linalg_gauge import completion_cotangent, completion_tangent
from npgrad.table import composed, reverse

Array = Any


# -------------------------------------------------------------------------------------- Cholesky
# Diagonal blocks of this size use the closed formula. Measured on one core, in units of the
# factorization's own time: at n = 400 blocks of 32, 48, 64, 128 and the formula alone took 3.0,
# 2.7, 3.1, 4.1 and 13; at n = 1000 2.5, 2.2, 2.2, 2.2 and 12.
BLOCK = 48
# Up to this size the blocks' products run in one thread of BLAS: joining two after each of some 70
# small products takes longer than they save (n = 400: 3.8 against 5.3 ms; more on a busy machine).
JOINED = 1024


def cholesky_cotangent(g: Array, factor: Array) -> Array:
    """The cotangent of A = L L^H: with P = L^H G, half of L^-H (lower(P) + lower(P)^H) L^-1."""
    return 0.5 * twice_cotangent(g, factor, np.linalg.inv(factor))


def twice_cotangent(g: Array, factor: Array, inverse: Array) -> Array:
    """The same without the half, for whom has the inverse of the factor."""
    return adjoint(inverse) @ hermitian_from_lower(adjoint(factor) @ g) @ inverse


@primitive
def cholesky_pullback(g: Array, factor: Array) -> Array:
    """`cholesky_cotangent` by blocks: twice the factorization's products instead of 26 times.

    The reverse of the blocked factorization (Murray 2016, Differentiation of the Cholesky
    decomposition). For a block column, D is the diagonal block, R what stands left of it, C below
    it and B left of C; the cotangents take the places of the factor's, from the last column on::

        R R D            gC <- gC D^-1                  gB <- gB - gC R
        R R D            gD <- gD - gC^H C              gD <- 2 * cotangent of D D^H
        B B C            gR <- gR - gC^H B - gD R
        B B C
    """
    n = factor.shape[-1]
    if n <= BLOCK or not isinstance(factor, np.ndarray):
        return cholesky_cotangent(g, factor)
    g = np.multiply(g, 0.5, dtype=factor.dtype)  # the copy that is overwritten
    with one_blas_thread() if n <= JOINED else contextlib.nullcontext():
        pull_blocks(g, factor)
    return hermitian_from_lower(g)


def pull_blocks(g: Array, factor: Array) -> None:
    """The lower triangle of the cotangent of A in place of `g`, the halved cotangent of L."""
    n = factor.shape[-1]
    for start in reversed(range(0, n, BLOCK)):
        stop = start + BLOCK
        here, left, below = slice(start, stop), slice(0, start), slice(stop, n)
        d, r = factor[..., here, here], factor[..., here, left]
        c, b = factor[..., below, here], factor[..., below, left]
        inverse = np.linalg.inv(d)
        gc = g[..., below, here] @ inverse
        gch = adjoint(gc)
        gd = twice_cotangent(g[..., here, here] - gch @ c, d, inverse)
        g[..., here, here], g[..., below, here] = gd, gc
        g[..., below, left] -= gc @ r
        g[..., here, left] -= gch @ b + gd @ r


def cholesky_vjp(g: Array, a: Array, y: Array, upper: Any) -> Array:
    """From either factor, a Hermitian cotangent."""
    whole = cholesky_pullback(adjoint(g), adjoint(y)) if upper else cholesky_pullback(g, y)
    return cotangent_read(whole, a, not upper)


def cholesky_jvp(g: Array, a: Array, y: Array, upper: Any) -> Array:
    """With M = L^-1 dA L^-H, dL = L lower(M), half of M's diagonal."""
    factor = adjoint(y) if upper else y
    inverse = np.linalg.inv(factor)
    middle = inverse @ tangent_read(g, a, not upper) @ adjoint(inverse)
    n = factor.shape[-1]
    half = np.where(
        diagonal_mask(n, middle), 0.5 * middle, np.where(below_mask(n, middle), middle, 0)
    )
    tangent = factor @ half
    return adjoint(tangent) if upper else tangent


reverse(np.linalg.cholesky, cholesky_vjp, cholesky_jvp, holomorphic=False, batched=True)
composed(cholesky_pullback, cholesky_cotangent)


# -------------------------------------------------------------------------------------------- QR
def over_triangle(a: Array, r: Array) -> Array:
    """A R^-1."""
    return transposed(np.linalg.solve(transposed(r), transposed(a)))


def qr_factors(a: Array, y: Any, mode: str) -> tuple[Array, Array]:
    """Q and R; Q from A = Q R where it was not asked for."""
    if mode == "r":
        size = y.shape[-2]
        return over_triangle(a[..., :size], y[..., :size]), y
    if mode in ("reduced", "complete"):
        q, r = y
        return q, r
    raise NoDerivative(
        f"np.linalg.qr(mode={mode!r}) returns LAPACK's reflectors, which have no derivative. "
        "Use mode='reduced', 'complete' or 'r'."
    )


def qr_vjp(g: Any, a: Array, y: Any, mode: str) -> Array:
    """Through the leading columns A1 = Q R1; the others of a wide matrix are Q R2.

    With M = R1 gR1^H - gQ^H Q and S the Hermitian matrix of its lower triangle, the cotangent of
    A1 is (gQ + Q S) R1^-H (Walter and Lehmann 2010); S's diagonal is real because R1's is.
    """
    q, r = qr_factors(a, y, mode)
    gq, gr = (None, g) if mode == "r" else g
    size = min(a.shape[-2:])
    q1, r1 = q[..., :size], r[..., :size, :size]
    gq1 = None if gq is None else gq[..., :size]
    if gq is not None and q.shape[-1] > size:
        gq1 = gq1 + completion_cotangent(gq[..., size:], q1, q[..., size:], "np.linalg.qr")
    middle, rest = 0, None
    if gr is not None:
        middle = r1 @ adjoint(gr[..., :size, :size])
        if a.shape[-1] > size:
            gr2 = gr[..., size:]
            rest = q1 @ gr2
            turn = a[..., size:] @ adjoint(gr2)
            gq1 = turn if gq1 is None else gq1 + turn
    if gq1 is None:
        first = q1 @ hermitian_from_lower(middle)
    else:
        first = gq1 + q1 @ hermitian_from_lower(middle - adjoint(gq1) @ q1)
    first = over_triangle(first, adjoint(r1))
    if rest is None and a.shape[-1] > size:
        rest = np.zeros_like(first, shape=(*first.shape[:-1], a.shape[-1] - size))
    return first if rest is None else np.concatenate((first, rest), axis=-1)


def qr_jvp(g: Array, a: Array, y: Any, mode: str) -> Any:
    """With Z = dA R^-1 and T skew: dQ = Q T + (1 - Q Q^H) Z and dR = (Q^H Z - T) R."""
    q, r = qr_factors(a, y, mode)
    size = min(a.shape[-2:])
    q1, r1 = q[..., :size], r[..., :size, :size]
    z = over_triangle(g[..., :size], r1)
    inner = adjoint(q1) @ z
    turn = skew_from_lower(inner)
    dr = (inner - turn) @ r1
    if a.shape[-1] > size:
        r2 = adjoint(q1) @ g[..., size:] - turn @ r[..., :size, size:]
        dr = np.concatenate((dr, r2), axis=-1)
    if mode == "r":
        return dr
    dq = q1 @ (turn - inner) + z
    if q.shape[-1] > size:
        dq = np.concatenate((dq, completion_tangent(dq, q1, q[..., size:])), axis=-1)
        zero = np.zeros_like(dr, shape=(*dr.shape[:-2], r.shape[-2] - size, dr.shape[-1]))
        dr = np.concatenate((dr, zero), axis=-2)
    return dq, dr


reverse(np.linalg.qr, qr_vjp, qr_jvp, holomorphic=False, batched=True)
