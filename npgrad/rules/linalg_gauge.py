"""Vectors that a decomposition leaves open, and how LAPACK chooses them.

A complex vector may be multiplied by any phase, and the columns of a null space may be turned
among themselves. A function that does not depend on the choice has one derivative, whatever is
assumed. Of any other one the derivative is that of the very numbers that NumPy returns, where
LAPACK's choice is a smooth one that can be told from them:

* a Householder reduction that starts at the second row leaves the first component of every
  eigenvector real (the last one with ``UPLO="U"``), and that of the right singular vectors (of the
  left ones, where there are more columns than rows);
* the columns that complete ``Q1`` to the product Q of the reflectors (``mode="complete"``) are a
  function of ``Q1``. With Q = I - Y T Y^H, Y unit lower triangular (Schreiber and Van Loan 1989),
  E and F the leading and the other columns of the identity, and a trailing t and b for the upper
  square and the rows below it: ``Q1 = E - Y T Yt^H`` and ``Q2 = F - Y T Yb^H``. So
  ``Q2 = F + (E - Q1) (1 - Q1t)^-H Q1b^H``; the null space of `svd` is completed in the same way.

Where they tell of another choice, NoDerivative is raised in reverse mode, and in forward mode the
vectors do not turn among themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph import backend
from npgrad.graph.array import unwrap
from npgrad.rules.linalg import adjoint, diagonal_mask, real

Array = Any

PHASE = (
    "{}: the result depends on the phases of complex vectors, which are the library's choice. Use "
    "what does not depend on them (np.abs(v), v @ np.diag(w) @ v.conj().T), or divide by one: "
    "v * np.exp(-1j * np.angle(v[:1]))."
)
TURNED = (
    "{}: the result depends on how the vectors of a null space are turned among themselves, which "
    "is the library's choice. Use what does not depend on it, such as the projection u2 @ u2.T."
)


def negligible(part: Array, whole: Array) -> bool:
    """Whether `part` is rounding beside `whole`."""
    part, whole = unwrap(part), unwrap(whole)
    size = np.max(np.abs(whole), initial=0.0)
    return bool(np.max(np.abs(part), initial=0.0) <= 10 * np.finfo(part.dtype).eps ** 0.5 * size)


# ---------------------------------------------------------------------------------------- phases
def real_row(v: Array) -> int | None:
    """The row of the complex vectors `v` that LAPACK made real and that is nowhere zero."""
    v = unwrap(v)
    if v.size == 0 or backend.on_device(v):
        return None
    for row in (0, -1):
        part = v[..., row, :]
        still = np.abs(part.imag) <= 16 * np.finfo(v.dtype).eps
        if still.all() and (np.abs(part.real) > 0).all():
            return row
    return None


def with_phases(turn: Array, gs: list[Any], vs: list[Array], name: str) -> list[Any]:
    """Cotangents `gs` of the vectors `vs`, with what reaches their common phases put into them.

    `turn` is that: the cotangent of an angle for each column, ``Im(v^H g)``. A real component has
    the angle ``-Im(dv) / v`` to be turned back.
    """
    whole = [g for g in gs if g is not None]
    if backend.on_device(turn) or all(negligible(turn, g) for g in whole):
        return gs
    for k, v in enumerate(vs):
        row = real_row(v)
        if row is None:
            continue
        rows = np.arange(v.shape[-2])[:, None] == row % v.shape[-2]
        at = np.where(rows, (-1j * turn / real(v[..., row, :]))[..., None, :], 0)
        return [*gs[:k], at if gs[k] is None else gs[k] + at, *gs[k + 1 :]]
    raise NoDerivative(PHASE.format(name))


def phase_rates(tangents: list[Array], vs: list[Array]) -> list[Array]:
    """The tangents of the vectors, turned so that a row that LAPACK made real stays real."""
    for tangent, v in zip(tangents, vs, strict=True):
        row = real_row(v)
        if row is not None:
            angle = -tangent[..., row, :].imag / real(v[..., row, :])
            return [
                tangent + 1j * angle[..., None, :] * v
                for tangent, v in zip(tangents, vs, strict=True)
            ]
    return tangents


# ----------------------------------------------------------------------------------- null spaces
def _reflectors(q1: Array) -> tuple[Array, Array]:
    """The factors of Q2 - F: (E - Q1) (1 - Q1t)^-H and Q1b^H, the first as L with its solve."""
    k = q1.shape[-1]
    top, below = q1[..., :k, :], q1[..., k:, :]
    x = np.where(diagonal_mask(k, top), 1 - top, -top)
    left = np.concatenate((x, -below), axis=-2)
    return adjoint(np.linalg.solve(x, adjoint(left))), np.linalg.solve(adjoint(x), adjoint(below))


def follows(q1: Array, q2: Array) -> bool:
    """Whether `q2` is what the reflectors of `q1` complete it with."""
    q1, q2 = unwrap(q1), unwrap(q2)
    if backend.on_device(q1):
        return False
    k = q1.shape[-1]
    try:
        left, _ = _reflectors(q1)
    except np.linalg.LinAlgError:  # a column that needed no reflector
        return False
    made = left @ adjoint(q1[..., k:, :])
    made[..., k:, :] += np.eye(q2.shape[-1])
    allowed = 1e4 * np.finfo(q1.dtype).eps * q1.shape[-2]
    return bool(np.max(np.abs(made - q2), initial=0.0) <= allowed)


def turns(g2: Array, q2: Array) -> bool:
    """Whether the cotangent `g2` tells one basis of the space of `q2` from another."""
    if (q2.dtype.kind != "c" and q2.shape[-1] < 2) or backend.on_device(q2):
        return False
    turn = adjoint(q2) @ g2
    return not negligible(turn - adjoint(turn), g2)


def completion_cotangent(g2: Array, q1: Array, q2: Array, name: str) -> Array:
    """What a cotangent of `q2`, the columns that complete `q1`, adds to that of `q1`."""
    if not turns(g2, q2):  # then they turn as those of q1 do
        return -q2 @ (adjoint(g2) @ q1)
    if not follows(q1, q2):
        raise NoDerivative(TURNED.format(name))
    left, right = _reflectors(q1)
    back = adjoint(g2) @ left
    return np.concatenate((right @ back, back), axis=-2) - g2 @ adjoint(right)


def completion_tangent(dq1: Array, q1: Array, q2: Array) -> Array:
    """The tangent of `q2`, given that of `q1`."""
    if not follows(q1, q2):
        return -q1 @ (adjoint(dq1) @ q2)
    left, right = _reflectors(q1)
    k = q1.shape[-1]
    top, below = dq1[..., :k, :], dq1[..., k:, :]
    return left @ (adjoint(top) @ right + adjoint(below)) - dq1 @ right
