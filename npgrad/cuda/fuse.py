"""Elementwise chains as one kernel: a list of typed scalar operations in, generated source out.

A chain is a list of `Operation`: inputs, constants, and NumPy ufunc names applied to earlier entries, each with its dtype. Whoever records rules
(the jit, a backward pass) makes such lists; what lives here is the spelling of each ufunc in device code, the source, and the launch. Every
intermediate is cast to its dtype, so float32 stays float32 where Numba would go to float64 (Python literals, ``1 / x``, integer operands).
Operands broadcast as in NumPy and may be strided views.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .launch import Program, backend_of
from .source import Writer

__all__ = ["SPELLING", "Chain", "Operation"]

# Name of a NumPy ufunc, or of a function of ours -> device expression of its operands, after statements if it needs any;
# NaN goes through maximum and minimum as in NumPy
SPELLING = {
    "absolute": "abs({0})",
    "add": "{0} + {1}",
    "arccos": "math.acos({0})",
    "arccosh": "math.acosh({0})",
    "arcsin": "math.asin({0})",
    "arcsinh": "math.asinh({0})",
    "arctan": "math.atan({0})",
    "arctan2": "math.atan2({0}, {1})",
    "arctanh": "math.atanh({0})",
    "cast": "{0}",
    "ceil": "math.ceil({0})",
    "cos": "math.cos({0})",
    "cosh": "math.cosh({0})",
    "divide": "{0} / {1}",
    "equal": "{0} == {1}",
    "exp": "math.exp({0})",
    "exp2": "math.pow({2}, {0})",
    "expm1": "math.expm1({0})",
    "floor": "math.floor({0})",
    "full": "{0}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "hypot": "math.hypot({0}, {1})",
    "isfinite": "math.isfinite({0})",
    "isinf": "math.isinf({0})",
    "isnan": "{0} != {0}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "log": "math.log({0})",
    "log10": "math.log10({0})",
    "log1p": "math.log1p({0})",
    "log2": "math.log2({0})",
    "logical_and": "{0} and {1}",
    "logical_not": "not {0}",
    "logical_or": "{0} or {1}",
    "maximum": "{0} if ({0} >= {1} or {0} != {0}) else {1}",
    "minimum": "{0} if ({0} <= {1} or {0} != {0}) else {1}",
    "masked": "{zero} if {0} == 0 else {1}",
    "multiply": "{multiply}({0}, {1})",  # rounded: not contracted with a sum, as one launch each
    "negative": "-{0}",
    "not_equal": "{0} != {1}",
    "positive": "{0}",
    "power": "math.pow({0}, {1})",
    "reciprocal": "{one} / {0}",
    "sign": "({one} if {0} > {zero} else (-{one} if {0} < {zero} else {0} * {zero}))",
    "sin": "math.sin({0})",
    "sinh": "math.sinh({0})",
    "sqrt": "math.sqrt({0})",
    "square": "{multiply}({0}, {0})",
    # 1 / cosh(x)^2: see npgrad.rules.elementwise
    "squared_sech": "e{i} = math.exp({minus_two} * abs({0})); r{i} = {two} / ({one} + e{i}); e{i} * r{i} * r{i}",
    "subtract": "{0} - {1}",
    "tan": "math.tan({0})",
    "tanh": "math.tanh({0})",
    "where": "{1} if {0} else {2}",
}
del SPELLING["exp2"]  # math.pow(2, x) is a rounding off NumPy's exp2
PRODUCT = {"float32": "fmul_rn", "float64": "dmul_rn"}
DTYPES = ("float32", "float64", "int32", "int64", "bool")
THREADS = 256
VECTOR_OPERATIONS = 24  # longer chains are typed by Numba once, not four times


@dataclasses.dataclass(frozen=True)
class Operation:
    """One entry of a chain.

    ``name`` is a key of `SPELLING`, ``"input"`` (``value`` is the argument's position), ``"number"`` (the same, of a number that each
    call gives) or ``"constant"`` (``value`` is the number); ``operands`` are positions of earlier
    entries.
    """

    name: str
    operands: tuple[int, ...] = ()
    dtype: str = "float32"
    value: float | int | bool | None = None


def _literal(value: Any, dtype: str) -> str:
    """A constant with its type written out."""
    if dtype == "bool":
        return repr(bool(value))
    if dtype.startswith("int"):
        return f"{dtype}({int(value)})"
    number = float(np.float32(value)) if dtype == "float32" else float(value)
    if math.isnan(number):
        return f"{dtype}(math.nan)"
    if math.isinf(number):
        return f"{dtype}({'-' if number < 0 else ''}math.inf)"
    return f"{dtype}({number!r})"


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What of the operands' layout is baked into a kernel: output sizes, and per input "one", "all" or element strides."""

    sizes: tuple[int, ...]
    layouts: tuple[Any, ...]
    vector: bool


