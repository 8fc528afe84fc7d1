"""Diagonals and triangles: diag, diagonal, trace, tril, triu.

The transpose of taking a diagonal is `embed_diagonal`, whose own transpose takes it again. Rules
may use ``g``, ``shape`` and NumPy's own parameter names; g may carry leading batch axes, so axes
are counted from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.indexing import as_array, axes_tuple
from npgrad.table import composed, linear

Array = Any
Shape = tuple[int, ...]


@primitive
def embed_diagonal(v: Array, rows: int, columns: int, offset: int = 0) -> Array:
    """Zeros of ``(..., rows, columns)`` with the last axis of `v` on the diagonal `offset`."""
    lead = v.shape[:-1]
    flat = np.zeros_like(v, shape=(*lead, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    flat[..., start : start + v.shape[-1] * (columns + 1) : columns + 1] = v
    return flat.reshape((*lead, rows, columns))


def undiagonal(g: Array, shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """Transpose of ``np.diagonal``."""
    first, second = axes_tuple((axis1, axis2), len(shape))
    full = embed_diagonal(g, shape[first], shape[second], offset)
    if (first, second) == (-2, -1):
        return full
    return np.moveaxis(full, (-2, -1), (first, second))


def untrace(g: Array, shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """Transpose of ``np.trace``: g along the diagonal."""
    rows, columns = shape[axis1], shape[axis2]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    along = np.broadcast_to(g[..., None], (*g.shape, count))
    return undiagonal(along, shape, offset, axis1, axis2)


linear(
    embed_diagonal,
    transpose=lambda g, offset: np.diagonal(g, offset, -2, -1),
    ignores=("rows", "columns"),
    batched=True,
)
linear(np.diagonal, transpose=undiagonal, batched=True, view=True)
linear(np.trace, transpose=untrace, ignores=("dtype",), batched=True)


def diag(v: Any, k: int = 0) -> Array:
    """``np.diag``: builds a matrix from a vector, takes the diagonal (a view) of a matrix."""
    v = as_array(v)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    side = v.shape[0] + abs(k)
    return embed_diagonal(v, side, side, k)


def diagflat(v: Any, k: int = 0) -> Array:
    """``np.diagflat``."""
    flat = np.ravel(as_array(v))
    side = flat.shape[0] + abs(k)
    return embed_diagonal(flat, side, side, k)


composed(np.diag, diag)
composed(np.diagflat, diagflat)
composed(np.linalg.diagonal)
composed(np.linalg.trace)
linear(np.tril, transpose=lambda g, k: np.tril(g, k), batched=True)
linear(np.triu, transpose=lambda g, k: np.triu(g, k), batched=True)
