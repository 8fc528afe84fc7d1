"""Convolution by register tiles: sums of some filters at some places that are never stored between.

    forward      y[o, q]  = sum over k of  w[o, k] line[offset[k] + q]          k = (c, i, j)
    grad weight  gw[o, k] = sum over q of  g[o, q] line[offset[k] + q]          q of all images

The planes of an image are copied into lines with zeros round them, rows and columns of one
remainder modulo the stride together. What tap k sees is then the line from an offset on, one vector
after the other, and no columns are built: a product with few filters would spend its time on them.
What lies between the rows of the output is computed too and not kept.

A tile is 8 (4 where registers are few) filters by 3 vectors of places, or 4 filters by 6 taps: in a
step of the inner loop 11 (10) loads meet 24 multiplications and additions, the most that 32
registers hold. LLVM would not find this by itself in loops over arrays, so the inner loops are
written in its vector types. One thread reaches 130 to 180 of the processor's 200 GFLOP/s in float32
(AVX-512), 100 with AVX2.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import constant, njit
from npgrad.kernels._direct import Lines
from npgrad.kernels._scratch import borrowed
from npgrad.kernels._threads import spread, thread_count

__all__ = ["MOST", "forward", "grad_weight", "suits"]

Shape = tuple[int, ...]

PLACES = 3  # vectors of places in a forward tile
SLACK = 256  # entries that the last tile may read beyond its line
FILTERS, TAPS = 4, 6  # of a tile of grad weight
# Bytes of bordered images that grad weight sums over at a time.
CHUNK_BYTES = 16 << 20
MOST = 48  # filters up to which grad weight does not lose to a product of columns
# Bytes of filters that stay in the second-level cache while an image passes.
CACHED_BYTES = 1 << 20


# -- tiles in LLVM's vector types ------------------------------------------------------------------


def vector_bytes() -> int:
    """Bytes of a register: 64 with AVX-512, else 32 (which LLVM splits where there are 16)."""
    from llvmlite import binding

    features: Any = {}
    with contextlib.suppress(RuntimeError):  # processors that LLVM does not describe
        features = binding.get_host_cpu_features()
    return 64 if features.get("avx512f") else 32


_register = constant(vector_bytes)


class _Vectors:
    """What the tiles need of LLVM: vectors of the entries of an array, loads, stores, sums."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        from llvmlite import ir

        self.ir, self.context, self.builder = ir, context, builder
        self.itemsize = dtype.bitwidth // 8
        self.lanes = vector_bytes() // self.itemsize
        self.type = ir.VectorType(context.get_value_type(dtype), self.lanes)

    def number(self, n: int) -> Any:
        """A constant index."""
        return self.ir.Constant(self.ir.IntType(64), n)

    def pointer(self, array_type: Any, value: Any, *steps: Any) -> Any:
        """Where an array's entry stands that is all `steps` from its first."""
        data = self.context.make_array(array_type)(self.context, self.builder, value=value).data
        for step in steps:
            data = self.builder.gep(data, [step])
        return data

    def at(self, pointer: Any, vector: int) -> Any:
        """The address of a vector some vectors on."""
        moved = self.builder.gep(pointer, [self.number(vector * self.lanes)])
        return self.builder.bitcast(moved, self.type.as_pointer())

    def load(self, pointer: Any, vector: int = 0) -> Any:
        """An unaligned load."""
        loaded = self.builder.load(self.at(pointer, vector))
        loaded.align = self.itemsize
        return loaded

    def store(self, value: Any, pointer: Any, vector: int = 0) -> None:
        """An unaligned store."""
        self.builder.store(value, self.at(pointer, vector)).align = self.itemsize

    def everywhere(self, scalar: Any) -> Any:
        """A vector of one number."""
        ir, undefined = self.ir, self.ir.Constant(self.type, self.ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, undefined, places)

    def sums(self, count: int) -> list[Any]:
        """Sums, which LLVM keeps in registers."""
        from numba.core import cgutils

        made = [cgutils.alloca_once(self.builder, self.type) for _ in range(count)]
        for one in made:
            self.builder.store(self.ir.Constant(self.type, [0.0] * self.lanes), one)
        return made

    def add(self, total: Any, a: Any, b: Any) -> None:
        """``total += a * b``, fused."""
        builder, flags = self.builder, ("contract",)
        product = builder.fmul(a, b, flags=flags)
        builder.store(builder.fadd(builder.load(total), product, flags=flags), total)


