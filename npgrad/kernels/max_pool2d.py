"""The maximum over windows of the last two axes, and its backward.

Padding counts as -inf. Entries that tie for a maximum share its cotangent equally; the maximum of a
window that holds NaN is NaN, and its NaN entries share. One item of the kernels is one plane: an
image's channel.

The maximum comes with the places of the window that hold it, for a backward to come: bit i kw + j
stands for place (i, j), several bits for a tie. The backward then reads two bytes a window in place
of x and y. The forward cuts a plane into sh x sw phases: the entries of one row mod sh and of one
column mod sw, with `columns` entries a row. Then place (i, j) of all windows is one contiguous run
of phase (i mod sh, j mod sw), and every loop a long one.

Large windows, and larger ones that do not overlap, have no places: the maxima of their rows, column
by column, come first, those along the columns then, and the backward compares x with y again. (32 x
32 windows of a megabyte: 0.2 ms, and 0.7 ms backward, where bits of 8 x 8 ones took 2.1 and 1.2.)
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels.pool2d import (
    Window,
    as_planes,
    bounds,
    out_size,
    run,
    unwindowed,
    windowed,
)

__all__ = [
    "max_pool2d",
    "max_pool2d_grad",
    "max_pool2d_grad_reference",
    "max_pool2d_places",
    "max_pool2d_reference",
    "ties_reference",
]

APART = Window((2, 2), (2, 2))  # the most common one, with kernels of its own
TABLE = 9  # places whose bits the backward looks up
PLACES = 64  # of a window whose places fit into a word
FEW = 9  # places of windows that do not overlap up to which bits pay


def max_pool2d_reference(x: Array, window: Window) -> Array:
    """The largest entry of each window."""
    return np.max(windowed(x, window, -np.inf), axis=0)


def max_pool2d_grad_reference(g: Array, x: Array, y: Array, window: Window) -> Array:
    """Shared equally by the entries that tie."""
    ties = ties_reference(x, y, window)
    share = g / np.sum(ties, axis=0).astype(y.dtype)
    return unwindowed(np.where(ties, share, np.zeros_like(share)), window, x.shape)


def ties_reference(x: Array, y: Array, window: Window) -> Array:
    """Which places of each window hold its maximum, along a new first axis."""
    ties = windowed(x, window, np.nan) == y  # padding ties with nothing
    return ties | np.isnan(windowed(x, window, 0.0)) if np.isnan(y).any() else ties


@njit(forceinline=True)
def _part(row, phase, stride, padding):  # type: ignore[no-untyped-def]
    """Of a row's entries in a phase: the first, where it goes, and how many there are."""
    first = (phase - padding) % stride
    return first, (first + padding) // stride, max(0, (row.size - first + stride - 1) // stride)


@njit()
def _to_phases(x, window, columns, phases):  # type: ignore[no-untyped-def]
    """The plane `x` as its phases, (sh, sw, rows * columns)."""
    _, (sh, sw), (ph, pw) = window
    for r in range(x.shape[0]):
        row = x[r]
        for phase in range(sw):
            first, at, count = _part(row, phase, sw, pw)
            at += (r + ph) // sh * columns
            to = phases[(r + ph) % sh, phase, at : at + count]
            seen = row[first:]
            if sw == 2:  # a stride that LLVM knows is loaded in vectors
                for k in range(to.size):
                    to[k] = seen[2 * k]
            else:
                for k in range(to.size):
                    to[k] = seen[k * sw]


@njit(forceinline=True)
def _bit(like, place):  # type: ignore[no-untyped-def]
    """The bit of a place; Numba makes 64 bits of every shift, which halves the vectors."""
    return like.dtype.type(like.dtype.type(1) << like.dtype.type(place))


