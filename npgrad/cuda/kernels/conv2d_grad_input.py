"""conv2d_grad_input: the cotangent of x for y = conv2d(x, w, stride, padding, dilation, groups).

gx[n, c, h, v] = sum over k, r, s of g[n, k, p, q] w[k, c, r, s] where p stride + r dilation - padding = h, and so for q, v, s.

With stride t the positions h fall into t residue classes: in each, p = i + const(r) for the taps r that reach it, which is a convolution
with stride 1 of g by those taps (`conv_tile`); classes no tap reaches are zero. Small groups and depthwise go to `conv_direct`.
Float32-accurate by default (error about 1e-6 of the norm); `tf32=True` takes operands rounded to 10 bits of mantissa (error 3e-4), two to three
times faster on large layers.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..launch import Backend, Program, backend_of
from . import conv_direct, conv_products, conv_tile, sixteen

__all__ = ["backward", "output_size", "pair", "reference"]

Pair = tuple[int, int]


def pair(value: Any) -> Pair:
    """An int or a pair as a pair."""
    if isinstance(value, int | np.integer):
        return int(value), int(value)
    first, second = value
    return int(first), int(second)


def output_size(size: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Pair:
    """Rows and columns of conv2d's output."""
    rows, columns = (
        (size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    )
    return max(rows, 0), max(columns, 0)


def reference(
    g: Any,
    w: Any,
    shape: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """gx in NumPy, tap by tap: the specification."""
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    n, _channels, height, width = shape
    k, per, kr, ks = w.shape
    rows, columns = g.shape[2:]
    padded = np.zeros((n, groups, per, height + 2 * padding[0], width + 2 * padding[1]), g.dtype)
    gg = g.reshape(n, groups, k // groups, rows * columns)
    ww = np.moveaxis(w.reshape(groups, k // groups, per, kr, ks), 1, 2)
    for r in range(kr):
        for s in range(ks):
            h, v = r * dilation[0], s * dilation[1]
            where = np.s_[
                ...,
                h : h + (rows - 1) * stride[0] + 1 : stride[0],
                v : v + (columns - 1) * stride[1] + 1 : stride[1],
            ]
            padded[where] += (ww[..., r, s] @ gg).reshape(n, groups, per, rows, columns)
    inside = padded[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width]
    return inside.reshape(shape)


@functools.cache
def classes(
    groups: int,
    channels: int,
    outputs: int,
    size: Pair,
    out_size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
) -> tuple[tuple[conv_tile.Problem, tuple[int, ...]], ...]:
    """One stride-1 problem a residue class that some tap reaches, with the flat filter positions of its taps."""
    found = []
    for a in range(min(stride[0], size[0])):
        for b in range(min(stride[1], size[1])):
            taps, flat = [], []
            for r in range(kernel[0]):
                for s in range(kernel[1]):
                    dy, ry = divmod(a + padding[0] - r * dilation[0], stride[0])
                    dx, rx = divmod(b + padding[1] - s * dilation[1], stride[1])
                    if ry == 0 and rx == 0:
                        taps.append((dy, dx))
                        flat.append(r * kernel[1] + s)
            if not taps:
                continue
            rows, columns = -(-(size[0] - a) // stride[0]), -(-(size[1] - b) // stride[1])
            problem = conv_tile.Problem(
                groups,
                outputs,
                *out_size,
                channels,
                rows,
                columns,
                (1, 1),
                tuple(taps),
                *size,
                (a, b),
                stride,
            )
            found.append((flatten(problem), tuple(flat)))
    return tuple(found)


def flatten(p: conv_tile.Problem) -> conv_tile.Problem:
    """A 1 x 1 convolution of whole planes as one of rows: planes are contiguous."""
    plain = p.taps == ((0, 0),) and p.stride == (1, 1) and p.out_step == (1, 1)
    if (
        not plain
        or (p.height, p.width) != (p.rows, p.columns)
        or (p.out_height, p.out_width) != (p.rows, p.columns)
    ):
        return p
    area = p.rows * p.columns
    return conv_tile.Problem(
        p.groups,
        p.channels,
        1,
        area,
        p.out_channels,
        1,
        area,
        (1, 1),
        ((0, 0),),
        1,
        area,
        (0, 0),
        (1, 1),
    )


def run_tiles(
    backend: Backend,
    problem: conv_tile.Problem,
    flat: tuple[int, ...],
    x: Any,
    weight: Any,
    out: Any,
    images: int,
    transposed: bool,
    mode: str,
    tile: Any = None,
) -> bool:
    """Arrange the weights and convolve; False if no tile fits."""
    tile = tile or conv_tile.choose(problem, images, mode, backend.shared_limit)
    plan = None if tile is None else _plan(problem, flat, images, transposed, mode, tile)
    if plan is None:
        return False
    arranged = backend.empty((plan.words,), np.float32)
    filter_size = int(weight.shape[2]) * int(weight.shape[3])
    table = backend.constants(flat)
    sizes = (plan.words, plan.blocks_m, plan.chunks, problem.out_channels, problem.channels)
    backend.run(plan.arrange, (plan.blocks,), weight, arranged, table, *sizes, filter_size)
    offsets = backend.constants(plan.offsets)
    backend.run(plan.convolve, plan.grid, x, arranged, offsets, out, images)
    return True


class _Plan(NamedTuple):
    """Two launches: everything but the arrays, worked out once (it would cost 50 us a call)."""

    arrange: Program
    convolve: Program
    words: int  # of the arranged weights
    blocks: int
    blocks_m: int
    chunks: int
    offsets: tuple[int, ...]
    grid: tuple[int, int, int]


@functools.lru_cache(1024)
def _plan(
    problem: conv_tile.Problem,
    flat: tuple[int, ...],
    images: int,
    transposed: bool,
    mode: str,
    tile: conv_tile.Tile,
) -> _Plan:
    chunks = -(-problem.channels // 8)
    blocks_m, block_tiles = -(-problem.out_channels // tile.block_m), tile.mt * tile.wm
    words = problem.groups * blocks_m * chunks * len(flat) * block_tiles * 128
    return _Plan(
        conv_tile.arrange_weights(flat, transposed, block_tiles),
        conv_tile.convolve(problem, tile, mode),
        words,
        max(1, min(-(-words // 256), 4096)),
        blocks_m,
        chunks,
        tuple(conv_tile.tap_offsets(problem, tile)),
        conv_tile.grid(problem, tile, images),
    )


def check(
    x_shape: Any, w: Any, g_shape: Any, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Pair:
    """Sizes that fit, or an error that says which does not; returns the output size."""
    n, channels, height, width = x_shape
    k, per, *kernel = w.shape
    if channels % groups or k % groups or channels // groups != per:
        raise ValueError(
            f"conv2d: x {tuple(x_shape)} and w {tuple(w.shape)} do not fit {groups} groups"
        )
    size = output_size((height, width), tuple(kernel), stride, padding, dilation)
    if tuple(g_shape) != (n, k, *size):
        raise ValueError(f"conv2d: cotangent of shape {tuple(g_shape)}, expected {(n, k, *size)}")
    return size


def backward(
    g: Any,
    w: Any,
    shape: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    tf32: bool = False,
    kind: str | None = None,
) -> Any:
    """gx of the given shape on the device, of the type of `g`.

    float32; or float16, or bfloat16 as uint16 words (``kind="bfloat16"``), added up in float32.
    """
    backend = backend_of(g)
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    mode = sixteen.kind_of(kind, g, w) or ("tf32" if tf32 else "tf32x3")
    if mode.startswith("tf32") and not g.dtype == w.dtype == np.float32:
        raise TypeError(f"conv2d_grad_input on the device is float32, not {g.dtype} and {w.dtype}")
    shape = tuple(int(n) for n in shape)
    out_size = check(shape, w, g.shape, stride, padding, dilation, groups)
    g, w = backend.contiguous(g), backend.contiguous(w)
    images, channels, outputs = shape[0], shape[1] // groups, int(w.shape[0]) // groups
    size, kernel = shape[2:], (int(w.shape[2]), int(w.shape[3]))
    gx = backend.empty(shape, g.dtype)
    if not gx.size:
        return gx
    if not g.size or not w.size:
        gx[...] = 0
        return gx
    if backend.aligned(g, w):
        way = conv_products.way(shape, g.shape, kernel, stride, padding, groups, mode)
        if way == "rows":
            conv_products.correlate(backend, g, w, gx, padding, dilation, mode, True)
            return gx
        if way == "planes":
            conv_products.planes_of_planes(backend, g, w, gx, True)
            return gx
    if not mode.startswith("tf32"):
        wide = sixteen.widened(g, mode), sixteen.widened(w, mode)
        gx = backward(*wide, shape, stride, padding, dilation, groups, tf32=True)
        return sixteen.narrowed(gx, mode)
    direct = min(channels, outputs) < 8 and channels * outputs < 128 and groups > 1
    if not direct and backend.aligned(g, w):
        problems = classes(
            groups, channels, outputs, size, out_size, kernel, stride, padding, dilation
        )
        limit = backend.shared_limit
        if all(conv_tile.choose(p, images, mode, limit) for p, _ in problems):
            reached = sum(p.rows * p.columns for p, _ in problems)
            if reached < size[0] * size[1]:
                gx[...] = 0
            for problem, flat in problems:
                run_tiles(backend, problem, flat, g, w, gx, images, True, mode)
            return gx
    program = conv_direct.input_gradient(
        groups, channels, outputs, size, out_size, kernel, stride, padding, dilation
    )
    blocks = max(1, min(-(-int(gx.size) // 256), 1 << 20))
    backend.run(program, (blocks,), g, w, gx, int(gx.size))
    return gx
