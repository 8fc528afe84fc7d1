"""conv2d_grad_weight: the cotangent of w for y = conv2d(x, w, stride, padding, dilation, groups).

gw[k, c, r, s] = sum over images and output pixels of g[n, k, p, q] x[n, c, p stride + r dilation - padding, ...], on the tensor cores.

::

    block: `block_m` output channels x `block_c` input channels x all taps, over a range of stages (split of the sum)
    stage: `rows` output rows of one image: g[k, pixels] and the raw x patch (halo included), cp.async, double buffered
    warp:  A = g (two pixels a 64-bit shared load), B = x read at the address of each tap; sums of all its taps in registers

The parts of all splits go to a workspace and are added in a fixed order: the same bits every time. Modes as in `conv_tile`: float32-accurate by
splitting operands and adding to float32 registers every stage, or `tf32=True`. Depthwise, small groups and shapes that do not fit take
`conv_direct`.
"""

# ruff: noqa: E501, SIM117
# (generated kernel text and table rows are not broken; nesting shows the generated nesting)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Backend, Program, backend_of
from ..source import Writer
from . import _norms, conv_direct, conv_products, sixteen
from .conv2d_grad_input import check, pair
from .conv_weight_tile import Layout, Problem, Tile, choose

__all__ = ["backward", "reference"]


