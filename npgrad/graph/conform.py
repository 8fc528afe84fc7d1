"""Bring a cotangent back to the space of its primal, a tangent to the space of its output.

The one place where broadcasting is undone, complex cotangents of real primals lose their imaginary
part, and dtypes are restored. ``batch`` counts extra leading axes: many cotangents at once.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .node import Node


def wide(value: Any) -> Any:
    """`value` ready to be summed: NumPy adds rows of float16 in float16, ones up to 2048."""
    return value.astype(backend.SINGLE) if value.dtype == backend.HALF else value


def unbroadcast(value: Any, shape: tuple[int, ...], batch: int) -> Any:
    """Sum `value` over the axes along which broadcasting repeated an array of `shape`."""
    if not shape and not batch:
        return value.sum()
    have = value.shape
    extra = len(have) - batch - len(shape)
    if extra < 0:  # a rule may leave leading axes of length one away
        value = value.reshape(have[:batch] + (1,) * -extra + have[batch:])
        have, extra = value.shape, 0
    axes = tuple(range(batch, batch + extra)) + tuple(
        batch + extra + axis
        for axis, extent in enumerate(shape)
        if extent == 1 != have[batch + extra + axis]
    )
    if axes:
        value = wide(value).sum(axis=axes)
    target = have[:batch] + shape
    return value if value.shape == target else value.reshape(target)


def conform(value: Any, node: Node, batch: int = 0) -> Any:
    """`value`, a cotangent of `node`, with the node's shape, realness and dtype."""
    shape, dtype = backend.describe(value)
    if shape[batch:] != node.shape:
        if dtype == backend.HALF:
            value = wide(value)
        if not batch and not (shape and node.shape):
            value = expand(value, node.shape) if not shape else backend.total(value)
            return cast(value, node.dtype)
        if not batch and type(value) is backend.NDARRAY and shape[1:] == node.shape:
            return cast(backend.sum_rows(value), node.dtype)  # everyday: a bias of all rows
        have, want = shape[batch:], node.shape
        aligned = (1,) * (len(want) - len(have)) + have
        extra = len(aligned) - len(want)
        if extra or any(n == 1 != h for h, n in zip(aligned, want, strict=True)):
            summed = tuple(1 if n == 1 else h for h, n in zip(aligned[extra:], want, strict=True))
            value = unbroadcast(value, summed, batch)
        if backend.describe(value)[0][batch:] != want:
            value = expand(value, shape[:batch] + want, batch)
        return cast(value, node.dtype)
    return value if dtype is node.dtype and hasattr(value, "dtype") else cast(value, node.dtype)


def cast(value: Any, dtype: Any) -> Any:
    """`value` in `dtype`; of a complex value for a real `dtype` the real part."""
    have = backend.describe(value)[1]
    if have == dtype:
        return value if hasattr(value, "dtype") else dtype.type(value)
    if have.kind == "c" and dtype.kind != "c":
        value = value.real
        if value.dtype == dtype:
            return value
    return value.astype(dtype) if hasattr(value, "astype") else dtype.type(value)


def expand(value: Any, shape: tuple[int, ...], batch: int = 0) -> Any:
    """`value` broadcast to `shape`, whose first `batch` axes `value` has already."""
    have = backend.describe(value)[0]
    if have == shape:
        return value
    missing = len(shape) - len(have)
    if batch and missing > 0:
        value = value.reshape(have[:batch] + (1,) * missing + have[batch:])
    return backend.broadcast(value, shape)


def spread(value: Any, node: Node, batch: int = 0) -> Any:
    """`value`, a tangent of `node`, with the node's shape and dtype."""
    shape, dtype = backend.describe(value)
    if shape[batch:] != node.shape:
        value = expand(value, shape[:batch] + node.shape, batch)
    return value if dtype == node.dtype and hasattr(value, "dtype") else cast(value, node.dtype)
