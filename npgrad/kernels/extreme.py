"""The cotangent of a maximum or minimum over an axis, back to the elements that are the extreme.

    out[i, k, j] = g[i, j] / ties[i, j]  where a[i, k, j] == y[i, j], else 0

NumPy compares, counts and multiplies bits in three passes, and a million float64 take 1.4 ms more
than one pass over `a` and `out` does. Ties are counted on the way; only lines that have some are
visited again.
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = ["share", "share_reference"]


def share_reference(g: Array, a: Array, y: Array) -> Array:
    """`g` and `y` (outer, inner) back to `a` (outer, n, inner), in equal shares, by NumPy."""
    mask = a == y[:, None]
    count = np.maximum(np.sum(mask, axis=1, keepdims=True), 1)
    return np.where(mask, g[:, None] * (1.0 / count).astype(g.dtype), 0)


@njit()
def _share(start, stop, g, a, y, out):  # type: ignore[no-untyped-def]
    """Slabs ``start <= i < stop``; the inner axis is contiguous."""
    n = a.shape[1]
    m = a.shape[2]
    count = np.empty(m, np.int64)
    for i in range(start, stop):
        count[:] = 0
        top = y[i]
        part = g[i]
        for k in range(n):
            row = a[i, k]
            to = out[i, k]
            for j in range(m):
                whole = part[j]
                won = row[j] == top[j]
                to[j] = whole if won else 0.0
                count[j] += won
        for j in range(m):
            if count[j] > 1:
                weight = g.dtype.type(1.0 / count[j])
                for k in range(n):
                    out[i, k, j] *= weight


@njit()
def _share_last(start, stop, g, a, y, out):  # type: ignore[no-untyped-def]
    """The same along the last axis: rows of two-dimensional arrays."""
    n = a.shape[1]
    for i in range(start, stop):
        whole = g[i]
        top = y[i]
        row = a[i]
        to = out[i]
        count = 0
        for k in range(n):
            won = row[k] == top
            to[k] = whole if won else 0.0
            count += won
        if count > 1:
            weight = g.dtype.type(1.0 / count)
            for k in range(n):
                to[k] *= weight


def share(g: Array, a: Array, y: Array) -> Array:
    """See `share_reference`; `a` and the result are contiguous."""
    out = empty(a.shape, a.dtype)
    outer, n, inner = a.shape
    if inner == 1:
        arrays = g.reshape(-1), a.reshape(outer, n), y.reshape(-1), out.reshape(outer, n)
        spread(_share_last, outer, n * 0.6, *arrays)
    else:
        spread(_share, outer, n * inner * 0.6, g, a, y, out)
    return out
