"""Convolution with few channels a group (depthwise, grouped): tap after tap, along the row.

    y[n, o, p, :] += w[o, c, i, j] x[n, c, p sh + i dh - top, (j dw - left) + sw (0, 1, 2, ...)]

The images of a group are first copied into a border of zeros, so that no tap asks where it is. One
item is an image and a group; results do not depend on how items are spread over threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = ["LARGEST", "forward", "grad_input", "grad_weight"]

Shape = tuple[int, ...]

# Weights of one filter up to which direct loops are taken: a BLAS product with fewer rows than this
# spends its time on building the columns.
LARGEST = 160


@njit(fastmath={"contract", "nsz"})
def _forward(start, stop, x, w, stride, dilation, groups, y):  # type: ignore[no-untyped-def]
    """Images and groups ``start <= n groups + group < stop``; x is padded."""
    sh, sw = stride
    dh, dw = dilation
    out = y.shape[1] // groups
    channels = w.shape[1]
    height, width = y.shape[2:]
    for item in range(start, stop):
        n = item // groups
        group = item % groups
        for o in range(group * out, (group + 1) * out):
            for p in range(height):
                line = y[n, o, p]
                for q in range(width):
                    line[q] = 0
                for c in range(channels):
                    for i in range(w.shape[2]):
                        row = x[n, group * channels + c, p * sh + i * dh]
                        for j in range(w.shape[3]):
                            a = w[o, c, i, j]
                            seen = row[j * dw :]
                            if sw == 1:
                                for q in range(width):
                                    line[q] += a * seen[q]
                            else:
                                for q in range(width):
                                    line[q] += a * seen[q * sw]


@njit(fastmath={"contract", "reassoc", "nsz"})
def _weight(start, stop, g, x, stride, dilation, groups, parts):  # type: ignore[no-untyped-def]
    """The cotangent of the filters from an image and a group, in ``parts[n]``; x is padded."""
    sh, sw = stride
    dh, dw = dilation
    out = g.shape[1] // groups
    channels = parts.shape[2]
    height, width = g.shape[2:]
    for item in range(start, stop):
        n = item // groups
        group = item % groups
        for o in range(group * out, (group + 1) * out):
            for c in range(channels):
                for i in range(parts.shape[3]):
                    for j in range(parts.shape[4]):
                        total = g.dtype.type(0)
                        for p in range(height):
                            line = g[n, o, p]
                            seen = x[n, group * channels + c, p * sh + i * dh, j * dw :]
                            if sw == 1:
                                for q in range(width):
                                    total += line[q] * seen[q]
                            else:
                                for q in range(width):
                                    total += line[q] * seen[q * sw]
                        parts[n, o, c, i, j] = total


def _padded(x: Array, geometry: Any) -> Array:
    """`x` with its border of zeros."""
    _, top, bottom, left, right, _, _ = geometry
    if not (top or bottom or left or right):
        return x
    n, channels, height, width = x.shape
    xp = np.zeros((n, channels, height + top + bottom, width + left + right), x.dtype)
    xp[:, :, top : top + height, left : left + width] = x
    return xp


def forward(x: Array, w: Array, geometry: Any, size: Shape) -> Array:
    """The convolution."""
    y = np.empty((len(x), len(w), *size), x.dtype)
    groups = geometry.groups
    cost = y[0].size / groups * w[0].size * 0.15
    arguments = (geometry.stride, geometry.dilation, groups)
    spread(_forward, len(x) * groups, cost, _padded(x, geometry), w, *arguments, y)
    return y


def grad_input(g: Array, w: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in x for any stride: zeros between the entries of g make it a convolution."""
    groups, (out, channels, height, width) = geometry.groups, w.shape
    (sh, sw), top, _, left, _, (dh, dw), _ = geometry
    spaced = np.zeros(
        (len(g), out, shape[2] + dh * (height - 1), shape[3] + dw * (width - 1)), g.dtype
    )
    flipped = w.reshape(groups, out // groups, channels, height, width)[..., ::-1, ::-1]
    flipped = np.ascontiguousarray(flipped.swapaxes(1, 2))
    flipped = flipped.reshape(groups * channels, out // groups, height, width)
    # entry (p, q) of g belongs at (p sh - top, q sw - left) of x, less the reach of the filter
    rows = np.arange(g.shape[2]) * sh + dh * (height - 1) - top
    columns = np.arange(g.shape[3]) * sw + dw * (width - 1) - left
    p = np.flatnonzero((rows >= 0) & (rows < spaced.shape[2]))
    q = np.flatnonzero((columns >= 0) & (columns < spaced.shape[3]))
    if p.size and q.size:
        inner = (
            slice(rows[p[0]], rows[p[-1]] + 1, sh),
            slice(columns[q[0]], columns[q[-1]] + 1, sw),
        )
        spaced[:, :, inner[0], inner[1]] = g[:, :, p[0] : p[-1] + 1, q[0] : q[-1] + 1]
    plain = geometry._replace(stride=(1, 1), top=0, bottom=0, left=0, right=0)
    return forward(spaced, flipped, plain, shape[2:])


def grad_weight(g: Array, x: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in w; images are summed in order."""
    groups = geometry.groups
    parts = np.empty((len(g), *shape), g.dtype)
    cost = g[0].size / groups * shape[1] * shape[2] * shape[3] * 0.15
    arguments = (geometry.stride, geometry.dilation, groups)
    spread(_weight, len(g) * groups, cost, g, _padded(x, geometry), *arguments, parts)
    return np.sum(parts, axis=0)
