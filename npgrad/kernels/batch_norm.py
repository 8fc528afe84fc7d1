"""Normalisation of each channel over the batch and all positions, and its backward.

    y  = w (x - mean) r + b                       r = 1 / sqrt(var + eps), both of one channel
    gx = w r (g - mean(g) - (x - mean) r**2 mean(g (x - mean)))
    gw = sum of g (x - mean) r                    gb = sum of g

The array is (n, c, ...). Sums over the batch are taken in parts, one for each image where a channel
has many positions, one for a chunk of images where it has few; the parts depend on the shape alone
and are added in float64. A part's variance is taken about its own mean, and parts are joined by the
formula of T. Chan, G. Golub and R. LeVeque (1979): one pass over memory, and no cancellation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.kernels._arrays import Array, chunk_count, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = [
    "batch_norm",
    "batch_norm_grad",
    "batch_norm_grad_reference",
    "batch_norm_reference",
]

# Positions a channel from which its inner loop is long enough to stand alone.
LONG = 16
# Numbers of a block of images whose two passes stay in the second-level cache.
BLOCK = 1 << 16


def _others(x: Array) -> tuple[int, ...]:
    """All axes but that of the channels."""
    return (0, *range(2, x.ndim))


def _by_channel(weight: Array, ndim: int) -> Array:
    """`weight` shaped to meet the channels of an array of `ndim` dimensions."""
    return np.reshape(weight, (-1,) + (1,) * (ndim - 2))


def _normalised(x: Array, eps: float) -> tuple[Array, Array]:
    """``xhat`` and ``r``."""
    centred = x - np.mean(x, axis=_others(x), keepdims=True)
    r = 1 / np.sqrt(np.mean(centred * centred, axis=_others(x), keepdims=True) + eps)
    return centred * r, r


def batch_norm_reference(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """``weight xhat + bias``."""
    xhat = _normalised(x, eps)[0]
    return xhat * _by_channel(weight, x.ndim) + _by_channel(bias, x.ndim)


def batch_norm_grad_reference(
    g: Array, x: Array, weight: Array, eps: float
) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias."""
    xhat, r = _normalised(x, eps)
    gx = g - np.mean(g, axis=_others(x), keepdims=True)
    gx = gx - xhat * np.mean(g * xhat, axis=_others(x), keepdims=True)
    gx = _by_channel(weight, x.ndim) * r * gx
    return gx, np.sum(g * xhat, axis=_others(x)), np.sum(g, axis=_others(x))


@njit(fastmath={"reassoc", "contract", "nsz"})
def _row_moments(start, stop, chunk, block, x, means, squares):  # type: ignore[no-untyped-def]
    """Mean and centred sum of squares of each column over chunks of rows of x (rows, width)."""
    width = x.shape[1]
    total = np.empty(width, x.dtype)
    spare = np.empty(width, x.dtype)
    for c in range(start, stop):
        mean = means[c]
        square = squares[c]
        mean[:] = 0
        square[:] = 0
        seen = 0
        last = min((c + 1) * chunk, x.shape[0])
        for begin in range(c * chunk, last, block):
            end = min(begin + block, last)
            count = end - begin
            total[:] = 0
            spare[:] = 0
            for i in range(begin, end):
                row = x[i]
                for j in range(width):
                    total[j] += row[j]
            inverse = x.dtype.type(1) / x.dtype.type(count)
            for j in range(width):
                total[j] *= inverse
            for i in range(begin, end):
                row = x[i]
                for j in range(width):
                    d = row[j] - total[j]
                    spare[j] += d * d
            part = x.dtype.type(count / (seen + count))
            weight = x.dtype.type(seen * count / (seen + count))
            for j in range(width):
                d = total[j] - mean[j]
                mean[j] += d * part
                square[j] += spare[j] + d * d * weight
            seen += count


