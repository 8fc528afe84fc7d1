"""Row kernels along the last axis: how a row is shared out, and softmax; normalisations are in `row_norms`.

::

    rows x columns, a row owned by `lanes` threads, `vectors` accesses of 16 bytes each:

    row r   | t0 t1 t2 ... | t0 t1 t2 ... |        lanes <= 32: several rows a block, shuffles only
            |  vector 0    |  vector 1    |        lanes >  32: one row a block, one barrier a reduction

The row stays in registers between the reduction and the result, so memory is read once and written once; a persistent grid (as many
blocks as are resident) walks the rows, and sums of weight gradients stay in registers (shared memory above 8 elements a
thread) until the end. Measured on an H200: one block a row with 16-byte accesses reaches 0.9 of a copy; bulk-copy rings, several
rows in flight and cache hints were no better. Rows longer than 16384 elements take `looped` kernels, which read twice.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ..launch import Backend, Program
from ..source import ELEMENTS, Element, Writer, block_reduce, power_of_two_at_least

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


class Rows:
    """Writes one row kernel; the operations below fill in the arithmetic."""

    def __init__(self, shape: Shape, element: Element) -> None:
        self.shape = shape
        self.element = element
        self.w = Writer()

    # -- emission helpers

    def names(self, stem: str, v: int) -> list[str]:
        """One name an element of access `v`."""
        width = self.shape.width
        return [f"{stem}_{v * width + i}" for i in range(width)]

    def all_names(self, stem: str) -> list[str]:
        """One name an element a thread holds."""
        return [f"{stem}_{i}" for i in range(self.shape.elements)]

    def guard(self, v: int) -> str | None:
        """Condition under which access v of this thread lies inside the row, None if it always does."""
        s = self.shape
        first = v * s.lanes * s.width
        if (v + 1) * s.lanes * s.width <= s.columns:
            return None
        return f"column < {s.columns - first}"

    def load(self, stem: str, array: str, base: str, fill: str = "0", ahead: bool = False) -> None:
        """Load this thread's elements of a row."""
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
        """Store them."""
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
        """The loop over this block's rows."""
        return self.w.block("while base < rows:")

    def row_head(self, u: int) -> None:
        """Row number, whether it exists, and the offset of this thread's first element."""
        s, w = self.shape, self.w
        w(f"row{u} = base + group" + (f" + step * {u}" if u else ""))
        if s.rows > 1 or u:
            w(f"ok{u} = row{u} < rows", f"row{u} = row{u} if ok{u} else int64(0)")
        w(f"at{u} = row{u} * {s.columns} + column")

    def if_row(self, u: int) -> Any:
        """Only where row `u` of the turn exists."""
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
        """On to the next rows."""
        unroll = self.shape.unroll
        self.w("base += step" + (f" * {unroll}" if unroll > 1 else ""))

    def reduce(self, names: list[str], combine: str = "add") -> None:
        """Reduce over the threads of a row."""
        block_reduce(self.w, names, self.shape.lanes, combine, self.shape.groups)


@functools.cache
def softmax_forward(shape: Shape, element: Element, log: bool) -> Program:
    """y = softmax(x) or log_softmax(x): maximum, sum of exponentials, result; x read once."""
    shape = dataclasses.replace(shape, ahead=False, unroll=1)
    k = Rows(shape, element)
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
    k = Rows(shape, element)
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
