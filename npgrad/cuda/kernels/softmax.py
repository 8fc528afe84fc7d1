"""softmax over the last axis, forward and backward on the device: dx = y (g - sum(g y))."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..launch import backend_of
from . import looped, rows

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]


def reference_forward(x: Any) -> Any:
    """Softmax in NumPy: the specification."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def reference_backward(g: Any, y: Any) -> Any:
    """dx in NumPy: the specification."""
    return y * (g - (g * y).sum(-1, keepdims=True))


def _run_forward(x: Any, kind: str | None, log: bool) -> Any:
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    x = backend.contiguous(x)
    y = backend.empty(x.shape, x.dtype)
    count, columns = rows.rows_and_columns(x)
    if not count:
        return y
    aligned = backend.aligned(x, y)
    shape = rows.share(columns, element, aligned)
    if shape is None:
        width = element.vector if aligned and columns % element.vector == 0 else 1
        program = looped.softmax_forward(columns, element, width, log)
        backend.run(program, (min(count, 1 << 16),), x, y, count)
    else:
        program = rows.softmax_forward(shape, element, log)
        backend.run(
            program, _grid(backend, dataclasses.replace(shape, unroll=1), count), x, y, count
        )
    return y


def _run_backward(g: Any, y: Any, kind: str | None, log: bool) -> Any:
    backend = backend_of(y)
    element = rows.element_of(y, kind)
    g, y = backend.contiguous(g), backend.contiguous(y)
    dx = backend.empty(y.shape, y.dtype)
    count, columns = rows.rows_and_columns(y)
    if not count:
        return dx
    aligned = backend.aligned(g, y, dx)
    shape = rows.share(columns, element, aligned)
    if shape is None:
        width = element.vector if aligned and columns % element.vector == 0 else 1
        program = looped.softmax_backward(columns, element, width, log)
        backend.run(program, (min(count, 1 << 16),), g, y, dx, count)
    else:
        program = rows.softmax_backward(shape, element, log)
        backend.run(program, _grid(backend, shape, count), g, y, dx, count)
    return dx


def _grid(backend: Any, shape: rows.Shape, count: int) -> tuple[int]:
    """One block a row (nothing is carried from row to row, so the scheduler balances best)."""
    return (max(1, min(-(-count // (shape.rows * shape.unroll)), 1 << 30)),)


def forward(x: Any, *, kind: str | None = None) -> Any:
    """Softmax on the device; `kind="bfloat16"` for bfloat16 passed as uint16 words."""
    return _run_forward(x, kind, False)


def backward(g: Any, y: Any, *, kind: str | None = None) -> Any:
    """dx on the device, from the cotangent and the output."""
    return _run_backward(g, y, kind, False)
