"""Row kernels: normalisations and softmax along the last axis, forward and backward, one generator.

::

    rows x columns, a row owned by `lanes` threads, `vectors` accesses of 16 bytes each:

    row r   | t0 t1 t2 ... | t0 t1 t2 ... |        lanes <= 32: several rows a block, shuffles only
            |  vector 0    |  vector 1    |        lanes >  32: one row a block, one barrier a reduction

The row stays in registers between the reduction and the result, so memory is read once and written once; a persistent grid (as many
blocks as are resident) walks the rows, and sums of weight gradients stay in registers (shared memory above 8 elements a
thread) until the end. Measured on an H200: one block a row with 16-byte accesses reaches 0.9 of a copy; bulk-copy rings, several
rows in flight and cache hints were no better. Rows longer than 16384 elements take `looped` kernels, which read twice.

Weight gradients end in one of two ways. ``"atomic"`` adds each block's sums into the result with vector reductions (block 0 clears it
first and raises a flag): one launch, the order of the additions is not fixed. ``"partials"`` writes a row of sums a block and adds
them in a second launch: the same bits every time.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ..launch import Backend, Program
from ..source import ELEMENTS, Element, Writer, block_reduce, lanes_reduce, power_of_two_at_least

REGISTER_ELEMENTS = 16  # a thread holds at most this many elements of a row


@dataclasses.dataclass(frozen=True)
class Shape:
    """How threads share a row."""

    columns: int
    width: int  # elements an access
    lanes: int  # threads a row
    vectors: int  # accesses a thread
    unroll: int = 1  # rows in flight a thread group
    ahead: bool = False  # load the next row before working on this one
    groups: int = 1  # rows a block where a row has more than 32 threads

    @property
    def threads(self) -> int:
        """Threads a block."""
        return 256 if self.lanes <= 32 else self.lanes * self.groups

    @property
    def rows(self) -> int:
        """Rows a block works on at once."""
        return self.threads // self.lanes

    @property
    def elements(self) -> int:
        """Elements of a row a thread holds."""
        return self.vectors * self.width

    @property
    def ragged(self) -> bool:
        """Whether some thread's last access lies outside the row."""
        return self.lanes * self.elements != self.columns


