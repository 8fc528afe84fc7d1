"""Entries picked or added along an axis by an index of the same rank, as in ``take_along_axis``.

    out[a, k, b] = x[a, index[a, k, b], b]
    out[a, index[a, k, b], b] += g[a, k, b]        in the order of k; out begins as x, or as zeros

and rows picked or added along any axis by one index. Threads divide the outer axis or, where there
is one outer slab only, the inner columns; each output entry belongs to one thread, so results do
not depend on their number. Kernels read indices as `check_index` gives them: not negative; those
of the last axis check a row of the index on the way, while it is in the first-level cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels import _streaming
from npgrad.kernels._arrays import SMALL, Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels.scatter_add import add_line, check_index, sum_rows

__all__ = [
    "added_along",
    "added_along_reference",
    "added_rows",
    "added_rows_reference",
    "check_and_add_along",
    "check_and_take_along",
    "take_along",
    "take_rows",
]

Shape = tuple[int, ...]

# Rows from which threads are busy when each checks the rows of the index that it uses.
ROWS = 8


def _started(x: Array | None, shape: Shape, dtype: Any) -> Array:
    """What is added into: a copy of `x`, or zeros."""
    if x is None:
        return np.zeros(shape, dtype)
    return np.array(x, dtype, order="C", copy=True)


def added_along_reference(
    x: Array | None, shape: Shape, index: Array, g: Array, axis: int
) -> Array:
    """``out[..., index[..., k, ...], ...] += g[..., k, ...]`` by NumPy; out begins as `x` or zeros.

    In the other axes `index` and `g` may be shorter than `shape`.
    """
    out = _started(x, shape, g.dtype)
    grid: list[Array] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    np.add.at(out, tuple(grid), g)
    return out


def added_rows_reference(x: Array | None, shape: Shape, index: Array, g: Array, axis: int) -> Array:
    """``out[..., index[k], ...] += g[..., k, ...]`` by NumPy; out begins as `x` or zeros."""
    out = _started(x, shape, g.dtype)
    place: Any = (slice(None),) * axis + (index,)
    np.add.at(out, place, g)
    return out


@njit()
def _begin(x, a, to):  # type: ignore[no-untyped-def]
    """`to` as the row `a` of x, or zero where x has no rows."""
    if x.shape[0]:
        row = x[a]
        for k in range(to.size):
            to[k] = row[k]
    else:
        to[:] = 0


@njit()
def _pick_line(row, places, to):  # type: ignore[no-untyped-def]
    """``to[k] = row[places[k]]``."""
    for k in range(to.size):
        i = places[k]
        to[k] = row[i]


@njit()
def _check_line(given, n, places):  # type: ignore[no-untyped-def]
    """`given` counted from the front; whether all of it lies in ``-n <= index < n``."""
    low = high = 0
    for k in range(given.size):
        i = given[k]
        low = min(low, i)
        high = max(high, i)
        places[k] = i + n if i < 0 else i
    return -n <= low and high < n


@njit()
def _along(start, stop, block, blocks, x, index, g, out):  # type: ignore[no-untyped-def]
    """Items ``start <= outer blocks + inner < stop`` of three-dimensional arrays."""
    for item in range(start, stop):
        a = item // blocks
        first = (item % blocks) * block
        last = min(first + block, g.shape[2])
        to = out[a, :, first:last]
        for i in range(to.shape[0]):
            if x.shape[0]:
                to[i] = x[a, i, first:last]
            else:
                to[i] = 0
        for k in range(g.shape[1]):
            places = index[a, k, first:last]
            add = g[a, k, first:last]
            for b in range(add.size):
                i = places[b]
                to[i, b] += add[b]


@njit()
def _along_last(start, stop, x, index, g, out):  # type: ignore[no-untyped-def]
    """The same for rows of two-dimensional arrays."""
    for a in range(start, stop):
        _begin(x, a, out[a])
        add_line(g[a], index[a], out[a])


@njit()
def _by_one_index(start, stop, x, index, g, out):  # type: ignore[no-untyped-def]
    """The same where all rows have one index: four at a time.

    A sum waits for the one before it at the same place, not for those of other rows: row by row,
    sorted indices took three times as long as uniform ones. In each row the order is that of the
    index, so that it does not matter which rows are taken together.
    """
    a = start
    while a + 4 <= stop:
        for row in range(a, a + 4):
            _begin(x, row, out[row])
        to0, to1, to2, to3 = out[a], out[a + 1], out[a + 2], out[a + 3]
        g0, g1, g2, g3 = g[a], g[a + 1], g[a + 2], g[a + 3]
        for k in range(index.size):
            i = index[k]
            to0[i] += g0[k]
            to1[i] += g1[k]
            to2[i] += g2[k]
            to3[i] += g3[k]
        a += 4
    for row in range(a, stop):
        _begin(x, row, out[row])
        to, add = out[row], g[row]
        for k in range(index.size):
            i = index[k]
            to[i] += add[k]


@njit()
def _check_along_last(start, stop, given, x, g, out, index, wrong):  # type: ignore[no-untyped-def]
    """`_along_last` for an unchecked index, which leaves its checked form in `index`."""
    for a in range(start, stop):
        if _check_line(given[a], out.shape[1], index[a]):
            _begin(x, a, out[a])
            add_line(g[a], index[a], out[a])
        else:
            wrong[0] = True


@njit()
def _slabs(start, stop, x, index, g, out):  # type: ignore[no-untyped-def]
    """Slabs ``start <= a < stop``: ``out[a, index[k]] += g[a, k]``."""
    for a in range(start, stop):
        _begin(x, a, out[a].reshape(-1))
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
        _pick_line(x[a], index[a], out[a])


@njit()
def _check_pick_last(start, stop, given, x, out, index, wrong):  # type: ignore[no-untyped-def]
    """`_pick_last` for an unchecked index, which leaves its checked form in `index`."""
    for a in range(start, stop):
        if _check_line(given[a], x.shape[1], index[a]):
            _pick_line(x[a], index[a], out[a])
        else:
            wrong[0] = True


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


def _take(start: int, stop: int, x: Array, index: Array, out: Array) -> None:
    """NumPy's own take for slabs ``start <= a < stop``, or for a part of the index of one slab.

    It moves rows as blocks, in 60 to 90 % of the processor time of a loop here, and lets other
    threads run. ``mode="clip"`` writes into `out` without a copy of it.
    """
    if len(x) == 1:
        np.take(x[0], index[start:stop], axis=0, out=out[0, start:stop], mode="clip")
    else:
        np.take(x[start:stop], index, axis=1, out=out[start:stop], mode="clip")


def _three(shape: Shape, axis: int) -> Shape:
    """Outer, axis, inner."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _others(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _checks_itself(index: Array, shape: Shape, axis: int, *arrays: Array | None) -> bool:
    """Whether a kernel may check `index` of the last axis as it goes; n as 32 bits hold it."""
    return (
        axis == len(shape) - 1
        and index.dtype == np.int64
        and shape[:-1] == index.shape[:-1]
        and math.prod(shape[:-1]) >= ROWS
        and shape[-1] <= 1 << 31
        and usable(*(array for array in arrays if array is not None))
    )