def _forward_tile(filters: int) -> Any:
    """``tile(line, begin, offsets, w, y, at, step)``: `filters` rows of y, `step` apart, from `at`.

    `w` holds the weights of the first tap for all filters, those of the second, and so on.
    """
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def tile(typing, line, begin, offsets, w, y, at, step):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            v = _Vectors(context, builder, line.dtype)
            totals = v.sums(filters * PLACES)
            source = v.pointer(line, args[0], args[1])
            places, weights = v.pointer(offsets, args[2]), v.pointer(w, args[3])
            shape = context.make_array(offsets)(context, builder, value=args[2]).shape
            with cgutils.for_range(builder, cgutils.unpack_tuple(builder, shape, 1)[0]) as loop:
                offset = builder.load(builder.gep(places, [loop.index]))
                seen = [v.load(builder.gep(source, [offset]), k) for k in range(PLACES)]
                first = builder.mul(loop.index, v.number(filters))
                for r in range(filters):
                    weight = builder.gep(weights, [builder.add(first, v.number(r))])
                    weight = v.everywhere(builder.load(weight))
                    for k in range(PLACES):
                        v.add(totals[r * PLACES + k], weight, seen[k])
            for r in range(filters):
                row = v.pointer(y, args[4], args[5], builder.mul(args[6], v.number(r)))
                for k in range(PLACES):
                    v.store(builder.load(totals[r * PLACES + k]), row, k)
            return context.get_dummy_value()

        number = types.int64
        return types.void(line, number, offsets, w, y, number, number), code

    return intrinsic(tile)


@constant
def _tile_of_4() -> Any:
    return _forward_tile(4)


@constant
def _tile_of_8() -> Any:
    return _forward_tile(8)


@constant
def _weight_tile() -> Any:
    """``tile(g, at, room, line, offsets, k, images, length, vectors, sums)``.

    For taps k to k + TAPS and the FILTERS rows of g from `at` on, `room` apart: the products of
    `vectors` vectors of each image, images `length` apart, summed into vectors of `sums`.
    """
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def tile(typing, g, at, room, line, offsets, k, images, length, vectors, sums):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            v = _Vectors(context, builder, line.dtype)
            totals = v.sums(FILTERS * TAPS)
            rows = [
                v.pointer(g, args[0], args[1], builder.mul(args[2], v.number(r)))
                for r in range(FILTERS)
            ]
            places = v.pointer(offsets, args[4], args[5])
            taps = []
            for t in range(TAPS):
                offset = builder.load(builder.gep(places, [v.number(t)]))
                taps.append(v.pointer(line, args[3], offset))
            with cgutils.for_range(builder, args[6]) as image:
                begin = builder.mul(image.index, args[7])
                with cgutils.for_range(builder, args[8]) as loop:
                    q = builder.add(begin, builder.mul(loop.index, v.number(v.lanes)))
                    given = [v.load(builder.gep(row, [q])) for row in rows]
                    for t in range(TAPS):
                        seen = v.load(builder.gep(taps[t], [q]))
                        for r in range(FILTERS):
                            v.add(totals[r * TAPS + t], given[r], seen)
            for i, total in enumerate(totals):
                v.store(builder.load(total), v.pointer(sums, args[9]), i)
            return context.get_dummy_value()

        n = types.int64
        return types.void(g, n, n, line, offsets, n, n, n, n, sums), code

    return intrinsic(tile)


# -- kernels ---------------------------------------------------------------------------------------


