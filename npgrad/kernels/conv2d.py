"""Two-dimensional convolution (cross-correlation) and its two transposes, for plain arrays.

The references below are the specification: one matrix product for each tap of the filter. Which way
a large case goes is decided in `_way`:

==========  =======================================================================================
direct      few channels a group (depthwise, ResNeXt): loops over taps, vectorised along the row
winograd    3x3 filters of stride 1, many channels: F(4x4, 3x3), 2.25 to 4 times fewer products
columns     1x1 filters, or a single one; planes of few places; the gradient of many filters, and
            that of the image under a stride: the patches as columns, and BLAS
tiles       everything else: sums that stay in registers
==========  =======================================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from npgrad.graph import backend
from npgrad.kernels import _columns, _direct, _tiles, _winograd
from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._blas import one_thread

__all__ = [
    "Geometry",
    "conv2d",
    "conv2d_grad_input",
    "conv2d_grad_input_reference",
    "conv2d_grad_weight",
    "conv2d_grad_weight_reference",
    "conv2d_reference",
    "out_size",
]

Shape = tuple[int, ...]


class Geometry(NamedTuple):
    """How filter and image meet; a pair is (vertical, horizontal)."""

    stride: tuple[int, int] = (1, 1)
    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1


def out_size(shape: Shape, filters: Shape, geometry: Geometry) -> tuple[int, int]:
    """Height and width of the output; not positive where the filter does not fit."""
    (sh, sw), top, bottom, left, right, (dh, dw), _ = geometry
    height = (shape[2] + top + bottom - dh * (filters[2] - 1) - 1) // sh + 1
    width = (shape[3] + left + right - dw * (filters[3] - 1) - 1) // sw + 1
    return height, width


def _padded(x: Array, geometry: Geometry) -> Array:
    """`x` with its border of zeros."""
    _, top, bottom, left, right, _, _ = geometry
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))


def _tap(i: int, j: int, size: tuple[int, int], geometry: Geometry) -> tuple[Any, ...]:
    """What tap (i, j) of the filter sees of the padded image."""
    (sh, sw), (dh, dw) = geometry.stride, geometry.dilation
    rows = slice(i * dh, i * dh + sh * (size[0] - 1) + 1, sh)
    columns = slice(j * dw, j * dw + sw * (size[1] - 1) + 1, sw)
    return (slice(None), slice(None), rows, columns)


def conv2d_reference(x: Array, w: Array, geometry: Geometry) -> Array:
    """``y[n, o, p, q] = sum of w[o, c, i, j] x[n, c, p sh + i dh - top, q sw + j dw - left]``."""
    n, groups, size = len(x), geometry.groups, out_size(x.shape, w.shape, geometry)
    xp = _padded(x, geometry)
    filters = w.reshape(groups, -1, *w.shape[1:])
    y = np.zeros((n, groups, filters.shape[1], size[0] * size[1]), np.result_type(x, w))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            seen = xp[_tap(i, j, size, geometry)].reshape(n, groups, w.shape[1], size[0] * size[1])
            y += np.matmul(filters[..., i, j], seen)
    return y.reshape(n, len(w), *size)


def conv2d_grad_input_reference(g: Array, w: Array, shape: Shape, geometry: Geometry) -> Array:
    """The transpose in x: the cotangent of an x of `shape` from that of the output."""
    n, groups, size = len(g), geometry.groups, g.shape[2:]
    filters = w.reshape(groups, -1, *w.shape[1:])
    rows = g.reshape(n, groups, filters.shape[1], size[0] * size[1])
    blank = np.zeros_like(g, shape=shape, dtype=np.result_type(g, w))
    xp = _padded(blank, geometry)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            part = np.matmul(np.swapaxes(filters[..., i, j], 1, 2), rows)
            xp[_tap(i, j, size, geometry)] += part.reshape(n, shape[1], *size)
    return xp[:, :, geometry.top :, geometry.left :][:, :, : shape[2], : shape[3]]


def conv2d_grad_weight_reference(g: Array, x: Array, shape: Shape, geometry: Geometry) -> Array:
    """The transpose in w: the cotangent of a w of `shape` from that of the output."""
    n, groups, size = len(g), geometry.groups, g.shape[2:]
    rows = g.reshape(n, groups, shape[0] // groups, size[0] * size[1])
    xp = _padded(x, geometry)
    extent = (groups, shape[0] // groups, *shape[1:])
    gw = np.zeros_like(g, shape=extent, dtype=np.result_type(g, x))
    for i in range(shape[2]):
        for j in range(shape[3]):
            seen = xp[_tap(i, j, size, geometry)].reshape(n, groups, shape[1], size[0] * size[1])
            gw[..., i, j] = np.sum(np.matmul(rows, np.swapaxes(seen, 2, 3)), axis=0)
    return gw.reshape(shape)


def _way(x_shape: Shape, w_shape: Shape, geometry: Geometry, weights: bool = False) -> Any:
    """The module that takes this case, the cotangent of `weights` or not; see the table above."""
    out, channels, height, width = w_shape
    if geometry.groups > 1 and channels * height * width <= _direct.LARGEST:
        return _direct
    if geometry.groups == 1 and _winograd.suits(x_shape, w_shape, geometry):
        return _winograd
    filters = out // geometry.groups
    fits = 1 < filters <= _tiles.MOST if weights else filters > 1
    if fits and height * width > 1 and _tiles.suits(x_shape, w_shape, geometry):
        return _tiles
    return _columns


def _run(way: Any, name: str, *args: Any) -> Array:
    """A function of `way`; Winograd's products must not wake BLAS's threads, which then spin."""
    if way is not _winograd:
        return getattr(way, name)(*args)
    with one_thread():
        found = getattr(way, name)(*args)
    # an infinity reaches its whole tile, as NaN
    return found if backend.finite(found) else getattr(_columns, name)(*args)


def conv2d(x: Array, w: Array, geometry: Geometry) -> Array:
    """The convolution of ``x`` (n, c, h, w) with filters ``w`` (o, c / groups, i, j)."""
    if not (usable(x, w, small=512) and w.size and x.size * w.size > 1 << 16):
        return conv2d_reference(x, w, geometry)
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    size = out_size(x.shape, w.shape, geometry)
    return _run(_way(x.shape, w.shape, geometry), "forward", x, w, geometry, size)


def conv2d_grad_input(g: Array, w: Array, shape: Shape, geometry: Geometry) -> Array:
    """The transpose of the convolution in x, for an x of `shape`."""
    if not (usable(g, w, small=512) and w.size and g.size * w.size > 1 << 16):
        return conv2d_grad_input_reference(g, w, shape, geometry)
    g, w = np.ascontiguousarray(g), np.ascontiguousarray(w)
    turned = _turned(geometry, w.shape, shape, g.shape)
    if turned is not None:
        # stride 1: the transpose is a convolution of g with the filter turned round
        groups, (out, channels, height, width) = geometry.groups, w.shape
        way = _way(g.shape, (groups * channels, out // groups, height, width), turned)
    else:
        way = _way(shape, w.shape, geometry)
    if turned is not None and way is not _columns:
        flipped = w.reshape(groups, out // groups, channels, height, width)[..., ::-1, ::-1]
        flipped = np.ascontiguousarray(flipped.swapaxes(1, 2))
        flipped = flipped.reshape(groups * channels, out // groups, height, width)
        return _run(way, "forward", g, flipped, turned, shape[2:])
    if way is _direct:
        return _direct.grad_input(g, w, shape, geometry)
    return _columns.grad_input(g, w, shape, geometry)


def conv2d_grad_weight(g: Array, x: Array, shape: Shape, geometry: Geometry) -> Array:
    """The transpose of the convolution in w, for a w of `shape`."""
    weights = int(np.prod(shape))
    if not (usable(g, x, small=512) and weights and g.size * weights > 1 << 16):
        return conv2d_grad_weight_reference(g, x, shape, geometry)
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    way = _way(x.shape, shape, geometry, weights=True)
    gw = _run(way, "grad_weight", g, x, shape, geometry)
    if way in (_direct, _tiles) and not backend.finite(gw):
        # an infinity met the zeros between rows
        return _columns.grad_weight(g, x, shape, geometry)
    return gw


def _turned(geometry: Geometry, filters: Shape, shape: Shape, given: Shape) -> Geometry | None:
    """The geometry of grad-input as a convolution; None where stride or padding forbid it."""
    if geometry.stride != (1, 1):
        return None
    (dh, dw), (_, _, height, width) = geometry.dilation, filters
    top, left = dh * (height - 1) - geometry.top, dw * (width - 1) - geometry.left
    bottom = shape[2] - (given[2] + top - dh * (height - 1))
    right = shape[3] - (given[3] + left - dw * (width - 1))
    if min(top, bottom, left, right) < 0:
        return None
    return geometry._replace(top=top, bottom=bottom, left=left, right=right)
