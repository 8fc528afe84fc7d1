"""Normalisation of groups of channels, and its backward.

The array is (n, c, ...); a group of one image, ``c / groups`` channels with all their positions, is
one contiguous row and is normalised like the rows of layer normalisation (see there for the
formulas). Weight and bias belong to channels. Where a channel has few positions the weights are
repeated along the row; otherwise each channel is a loop of its own.
"""

from __future__ import annotations

import math

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, chunk_count, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._moments import normalised, out_of_range, statistics
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import asked_for

__all__ = [
    "group_norm",
    "group_norm_grad",
    "group_norm_grad_reference",
    "group_norm_reference",
]

# Positions a channel from which its inner loop is long enough to stand alone.
LONG = 16


def _by_channel(weight: Array, ndim: int) -> Array:
    """`weight` shaped to meet the channels of an array of `ndim` dimensions."""
    return np.reshape(weight, (-1,) + (1,) * (ndim - 2))


def _normalised(x: Array, groups: int, eps: float) -> tuple[Array, Array]:
    """``xhat`` in rows of groups, and ``r``."""
    rows = np.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    return normalised(rows, -1, eps)


def group_norm_reference(x: Array, groups: int, weight: Array, bias: Array, eps: float) -> Array:
    """``weight xhat + bias``."""
    xhat = np.reshape(_normalised(x, groups, eps)[0], x.shape)
    return xhat * _by_channel(weight, x.ndim) + _by_channel(bias, x.ndim)


