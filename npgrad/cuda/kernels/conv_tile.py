"""Convolution by taps on the tensor cores: the common kernel of conv2d_grad_input and of the forward pass.

out[n, m, oy, ox] = sum over channels c and taps t of  w[t][m][c] * in[n, c, oy sy + dy[t], ox sx + dx[t]],  zero outside `in`.

::

    block: `block_m` output channels  x  a tile of images x rows x columns of pixels (flattened, 8 a tensor-core column)
    stage: 8 kc channels; their raw input patch (halo included) and their weights, copied with cp.async, double buffered
    every tap reads the same patch at a shifted address: no im2col

    warp:  A = weights, kept in memory in the order of the fragments (16 bytes a lane);  B = patch, one word a lane and half

Modes. ``"tf32x3"`` (float32-accurate): each operand is split into a part the tensor core represents and the rest, three products are summed,
and the sums are added into float32 registers after every stage (the unit truncates when it accumulates: without that the error is
5e-6). ``"tf32"``: operands rounded to 10 bits of mantissa, one product.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools

from ..launch import SHARED_LIMIT, Program
from ..source import Writer

MULTIPROCESSORS = 132  # of an H200; only the choice of tiles looks at it
UNROLLED_TAPS = 9  # up to here tap offsets are immediates of the loads
KEPT_COPIES = 6  # copies a thread and stage whose addresses stay in registers


@dataclasses.dataclass(frozen=True)
class Problem:
    """Sizes of one launch; everything is a constant of the generated kernel except the number of images."""

    groups: int
    channels: int  # reduced over, per group
    height: int  # of the input
    width: int
    out_channels: int  # per group
    rows: int  # output positions computed
    columns: int
    stride: tuple[int, int]  # input step per output position
    taps: tuple[tuple[int, int], ...]
    out_height: int  # of the output tensor
    out_width: int
    out_start: tuple[int, int]  # where position (0, 0) is written, and the step between positions
    out_step: tuple[int, int]

    @property
    def reach(self) -> tuple[int, int, int, int]:
        """min dy, max dy, min dx, max dx."""
        dys, dxs = [t[0] for t in self.taps], [t[1] for t in self.taps]
        return min(dys), max(dys), min(dxs), max(dxs)


@dataclasses.dataclass(frozen=True)
class Tile:
    """Work split of a block."""

    images: int
    rows: int
    columns: int
    mt: int  # 16-channel tiles a warp
    nt: int  # 8-pixel tiles a warp
    wm: int  # warps along channels
    wn: int  # warps along pixels
    kc: int  # groups of 8 channels a stage
    blocks: int = 1  # resident blocks wished for

    @property
    def threads(self) -> int:
        """Threads a block."""
        return 32 * self.wm * self.wn

    @property
    def block_m(self) -> int:
        """Output channels a block."""
        return 16 * self.mt * self.wm

    @property
    def pixels(self) -> int:
        """Output pixels a block."""
        return self.images * self.rows * self.columns


class _Layout:
    """Shared-memory layout of a stage."""

    def __init__(self, p: Problem, t: Tile) -> None:
        dy0, dy1, dx0, dx1 = p.reach
        self.patch_rows = (t.rows - 1) * p.stride[0] + dy1 - dy0 + 1
        span = (t.columns - 1) * p.stride[1] + dx1 - dx0 + 1
        self.whole = t.columns == p.columns  # whole input rows are copied
        if self.whole:
            self.vector = 4 if p.width % 4 == 0 else 2 if p.width % 2 == 0 else 1
            left = max(0, -dx0)
            self.zero = -(-left // self.vector) * self.vector  # shared column of input column 0
            self.copied = p.width
            extent = max(self.zero + p.width, self.zero + dx0 + span)
        else:
            aligned = (t.columns * p.stride[1]) % 4 == 0 and dx0 % 4 == 0 and p.width % 4 == 0
            self.vector = 4 if aligned else 1
            self.zero = -dx0
            self.copied = extent = -(-span // self.vector) * self.vector
        # columns of the patch that no copy writes but taps read: cleared once
        self.clear = self.whole and (self.zero > 0 or extent > self.zero + p.width)
        self.row = -(-extent // 4) * 4
        plane = t.images * self.patch_rows * self.row
        while plane % 32 not in (8, 24):
            plane += 4
        self.plane = plane
        self.patch = 8 * t.kc * plane
        self.weights = t.kc * len(p.taps) * t.mt * t.wm * 128
        self.stage = self.patch + self.weights
        capacity = 8 * t.nt * t.wn
        self.bytes = 4 * max(2 * self.stage, t.block_m * (capacity + 4)) + 4 * (
            len(p.taps) + capacity
        )


def ranked(p: Problem, images: int, mode: str, limit: int = SHARED_LIMIT) -> list[Tile]:
    """Tiles that fit into `limit` bytes of shared memory, by estimated time, best first."""
    found: list[tuple[float, Tile]] = []
    tiles_m = -(-p.out_channels // 16)
    splits = (
        [(1, 4, 2), (2, 2, 4)] if tiles_m >= 4 else [(1, 2, 4)] if tiles_m >= 2 else [(1, 1, 8)]
    )
    taps = len(p.taps)
    weight = (
        0.15 if mode == "tf32x3" else 0.4
    )  # of a shared access in the time of the products it feeds
    kc = 4 if taps == 1 else 2 if taps <= 4 else 1
    kc = min(kc, -(-p.channels // 8))
    for mt, wm, wn in splits:
        for nt in (4, 7, 8):
            # two sets of sums when they are flushed; above 8 tiles a warp only one block is resident
            blocks = 2 if mt * nt <= 8 or (mode == "tf32" and mt * nt <= 14) else 1
            if mt * nt > 14:
                continue
            capacity = 8 * nt * wn
            for columns in {p.columns, capacity, capacity // 2}:
                if columns > p.columns or columns > capacity:
                    continue
                for rows in {min(p.rows, n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 16)}:
                    if rows * columns > capacity:
                        continue
                    together = (
                        max(1, min(images, capacity // (rows * columns)))
                        if columns == p.columns
                        else 1
                    )
                    for many in {1, together}:
                        tile = Tile(many, rows, columns, mt, nt, wm, wn, kc, blocks)
                        layout = _Layout(p, tile)
                        if layout.bytes > limit:
                            continue
                        covered = -(-images // many) * -(-p.rows // rows) * -(-p.columns // columns)
                        products = covered * capacity * -(-tiles_m // (mt * wm)) * mt * wm
                        useful = images * p.rows * p.columns * p.out_channels / 16
                        # copies cost about a tenth of the products they feed; a tile of one row reads its halo again
                        halo = layout.patch_rows * layout.row * many / tile.pixels
                        small = 1.0 if layout.bytes <= 112 * 1024 and blocks == 2 else 1.25
                        launched = covered * -(-tiles_m // (mt * wm)) * p.groups / MULTIPROCESSORS
                        small *= (
                            -(-launched // 1) / launched
                        )  # the last round of blocks is not full
                        cost = (
                            products
                            / useful
                            * (1 + 0.08 * halo)
                            * small
                            * (1 + weight * (4 * mt + 2 * nt) / (mt * nt))
                        )
                        found.append((cost, tile))
    return [t for _, t in sorted(found, key=lambda f: f[0])]


@functools.cache
def choose(p: Problem, images: int, mode: str, limit: int = SHARED_LIMIT) -> Tile | None:
    """The tile with the least estimated time, or None."""
    return next(iter(ranked(p, images, mode, limit)), None)


@functools.cache
def arrange_weights(taps: tuple[int, ...], transposed: bool, tiles: int) -> Program:
    """Weights in fragment order: [group][block][8-channel chunk][tap][16-row tile of the block][lane][4], zero where padded.

    `taps` are flat filter positions. `transposed`: row m is the weight's axis 1 and the reduced channel its axis 0 (grad input).
    """
    w = Writer()
    count = len(taps)
    w("def arrange_weights(weight, out, table, total, blocks, chunks, rows, channels, filter):")
    w.depth = 1
    w("i = int64(cuda.blockIdx.x) * 256 + cuda.threadIdx.x")
    with w.block("while i < total:"):
        w("part = i & 3; lane = (i >> 2) & 31; j = i >> 7")
        w(f"tile = j % {tiles}; j = j // {tiles}; tap = j % {count}; j = j // {count}")
        w("chunk = j % chunks; j = j // chunks; block = j % blocks; group = j // blocks")
        w(f"tile += block * {tiles}")
        # fragment order of m16n8k8: a0 (g, k) a1 (g+8, k) a2 (g, k+4) a3 (g+8, k+4), g = lane / 4, k = lane % 4
        w(
            "m = tile * 16 + (lane >> 2) + 8 * (part & 1); c = chunk * 8 + (lane & 3) + 4 * (part >> 1)"
        )
        w("value = float32(0)")
        with w.block("if m < rows and c < channels:"):
            if transposed:
                w("at = (group * channels + c) * rows + m")
            else:
                w("at = (group * rows + m) * channels + c")
            w("value = load1_f32(weight, at * filter + load1_i32(table, tap))")
        w("store1_f32(out, i, value)", "i += int64(cuda.gridDim.x) * 256")
    signature = ("float32*", "float32*", "int32*") + ("int64",) * 6
    return Program("arrange_weights", w.text(), signature, 256)


@functools.cache
def convolve(p: Problem, t: Tile, mode: str) -> Program:
    """The kernel; see the module."""
    lay = _Layout(p, t)
    dy0, _, dx0, _ = p.reach
    taps, triple = len(p.taps), mode == "tf32x3"
    chunks = -(-p.channels // 8)
    stages = -(-chunks // t.kc)
    blocks_m = -(-p.out_channels // t.block_m)
    row_tiles, column_tiles = -(-p.rows // t.rows), -(-p.columns // t.columns)
    block_tiles = t.mt * t.wm
    plane_in, plane_out = p.height * p.width, p.out_height * p.out_width
    threads = t.threads
    w = Writer()
    w("def convolve(x, weights, offsets, out, images):")
    w.depth = 1
    w("sm = cuda.shared.array(0, float32)", f"table = cuda.shared.array({taps}, int32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w(f"warp_m = warp // int32({t.wn}); warp_n = warp - warp_m * int32({t.wn})")
    w("row8 = lane >> int32(2); k4 = lane & int32(3)")
    w(
        f"bx = int32(cuda.blockIdx.x); column_tile = bx % int32({column_tiles}); bx = bx // int32({column_tiles})"
    )
    w(f"row_tile = bx % int32({row_tiles}); image = (bx // int32({row_tiles})) * int32({t.images})")
    w("block_m = int32(cuda.blockIdx.y); group = int32(cuda.blockIdx.z)")
    w(f"oy0 = row_tile * int32({t.rows}); ox0 = column_tile * int32({t.columns})")
    w(f"iy0 = oy0 * int32({p.stride[0]}) + int32({dy0})")
    w(f"ix0 = ox0 * int32({p.stride[1]}) + int32({dx0})")
    with w.block(f"for i in range(t, int32({taps}), int32({threads})):"):
        w("table[i] = load1_i32(offsets, int64(i))")
    if lay.clear:
        for buffer in range(2):
            with w.block(f"for i in range(t, int32({lay.patch}), int32({threads})):"):
                w(f"sm[i + int32({buffer * lay.stage})] = float32(0)")
    w("cuda.syncthreads()")
    # where this lane's pixel of each 8-pixel tile starts in the patch
    count = 4 * t.mt * t.nt
    capacity = 8 * t.nt * t.wn
    w(f"where = cuda.shared.array({capacity}, int32)")
    with w.block(f"for i in range(t, int32({capacity}), int32({threads})):"):
        w(f"j = i if i < int32({t.pixels}) else int32(0)")
        w(f"ti = j // int32({t.rows * t.columns}); j = j - ti * int32({t.rows * t.columns})")
        w(f"ty = j // int32({t.columns}); tx = j - ty * int32({t.columns})")
        base = lay.zero + dx0 if lay.whole else 0
        w(
            f"where[i] = (ti * int32({lay.patch_rows}) + ty * int32({p.stride[0]})) * int32({lay.row})"
            f" + tx * int32({p.stride[1]}) + int32({base})"
        )
    w("cuda.syncthreads()", f"pixels = cuda.local.array({t.nt}, int32)")
    for n in range(t.nt):
        w(
            f"pixels[{n}] = where[(warp_n * int32({t.nt}) + int32({n})) * int32(8) + row8] + k4 * int32({lay.plane})"
        )
    w(f"sums = cuda.local.array({count}, float32)", f"clear_{count}(sums)")
    if triple:
        w(f"total = cuda.local.array({count}, float32)", f"clear_{count}(total)")
    vectors = lay.copied // lay.vector
    copies = 8 * t.kc * t.images * lay.patch_rows * vectors
    copy = {4: "copy16_f32", 2: "copy8_f32", 1: "copy4_f32"}[lay.vector]
    stage_weights = t.kc * taps * block_tiles * 128
    ragged = p.channels % (8 * t.kc) != 0
    turns = -(-copies // threads)
    kept = turns <= KEPT_COPIES

    def place(suffix: str) -> None:
        """Where copy f of a stage comes from and goes to; the same in every stage but for the channel."""
        w(f"line = f // int32({vectors}); v = (f - line * int32({vectors})) * int32({lay.vector})")
        w(
            f"ch = line // int32({t.images * lay.patch_rows}); line = line - ch * int32({t.images * lay.patch_rows})"
        )
        w(f"ti = line // int32({lay.patch_rows}); yr = line - ti * int32({lay.patch_rows})")
        w("iy = iy0 + yr; n = image + ti")
        if lay.whole:
            w(f"ix = v; to = v + int32({lay.zero}); inside = True")
        else:
            w(f"ix = ix0 + v; to = v; inside = ix >= 0 and ix < int32({p.width})")
        w(
            f"inside = inside and iy >= 0 and iy < int32({p.height}) and n < images and f < int32({copies})"
        )
        w(
            f"at{suffix} = ((int64(n) * {p.groups} + group) * {p.channels} + ch) * {plane_in} + iy * int32({p.width}) + ix"
        )
        w(f"size{suffix} = int32({4 * lay.vector}) if inside else int32(0)")
        w(f"ch{suffix} = ch")
        w(
            f"to{suffix} = ch * int32({lay.plane}) + (ti * int32({lay.patch_rows}) + yr) * int32({lay.row}) + to"
        )

    def issue(suffix: str, stage: str) -> None:
        w(f"taken = size{suffix}")
        if ragged:
            w(
                f"taken = taken if {stage} * int32({8 * t.kc}) + ch{suffix} < int32({p.channels}) else int32(0)"
            )
        w(
            f"source = at{suffix} + int64({stage}) * {8 * t.kc * plane_in} if taken > 0 else int64(0)"
        )
        w(f"{copy}(sm, home + to{suffix}, x, source, taken)")

    if kept:
        for u in range(turns):
            w(f"f = t + int32({u * threads})")
            place(str(u))
    w(f"wbase = (int64(group) * {blocks_m} + block_m) * {chunks * taps * block_tiles * 128}")

    def load_stage(stage: str, buffer: str) -> None:
        w(f"home = {buffer} * int32({lay.stage})")
        if kept:
            for u in range(turns):
                if (u + 1) * threads <= copies:
                    issue(str(u), stage)
                else:
                    with w.block(f"if t < int32({copies - u * threads}):"):
                        issue(str(u), stage)
        else:
            with w.block(f"for f in range(t, int32({copies}), int32({threads})):"):
                place("")
                issue("", stage)
        last = chunks * taps * block_tiles * 128
        with w.block(
            f"for f in range(t * int32(4), int32({stage_weights}), int32({4 * threads})):"
        ):
            w(f"from_chunk = {stage} * int32({stage_weights}) + f")
            if chunks % t.kc:
                w(f"taken = int32(16) if from_chunk < int32({last}) else int32(0)")
                w("source = wbase + from_chunk if taken > 0 else int64(0)")
                w(f"copy16_f32(sm, home + int32({lay.patch}) + f, weights, source, taken)")
            else:
                w(
                    f"copy16_f32(sm, home + int32({lay.patch}) + f, weights, wbase + from_chunk, int32(16))"
                )
        w("copy_commit()")

    load_stage("int32(0)", "int32(0)")
    w("buffer = int32(0)")
    with w.block(f"for stage in range(int32({stages})):"):
        with w.block(f"if stage + int32(1) < int32({stages}):"):
            load_stage("(stage + int32(1))", "(int32(1) - buffer)")
            w("copy_wait1()")
        with w.block("else:"):
            w("copy_wait0()")
        w("cuda.syncthreads()")
        w(f"home = buffer * int32({lay.stage})")
        w(f"wa = home + int32({lay.patch}) + warp_m * int32({t.mt * 128}) + lane * int32(4)")
        with w.block(f"for k in range(int32({t.kc})):"):
            w(f"pk = home + k * int32({8 * lay.plane})")
            stem = f"tile_products_{t.mt}_{t.nt}_{int(triple)}_{4 * lay.plane}"
            if taps <= UNROLLED_TAPS:
                for i, offset in enumerate(tap_offsets(p, t)):
                    w(f"{stem}_{offset}_{i * block_tiles * 128}(sums, sm, int32(wa), pk, pixels)")
                w(f"wa += int32({taps * block_tiles * 128})")
            else:
                with w.block(f"for tap in range(int32({taps})):"):
                    w(f"{stem}_0_0(sums, sm, int32(wa), pk + table[tap], pixels)")
                    w(f"wa += int32({block_tiles * 128})")
                    if triple:
                        with w.block("if (tap & int32(7)) == int32(7):"):
                            w(f"flush_{count}(total, sums)")
        if triple:
            w(f"flush_{count}(total, sums)")
        w("cuda.syncthreads()", "buffer = int32(1) - buffer")
    # results through shared memory: whole lines of pixels are written
    pitch = capacity + 4
    home = f"(warp_m * int32({16 * t.mt}) + row8) * int32({pitch}) + warp_n * int32({8 * t.nt}) + int32(2) * k4"
    w(
        f"tile_put_{t.mt}_{t.nt}_{pitch}({'total' if triple else 'sums'}, sm, int32({home}))",
        "cuda.syncthreads()",
    )
    with w.block(f"for i in range(t, int32({t.block_m * t.pixels}), int32({threads})):"):
        w(
            f"line = i // int32({t.pixels}); j = i - line * int32({t.pixels}); value = sm[line * int32({pitch}) + j]"
        )
        w(f"ti = j // int32({t.rows * t.columns}); j = j - ti * int32({t.rows * t.columns})")
        w(f"ty = j // int32({t.columns}); tx = j - ty * int32({t.columns})")
        w(f"n = image + ti; oy = oy0 + ty; ox = ox0 + tx; m = block_m * int32({t.block_m}) + line")
        with w.block(
            f"if n < images and oy < int32({p.rows}) and ox < int32({p.columns}) and m < int32({p.out_channels}):"
        ):
            w(f"at = ((int64(n) * {p.groups} + group) * {p.out_channels} + m) * {plane_out}")
            w(
                f"at += (oy * int32({p.out_step[0]}) + int32({p.out_start[0]})) * int32({p.out_width})"
            )
            w(f"store1_f32(out, at + ox * int32({p.out_step[1]}) + int32({p.out_start[1]}), value)")
    signature = ("float32*", "float32*", "int32*", "float32*", "int64")
    shared = 4 * max(2 * lay.stage, t.block_m * pitch)
    return Program("convolve", w.text(), signature, threads, t.blocks, shared=shared)


def tap_offsets(p: Problem, t: Tile) -> list[int]:
    """Shared-memory distance of every tap from the first corner of the patch."""
    lay = _Layout(p, t)
    dy0, _, dx0, _ = p.reach
    return [(dy - dy0) * lay.row + dx - dx0 for dy, dx in p.taps]


def grid(p: Problem, t: Tile, images: int) -> tuple[int, int, int]:
    """Pixel tiles, channel blocks, groups."""
    pixels = -(-images // t.images) * -(-p.rows // t.rows) * -(-p.columns // t.columns)
    return pixels, -(-p.out_channels // t.block_m), p.groups
