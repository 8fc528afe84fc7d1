"""Row kernels for rows too long for registers (above 16384 elements), and sums over rows by column.

One block a row, two or three passes; the passes after the first find the row in L2. `column_partials` walks down the columns instead:
it gives weight gradients of these long rows and the sums of batch_norm.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools

import numpy as np

from ..launch import Program
from ..source import Element, Writer, block_reduce

THREADS = 1024


def _head(w: Writer, names: int, width: int) -> None:
    w.depth = 1
    w(
        "t = int32(cuda.threadIdx.x)",
        "lane = t & int32(31)",
        "warp = t >> int32(5)",
        "half = int32(0)",
    )
    w(f"red = cuda.shared.array({2 * names * (THREADS // 32)}, float32)")
    w("row = int64(cuda.blockIdx.x)")


def _columns(w: Writer, columns: int, width: int):  # type: ignore[no-untyped-def]
    return w.block(
        f"for c in range(int64(t) * {width}, int64({columns}), int64({THREADS * width})):"
    )


def _load(w: Writer, element: Element, width: int, stem: str, array: str, at: str) -> list[str]:
    names = [f"{stem}{i}" for i in range(width)]
    w(f"{', '.join(names)} = {element.load(width)}({array}, {at})")
    return names


def _store(w: Writer, element: Element, width: int, array: str, at: str, values: list[str]) -> None:
    w(f"{element.store(width)}({array}, {at}, {', '.join(values)})")


@functools.cache
def softmax_forward(columns: int, element: Element, width: int, log: bool) -> Program:
    """softmax or log_softmax: three passes."""
    w = Writer()
    w("def softmax_forward_long(x, y, rows):")
    _head(w, 1, width)
    with w.block("while row < rows:"):
        w(f"at = row * {columns}", "top = float32(-math.inf)")
        with _columns(w, columns, width):
            for name in _load(w, element, width, "x", "x", "at + c"):
                w(f"top = max(top, {name})")
        block_reduce(w, ["top"], THREADS, "max")
        w("total = float32(0)")
        with _columns(w, columns, width):
            for name in _load(w, element, width, "x", "x", "at + c"):
                w(f"total += math.exp({name} - top)")
        block_reduce(w, ["total"], THREADS)
        w("total = math.log(total)" if log else "total = float32(1) / total")
        with _columns(w, columns, width):
            names = _load(w, element, width, "x", "x", "at + c")
            values = [
                f"({n} - top) - total" if log else f"math.exp({n} - top) * total" for n in names
            ]
            _store(w, element, width, "y", "at + c", values)
        w("row += int64(cuda.gridDim.x)")
    return Program("softmax_forward_long", w.text(), (element.pointer,) * 2 + ("int64",), THREADS)


@functools.cache
def softmax_backward(columns: int, element: Element, width: int, log: bool) -> Program:
    """dx of softmax or log_softmax: two passes."""
    w = Writer()
    w("def softmax_backward_long(g, y, dx, rows):")
    _head(w, 1, width)
    with w.block("while row < rows:"):
        w(f"at = row * {columns}", "total = float32(0)")
        with _columns(w, columns, width):
            gs = _load(w, element, width, "g", "g", "at + c")
            ys = [] if log else _load(w, element, width, "y", "y", "at + c")
            for i, g in enumerate(gs):
                w(f"total += {g}" if log else f"total += {g} * {ys[i]}")
        block_reduce(w, ["total"], THREADS)
        with _columns(w, columns, width):
            gs = _load(w, element, width, "g", "g", "at + c")
            ys = _load(w, element, width, "y", "y", "at + c")
            values = [
                f"{g} - math.exp({y}) * total" if log else f"{y} * ({g} - total)"
                for g, y in zip(gs, ys, strict=True)
            ]
            _store(w, element, width, "dx", "at + c", values)
        w("row += int64(cuda.gridDim.x)")
    return Program("softmax_backward_long", w.text(), (element.pointer,) * 3 + ("int64",), THREADS)


@functools.cache
def norm_forward(
    columns: int, element: Element, width: int, centred: bool, weight: bool, bias: bool
) -> Program:
    """y, mean and rstd: three passes."""
    w = Writer()
    w("def norm_forward_long(x, w, b, y, mean, rstd, eps, rows):")
    _head(w, 1, width)
    factor = f"float32({float(np.float32(1.0 / columns))!r})"
    with w.block("while row < rows:"):
        w(f"at = row * {columns}", "m = float32(0)")
        if centred:
            with _columns(w, columns, width):
                for name in _load(w, element, width, "x", "x", "at + c"):
                    w(f"m += {name}")
            block_reduce(w, ["m"], THREADS)
            w(f"m *= {factor}")
        w("q = float32(0)")
        with _columns(w, columns, width):
            for name in _load(w, element, width, "x", "x", "at + c"):
                w(f"q += ({name} - m) * ({name} - m)")
        block_reduce(w, ["q"], THREADS)
        w(f"r = float32(1) / math.sqrt(q * {factor} + eps)")
        with _columns(w, columns, width):
            names = _load(w, element, width, "x", "x", "at + c")
            ws = _load(w, element, width, "w", "w", "c") if weight else []
            bs = _load(w, element, width, "b", "b", "c") if bias else []
            values = []
            for i, name in enumerate(names):
                value = f"({name} - m) * r"
                value += f" * {ws[i]}" if weight else ""
                value += f" + {bs[i]}" if bias else ""
                values.append(value)
            _store(w, element, width, "y", "at + c", values)
        with w.block("if t == 0:"):
            if centred:
                w("store1_f32(mean, row, m)")
            w("store1_f32(rstd, row, r)")
        w("row += int64(cuda.gridDim.x)")
    pointer = element.pointer
    signature = (pointer,) * 4 + ("float32*", "float32*", "float32", "int64")
    return Program("norm_forward_long", w.text(), signature, THREADS)


@functools.cache
def norm_backward(
    columns: int, element: Element, width: int, centred: bool, weight: bool
) -> Program:
    """dx alone; weight gradients come from `column_partials`."""
    w = Writer()
    w("def norm_backward_long(g, x, mean, rstd, w, dx, rows):")
    _head(w, 2, width)
    factor = f"float32({float(np.float32(1.0 / columns))!r})"

    def row_values() -> tuple[list[str], list[str]]:
        xs = _load(w, element, width, "x", "x", "at + c")
        gs = _load(w, element, width, "g", "g", "at + c")
        ws = _load(w, element, width, "w", "w", "c") if weight else []
        for i, (x, g) in enumerate(zip(xs, gs, strict=True)):
            w(f"{x} = ({x} - m) * r")
            if weight:
                w(f"{g} = {g} * {ws[i]}")
        return xs, gs

    with w.block("while row < rows:"):
        w(f"at = row * {columns}", "s1 = float32(0); s2 = float32(0)")
        w("m = load1_f32(mean, row)" if centred else "m = float32(0)", "r = load1_f32(rstd, row)")
        with _columns(w, columns, width):
            for x, g in zip(*row_values(), strict=True):
                w(f"s1 += {g}", f"s2 += {g} * {x}")
        block_reduce(w, ["s1", "s2"], THREADS)
        w(f"s1 *= {factor}" if centred else "s1 = float32(0)", f"s2 *= {factor}")
        with _columns(w, columns, width):
            xs, gs = row_values()
            values = [f"r * ({g} - s1 - {x} * s2)" for x, g in zip(xs, gs, strict=True)]
            _store(w, element, width, "dx", "at + c", values)
        w("row += int64(cuda.gridDim.x)")
    pointer = element.pointer
    signature = (pointer, pointer, "float32*", "float32*", pointer, pointer, "int64")
    return Program("norm_backward_long", w.text(), signature, THREADS)


COLUMN_WARPS = 8


@functools.cache
def column_partials(element: Element, width: int, mode: str) -> Program:
    """Sums down the columns of one chunk of rows: part[chunk, 0:C] and part[chunk, C:2C].

    ``"row"``: sum of g h and of g, with h = (x - mean[row]) rstd[row]. ``"uncentred"``: the same with h = x rstd[row].
    ``"column"``: sum of g (x - mean[c]) and of g. ``"moments"``: sum of x - k[c] and of its square, k being the first row
    (a shift by a value of the column itself: the variance does not suffer from a large mean).

    ::

        block: 32 lanes x `width` columns  by  8 warps, warp k takes rows k, k+8, ... of its chunk
    """
    w = Writer()
    w("def column_partials(g, x, mean, rstd, part, rows, columns, chunk):")
    w.depth = 1
    tile = 32 * width
    w(f"left = cuda.shared.array({COLUMN_WARPS * tile}, float32)")
    w(f"right = cuda.shared.array({COLUMN_WARPS * tile}, float32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w(f"c = (int64(cuda.blockIdx.x) * 32 + lane) * {width}")
    w(
        "row = int64(cuda.blockIdx.y) * chunk + warp",
        "end = min(rows, (int64(cuda.blockIdx.y) + 1) * chunk)",
    )
    for i in range(width):
        w(f"a{i} = float32(0); b{i} = float32(0)")

    def step(u: int) -> tuple[list[str], list[str]]:
        at = f"(row + {u * COLUMN_WARPS}) * columns + c"
        gs = [] if mode == "moments" else _load(w, element, width, f"g{u}_", "g", at)
        xs = _load(w, element, width, f"x{u}_", "x", at)
        if mode in ("row", "uncentred"):
            w(
                f"m{u} = load1_f32(mean, row + {u * COLUMN_WARPS})"
                if mode == "row"
                else f"m{u} = float32(0)"
            )
            w(f"r{u} = load1_f32(rstd, row + {u * COLUMN_WARPS})")
        return gs, xs

    def add(u: int, gs: list[str], xs: list[str]) -> None:
        for i, x in enumerate(xs):
            if mode == "moments":
                w(f"d = {x} - k{i}", f"a{i} += d", f"b{i} += d * d")
            else:
                h = f"({x} - k{i})" if mode == "column" else f"(({x} - m{u}) * r{u})"
                w(f"a{i} += {gs[i]} * {h}", f"b{i} += {gs[i]}")

    with w.block("if c < columns:"):
        if mode == "moments":
            _load(w, element, width, "k", "x", "c")
        if mode == "column":
            for i in range(width):
                w(f"k{i} = load1_f32(mean, c + {i})")
        unroll = 4 if width <= 4 else 2  # loads in flight
        with w.block(f"while row + {(unroll - 1) * COLUMN_WARPS} < end:"):
            loaded = [step(u) for u in range(unroll)]
            for u, (gs, xs) in enumerate(loaded):
                add(u, gs, xs)
            w(f"row += {unroll * COLUMN_WARPS}")
        with w.block("while row < end:"):
            add(0, *step(0))
            w(f"row += {COLUMN_WARPS}")
    for i in range(width):
        w(f"left[warp * {tile} + lane * {width} + {i}] = a{i}")
        w(f"right[warp * {tile} + lane * {width} + {i}] = b{i}")
    w("cuda.syncthreads()")
    with w.block(f"for i in range(t, {tile}, {32 * COLUMN_WARPS}):"):
        w(f"column = int64(cuda.blockIdx.x) * {tile} + i", "u = float32(0); v = float32(0)")
        with w.block(f"for q in range({COLUMN_WARPS}):"):
            w(f"u += left[q * {tile} + i]", f"v += right[q * {tile} + i]")
        with w.block("if column < columns:"):
            w("place = int64(cuda.blockIdx.y) * 2 * columns + column")
            w("store1_f32(part, place, u)", "store1_f32(part, place + columns, v)")
    pointer = element.pointer
    signature = (pointer, pointer, "float32*", "float32*", "float32*", "int64", "int64", "int64")
    return Program("column_partials", w.text(), signature, 32 * COLUMN_WARPS)


@functools.cache
def column_apply(element: Element, width: int, mode: str, weight: bool, bias: bool) -> Program:
    """Second pass over a (rows, columns) array with per-column factors; see `batch_norm` for the formulas.

    A block covers 32 x `width` columns and a chunk of rows, so that the factors are worked out once a block.
    """
    w = Writer()
    w("def column_apply(g, x, mean, rstd, w, b, sums, out, dw, rows, columns, chunk, scale, eps):")
    w.depth = 1
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5)")
    w(f"c = (int64(cuda.blockIdx.x) * 32 + lane) * {width}")
    w(
        "row = int64(cuda.blockIdx.y) * chunk + warp",
        "end = min(rows, (int64(cuda.blockIdx.y) + 1) * chunk)",
    )
    with w.block("if c < columns:"):
        if mode == "forward":
            _load(w, element, width, "k", "x", "c")
        for i in range(width):
            channel_factors(
                w,
                i,
                f"c + {i}",
                "columns",
                mode,
                weight,
                bias,
                "cuda.blockIdx.y == 0 and warp == 0",
            )

        def step(u: int) -> tuple[list[str], list[str]]:
            at = f"(row + {u * COLUMN_WARPS}) * columns + c"
            gs = [] if mode == "forward" else _load(w, element, width, f"g{u}_", "g", at)
            return gs, _load(w, element, width, f"x{u}_", "x", at)

        def write(u: int, gs: list[str], xs: list[str]) -> None:
            at = f"(row + {u * COLUMN_WARPS}) * columns + c"
            _store(
                w, element, width, "out", at, [channel_value(i, gs, xs, mode) for i in range(width)]
            )

        unroll = 4 if width <= 4 else 2
        with w.block(f"while row + {(unroll - 1) * COLUMN_WARPS} < end:"):
            loaded = [step(u) for u in range(unroll)]
            for u, (gs, xs) in enumerate(loaded):
                write(u, gs, xs)
            w(f"row += {unroll * COLUMN_WARPS}")
        with w.block("while row < end:"):
            write(0, *step(0))
            w(f"row += {COLUMN_WARPS}")
    pointer = element.pointer
    signature = (
        (pointer, pointer)
        + ("float32*",) * 5
        + (pointer, "float32*")
        + ("int64", "int64", "int64", "float32", "float32")
    )
    return Program("column_apply", w.text(), signature, 32 * COLUMN_WARPS)


def channel_factors(
    w: Writer, i: int, at: str, channels: str, mode: str, weight: bool, bias: bool, first: str
) -> None:
    """Per-channel factors of batch_norm from the two sums; the first block also writes statistics or weight gradients."""
    w(f"sa = load1_f32(sums, {at}) * scale; sb = load1_f32(sums, {at} + {channels}) * scale")
    w(f"wt = load1_f32(w, {at})" if weight else "wt = float32(1)")
    if mode == "forward":
        w(f"shift{i} = k{i} + sa", "spread = max(sb - sa * sa, float32(0))")
        w("r = float32(1) / math.sqrt(spread + eps)", f"factor{i} = r * wt")
        w(f"add{i} = load1_f32(b, {at})" if bias else f"add{i} = float32(0)")
        with w.block(f"if {first}:"):
            w(f"store1_f32(mean, {at}, shift{i})", f"store1_f32(rstd, {at}, r)")
        return
    w(f"r = load1_f32(rstd, {at}); shift{i} = load1_f32(mean, {at})")
    w(f"factor{i} = r * wt; mid{i} = sb; slope{i} = sa * r * r")
    with w.block(f"if {first}:"):
        w(f"store1_f32(dw, {at}, load1_f32(sums, {at}) * r)")


def channel_value(i: int, gs: list[str], xs: list[str], mode: str, j: int | None = None) -> str:
    """One element of the second pass."""
    j = i if j is None else j
    if mode == "forward":
        return f"({xs[i]} - shift{j}) * factor{j} + add{j}"
    return f"factor{j} * ({gs[i]} - mid{j} - ({xs[i]} - shift{j}) * slope{j})"
