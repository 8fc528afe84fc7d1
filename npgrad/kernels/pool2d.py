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
    ties = windowed(x, window, -np.inf) == y
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


@njit(fastmath={"nsz"})
def _max_grad(start, stop, g, x, y, window, gx):  # type: ignore[no-untyped-def]
    """Rows of windows: first the ties of each are counted, then each tie gets its share."""
    (kh, kw), (sh, sw), (ph, pw) = window
    height, width = x.shape[1:]
    zero = g.dtype.type(0)
    one = g.dtype.type(1)
    ties = np.empty(y.shape[2], g.dtype)
    for n in range(start, stop):
        gx[n] = 0
        for p in range(y.shape[1]):
            r0, r1 = _bounds(p, kh, sh, ph, height)
            tops = y[n, p]
            line = g[n, p]
            ties[:] = 0
            for r in range(r0, r1):
                for j in range(kw):
                    q0 = max(0, -((j - pw) // sw))
                    q1 = min(ties.size, (width - 1 - j + pw) // sw + 1)
                    if q1 <= q0:
                        continue
                    count = ties[q0:q1]
                    top = tops[q0:q1]
                    seen = x[n, r, q0 * sw + j - pw :]
                    for q in range(count.size):
                        count[q] += one if seen[q * sw] == top[q] else zero
            for q in range(ties.size):
                # no tie at all: the maximum is NaN
                ties[q] = line[q] / (ties[q] if ties[q] > zero else one)
            for r in range(r0, r1):
                for j in range(kw):
                    q0 = max(0, -((j - pw) // sw))
                    q1 = min(ties.size, (width - 1 - j + pw) // sw + 1)
                    if q1 <= q0:
                        continue
                    share = ties[q0:q1]
                    top = tops[q0:q1]
                    seen = x[n, r, q0 * sw + j - pw :]
                    to = gx[n, r, q0 * sw + j - pw :]
                    for q in range(share.size):
                        to[q * sw] += share[q] if seen[q * sw] == top[q] else zero


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
