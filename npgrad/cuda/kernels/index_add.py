"""index_add: out[index[i]] += source[i] over rows; the backward of take, index_select, embedding and fancy indexing.

::

    a block takes a chunk of indices, probes a sample of them for repeats, and then

    few repeats:   lane groups take rows in turn, one vector reduction (16 bytes) per 4 elements straight to memory
    many repeats:  the chunk's (row, position) pairs are sorted in shared memory; each lane group walks a contiguous part,
                   sums a run of equal rows in registers and adds it once; runs that go on in the next group are merged
                   by shuffles

Atomics on one address are serial (1.75 ns each on an H200: a million equal indices took torch 5 ms), the sort makes them rare; where
indices differ the probe costs a few percent. The order of float additions is not fixed. `deterministic=True` sorts all indices first
and sums in the order of the source, twice the same bits; a sort of 2^20 keys costs about as much as the addition.

Indices outside [-rows, rows) are skipped (the forward gather has raised for them).
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Backend, Program, backend_of
from ..source import Writer, power_of_two_at_least

__all__ = ["add_into", "reference"]

THREADS = 256
SAMPLE = 256  # indices probed a chunk
TABLE = 1024
ALIGN = ", alignment=16"


def reference(out: Any, index: Any, source: Any) -> Any:
    """out with source added at index along axis 0, in NumPy: the specification."""
    result = np.array(out)
    np.add.at(result, index, source)
    return result


def _layout(units: int) -> tuple[int, int]:
    """(lanes a row, accesses a lane) for a row of `units` accesses; wider rows take several column tiles."""
    lanes = min(32, power_of_two_at_least(units))
    return lanes, 1 if units <= lanes else 2


def _chunk(lanes: int) -> int:
    """Indices a chunk: every lane group walks at least 4 (short runs are merged by shuffles; a sort of 4096 keys took longer)."""
    return max(512, THREADS // lanes * 4)


class _RowWalk:
    """Emits the loads and additions of one row's part that a lane holds."""

    def __init__(
        self, w: Writer, width: int, lanes: int, each: int, guarded: bool, add: str
    ) -> None:
        self.w, self.width, self.lanes, self.each = w, width, lanes, each
        self.guarded, self.add = guarded, add
        self.load = f"once{width}_f32"

    def names(self, stem: str, v: int) -> list[str]:
        return [f"{stem}_{v}_{i}" for i in range(self.width)]

    def all_names(self, stem: str) -> list[str]:
        return [n for v in range(self.each) for n in self.names(stem, v)]

    def columns(self) -> None:
        """Column offset of every access, and whether it exists."""
        tile = self.lanes * self.each * self.width
        for v in range(self.each):
            self.w(
                f"c{v} = int64(cuda.blockIdx.y) * {tile} + (lane_in + {v * self.lanes}) * {self.width}"
            )
            if self.guarded:
                self.w(f"in{v} = c{v} < width")
                self.w(f"c{v} = c{v} if in{v} else int64(0)")

    def read(self, stem: str, row: str) -> None:
        for v in range(self.each):
            self.w(f"{', '.join(self.names(stem, v))} = {self.load}(source, {row} * width + c{v})")

    def put(self, row: str, stem: str) -> None:
        for v in range(self.each):
            line = f"{self.add}(out, {row} * width + c{v}, {', '.join(self.names(stem, v))})"
            self.w(f"if in{v}: {line}" if self.guarded else line)


