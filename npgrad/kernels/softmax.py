"""Softmax of the last axis, and its backward, one row at a time: the row stays in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, matrix, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import zeros_kept
from npgrad.kernels.vector_math import exp_negative

__all__ = [
    "largest",
    "of_rows",
    "softmax",
    "softmax_grad",
    "softmax_grad_reference",
    "softmax_reference",
]


def softmax_reference(x: Array) -> Array:
    """``exp(x) / sum(exp(x))``, the largest entry subtracted first; rows of -inf alone give NaN."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def softmax_grad_reference(g: Array, y: Array) -> Array:
    """The cotangent of x from that of ``y = softmax(x)``."""
    return zeros_kept(g, y * (g - np.sum(g * y, axis=-1, keepdims=True)), -1)


@njit(fastmath={"nnan", "nsz"}, forceinline=True)
def largest(row):  # type: ignore[no-untyped-def]
    """The largest entry; any one when there is a NaN, which the sum of exponentials brings."""
    top = row[0]
    for j in range(row.size):
        top = row[j] if row[j] > top else top
    return top


@njit(fastmath={"reassoc", "contract", "nsz"})
def _softmax(start, stop, x, y):  # type: ignore[no-untyped-def]
    n = x.shape[1]
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        top = largest(row)
        total = row.dtype.type(0)
        for j in range(n):
            e = exp_negative(row[j] - top)
            out[j] = e
            total += e
        scale = row.dtype.type(1) / total
        for j in range(n):
            out[j] *= scale


@njit(fastmath={"reassoc", "contract", "nsz"})
def _softmax_grad(start, stop, g, y, out):  # type: ignore[no-untyped-def]
    n = y.shape[1]
    for i in range(start, stop):
        gi = g[i]
        yi = y[i]
        row = out[i]
        total = yi.dtype.type(0)
        for j in range(n):
            total += gi[j] * yi[j]
        if np.isnan(total) and not gi.any():
            row[:] = 0
            continue
        for j in range(n):
            row[j] = yi[j] * (gi[j] - total)


def softmax(x: Array) -> Array:
    """Softmax over the last axis."""
    if not usable(x):
        return softmax_reference(x)
    return of_rows(_softmax, 1.0, x)


def of_rows(kernel: Any, cost: float, *arrays: Array) -> Array:
    """What `kernel` writes from arrays of one shape, row by row, at `cost` nanoseconds an entry."""
    shape, width = arrays[0].shape, arrays[0].shape[-1]
    out = empty(shape, arrays[0].dtype)
    rows = [matrix(a, width) for a in (*arrays, out)]
    spread(kernel, len(rows[0]), width * cost, *rows)
    return out


def softmax_grad(g: Array, y: Array) -> Array:
    """The cotangent of x from `g`, that of ``y = softmax(x)``."""
    if not usable(y, g) or g.shape != y.shape:
        return softmax_grad_reference(g, y)
    return of_rows(_softmax_grad, 0.5, g, y)
