"""Backward of an embedding lookup: rows of the cotangent added into the rows of the table they were read from."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

from . import gather, index_add

__all__ = ["backward", "reference_backward"]


def reference_backward(g: Any, tokens: Any, rows: int) -> Any:
    """Cotangent of the table for ``table[tokens]``, in NumPy: the specification."""
    import numpy as np

    return index_add.reference(np.zeros((rows, *g.shape[tokens.ndim :]), g.dtype), tokens, g)


def backward(g: Any, tokens: Any, rows: int, *, deterministic: bool = False) -> Any:
    """Cotangent of the table for ``table[tokens]``; tokens of any shape, a table of vectors or (1-D) of numbers."""
    return gather.rows_backward(g, tokens, rows, deterministic=deterministic)
