"""Images as rows of positions, in 16 bits: what `conv_products` multiplies, and the way back.

::

    rows[(n, yy, ox), (r, s, c)] = x[n, c, yy + r row_step - top, ox + s dilation - left]
                                   zero outside of the image

Each position of a padded image is a row, with the columns of all filter columns s side by side. The
filter row r reads the same rows, r dilation (columns of y) further on: only where an image is small
are its filter rows side by side too (`folded`).

float32 is split into two float16 of 11 bits each, ``v 2^e = high + low / 2048``, which is 24 bits
as long as v is at least 2^-29 of the largest value that shares its power of two; below that the
error is at most 2^-50 of it. The power is exact and is undone at the end. What shares one: a
channel, where channels are not summed over, else an image. 16-bit operands go as they are.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..launch import Program
from ..source import ELEMENTS, Writer

__all__ = [
    "Rows",
    "filter_maxima",
    "filter_rows",
    "maxima",
    "planes",
    "position_rows",
    "sum_chunks",
]

TILE = 64  # channels of a block
MOST = 128  # pixels of a block
LOW = 2048.0  # low halves carry this factor


class Rows(NamedTuple):
    """How a tensor (images, channels, height, width) becomes rows; all constants of a kernel."""

    channels: int
    height: int
    width: int
    rows: int  # an image, with padding
    columns: int  # of y
    filter_columns: int
    dilation: int
    top: int
    left: int
    folded: int = 1  # filter rows side by side
    row_step: int = 1  # image rows between them

    @property
    def halo(self) -> int:
        """Image rows beyond a block's own."""
        return (self.folded - 1) * self.row_step

    @property
    def at_once(self) -> int:
        """Image rows of a block."""
        return max(1, min(self.rows, MOST // self.width - self.halo))

    @property
    def positions(self) -> int:
        """Rows of an image."""
        return self.rows * self.columns

    @property
    def across(self) -> int:
        """Columns of a row."""
        return self.folded * self.filter_columns * self.channels

    def blocks(self, images: int) -> int:
        """Blocks for so many images."""
        return images * -(-self.rows // self.at_once) * -(-self.channels // TILE)


def _field(w: Writer, name: str, bits: str) -> None:
    """The exponent field of the power of two that brings `bits`, a largest value, to 2^14..2^15."""
    w(f"{name} = int32(268) - ({bits} >> int32(23))")
    w(f"{name} = int32(127) if {name} == int32(13) else min({name}, int32(253))")


@functools.cache
def maxima(pieces: tuple[int, int], steps: tuple[int, int], threads: int = 1024) -> Program:
    """out[slot] = the largest absolute value of a[:, slot, :], as bits; then of b. A block a slot.

    Bits of positive floats are in the order of their values, and those of NaN above all. Sizes are
    in groups of `steps` elements, 1 or 4. A warp takes an outer index at a time: in `pieces` of 32
    groups (up to 8, some outer indices at once), or in a loop (9); 0 where the outer size is 1.
    What lies beyond an end is its last group again, which does not change a maximum.
    """
    w = Writer()
    w("def maxima(a, b, out, slots_a, outer_a, size_a, slots_b, outer_b, size_b):")
    w.depth = 1
    w("red = cuda.shared.array(32, int32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w("block = int64(cuda.blockIdx.x); m = int32(0)")
    for name, count, step, test in (
        ("a", pieces[0], steps[0], "<"),
        ("b", pieces[1], steps[1], ">="),
    ):
        with w.block(f"if block {test} slots_a:"):
            w("slot = block" if name == "a" else "slot = block - slots_a")
            w(f"size = size_{name}; last = outer_{name} - 1")
            if count == 0:
                w("start = slot * size; i = int64(t)")
                with w.block("while i < size:"):
                    places = [f"start + min(i + {threads * j}, size - 1)" for j in range(8)]
                    _look(w, name, step, places)
                    w(f"i += {8 * threads}")
                continue
            many, warps = max(1, 8 // count), threads // 32
            w("o = int64(warp)")
            with w.block(f"while o < outer_{name}:"):
                for j in range(many):
                    w(f"start{j} = (min(o + {j * warps}, last) * slots_{name} + slot) * size")
                if count <= 8:
                    places = [
                        f"start{j} + min(lane + {32 * k}, size - 1)"
                        for j in range(many)
                        for k in range(count)
                    ]
                    _look(w, name, step, places)
                else:
                    w("i = int64(lane)")
                    with w.block("while i < size:"):
                        places = [f"start0 + min(i + {32 * k}, size - 1)" for k in range(8)]
                        _look(w, name, step, places)
                        w("i += 256")
                w(f"o += {many * warps}")
    for step in (16, 8, 4, 2, 1):
        w(f"m = max(m, shfl_xor_i32(int32(-1), m, int32({step})))")
    with w.block("if lane == 0:"):
        w("red[warp] = m")
    w("cuda.syncthreads()")
    with w.block("if warp == 0:"):
        w(f"m = red[t] if t < int32({threads // 32}) else int32(0)")
        for step in (16, 8, 4, 2, 1):
            w(f"m = max(m, shfl_xor_i32(int32(-1), m, int32({step})))")
        with w.block("if t == 0:"):
            w("store1_u32(out, block, uint32(m))")
    signature = ("float32*", "float32*", "uint32*") + ("int64",) * 6
    return Program("maxima", w.text(), signature, threads)


def _look(w: Writer, name: str, step: int, places: list[str]) -> None:
    """Take the largest of groups of `step` elements, all in flight."""
    for j, place in enumerate(places):
        lanes = ", ".join(f"v{j}_{k}" for k in range(step))
        w(f"{lanes} = load{step}_f32({name}, ({place}) * {step})")
    for j in range(len(places)):
        for k in range(step):
            w(f"m = max(m, bits_of(v{j}_{k}) & int32(0x7FFFFFFF))")


@functools.cache
def filter_maxima(taps: int, threads: int) -> Program:
    """The same of weight[k, c, :] for each c: 8 of them a block, so that reads lie side by side."""
    at_once = max(1, 8 // taps)
    w = Writer()
    w("def filter_maxima(weight, out, outputs, channels):")
    w.depth = 1
    w(f"red = cuda.shared.array({threads // 4}, int32)")
    w("t = int32(cuda.threadIdx.x); m = int32(0)")
    w("c = int64(cuda.blockIdx.x) * 8 + (t & int32(7)); own = min(c, channels - 1)")
    w("k = int64(t >> int32(3)); last = outputs - 1")
    with w.block("while k < outputs:"):
        places = [
            f"(min(k + {j * threads // 8}, last) * channels + own) * {taps} + {tap}"
            for j in range(at_once)
            for tap in range(taps)
        ]
        _look(w, "weight", 1, places)
        w(f"k += {at_once * threads // 8}")
    for step in (16, 8):
        w(f"m = max(m, shfl_xor_i32(int32(-1), m, int32({step})))")
    with w.block("if (t & int32(31)) < int32(8):"):
        w("red[(t >> int32(5)) * int32(8) + (t & int32(7))] = m")
    w("cuda.syncthreads()")
    with w.block("if t < int32(8) and c < channels:"):
        for j in range(1, threads // 32):
            w(f"m = max(m, red[t + int32({8 * j})])")
        w("store1_u32(out, c, uint32(m))")
    signature = ("float32*", "uint32*", "int64", "int64")
    return Program("filter_maxima", w.text(), signature, threads)


@functools.cache
def position_rows(r: Rows, kind: str, by_image: bool) -> Program:
    """The rows of a tensor. `kind`: "split" (high and low), "high", or "words" (as they are).

    Addresses are in words of two columns. Images from `images` on are rows of zeros; rows are
    written below `high_rows` and `low_rows`.
    """
    pixels = (r.at_once + r.halo) * r.width
    pitch = pixels | 1  # odd: channels of one position lie in different banks
    groups, tiles = -(-r.rows // r.at_once), -(-r.channels // TILE)
    words = kind == "words"
    zero = "int32(0)" if words else "float32(0)"
    w = Writer()
    w("def position_rows(x, largest, out, images, high_at, low_at, pitch, high_rows, low_rows):")
    w.depth = 1
    w(f"tile = cuda.shared.array({TILE * pitch}, {'int32' if words else 'float32'})")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w("b = int32(cuda.blockIdx.x)")
    w(f"c0 = int32((b % int32({tiles})) * int32({TILE})); b = int32(b // int32({tiles}))")
    w(f"y0 = int32((b % int32({groups})) * int32({r.at_once})); n = int64(b // int32({groups}))")
    if not words:
        w(f"scales = cuda.shared.array({TILE}, float32)")
        with w.block(f"if t < int32({TILE}) and c0 + t < int32({r.channels}) and n < images:"):
            w("bits = load1_i32(largest, " + ("n)" if by_image else "int64(c0 + t))"))
            _field(w, "field", "bits")
            w("scales[t] = float_of(field << int32(23))")
        w("cuda.syncthreads()")
    # the rows of x under this block are one run of memory a channel
    w(f"low_y = max(y0 - int32({r.top}), int32(0))")
    w(f"high_y = min(y0 + int32({r.at_once + r.halo - r.top}), int32({r.height}))")
    w(f"size = int32((high_y - low_y) * int32({r.width}))")
    w(f"shift = int32((low_y - y0 + int32({r.top})) * int32({r.width}))")
    many = -(-pixels // 32)
    with w.block("if n < images and size > 0:"):
        for first in range(0, TILE // 8, 4):  # four channels of a warp in flight
            for j in range(first, first + 4):
                w(f"own{j} = min(int32(c0 + warp + int32({8 * j})), int32({r.channels - 1}))")
                w(f"at{j} = (n * {r.channels} + own{j}) * {r.height * r.width} + low_y * {r.width}")
                for k in range(many):
                    w(f"i = min(int32(lane + int32({32 * k})), int32(size - int32(1)))")
                    w(f"v{j}{k} = load1_{'u16' if words else 'f32'}(x, at{j} + i)")
            for j in range(first, first + 4):
                w(f"c = int32(warp + int32({8 * j}))")
                # even channels first, then odd ones: a lane takes two neighbours
                w(f"c = (c & int32(1)) * int32({TILE // 2}) + (c >> int32(1))")
                w(f"to = int32(c * int32({pitch}) + shift + lane)")
                for k in range(many):
                    with w.block(f"if lane + int32({32 * k}) < size:"):
                        factor = "" if words else f" * scales[warp + int32({8 * j})]"
                        w(f"tile[to + int32({32 * k})] = v{j}{k}{factor}")
    w("cuda.syncthreads()")
    w("c = int32(c0 + int32(2) * lane); q = warp")
    w(f"end = int32(min(int32({r.at_once}), int32(int32({r.rows}) - y0)) * int32({r.columns}))")
    w(f"end = end if c < int32({r.channels}) else int32(0)")
    w(f"row0 = (n * {r.rows} + y0) * {r.columns}")
    with w.block("while q < end:"):
        w(f"line = int32(q // int32({r.columns})); ox = int32(q - line * int32({r.columns}))")
        w("row = row0 + q; word = row * pitch + (c >> int32(1))")
        for fold in range(r.folded):
            step = fold * r.row_step
            w(f"y = int32(y0 + line + int32({step - r.top}))")
            w(f"inside = n < images and y >= int32(0) and y < int32({r.height})")
            w(f"at_line = int32(lane * int32({pitch}) + (line + int32({step})) * int32({r.width}))")
            for s in range(r.filter_columns):
                w(f"xx = int32(ox + int32({s * r.dilation - r.left}))")
                w(f"v0 = {zero}; v1 = {zero}")
                with w.block(f"if inside and xx >= int32(0) and xx < int32({r.width}):"):
                    w("v0 = tile[at_line + xx]")
                    w(f"v1 = tile[at_line + xx + int32({TILE // 2 * pitch})]")
                to = f"word + {(fold * r.filter_columns + s) * r.channels // 2}"
                if kind == "split":
                    w("high, low = split2_f16(v0, v1)")
                    with w.block("if row < low_rows:"):
                        w(f"store1_u32(out, low_at + {to}, low)")
                else:
                    w("high = " + ("pack2_u16(v0, v1)" if words else "pack2_f16(v0, v1)"))
                with w.block("if row < high_rows:"):
                    w(f"store1_u32(out, high_at + {to}, high)")
        w("q = int32(q + int32(8))")
    element = "uint16*" if words else "float32*"
    signature = (element, "int32*", "uint32*") + ("int64",) * 6
    return Program("position_rows", w.text(), signature, 256)


@functools.cache
def filter_rows(kernel: tuple[int, int], folded: bool, transposed: bool, kind: str) -> Program:
    """The filter as matrices of (filter row; low, high; (filter column, summed), not summed).

    `folded`: of (low, high; (filter row, filter column, summed), not summed). `transposed`: output
    channels are summed over and taps are in reverse order, for grad-input.
    """
    height, width = kernel
    taps, parts = height * width, 2 if kind == "split" else 1
    words = kind == "words"
    w = Writer()
    w("def filter_rows(weight, largest, out, outputs, channels):")
    w.depth = 1
    w("i = int64(cuda.blockIdx.x) * 256 + cuda.threadIdx.x")
    across, down = ("channels", "outputs") if transposed else ("outputs", "channels")
    w(f"half = {across} // 2; a = i // half; b = (i - a * half) * 2")
    with w.block(f"if a < {down}:"):
        if not words:
            for j in range(2):
                w(f"bits{j} = load1_i32(largest, b + {j})")
                _field(w, f"field{j}", f"bits{j}")
                w(f"scale{j} = float_of(field{j} << int32(23))")
        for j in range(2):
            own = f"a * channels + b + {j}" if transposed else f"(b + {j}) * channels + a"
            w(f"at{j} = ({own}) * {taps}")
        w(f"size = {taps if folded else width} * {down} * half")
        for row in range(height):
            for column in range(width):
                tap = row * width + column
                tap = taps - 1 - tap if transposed else tap
                for j in range(2):
                    load = f"load1_u16(weight, at{j} + {tap})"
                    float_load = f"load1_f32(weight, at{j} + {tap}) * scale{j}"
                    w(f"v{j} = " + (load if words else float_load))
                before = 0 if folded else row * parts
                inside = row * width + column if folded else column
                w(f"to = {before} * size + ({inside} * {down} + a) * half + b // 2")
                if kind == "split":
                    w("high, low = split2_f16(v0, v1)")
                    w("store1_u32(out, to, low)", "store1_u32(out, to + size, high)")
                else:
                    w("high = " + ("pack2_u16(v0, v1)" if words else "pack2_f16(v0, v1)"))
                    w("store1_u32(out, to, high)")
    element = "uint16*" if words else "float32*"
    signature = (element, "int32*", "uint32*", "int64", "int64")
    return Program("filter_rows", w.text(), signature, 256)


def _undo(w: Writer, value: str, first: str, second: str) -> None:
    """`value` times the inverse of two powers of two, halved so that neither factor overflows."""
    _field(w, "field0", first)
    _field(w, "field1", second)
    w("power = int32(254) - field0 - field1; near = power >> int32(1)")
    w(f"{value} *= float_of((near + int32(127)) << int32(23))")
    w(f"{value} *= float_of((power - near + int32(127)) << int32(23))")


@functools.cache
def sum_chunks(kernel: tuple[int, int], folded: bool, slices: int, scaled: bool) -> Program:
    """gw[k, c, r, s] = sum over chunks of part[r, chunk, k, (s, c)], powers of two undone.

    `folded`: part[chunk, k, (r, s, c)]. A thread takes all taps of one k and c, and one of `slices`
    of the chunks; a fixed order. What a block has is one run of memory for each k.
    """
    taps, own = kernel[0] * kernel[1], 8 // slices  # k of a block
    w = Writer()
    w("def sum_chunks(part, largest, out, chunks, outputs, channels):")
    w.depth = 1
    w(f"tile = cuda.shared.array({8 * taps * 33}, float32)")
    w("t = int32(cuda.threadIdx.x); tx = t & int32(31); ty = t >> int32(5)")
    w("tiles = (channels + 31) // 32; block = int64(cuda.blockIdx.x)")
    w(f"c0 = (block % tiles) * 32; k0 = (block // tiles) * {own}")
    w(f"c = min(c0 + tx, channels - 1); k = min(k0 + ty // int32({slices}), outputs - 1)")
    w("; ".join(f"s{i} = float32(0)" for i in range(taps)))
    across = taps if folded else kernel[1]
    w(f"j = int64(ty % int32({slices})); size = channels * {across}; plane = outputs * size")
    for times in (2, 1):  # chunks at once: the loads of both are in flight
        with w.block(f"while j + {slices * (times - 1)} < chunks:"):
            for q in range(times):
                w(f"at{q} = (j + {slices * q}) * plane + k * size + c")
                for i in range(taps):
                    r, column = (0, i) if folded else divmod(i, kernel[1])
                    place = f"at{q} + {r} * chunks * plane + {column} * channels"
                    w(f"v{q}_{i} = load1_f32(part, {place})")
            for q in range(times):
                for i in range(taps):
                    w(f"s{i} += v{q}_{i}")
            w(f"j += {slices * times}")
    for i in range(taps):
        w(f"tile[(ty * int32({taps}) + int32({i})) * int32(33) + tx] = s{i}")
    w("cuda.syncthreads()")
    count = own * 32 * taps
    for first in range(0, count, 1024):  # four of a thread at once
        turns = range(first, min(first + 1024, count), 256)
        for i in turns:
            w(f"i{i} = int32(t + int32({i})); own = int32(i{i} // int32({32 * taps}))")
            w(f"rest = int32(i{i} - own * int32({32 * taps})); cc = int32(rest // int32({taps}))")
            w(f"tap = int32(rest - cc * int32({taps}))")
            w(f"at{i} = int32((own * int32({slices * taps}) + tap) * int32(33) + cc)")
            w(f"own_c{i} = c0 + cc; own_k{i} = k0 + own")
            w(f"to{i} = (own_k{i} * channels + own_c{i}) * {taps} + tap")
            if scaled:
                w(f"bits0_{i} = load1_i32(largest, min(own_c{i}, channels - 1))")
                w(f"bits1_{i} = load1_i32(largest, channels + min(own_k{i}, outputs - 1))")
        for i in turns:
            inside = f"own_c{i} < channels and own_k{i} < outputs"
            with w.block(f"if i{i} < int32({count}) and {inside}:"):
                w(f"v = tile[at{i}]")
                for j in range(1, slices):
                    w(f"v += tile[at{i} + int32({j * taps * 33})]")
                if scaled:
                    _undo(w, "v", f"bits0_{i}", f"bits1_{i}")
                w(f"store1_f32(out, to{i}, v)")
    signature = ("float32*", "int32*", "float32*", "int64", "int64", "int64")
    return Program("sum_chunks", w.text(), signature, 256)


@functools.cache
def planes(element: str, scaled: bool) -> Program:
    """out[n, c, p] = part[n, p, c], powers of two undone, of type `element`: 64 x 32 tiles."""
    kind = ELEMENTS[element]
    w = Writer()
    w("def planes(part, largest, out, rows, size, channels, first):")
    w.depth = 1
    w("tile = cuda.shared.array(2112, float32)")
    w("t = int32(cuda.threadIdx.x); tx = t & int32(31); ty = t >> int32(5)")
    w("tiles = (channels + 31) // 32; many = (size + 63) // 64; block = int64(cuda.blockIdx.x)")
    w("c0 = (block % tiles) * 32; block //= tiles; p0 = (block % many) * 64; n = block // many")
    w("at = n * rows * channels + min(c0 + tx, channels - 1)")
    for j in range(8):
        w(f"v{j} = load1_f32(part, at + min(p0 + ty + {8 * j}, size - 1) * channels)")
    if scaled:
        w("bits = load1_i32(largest, n)")
        for i in range(4):
            w(f"bits{i} = load1_i32(largest, first + min(c0 + ty + {8 * i}, channels - 1))")
    for j in range(8):
        w(f"tile[(ty + int32({8 * j})) * int32(33) + tx] = v{j}")
    w("cuda.syncthreads()")
    for i in range(4):
        w(f"c = c0 + ty + {8 * i}; at = (n * channels + c) * size")
        for half in (0, 32):
            w(f"p = p0 + tx + {half}")
            w(f"v = tile[(tx + int32({half})) * int32(33) + ty + int32({8 * i})]")
            if scaled:
                _undo(w, "v", "bits", f"bits{i}")
            with w.block("if c < channels and p < size:"):
                w(f"{kind.store(1)}(out, at + p, v)")
    signature = ("float32*", "int32*", kind.pointer) + ("int64",) * 4
    return Program("planes", w.text(), signature, 256)