@functools.cache
def chunk_add(
    width: int, lanes: int, each: int, guarded: bool, probe: bool, index: str, vector_add: bool
) -> Program:
    """One launch over all chunks; `probe` off means the indices are known to be distinct (no sort, no shared memory)."""
    w = Writer()
    add = "add1_f32" if width == 1 else "add4_f32" if vector_add else "add4_split_f32"
    chunk, groups = _chunk(lanes), THREADS // lanes
    per, unroll = chunk // groups, 4
    load_index = "load1_i64" if index == "int64" else "load1_i32"
    w("def chunk_add(index, source, out, count, width, rows):")
    w.depth = 1
    if probe:
        w(f"key = cuda.shared.array({chunk}, int64)", f"table = cuda.shared.array({TABLE}, int32)")
        w("repeats = cuda.shared.array(1, int32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31)")
    w(f"group = t // int32({lanes}); lane_in = t - group * int32({lanes})")
    walk = _RowWalk(w, width, lanes, each, guarded, add)
    walk.columns()
    w(f"chunks = (count + {chunk - 1}) // {chunk}", "at = int64(cuda.blockIdx.x)")

    def direct(row_of: Any) -> None:
        """Rows taken in turn by the lane groups, added at once."""
        with w.block(f"for j in range(int32(0), int32({per}), int32({unroll})):"):
            for u in range(unroll):
                w(f"e{u} = group + (j + int32({u})) * int32({groups})", f"p{u} = base + e{u}")
                w(f"ok{u} = p{u} < count", f"p{u} = p{u} if ok{u} else base")
                row_of(u)
                walk.read(f"x{u}", f"p{u}")
            for u in range(unroll):
                with w.block(f"if ok{u} and r{u} >= 0:"):
                    walk.put(f"r{u}", f"x{u}")

    def from_memory(u: int) -> None:
        w(f"r{u} = int64({load_index}(index, p{u}))", f"r{u} = r{u} + rows if r{u} < 0 else r{u}")
        w(f"r{u} = r{u} if r{u} < rows else int64(-1)")

    with w.block("while at < chunks:"):
        w(f"base = at * {chunk}")
        if not probe:
            direct(from_memory)
            w("at += int64(cuda.gridDim.x)")
        else:
            _probe_and_sort(w, walk, chunk, groups, per, load_index, lambda: direct(from_memory))
            w("cuda.syncthreads()", "at += int64(cuda.gridDim.x)")
    signature = (f"{index}*", "float32*", "float32*", "int64", "int64", "int64")
    return Program("chunk_add", w.text(), signature, THREADS)


def _probe_and_sort(
    w: Writer, walk: _RowWalk, chunk: int, groups: int, per: int, load_index: str, direct: Any
) -> None:
    """The probe of a sample, and both ways on from there."""
    stride = chunk // SAMPLE

    def read_row(place: str) -> None:
        w(f"p = base + {place}", "r = int64(-1)")
        with w.block("if p < count:"):
            w(f"r = int64({load_index}(index, p))", "r = r + rows if r < 0 else r")
            w("r = r if (r >= 0 and r < rows) else int64(-1)")

    with w.block(f"for i in range(t, int32({TABLE}), int32({THREADS})):"):
        w("table[i] = int32(-1)")
    with w.block("if t == 0:"):
        w("repeats[0] = int32(0)")
    w("cuda.syncthreads()", "seen = int32(0)")
    # a strided sample: a run of sorted indices is no repeat
    with w.block(f"for i in range(t, int32({SAMPLE}), int32({THREADS})):"):
        read_row(f"i * int32({stride})")
        with w.block("if r >= 0:"):
            w(f"slot = int32((r * 40503) & {TABLE - 1})", "word = int32(r & 0x7fffffff)")
            w(
                "old = shared_exchange_i32(table, slot, word)",
                "seen += int32(1) if old == word else int32(0)",
            )
    with w.block("if seen > 0:"):
        w("shared_add_i32(repeats, int32(0), seen)")
    w("cuda.syncthreads()")
    with w.block(f"if repeats[0] * 8 <= {SAMPLE}:"):
        direct()
    with w.block("else:"):
        with w.block(f"for i in range(t, int32({chunk}), int32({THREADS})):"):
            read_row("i")
            # row + 1 in front, position behind: what is skipped sorts first as row -1
            w("key[i] = ((r + 1) << 12) | i")
        w("cuda.syncthreads()", "span = int32(2)")
        with w.block(f"while span <= int32({chunk}):"):
            w("reach = span >> int32(1)")
            with w.block("while reach > 0:"):
                with w.block(f"for q in range(t, int32({chunk // 2}), int32({THREADS})):"):
                    w("low = int32(2) * q - (q & (reach - int32(1)))", "high = low + reach")
                    w("first = key[low]; second = key[high]")
                    with w.block("if (first > second) == ((low & span) == 0):"):
                        w("key[low] = second; key[high] = first")
                w("cuda.syncthreads()", "reach >>= int32(1)")
            w("span <<= int32(1)")
        _walk_runs(w, walk, per)


