"""Entries picked or added along an axis by an index of the same rank, as in ``take_along_axis``.

    out[a, k, b] = x[a, index[a, k, b], b]
    out[a, index[a, k, b], b] += g[a, k, b]        in the order of k

and rows picked or added along any axis by one index. Threads divide the outer axis or, where there
is one outer slab only, the inner columns; each output entry belongs to one thread, so results do
not depend on their number. Kernels read indices as `check_index` gives them: not negative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.errors import OutOfRange
from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels.scatter_add import check_index, sum_rows

__all__ = [
    "add_along",
    "add_along_reference",
    "add_rows",
    "add_rows_reference",
    "take_along",
    "take_rows",
]

Shape = tuple[int, ...]


def add_along_reference(out: Array, index: Array, g: Array, axis: int) -> None:
    """``out[..., index[..., k, ...], ...] += g[..., k, ...]``, in place, by NumPy."""
    grid: list[Array] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    np.add.at(out, tuple(grid), g)


def add_rows_reference(out: Array, index: Array, g: Array, axis: int) -> None:
    """``out[..., index[k], ...] += g[..., k, ...]``, in place, by NumPy."""
    place: Any = (slice(None),) * axis + (index,)
    np.add.at(out, place, g)


@njit()
def _along(start, stop, block, blocks, index, g, out):  # type: ignore[no-untyped-def]
    """Items ``start <= outer blocks + inner < stop`` of three-dimensional arrays."""
    for item in range(start, stop):
        a = item // blocks
        first = (item % blocks) * block
        last = min(first + block, g.shape[2])
        for k in range(g.shape[1]):
            places = index[a, k, first:last]
            add = g[a, k, first:last]
            to = out[a, :, first:last]
            for b in range(add.size):
                i = places[b]
                to[i, b] += add[b]


@njit()
def _along_last(start, stop, index, g, out):  # type: ignore[no-untyped-def]
    """The same for rows of two-dimensional arrays; four equal neighbours are summed first."""
    m = g.shape[1]
    for a in range(start, stop):
        to = out[a]
        add = g[a]
        places = index[a]
        for k in range(0, m - 3, 4):
            i0 = places[k]
            i1 = places[k + 1]
            i2 = places[k + 2]
            i3 = places[k + 3]
            if i0 == i1 and i0 == i2 and i0 == i3:
                to[i0] += (add[k] + add[k + 1]) + (add[k + 2] + add[k + 3])
            else:
                to[i0] += add[k]
                to[i1] += add[k + 1]
                to[i2] += add[k + 2]
                to[i3] += add[k + 3]
        for k in range(m - m % 4, m):
            i = places[k]
            to[i] += add[k]


@njit()
def _slabs(start, stop, index, g, out):  # type: ignore[no-untyped-def]
    """Slabs ``start <= a < stop``: ``out[a, index[k]] += g[a, k]``."""
    for a in range(start, stop):
        for k in range(index.size):
            i = index[k]
            to = out[a, i]
            add = g[a, k]
            for b in range(add.size):
                to[b] += add[b]


@njit()
def _pick_last(start, stop, index, x, out):  # type: ignore[no-untyped-def]
    """Rows ``start <= a < stop`` of two-dimensional arrays."""
    for a in range(start, stop):
        row = x[a]
        places = index[a]
        to = out[a]
        for k in range(to.size):
            i = places[k]
            to[k] = row[i]


@njit()
def _pick(start, stop, index, x, out):  # type: ignore[no-untyped-def]
    """Items ``start <= outer m + k < stop`` of three-dimensional arrays."""
    m = out.shape[1]
    for item in range(start, stop):
        a = item // m
        k = item % m
        slab = x[a]
        places = index[a, k]
        to = out[a, k]
        for b in range(to.size):
            i = places[b]
            to[b] = slab[i, b]


@njit()
def _pick_rows(start, stop, index, x, out):  # type: ignore[no-untyped-def]
    """Items ``start <= outer m + k < stop``: whole rows."""
    m = index.size
    for item in range(start, stop):
        a = item // m
        k = item % m
        i = index[k]
        row = x[a, i]
        to = out[a, k]
        for b in range(to.size):
            to[b] = row[b]


def _three(shape: Shape, axis: int) -> Shape:
    """Outer, axis, inner."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _check(out: Array, index: Array, axis: int) -> Array:
    """`index` as the kernels read it."""
    return check_index(index, out.shape[axis], axis)


