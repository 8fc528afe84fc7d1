"""scatter_add: out[..., index[..., j]] += source[..., j] along the last axis; backward of gather and take_along_axis.

::

    one row of `out` in shared memory, owned by a warp (short rows) or a block
    every thread adds its elements there; where a warp meets one index many times, it first sums those lanes by shuffles

Shared float additions are a compare-and-swap loop: 32 equal indices of a warp take 32 turns (a row of equal indices ran at 0.04 of the
copy speed). The cheap test is whether any lane has the index of the
lane 16 away (sorted indices do not); only then lanes are matched. Rows longer than shared memory
go through `index_add` with flat indices. The order of additions is not fixed; `deterministic=True` takes the ordered `index_add`.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Program, backend_of
from ..source import Writer, lanes_reduce
from . import index_add

__all__ = ["add_into", "reference"]

ROW_LIMIT = 48 * 1024  # float32 elements of shared memory for one row: 192 KB
HEAVY = 8  # lanes with one index before they are summed first


def reference(out: Any, index: Any, source: Any, axis: int = -1) -> Any:
    """out with source added at index along axis, in NumPy: the specification."""
    result = np.array(out)
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    np.add.at(result, tuple(grid), source)
    return result


def _threads(columns: int, count: int) -> tuple[int, int]:
    """(threads a row, threads a block)."""
    if columns <= 1024 and count <= 2048:
        return 32, 128 if columns > 512 else 256
    return (512, 512) if columns <= 16384 else (1024, 1024)


@functools.cache
def scatter_rows(
    columns: int, lanes: int, threads: int, fresh: bool, index: str, vector: bool
) -> Program:
    """One row at a time in shared memory; `fresh` starts from zero and writes, otherwise reads `out` first."""
    w = Writer()
    per_block, unroll = threads // lanes, 4
    load_index = "load1_i64" if index == "int64" else "load1_i32"
    barrier = "warp_sync()" if lanes == 32 else "cuda.syncthreads()"
    step = 4 if vector else 1
    w("def scatter_rows(index, source, out, rows, count):")
    w.depth = 1
    w("kept = cuda.shared.array(0, float32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31)")
    w(
        f"group = t // int32({lanes}); place = t - group * int32({lanes}); home = group * int32({columns})"
    )
    w(f"base = int64(cuda.blockIdx.x) * {per_block}")
    w(
        "full = (int32(count) + int32(31)) & int32(-32)"
    )  # every lane of a warp makes the same number of steps

    def columns_loop() -> Any:
        return w.block(
            f"for c in range(place * int32({step}), int32({columns}), int32({lanes * step})):"
        )

    with w.block("while base < rows:"):
        w("row = base + group", "there = row < rows", "row = row if there else int64(0)")
        with columns_loop():
            if vector:
                if fresh:
                    w(
                        "put4_f32(kept, int64(home + c), float32(0), float32(0), float32(0), float32(0))"
                    )
                else:
                    w(
                        f"a, b, d, e = again4_f32(out, row * {columns} + c)",
                        "put4_f32(kept, int64(home + c), a, b, d, e)",
                    )
            else:
                w(
                    "kept[home + c] = float32(0)"
                    if fresh
                    else f"kept[home + c] = out[row * {columns} + c]"
                )
        w(barrier)
        with w.block(f"for j in range(place, full, int32({lanes * unroll})):"):
            for u in range(unroll):
                w(
                    f"j{u} = j + int32({u * lanes})",
                    f"ok{u} = there and j{u} < count",
                    f"at{u} = row * count + (j{u} if ok{u} else int32(0))",
                )
                w(
                    f"i{u} = int32({load_index}(index, at{u}))",
                    f"i{u} = i{u} + int32({columns}) if i{u} < 0 else i{u}",
                )
                w(f"v{u} = load1_f32(source, at{u})")
                w(f"ok{u} = ok{u} and i{u} >= 0 and i{u} < {columns}")
            for u in range(unroll):
                with w.block(f"if j{u} < full:"):
                    w(
                        f"i = i{u} if ok{u} else int32(-1); live = int32(1) if ok{u} else int32(0); v = v{u}"
                    )
                    w("near = shfl_xor_i32(int32(-1), i, int32(16))")
                    w("close = int32(1) if (near == i and live == int32(1)) else int32(0)")
                    with w.block("if warp_any(close):"):
                        w("peers = popcount(warp_match(int32(-1), i))")
                        w(
                            f"heavy = warp_ballot(int32(1) if (live == int32(1) and peers >= {HEAVY}) else int32(0))"
                        )
                        with w.block("while heavy != int32(0):"):
                            w("lead = lowest_bit(heavy)", "common = shfl_i32(int32(-1), i, lead)")
                            w("s = v if i == common else float32(0)")
                            lanes_reduce(w, ["s"], 32)
                            with w.block("if lane == lead:"):
                                w("shared_add_f32(kept, home + common, s)")
                            w("live = int32(0) if i == common else live")
                            w(
                                f"heavy = warp_ballot(int32(1) if (live == int32(1) and peers >= {HEAVY}) else int32(0))"
                            )
                    with w.block("if live == int32(1):"):
                        w("shared_add_f32(kept, home + i, v)")
        w(barrier)
        with w.block("if there:"), columns_loop():
            if vector:
                w(
                    "a, b, d, e = get4_f32(kept, int64(home + c))",
                    f"store4_f32(out, row * {columns} + c, a, b, d, e)",
                )
            else:
                w(f"store1_f32(out, row * {columns} + c, kept[home + c])")
        w(barrier, f"base += int64(cuda.gridDim.x) * {per_block}")
    signature = (f"{index}*", "float32*", "float32*", "int64", "int64")
    return Program("scatter_rows", w.text(), signature, threads, shared=4 * columns * per_block)


def add_into(
    out: Any, index: Any, source: Any, *, fresh: bool = False, deterministic: bool = False
) -> Any:
    """Add along the last axis, in place, for a contiguous float32 `out`; returns out.

    `index` and `source` have one shape, equal to out's but for the last axis. `fresh` says that out's contents do not matter: every
    element is written, as if it had been zero (saves a pass over memory).
    """
    backend = backend_of(out)
    if out.dtype != np.float32 or source.dtype != np.float32:
        raise TypeError(f"scatter_add on the device is float32, not {out.dtype} and {source.dtype}")
    if tuple(index.shape) != tuple(source.shape) or index.shape[:-1] != out.shape[:-1]:
        raise ValueError(
            f"scatter_add: index {index.shape}, source {source.shape} and out {out.shape} do not fit along the last axis"
        )
    if index.dtype not in (np.int32, np.int64):
        index = index.astype(np.int64)
    index, source = backend.contiguous(index), backend.contiguous(source)
    columns, count = int(out.shape[-1]), int(index.shape[-1])
    if not out.size:
        return out
    rows = int(out.size) // columns
    if not count or deterministic or columns > min(ROW_LIMIT, backend.shared_limit // 4):
        if fresh:
            out[...] = 0
        if count:
            _flat(backend, out, index, source, rows, columns, count, deterministic)
        return out
    lanes, threads = _threads(columns, count)
    vector = columns % 4 == 0 and backend.aligned(out)
    program = scatter_rows(columns, lanes, threads, fresh, str(index.dtype), vector)
    blocks = min(-(-rows // (threads // lanes)), 1 << 20)
    backend.run(program, (blocks,), index, source, out, rows, count)
    return out


def _flat(
    backend: Any,
    out: Any,
    index: Any,
    source: Any,
    rows: int,
    columns: int,
    count: int,
    deterministic: bool,
) -> None:
    """Every element by its own flat index."""
    index = index.reshape(rows, count).astype(np.int64)
    index = index + (index < 0) * columns
    inside = (index >= 0) & (index < columns)
    flat = (index + backend.arange(rows)[:, None] * columns) * inside - ~inside * (
        int(out.size) + 1
    )
    index_add.add_into(
        out.reshape(-1), flat.reshape(-1), source.reshape(-1), deterministic=deterministic
    )