def group_norm_grad_reference(
    g: Array, x: Array, groups: int, weight: Array, eps: float
) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias."""
    xhat, r = _normalised(x, groups, eps)
    xhat, r = asked_for(np.reshape(g, xhat.shape), xhat, r, -1)
    h = np.reshape(g * _by_channel(weight, x.ndim), xhat.shape)
    gx = h - np.mean(h, axis=-1, keepdims=True)
    gx = r * (gx - xhat * np.mean(h * xhat, axis=-1, keepdims=True))
    others = (0, *range(2, x.ndim))
    gw = np.sum(g * np.reshape(xhat, x.shape), axis=others)
    return np.reshape(gx, x.shape), gw, np.sum(g, axis=others)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _rows(start, stop, x, weight, bias, eps, y, wild):  # type: ignore[no-untyped-def]
    """Images ``start <= n < stop`` of x (n, groups, m), weights (groups, m)."""
    for n in range(start, stop):
        for k in range(x.shape[1]):
            row = x[n, k]
            out = y[n, k]
            w = weight[k]
            b = bias[k]
            mean, r = statistics(row, eps)
            if out_of_range(r):
                wild[0] = True
            for j in range(row.size):
                out[j] = (row[j] - mean) * r * w[j] + b[j]


@njit(fastmath={"reassoc", "contract", "nsz"})
def _rows_grad(start, stop, chunk, g, x, weight, eps, gx, sums, wild):  # type: ignore[no-untyped-def]
    """Chunks of images as in layer normalisation: ``sums[c]`` is (2, groups, m)."""
    groups, m = x.shape[1:]
    scale = x.dtype.type(1) / x.dtype.type(m)
    for c in range(start, stop):
        sums[c] = 0
        for n in range(c * chunk, min((c + 1) * chunk, x.shape[0])):
            for k in range(groups):
                row = x[n, k]
                gi = g[n, k]
                out = gx[n, k]
                w = weight[k]
                gw = sums[c, 0, k]
                gb = sums[c, 1, k]
                mean, r = statistics(row, eps)
                if out_of_range(r):
                    wild[0] = True
                first = x.dtype.type(0)
                second = x.dtype.type(0)
                for j in range(m):
                    h = gi[j] * w[j]
                    first += h
                    second += h * (row[j] - mean)
                first *= scale
                second *= scale * r
                for j in range(m):
                    out[j] = r * (gi[j] * w[j] - first - (row[j] - mean) * r * second)
                for j in range(m):
                    gw[j] += gi[j] * ((row[j] - mean) * r)
                    gb[j] += gi[j]


@njit(fastmath={"reassoc", "contract", "nsz"})
def _channels(start, stop, groups, x, weight, bias, eps, y, wild):  # type: ignore[no-untyped-def]
    """Items ``start <= n groups + k < stop`` of x (n, channels, m)."""
    width = x.shape[1] // groups
    for item in range(start, stop):
        n = item // groups
        first = (item % groups) * width
        mean, r = statistics(x[n, first : first + width].reshape(-1), eps)
        if out_of_range(r):
            wild[0] = True
        for c in range(first, first + width):
            row = x[n, c]
            out = y[n, c]
            w = weight[c] * r
            b = bias[c]
            for j in range(row.size):
                out[j] = (row[j] - mean) * w + b


@njit(fastmath={"reassoc", "contract", "nsz"})
def _channels_grad(start, stop, groups, g, x, weight, eps, gx, sums, wild):  # type: ignore[no-untyped-def]
    """Items ``start <= n groups + k < stop``; ``sums[:, n]`` gets their part of gw and gb."""
    width = x.shape[1] // groups
    scale = x.dtype.type(1) / x.dtype.type(width * x.shape[2])
    for item in range(start, stop):
        n = item // groups
        begin = (item % groups) * width
        mean, r = statistics(x[n, begin : begin + width].reshape(-1), eps)
        if out_of_range(r):
            wild[0] = True
        first = x.dtype.type(0)
        second = x.dtype.type(0)
        for c in range(begin, begin + width):
            row = x[n, c]
            gi = g[n, c]
            a = x.dtype.type(0)
            b = x.dtype.type(0)
            for j in range(row.size):
                a += gi[j]
                b += gi[j] * (row[j] - mean)
            sums[0, n, c] = b * r
            sums[1, n, c] = a
            first += weight[c] * a
            second += weight[c] * b
        first *= scale
        second *= scale * r * r
        for c in range(begin, begin + width):
            row = x[n, c]
            gi = g[n, c]
            out = gx[n, c]
            w = weight[c]
            for j in range(row.size):
                out[j] = r * (gi[j] * w - first - (row[j] - mean) * second)


def _repeated(weight: Array, positions: int, groups: int) -> Array:
    """Weights along the rows of groups."""
    return np.ascontiguousarray(np.repeat(weight, positions).reshape(groups, -1))


def group_norm(x: Array, groups: int, weight: Array, bias: Array, eps: float) -> Array:
    """Each group of channels of each image normalised; then ``weight`` and ``bias`` by channel."""
    if not usable(x, weight, bias):
        return group_norm_reference(x, groups, weight, bias, eps)
    n, channels = x.shape[:2]
    positions = x.size // (n * channels)
    x3 = np.ascontiguousarray(x).reshape(n, channels, positions)
    y = empty(x.shape, x.dtype)
    cost = x.size / n * 0.6
    wild = np.zeros(1, np.bool_)
    if positions < LONG:
        shape = (n, groups, -1)
        w, b = (_repeated(v, positions, groups) for v in (weight, bias))
        spread(_rows, n, cost, x3.reshape(shape), w, b, float(eps), y.reshape(shape), wild)
    else:
        w, b = np.ascontiguousarray(weight), np.ascontiguousarray(bias)
        arguments = groups, x3, w, b, float(eps), y.reshape(x3.shape), wild
        spread(_channels, n * groups, cost / groups, *arguments)
    return group_norm_reference(x, groups, weight, bias, eps) if wild[0] else y


def group_norm_grad(
    g: Array, x: Array, groups: int, weight: Array, eps: float
) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias from `g`, that of the output."""
    if not usable(x, g, weight) or g.shape != x.shape:
        return group_norm_grad_reference(g, x, groups, weight, eps)
    n, channels = x.shape[:2]
    positions = x.size // (n * channels)
    x3 = np.ascontiguousarray(x).reshape(n, channels, positions)
    g3 = np.ascontiguousarray(g).reshape(x3.shape)
    gx = empty(x.shape, x.dtype)
    cost = x.size / n
    wild = np.zeros(1, np.bool_)
    if positions < LONG:
        shape = (n, groups, channels // groups * positions)
        chunks = chunk_count(n, x.size)
        chunk = -(-n // chunks)
        sums = np.empty((chunks, 2, *shape[1:]), x.dtype)
        w = _repeated(weight, positions, groups)
        arrays = g3.reshape(shape), x3.reshape(shape), w, float(eps), gx.reshape(shape), sums, wild
        spread(_rows_grad, chunks, chunk * cost, chunk, *arrays)
        parts = np.add.reduce(sums, axis=0).reshape(2, channels, positions)
        gw, gb = np.add.reduce(parts, axis=2)
    else:
        sums = np.empty((2, n, channels), x.dtype)
        w = np.ascontiguousarray(weight)
        arguments = groups, g3, x3, w, float(eps), gx.reshape(x3.shape), sums, wild
        spread(_channels_grad, n * groups, cost / groups, *arguments)
        gw, gb = np.add.reduce(sums, axis=1)
    return group_norm_grad_reference(g, x, groups, weight, eps) if wild[0] else (gx, gw, gb)