class Chain:
    """A fused elementwise function.

    Parameters
    ----------
    operations : sequence of Operation
        In an order in which operands come first.
    outputs : sequence of int
        Positions of the results.

    Examples
    --------
    >>> from npgrad.cuda.fuse import Chain, Operation
    >>> x = Operation("input", value=0)
    >>> chain = Chain([x, Operation("tanh", (0,)), Operation("multiply", (0, 1))], [2])
    >>> chain.inputs
    ('float32',)
    """

    def __init__(self, operations: Sequence[Operation], outputs: Sequence[int]) -> None:
        self.operations, self.outputs = tuple(operations), tuple(outputs)
        found: list[str | None] = [None] * _count(operations, "input")
        given: list[str | None] = [None] * _count(operations, "number")
        for i, o in enumerate(self.operations):
            if o.dtype not in DTYPES:
                raise TypeError(
                    f"fuse: operation {i} ({o.name}) has dtype {o.dtype}; known are {', '.join(DTYPES)}"
                )
            if o.name == "input":
                found[int(o.value or 0)] = o.dtype
            elif o.name == "number":
                given[int(o.value or 0)] = o.dtype
            elif o.name not in SPELLING and o.name != "constant":
                raise NotImplementedError(
                    f"fuse: np.{o.name} has no device spelling; end the chain before it"
                )
            if any(not 0 <= k < i for k in o.operands):
                raise ValueError(
                    f"fuse: operation {i} ({o.name}) uses an entry that does not come before it"
                )
        if None in found or None in given:
            raise ValueError("fuse: the inputs are not numbered 0, 1, ... without gaps")
        self.inputs = tuple(str(dtype) for dtype in found)
        self.numbers = tuple(str(dtype) for dtype in given)
        self.kinds = [np.dtype(self.operations[k].dtype) for k in self.outputs]
        self.only_float32 = {str(kind) for kind in self.kinds} | set(self.inputs) == {"float32"}
        self.ready: dict[Any, tuple[Program, int]] = {}  # of a device and a layout

    def statements(self, lane: str = "") -> list[str]:
        """One line an operation; inputs are read from names x0, x1, ... followed by `lane`."""
        lines = []
        for i, o in enumerate(self.operations):
            if o.name == "input":
                lines.append(f"t{i}{lane} = x{o.value}{lane}")
                continue
            if o.name == "number":
                lines.append(
                    f"t{i}{lane} = {f'c{o.value} != 0' if o.dtype == 'bool' else f'c{o.value}'}"
                )
                continue
            if o.name == "constant":
                lines.append(f"t{i}{lane} = {_literal(o.value, o.dtype)}")
                continue
            operands = [f"t{k}{lane}" for k in o.operands]
            if (
                o.dtype != "bool"
            ):  # mixed operands are cast as NumPy's result dtype says; conditions stay
                operands = [
                    name if self.operations[k].dtype in ("bool", o.dtype) else f"{o.dtype}({name})"
                    for name, k in zip(operands, o.operands, strict=True)
                ]
            *first, text = (
                SPELLING[o.name]
                .format(
                    *operands,
                    i=f"{i}{lane}",
                    one=_literal(1, o.dtype),
                    two=_literal(2, o.dtype),
                    minus_two=_literal(-2, o.dtype),
                    zero=_literal(0, o.dtype),
                    multiply=PRODUCT.get(o.dtype, "multiply"),
                )
                .split("; ")
            )
            lines += first
            lines.append(
                f"t{i}{lane} = bool({text})"
                if o.dtype == "bool"
                else f"t{i}{lane} = {o.dtype}({text})"
            )
        return lines

    def program(self, plan: _Plan) -> Program:
        """The kernel for one layout of operands."""
        return _program(self.operations, self.outputs, plan)

    def __call__(self, *arrays: Any, numbers: Sequence[Any] = ()) -> list[Any]:
        """The outputs, in the broadcast shape of the arrays."""
        if len(arrays) != len(self.inputs):
            raise TypeError(
                f"fuse: the chain has {len(self.inputs)} inputs, got {len(arrays)} arrays"
            )
        if len(numbers) != len(self.numbers):
            raise TypeError(
                f"fuse: the chain takes {len(self.numbers)} numbers, not {len(numbers)}"
            )
        for i, (array, dtype) in enumerate(zip(arrays, self.inputs, strict=True)):
            if str(array.dtype) != dtype:
                raise TypeError(f"fuse: input {i} is {array.dtype}, the chain was made for {dtype}")
        return self.run(np.broadcast_shapes(*(a.shape for a in arrays)), arrays, numbers)

    def run(
        self, shape: tuple[int, ...], arrays: Sequence[Any], numbers: Sequence[Any]
    ) -> list[Any]:
        """The outputs in `shape`; the arrays are known to fit."""
        backend = backend_of(arrays[0])
        outs = [backend.empty(shape, kind) for kind in self.kinds]
        size = math.prod(shape)
        if not size:
            return outs
        layouts = tuple([_layout(a, shape) for a in arrays])
        simple = all(v in ("one", "all") for v in layouts)
        vector = (
            simple
            and self.only_float32
            and size % 4 == 0
            and len(self.operations) <= VECTOR_OPERATIONS
            and backend.aligned(
                *outs, *(a for a, v in zip(arrays, layouts, strict=True) if v == "all")
            )
        )
        sizes = () if simple else tuple([n for n in shape if n > 1])
        found = self.ready.get((id(backend), sizes, layouts, vector))
        if found is None:
            program = self.program(_Plan(sizes, layouts, vector))
            found = program, 4 * backend.resident_blocks(program)
            self.ready[id(backend), sizes, layouts, vector] = found
        program, most = found
        words = [a.view(np.uint8) if a.dtype.char == "?" else a for a in (*arrays, *outs)]
        for value, kind in zip(numbers, self.numbers, strict=True):
            words.append(np.dtype("uint8" if kind == "bool" else kind).type(value))
        units = size // 4 if vector else size
        backend.run(program, (max(1, min(-(-units // THREADS), most)),), *words, units)
        return outs


def _count(operations: Sequence[Operation], name: str) -> int:
    """How many arguments of a kind a chain has: one more than the last one's number."""
    return 1 + max((int(o.value or 0) for o in operations if o.name == name), default=-1)


def _layout(array: Any, shape: tuple[int, ...]) -> Any:
    """The value "one", "all" elements in order, or the element strides of the output's axes longer than 1."""
    if array.size == 1:
        return "one"
    if array.shape == shape and array.flags.c_contiguous:
        return "all"
    if not any(s for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        return "one"
    strides = [0] * (len(shape) - array.ndim) + [
        0 if n == 1 else s // array.itemsize
        for n, s in zip(array.shape, array.strides, strict=True)
    ]
    return tuple(s for s, n in zip(strides, shape, strict=True) if n > 1)


@functools.lru_cache(4096)
def _program(operations: tuple[Operation, ...], outputs: tuple[int, ...], plan: _Plan) -> Program:
    chain = Chain(operations, outputs)
    pointers = ["uint8*" if d == "bool" else f"{d}*" for d in chain.inputs]
    results = [operations[k].dtype for k in outputs]
    pointers += ["uint8*" if d == "bool" else f"{d}*" for d in results]
    pointers += ["uint8" if d == "bool" else d for d in chain.numbers]
    w = Writer()
    names = [f"a{i}" for i in range(len(chain.inputs))] + [f"o{i}" for i in range(len(outputs))]
    names += [f"c{i}" for i in range(len(chain.numbers))]
    w(f"def fused({', '.join(names)}, size):")
    w.depth = 1

    def value(i: int, at: str) -> str:
        return f"a{i}[{at}] != 0" if chain.inputs[i] == "bool" else f"a{i}[{at}]"

    for i, layout in enumerate(plan.layouts):
        if layout == "one":
            w(f"x{i} = {value(i, '0')}")
    w("i = int64(cuda.blockIdx.x) * 256 + cuda.threadIdx.x")
    with w.block("while i < size:"):
        if plan.vector:
            lanes = [f"_{j}" for j in range(4)]
            for k, layout in enumerate(plan.layouts):
                if layout == "one":
                    w("; ".join(f"x{k}{lane} = x{k}" for lane in lanes))
                else:
                    w(f"{', '.join(f'x{k}{lane}' for lane in lanes)} = load4_f32(a{k}, i * 4)")
            for lane in lanes:
                w(*chain.statements(lane))
            for j, k in enumerate(outputs):
                w(f"store4_f32(o{j}, i * 4, {', '.join(f't{k}{lane}' for lane in lanes)})")
        else:
            if plan.sizes:
                w("r = i")
                for axis in range(len(plan.sizes) - 1, 0, -1):
                    w(f"q = r // {plan.sizes[axis]}; n{axis} = r - q * {plan.sizes[axis]}; r = q")
                w("n0 = r")
            for k, layout in enumerate(plan.layouts):
                if layout == "all":
                    w(f"x{k} = {value(k, 'i')}")
                elif layout != "one":
                    terms = (
                        " + ".join(f"n{axis} * {s}" for axis, s in enumerate(layout) if s) or "0"
                    )
                    w(f"x{k} = {value(k, terms)}")
            w(*chain.statements())
            for j, k in enumerate(outputs):
                w(f"o{j}[i] = {f'1 if t{k} else 0' if results[j] == 'bool' else f't{k}'}")
        w("i += int64(cuda.gridDim.x) * 256")
    return Program("fused", w.text(), (*pointers, "int64"), THREADS)
