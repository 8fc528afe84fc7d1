"""Backward of reading by index: gather and take_along_axis along any axis, take and index_select of whole rows.

Everything here clears a result and adds into it with `scatter_add` (one index an element) or `index_add` (one index a row).
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import numpy as np

from ..launch import backend_of
from . import index_add, scatter_add

__all__ = ["backward", "rows_backward"]


def reference_backward(g: Any, index: Any, shape: tuple[int, ...], axis: int = -1) -> Any:
    """Cotangent of x for take_along_axis(x, index, axis), in NumPy: the specification."""
    return scatter_add.reference(np.zeros(shape, g.dtype), index, g, axis)


def backward(
    g: Any, index: Any, shape: tuple[int, ...], axis: int = -1, *, deterministic: bool = False
) -> Any:
    """Cotangent of x for ``take_along_axis(x, index, axis)``; index and g have one shape."""
    backend = backend_of(g)
    axis %= len(shape)
    if axis == len(shape) - 1:
        out = backend.empty(shape, np.float32)
        return scatter_add.add_into(out, index, g, fresh=True, deterministic=deterministic)
    out = backend.zeros(shape, np.float32)
    if not out.size or not g.size:
        return out
    # an inner axis: flat positions, neighbouring threads on neighbouring elements
    lead = int(np.prod(shape[:axis], dtype=np.int64))
    inner = int(np.prod(shape[axis + 1 :], dtype=np.int64))
    length = int(shape[axis])
    at = index.astype(np.int64).reshape(lead, int(index.shape[axis]), inner)
    at = at + (at < 0) * length
    flat = (at + backend.arange(lead)[:, None, None] * length) * inner + backend.arange(inner)
    index_add.add_into(
        out.reshape(-1),
        flat.reshape(-1),
        backend.contiguous(g).reshape(-1),
        deterministic=deterministic,
    )
    return out


def rows_backward(
    g: Any, index: Any, rows: int, *, unique: bool = False, deterministic: bool = False
) -> Any:
    """Cotangent of x for ``take(x, index, axis=0)``: g has the shape of index plus that of a row."""
    backend = backend_of(g)
    out = backend.zeros((rows, *g.shape[index.ndim :]), np.float32)
    return index_add.add_into(out, index, g, unique=unique, deterministic=deterministic)