@njit()
def _extent(window, shape, size):  # type: ignore[no-untyped-def]
    """Rows and columns of the phases of a plane of `shape` with windows in rows of `size`."""
    (kh, kw), (sh, sw), (ph, pw) = window
    columns = max(size[1] + (kw - 1) // sw, (shape[1] + 2 * pw + sw - 1) // sw)
    rows = max(size[0] + (kh - 1) // sh + 1, (shape[0] + 2 * ph + sh - 1) // sh)
    return rows, columns


@njit()
def _inside(window, shape, size, rows, columns):  # type: ignore[no-untyped-def]
    """The bits of places that lie inside of the plane: of each row and column of windows."""
    (kh, kw), (sh, sw), (ph, pw) = window
    rows[:] = 0
    columns[:] = 0
    for i in range(kh):
        for j in range(kw):
            bit = _bit(rows, i * kw + j)
            for p in range(size[0]):
                if 0 <= p * sh + i - ph < shape[0]:
                    rows[p] |= bit
            for q in range(size[1]):
                if 0 <= q * sw + j - pw < shape[1]:
                    columns[q] |= bit


@njit(fastmath={"nsz"})
def _better(x, bit, tops, held):  # type: ignore[no-untyped-def]
    """Where `x` beats the maximum so far its place alone holds it; where it ties, it as well."""
    for k in range(tops.size):
        v = x[k]
        top = tops[k]
        # a NaN beats all that is none, and ties with others, as in np.max
        odd = np.isnan(v)
        ties = v == top or (odd and np.isnan(top))
        here = held[k] | bit if ties else held[k]
        more = v > top or (odd and not np.isnan(top))
        held[k] = bit if more else here
        tops[k] = v if more else top


@njit()
def _max_places(start, stop, x, window, wide, y, places):  # type: ignore[no-untyped-def]
    """Planes ``start <= n < stop``; `wide` is an empty array of the dtype that holds all bits."""
    (kh, kw), (sh, sw), _ = window
    shape, size = x.shape[1:], y.shape[1:]
    height, width = size
    rows, columns = _extent(window, shape, size)
    seen = np.full((sh, sw, rows * columns), -np.inf, x.dtype)
    tops = np.empty(height * columns, x.dtype)
    held = np.empty(tops.size, wide.dtype)
    by_row, by_column = np.empty(height, wide.dtype), np.empty(width, wide.dtype)
    _inside(window, shape, size, by_row, by_column)
    for n in range(start, stop):
        _to_phases(x[n], window, columns, seen)
        tops[:] = -np.inf
        held[:] = 0
        for i in range(kh):
            for j in range(kw):
                at = i // sh * columns + j // sw
                bit = _bit(wide, i * kw + j)
                _better(seen[i % sh, j % sw, at : at + tops.size], bit, tops, held)
        for p in range(height):
            line = places[n, p]
            part = held[p * columns : p * columns + width]
            valid = by_row[p]
            for q in range(line.size):
                line[q] = part[q] & valid & by_column[q]
            y[n, p] = tops[p * columns : p * columns + width]


@njit(fastmath={"nsz"})
def _max_places_apart(start, stop, x, y, places):  # type: ignore[no-untyped-def]
    """`_max_places` for windows of 2 x 2 that do not overlap: one pass."""
    bits = places.dtype.type
    for n in range(start, stop):
        for p in range(y.shape[1]):
            upper, lower = x[n, 2 * p], x[n, 2 * p + 1]
            line, to = places[n, p], y[n, p]
            for q in range(to.size):
                a = upper[2 * q]
                b = upper[2 * q + 1]
                c = lower[2 * q]
                d = lower[2 * q + 1]
                top = a if a >= b or np.isnan(a) else b
                other = c if c >= d or np.isnan(c) else d
                top = top if top >= other or np.isnan(top) else other
                to[q] = top
                line[q] = (
                    (bits(1) if a == top or np.isnan(a) else bits(0))
                    | (bits(2) if b == top or np.isnan(b) else bits(0))
                    | (bits(4) if c == top or np.isnan(c) else bits(0))
                    | (bits(8) if d == top or np.isnan(d) else bits(0))
                )


@njit(fastmath={"nsz"})
def _max_grad(start, stop, g, places, window, gx):  # type: ignore[no-untyped-def]
    """One window after the other; nearly always one place holds the maximum, known by a table."""
    (kh, kw), (sh, sw), (ph, pw) = window
    width = gx.shape[2]
    offsets = np.empty(kh * kw, np.int64)
    table = np.full(1 << min(kh * kw, TABLE), -1)
    for place in range(kh * kw):
        offsets[place] = place // kw * width + place % kw
        if place < TABLE:
            table[1 << place] = offsets[place]
    for n in range(start, stop):
        plane = gx[n].reshape(-1)
        plane[:] = 0
        for p in range(g.shape[1]):
            held, line = places[n, p], g[n, p]
            for q in range(line.size):
                bits = np.uint64(held[q])
                corner = (p * sh - ph) * width + q * sw - pw  # of the window, maybe outside
                at = table[bits] if bits < np.uint64(table.size) else -1
                if at >= 0:
                    plane[np.uint64(corner + at)] += line[q]
                    continue
                ties = 0
                for place in range(kh * kw):
                    ties += 1 if (bits >> np.uint64(place)) & np.uint64(1) else 0
                share = line[q] / line.dtype.type(max(ties, 1))
                for place in range(kh * kw):
                    if (bits >> np.uint64(place)) & np.uint64(1):
                        plane[np.uint64(corner + offsets[place])] += share


@njit(fastmath={"nsz"})
def _max_grad_apart(start, stop, g, places, gx):  # type: ignore[no-untyped-def]
    """`_max_grad` for windows of 2 x 2 that do not overlap: every entry written once.

    A loop for each row that is written to: LLVM vectorises these (1.7 ms in place of 5.9).
    """
    zero = g.dtype.type(0)
    rows, columns = g.shape[1:]
    share = np.empty(columns, g.dtype)
    for n in range(start, stop):
        for p in range(rows):
            upper, lower = gx[n, 2 * p], gx[n, 2 * p + 1]
            held, line = places[n, p], g[n, p]
            for q in range(share.size):
                bits = np.int32(held[q])
                ties = (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + ((bits >> 3) & 1)
                share[q] = line[q] / g.dtype.type(max(ties, 1))
            for q in range(share.size):
                bits = held[q]
                upper[2 * q] = share[q] if bits & 1 else zero
                upper[2 * q + 1] = share[q] if bits & 2 else zero
            for q in range(share.size):
                bits = held[q]
                lower[2 * q] = share[q] if bits & 4 else zero
                lower[2 * q + 1] = share[q] if bits & 8 else zero
            upper[2 * columns :] = 0
            lower[2 * columns :] = 0
        gx[n, 2 * rows :] = 0


@njit(forceinline=True)
def _larger(v, top):  # type: ignore[no-untyped-def]
    """The larger; NaN if either is."""
    return v if v > top or np.isnan(v) else top


@njit(fastmath={"nsz"})
def _max_of_rows(start, stop, x, window, y):  # type: ignore[no-untyped-def]
    """Planes ``start <= n < stop``, for windows of any size."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    columns = y.shape[2]
    bordered = np.full(width + 2 * pw, -np.inf, x.dtype)
    tops = bordered[pw : pw + width]
    spare = np.empty(kw, x.dtype)
    for n in range(start, stop):
        for p in range(y.shape[1]):
            r0, r1 = bounds(p, kh, sh, ph, height)
            row = x[n, r0]
            for q in range(tops.size):
                tops[q] = row[q]
            for r in range(r0 + 1, r1):
                row = x[n, r]
                for q in range(tops.size):
                    tops[q] = _larger(row[q], tops[q])
            line = y[n, p]
            if columns >= kw:
                for q in range(columns):
                    line[q] = bordered[q * sw]
                for j in range(1, kw):
                    part = bordered[j:]
                    for q in range(columns):
                        line[q] = _larger(part[q * sw], line[q])
                continue
            for q in range(columns):
                part = bordered[q * sw : q * sw + kw]
                for j in range(part.size):
                    spare[j] = part[j]
                # halves on each other, which vectors can do and a running maximum cannot
                count = kw
                while count > 1:
                    half = (count + 1) // 2
                    upper = spare[half:count]
                    for j in range(upper.size):
                        spare[j] = _larger(upper[j], spare[j])
                    count = half
                line[q] = spare[0]


@njit(fastmath={"nsz"})
def _max_grad_compared(start, stop, g, x, y, window, gx):  # type: ignore[no-untyped-def]
    """Planes ``start <= n < stop``, by a comparison of x with y: see `_max_of_rows`."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    zero = g.dtype.type(0)
    for n in range(start, stop):
        gx[n] = 0
        for p in range(y.shape[1]):
            r0, r1 = bounds(p, kh, sh, ph, height)
            for q in range(y.shape[2]):
                c0, c1 = bounds(q, kw, sw, pw, width)
                top = y[n, p, q]
                odd = np.isnan(top)
                ties = 0
                for r in range(r0, r1):
                    row = x[n, r, c0:c1]
                    for j in range(row.size):
                        ties += 1 if row[j] == top or (odd and np.isnan(row[j])) else 0
                share = g[n, p, q] / g.dtype.type(max(ties, 1))
                for r in range(r0, r1):
                    row = x[n, r, c0:c1]
                    to = gx[n, r, c0:c1]
                    for j in range(to.size):
                        won = row[j] == top or (odd and np.isnan(row[j]))
                        to[j] += share if won else zero


def max_pool2d(x: Array, window: Window) -> Array:
    """The largest entry of each window."""
    return max_pool2d_places(x, window)[0]


def max_pool2d_places(x: Array, window: Window) -> tuple[Array, Array]:
    """The largest entry of each window, and the places that hold it.

    The places have no entries where no kernel is taken, nor for windows that are compared again.
    """
    count = window.size[0] * window.size[1]
    if not usable(x):
        return max_pool2d_reference(x, window), np.empty(0, np.uint16)
    planes = as_planes(x)
    y = empty((*x.shape[:-2], *out_size(x.shape, window)), x.dtype)
    if _compared(window):
        run(_max_of_rows, window, x.size, len(planes), planes, tuple(window), as_planes(y))
        return y, np.empty(0, np.uint16)
    kept = empty(y.shape, np.uint16 if count <= 16 else _wide(window).dtype)
    if window == APART:
        cost = x.size / len(planes) * 0.4
        spread(_max_places_apart, len(planes), cost, planes, as_planes(y), as_planes(kept))
    else:
        arrays = planes, tuple(window), _wide(window), as_planes(y), as_planes(kept)
        spread(
            _max_places, len(planes), x.size / len(planes) * count / window.stride[1] * 0.4, *arrays
        )
    return y, kept


def _compared(window: Window) -> bool:
    """Whether the backward compares entries again: once each, or more places than have a bit."""
    apart = window.stride[0] >= window.size[0] and window.stride[1] >= window.size[1]
    return window.size[0] * window.size[1] > (FEW if apart else PLACES)


def _wide(window: Window) -> Array:
    """An empty array of the dtype in which kernels compute with places."""
    return np.empty(0, np.uint32 if window.size[0] * window.size[1] <= 32 else np.uint64)


def max_pool2d_grad(
    g: Array, x: Array, y: Array, window: Window, places: Array | None = None
) -> Array:
    """The cotangent of x from `g`, that of ``y = max_pool2d(x)``."""
    if not usable(x, g, y):
        return max_pool2d_grad_reference(g, x, y, window)
    gx = empty(x.shape, x.dtype)
    planes = as_planes(gx)
    if places is None or places.shape != g.shape:
        cost = g.size / len(planes) * window.size[0] * window.size[1] * 0.3
        given = as_planes(g), as_planes(x), as_planes(y)
        spread(_max_grad_compared, len(planes), cost, *given, tuple(window), planes)
        return gx
    arrays = as_planes(g), as_planes(places)
    if window == APART:
        spread(_max_grad_apart, len(planes), x.size / len(planes) * 0.3, *arrays, planes)
    else:
        cost = x.size / len(planes) * 0.3 + g.size / len(planes) * 3.0
        spread(_max_grad, len(planes), cost, *arrays, tuple(window), planes)
    return gx