def take_along(x: Array, index: Array, axis: int) -> Array:
    """``np.take_along_axis`` for an `index` as `check_index` gives it."""
    others = x.shape[:axis] + x.shape[axis + 1 :]
    if others != index.shape[:axis] + index.shape[axis + 1 :] or not usable(x) or not index.size:
        return np.take_along_axis(x, index, axis)
    a, m, b = _three(index.shape, axis)
    x = np.ascontiguousarray(x)
    out = np.empty(index.shape, x.dtype)
    if b == 1:
        spread(_pick_last, a, m * 1.0, index.reshape(a, m), x.reshape(a, -1), out.reshape(a, m))
    else:
        arrays = index.reshape(a, m, b), x.reshape(a, -1, b), out.reshape(a, m, b)
        spread(_pick, a * m, b * 1.0, *arrays)
    return out


def take_rows(x: Array, index: Array, axis: int) -> Array:
    """``np.take`` along `axis` for a one-dimensional `index` as `check_index` gives it."""
    if not usable(x) or not index.size:
        return np.take(x, index, axis=axis)
    a, _, b = _three(x.shape, axis)
    if b < 8:  # one number at a time is what np.take is good at
        return np.take(x, index, axis=axis)
    out = np.empty((*x.shape[:axis], index.size, *x.shape[axis + 1 :]), x.dtype)
    arrays = np.ascontiguousarray(x).reshape(a, -1, b), out.reshape(a, -1, b)
    spread(_pick_rows, a * index.size, b * 0.3, index, *arrays)
    return out


def add_along(out: Array, index: Array, g: Array, axis: int, checked: bool = False) -> None:
    """Add `g` into `out` (contiguous, the caller's own) along `axis`, by an index of g's shape.

    `out` has the shape of `g` but along `axis`. `checked`: `index` comes from `check_index`.
    """
    if not checked:
        index = _check(out, index, axis)
    others = out.shape[:axis] + out.shape[axis + 1 :]
    if others != g.shape[:axis] + g.shape[axis + 1 :] or not usable(g, out, small=512):
        add_along_reference(out, index, g, axis)
        return
    a, m, b = _three(g.shape, axis)
    g = np.ascontiguousarray(g)
    if b == 1:
        to = out.reshape(a, -1)
        spread(_along_last, a, m * 1.0, index.reshape(a, m), g.reshape(a, m), to)
        return
    block = max(64 // g.itemsize, -(-b // max(1, 64 // a)))
    blocks = -(-b // block)
    arrays = index.reshape(a, m, b), g.reshape(a, m, b), out.reshape(a, -1, b)
    spread(_along, a * blocks, m * min(block, b) * 1.0, block, blocks, *arrays)


def add_rows(out: Array, index: Array, g: Array, axis: int, checked: bool = False) -> None:
    """Add the slices of `g` into `out` (contiguous, the caller's own) along `axis`."""
    if not checked:
        index = _check(out, index, axis)
    if index.ndim != 1:
        raise OutOfRange(f"one index along axis {axis} is expected, not of shape {index.shape}")
    if not usable(g, out, small=512):
        add_rows_reference(out, index, g, axis)
        return
    a, m, b = _three(g.shape, axis)
    g = np.ascontiguousarray(g)
    if a == 1:
        sum_rows(g.reshape(m, b), index, out.reshape(-1, b))
        return
    if b == 1:
        places = np.broadcast_to(index, (a, m))
        spread(_along_last, a, m * 1.0, places, g.reshape(a, m), out.reshape(a, -1))
        return
    spread(_slabs, a, m * b * 0.5, index, g.reshape(a, m, b), out.reshape(a, -1, b))
