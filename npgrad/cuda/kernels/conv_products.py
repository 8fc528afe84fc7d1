"""Convolutions of stride 1 with many channels as products of matrices, which cuBLAS takes.

Each filter row is one product over rows of positions (`conv_rows`), which hold its filter columns
side by side::

    grad-weight   part[r, chunk] = g_rows[chunk]' @ x_rows[chunk + r d], then the chunks are added
    forward, gx   y_rows = sum over r of rows[. + r d] @ filter[r], then planes are made

float32-accurate: three products of float16 halves (high x high; high x low and low x high in one
of twice the length). The tensor core cuts off when it adds, always towards zero, so a sum of n
terms is too small by about n x 1.25e-9 of itself (measured on an H200): sums end after `LONGEST`
terms and go on in float32. ``"tf32"`` is the high half alone, 11 bits as TF32 has; 16-bit types
go as they are. Padding is multiplied by zeros, so an infinity of x or g may give NaN where only
padding would have met it.

Against the tiles of `conv_tile` and `conv2d_grad_weight`, on an H200: grad-weight 1.0 to 2.2 times
faster float32-accurate, 1.1 to 1.7 times in TF32, grad-input 1.2 to 3.6 times, wherever both
numbers of channels are at least `FEWEST`; below, and below `LEAST` operations, tiles win. The host
needs 9 to 12 launches, where a tile takes two.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..blas import Gemm
from ..launch import Backend
from ..source import power_of_two_at_least
from . import conv_rows
from .conv_rows import Rows

__all__ = ["correlate", "planes_of_planes", "way", "weight_gradient", "weight_of_planes"]

Pair = tuple[int, int]
FEWEST = {"tf32x3": 128, "tf32": 256, "float16": 128, "bfloat16": 128}  # channels on either side
LEAST = 3e9  # floating-point operations
LONGEST = 800  # terms of a float32-accurate sum: 1e-6
WIDEST = 64  # chunks of partial sums: more are added in place
MANY_WARPS = 4096  # more do not make a sum of chunks faster
MOST_TAPS = 36  # shared memory of that sum
FILLING = 64  # tiles of 128 x 128 sums at once where nothing asks for shorter sums
KINDS = {"tf32x3": "split", "tf32": "high", "float16": "words", "bfloat16": "words"}


def way(
    x_shape: Any,
    y_shape: Any,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    groups: int,
    mode: str,
) -> str | None:
    """By "rows" of positions, "planes" as they lie in memory, or None where tiles are the way."""
    channels, height, width = x_shape[1:]
    images, outputs, rows, columns = y_shape
    operations = 2.0 * images * rows * columns * channels * outputs * math.prod(kernel)
    if groups != 1 or stride != (1, 1) or operations < LEAST:
        return None
    if mode == "tf32" and kernel == (1, 1) and padding == (0, 0) and height * width % 4 == 0:
        return "planes"
    many = min(channels, outputs) >= FEWEST[mode] and channels % 8 == outputs % 8 == 0
    fits = max(width, columns) <= conv_rows.MOST and math.prod(kernel) <= MOST_TAPS
    return "rows" if many and fits else None


class _Weight(NamedTuple):
    """Sizes of a weight gradient, worked out once a shape."""

    of_x: Rows
    of_g: Rows
    passes: int  # filter rows that are not side by side
    shift: int  # rows between them
    tail: int
    chunks: int
    segments: int
    length: int


@functools.lru_cache(256)
def _weight_plan(
    x_shape: tuple[int, ...], g_shape: tuple[int, ...], kernel: Pair, padding: Pair, dilation: Pair,
    accurate: bool,
) -> _Weight:  # fmt: skip
    images, channels, height, width = x_shape
    outputs, rows, columns = g_shape[1:]
    reach = (kernel[0] - 1) * dilation[0]
    folded = _folded(kernel, rows + reach, width)
    padded = rows if folded > 1 else rows + reach
    of_x = Rows(
        channels, height, width, padded, columns, kernel[1], dilation[1], *padding, folded,
        dilation[0],
    )  # fmt: skip
    of_g = Rows(outputs, rows, columns, padded, columns, 1, 1, 0, 0)
    tail = (padded - rows) * columns
    # the last `tail` rows of g are zeros; with them, what later filter rows read beyond the high
    # half of x (its low half) is not added
    total = images * of_g.positions - (0 if accurate else tail)
    tiles = -(-of_x.across // 128) * -(-outputs // 128)
    chunks = -(-total // LONGEST) if accurate else max(1, min(FILLING // tiles, total // 256))
    segments = -(-chunks // WIDEST)
    chunks = -(-chunks // segments)
    length = -(-total // (chunks * segments))
    passes = kernel[0] // folded
    return _Weight(of_x, of_g, passes, dilation[0] * columns, tail, chunks, segments, length)


def _folded(kernel: Pair, rows: int, width: int) -> int:
    """Filter rows side by side: all of them where a block holds a whole image, else one."""
    return kernel[0] if rows * width <= conv_rows.MOST else 1


def weight_gradient(
    backend: Backend, g: Any, x: Any, gw: Any, padding: Pair, dilation: Pair, mode: str
) -> None:
    """gw of float32, of contiguous g and x of one group and stride 1."""
    split = mode == "tf32x3"
    kernel = gw.shape[2:]
    plan = _weight_plan(x.shape, g.shape, kernel, padding, dilation, split)
    images = int(x.shape[0])
    outputs, channels = (int(n) for n in gw.shape[:2])
    total = plan.chunks * plan.segments * plan.length
    kind = KINDS[mode]
    largest = _largest(backend, kind, x, g)
    across = plan.of_x.across
    parts = 2 if split else 1
    # x: high, low, and the rows that the last filter rows read on; g: low, high
    x_rows = backend.empty(((parts * total + plan.tail) * across // 2,), np.uint32)
    g_rows = backend.empty((parts * total * outputs // 2,), np.uint32)
    place = (0, total * across // 2, across // 2)
    reach = (total, total + plan.tail) if split else (total + plan.tail, 0)
    _rows(backend, plan.of_x, kind, x, largest, x_rows, images, place, reach)
    place = ((parts - 1) * total * outputs // 2, 0, outputs // 2)
    reach = (total, total if split else 0)
    of_g = largest if kind == "words" else largest[channels:]
    _rows(backend, plan.of_g, kind, g, of_g, g_rows, images, place, reach)
    sizes = plan.passes, plan.chunks, outputs, across
    part = backend.empty(sizes, np.float32)
    once = math.prod(sizes[1:])
    operand = mode if kind == "words" else "float16"
    for r in range(plan.passes):
        first = True
        passes = ((2, 0, 1 / conv_rows.LOW), (1, total, 1.0)) if split else ((1, 0, 1.0),)
        for times, start, factor in passes:
            length = times * plan.length
            product = Gemm(
                outputs, across, length, plan.chunks, (True, False), (outputs, across, across),
                (length * outputs, length * across, outputs * across), operand,
            )  # fmt: skip
            for segment in range(plan.segments):
                at = segment * plan.chunks * length
                starts = (
                    (start + at) * outputs, (r * plan.shift + at) * across, r * once,
                )  # fmt: skip
                backend.gemm(product, (g_rows, x_rows, part), starts, factor, not first)
                first = False
    _add_chunks(backend, part, largest, gw, kind != "words")


def _add_chunks(backend: Backend, part: Any, largest: Any, gw: Any, scaled: bool) -> None:
    outputs, channels, height, width = gw.shape
    passes, chunks = part.shape[:2]
    tiles, slices = -(-channels // 32), 8
    while slices > chunks or (slices > 1 and outputs * tiles * slices > MANY_WARPS):
        slices //= 2
    program = conv_rows.sum_chunks((height, width), passes < height, slices, scaled)
    blocks = tiles * -(-outputs * slices // 8)
    backend.run(program, (blocks,), part, largest, gw, chunks, outputs, channels)


def weight_of_planes(backend: Backend, g: Any, x: Any, gw: Any) -> None:
    """The weight gradient of a 1 x 1 convolution in TF32: a product an image, and their sum."""
    images, channels, height, width = x.shape
    outputs, pixels = g.shape[1], height * width
    part = backend.empty((1, images, outputs, channels), np.float32)
    product = Gemm(
        outputs, channels, pixels, images, (False, True), (pixels, pixels, channels),
        (outputs * pixels, channels * pixels, outputs * channels), "tf32",
    )  # fmt: skip
    backend.gemm(product, (g, x, part), (0, 0, 0), 1.0, False)
    _add_chunks(backend, part, backend.flags(), gw, False)


def planes_of_planes(backend: Backend, x: Any, w: Any, out: Any, transposed: bool) -> None:
    """A 1 x 1 convolution in TF32, or (`transposed`) its gradient to the input: one an image."""
    images, summed, height, width = x.shape
    pixels, kept = height * width, out.shape[1]
    product = Gemm(
        kept, pixels, summed, images, (transposed, False),
        (kept if transposed else summed, pixels, pixels),
        (0, summed * pixels, kept * pixels), "tf32",
    )  # fmt: skip
    backend.gemm(product, (w, x, out), (0, 0, 0), 1.0, False)


def correlate(
    backend: Backend,
    x: Any,
    w: Any,
    out: Any,
    padding: Pair,
    dilation: Pair,
    mode: str,
    transposed: bool,
) -> None:
    """``out = conv2d(x, w)`` of stride 1; `transposed`: the gradient to the input for cotangent x.

    Contiguous arrays of one group; `out` of float32, or of the 16-bit type of `mode`.
    """
    images, summed, height, width = x.shape
    kept, rows, columns = out.shape[1:]
    kernel = w.shape[2:]
    reach = tuple((kernel[i] - 1) * dilation[i] for i in range(2))
    top, left = (reach[i] - padding[i] if transposed else padding[i] for i in range(2))
    folded = _folded(kernel, rows + reach[0], width)
    beyond = 0 if folded > 1 else reach[0]
    of_x = Rows(
        summed, height, width, rows + beyond, columns, kernel[1], dilation[1], top, left, folded,
        dilation[0],
    )  # fmt: skip
    split, kind = mode == "tf32x3", KINDS[mode]
    parts, across, positions = (2 if split else 1), of_x.across, images * of_x.positions
    largest = _largest_of_filter(backend, kind, x, w, transposed)
    x_rows = backend.empty((positions * parts * across // 2,), np.uint32)
    place, reached = (0, across // 2, parts * across // 2), (positions, positions)
    _rows(backend, of_x, kind, x, largest, x_rows, images, place, reached, by_image=True)
    passes = kernel[0] // folded
    filters = backend.empty((passes * parts * across * kept // 2,), np.uint32)
    program = conv_rows.filter_rows(tuple(kernel), folded > 1, transposed, kind)
    blocks = -(-summed * (kept // 2) // 256)
    of_w = largest if kind == "words" else largest[images:]
    backend.run(program, (blocks,), w, of_w, filters, *w.shape[:2])
    y_rows = backend.empty((positions, kept), np.float32)
    used = positions - beyond * columns
    pieces = -(-across // LONGEST) if split else 1
    while across % (8 * pieces):
        pieces += 1
    length = across // pieces
    shift = dilation[0] * columns * parts * across
    operand = mode if kind == "words" else "float16"
    calls = [(2 * across, 0, 0, 1 / conv_rows.LOW)] if split else []
    calls += [(length, i * length, (parts - 1) * across + i * length, 1.0) for i in range(pieces)]
    first = True
    for inner, column, row, factor in calls:
        product = Gemm(
            used, kept, inner, 1, (False, False), (parts * across, kept, kept), (0, 0, 0), operand
        )
        for r in range(passes):
            starts = (r * shift + column, (r * parts * across + row) * kept, 0)
            backend.gemm(product, (x_rows, filters, y_rows), starts, factor, not first)
            first = False
    program = conv_rows.planes(mode if kind == "words" else "float32", kind != "words")
    size = rows * columns
    blocks = images * -(-size // 64) * -(-kept // 32)
    backend.run(program, (blocks,), y_rows, largest, out, of_x.positions, size, kept, images)


def _rows(
    backend: Backend,
    rows: Rows,
    kind: str,
    x: Any,
    largest: Any,
    out: Any,
    images: int,
    place: tuple[int, int, int],
    reach: tuple[int, int],
    by_image: bool = False,
) -> None:
    """Launch `conv_rows.position_rows`, with images of zeros up to where rows reach."""
    program = conv_rows.position_rows(rows, kind, by_image)
    blocks = rows.blocks(max(images, -(-max(reach) // rows.positions)))
    backend.run(program, (blocks,), x, largest, out, images, *place, *reach)


def _largest(backend: Backend, kind: str, x: Any, g: Any) -> Any:
    """The largest value of each channel of x, then of g; anything for 16-bit words."""
    if kind == "words":
        return backend.flags()
    images, channels, outputs = x.shape[0], x.shape[1], g.shape[1]
    size_x, size_g = math.prod(x.shape[2:]), math.prod(g.shape[2:])
    return _maxima(backend, x, (images, channels, size_x), g, (images, outputs, size_g))


def _largest_of_filter(backend: Backend, kind: str, x: Any, w: Any, transposed: bool) -> Any:
    """The largest value of each image of x, then of each channel of w that is not summed over."""
    if kind == "words":
        return backend.flags()
    outputs, channels = w.shape[:2]
    taps = math.prod(w.shape[2:])
    images, of_x = x.shape[0], (1, x.shape[0], math.prod(x.shape[1:]))
    if not transposed:
        return _maxima(backend, x, of_x, w, (1, outputs, channels * taps))
    largest = _maxima(backend, x, of_x, x, (1, 0, 1), channels)
    threads = max(32, min(1024, power_of_two_at_least(8 * outputs)))
    program = conv_rows.filter_maxima(taps, threads)
    backend.run(program, (-(-channels // 8),), w, largest[images:], outputs, channels)
    return largest


def _maxima(backend: Backend, a: Any, of_a: Any, b: Any, of_b: Any, more: int = 0) -> Any:
    """`conv_rows.maxima` of two tensors, each seen as (outer, slots, size); room for `more`."""
    slots, warps = of_a[1] + of_b[1], 1
    pieces, steps, sizes = [], [], []
    for outer, many, size in (of_a, of_b):
        step = 4 if size % 4 == 0 else 1
        groups = size // step
        count = 0 if outer == 1 else min(9, -(-groups // 32))
        warps = max(warps, -(-outer // max(1, 8 // count)) if count else -(-groups // 256))
        pieces.append(count)
        steps.append(step)
        sizes += [many, outer, groups]
    largest = backend.empty((slots + more,), np.int32)
    threads = 32 * min(32, power_of_two_at_least(warps))
    program = conv_rows.maxima((pieces[0], pieces[1]), (steps[0], steps[1]), threads)
    backend.run(program, (slots,), a, b, largest, *sizes)
    return largest
