"""Rows added into rows: the backward of every gather, take, embedding and fancy index.

    g      a0 a1 a2 a3        out[0] = a1
    index   2  0  2  3        out[2] = a0 + a2       in the order of g, so the result is one
                              out[3] = a3            definite sum, whatever the number of threads

Threads divide the outputs, so that each sum has one order. Each reads every index and owns rows of
the output, as many as get the same number of rows of g (it then reads its rows of g as a whole, in
nine tenths of the time). Outputs that get a quarter of all rows or more are summed by chunks of g
before; where no even division is left, threads own columns.
Single numbers run in one thread, in an order that depends on the sizes alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from npgrad.errors import OutOfRange
from npgrad.graph.memory import empty
from npgrad.kernels._compile import available, njit
from npgrad.kernels._threads import GRAIN_NS, spread, thread_count

__all__ = ["check_index", "scatter_rows", "scatter_rows_reference", "sum_rows"]

Array: TypeAlias = Any

# Below this many elements np.add.at is as fast as reaching the kernel.
SMALL = 512
# From this many indices an output on, four private outputs cost less than they save: a sum into one
# address waits for the one before (1e6 indices of two outputs: 1.3 ms in one, 0.5 ms in four).
FOUR_WAYS = 16
SAMPLED = 64  # one of so many places of an index is looked at
# Columns from which outputs are divided by rows, and how much more than its share a thread may get.
WIDE = 32
UNEVEN = 1.25
# Parts of the rows of g in which the sums of frequent outputs are taken.
CHUNKS = 16


def scatter_rows_reference(g: Array, index: Array, n: int) -> Array:
    """``out[index[k]] += g[k]``, by NumPy."""
    out = np.zeros((n, *g.shape[1:]), g.dtype)
    np.add.at(out, index, g)
    return out


@njit()
def _wrapped(start, stop, n, index, out, wrong):  # type: ignore[no-untyped-def]
    """Negative indices counted from the end; ``wrong[0]`` is set where one is out of range."""
    index, out = index[start:stop], out[start:stop]
    low = high = 0
    for k in range(index.size):
        i = index[k]
        low = min(low, i)
        high = max(high, i)
        out[k] = i + n if i < 0 else i
    if low < -n or high >= n:
        wrong[0] = True


def check_index(index: Array, n: int, axis: int = 0) -> Array:
    """`index` as the kernels read it, if it lies in ``-n <= index < n``; else OutOfRange.

    A new contiguous array of its shape, negative entries counted from the end. It is unsigned, for
    Numba looks for negative indices a second time, and of four bytes where those are enough: two
    million columns of a (2000, 1000) array are added to in 60 % of the time that int64 takes.
    """
    index = np.asarray(index)
    if index.dtype.kind not in "iu":
        if index.size:
            raise OutOfRange(f"an index must be of integer dtype, not {index.dtype}")
        index = index.astype(np.intp)
    kind = np.uint32 if n <= 1 << 31 else np.uint64
    if index.size >= SMALL and index.dtype == np.int64 and available():
        out, wrong = empty(index.shape, kind), np.zeros(1, np.bool_)
        flat = np.ascontiguousarray(index).reshape(-1)
        spread(_wrapped, flat.size, 0.5, n, flat, out.reshape(-1), wrong)
        if not wrong[0]:
            return out
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < -n or high >= n:
            worst = low if low < -n else high
            raise OutOfRange(f"index {worst} is out of bounds for axis {axis} with size {n}")
        if low < 0:
            index = np.where(index < 0, index.astype(np.int64) + n, index)
    return index.astype(kind, order="C")


@njit()
def add_line(g, index, out):  # type: ignore[no-untyped-def]
    """One number an index, in the order of g; in long runs the sum stays in a register.

    To store a sum and load it again takes five times as long as to add to it. Where indices change
    at random, to ask each time costs more (guesses go wrong), so a sample of the index decides
    whether runs are long: 8 or more.
    """
    m = index.size
    same = 0
    for k in range(0, m - 3, SAMPLED):
        same += index[k] == index[k + 3]
    if 8 * SAMPLED * same < 5 * m or m == 0:
        for k in range(m):
            i = index[k]
            out[i] += g[k]
        return
    last = index[0]
    total = out[last]
    for k in range(m):
        i = index[k]
        if i != last:
            out[last] = total
            last = i
            total = out[i]
        total += g[k]
    out[last] = total


@njit()
def _flat_four(g, index, out):  # type: ignore[no-untyped-def]
    """Quarters of the indices into four rows of `out`: neighbouring additions are independent."""
    m = index.size // 4
    for k in range(m):
        for way in range(4):
            i = index[k + way * m]
            out[way, i] += g[k + way * m]
    for k in range(4 * m, index.size):
        i = index[k]
        out[0, i] += g[k]


@njit()
def _columns(start, stop, block, fresh, base, g, index, out):  # type: ignore[no-untyped-def]
    """The column blocks ``start <= b < stop``, `block` columns each, of all rows.

    Where `fresh`, `out` is first filled: with `base`, or with zeros if that has no rows.
    """
    width = out.shape[1]
    first = start * block
    last = min(stop * block, width)
    if fresh:
        for i in range(out.shape[0]):
            row = out[i, first:last]
            if base.shape[0]:
                old = base[i, first:last]
                for j in range(row.size):
                    row[j] = old[j]
            else:
                row[:] = 0
    for k in range(index.size):
        i = index[k]
        if i < out.shape[0]:
            row = out[i, first:last]
            add = g[k, first:last]
            for j in range(row.size):
                row[j] += add[j]


@njit()
def _outputs(start, stop, bounds, fresh, base, g, index, out):  # type: ignore[no-untyped-def]
    """Pieces ``start <= p < stop``: rows of `out` from ``bounds[p]`` to ``bounds[p + 1]``.

    The rows of g that belong to a piece are listed first: a branch for each row is guessed wrong
    half of the time, which takes a tenth of the whole.
    """
    own = np.empty(index.size, np.uint64)
    for piece in range(start, stop):
        low = bounds[piece]
        count = bounds[piece + 1] - low
        rows = out[low : low + count]
        if fresh:
            for i in range(count):
                row = rows[i]
                if base.shape[0]:
                    old = base[low + i]
                    for j in range(row.size):
                        row[j] = old[j]
                else:
                    row[:] = 0
        found = 0
        for k in range(index.size):
            own[found] = k
            found += 0 <= np.int64(index[k]) - low < count
        for t in range(found):
            k = own[t]
            row = out[index[k]]
            add = g[k]
            for j in range(row.size):
                row[j] += add[j]


def _bounds(count: Array, pieces: int) -> Array | None:
    """Where to divide the outputs so that pieces get as many rows each; None if that is uneven."""
    if pieces < 2:
        return None
    done = np.cumsum(count + 1)  # one for the output itself
    even = done[-1] / pieces
    inner = np.searchsorted(done, even * np.arange(1, pieces))
    bounds = np.concatenate(([0], inner, [count.size]))
    loads = np.diff(np.concatenate(([0], done))[bounds])
    return bounds if loads.max() <= UNEVEN * even else None


@njit()
def _chunks(start, stop, rows, place, g, index, parts):  # type: ignore[no-untyped-def]
    """Chunks ``start <= c < stop`` of `rows` rows of g, summed by the place of their output."""
    for c in range(start, stop):
        part = parts[c]
        part[:] = 0
        for k in range(c * rows, min((c + 1) * rows, index.size)):
            i = place[index[k]]
            if i >= 0:
                to = part[i]
                add = g[k]
                for j in range(to.size):
                    to[j] += add[j]


def _frequent(g: Array, index: Array, count: Array) -> tuple[Array, Array, Array]:
    """Outputs that get a quarter of all rows or more, their sums, and an index without them.

    They leave no even division of the outputs. Here threads own chunks of rows of g, as many as the
    shape says, and the sums of chunks are added in their order.
    """
    often = np.flatnonzero(count * 4 > index.size)
    if not often.size:
        return often, g[:0], index
    place = np.full(count.size, -1, np.int8)
    place[often] = np.arange(often.size)
    parts = np.empty((CHUNKS, often.size, g.shape[1]), g.dtype)
    chunk = -(-index.size // CHUNKS)
    spread(_chunks, CHUNKS, chunk * g.shape[1] * 0.3, chunk, place, g, index, parts)
    count[often] = 0
    rest = np.where(place[index] < 0, index, index.dtype.type(count.size))
    return often, np.add.reduce(parts, axis=0), rest


def _sum_wide(
    g: Array, index: Array, out: Array, fresh: bool, base: Array, cost: float, exact: bool
) -> None:
    """`sum_rows` of rows that are long and many."""
    count = np.bincount(index.astype(np.intp, copy=False), minlength=len(out))
    often, sums = np.empty(0, np.intp), g[:0]
    if not exact:
        often, sums, index = _frequent(g, index, count)
    pieces = min(thread_count(), int(cost / GRAIN_NS))
    bounds = _bounds(count, pieces)
    if bounds is not None:
        spread(_outputs, pieces, cost / pieces, bounds, fresh, base, g, index, out)
    else:
        _by_columns(g, index, out, fresh, base, cost)
    out[often] += sums


def _by_columns(g: Array, index: Array, out: Array, fresh: bool, base: Array, cost: float) -> None:
    block = max(1, 64 // g.itemsize)  # 64 bytes: two threads must not write to one cache line
    blocks = -(-g.shape[1] // block)
    spread(_columns, blocks, cost / max(1, blocks), block, fresh, base, g, index, out)


def sum_rows(
    g: Array, index: Array, out: Array, base: Array | None = None, exact: bool = False
) -> None:
    """Add the rows of the 2-d `g` into `out`, both contiguous and real.

    With a `base`, `out` is filled with it first; with one of no rows, with zeros. `exact`: the
    additions to an output have the order of `g`, and the result the bits of ``np.add.at``.
    Otherwise the order is the one that is fastest for these sizes and this index.
    """
    width = g.shape[1]
    fresh = base is not None
    if base is None:
        base = out[:0]
    if width != 1:
        cost = (g.size + fresh * out.size) * 0.3
        if width >= WIDE and cost >= 2 * GRAIN_NS:
            _sum_wide(g, index, out, fresh, base, cost, exact)
        else:
            _by_columns(g, index, out, fresh, base, cost)
        return
    flat, total = g.reshape(-1), out.reshape(-1)
    if fresh:
        total[:] = base.reshape(-1) if len(base) else 0
    if exact or index.size < FOUR_WAYS * out.size:
        add_line(flat, index, total)
    else:
        ways = np.zeros((4, out.size), g.dtype)
        _flat_four(flat, index, ways)
        total += np.sum(ways, axis=0)


@njit()
def _outer_columns(start, stop, block, g, row, index, out):  # type: ignore[no-untyped-def]
    """`_columns` of the rows ``g[k] * row``, which are never made."""
    first = start * block
    last = min(stop * block, out.shape[1])
    add = row[first:last]
    for k in range(index.size):
        factor = g[k]
        line = out[index[k], first:last]
        for j in range(line.size):
            line[j] += factor * add[j]


def add_outer(g: Array, row: Array, index: Array, out: Array) -> None:
    """Add ``g[k] * row`` to the row ``index[k]`` of `out`, all contiguous, real, of one dtype."""
    index = check_index(index, out.shape[0])
    block = max(1, 64 // out.itemsize)
    blocks = -(-row.size // block)
    cost = g.size * row.size / max(1, blocks) * 0.25
    spread(_outer_columns, blocks, cost, block, g, row, index, out)


def scatter_rows(g: Array, index: Array, n: int) -> Array:
    """The sum of the rows ``g[k]`` by their ``index[k]``: an array of shape ``(n, *g.shape[1:])``.

    Parameters
    ----------
    g : numpy.ndarray
        Rows, of any trailing shape and dtype. float16 is summed in float32.
    index : numpy.ndarray
        One integer for each row, ``-n <= index[k] < n``; repeated ones add up, in an order
        that the sizes and the index define.
    n : int
        Rows of the result.

    Raises
    ------
    OutOfRange
        (an IndexError) when an index is out of range; nothing was read or written.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.kernels.scatter_add import scatter_rows
    >>> scatter_rows(np.array([1.0, 2.0, 4.0]), np.array([1, 0, -1]), 2)
    array([2., 5.])
    """
    index = check_index(index, n)
    if g.dtype == np.float16:
        return scatter_rows(g.astype(np.float32), index, n).astype(np.float16)
    if g.size < SMALL or g.dtype.char not in "fdFD" or not g.dtype.isnative or not available():
        return scatter_rows_reference(g, index, n)
    out = empty((n, *g.shape[1:]), g.dtype)
    if not out.size:  # and so no index
        return out
    real = np.dtype(g.real.dtype)
    rows = np.ascontiguousarray(g).reshape(g.shape[0], -1).view(real)
    to = out.reshape(n, -1).view(real)
    sum_rows(rows, index, to, to[:0])
    return out
