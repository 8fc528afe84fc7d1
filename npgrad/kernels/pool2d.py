"""Windows of the last two axes, and the mean over them with its backward.

Windows overlap where the stride is smaller than the size; padding counts as zeros (the mean divides
by the window's full size). One item of the kernels is one plane: an image's channel.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import SMALL, Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = [
    "Window",
    "as_planes",
    "avg_pool2d",
    "avg_pool2d_grad",
    "avg_pool2d_grad_reference",
    "avg_pool2d_reference",
    "bounds",
    "out_size",
    "run",
    "unwindowed",
    "windowed",
]

Shape = tuple[int, ...]

MANY = 64  # entries of a window from which they are summed in float64


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


def avg_pool2d_reference(x: Array, window: Window) -> Array:
    """The mean of each window, padding included."""
    return np.mean(windowed(x, window, 0.0), axis=0)


def avg_pool2d_grad_reference(g: Array, window: Window, shape: Shape) -> Array:
    """The transpose of the mean."""
    count = window.size[0] * window.size[1]
    spread_out = np.broadcast_to(g / count, (count, *g.shape))
    return unwindowed(spread_out, window, shape)


@njit()
def bounds(index, size, stride, padding, extent):  # type: ignore[no-untyped-def]
    """First and last (exclusive) entry of window `index` inside of the plane."""
    first = index * stride - padding
    return max(first, 0), min(first + size, extent)


@njit(fastmath={"contract", "nsz", "reassoc"}, forceinline=True)
def _add_every(step, source, total):  # type: ignore[no-untyped-def]
    """Every `step`-th entry of `source` added to `total`; LLVM loads known steps in vectors."""
    if step == 1:
        for q in range(total.size):
            total[q] += source[q]
    elif step == 2:
        for q in range(total.size):
            total[q] += source[2 * q]
    else:
        for q in range(total.size):
            total[q] += source[q * step]


@njit(fastmath={"contract", "nsz", "reassoc"})
def _mean(start, stop, x, window, wide, y):  # type: ignore[no-untyped-def]
    """Rows of a window are summed first, its columns then; `wide` is empty, of the sums' dtype."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    columns = y.shape[2]
    scale = 1.0 / (kh * kw)
    bordered = np.zeros(width + 2 * pw, wide.dtype)
    sums = bordered[pw : pw + width]
    totals = np.empty(columns, wide.dtype)
    for n in range(start, stop):
        for p in range(y.shape[1]):
            r0, r1 = bounds(p, kh, sh, ph, height)
            row = x[n, r0]
            for q in range(sums.size):
                sums[q] = row[q]
            for r in range(r0 + 1, r1):
                row = x[n, r]
                for q in range(sums.size):
                    sums[q] += row[q]
            if columns >= kw:
                totals[:] = 0
                for j in range(kw):
                    _add_every(sw, bordered[j:], totals)
            else:
                for q in range(columns):
                    part = bordered[q * sw : q * sw + kw]
                    total = wide.dtype.type(0)
                    for j in range(part.size):
                        total += part[j]
                    totals[q] = total
            line = y[n, p]
            for q in range(line.size):
                line[q] = totals[q] * scale


@njit(fastmath={"contract", "nsz"})
def _mean_grad(start, stop, g, window, gx):  # type: ignore[no-untyped-def]
    """A row of g is spread along its windows' columns, and that row over their rows."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = gx.shape[1:]
    columns = g.shape[2]
    scale = g.dtype.type(1) / g.dtype.type(kh * kw)
    bordered = np.empty(width + 2 * pw, g.dtype)
    row = bordered[pw : pw + width]
    for n in range(start, stop):
        gx[n] = 0
        for p in range(g.shape[1]):
            r0, r1 = bounds(p, kh, sh, ph, height)
            line = g[n, p]
            bordered[:] = 0
            if columns >= kw:
                for j in range(kw):
                    part = bordered[j:]
                    for q in range(line.size):
                        part[q * sw] += scale * line[q]
            else:
                for q in range(columns):
                    part = bordered[q * sw : q * sw + kw]
                    share = scale * line[q]
                    for j in range(part.size):
                        part[j] += share
            for r in range(r0, r1):
                to = gx[n, r]
                for q in range(to.size):
                    to[q] += row[q]


def as_planes(x: Array) -> Array:
    """`x` as contiguous planes."""
    return np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])


def run(kernel: Any, window: Window, x_size: int, planes: int, *args: Any) -> None:
    """Spread over planes; each entry is met by the rows, and then the columns, of its windows."""
    (kh, kw), (sh, sw), _ = window
    spread(kernel, planes, x_size / planes * (kh / sh + kw / (sh * sw)) * 0.3, *args)


def avg_pool2d(x: Array, window: Window) -> Array:
    """The mean of each window, padding included."""
    if not usable(x):
        return avg_pool2d_reference(x, window)
    planes = as_planes(x)
    y = empty((*x.shape[:-2], *out_size(x.shape, window)), x.dtype)
    # a float32 sum of some hundred entries has lost a digit
    many = window.size[0] * window.size[1] > MANY
    wide = np.empty(0, np.float64 if many else x.dtype)
    run(_mean, window, x.size, len(planes), planes, tuple(window), wide, as_planes(y))
    return y


def avg_pool2d_grad(g: Array, window: Window, shape: Shape) -> Array:
    """The transpose, for an x of `shape`."""
    if math.prod(shape) < SMALL or not usable(g, small=0):
        return avg_pool2d_grad_reference(g, window, shape)
    gx = empty(shape, g.dtype)
    planes = as_planes(gx)
    run(_mean_grad, window, gx.size, len(planes), as_planes(g), tuple(window), planes)
    return gx
