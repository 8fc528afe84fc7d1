"""Convolution gradients without tensor cores: depthwise and small groups, and whatever shape the tiled kernels do not take.

grad input: a thread owns one element of gx and sums over output channels and taps. grad weight: a block owns one output channel, a few input
channels and a few taps, its threads walk over the pixels with all sums in registers, then a block reduction; images are split over the grid and
the parts added in a fixed order. Both are right for any stride, padding, dilation and groups; both give the same bits every time.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools

from ..launch import Program
from ..source import Writer, lanes_reduce

Pair = tuple[int, int]
THREADS = 256


@functools.cache
def input_gradient(
    groups: int,
    channels: int,
    outputs: int,
    size: Pair,
    out_size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
) -> Program:
    """gx, one thread an element; channels and outputs are per group, `size` is that of x, `out_size` that of g."""
    (height, width), (rows, columns) = size, out_size
    w = Writer()
    w("def input_gradient(g, weight, gx, total):")
    w.depth = 1
    w("i = int64(cuda.blockIdx.x) * 256 + cuda.threadIdx.x")
    with w.block("while i < total:"):
        w(f"plane = i // {height * width}; j = int32(i - plane * {height * width})")
        w(f"h = j // int32({width}); x = j - h * int32({width})")
        w(
            f"image = plane // {groups * channels}; channel = int32(plane - image * {groups * channels})"
        )
        w(f"group = channel // int32({channels}); c = channel - group * int32({channels})")
        unrolled = kernel[0] * kernel[1] <= 49

        def source(axis: int, name: str, position: str, tap: str) -> None:
            limit = (rows, columns)[axis]
            w(f"{name} = {position} + int32({padding[axis]}) - {tap} * int32({dilation[axis]})")
            if stride[axis] == 1:
                w(f"ok{name} = {name} >= 0 and {name} < int32({limit})")
            else:
                # floor division: a negative position stays negative
                w(f"q{name} = {name} // int32({stride[axis]})")
                w(
                    f"ok{name} = q{name} * int32({stride[axis]}) == {name} and q{name} >= 0 and q{name} < int32({limit})"
                )
                w(f"{name} = q{name}")

        w("total_here = float32(0)")
        w(f"base = (image * {groups} + group) * {outputs * rows * columns}")
        w(f"wbase = (int64(group) * {outputs * channels} + c) * {kernel[0] * kernel[1]}")
        if unrolled:
            for r in range(kernel[0]):
                source(0, f"p{r}", "h", f"int32({r})")
            for s in range(kernel[1]):
                source(1, f"c{s}", "x", f"int32({s})")
            with w.block(f"for k in range({outputs}):"):
                for r in range(kernel[0]):
                    with w.block(f"if okp{r}:"):
                        w(f"line = base + int64(p{r}) * {columns}")
                        for s in range(kernel[1]):
                            with w.block(f"if okc{s}:"):
                                w(
                                    f"total_here += load1_f32(g, line + c{s}) * load1_f32(weight, wbase + {r * kernel[1] + s})"
                                )
                w(f"base += {rows * columns}; wbase += {channels * kernel[0] * kernel[1]}")
        else:
            with w.block(f"for k in range({outputs}):"):
                with w.block(f"for r in range(int32({kernel[0]})):"):
                    source(0, "p", "h", "r")
                    with w.block("if okp:"), w.block(f"for s in range(int32({kernel[1]})):"):
                        source(1, "q", "x", "s")
                        with w.block("if okq:"):
                            w(
                                f"total_here += load1_f32(g, base + int64(p) * {columns} + q) * load1_f32(weight, wbase + r * int32({kernel[1]}) + s)"
                            )
                w(f"base += {rows * columns}; wbase += {channels * kernel[0] * kernel[1]}")
        w("store1_f32(gx, i, total_here)", "i += int64(cuda.gridDim.x) * 256")
    return Program(
        "input_gradient", w.text(), ("float32*", "float32*", "float32*", "int64"), THREADS
    )


def weight_split(channels: int, kernel: Pair) -> tuple[int, int, int]:
    """(channels a block, filter rows a block, filter columns a block): at most 36 sums a thread."""
    s = min(kernel[1], 16)
    r = max(1, min(kernel[0], 36 // s))
    return max(1, min(channels, 36 // (r * s))), r, s


@functools.cache
def weight_gradient(
    groups: int,
    channels: int,
    outputs: int,
    size: Pair,
    out_size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    vector: bool,
) -> Program:
    """Part of gw of a range of images: part[split, k, c, r, s]; grid (k, channel tile, tap tiles) x splits."""
    (height, width), (rows, columns) = size, out_size
    tile_c, tile_r, tile_s = weight_split(channels, kernel)
    tiles_c, tiles_r, tiles_s = (
        -(-channels // tile_c),
        -(-kernel[0] // tile_r),
        -(-kernel[1] // tile_s),
    )
    quad = 4 if vector and columns % 4 == 0 and stride[1] == 1 and dilation[1] == 1 else 1
    whole = (
        quad == 4
        and width % 4 == 0
        and columns <= width
        and 0 <= padding[1] < kernel[1]
        and tiles_s == 1
    )
    warps = THREADS // 32
    w = Writer()
    w("def weight_gradient(x, g, part, images, chunk):")
    w.depth = 1
    sums = [(a, r, s) for a in range(tile_c) for r in range(tile_r) for s in range(tile_s)]
    w(f"red = cuda.shared.array({len(sums) * warps}, float32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w(
        f"bx = int32(cuda.blockIdx.x); s0 = (bx % int32({tiles_s})) * int32({tile_s}); bx = bx // int32({tiles_s})"
    )
    w(f"r0 = (bx % int32({tiles_r})) * int32({tile_r}); bx = bx // int32({tiles_r})")
    w(
        f"c0 = (bx % int32({tiles_c})) * int32({tile_c}); k = bx // int32({tiles_c}); group = k // int32({outputs})"
    )
    for a, r, s in sums:
        w(f"t{a}_{r}_{s} = float32(0)")
    per_image = rows * columns // quad
    w(
        "first = int64(cuda.blockIdx.y) * chunk",
        f"count = int32(min(chunk, images - first) * {per_image})",
    )
    with w.block(f"for i in range(t, count, int32({THREADS})):"):
        w(f"n = i // int32({per_image}); j = (i - n * int32({per_image})) * int32({quad})")
        w(f"p = j // int32({columns}); q = j - p * int32({columns}); image = first + n")
        w(f"at = (image * {groups * outputs} + k) * {rows * columns} + j")
        w(f"{', '.join(f'g{i}' for i in range(quad))} = load{quad}_f32(g, at)")
        for a in range(tile_c):
            w(f"okc = c0 + int32({a}) < int32({channels})")
            w(f"plane = ((image * {groups} + group) * {channels} + c0 + {a}) * {height * width}")
            for r in range(tile_r):
                w(
                    f"h = p * int32({stride[0]}) + (r0 + int32({r})) * int32({dilation[0]}) - int32({padding[0]})"
                )
                exists = f" and r0 + int32({r}) < int32({kernel[0]})" if kernel[0] % tile_r else ""
                with w.block(f"if okc and h >= 0 and h < int32({height}){exists}:"):
                    w(f"line = plane + h * int32({width})")
                    if quad == 4:
                        w(f"left = q + s0 - int32({padding[1]})")
                        middle = range(padding[1], padding[1] + 4) if whole else range(0)
                        if whole:
                            w(f"{', '.join(f'x{m}' for m in middle)} = load4_f32(x, line + q)")
                        for m in range(3 + tile_s):
                            if m not in middle:
                                w(f"z = left + int32({m})")
                                w(
                                    f"x{m} = load1_f32(x, line + z) if (z >= 0 and z < int32({width})) else float32(0)"
                                )
                        for s in range(tile_s):
                            terms = " + ".join(f"g{i} * x{i + s}" for i in range(4))
                            w(f"t{a}_{r}_{s} += {terms}")
                    else:
                        for s in range(tile_s):
                            w(
                                f"z = q * int32({stride[1]}) + (s0 + int32({s})) * int32({dilation[1]}) - int32({padding[1]})"
                            )
                            with w.block(f"if z >= 0 and z < int32({width}):"):
                                w(f"t{a}_{r}_{s} += g0 * load1_f32(x, line + z)")
    for a, r, s in sums:
        lanes_reduce(w, [f"t{a}_{r}_{s}"], 32)
    with w.block("if lane == 0:"):
        for i, (a, r, s) in enumerate(sums):
            w(f"red[warp * {len(sums)} + {i}] = t{a}_{r}_{s}")
    w("cuda.syncthreads()")
    with w.block(f"if t < {len(sums)}:"):
        w("total = float32(0)")
        with w.block(f"for j in range({warps}):"):
            w(f"total += red[j * {len(sums)} + t]")
        w(f"c = c0 + t // int32({tile_r * tile_s}); j = t % int32({tile_r * tile_s})")
        w(f"r = r0 + j // int32({tile_s}); s = s0 + j % int32({tile_s})")
        with w.block(
            f"if c < int32({channels}) and r < int32({kernel[0]}) and s < int32({kernel[1]}):"
        ):
            size_of = groups * outputs * channels * kernel[0] * kernel[1]
            w(f"at = ((int64(k) * {channels} + c) * {kernel[0]} + r) * {kernel[1]} + s")
            w(f"store1_f32(part, int64(cuda.blockIdx.y) * {size_of} + at, total)")
    return Program(
        "weight_gradient", w.text(), ("float32*", "float32*", "float32*", "int64", "int64"), THREADS
    )