def _places(shape: Shape, n: int) -> Array:
    """Room for a checked index: two bytes an entry where n allows, for it is written and read."""
    return empty(shape, np.uint16 if n <= 1 << 16 else np.uint32)


def take_along(x: Array, index: Array, axis: int) -> Array:
    """``np.take_along_axis`` for an `index` as `check_index` gives it."""
    if _others(x.shape, axis) != _others(index.shape, axis) or not usable(x) or not index.size:
        return np.take_along_axis(x, index, axis)
    a, m, b = _three(index.shape, axis)
    x = np.ascontiguousarray(x)
    out = empty(index.shape, x.dtype)
    if b == 1:
        spread(_pick_last, a, m * 1.0, index.reshape(a, m), x.reshape(a, -1), out.reshape(a, m))
    else:
        arrays = index.reshape(a, m, b), x.reshape(a, -1, b), out.reshape(a, m, b)
        spread(_pick, a * m, b * 1.0, *arrays)
    return out


def check_and_take_along(x: Array, index: Array, axis: int) -> tuple[Array, Array]:
    """``np.take_along_axis(x, index, axis)``, and the checked index.

    Raises
    ------
    OutOfRange
        When an index is out of range.
    """
    if index.size and _checks_itself(index, x.shape, axis, x):
        a, m, _ = _three(index.shape, axis)
        given, rows = np.ascontiguousarray(index).reshape(a, m), np.ascontiguousarray(x)
        out, checked = empty((a, m), x.dtype), _places((a, m), x.shape[axis])
        wrong = np.zeros(1, np.bool_)
        arrays = given, rows.reshape(a, -1), out, checked, wrong
        spread(_check_pick_last, a, m * 1.5, *arrays)
        if not wrong[0]:
            return out.reshape(index.shape), checked.reshape(index.shape)
    index = check_index(index, x.shape[axis], axis)
    return take_along(x, index, axis), index


def take_rows(x: Array, index: Array, axis: int) -> Array:
    """``np.take`` along `axis` for a one-dimensional `index` as `check_index` gives it."""
    a, m, b = _three(x.shape, axis)
    if type(x) is not np.ndarray or a * index.size * b < SMALL or x.dtype.hasobject:
        return np.take(x, index, axis=axis)
    index = index.astype(np.intp, copy=False)
    out = empty((*x.shape[:axis], index.size, *x.shape[axis + 1 :]), x.dtype)
    x = np.ascontiguousarray(x).reshape(a, m, b)
    if a == 1 and b * x.itemsize % _streaming.LINE == 0 and _streaming.suits(x, out):
        _streaming.take(x[0], index, out.reshape(index.size, b))
        return out
    # 0.05 ns a byte in blocks, and no less than 0.7 ns a number
    cost = max(0.7, 0.05 * x.itemsize * b)
    arrays = x, index, out.reshape(a, index.size, b)
    spread(_take, a if a > 1 else index.size, cost * (index.size if a > 1 else 1), *arrays)
    return out