@njit(fastmath={"reassoc", "contract", "nsz"})
def _row_sums(start, stop, chunk, g, x, mean, sums):  # type: ignore[no-untyped-def]
    """Sums of g (x - mean) and of g of each column over chunks of rows."""
    width = x.shape[1]
    for c in range(start, stop):
        first = sums[0, c]
        second = sums[1, c]
        first[:] = 0
        second[:] = 0
        for i in range(c * chunk, min((c + 1) * chunk, x.shape[0])):
            row = x[i]
            gi = g[i]
            for j in range(width):
                first[j] += gi[j] * (row[j] - mean[j])
                second[j] += gi[j]


@njit(fastmath={"contract", "nsz"})
def _row_apply(start, stop, x, mean, scale, shift, y):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        for j in range(x.shape[1]):
            out[j] = (row[j] - mean[j]) * scale[j] + shift[j]


@njit(fastmath={"contract", "nsz"})
def _row_grad(start, stop, g, x, mean, scale, slope, level, gx):  # type: ignore[no-untyped-def]
    """``gx = scale g + slope (x - mean) + level``; the three are of columns."""
    for i in range(start, stop):
        row = x[i]
        gi = g[i]
        out = gx[i]
        for j in range(x.shape[1]):
            out[j] = scale[j] * gi[j] + slope[j] * (row[j] - mean[j]) + level[j]


@njit(fastmath={"reassoc", "contract", "nsz"})
def _piece_moments(start, stop, x, means, squares):  # type: ignore[no-untyped-def]
    """The same for the rows ``start <= n c + k < stop`` of x (n c, positions), each by itself."""
    inverse = x.dtype.type(1) / x.dtype.type(x.shape[1])
    for i in range(start, stop):
        row = x[i]
        total = x.dtype.type(0)
        for j in range(row.size):
            total += row[j]
        total *= inverse
        square = x.dtype.type(0)
        for j in range(row.size):
            d = row[j] - total
            square += d * d
        means[i] = total
        squares[i] = square


@njit(fastmath={"reassoc", "contract", "nsz"})
def _piece_sums(start, stop, g, x, mean, sums):  # type: ignore[no-untyped-def]
    channels = mean.size
    for i in range(start, stop):
        row = x[i]
        gi = g[i]
        m = mean[i % channels]
        first = x.dtype.type(0)
        second = x.dtype.type(0)
        for j in range(row.size):
            first += gi[j] * (row[j] - m)
            second += gi[j]
        sums[0, i] = first
        sums[1, i] = second


@njit(fastmath={"contract", "nsz"})
def _piece_apply(start, stop, x, mean, scale, shift, y):  # type: ignore[no-untyped-def]
    channels = mean.size
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        m = mean[i % channels]
        a = scale[i % channels]
        b = shift[i % channels]
        for j in range(row.size):
            out[j] = (row[j] - m) * a + b


@njit(fastmath={"contract", "nsz"})
def _piece_grad(start, stop, g, x, mean, scale, slope, level, gx):  # type: ignore[no-untyped-def]
    channels = mean.size
    for i in range(start, stop):
        row = x[i]
        gi = g[i]
        out = gx[i]
        m = mean[i % channels]
        a = scale[i % channels]
        s = slope[i % channels]
        b = level[i % channels]
        for j in range(row.size):
            out[j] = a * gi[j] + s * (row[j] - m) + b


