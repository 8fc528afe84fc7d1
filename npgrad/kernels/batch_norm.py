"""Normalisation of each channel over the batch and all positions, and its backward.

    y  = w (x - mean) r + b                       r = 1 / sqrt(var + eps), both of one channel
    gx = w r (g - mean(g) - (x - mean) r**2 mean(g (x - mean)))
    gw = sum of g (x - mean) r                    gb = sum of g

The array is (n, c, ...). Where a channel has many positions one item is a channel: its passes find
it in the cache, and the sums of its images are added in float64. Where it has few, images are rows,
and sums are taken over chunks of rows, which depend on the shape alone; a chunk's variance is taken
about its own mean, and chunks are joined in float64 by the formula of T. Chan, G. Golub and
R. LeVeque (1979): one pass over memory, and no cancellation.
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, chunk_count, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._moments import in_range, normalised, out_of_range
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import asked_for

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


def batch_norm_reference(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """``weight xhat + bias``."""
    xhat = normalised(x, _others(x), eps)[0]
    return xhat * _by_channel(weight, x.ndim) + _by_channel(bias, x.ndim)


def batch_norm_grad_reference(
    g: Array, x: Array, weight: Array, eps: float
) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias."""
    xhat, r = asked_for(g, *normalised(x, _others(x), eps), _others(x))
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
def _channel_moments(x, c, eps):  # type: ignore[no-untyped-def]
    """Mean (as x has it, and in float64) and r of channel c of x (n, channels, positions)."""
    n, _, positions = x.shape
    total = 0.0
    for i in range(n):
        row = x[i, c]
        part = x.dtype.type(0)
        for j in range(row.size):
            part += row[j]
        total += part
    mean = total / (n * positions)
    near = x.dtype.type(mean)
    square = 0.0
    for i in range(n):
        row = x[i, c]
        part = x.dtype.type(0)
        for j in range(row.size):
            d = row[j] - near
            part += d * d
        square += part
    variance = square / (n * positions) - (mean - near) ** 2
    return near, mean, 1 / np.sqrt(variance + eps)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _channels(start, stop, x, weight, bias, eps, y, wild):  # type: ignore[no-untyped-def]
    """Channels ``start <= c < stop``: passes over one channel find it in the cache."""
    for c in range(start, stop):
        near, mean, r = _channel_moments(x, c, eps)
        if out_of_range(r):
            wild[0] = True
        a = x.dtype.type(weight[c] * r)
        b = x.dtype.type(bias[c] + (near - mean) * weight[c] * r)
        for i in range(x.shape[0]):
            row = x[i, c]
            out = y[i, c]
            for j in range(row.size):
                out[j] = (row[j] - near) * a + b


@njit(fastmath={"reassoc", "contract", "nsz"})
def _channels_grad(start, stop, g, x, weight, eps, gx, gw, gb, wild):  # type: ignore[no-untyped-def]
    """Channels ``start <= c < stop``; float64 sums of the images' sums."""
    count = x.shape[0] * x.shape[2]
    for c in range(start, stop):
        near, mean, r = _channel_moments(x, c, eps)
        if out_of_range(r):
            wild[0] = True
        first = 0.0
        second = 0.0
        for i in range(x.shape[0]):
            row = x[i, c]
            gi = g[i, c]
            a = x.dtype.type(0)
            b = x.dtype.type(0)
            for j in range(row.size):
                a += gi[j] * (row[j] - near)
                b += gi[j]
            first += a
            second += b
        first -= second * (mean - near)
        gw[c] = first * r
        gb[c] = second
        scale = weight[c] * r
        slope = x.dtype.type(-scale * r * r * first / count)
        level = x.dtype.type(
            -scale * second / count + scale * r * r * first / count * (mean - near)
        )
        steep = x.dtype.type(scale)
        for i in range(x.shape[0]):
            row = x[i, c]
            gi = g[i, c]
            out = gx[i, c]
            for j in range(row.size):
                out[j] = steep * gi[j] + slope * (row[j] - near) + level