@njit()
def _border(x, n, first, frame, at, lines):  # type: ignore[no-untyped-def]
    """Image `n`, planes from `first` on, into `lines` (planes, phases, room) from entry `at` on.

    Entry (r, q) stands at (r + top, q + left) of the bordered plane.
    """
    top, left, stride, rows, row, room = frame
    sh, sw = stride
    height, width = x.shape[2:]
    for c in range(lines.shape[0]):
        plane = x[n, first + c]
        for a in range(sh):
            for b in range(sw):
                # columns of the border with remainder b: column k sw + b holds entry q
                k0 = min(row, max(0, -((b - left) // sw)))
                k1 = max(k0, min(row, (width - 1 + left - b) // sw + 1))
                line = lines[c, a * sw + b, at : at + room]
                line[rows * row :] = 0
                for s in range(rows):
                    to = line[s * row : (s + 1) * row]
                    r = s * sh + a - top
                    if not 0 <= r < height or k1 == k0:
                        to[:] = 0
                        continue
                    to[:k0] = 0
                    to[k1:] = 0
                    inner = to[k0:k1]
                    source = plane[r, k0 * sw + b - left :]
                    if sw == 1:
                        for k in range(inner.size):
                            inner[k] = source[k]
                    elif sw == 2:
                        for k in range(inner.size):
                            inner[k] = source[2 * k]
                    else:
                        for k in range(inner.size):
                            inner[k] = source[k * sw]


@njit()
def _forward(start, stop, x, w, offsets, groups, parts, wide, frame, y):  # type: ignore[no-untyped-def]
    """Parts ``start <= (n groups + group) parts + part < stop`` of the filters of a group.

    `w` is (groups, tiles, taps times filters of a tile); `wide` says that those are 8. A tile reads
    all of its weights at each place, so that many filters are taken one tile after the other.
    """
    _, _, stride, _, row, room = frame
    size = 8 if wide else 4
    out = y.shape[1] // groups
    tiles = w.shape[1]
    channels = x.shape[1] // groups
    phases = stride[0] * stride[1]
    memory = np.zeros(channels * phases * room + SLACK, x.dtype)
    lines = memory[: channels * phases * room].reshape(channels, phases, room)
    height, width = y.shape[2:]
    length = (height - 1) * row + width
    step = height * row + SLACK
    planes = np.empty(-(-tiles // parts) * size * step, y.dtype)
    block = PLACES * (_register // x.itemsize)
    blocks = -(-length // block)
    done = -1
    for item in range(start, stop):
        n = item // parts // groups
        group = item // parts % groups
        low, high = tiles * (item % parts) // parts, tiles * (item % parts + 1) // parts
        if item // parts != done:
            _border(x, n, group * channels, frame, 0, lines)
            done = item // parts
        weights = w[group]
        stay = (high - low) * weights.shape[1] * x.itemsize <= CACHED_BYTES
        for k in range(blocks * (high - low)):
            begin = (k // (high - low) if stay else k % blocks) * block
            tile = k % (high - low) if stay else k // blocks
            at = tile * size * step + begin
            if wide:
                _tile_of_8(memory, begin, offsets, weights[low + tile], planes, at, step)
            else:
                _tile_of_4(memory, begin, offsets, weights[low + tile], planes, at, step)
        for o in range(min(high * size, out) - low * size):
            for p in range(height):
                to = y[n, group * out + low * size + o, p]
                part = planes[o * step + p * row : o * step + p * row + width]
                for q in range(to.size):
                    to[q] = part[q]


@njit()
def _set_apart(start, stop, x, g, frame, plain, lines, given):  # type: ignore[no-untyped-def]
    """Images ``start <= n < stop`` of x and g into their places in the lines."""
    room = frame[5]
    for n in range(start, stop):
        _border(x, n, 0, frame, n * room, lines)
        _border(g, n, 0, plain, n * room, given)


@njit(fastmath={"reassoc"})
def _weights(start, stop, given, memory, offsets, shape, gw):  # type: ignore[no-untyped-def]
    """Tiles ``start <= group tiles + tile < stop`` of filters; gw is (groups, out, taps)."""
    images, room, length, tiles, apart = shape
    lanes = _register // memory.itemsize
    sums = np.empty(FILTERS * TAPS * lanes, memory.dtype)
    flat = given.reshape(-1)
    out, taps = gw.shape[1:]
    vectors = -(-length // lanes)
    for item in range(start, stop):
        group = item // tiles
        # a tile that reaches beyond the group's last filter begins earlier
        first = max(0, min(item % tiles * FILTERS, out - FILTERS))
        at = (group * out + first) * given.shape[2]
        line = memory[group * apart :]
        for k in range(0, taps, TAPS):
            _weight_tile(flat, at, given.shape[2], line, offsets, k, images, room, vectors, sums)
            for i in range(FILTERS * TAPS):
                t = k + i % TAPS
                o = first + i // TAPS
                if t < taps and o < out:
                    total = memory.dtype.type(0)
                    part = sums[i * lanes : (i + 1) * lanes]
                    for q in range(part.size):
                        total += part[q]
                    gw[group, o, t] = total


# -- launchers -------------------------------------------------------------------------------------


class _Frame:
    """Where taps stand in the lines, and how an image is placed in them."""

    def __init__(self, size: Shape, filters: Shape, geometry: Any, dtype: Any) -> None:
        lines = Lines(size, filters, geometry)
        self.phases = geometry.stride[0] * geometry.stride[1]
        self.row = lines.row
        self.length = (size[0] - 1) * lines.row + size[1]
        # a tile reads whole vectors, of zeros where the other factor has none
        self.room = (lines.rows + 1) * lines.row + 64 // dtype.itemsize
        self.lines = lines
        self.frame = (
            geometry.top, geometry.left, lines.stride, lines.rows, lines.row, self.room
        )  # fmt: skip

    def offsets(self, channels: int, images: int) -> Array:
        """Of all taps of a group in lines of `images` images."""
        line = np.arange(channels)[:, None] * self.phases + self.lines.phase
        return (line * (images * self.room) + self.lines.offset).ravel()


def suits(x_shape: Shape, w_shape: Shape, geometry: Any) -> bool:
    """Whether most of what the tiles compute is kept: not for planes of few places."""
    rows, row = w_shape[2:]
    stride, top, bottom, left, right, dilation, _ = geometry
    width = (x_shape[3] + left + right - dilation[1] * (row - 1) - 1) // stride[1] + 1
    height = (x_shape[2] + top + bottom - dilation[0] * (rows - 1) - 1) // stride[0] + 1
    length = (height - 1) * (width + dilation[1] * (row - 1) // stride[1]) + width
    return bool(length + 64 <= 3 * height * width)


def forward(x: Array, w: Array, geometry: Any, size: Shape) -> Array:
    """The convolution."""
    groups, channels = geometry.groups, w.shape[1]
    out = len(w) // groups
    frame = _Frame(size, w.shape, geometry, x.dtype)
    wide = vector_bytes() == 64 and (out + 7) // 8 * 8 == (out + 3) // 4 * 4
    filters = 8 if wide else 4
    tiles = -(-out // filters)
    packed = np.zeros((groups, tiles * filters, w[0].size), w.dtype)
    packed[:, :out] = w.reshape(groups, out, -1)
    packed = packed.reshape(groups, tiles, filters, -1).swapaxes(2, 3)
    packed = np.ascontiguousarray(packed).reshape(groups, tiles, -1)
    y = empty((len(x), len(w), *size), x.dtype)
    items = len(x) * groups
    parts = min(tiles, thread_count()) if items < thread_count() else 1
    cost = out * w[0].size * frame.length * 0.014 / parts
    arguments = x, packed, frame.offsets(channels, 1), groups, parts, wide, frame.frame, y
    spread(_forward, items * parts, cost, *arguments)
    return y


def grad_weight(g: Array, x: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in w; images are summed in order."""
    frame = _Frame(g.shape[2:], shape, geometry, x.dtype)
    each = (x.shape[1] * frame.phases + g.shape[1]) * frame.room * x.itemsize
    count = max(1, CHUNK_BYTES // each)
    gw = np.zeros((geometry.groups, shape[0] // geometry.groups, shape[1] * shape[2] * shape[3]))
    gw = gw.astype(g.dtype)
    for first in range(0, len(x), count):
        some = slice(first, first + count)
        gw += _summed(g[some], x[some], gw, shape, frame)
    return gw.reshape(shape)


def _summed(g: Array, x: Array, like: Array, shape: Shape, frame: _Frame) -> Array:
    """`grad_weight` of images whose lines stay in the cache."""
    groups, out, taps = like.shape
    images, room = len(x), frame.room
    lines = x.shape[1] * frame.phases
    gw = np.empty_like(like)
    with (
        borrowed((lines * images * room + SLACK,), x.dtype) as memory,
        borrowed(((len(g[0]) + FILTERS) * images * room,), g.dtype) as second,
    ):
        memory[-SLACK:] = 0
        apart = memory[:-SLACK].reshape(x.shape[1], frame.phases, images * room)
        given = second.reshape(-1, 1, images * room)
        plain = (0, 0, (1, 1), *frame.frame[3:])
        cost = lines * room * 0.3
        spread(_set_apart, images, cost, x, g, frame.frame, plain, apart, given[: len(g[0])])
        offsets = frame.offsets(shape[1], images)
        offsets = np.pad(offsets, (0, -taps % TAPS), mode="edge")
        tiles = -(-out // FILTERS)
        size = images, room, frame.length, tiles, lines // groups * images * room
        cost = images * frame.length * taps * FILTERS * 0.014
        spread(_weights, groups * tiles, cost, given, memory, offsets, size, gw)
    return gw
