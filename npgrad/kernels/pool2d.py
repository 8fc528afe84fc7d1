"""Maximum and mean over windows of the last two axes, and their backwards.

Windows overlap where the stride is smaller than the size; padding counts as -inf for the maximum
and as zeros for the mean (which divides by the window's full size). Entries that tie for a maximum
share its cotangent equally. One item of the kernels is one plane: an image's channel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = [
    "Window",
    "avg_pool2d",
    "avg_pool2d_grad",
    "avg_pool2d_grad_reference",
    "avg_pool2d_reference",
    "max_pool2d",
    "max_pool2d_grad",
    "max_pool2d_grad_reference",
    "max_pool2d_reference",
    "out_size",
    "unwindowed",
    "windowed",
]

Shape = tuple[int, ...]


class Window(NamedTuple):
    """Size, stride and padding (both sides), vertical and horizontal."""

    size: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int] = (0, 0)


def out_size(shape: Shape, window: Window) -> tuple[int, int]:
    """Height and width of the output."""
    size, stride, padding = window
    height, width = (
        (n + 2 * p - k) // s + 1
        for n, p, k, s in zip(shape[-2:], padding, size, stride, strict=True)
    )
    return height, width


def _offsets(window: Window, size: tuple[int, int]) -> list[tuple[slice, slice]]:
    """What each place in the window sees of the padded planes."""
    (kh, kw), (sh, sw), _ = window
    return [
        (slice(i, i + sh * (size[0] - 1) + 1, sh), slice(j, j + sw * (size[1] - 1) + 1, sw))
        for i in range(kh)
        for j in range(kw)
    ]


def windowed(x: Array, window: Window, fill: float) -> Array:
    """The windows along a new first axis: (places in the window, ..., height, width)."""
    ph, pw = window.padding
    widths = ((0, 0),) * (x.ndim - 2) + ((ph, ph), (pw, pw))
    xp = np.pad(x, widths, constant_values=fill) if ph or pw else x
    places = _offsets(window, out_size(x.shape, window))
    return np.stack([xp[..., rows, columns] for rows, columns in places])


def unwindowed(g: Array, window: Window, shape: Shape) -> Array:
    """The transpose of `windowed`: each entry added to where it came from."""
    ph, pw = window.padding
    padded = (*shape[:-2], shape[-2] + 2 * ph, shape[-1] + 2 * pw)
    xp = np.zeros_like(g, shape=padded)
    for part, (rows, columns) in zip(g, _offsets(window, g.shape[-2:]), strict=True):
        xp[..., rows, columns] += part
    return xp[..., ph : ph + shape[-2], pw : pw + shape[-1]]


def max_pool2d_reference(x: Array, window: Window) -> Array:
    """The largest entry of each window."""
    return np.max(windowed(x, window, -np.inf), axis=0)


def max_pool2d_grad_reference(g: Array, x: Array, y: Array, window: Window) -> Array:
    """Shared equally by the entries that tie."""
    ties = windowed(x, window, np.nan) == y  # padding ties with nothing
    share = g / np.maximum(np.sum(ties, axis=0), 1).astype(y.dtype)
    return unwindowed(np.where(ties, share, np.zeros_like(share)), window, x.shape)


def avg_pool2d_reference(x: Array, window: Window) -> Array:
    """The mean of each window, padding included."""
    return np.mean(windowed(x, window, 0.0), axis=0)


def avg_pool2d_grad_reference(g: Array, window: Window, shape: Shape) -> Array:
    """The transpose of the mean."""
    count = window.size[0] * window.size[1]
    spread_out = np.broadcast_to(g / count, (count, *g.shape))
    return unwindowed(spread_out, window, shape)


@njit()
def _bounds(index, size, stride, padding, extent):  # type: ignore[no-untyped-def]
    """First and last (exclusive) entry of window `index` inside of the plane."""
    first = index * stride - padding
    return max(first, 0), min(first + size, extent)


@njit(fastmath={"nsz"})
def _max(start, stop, x, window, y):  # type: ignore[no-untyped-def]
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    for n in range(start, stop):
        for p in range(y.shape[1]):
            r0, r1 = _bounds(p, kh, sh, ph, height)
            line = y[n, p]
            line[:] = -np.inf
            for r in range(r0, r1):
                row = x[n, r]
                for j in range(kw):
                    # windows q0 <= q < q1 have their place j inside of the plane
                    q0 = max(0, -((j - pw) // sw))
                    q1 = min(line.size, (width - 1 - j + pw) // sw + 1)
                    if q1 <= q0:
                        continue
                    inner = line[q0:q1]
                    seen = row[q0 * sw + j - pw :]
                    for q in range(inner.size):
                        v = seen[q * sw]
                        # a NaN wins, as in np.max
                        inner[q] = inner[q] if inner[q] >= v or inner[q] != inner[q] else v


# The backward of the maximum cuts a plane into sh x sw phases: the entries of one row mod sh and of
# one column mod sw, with `columns` entries a row. Then place (i, j) of all windows of the plane is
# one contiguous run of phase (i mod sh, j mod sw), and every loop a long one: 3x3 windows of stride
# 2 on 8x64x112x112 float32 take 8 ms, where strided loops over rows of windows took 52 ms. Where no
# window or no entry is, x and y hold NaN, which ties with nothing.


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


@njit()
def _from_phases(phases, window, columns, x):  # type: ignore[no-untyped-def]
    """The plane of the phases."""
    _, (sh, sw), (ph, pw) = window
    for r in range(x.shape[0]):
        row = x[r]
        lines = phases[(r + ph) % sh]
        base = (r + ph) // sh * columns
        if sw == 2:  # both phases at once: whole vectors are stored
            odd = pw % 2
            if odd:
                row[0] = lines[1, base + pw // 2]
            pairs = (row.size - odd) // 2
            at = base + (odd + pw) // 2
            even, other = lines[0, at : at + pairs], lines[1, at : at + pairs]
            to = row[odd : odd + 2 * pairs]
            for k in range(pairs):
                to[2 * k] = even[k]
                to[2 * k + 1] = other[k]
            if odd + 2 * pairs < row.size:
                row[row.size - 1] = lines[0, at + pairs]
        else:
            for phase in range(sw):
                first, at, count = _part(row, phase, sw, pw)
                seen = lines[phase, base + at : base + at + count]
                to = row[first:]
                for k in range(seen.size):
                    to[k * sw] = seen[k]


@njit(fastmath={"nsz"})
def _add_ties(x, y, ties):  # type: ignore[no-untyped-def]
    zero, one = ties.dtype.type(0), ties.dtype.type(1)
    for k in range(ties.size):
        ties[k] += one if x[k] == y[k] else zero


@njit(fastmath={"nsz"})
def _add_shares(x, y, share, gx):  # type: ignore[no-untyped-def]
    zero = share.dtype.type(0)
    for k in range(share.size):
        gx[k] += share[k] if x[k] == y[k] else zero


@njit(fastmath={"nsz"})
def _max_grad(start, stop, g, x, y, window, gx):  # type: ignore[no-untyped-def]
    """The ties of each window are counted, then each tie gets its share."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = y.shape[1:]
    columns = max(width + (kw - 1) // sw, (x.shape[2] + 2 * pw + sw - 1) // sw)
    rows = max(height + (kh - 1) // sh + 1, (x.shape[1] + 2 * ph + sh - 1) // sh)
    seen = np.full((sh, sw, rows * columns), np.nan, x.dtype)
    back = np.empty((sh, sw, rows * columns), x.dtype)
    size = height * columns
    tops = np.full(size, np.nan, x.dtype)
    share = np.zeros(size, x.dtype)
    ties = np.empty(size, x.dtype)
    one = x.dtype.type(1)
    for n in range(start, stop):
        _to_phases(x[n], window, columns, seen)
        for p in range(height):
            tops[p * columns : p * columns + width] = y[n, p]
            share[p * columns : p * columns + width] = g[n, p]
        ties[:] = 0
        for i in range(kh):
            for j in range(kw):
                at = i // sh * columns + j // sw
                _add_ties(seen[i % sh, j % sw, at : at + size], tops, ties)
        for k in range(size):
            # no tie at all: the maximum is NaN
            share[k] /= max(ties[k], one)
        back[:] = 0
        for i in range(kh):
            for j in range(kw):
                at = i // sh * columns + j // sw
                inner = seen[i % sh, j % sw, at : at + size]
                _add_shares(inner, tops, share, back[i % sh, j % sw, at : at + size])
        _from_phases(back, window, columns, gx[n])


@njit(fastmath={"nsz"})
def _max_grad_apart(start, stop, g, x, y, gx):  # type: ignore[no-untyped-def]
    """`_max_grad` for windows of 2 x 2 that do not overlap: one pass, every entry written once."""
    zero = g.dtype.type(0)
    one = g.dtype.type(1)
    rows, columns = y.shape[1:]
    for n in range(start, stop):
        for p in range(rows):
            upper, lower = x[n, 2 * p], x[n, 2 * p + 1]
            to_upper, to_lower = gx[n, 2 * p], gx[n, 2 * p + 1]
            top, line = y[n, p], g[n, p]
            for q in range(columns):
                v = top[q]
                a = one if upper[2 * q] == v else zero
                b = one if upper[2 * q + 1] == v else zero
                c = one if lower[2 * q] == v else zero
                d = one if lower[2 * q + 1] == v else zero
                share = line[q] / max(a + b + c + d, one)
                to_upper[2 * q] = share if a > zero else zero
                to_upper[2 * q + 1] = share if b > zero else zero
                to_lower[2 * q] = share if c > zero else zero
                to_lower[2 * q + 1] = share if d > zero else zero
            to_upper[2 * columns :] = 0
            to_lower[2 * columns :] = 0
        gx[n, 2 * rows :] = 0


@njit(fastmath={"contract", "nsz", "reassoc"})
def _mean(start, stop, x, window, y):  # type: ignore[no-untyped-def]
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    scale = x.dtype.type(1) / x.dtype.type(kh * kw)
    for n in range(start, stop):
        for p in range(y.shape[1]):
            r0, r1 = _bounds(p, kh, sh, ph, height)
            line = y[n, p]
            line[:] = 0
            for r in range(r0, r1):
                row = x[n, r]
                for j in range(kw):
                    q0 = max(0, -((j - pw) // sw))
                    q1 = min(line.size, (width - 1 - j + pw) // sw + 1)
                    if q1 <= q0:
                        continue
                    inner = line[q0:q1]
                    seen = row[q0 * sw + j - pw :]
                    for q in range(inner.size):
                        inner[q] += seen[q * sw]
            for q in range(line.size):
                line[q] *= scale


@njit(fastmath={"contract", "nsz"})
def _mean_grad(start, stop, g, window, gx):  # type: ignore[no-untyped-def]
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = gx.shape[1:]
    scale = g.dtype.type(1) / g.dtype.type(kh * kw)
    for n in range(start, stop):
        gx[n] = 0
        for p in range(g.shape[1]):
            r0, r1 = _bounds(p, kh, sh, ph, height)
            line = g[n, p]
            for r in range(r0, r1):
                row = gx[n, r]
                for j in range(kw):
                    q0 = max(0, -((j - pw) // sw))
                    q1 = min(line.size, (width - 1 - j + pw) // sw + 1)
                    if q1 <= q0:
                        continue
                    inner = line[q0:q1]
                    seen = row[q0 * sw + j - pw :]
                    for q in range(inner.size):
                        seen[q * sw] += scale * inner[q]


def _planes(x: Array) -> Array:
    """`x` as contiguous planes."""
    return np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])


def _run(kernel: Any, window: Window, x_size: int, planes: int, *args: Any) -> None:
    """Spread over planes; a window of k x k places costs about that many nanoseconds an output."""
    cost = x_size / planes * window.size[0] * window.size[1] / window.stride[1] * 0.4
    spread(kernel, planes, cost, *args)


def max_pool2d(x: Array, window: Window) -> Array:
    """The largest entry of each window."""
    if not usable(x):
        return max_pool2d_reference(x, window)
    planes = _planes(x)
    y = np.empty((*x.shape[:-2], *out_size(x.shape, window)), x.dtype)
    _run(_max, window, x.size, len(planes), planes, tuple(window), _planes(y))
    return y


def max_pool2d_grad(g: Array, x: Array, y: Array, window: Window) -> Array:
    """The cotangent of x from `g`, that of ``y = max_pool2d(x)``."""
    if not usable(x, g, y) or g.shape != y.shape:
        return max_pool2d_grad_reference(g, x, y, window)
    gx = np.empty(x.shape, x.dtype)
    planes = _planes(gx)
    arrays = _planes(g), _planes(x), _planes(y)
    if window == Window((2, 2), (2, 2)):
        spread(_max_grad_apart, len(planes), x.size / len(planes) * 0.4, *arrays, planes)
    else:
        _run(_max_grad, window, x.size, len(planes), *arrays, tuple(window), planes)
    return gx


def avg_pool2d(x: Array, window: Window) -> Array:
    """The mean of each window, padding included."""
    if not usable(x):
        return avg_pool2d_reference(x, window)
    planes = _planes(x)
    y = np.empty((*x.shape[:-2], *out_size(x.shape, window)), x.dtype)
    _run(_mean, window, x.size, len(planes), planes, tuple(window), _planes(y))
    return y


def avg_pool2d_grad(g: Array, window: Window, shape: Shape) -> Array:
    """The transpose, for an x of `shape`."""
    if not usable(g):
        return avg_pool2d_grad_reference(g, window, shape)
    gx = np.empty(shape, g.dtype)
    planes = _planes(gx)
    _run(_mean_grad, window, gx.size, len(planes), _planes(g), tuple(window), planes)
    return gx