def _up32(n: int) -> int:
    return -(-n // 32) * 32


@functools.cache
def share(columns: int, element: Element, aligned: bool) -> Shape | None:
    """The split of a row over threads, or None for rows that do not fit in registers."""
    width = element.vector if aligned and columns % element.vector == 0 else 1
    units = columns // width
    if columns > 1024 * REGISTER_ELEMENTS:
        return None
    if width == 1:
        if units <= 128:
            lanes = min(32, power_of_two_at_least(units))
            return Shape(columns, 1, lanes, -(-units // lanes))
        each = 4 if units <= 1024 else 8 if units <= 4096 else 16
        lanes = min(1024, _up32(-(-units // each)))
        return Shape(columns, 1, lanes, -(-units // lanes))
    if units <= 32:
        return Shape(columns, width, power_of_two_at_least(units), 1, unroll=2)
    if width == 4:
        if units <= 256:
            return Shape(columns, width, _up32(units), 1)
        if units <= 1024:
            return Shape(columns, width, _up32(-(-units // 2)), 2, ahead=True)
    vectors = -(-units // 1024)
    return Shape(columns, width, _up32(-(-units // vectors)), vectors)


class _Rows:
    """Writes one row kernel; the operations below fill in the arithmetic."""

    def __init__(self, shape: Shape, element: Element) -> None:
        self.shape = shape
        self.element = element
        self.w = Writer()

    # -- emission helpers

    def names(self, stem: str, v: int) -> list[str]:
        width = self.shape.width
        return [f"{stem}_{v * width + i}" for i in range(width)]

    def all_names(self, stem: str) -> list[str]:
        return [f"{stem}_{i}" for i in range(self.shape.elements)]

    def guard(self, v: int) -> str | None:
        """Condition under which access v of this thread lies inside the row, None if it always does."""
        s = self.shape
        first = v * s.lanes * s.width
        if (v + 1) * s.lanes * s.width <= s.columns:
            return None
        return f"column < {s.columns - first}"

    def load(self, stem: str, array: str, base: str, fill: str = "0", ahead: bool = False) -> None:
        s, w = self.shape, self.w
        function = "ahead4_f32" if ahead else self.element.load(s.width)
        for v in range(s.vectors):
            names = self.names(stem, v)
            call = f"{', '.join(names)} = {function}({array}, {base} + {v * s.lanes * s.width})"
            guard = self.guard(v)
            if guard is None:
                w(call)
            else:
                value = "float32(0)" if fill == "0" else "float32(-math.inf)"
                with w.block(f"if {guard}:"):
                    w(call)
                with w.block("else:"):
                    w("; ".join(f"{n} = {value}" for n in names))

    def store(self, array: str, base: str, values: list[str]) -> None:
        s, w = self.shape, self.w
        for v in range(s.vectors):
            part = values[v * s.width : (v + 1) * s.width]
            call = f"{self.element.store(s.width)}({array}, {base} + {v * s.lanes * s.width}, {', '.join(part)})"
            guard = self.guard(v)
            if guard is None:
                w(call)
            else:
                with w.block(f"if {guard}:"):
                    w(call)

    def prologue(self, sums: int) -> None:
        """Thread coordinates, the reduction buffer, the first row."""
        s, w = self.shape, self.w
        w("t = int32(cuda.threadIdx.x)", "lane = t & int32(31)", "warp = t >> int32(5)")
        if s.lanes <= 32:
            w(f"group = t // int32({s.lanes})", f"position = t - group * int32({s.lanes})")
        else:
            w("group = int32(0)", "position = t", "half = int32(0)")
            if s.groups > 1:
                w(f"group = t // int32({s.lanes})", f"position = t - group * int32({s.lanes})")
                w(f"warp -= group * int32({s.lanes // 32})")
            w(
                f"red = cuda.shared.array({2 * sums * s.unroll * (s.lanes // 32) * s.groups}, float32)"
            )
        w(f"column = position * {s.width}")
        w(f"base = int64(cuda.blockIdx.x) * {s.rows}")
        w(f"step = int64(cuda.gridDim.x) * {s.rows}")

    def row_loop(self) -> Any:
        return self.w.block("while base < rows:")

    def row_head(self, u: int) -> None:
        """Row number, whether it exists, and the offset of this thread's first element."""
        s, w = self.shape, self.w
        w(f"row{u} = base + group" + (f" + step * {u}" if u else ""))
        if s.rows > 1 or u:
            w(f"ok{u} = row{u} < rows", f"row{u} = row{u} if ok{u} else int64(0)")
        w(f"at{u} = row{u} * {s.columns} + column")

    def if_row(self, u: int) -> Any:
        if self.shape.rows > 1 or u:
            return self.w.block(f"if ok{u}:")
        import contextlib

        return contextlib.nullcontext()

    def when_row(self, u: int, value: str) -> str:
        """A contribution to a sum over rows: nothing from a row that does not exist."""
        if self.shape.rows > 1 or u:
            return f"({value} if ok{u} else float32(0))"
        return value

    def advance(self) -> None:
        unroll = self.shape.unroll
        self.w("base += step" + (f" * {unroll}" if unroll > 1 else ""))

    def reduce(self, names: list[str], combine: str = "add") -> None:
        block_reduce(self.w, names, self.shape.lanes, combine, self.shape.groups)


def _mean_factor(columns: int) -> str:
    return f"float32({float(np.float32(1.0 / columns))!r})"


@functools.cache
def softmax_forward(shape: Shape, element: Element, log: bool) -> Program:
    """y = softmax(x) or log_softmax(x): maximum, sum of exponentials, result; x read once."""
    shape = dataclasses.replace(shape, ahead=False, unroll=1)
    k = _Rows(shape, element)
    w = k.w
    w("def softmax_forward(x, y, rows):")
    w.depth = 1
    k.prologue(1)
    with k.row_loop():
        k.row_head(0)
        k.load("x", "x", "at0", fill="-inf")
        w("top = " + k.all_names("x")[0])
        for name in k.all_names("x")[1:]:
            w(f"top = max(top, {name})")
        k.reduce(["top"], "max")
        # a row of -inf alone: exp(-inf - -inf) would be NaN; NumPy's definition gives NaN there too
        w("total = float32(0)")
        for name in k.all_names("x"):
            if log:
                w(f"{name} -= top", f"total += math.exp({name})")
            else:
                w(f"{name} = math.exp({name} - top)", f"total += {name}")
        k.reduce(["total"])
        if log:
            w("total = math.log(total)")
            values = [f"{name} - total" for name in k.all_names("x")]
        else:
            w("total = float32(1) / total")
            values = [f"{name} * total" for name in k.all_names("x")]
        with k.if_row(0):
            k.store("y", "at0", values)
        k.advance()
    pointer = element.pointer
    return Program("softmax_forward", w.text(), (pointer, pointer, "int64"), shape.threads)


@functools.cache
def softmax_backward(shape: Shape, element: Element, log: bool) -> Program:
    """dx = y (g - sum(g y)), or with y = log_softmax: dx = g - exp(y) sum(g)."""
    shape = dataclasses.replace(shape, ahead=False)
    k = _Rows(shape, element)
    w = k.w
    w("def softmax_backward(g, y, dx, rows):")
    w.depth = 1
    k.prologue(1)
    units = range(shape.unroll)
    with k.row_loop():
        for u in units:
            k.row_head(u)
            k.load(f"g{u}", "g", f"at{u}")
            k.load(f"y{u}", "y", f"at{u}")
        for u in units:
            w(f"s{u} = float32(0)")
            for g, y in zip(k.all_names(f"g{u}"), k.all_names(f"y{u}"), strict=True):
                w(f"s{u} += {g}" if log else f"s{u} += {g} * {y}")
        k.reduce([f"s{u}" for u in units])
        for u in units:
            pairs = zip(k.all_names(f"g{u}"), k.all_names(f"y{u}"), strict=True)
            values = [
                f"{g} - math.exp({y}) * s{u}" if log else f"{y} * ({g} - s{u})" for g, y in pairs
            ]
            with k.if_row(u):
                k.store("dx", f"at{u}", values)
        k.advance()
    pointer = element.pointer
    return Program("softmax_backward", w.text(), (pointer,) * 3 + ("int64",), shape.threads)


@functools.cache
def norm_forward(
    shape: Shape, element: Element, centred: bool, weight: bool, bias: bool
) -> Program:
    """y = (x - mean) rstd w + b, or x rstd w; mean and rstd are kept. Variance from the centred values."""
    shape = dataclasses.replace(shape, ahead=False, unroll=1)
    k = _Rows(shape, element)
    w = k.w
    w("def norm_forward(x, w, b, y, mean, rstd, eps, rows):")
    w.depth = 1
    k.prologue(1)
    in_registers = shape.elements <= 8
    if in_registers and weight:
        k.load("w", "w", "int64(column)")
    if in_registers and bias:
        k.load("b", "b", "int64(column)")
    factor = _mean_factor(shape.columns)
    with k.row_loop():
        k.row_head(0)
        k.load("x", "x", "at0")
        if centred:
            w("m = float32(0)")
            for name in k.all_names("x"):
                w(f"m += {name}")
            k.reduce(["m"])
            w(f"m *= {factor}")
        w("q = float32(0)")
        for v in range(shape.vectors):
            guard = k.guard(v)
            for name in k.names("x", v):
                if centred:
                    w(
                        f"{name} -= m"
                        if guard is None
                        else f"{name} = {name} - m if {guard} else float32(0)"
                    )
                w(f"q += {name} * {name}")
        k.reduce(["q"])
        w(f"r = float32(1) / math.sqrt(q * {factor} + eps)")
        if not in_registers and weight:
            k.load("w", "w", "int64(column)")
        if not in_registers and bias:
            k.load("b", "b", "int64(column)")
        values = []
        for i in range(shape.elements):
            value = f"x_{i} * r"
            if weight:
                value += f" * w_{i}"
            if bias:
                value += f" + b_{i}"
            values.append(value)
        with k.if_row(0):
            k.store("y", "at0", values)
            with w.block("if position == 0:"):
                if centred:
                    w("store1_f32(mean, row0, m)")
                w("store1_f32(rstd, row0, r)")
        k.advance()
    pointer = element.pointer
    signature = (pointer,) * 4 + ("float32*", "float32*", "float32", "int64")
    return Program("norm_forward", w.text(), signature, shape.threads)


@functools.cache
def norm_backward(
    shape: Shape, element: Element, centred: bool, weight: bool, finish: str, vector_add: bool
) -> Program:
    """dx of layer_norm (centred) or rms_norm, and the sums over rows that give dweight and dbias."""
    if not weight:
        finish = "none"
    blocks = None
    in_shared = (
        shape.elements > 8
    )  # sums of weight gradients: shared memory, each thread its own columns
    if shape.ahead and (shape.ragged or element.name != "f32" or not weight):
        shape = dataclasses.replace(shape, ahead=False)
    if in_shared:
        shape = dataclasses.replace(shape, ahead=False)
    elif shape.lanes > 32 and not shape.ahead and weight:
        # fewer, larger blocks: fewer rows of sums to add at the end
        # (8192 x 1024 on an H200: two rows in flight and two blocks of 512 threads 0.88 of a copy, one row and 256 threads 0.76)
        wide = shape.elements > 4
        shape = dataclasses.replace(
            shape, groups=max(1, (1024 if wide else 512) // shape.lanes), unroll=1 if wide else 2
        )
        blocks = None if wide else 2
    k = _Rows(shape, element)
    w = k.w
    columns, count = shape.columns, shape.elements
    accumulators = ["aw", "ab"] if centred else ["aw"]
    units = range(shape.unroll)
    w("def norm_backward(g, x, mean, rstd, w, dx, grads, flags, rows):")
    w.depth = 1
    k.prologue(2 if centred else 1)
    if finish == "atomic":
        _clear_by_first_block(w, len(accumulators) * columns, shape.threads)
    if weight:
        if in_shared:
            w("sums = cuda.shared.array(0, float32)")
            with w.block(f"for c in range(t, {len(accumulators) * columns}, {shape.threads}):"):
                w("sums[c] = float32(0)")
            w("cuda.syncthreads()")
        else:
            for stem in accumulators:
                w("; ".join(f"{n} = float32(0)" for n in k.all_names(stem)))
            k.load("w", "w", "int64(column)")
    factor = _mean_factor(columns)

    def read(u: int | str, ahead: bool = False) -> None:
        k.load(f"g{u}", "g", f"at{u}", ahead=ahead)
        k.load(f"x{u}", "x", f"at{u}", ahead=ahead)
        if centred:
            w(f"m{u} = load1_f32(mean, row{u})")
        w(f"r{u} = load1_f32(rstd, row{u})")

    if shape.ahead:
        for stem in ("gn", "xn"):
            w("; ".join(f"{n} = float32(0)" for n in k.all_names(stem)))
        w("mn = float32(0); rn = float32(0); atn = int64(0); rown = base")
        with w.block("if rown < rows:"):
            w(f"atn = rown * {columns} + column")
            read("n", ahead=True)
    with k.row_loop():
        if shape.ahead:
            for i in range(count):
                w(f"g0_{i} = gn_{i}; x0_{i} = xn_{i}")
            w("at0 = atn; m0 = mn; r0 = rn; rown = base + step")
            with w.block("if rown < rows:"):
                w(f"atn = rown * {columns} + column")
                read("n", ahead=True)
        else:
            for u in units:
                k.row_head(u)
                read(u)
        for u in units:
            w(f"s1_{u} = float32(0); s2_{u} = float32(0)")
            for v in range(shape.vectors):
                if in_shared and weight:
                    _shared_step(k, u, v, centred)
                for i in range(v * shape.width, (v + 1) * shape.width):
                    x, g = f"x{u}_{i}", f"g{u}_{i}"
                    if not (in_shared and weight):
                        w(f"{x} = ({x} - m{u}) * r{u}" if centred else f"{x} = {x} * r{u}")
                        if weight:
                            w(f"aw_{i} += {k.when_row(u, f'{g} * {x}')}")
                            if centred:
                                w(f"ab_{i} += {k.when_row(u, g)}")
                            w(f"{g} = {g} * w_{i}")
                    if centred:
                        w(f"s1_{u} += {g}")
                    w(f"s2_{u} += {g} * {x}")
        k.reduce([f"{s}_{u}" for u in units for s in (("s1", "s2") if centred else ("s2",))])
        for u in units:
            w(f"c2 = s2_{u} * {factor}")
            if centred:
                w(f"c1 = s1_{u} * {factor}")
            values = [
                f"r{u} * (g{u}_{i} - c1 - x{u}_{i} * c2)"
                if centred
                else f"r{u} * (g{u}_{i} - x{u}_{i} * c2)"
                for i in range(count)
            ]
            with k.if_row(u):
                k.store("dx", f"at{u}", values)
        k.advance()
    shared = 0
    if weight:
        shared = _finish_sums(k, accumulators, in_shared, finish, vector_add)
    pointer = element.pointer
    signature = (
        pointer,
        pointer,
        "float32*",
        "float32*",
        pointer,
        pointer,
        "float32*",
        "int32*",
        "int64",
    )
    return Program("norm_backward", w.text(), signature, shape.threads, blocks, shared=shared)


def _shared_step(k: _Rows, u: int, v: int, centred: bool) -> None:
    """Wide rows: add this access's contributions to the sums in shared memory; leave h in x and g w in g."""
    s, w = k.shape, k.w
    offset = v * s.lanes * s.width
    guard = k.guard(v)
    inside = w.block(f"if {guard}:") if guard is not None else w.block("if True:")
    with inside:
        names = [f"w_{i}" for i in range(s.width)]
        w(f"{', '.join(names)} = {k.element.load(s.width)}(w, int64(column) + {offset})")
        for i in range(s.width):
            x, g = f"x{u}_{v * s.width + i}", f"g{u}_{v * s.width + i}"
            w(f"{x} = ({x} - m{u}) * r{u}" if centred else f"{x} = {x} * r{u}")
        step = 4 if s.width % 4 == 0 else 1
        for first in range(0, s.width, step):
            for j, term in enumerate(["g * x", "g"] if centred else ["g * x"]):
                at = f"int64(column) + {j * s.columns + offset + first}"
                terms = []
                for i in range(first, first + step):
                    x, g = f"x{u}_{v * s.width + i}", f"g{u}_{v * s.width + i}"
                    terms.append(f"{g} * {x}" if term == "g * x" else g)
                if step == 4:
                    w(f"z0, z1, z2, z3 = get4_f32(sums, {at})")
                    w(
                        f"put4_f32(sums, {at}, "
                        + ", ".join(f"z{i} + {t}" for i, t in enumerate(terms))
                        + ")"
                    )
                else:
                    w(f"sums[{at}] += {terms[0]}")
        for i in range(s.width):
            g = f"g{u}_{v * s.width + i}"
            w(f"{g} = {g} * w_{i}")


def _clear_by_first_block(w: Writer, count: int, threads: int) -> None:
    """Block 0 clears the result and raises flag 0; the others look at it before they add."""
    with w.block("if cuda.blockIdx.x == 0:"):
        with w.block(f"for c in range(t, {count}, {threads}):"):
            w("store1_f32(grads, int64(c), float32(0))")
        w("cuda.syncthreads()")
        with w.block("if t == 0:"):
            w("fence()", "flag_set(flags, 0, int32(1))")


def _await_clear(w: Writer) -> None:
    """Every thread of the block may add once flag 0 is up."""
    with w.block("if t == 0:"), w.block("while flag_get(flags, 0) == 0:"):
        w("pass")
    w("cuda.syncthreads()")


def _release_flags(w: Writer) -> None:
    """The last block to finish takes the flags down again, so that they are zero between kernels."""
    w("cuda.syncthreads()")
    with w.block("if t == 0:"):
        w("done = ticket(flags, 1, int32(1))")
        with w.block("if done == cuda.gridDim.x - 1:"):
            w("flag_set(flags, 1, int32(0))", "flag_set(flags, 0, int32(0))")


def _finish_sums(
    k: _Rows, accumulators: list[str], in_shared: bool, finish: str, vector_add: bool
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
        _await_clear(w)
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
        _release_flags(w)
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


def rows_and_columns(x: Any) -> tuple[int, int]:
    """An array seen as rows along its last axis."""
    columns = int(x.shape[-1]) if x.ndim else 1
    return (int(x.size) // columns if columns else 0), columns


def element_of(x: Any, kind: str | None = None) -> Element:
    """The element type of an array; bfloat16 comes as uint16 words and must be named."""
    name = kind or str(x.dtype)
    if name not in ELEMENTS:
        raise TypeError(
            f"device kernels take float32, float16, or bfloat16 as 16-bit words (kind='bfloat16'), not {name}"
        )
    element = ELEMENTS[name]
    if name == "bfloat16" and str(x.dtype) not in ("uint16", "bfloat16"):
        raise TypeError(f"bfloat16 data is passed as uint16 words, not {x.dtype}")
    return element


def grid_for(backend: Backend, program: Program, shape: Shape, rows: int) -> tuple[int, ...]:
    """A persistent grid: as many blocks as are resident, no more than there is work."""
    work = -(-rows // (program.threads // shape.lanes))
    return (max(1, min(work, backend.resident_blocks(program))),)
