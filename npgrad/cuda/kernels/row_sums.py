"""How the sums over rows end that blocks hold at the end of a norm's backward.

There are two ways. ``"atomic"`` adds each block's sums into the result with vector reductions (block 0 clears it
first and raises a flag): one launch, the order of the additions is not fixed. ``"partials"`` writes a row of sums a block and adds
them in a second launch: the same bits every time.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools

from ..launch import Program
from ..source import Writer, lanes_reduce
from .rows import Rows


def clear_by_first_block(w: Writer, count: int, threads: int) -> None:
    """Block 0 clears the result and raises flag 0; the others look at it before they add."""
    with w.block("if cuda.blockIdx.x == 0:"):
        with w.block(f"for c in range(t, {count}, {threads}):"):
            w("store1_f32(grads, int64(c), float32(0))")
        w("cuda.syncthreads()")
        with w.block("if t == 0:"):
            w("fence()", "flag_set(flags, 0, int32(1))")


def await_clear(w: Writer) -> None:
    """Every thread of the block may add once flag 0 is up."""
    with w.block("if t == 0:"), w.block("while flag_get(flags, 0) == 0:"):
        w("pass")
    w("cuda.syncthreads()")


def release_flags(w: Writer) -> None:
    """The last block to finish takes the flags down again, so that they are zero between kernels."""
    w("cuda.syncthreads()")
    with w.block("if t == 0:"):
        w("done = ticket(flags, 1, int32(1))")
        with w.block("if done == cuda.gridDim.x - 1:"):
            w("flag_set(flags, 1, int32(0))", "flag_set(flags, 0, int32(0))")


def finish_sums(
    k: Rows, accumulators: list[str], in_shared: bool, finish: str, vector_add: bool
) -> int:
    """Combine the sums of a block and hand them over; returns the dynamic shared memory needed."""
    s, w = k.shape, k.w
    columns, total = s.columns, len(accumulators) * s.columns
    atomic = finish == "atomic"
    shared = 0
    if in_shared:
        shared = 4 * total
        w("cuda.syncthreads()")
    elif s.rows > 1:
        # several rows a block: over the groups of a warp by shuffles, then over warps (or groups of warps) in shared memory
        lanes = s.lanes
        slots, slot = (s.threads // 32, "warp") if lanes <= 32 else (s.groups, "group")
        step = lanes
        while step < 32:
            for stem in accumulators:
                for name in k.all_names(stem):
                    w(f"{name} += shfl_xor_f32(int32(-1), {name}, int32({step}))")
            step *= 2
        shared = 4 * slots * total
        w("sums = cuda.shared.array(0, float32)")
        with w.block(f"if lane < {lanes}:" if lanes < 32 else "if True:"):
            for j, stem in enumerate(accumulators):
                for v in range(s.vectors):
                    for i, name in enumerate(k.names(stem, v)):
                        guard = k.guard(v)
                        line = f"sums[{slot} * {total} + {j * columns + v * lanes * s.width + i} + column] = {name}"
                        w(line if guard is None else f"if {guard}: {line}")
        w("cuda.syncthreads()")
        with w.block(f"for c in range(t, {total}, {s.threads}):"):
            w("total = float32(0)")
            with w.block(f"for q in range({slots}):"):
                w(f"total += sums[q * {total} + c]")
            w("sums[c] = total")  # row 0 of `sums`: only this thread reads or writes column c
        w("cuda.syncthreads()")
    if atomic:
        await_clear(w)
    target = "int64(0)" if atomic else f"int64(cuda.blockIdx.x) * {total}"
    quad = ("add4_f32" if vector_add else "add4_split_f32") if atomic else "store4_f32"
    single = "add1_f32" if atomic else "store1_f32"
    w(f"target = {target}")
    if in_shared or s.rows > 1:
        if total % 4 == 0:
            with w.block(f"for c in range(t * 4, {total}, {s.threads * 4}):"):
                w("z0, z1, z2, z3 = get4_f32(sums, int64(c))")
                w(f"{quad}(grads, target + c, z0, z1, z2, z3)")
        else:
            with w.block(f"for c in range(t, {total}, {s.threads}):"):
                w(f"{single}(grads, target + c, sums[c])")
    else:
        for j, stem in enumerate(accumulators):
            for v in range(s.vectors):
                guard = k.guard(v)
                names = k.names(stem, v)
                at = f"target + column + {j * columns + v * s.lanes * s.width}"
                step = 4 if s.width % 4 == 0 else 1
                for first in range(0, s.width, step):
                    part = ", ".join(names[first : first + step])
                    line = f"{quad if step == 4 else single}(grads, {at} + {first}, {part})"
                    w(line if guard is None else f"if {guard}: {line}")
    if atomic:
        release_flags(w)
    return shared


@functools.cache
def column_sum() -> Program:
    """out[c] = sum over b of part[b, c], in a fixed order: 32 columns a block, 32 rows at a time."""
    w = Writer()
    w("def column_sum(part, out, blocks, columns):")
    w.depth = 1
    w("tile = cuda.shared.array(1056, float32)")
    w("t = int32(cuda.threadIdx.x); tx = t & int32(31); ty = t >> int32(5)")
    w("c = int64(cuda.blockIdx.x) * 32 + tx")
    w("; ".join(f"s{i} = float32(0)" for i in range(4)))
    with w.block("if c < columns:"):
        w("b = int64(ty)")
        with w.block("while b + 96 < blocks:"):
            for i in range(4):
                w(f"s{i} += load1_f32(part, (b + {32 * i}) * columns + c)")
            w("b += 128")
        with w.block("while b < blocks:"):
            w("s0 += load1_f32(part, b * columns + c)", "b += 32")
    w("tile[ty * 33 + tx] = (s0 + s1) + (s2 + s3)", "cuda.syncthreads()", "s = tile[tx * 33 + ty]")
    lanes_reduce(w, ["s"], 32)
    w("c = int64(cuda.blockIdx.x) * 32 + ty")
    with w.block("if tx == 0 and c < columns:"):
        w("store1_f32(out, c, s)")
    return Program("column_sum", w.text(), ("float32*", "float32*", "int64", "int64"), 1024)