def reference(
    g: Any,
    x: Any,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """gw in NumPy, tap by tap: the specification."""
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    n, channels, height, width = x.shape
    k, rows, columns = g.shape[1:]
    padded = np.zeros(
        (n, groups, channels // groups, height + 2 * padding[0], width + 2 * padding[1]), x.dtype
    )
    padded[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x.reshape(
        n, groups, channels // groups, height, width
    )
    # by BLAS: in einsum's own loops the tests of large layers took minutes
    gg = np.moveaxis(g.reshape(n, groups, k // groups, rows * columns), 0, 2)
    gg = gg.reshape(groups, k // groups, n * rows * columns)
    out = np.zeros((groups, k // groups, channels // groups, *kernel), g.dtype)
    for r in range(kernel[0]):
        for s in range(kernel[1]):
            h, v = r * dilation[0], s * dilation[1]
            where = np.s_[
                ...,
                h : h + (rows - 1) * stride[0] + 1 : stride[0],
                v : v + (columns - 1) * stride[1] + 1 : stride[1],
            ]
            seen = np.moveaxis(padded[where], 2, -1).swapaxes(0, 1)
            out[..., r, s] = gg @ seen.reshape(groups, n * rows * columns, channels // groups)
    return out.reshape(k, channels // groups, *kernel)


@functools.cache
def partial_products(p: Problem, t: Tile, mode: str) -> Program:
    """part[split, tap, k, c] over a range of stages."""
    lay, triple = Layout(p, t), mode == "tf32x3"
    (kr, ks), st, dil = p.kernel, p.stride, p.dilation
    w = Writer()
    w("def partial_products(x, g, part, stages, splits):")
    w.depth = 1
    w("sm = cuda.shared.array(0, float32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w("row8 = lane >> int32(2); k4 = lane & int32(3)")
    w(f"warp_m = warp // int32({t.wn}); warp_n = warp - warp_m * int32({t.wn})")
    w(
        f"row_group = warp_n // int32({lay.channel_warps}); channel_warp = warp_n - row_group * int32({lay.channel_warps})"
    )
    w(
        f"bx = int32(cuda.blockIdx.x); block_m = bx // int32({lay.blocks_c}); block_c = bx - block_m * int32({lay.blocks_c})"
    )
    w("group = int32(cuda.blockIdx.z); split = int64(cuda.blockIdx.y)")
    w(f"k0 = block_m * int32({lay.block_m}); c0 = block_c * int32({lay.block_c})")
    w("first = int32(stages * split // splits); last = int32(stages * (split + 1) // splits)")
    w(f"a_base = (warp_m * int32({16 * t.mt}) + row8) * int32({lay.pitch}) + int32(2) * k4")
    w(
        f"b_base = int32({lay.g_words}) + (channel_warp * int32({t.ng * 8}) + row8) * int32({lay.plane})"
        f" + row_group * int32({t.filter_rows * dil[0] * lay.row}) + int32({2 * st[1]}) * k4"
    )
    with w.block(f"for i in range(t, int32({2 * lay.stage}), int32({lay.threads})):"):
        w("sm[i] = float32(0)")
    w("cuda.syncthreads()")
    count = lay.sums
    sizes = (
        t.mt,
        t.ng,
        t.filter_rows,
        ks,
        st[1],
        dil[1],
        lay.pitch,
        lay.plane,
        dil[0] * lay.row,
        lay.shift,
    )
    macro = "_".join(map(str, (*sizes, int(triple))))
    w(f"sums = cuda.local.array({count}, float32)", f"clear_{count}(sums)")
    if triple:
        w(f"total = cuda.local.array({count}, float32)", f"clear_{count}(total)")
    if t.ahead:
        offsets = {(lay.shift + e * st[1] + s * dil[1]) // 2 for e in (0, 1) for s in range(ks)}
        w(f"kept = cuda.local.array({4 * t.mt + 2 * t.ng * t.filter_rows * len(offsets)}, float32)")
    _emit_load(w, p, t, lay, "first", "int32(0)", "if first < last:")
    w("copy_commit()", "buffer = int32(0)")
    steps = lay.padded // 8

    def flush_now(step: str) -> None:
        """Long stages: the tensor core must not accumulate more than 16 steps."""
        if triple and t.rows * steps > 16:
            with w.block(f"if ({step} & int32(15)) == int32(15):"):
                w(f"flush_{count}(total, sums)")

    with w.block("for stage in range(first, last):"):
        _emit_load(
            w, p, t, lay, "(stage + int32(1))", "(int32(1) - buffer)", "if stage + int32(1) < last:"
        )
        w("copy_commit()", "copy_wait1()", "cuda.syncthreads()")
        w(f"ao = a_base + buffer * int32({lay.stage}); bo = b_base + buffer * int32({lay.stage})")
        if t.ahead:
            w(
                f"weight_load_{macro}(kept, sm, int32(ao), int32(bo))",
                "q8 = int32(1); row_start = bo",
            )
            with w.block(f"for step in range(int32({t.rows * steps})):"):
                w("ao += int32(8)")
                with w.block(f"if q8 == int32({steps}):"):
                    w(f"q8 = int32(0); row_start += int32({st[0] * lay.row}); bo = row_start")
                with w.block("else:"):
                    w(f"bo += int32({8 * st[1]})")
                w("q8 += int32(1)")
                # nothing comes after the last step: load anything inside shared memory
                with w.block(f"if step == int32({t.rows * steps - 1}):"):
                    w("ao = a_base; bo = b_base")
                w(f"weight_ahead_{macro}(sums, kept, sm, int32(ao), int32(bo))")
                flush_now("step")
        else:
            with w.block(f"for line in range(int32({t.rows})):"):
                w(f"bq = bo + line * int32({st[0] * lay.row})")
                with w.block(f"for q8 in range(int32({steps})):"):
                    w(f"weight_step_{macro}(sums, sm, int32(ao), int32(bq))")
                    flush_now("q8")
                    w(f"ao += int32(8); bq += int32({8 * st[1]})")
        if triple:
            w(f"flush_{count}(total, sums)")
        w("cuda.syncthreads()", "buffer = int32(1) - buffer")
    size = p.outputs * p.channels
    w(
        f"m0 = k0 + warp_m * int32({16 * t.mt}) + row8; n0 = c0 + channel_warp * int32({8 * t.ng}) + int32(2) * k4"
    )
    w(
        f"home = (split * {p.groups} + group) * {kr * ks * size} + int64(row_group) * {t.filter_rows * ks * size}"
    )
    result = "total" if triple else "sums"
    bounds = f"{t.mt}_{t.ng}_{t.filter_rows}_{ks}_{p.outputs}_{p.channels}"
    w(f"weight_store_{bounds}({result}, part, home, int32(m0), int32(n0))")
    signature = ("float32*", "float32*", "float32*", "int64", "int64")
    return Program("partial_products", w.text(), signature, lay.threads, t.blocks, shared=lay.bytes)


def _emit_load(
    w: Writer, p: Problem, t: Tile, lay: Layout, stage: str, buffer: str, condition: str
) -> None:
    """Copies of one stage: g rows eight channels at a time, x rows up to eight channels at a time."""
    plane_g, plane_x = p.rows * p.columns, p.height * p.width
    warps = lay.threads // 32
    with w.block(condition):
        w(
            f"image = int64({stage} // int32({lay.row_tiles})); p0 = ({stage} % int32({lay.row_tiles})) * int32({t.rows})"
        )
        w(f"home = {buffer} * int32({lay.stage})")
        # g: block_m channels, rows x padded pixels each
        vectors = lay.padded // lay.vg
        per_group = t.rows * vectors
        many = f"copies_{4 * lay.vg}_8_{lay.pitch}_{plane_g}"
        one = f"copy{4 * lay.vg}_f32"
        w(
            f"at = ((image * {p.groups} + group) * {p.outputs} + k0) * {plane_g} + p0 * int32({p.columns})"
        )
        with w.block(f"for i in range(warp, int32({lay.block_m // 8}), int32({warps})):"):
            with w.block(f"for v in range(lane, int32({per_group}), int32(32)):"):
                w(
                    f"line = v // int32({vectors}); q = (v - line * int32({vectors})) * int32({lay.vg})"
                )
                inside = f"q < int32({p.columns})"
                if p.rows % t.rows:
                    inside += f" and p0 + line < int32({p.rows})"
                w(f"inside = {inside}")
                w(f"to = home + i * int32({8 * lay.pitch}) + line * int32({lay.padded}) + q")
                w(
                    f"source = at + (i * int32({8 * plane_g}) + line * int32({p.columns}) + q if inside else int32(0))"
                )
                full = p.outputs % lay.block_m == 0
                with w.block(
                    f"if k0 + i * int32(8) + int32(8) <= int32({p.outputs}):"
                    if not full
                    else "if True:"
                ):
                    w(f"{many}(sm, to, g, source, int32({4 * lay.vg}) if inside else int32(0))")
                if not full:
                    with w.block("else:"), w.block("for j in range(int32(8)):"):
                        w(f"there = inside and k0 + i * int32(8) + j < int32({p.outputs})")
                        w(
                            f"{one}(sm, to + j * int32({lay.pitch}), g, source + j * int32({plane_g}) if there else int64(0), int32({4 * lay.vg}) if there else int32(0))"
                        )
        # x: block_c channels, patch rows of whole input rows
        vectors = p.width // lay.vx
        lanes = 32 if vectors > 16 else 16 if vectors > 8 else 8 if vectors > 4 else 4
        rows_a_warp = 32 // lanes
        together = min(8, p.channels)
        channel_groups = -(-min(lay.block_c, p.channels) // together)
        turns = -(-channel_groups // rows_a_warp)
        many = f"copies_{4 * lay.vx}_{together}_{lay.plane}_{plane_x}"
        one = f"copy{4 * lay.vx}_f32"
        full = p.channels % lay.block_c == 0 or p.channels == together
        w(f"at = ((image * {p.groups} + group) * {p.channels} + c0) * {plane_x}")
        w(f"h0 = p0 * int32({p.stride[0]}) - int32({p.padding[0]})")
        w(
            f"part_lane = lane // int32({lanes}); v0 = (lane - part_lane * int32({lanes})) * int32({lay.vx})"
        )
        with w.block(f"for i in range(warp, int32({turns * lay.patch_rows}), int32({warps})):"):
            w(f"turn = i // int32({lay.patch_rows}); line = i - turn * int32({lay.patch_rows})")
            w(f"ch = (turn * int32({rows_a_warp}) + part_lane) * int32({together}); h = h0 + line")
            w(f"inside = h >= 0 and h < int32({p.height})")
            w(
                f"to = home + int32({lay.g_words + lay.zero}) + ch * int32({lay.plane}) + line * int32({lay.row})"
            )
            w(
                f"source = at + (ch * int32({plane_x}) + h * int32({p.width}) if inside else int32(0))"
            )
            with w.block(f"if ch < int32({channel_groups * together}):"):
                with w.block(f"for v in range(v0, int32({p.width}), int32({lanes * lay.vx})):"):
                    with w.block(
                        "if True:"
                        if full
                        else f"if c0 + ch + int32({together}) <= int32({p.channels}):"
                    ):
                        w(
                            f"{many}(sm, to + v, x, source + v, int32({4 * lay.vx}) if inside else int32(0))"
                        )
                    if not full:
                        with w.block("else:"), w.block(f"for j in range(int32({together})):"):
                            w(f"there = inside and c0 + ch + j < int32({p.channels})")
                            w(
                                f"{one}(sm, to + v + j * int32({lay.plane}), x, source + v + j * int32({plane_x}) if there else int64(0), int32({4 * lay.vx}) if there else int32(0))"
                            )


@functools.cache
def sum_splits(taps: int, rows: int) -> Program:
    """gw[group, kc, tap] = sum over splits of part[split, group, tap, kc], in a fixed order.

    `rows` == 1: one thread an output; else 32 outputs a block and `rows` splits at a time.
    """
    w = Writer()
    w("def sum_splits(part, gw, splits, total, size):")
    w.depth = 1
    w("t = int32(cuda.threadIdx.x)", "; ".join(f"s{i} = float32(0)" for i in range(4)))
    if rows > 1:
        w(
            f"tile = cuda.shared.array({32 * rows}, float32)",
            "tx = t & int32(31); ty = t >> int32(5)",
        )
        w("i = int64(cuda.blockIdx.x) * 32 + tx")
    else:
        w("i = int64(cuda.blockIdx.x) * 256 + t")
    with w.block("if i < total:"):
        w("j = int64(ty)" if rows > 1 else "j = int64(0)")
        with w.block(f"while j + {3 * rows} < splits:"):
            for u in range(4):
                w(f"s{u} += load1_f32(part, (j + {u * rows}) * total + i)")
            w(f"j += {4 * rows}")
        with w.block("while j < splits:"):
            w("s0 += load1_f32(part, j * total + i)", f"j += {rows}")
    w("s = (s0 + s1) + (s2 + s3)")
    if rows > 1:
        w("tile[t] = s", "cuda.syncthreads()")
        with w.block("if ty == 0:"):
            for r in range(1, rows):
                w(f"s += tile[tx + {32 * r}]")
    with w.block("if i < total" + (" and ty == 0:" if rows > 1 else ":")):
        w(f"group = i // (size * {taps}); j = i - group * (size * {taps}); tap = j // size")
        w(f"store1_f32(gw, (group * size + j - tap * size) * {taps} + tap, s)")
    threads = 32 * rows if rows > 1 else 256
    return Program(
        "sum_splits", w.text(), ("float32*", "float32*", "int64", "int64", "int64"), threads
    )


def run_tile(
    backend: Backend, p: Problem, t: Tile, mode: str, x: Any, g: Any, gw: Any, images: int
) -> None:
    """Products, then the sum over splits."""
    program, stages_an_image, blocks = _plan(p, t, mode)
    stages = images * stages_an_image
    splits = max(1, min(stages, backend.resident_blocks(program) // (blocks * p.groups)))
    total = int(gw.size)
    part = backend.empty((splits, total), np.float32)
    backend.run(program, (blocks, splits, p.groups), x, g, part, stages, splits)
    at_once = 1 if splits <= 40 else 8
    threads = 256 if at_once == 1 else 32
    taps, size = p.kernel[0] * p.kernel[1], p.outputs * p.channels
    summing = sum_splits(taps, at_once)
    backend.run(summing, (-(-total // threads),), part, gw, splits, total, size)


@functools.lru_cache(1024)
def _plan(p: Problem, t: Tile, mode: str) -> tuple[Program, int, int]:
    """The program, its stages an image, and its blocks a split and group."""
    lay = Layout(p, t)
    return partial_products(p, t, mode), lay.row_tiles, lay.blocks_m * lay.blocks_c


def backward(
    g: Any,
    x: Any,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    tf32: bool = False,
    kind: str | None = None,
) -> Any:
    """gw of shape (K, C / groups, *kernel) on the device, float32.

    Of float32; or of float16, or bfloat16 as uint16 words (``kind="bfloat16"``).
    """
    backend = backend_of(g)
    stride, padding, dilation, kernel = pair(stride), pair(padding), pair(dilation), pair(kernel)
    mode = sixteen.kind_of(kind, g, x) or ("tf32" if tf32 else "tf32x3")
    if mode.startswith("tf32") and not g.dtype == x.dtype == np.float32:
        raise TypeError(f"conv2d_grad_weight on the device is float32, not {g.dtype} and {x.dtype}")
    images, channels, height, width = (int(n) for n in x.shape)
    outputs = int(g.shape[1])
    gw = backend.empty((outputs, channels // groups, *kernel), np.float32)
    rows, columns = check(x.shape, gw, g.shape, stride, padding, dilation, groups)
    if not gw.size:
        return gw
    if not g.size or not x.size:
        gw[...] = 0
        return gw
    g, x = backend.contiguous(g), backend.contiguous(x)
    if backend.aligned(g, x):
        way = conv_products.way(x.shape, g.shape, kernel, stride, padding, groups, mode)
        if way == "rows":
            conv_products.weight_gradient(backend, g, x, gw, padding, dilation, mode)
            return gw
        if way == "planes":
            conv_products.weight_of_planes(backend, g, x, gw)
            return gw
    if not mode.startswith("tf32"):
        g, x, mode = sixteen.widened(g, mode), sixteen.widened(x, mode), "tf32"
    channels, outputs = channels // groups, outputs // groups
    small = min(channels, outputs) < 8 and groups > 1
    if not small and backend.aligned(g, x):
        p = Problem(
            groups,
            channels,
            outputs,
            height,
            width,
            rows,
            columns,
            kernel,
            stride,
            padding,
            dilation,
        )
        tile = choose(p, mode, backend.shared_limit)
        if tile is not None:
            run_tile(backend, p, tile, mode, x, g, gw, images)
            return gw
    _direct(
        backend,
        gw,
        g,
        x,
        groups,
        channels,
        outputs,
        (height, width),
        (rows, columns),
        kernel,
        stride,
        padding,
        dilation,
    )
    return gw


def _direct(
    backend: Backend, gw: Any, g: Any, x: Any, groups: int, channels: int, outputs: int, *shape: Any
) -> None:
    """`conv_direct.weight_gradient`, split over images."""
    kernel = shape[2]
    tile_c, tile_r, tile_s = conv_direct.weight_split(channels, kernel)
    tiles = -(-channels // tile_c) * -(-kernel[0] // tile_r) * -(-kernel[1] // tile_s)
    blocks = groups * outputs * tiles
    images, total = int(x.shape[0]), int(gw.size)
    chunk = max(1, images * blocks // 2112)
    chunks = -(-images // chunk)
    part = backend.empty((chunks, total), np.float32) if chunks > 1 else gw
    program = conv_direct.weight_gradient(groups, channels, outputs, *shape, backend.aligned(g, x))
    backend.run(program, (blocks, chunks), x, g, part, images, chunk)
    if chunks > 1:
        gw[...] = _norms.sum_partials(backend, part, chunks, total).reshape(gw.shape)
