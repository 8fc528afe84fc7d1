"""Convolution with 3x3 filters and stride 1 by S. Winograd's F(4x4, 3x3) round BLAS.

A tile of 4x4 outputs sees 6x6 inputs. With the points 0, 1, -1, 2, -2 and infinity (A. Lavin and
S. Gray, 2015)

    forward      y  = A' [ (G w G') * (B' x B) ] A      summed over channels: 36 products (o c)(c t)
    grad weight  gW = E' [ (F g F') * (B' x B) ] E      summed over tiles: 36 products (o t)(t c)

where t counts the tiles of all images; F(3x3, 4x4) of the second line shares B with the first. In
float32 the error is 1e-6 to 1e-5 of the largest output, about ten times that of the plain sum.

A dilated filter sees only every d-th pixel: the image falls apart into d x d smaller ones.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array
from npgrad.kernels._blas import batched_matmul
from npgrad.kernels._compile import njit
from npgrad.kernels._scratch import borrowed
from npgrad.kernels._threads import spread

__all__ = ["forward", "grad_weight", "suits"]

Shape = tuple[int, ...]

_G = np.array(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ]
)
_E = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 1]])
# a product from both sides as one matrix over flattened filters
_FILTERS = np.kron(_G, _G)
_WEIGHTS = np.kron(_E, _E)

# Bytes of transformed tiles at a time: what the products read then still lies in the cache
# (64 channels, 56x56, 8 images: 4.5 ms instead of 7 for the products).
BLOCK_BYTES = 8 << 20


# Channels from which the products make up for the transforms: of 16 images of 32 x 32 with 32
# channels `_tiles` takes 3.4 ms and these 3.8, of 28 x 28 with 48 channels 5.2 and 4.3.
LEAST = 40


def suits(x_shape: Shape, w_shape: Shape, geometry: Any) -> bool:
    """Whether tiles pay: enough channels for the products, enough tiles, little of them wasted."""
    out, channels, height, width = w_shape
    stride, top, bottom, left, right, (dh, dw), groups = geometry
    if (height, width) != (3, 3) or stride != (1, 1) or dh != dw or groups != 1:
        return False
    rows = (x_shape[2] + top + bottom - 2 * dh) // dh
    columns = (x_shape[3] + left + right - 2 * dw) // dw
    return min(out, channels) >= LEAST and rows >= 5 and columns >= 5


@njit(fastmath={"contract", "nsz"})
def _image_tiles(start, stop, x, top, left, rows, columns, tiles):  # type: ignore[no-untyped-def]
    """B' x B of the tiles of images and channels ``start <= n C + c < stop``."""
    channels, height, width = x.shape[1:]
    two = x.dtype.type(2)
    four = x.dtype.type(4)
    five = x.dtype.type(5)
    span = 4 * columns + 2
    lines = np.zeros((6, span), x.dtype)
    mixed = np.empty((6, span), x.dtype)
    q0 = min(left, span)
    q1 = min(span, width + left)
    for item in range(start, stop):
        n = item // channels
        c = item % channels
        for a in range(rows):
            for i in range(6):
                r = 4 * a + i - top
                line = lines[i]
                if 0 <= r < height:
                    row = x[n, c, r]
                    inner = line[q0:q1]
                    for q in range(inner.size):
                        inner[q] = row[q]
                else:
                    line[:] = 0
            x0 = lines[0]
            x1 = lines[1]
            x2 = lines[2]
            x3 = lines[3]
            x4 = lines[4]
            x5 = lines[5]
            for q in range(span):
                even = x4[q] - four * x2[q]
                odd = x3[q] - four * x1[q]
                near = x4[q] - x2[q]
                far = two * (x3[q] - x1[q])
                mixed[0, q] = four * x0[q] - five * x2[q] + x4[q]
                mixed[1, q] = even + odd
                mixed[2, q] = even - odd
                mixed[3, q] = near + far
                mixed[4, q] = near - far
                mixed[5, q] = four * x1[q] - five * x3[q] + x5[q]
            first = (n * rows + a) * columns
            for i in range(6):
                line = mixed[i]
                t0 = tiles[6 * i, c, first : first + columns]
                t1 = tiles[6 * i + 1, c, first : first + columns]
                t2 = tiles[6 * i + 2, c, first : first + columns]
                t3 = tiles[6 * i + 3, c, first : first + columns]
                t4 = tiles[6 * i + 4, c, first : first + columns]
                t5 = tiles[6 * i + 5, c, first : first + columns]
                for b in range(columns):
                    y1 = line[4 * b + 1]
                    y2 = line[4 * b + 2]
                    y3 = line[4 * b + 3]
                    y4 = line[4 * b + 4]
                    even = y4 - four * y2
                    odd = y3 - four * y1
                    near = y4 - y2
                    far = two * (y3 - y1)
                    t0[b] = four * line[4 * b] - five * y2 + y4
                    t1[b] = even + odd
                    t2[b] = even - odd
                    t3[b] = near + far
                    t4[b] = near - far
                    t5[b] = four * y1 - five * y3 + line[4 * b + 5]


