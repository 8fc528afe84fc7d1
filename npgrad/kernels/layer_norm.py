"""Layer normalisation of the last axis, and its backward.

    y  = w xhat + b          xhat = (x - mean) r          r = 1 / sqrt(var + eps)
    gx = r (h - mean(h) - xhat mean(h xhat))              h = g w
    gw = sum of g xhat over rows                          gb = sum of g over rows

The backward recomputes mean and r from the row while it lies in the cache: nothing but x is kept,
and x and g are read from memory once. Sums over rows go through one partial row a chunk of rows;
the chunks depend on the shape alone, so does the result.
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, chunk_count, matrix, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._moments import normalised, out_of_range, statistics
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import asked_for

__all__ = [
    "layer_norm",
    "layer_norm_grad",
    "layer_norm_grad_reference",
    "layer_norm_reference",
]


def layer_norm_reference(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """``weight xhat + bias``."""
    return normalised(x, -1, eps)[0] * weight + bias


def layer_norm_grad_reference(
    g: Array, x: Array, weight: Array, eps: float
) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias."""
    xhat, r = asked_for(g, *normalised(x, -1, eps), -1)
    h = g * weight
    gx = h - np.mean(h, axis=-1, keepdims=True)
    gx = r * (gx - xhat * np.mean(h * xhat, axis=-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, np.sum(g * xhat, axis=rows), np.sum(g, axis=rows)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _layer_norm(start, stop, x, weight, bias, eps, y, wild):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        mean, r = statistics(row, eps)
        if out_of_range(r):
            wild[0] = True
        for j in range(x.shape[1]):
            out[j] = (row[j] - mean) * r * weight[j] + bias[j]


@njit(fastmath={"reassoc", "contract", "nsz"})
def _layer_norm_grad(start, stop, chunk, g, x, weight, eps, gx, sums, wild):  # type: ignore[no-untyped-def]
    """Chunks ``start <= c < stop`` of `chunk` rows; ``sums[c]`` gets their part of gw and gb."""
    n = x.shape[1]
    scale = x.dtype.type(1) / x.dtype.type(n)
    for c in range(start, stop):
        gw = sums[c, 0]
        gb = sums[c, 1]
        for j in range(n):
            gw[j] = 0
            gb[j] = 0
        for i in range(c * chunk, min((c + 1) * chunk, x.shape[0])):
            row = x[i]
            gi = g[i]
            out = gx[i]
            mean, r = statistics(row, eps)
            if out_of_range(r):
                wild[0] = True
            first = x.dtype.type(0)
            second = x.dtype.type(0)
            for j in range(n):
                h = gi[j] * weight[j]
                first += h
                second += h * (row[j] - mean)
            first *= scale
            second *= scale * r
            for j in range(n):
                out[j] = r * (gi[j] * weight[j] - first - (row[j] - mean) * r * second)
            # a loop of its own: with three outputs LLVM gives up telling the arrays apart
            for j in range(n):
                gw[j] += gi[j] * ((row[j] - mean) * r)
                gb[j] += gi[j]


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """``weight (x - mean) / sqrt(var + eps) + bias`` over the last axis."""
    if not usable(x, weight, bias):
        return layer_norm_reference(x, weight, bias, eps)
    rows = matrix(x, x.shape[-1])
    y = empty(x.shape, x.dtype)
    parameters = np.ascontiguousarray(weight), np.ascontiguousarray(bias), float(eps)
    wild = np.zeros(1, np.bool_)
    arguments = rows, *parameters, y.reshape(rows.shape), wild
    spread(_layer_norm, len(rows), rows.shape[1] * 0.5, *arguments)
    return layer_norm_reference(x, weight, bias, eps) if wild[0] else y


def layer_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array, Array]:
    """The cotangents of x, weight and bias from `g`, that of the output."""
    if not usable(x, g, weight) or g.shape != x.shape:
        return layer_norm_grad_reference(g, x, weight, eps)
    width = x.shape[-1]
    rows = matrix(x, width)
    gx = empty(x.shape, x.dtype)
    to = gx.reshape(rows.shape)
    chunks = chunk_count(len(rows), rows.size)
    chunk = -(-len(rows) // chunks)
    sums = np.empty((chunks, 2, width), x.dtype)
    wild = np.zeros(1, np.bool_)
    arguments = matrix(g, width), rows, np.ascontiguousarray(weight), float(eps), to, sums, wild
    spread(_layer_norm_grad, chunks, chunk * width * 0.9, chunk, *arguments)
    if wild[0]:
        return layer_norm_grad_reference(g, x, weight, eps)
    gw, gb = np.add.reduce(sums, axis=0)
    return gx, gw, gb