class _Layout:
    """How an array is cut: rows of whole images, or pieces of one image and channel."""

    def __init__(self, x: Array) -> None:
        self.n, self.channels = x.shape[:2]
        self.positions = x.size // (self.n * self.channels)
        self.pieces = self.positions >= LONG
        width = self.positions if self.pieces else self.channels * self.positions
        self.shape = (x.size // width, width)
        self.chunks = self.n if self.pieces else chunk_count(self.n, x.size)
        self.chunk = -(-self.n // self.chunks)
        # the last chunks can be empty: 65 rows in 32 chunks of 3
        self.chunks = -(-self.n // self.chunk)
        self.cost = width * 0.4

    def spread(self, row: Any, piece: Any, *args: Any) -> None:
        """Run over rows or pieces."""
        spread(piece if self.pieces else row, self.shape[0], self.cost, *args)

    def columns(self, v: Array) -> Array:
        """Numbers of channels as the kernels read them."""
        return v if self.pieces else np.repeat(v, self.positions)

    def moments(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance of each channel, in float64."""
        width = self.channels if self.pieces else self.shape[1]
        means, squares = np.empty((2, self.chunks, width), x.dtype)
        if self.pieces:
            spread(_piece_moments, len(x), self.cost, x, means.reshape(-1), squares.reshape(-1))
        else:
            block = max(4, BLOCK // self.shape[1])
            cost = self.cost * self.chunk * 2
            spread(_row_moments, self.chunks, cost, self.chunk, block, x, means, squares)
        return self._join(means.astype(np.float64), squares.astype(np.float64))

    def _join(self, means: Array, squares: Array) -> tuple[Array, Array]:
        """The moments of the whole from those of its parts."""
        inner = self.positions if self.pieces else 1
        counts = np.minimum(self.chunk, self.n - self.chunk * np.arange(self.chunks)) * inner
        counts = np.broadcast_to(counts[:, None], means.shape)
        shape = (self.chunks, self.channels, -1)
        means, squares, counts = (a.reshape(shape) for a in (means, squares, counts))
        total = self.n * self.positions
        mean = (means * counts).sum((0, 2)) / total
        between = (counts * (means - mean[:, None]) ** 2).sum((0, 2))
        return mean, (squares.sum((0, 2)) + between) / total

    def sums(self, g: Array, x: Array, mean: Array) -> tuple[Array, Array]:
        """Sums of ``g (x - mean)`` and of g, of each channel, in float64."""
        if self.pieces:
            sums = np.empty((2, len(x)), x.dtype)
            spread(_piece_sums, len(x), self.cost * 1.5, g, x, mean, sums)
        else:
            sums = np.empty((2, self.chunks, self.shape[1]), x.dtype)
            cost = self.cost * self.chunk * 1.5
            spread(_row_sums, self.chunks, cost, self.chunk, g, x, mean, sums)
        parts = sums.reshape(2, self.chunks, self.channels, -1)
        first, second = parts.sum((1, 3), dtype=np.float64)
        return first, second


def batch_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """Each channel normalised over the batch and all positions; then ``weight`` and ``bias``."""
    if not usable(x, weight, bias):
        return batch_norm_reference(x, weight, bias, eps)
    layout = _Layout(x)
    x2 = np.ascontiguousarray(x).reshape(layout.shape)
    y = np.empty(x.shape, x.dtype)
    mean, variance = layout.moments(x2)
    scale = weight / np.sqrt(variance + eps)
    three = (layout.columns(v.astype(x.dtype)) for v in (mean, scale, bias))
    layout.spread(_row_apply, _piece_apply, x2, *three, y.reshape(x2.shape))
    return y


def batch_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias from `g`, that of the output."""
    if not usable(x, g, weight) or g.shape != x.shape:
        return batch_norm_grad_reference(g, x, weight, eps)
    layout = _Layout(x)
    x2 = np.ascontiguousarray(x).reshape(layout.shape)
    g2 = np.ascontiguousarray(g).reshape(layout.shape)
    gx = np.empty(x.shape, x.dtype)
    mean, variance = layout.moments(x2)
    r = 1 / np.sqrt(variance + eps)
    columns = layout.columns(mean.astype(x.dtype))
    first, second = layout.sums(g2, x2, columns)
    # the mean that was subtracted is the rounded one: put back what its rounding moved
    first -= second * (mean - mean.astype(x.dtype))
    count = layout.n * layout.positions
    scale = weight * r
    four = (scale, -scale * r * r * first / count, -scale * second / count)
    arrays = (layout.columns(v.astype(x.dtype)) for v in four)
    layout.spread(_row_grad, _piece_grad, g2, x2, columns, *arrays, gx.reshape(x2.shape))
    return gx, (first * r).astype(x.dtype), second.astype(x.dtype)