def _walk_runs(w: Writer, walk: _RowWalk, per: int) -> None:
    """Sum runs of equal rows in registers; the last run of neighbouring groups is merged by a segmented scan."""
    unroll = 4
    w("row = int64(-1)")
    for name in walk.all_names("s"):
        w(f"{name} = float32(0)")
    with w.block(f"for j in range(int32(0), int32({per}), int32({unroll})):"):
        for u in range(unroll):
            w(f"k{u} = key[group * int32({per}) + j + int32({u})]", f"r{u} = (k{u} >> 12) - 1")
            w(f"p{u} = base + (k{u} & 4095)", f"p{u} = p{u} if r{u} >= 0 else base")
            walk.read(f"x{u}", f"p{u}")
        for u in range(unroll):
            with w.block(f"if r{u} != row:"):
                with w.block("if row >= 0:"):
                    walk.put("row", "s")
                w(f"row = r{u}")
                for s, x in zip(walk.all_names("s"), walk.all_names(f"x{u}"), strict=True):
                    w(f"{s} = {x}")
            with w.block("else:"):
                for s, x in zip(walk.all_names("s"), walk.all_names(f"x{u}"), strict=True):
                    w(f"{s} += {x}")
    if walk.lanes < 32:
        # equal rows are neighbours, so "the group `step` before has my row" means everything between has it too
        w("low = int32(row & 0xffffffff)")
        step = walk.lanes
        while step < 32:
            w(f"other = shfl_up_i32(int32(-1), low, int32({step}))")
            for name in walk.all_names("s"):
                w(f"o = shfl_up_f32(int32(-1), {name}, int32({step}))")
                w(f"{name} += o if (lane >= {step} and other == low) else float32(0)")
            step *= 2
        w(f"other = shfl_down_i32(int32(-1), low, int32({walk.lanes}))")
        w(f"row = row if (lane >= {32 - walk.lanes} or other != low) else int64(-1)")
    with w.block("if row >= 0:"):
        walk.put("row", "s")


SEGMENT = 64  # sorted entries a lane group sums


@functools.cache
def segment_add(width: int, lanes: int, each: int, guarded: bool, last: bool) -> Program:
    """One level of the deterministic sum over keys (row << 32 | position), sorted.

    A lane group sums `SEGMENT` entries in order. Runs inside go to `out`, its first and last run (which may go on in the neighbours)
    to the next, 32 times shorter list. `last`: one group has everything.
    """
    w = Writer()
    w("def segment_add(keys, source, out, carry_keys, carry, count, width):")
    w.depth = 1
    groups = THREADS // lanes
    w(
        "t = int32(cuda.threadIdx.x)",
        f"group = t // int32({lanes}); lane_in = t - group * int32({lanes})",
    )
    walk = _RowWalk(w, width, lanes, each, guarded, "add")
    walk.columns()
    w(f"segment = int64(cuda.blockIdx.x) * {groups} + group", f"first = segment * {SEGMENT}")
    w(f"end = min(count, first + {SEGMENT})", "row = int64(-1); opening = True")
    store = f"store{width}_f32"

    def plain_add(row: str) -> None:
        for v in range(each):
            olds = [f"o{i}" for i in range(width)]
            head = f"if in{v}:" if guarded else "if True:"
            with w.block(head):
                if width == 4:
                    w(f"{', '.join(olds)} = again4_f32(out, {row} * width + c{v})")
                else:
                    w(f"o0 = out[{row} * width + c{v}]")
                new = [f"{o} + {s}" for o, s in zip(olds, walk.names("s", v), strict=True)]
                w(f"{store}(out, {row} * width + c{v}, {', '.join(new)})")

    def carry(slot: int) -> None:
        w(f"place = segment * 2 + {slot}")
        for v in range(each):
            line = f"{store}(carry, place * width + c{v}, {', '.join(walk.names('s', v))})"
            w(f"if in{v}: {line}" if guarded else line)
        with w.block("if lane_in == 0 and cuda.blockIdx.y == 0:"):
            w("store1_i64(carry_keys, place, (row << 32) | place)")

    def flush() -> None:
        if last:
            plain_add("row")
            return
        with w.block("if opening:"):
            carry(0)
            w("opening = False")
        with w.block("else:"):
            plain_add("row")

    for name in walk.all_names("s"):
        w(f"{name} = float32(0)")
    w("i = first")
    with w.block("while i < end:"):
        w("k = load1_i64(keys, i)")
        with w.block("if k >= 0:"):
            w("r = k >> 32; p = k & 0xffffffff")
            walk.read("x", "p")
            with w.block("if r != row:"):
                with w.block("if row >= 0:"):
                    flush()
                w("row = r")
                for s, x in zip(walk.all_names("s"), walk.all_names("x"), strict=True):
                    w(f"{s} = {x}")
            with w.block("else:"):
                for s, x in zip(walk.all_names("s"), walk.all_names("x"), strict=True):
                    w(f"{s} += {x}")
        w("i += 1")
    with w.block("if row >= 0:"):
        if last:
            plain_add("row")
        else:
            with w.block("if opening:"):
                carry(0)
            with w.block("else:"):
                carry(1)
    signature = ("int64*", "float32*", "float32*", "int64*", "float32*", "int64", "int64")
    return Program("segment_add", w.text(), signature, THREADS)