@njit(fastmath={"contract", "nsz"})
def _output_tiles(start, stop, products, rows, columns, y):  # type: ignore[no-untyped-def]
    """A' m A of the tiles of images and channels ``start <= n O + o < stop``, into y."""
    channels, height, width = y.shape[1:]
    two = y.dtype.type(2)
    four = y.dtype.type(4)
    eight = y.dtype.type(8)
    parts = np.empty((4, 6, columns), y.dtype)
    line = np.empty((4, 4 * columns), y.dtype)
    for item in range(start, stop):
        n = item // channels
        o = item % channels
        for a in range(rows):
            first = (n * rows + a) * columns
            for j in range(6):
                m0 = products[j, o, first : first + columns]
                m1 = products[6 + j, o, first : first + columns]
                m2 = products[12 + j, o, first : first + columns]
                m3 = products[18 + j, o, first : first + columns]
                m4 = products[24 + j, o, first : first + columns]
                m5 = products[30 + j, o, first : first + columns]
                for b in range(columns):
                    s = m1[b] + m2[b]
                    d = m1[b] - m2[b]
                    u = m3[b] + m4[b]
                    v = m3[b] - m4[b]
                    parts[0, j, b] = m0[b] + s + u
                    parts[1, j, b] = d + two * v
                    parts[2, j, b] = s + four * u
                    parts[3, j, b] = d + eight * v + m5[b]
            for i in range(min(4, height - 4 * a)):
                p0 = parts[i, 0]
                p1 = parts[i, 1]
                p2 = parts[i, 2]
                p3 = parts[i, 3]
                p4 = parts[i, 4]
                p5 = parts[i, 5]
                to = line[i]
                for b in range(columns):
                    s = p1[b] + p2[b]
                    d = p1[b] - p2[b]
                    u = p3[b] + p4[b]
                    v = p3[b] - p4[b]
                    to[4 * b] = p0[b] + s + u
                    to[4 * b + 1] = d + two * v
                    to[4 * b + 2] = s + four * u
                    to[4 * b + 3] = d + eight * v + p5[b]
                row = y[n, o, 4 * a + i]
                for q in range(width):
                    row[q] = to[q]


@njit(fastmath={"contract", "nsz"})
def _cotangent_tiles(start, stop, g, rows, columns, tiles):  # type: ignore[no-untyped-def]
    """F g F' of the 4x4 tiles of images and channels ``start <= n O + o < stop``."""
    channels, height, width = g.shape[1:]
    span = 4 * columns
    quarter = g.dtype.type(1 / 4)
    sixth = g.dtype.type(1 / 6)
    part = g.dtype.type(1 / 24)
    two = g.dtype.type(2)
    four = g.dtype.type(4)
    lines = np.zeros((4, span), g.dtype)
    mixed = np.empty((6, span), g.dtype)
    for item in range(start, stop):
        n = item // channels
        o = item % channels
        for a in range(rows):
            for i in range(4):
                line = lines[i]
                if 4 * a + i < height:
                    row = g[n, o, 4 * a + i]
                    for q in range(width):
                        line[q] = row[q]
                else:
                    line[:] = 0
            g0 = lines[0]
            g1 = lines[1]
            g2 = lines[2]
            g3 = lines[3]
            for q in range(span):
                even = sixth * (g0[q] + g2[q])
                odd = sixth * (g1[q] + g3[q])
                near = part * (g0[q] + four * g2[q])
                far = part * two * (g1[q] + four * g3[q])
                mixed[0, q] = quarter * g0[q]
                mixed[1, q] = -even - odd
                mixed[2, q] = odd - even
                mixed[3, q] = near + far
                mixed[4, q] = near - far
                mixed[5, q] = g3[q]
            first = (n * rows + a) * columns
            for i in range(6):
                line = mixed[i]
                t0 = tiles[6 * i, o, first : first + columns]
                t1 = tiles[6 * i + 1, o, first : first + columns]
                t2 = tiles[6 * i + 2, o, first : first + columns]
                t3 = tiles[6 * i + 3, o, first : first + columns]
                t4 = tiles[6 * i + 4, o, first : first + columns]
                t5 = tiles[6 * i + 5, o, first : first + columns]
                for b in range(columns):
                    h0 = line[4 * b]
                    h1 = line[4 * b + 1]
                    h2 = line[4 * b + 2]
                    h3 = line[4 * b + 3]
                    even = sixth * (h0 + h2)
                    odd = sixth * (h1 + h3)
                    near = part * (h0 + four * h2)
                    far = part * two * (h1 + four * h3)
                    t0[b] = quarter * h0
                    t1[b] = -even - odd
                    t2[b] = odd - even
                    t3[b] = near + far
                    t4[b] = near - far
                    t5[b] = h3


