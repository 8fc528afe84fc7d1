"""Convolution by BLAS: patches of the image as the columns of a matrix.

    columns[(c, i, j), (p, q)] = x[c, p sh + i dh - top, q sw + j dw - left]
    forward      y  = W columns              W is (o, c i j)
    grad weight  gW = g columns'             summed over images
    grad input   gx = the columns W' g, each entry added to where it came from

One image at a time (a few small ones together for grad weight), so that the columns stay in the
cache; groups one after the other. For a 1x1 filter of stride 1 the image itself is the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array
from npgrad.kernels._blas import one_thread
from npgrad.kernels._compile import njit
from npgrad.kernels._scratch import borrowed
from npgrad.kernels._threads import spread, thread_count

__all__ = ["forward", "grad_input", "grad_weight"]

Shape = tuple[int, ...]

# Cotangents of filters, one an image, are summed at the end where they take no more than this.
PARTS_BYTES = 32 << 20
# Columns made at a time, of some rows of the output: they stay in the second-level cache.
STRIP_BYTES = 1 << 20


@njit()
def _gather(start, stop, x, stride, top, left, dilation, size, filters, columns):  # type: ignore[no-untyped-def]
    """Channels ``start <= c < stop`` of one image into their rows of `columns`.

    The columns of a channel are first set apart by their remainder modulo the stride, zeros around
    them: every tap then copies a contiguous piece of a row.
    """
    sh, sw = stride
    dh, dw = dilation
    height, width = size
    fh, fw = filters
    reach = width + (fw - 1) * dw // sw
    # the rows that some filter reaches
    low, high = max(0, -top), min(x.shape[1], (height - 1) * sh + (fh - 1) * dh - top + 1)
    apart = np.empty((sw, x.shape[1], reach), x.dtype)
    for c in range(start, stop):
        for b in range(sw):
            # place k holds column k sw + b - left of the image
            k0 = min(reach, max(0, -((b - left) // sw)))
            k1 = max(k0, min(reach, (x.shape[2] - 1 + left - b) // sw + 1))
            for r in range(low, high):
                to = apart[b, r]
                to[:k0] = 0
                to[k1:] = 0
                if k1 > k0:
                    inner = to[k0:k1]
                    row = x[c, r, k0 * sw + b - left :]
                    if sw == 1:
                        for k in range(inner.size):
                            inner[k] = row[k]
                    else:
                        for k in range(inner.size):
                            inner[k] = row[k * sw]
        for i in range(fh):
            for j in range(fw):
                to = columns[(c * fh + i) * fw + j]
                offset = j * dw // sw
                for p in range(height):
                    line = to[p * width : (p + 1) * width]
                    r = p * sh + i * dh - top
                    if 0 <= r < x.shape[1]:
                        row = apart[j * dw % sw, r, offset : offset + width]
                        for q in range(line.size):
                            line[q] = row[q]
                    else:
                        line[:] = 0


@njit()
def _scatter(start, stop, columns, stride, top, left, dilation, size, filters, gx):  # type: ignore[no-untyped-def]
    """Add the rows of channels ``start <= c < stop`` to where `_gather` took them from."""
    sh, sw = stride
    dh, dw = dilation
    height, width = size
    fh, fw = filters
    reach = width + (fw - 1) * dw // sw
    rows, extent = gx.shape[1:]
    apart = np.empty((sw, rows, reach), gx.dtype)
    for c in range(start, stop):
        apart[:] = 0
        for i in range(fh):
            for j in range(fw):
                source = columns[(c * fh + i) * fw + j]
                offset = j * dw // sw
                for p in range(height):
                    r = p * sh + i * dh - top
                    if 0 <= r < rows:
                        line = source[p * width : (p + 1) * width]
                        row = apart[j * dw % sw, r, offset : offset + width]
                        for q in range(line.size):
                            row[q] += line[q]
        # columns that no filter reached stay zero
        gx[c] = 0
        for b in range(sw):
            k0 = min(reach, max(0, -((b - left) // sw)))
            k1 = max(k0, min(reach, (extent - 1 + left - b) // sw + 1))
            if k1 <= k0:
                continue
            for r in range(rows):
                inner = apart[b, r, k0:k1]
                row = gx[c, r, k0 * sw + b - left :]
                if sw == 1:
                    for k in range(inner.size):
                        row[k] = inner[k]
                else:
                    for k in range(inner.size):
                        row[k * sw] = inner[k]


def _plain(shape: Shape, filters: Shape, geometry: Any) -> bool:
    """Whether the image itself is the matrix of columns."""
    stride, top, bottom, left, right, _, _ = geometry
    return filters[2:] == (1, 1) and stride == (1, 1) and not (top or bottom or left or right)


def _arguments(filters: Shape, geometry: Any, size: Shape) -> tuple[Any, ...]:
    """What both kernels want to know."""
    return (
        geometry.stride,
        geometry.top,
        geometry.left,
        geometry.dilation,
        (size[0], size[1]),
        (filters[2], filters[3]),
    )


def _strips(rows: int, size: Shape, small: int, itemsize: int) -> list[tuple[int, int]]:
    """The rows of the output in strips whose columns stay in the cache.

    One strip where what is computed for each, an array of `small` bytes, is no small part of it.
    """
    strip = max(1, STRIP_BYTES // max(1, rows * size[1] * itemsize))
    if small > STRIP_BYTES // 8 or strip * 3 > size[0] * 2:
        return [(0, size[0])]
    return [(p, min(p + strip, size[0])) for p in range(0, size[0], strip)]


def _strip(arguments: tuple[Any, ...], first: int, last: int) -> tuple[Any, ...]:
    """`arguments` for the rows ``first <= p < last`` of the output alone."""
    stride, top, left, dilation, size, filters = arguments
    return (stride, top - first * stride[0], left, dilation, (last - first, size[1]), filters)


def _each(left: Array, right: Array, out: Array) -> None:
    """``np.matmul(left, right[n], out=out[n])`` for every image n."""

    def some(start: int, stop: int) -> None:
        np.matmul(left, right[start:stop], out=out[start:stop])

    with one_thread() as alone:
        if alone and len(right) >= thread_count():
            spread(some, len(right), left.size * right.shape[-1] * 0.02)
            return
    np.matmul(left, right, out=out)


def forward(x: Array, w: Array, geometry: Any, size: Shape) -> Array:
    """The convolution."""
    groups, area = geometry.groups, size[0] * size[1]
    matrices = w.reshape(groups, len(w) // groups, -1)
    whole = empty((len(x), len(w), *size), x.dtype)
    y = whole.reshape(len(x), groups, -1, area)
    if _plain(x.shape, w.shape, geometry):
        _each(matrices, x.reshape(len(x), groups, -1, area), y)
        return whole
    channels, rows = x.shape[1], w[0, 0].size * x.shape[1]
    arguments = _arguments(w.shape, geometry, size)
    strips = _strips(rows, size, w.nbytes, x.itemsize)

    def some(start: int, stop: int) -> None:
        """The images ``start <= n < stop`` in this thread."""
        most = strips[0][1] * size[1]
        with borrowed((rows * most,), x.dtype) as memory:
            for n in range(start, stop):
                for first, last in strips:
                    count = (last - first) * size[1]
                    columns = memory[: rows * count].reshape(rows, count)
                    _gather(0, channels, x[n], *_strip(arguments, first, last), columns)
                    out = y[n, :, :, first * size[1] : last * size[1]]
                    np.matmul(matrices, columns.reshape(groups, -1, count), out=out)

    with one_thread() as alone:
        if alone and len(x) >= thread_count():
            spread(some, len(x), rows * area * 1.0)
            return whole
    with borrowed((rows, area), x.dtype) as columns:
        for image, out in zip(x, y, strict=True):
            spread(_gather, channels, rows / channels * area * 0.3, image, *arguments, columns)
            np.matmul(matrices, columns.reshape(groups, -1, area), out=out)
    return whole


def grad_input(g: Array, w: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in x."""
    groups, size = geometry.groups, g.shape[2:]
    area = size[0] * size[1]
    turned = np.ascontiguousarray(w.reshape(groups, len(w) // groups, -1).swapaxes(1, 2))
    given = g.reshape(len(g), groups, -1, area)
    gx = empty(shape, g.dtype)
    if _plain(shape, w.shape, geometry):
        _each(turned, given, gx.reshape(len(g), groups, -1, area))
        return gx
    channels, rows = shape[1], w[0, 0].size * shape[1]
    arguments = _arguments(w.shape, geometry, size)

    def some(start: int, stop: int) -> None:
        """The images ``start <= n < stop`` in this thread."""
        with borrowed((rows, area), g.dtype) as columns:
            for n in range(start, stop):
                np.matmul(turned, given[n], out=columns.reshape(groups, -1, area))
                _scatter(0, channels, columns, *arguments, gx[n])

    with one_thread() as alone:
        if alone and len(g) >= thread_count():
            spread(some, len(g), rows * area * 1.0)
            return gx
    with borrowed((rows, area), g.dtype) as columns:
        for image, out in zip(given, gx, strict=True):
            np.matmul(turned, image, out=columns.reshape(groups, -1, area))
            spread(_scatter, channels, rows / channels * area * 0.4, columns, *arguments, out)
    return gx


def grad_weight(g: Array, x: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in w."""
    groups, size = geometry.groups, g.shape[2:]
    area = size[0] * size[1]
    given = g.reshape(len(g), groups, -1, area)
    gw = np.zeros((groups, shape[0] // groups, shape[1] * shape[2] * shape[3]), g.dtype)
    plain = _plain(x.shape, shape, geometry)
    channels, rows = x.shape[1], shape[2] * shape[3] * x.shape[1]
    # small images are joined, or the sums over images would cost as much as the products
    together = max(1, min(len(g), 1024 // max(area, 1), (16 << 20) // max(rows * area * 4, 1)))
    arguments = _arguments(shape, geometry, size)
    if together == 1 and len(g) * gw.nbytes <= PARTS_BYTES:
        strips = _strips(rows, size, gw.nbytes, x.itemsize)
        # taps by filters: with K long, OpenBLAS takes a sixth less for the tall result
        parts = np.empty((len(g), groups, gw.shape[2], gw.shape[1]), g.dtype)

        def one_by_one(start: int, stop: int) -> None:
            """The images ``start <= n < stop`` in this thread."""
            most = strips[0][1] * size[1]
            with borrowed((rows * most,), x.dtype) as memory:
                for n in range(start, stop):
                    if plain:
                        np.matmul(
                            x[n].reshape(groups, -1, area), given[n].swapaxes(1, 2), out=parts[n]
                        )
                        continue
                    for first, last in strips:
                        count = (last - first) * size[1]
                        columns = memory[: rows * count].reshape(rows, count)
                        _gather(0, channels, x[n], *_strip(arguments, first, last), columns)
                        seen = columns.reshape(groups, -1, count)
                        part = given[n, :, :, first * size[1] : last * size[1]].swapaxes(1, 2)
                        if first == 0:
                            np.matmul(seen, part, out=parts[n])
                        else:
                            parts[n] += np.matmul(seen, part)

        with one_thread() as alone:
            spread(one_by_one, len(g) if alone else 1, rows * area * 1.0)
            if not alone and len(g) > 1:
                one_by_one(1, len(g))
        return np.ascontiguousarray(np.sum(parts, axis=0).swapaxes(1, 2)).reshape(shape)
    with borrowed((rows, together * area), x.dtype) as columns:
        for first in range(0, len(g), together):
            some = given[first : first + together]
            images = x[first : first + together]
            count = len(some) * area
            if plain and len(some) == 1:
                seen = images.reshape(groups, -1, area)
            else:
                seen = columns[:, :count]
                for k, image in enumerate(images):
                    part = seen[:, k * area : (k + 1) * area]
                    cost = rows / channels * area * 0.3
                    spread(_gather, channels, cost, image, *arguments, part)
                seen = seen.reshape(groups, -1, count)
            left = some[0] if len(some) == 1 else some.transpose(1, 2, 0, 3)
            left = left.reshape(groups, -1, count)
            gw += np.matmul(left, seen.swapaxes(1, 2))
    return gw.reshape(shape)
