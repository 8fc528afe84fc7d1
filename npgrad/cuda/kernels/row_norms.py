"""layer_norm and rms_norm of rows that stay in registers, forward and backward (see `rows` and `row_sums`)."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from ..launch import Program
from ..source import Element
from .row_sums import clear_by_first_block, finish_sums
from .rows import Rows, Shape


def _mean_factor(columns: int) -> str:
    return f"float32({float(np.float32(1.0 / columns))!r})"


@functools.cache
def norm_forward(
    shape: Shape, element: Element, centred: bool, weight: bool, bias: bool
) -> Program:
    """y = (x - mean) rstd w + b, or x rstd w; mean and rstd are kept. Variance from the centred values."""
    shape = dataclasses.replace(shape, ahead=False, unroll=1)
    k = Rows(shape, element)
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
    # rows of 16-bit elements: the next row waits in 8 registers, as it lies in memory, and so does the weight
    packed = weight and shape.lanes > 32 and shape.elements == 8 and not shape.ragged
    packed = packed and element.bytes == 2 and shape.vectors == 1
    if shape.ahead and (shape.ragged or element.name != "f32" or not weight):
        shape = dataclasses.replace(shape, ahead=False)
    if in_shared:
        shape = dataclasses.replace(shape, ahead=False)
    elif shape.lanes > 32 and not shape.ahead and weight:
        # fewer, larger blocks: fewer rows of sums to add at the end
        # (8192 x 1024 on an H200: two rows in flight and two blocks of 512 threads 0.88 of a copy, one row and 256 threads 0.76)
        # 16-bit rows that wait packed: 1024 threads have 64 registers each, and two sums of eight spill there
        # (32768 x 768: layer_norm 0.82 of a copy with 768 threads, 0.58 with 1024, 0.75 with no row waiting)
        wide = shape.elements > 4
        most = 512 if not wide else 768 if packed and (centred or shape.lanes % 96 == 0) else 1024
        shape = dataclasses.replace(
            shape, groups=max(1, most // shape.lanes), unroll=1 if wide else 2
        )
        blocks = None if wide else 2
    k = Rows(shape, element)
    w = k.w
    columns, count = shape.columns, shape.elements
    accumulators = ["aw", "ab"] if centred else ["aw"]
    units = range(shape.unroll)
    w("def norm_backward(g, x, mean, rstd, w, dx, grads, flags, rows):")
    w.depth = 1
    k.prologue(2 if centred else 1)
    if finish == "atomic":
        clear_by_first_block(w, len(accumulators) * columns, shape.threads)
    if weight:
        if in_shared:
            w("sums = cuda.shared.array(0, float32)")
            with w.block(f"for c in range(t, {len(accumulators) * columns}, {shape.threads}):"):
                w("sums[c] = float32(0)")
            w("cuda.syncthreads()")
        else:
            for stem in accumulators:
                w("; ".join(f"{n} = float32(0)" for n in k.all_names(stem)))
            if packed:
                w(f"{', '.join(_words('w'))} = ahead8_words(w, int64(column))")
            else:
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

    def fetch() -> None:
        with w.block("if rown < rows:"):
            w(f"atn = rown * {columns} + column")
            for stem, array in (("gn", "g"), ("xn", "x")):
                w(f"{', '.join(_words(stem))} = ahead8_words({array}, atn)")
            if centred:
                w("mn = load1_f32(mean, rown)")
            w("rn = load1_f32(rstd, rown)")

    if packed:
        w("; ".join(f"{n} = uint32(0)" for n in (*_words("gn"), *_words("xn"))))
        w("mn = float32(0); rn = float32(0); atn = int64(0); rown = base + group")
        fetch()
    with k.row_loop():
        if packed:
            w("ok0 = rown < rows; at0 = atn; m0 = mn; r0 = rn; rown += step")
            for i, half in enumerate(["low", "high"] * 4):
                w(f"g0_{i} = {half}_{element.name}(gn_w{i // 2})")
                w(f"x0_{i} = {half}_{element.name}(xn_w{i // 2})")
            fetch()
        elif shape.ahead:
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
                            factor_i = f"w_{i}"
                            if packed:
                                factor_i = f"{('low', 'high')[i % 2]}_{element.name}(w_w{i // 2})"
                            w(f"{g} = {g} * {factor_i}")
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
        shared = finish_sums(k, accumulators, in_shared, finish, vector_add)
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


def _words(stem: str) -> list[str]:
    """Names of the words of eight 16-bit elements."""
    return [f"{stem}_w{i}" for i in range(4)]


def _shared_step(k: Rows, u: int, v: int, centred: bool) -> None:
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