def _split(x: Array, geometry: Any, size: Shape) -> tuple[Array, Any, Shape]:
    """A dilated case as a plain one of d x d times as many images."""
    d = geometry.dilation[0]
    if d == 1:
        return x, geometry, size
    _, top, _, left, _, _, _ = geometry
    n, channels, height, width = x.shape
    inner = (-(-size[0] // d), -(-size[1] // d))
    rows, columns = (inner[0] + 2) * d, (inner[1] + 2) * d
    xp = np.zeros((n, channels, rows, columns), x.dtype)
    high, wide = min(height, rows - top), min(width, columns - left)
    xp[:, :, top : top + high, left : left + wide] = x[:, :, :high, :wide]
    parts = xp.reshape(n, channels, inner[0] + 2, d, inner[1] + 2, d).transpose(0, 3, 5, 1, 2, 4)
    images = np.ascontiguousarray(parts).reshape(n * d * d, channels, inner[0] + 2, inner[1] + 2)
    plain = geometry._replace(top=0, bottom=0, left=0, right=0, dilation=(1, 1))
    return images, plain, inner


def _join(y: Array, n: int, d: int, size: Shape) -> Array:
    """The outputs of the small images of `_split` as one image each."""
    if d == 1:
        return y
    channels, height, width = y.shape[1:]
    parts = y.reshape(n, d, d, channels, height, width).transpose(0, 3, 4, 1, 5, 2)
    whole = parts.reshape(n, channels, height * d, width * d)
    return np.ascontiguousarray(whole[:, :, : size[0], : size[1]])


def _separate(g: Array, d: int, inner: Shape) -> Array:
    """A cotangent as those of the small images of `_split`, zeros where there was no output."""
    if d == 1:
        return g
    n, channels, height, width = g.shape
    whole = np.zeros((n, channels, inner[0] * d, inner[1] * d), g.dtype)
    whole[:, :, :height, :width] = g
    parts = whole.reshape(n, channels, inner[0], d, inner[1], d).transpose(0, 3, 5, 1, 2, 4)
    return np.ascontiguousarray(parts).reshape(n * d * d, channels, *inner)


def _blocks(images: int, tiles: int, channels: int, itemsize: int) -> list[tuple[int, int]]:
    """Ranges of images whose transformed tiles make up about `BLOCK_BYTES`."""
    most = max(1, BLOCK_BYTES // (36 * tiles * channels * itemsize))
    count = -(-images // most)
    edges = [images * k // count for k in range(count + 1)]
    return list(itertools.pairwise(edges))


def forward(x: Array, w: Array, geometry: Any, size: Shape) -> Array:
    """The convolution, a block of images at a time."""
    images, plain, inner = _split(x, geometry, size)
    channels, out = x.shape[1], len(w)
    rows, columns = -(-inner[0] // 4), -(-inner[1] // 4)
    filters = np.matmul(_FILTERS.astype(x.dtype), w.reshape(-1, 9).T).reshape(36, out, channels)
    y = empty((len(images), out, *inner), x.dtype)
    cost = rows * columns * 40.0
    blocks = _blocks(len(images), rows * columns, channels + out, x.itemsize)
    most = max(stop - start for start, stop in blocks) * rows * columns
    with (
        borrowed((36 * channels * most,), x.dtype) as space,
        borrowed((36 * out * most,), x.dtype) as more,
    ):
        for start, stop in blocks:
            some, count = images[start:stop], (stop - start) * rows * columns
            tiles = space[: 36 * channels * count].reshape(36, channels, count)
            products = more[: 36 * out * count].reshape(36, out, count)
            arguments = (plain.top, plain.left, rows, columns, tiles)
            spread(_image_tiles, len(some) * channels, cost, some, *arguments)
            batched_matmul(filters, tiles, products)
            to = y[start:stop]
            spread(_output_tiles, len(some) * out, cost, products, rows, columns, to)
    return _join(y, len(x), geometry.dilation[0], size)


def grad_weight(g: Array, x: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in w; blocks of images are summed in order."""
    images, plain, inner = _split(x, geometry, g.shape[2:])
    given = _separate(g, geometry.dilation[0], inner)
    channels, out = shape[1], shape[0]
    rows, columns = -(-inner[0] // 4), -(-inner[1] // 4)
    cost = rows * columns * 40.0
    # where there are many channels, sums of products cost more than tiles out of the cache
    blocks = _blocks(len(images), rows * columns, min(channels + out, 256), x.itemsize)
    most = max(stop - start for start, stop in blocks) * rows * columns
    total = np.empty((36, out, channels), x.dtype)
    with (
        borrowed((36 * channels * most,), x.dtype) as space,
        borrowed((36 * out * most,), x.dtype) as more,
    ):
        for start, stop in blocks:
            some, count = images[start:stop], (stop - start) * rows * columns
            tiles = space[: 36 * channels * count].reshape(36, channels, count)
            cotangents = more[: 36 * out * count].reshape(36, out, count)
            arguments = (plain.top, plain.left, rows, columns, tiles)
            spread(_image_tiles, len(some) * channels, cost, some, *arguments)
            part = given[start:stop]
            spread(_cotangent_tiles, len(some) * out, cost, part, rows, columns, cotangents)
            sums = total if start == 0 else np.empty_like(total)
            batched_matmul(cotangents, tiles.swapaxes(1, 2), sums)
            if start > 0:
                total += sums
    gw = np.matmul(_WEIGHTS.astype(x.dtype), total.reshape(36, -1))
    return np.ascontiguousarray(gw.T).reshape(shape)
