"""Root-mean-square normalisation of the last axis, and its backward.

    y  = w x r               r = 1 / sqrt(mean(x**2) + eps)
    gx = r (h - x r**2 mean(h x))                         h = g w
    gw = sum of g x r over rows

As in layer normalisation r is recomputed, x and g are read from memory once, and sums over rows are
taken in chunks that depend on the shape alone.
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, chunk_count, matrix, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._moments import normalised, out_of_range
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import asked_for

__all__ = ["rms_norm", "rms_norm_grad", "rms_norm_grad_reference", "rms_norm_reference"]


def rms_norm_reference(x: Array, weight: Array, eps: float) -> Array:
    """``weight x / sqrt(mean(x**2) + eps)``."""
    return normalised(x, -1, eps, centred=False)[0] * weight


def rms_norm_grad_reference(g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array]:
    """The cotangents of x and weight."""
    xhat, r = asked_for(g, *normalised(x, -1, eps, centred=False), -1)
    h = g * weight
    gx = r * (h - xhat * np.mean(h * xhat, axis=-1, keepdims=True))
    return gx, np.sum(g * xhat, axis=tuple(range(x.ndim - 1)))


@njit(fastmath={"reassoc", "contract", "nsz"})
def _inverse_root(row, eps):  # type: ignore[no-untyped-def]
    one = row.dtype.type(1)
    square = row.dtype.type(0)
    for j in range(row.size):
        square += row[j] * row[j]
    return one / np.sqrt(square * (one / row.dtype.type(row.size)) + row.dtype.type(eps))


@njit(fastmath={"reassoc", "contract", "nsz"})
def _rms_norm(start, stop, x, weight, eps, y, wild):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        r = _inverse_root(row, eps)
        if out_of_range(r):
            wild[0] = True
        for j in range(x.shape[1]):
            out[j] = row[j] * r * weight[j]


@njit(fastmath={"reassoc", "contract", "nsz"})
def _rms_norm_grad(start, stop, chunk, g, x, weight, eps, gx, sums, wild):  # type: ignore[no-untyped-def]
    """Chunks ``start <= c < stop`` of `chunk` rows; ``sums[c]`` gets their part of gw."""
    n = x.shape[1]
    scale = x.dtype.type(1) / x.dtype.type(n)
    for c in range(start, stop):
        gw = sums[c]
        for j in range(n):
            gw[j] = 0
        for i in range(c * chunk, min((c + 1) * chunk, x.shape[0])):
            row = x[i]
            gi = g[i]
            out = gx[i]
            r = _inverse_root(row, eps)
            if out_of_range(r):
                wild[0] = True
            total = x.dtype.type(0)
            for j in range(n):
                total += gi[j] * weight[j] * row[j]
            total *= scale * r * r
            for j in range(n):
                out[j] = r * (gi[j] * weight[j] - row[j] * total)
            for j in range(n):
                gw[j] += gi[j] * (row[j] * r)


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """``weight x / sqrt(mean(x**2) + eps)`` over the last axis."""
    if not usable(x, weight):
        return rms_norm_reference(x, weight, eps)
    rows = matrix(x, x.shape[-1])
    y = empty(x.shape, x.dtype)
    wild = np.zeros(1, np.bool_)
    arguments = rows, np.ascontiguousarray(weight), float(eps), y.reshape(rows.shape), wild
    spread(_rms_norm, len(rows), rows.shape[1] * 0.4, *arguments)
    return rms_norm_reference(x, weight, eps) if wild[0] else y


def rms_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array]:
    """The cotangents of x and weight from `g`, that of the output."""
    if not usable(x, g, weight) or g.shape != x.shape:
        return rms_norm_grad_reference(g, x, weight, eps)
    width = x.shape[-1]
    rows = matrix(x, width)
    gx = empty(x.shape, x.dtype)
    to = gx.reshape(rows.shape)
    chunks = chunk_count(len(rows), rows.size)
    chunk = -(-len(rows) // chunks)
    sums = np.empty((chunks, width), x.dtype)
    wild = np.zeros(1, np.bool_)
    arguments = matrix(g, width), rows, np.ascontiguousarray(weight), float(eps), to, sums, wild
    spread(_rms_norm_grad, chunks, chunk * width * 0.8, chunk, *arguments)
    if wild[0]:
        return rms_norm_grad_reference(g, x, weight, eps)
    return gx, np.add.reduce(sums, axis=0)