class _Rows:
    """How an array of few positions a channel is cut: rows of whole images, in chunks."""

    def __init__(self, x: Array) -> None:
        self.n, self.channels = x.shape[:2]
        self.positions = x.size // (self.n * self.channels)
        self.width = self.channels * self.positions
        self.chunk = -(-self.n // chunk_count(self.n, x.size))
        # fewer than asked for where the last would be empty: 65 rows in chunks of 3
        self.chunks = -(-self.n // self.chunk)
        self.cost = self.width * 0.4

    def columns(self, v: Array) -> Array:
        """Numbers of channels as the kernels read them."""
        return np.repeat(v, self.positions)

    def moments(self, x: Array, eps: float) -> tuple[Array, Array]:
        """Mean and r of each channel, in float64, from those of the parts."""
        means, squares = np.empty((2, self.chunks, self.width), x.dtype)
        block = max(4, BLOCK // self.width)
        cost = self.cost * self.chunk * 2
        spread(_row_moments, self.chunks, cost, self.chunk, block, x, means, squares)
        shape = (self.chunks, self.channels, self.positions)
        means, squares = (a.astype(np.float64).reshape(shape) for a in (means, squares))
        counts = np.minimum(self.chunk, self.n - self.chunk * np.arange(self.chunks))
        counts = counts[:, None, None]
        total = self.n * self.positions
        with np.errstate(all="ignore"):  # sums of huge numbers are infinite: `in_range` sees that
            mean = (means * counts).sum((0, 2)) / total
            between = (counts * (means - mean[:, None]) ** 2).sum((0, 2))
            return mean, 1 / np.sqrt((squares.sum((0, 2)) + between) / total + eps)

    def sums(self, g: Array, x: Array, mean: Array) -> tuple[Array, Array]:
        """Sums of ``g (x - mean)`` and of g, of each channel, in float64."""
        sums = np.empty((2, self.chunks, self.width), x.dtype)
        cost = self.cost * self.chunk * 1.5
        spread(_row_sums, self.chunks, cost, self.chunk, g, x, mean, sums)
        parts = sums.reshape(2, self.chunks, self.channels, self.positions)
        first, second = parts.sum((1, 3), dtype=np.float64)
        return first, second


def batch_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """Each channel normalised over the batch and all positions; then ``weight`` and ``bias``."""
    if not usable(x, weight, bias):
        return batch_norm_reference(x, weight, bias, eps)
    rows = _Rows(x)
    y = empty(x.shape, x.dtype)
    if rows.positions >= LONG:
        shape = (rows.n, rows.channels, rows.positions)
        wild = np.zeros(1, np.bool_)
        images = np.ascontiguousarray(x).reshape(shape)
        arrays = images, weight, bias, float(eps), y.reshape(shape), wild
        spread(_channels, rows.channels, x.size / rows.channels * 0.6, *arrays)
        return batch_norm_reference(x, weight, bias, eps) if wild[0] else y
    x2 = np.ascontiguousarray(x).reshape(rows.n, -1)
    mean, r = rows.moments(x2, eps)
    if not in_range(r):
        return batch_norm_reference(x, weight, bias, eps)
    scale = weight * r
    near = mean.astype(x.dtype)
    three = (rows.columns(v.astype(x.dtype)) for v in (near, scale, bias + (near - mean) * scale))
    spread(_row_apply, rows.n, rows.cost, x2, *three, y.reshape(x2.shape))
    return y


def batch_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias from `g`, that of the output."""
    if not usable(x, g, weight) or g.shape != x.shape:
        return batch_norm_grad_reference(g, x, weight, eps)
    rows = _Rows(x)
    gx = empty(x.shape, x.dtype)
    if rows.positions >= LONG:
        shape = (rows.n, rows.channels, rows.positions)
        gw, gb = np.empty(rows.channels, x.dtype), np.empty(rows.channels, x.dtype)
        wild = np.zeros(1, np.bool_)
        g3, x3 = (np.ascontiguousarray(a).reshape(shape) for a in (g, x))
        arrays = g3, x3, weight, float(eps), gx.reshape(shape), gw, gb, wild
        spread(_channels_grad, rows.channels, x.size / rows.channels, *arrays)
        return batch_norm_grad_reference(g, x, weight, eps) if wild[0] else (gx, gw, gb)
    g2, x2 = (np.ascontiguousarray(a).reshape(rows.n, -1) for a in (g, x))
    mean, r = rows.moments(x2, eps)
    if not in_range(r):
        return batch_norm_grad_reference(g, x, weight, eps)
    near = mean.astype(x.dtype)
    columns = rows.columns(near)
    first, second = rows.sums(g2, x2, columns)
    # the mean that was subtracted is the rounded one: put back what its rounding moved
    first -= second * (mean - near)
    count = rows.n * rows.positions
    scale = weight * r
    three = (scale, -scale * r * r * first / count, -scale * second / count)
    arrays = tuple(rows.columns(v.astype(x.dtype)) for v in three)
    spread(_row_grad, rows.n, rows.cost, g2, x2, columns, *arrays, gx.reshape(x2.shape))
    return gx, (first * r).astype(x.dtype), second.astype(x.dtype)