def _two_dimensional(array: Any, rows: int) -> Any:
    return array.reshape(rows, -1) if array.size else array.reshape(rows, 0)


def add_into(
    out: Any, index: Any, source: Any, *, unique: bool = False, deterministic: bool = False
) -> Any:
    """out[index[i]] += source[i], in place, for a contiguous float32 `out`; returns out.

    `index` is an int32 or int64 array, `source` has the shape of index plus that of a row. `unique` promises that no index occurs twice.
    """
    backend = backend_of(out)
    if out.dtype != np.float32 or source.dtype != np.float32:
        raise TypeError(f"index_add on the device is float32, not {out.dtype} and {source.dtype}")
    if index.dtype not in (np.int32, np.int64):
        index = index.astype(np.int64)
    index = backend.contiguous(index).reshape(-1)
    source = backend.contiguous(source)
    count, rows = int(index.size), int(out.shape[0])
    if not count or not out.size:
        return out
    width = int(out.size) // rows
    if int(source.size) != count * width:
        raise ValueError(
            f"index_add: {count} indices of rows of {width} need {count * width} elements, source has {source.size}"
        )
    vector = 4 if width % 4 == 0 and backend.aligned(out, source) else 1
    units = width // vector
    lanes, each = _layout(units)
    tile = lanes * each
    tiles = -(-units // tile)
    guarded = units % tile != 0
    if deterministic:
        _ordered(backend, out, index, source, vector, lanes, each, guarded, tiles, rows, width)
        return out
    program = chunk_add(
        vector, lanes, each, guarded, not unique, str(index.dtype), backend.vector_add
    )
    chunks = -(-count // _chunk(lanes))
    blocks = max(1, min(chunks, 4 * backend.resident_blocks(program) // tiles))
    backend.run(program, (blocks, tiles), index, source, out, count, width, rows)
    return out


def _ordered(
    backend: Backend,
    out: Any,
    index: Any,
    source: Any,
    vector: int,
    lanes: int,
    each: int,
    guarded: bool,
    tiles: int,
    rows: int,
    width: int,
) -> None:
    """Sort, then sum level by level."""
    count = int(index.size)
    if count >= 1 << 32 or rows >= 1 << 31:
        raise ValueError("the deterministic index_add takes fewer than 2^32 indices and 2^31 rows")
    index = index.astype(np.int64)
    index = index + (index < 0) * rows
    keys = (index << 32) | backend.arange(count)
    bad = (index < 0) | (index >= rows)
    keys = keys * ~bad - bad.astype(np.int64)  # -1: skipped
    keys = backend.sort(keys)
    groups = THREADS // lanes
    while True:
        last = count <= SEGMENT
        segments = -(-count // SEGMENT)
        carry_keys, carry = keys, source
        if not last:
            carry_keys = backend.zeros((2 * segments,), np.int64) - 1
            carry = backend.empty((2 * segments, width), np.float32)
        program = segment_add(vector, lanes, each, guarded, last)
        backend.run(
            program,
            (-(-segments // groups), tiles),
            keys,
            source,
            out,
            carry_keys,
            carry,
            count,
            width,
        )
        if last:
            return
        keys, source, count = carry_keys, carry, 2 * segments