def _base(x: Array | None, g: Array, *shape: int) -> Array:
    """What the output begins as, as the kernels read it: `x`, or an array without rows."""
    return np.empty((0, *shape[1:]), g.dtype) if x is None else _rows(x, *shape)


def _rows(array: Array, *shape: int) -> Array:
    return np.ascontiguousarray(array).reshape(shape)


def _in_single(run: Any, x: Array | None, shape: Shape, index: Array, g: Array, axis: int) -> Array:
    """`run` of float16 in float32: half precision counts ones up to 2048."""
    x = None if x is None else x.astype(np.float32)
    return run(x, shape, index, g.astype(np.float32), axis).astype(np.float16)


def added_along(x: Array | None, shape: Shape, index: Array, g: Array, axis: int) -> Array:
    """An array of `shape`, `x` or zeros, with `g` added along `axis` by an index of its shape.

    `index` is as `check_index` gives it. In the other axes it may be shorter than `shape`.
    """
    arrays = (g,) if x is None else (g, x)
    if g.dtype == np.float16:
        return _in_single(added_along, x, shape, index, g, axis)
    if _others(shape, axis) != _others(g.shape, axis) or not usable(*arrays, small=512):
        return added_along_reference(x, shape, index, g, axis)
    a, m, b = _three(g.shape, axis)
    out = empty(shape, g.dtype)
    if b == 1:
        base = _base(x, g, a, shape[axis])
        to = index.reshape(a, m), _rows(g, a, m), out.reshape(a, -1)
        spread(_along_last, a, m * 1.0 + shape[axis] * 0.3, base, *to)
        return out
    block = max(64 // g.itemsize, -(-b // max(1, 64 // a)))
    blocks = -(-b // block)
    base = _base(x, g, a, shape[axis], b)
    slabs = index.reshape(a, m, b), _rows(g, a, m, b), out.reshape(a, -1, b)
    cost = (m * 1.0 + shape[axis] * 0.3) * min(block, b)
    spread(_along, a * blocks, cost, block, blocks, base, *slabs)
    return out


def check_and_add_along(
    x: Array | None, shape: Shape, index: Array, g: Array, axis: int
) -> tuple[Array, Array]:
    """`added_along` for an unchecked index, and the checked index.

    Raises
    ------
    OutOfRange
        When an index is out of range.
    """
    if index.size and index.shape == g.shape and _checks_itself(index, shape, axis, g, x):
        a, m, _ = _three(g.shape, axis)
        out, checked = empty(shape, g.dtype), _places(index.shape, shape[axis])
        base, wrong = _base(x, g, a, shape[axis]), np.zeros(1, np.bool_)
        to = out.reshape(a, -1), checked.reshape(a, m), wrong
        cost = m * 1.5 + shape[axis] * 0.3
        spread(_check_along_last, a, cost, _rows(index, a, m), base, _rows(g, a, m), *to)
        if not wrong[0]:
            return out, checked
    index = check_index(index, shape[axis], axis)
    return added_along(x, shape, index, g, axis), index


def added_rows(
    x: Array | None, shape: Shape, index: Array, g: Array, axis: int, exact: bool = False
) -> Array:
    """An array of `shape`, `x` or zeros, with the slices of `g` added along `axis` by `index`.

    `index` has one dimension and is as `check_index` gives it. `exact`: with the bits of
    ``np.add.at``, see `sum_rows`.
    """
    arrays = (g,) if x is None else (g, x)
    if g.dtype == np.float16:
        return _in_single(added_rows, x, shape, index, g, axis)
    if not usable(*arrays, small=512):
        return added_rows_reference(x, shape, index, g, axis)
    a, m, b = _three(g.shape, axis)
    out = empty(shape, g.dtype)
    if a == 1:
        base = _base(x, g, shape[axis], b)
        sum_rows(_rows(g, m, b), index, out.reshape(-1, b), base, exact)
    elif b == 1:
        base = _base(x, g, a, shape[axis])
        to = index, _rows(g, a, m), out.reshape(a, -1)
        spread(_by_one_index, a, m * 1.0 + shape[axis] * 0.3, base, *to)
    else:
        base = _base(x, g, a, shape[axis] * b)
        slabs = index, _rows(g, a, m, b), out.reshape(a, -1, b)
        spread(_slabs, a, (m * 0.5 + shape[axis] * 0.3) * b, base, *slabs)
    return out
