"""Inner loops of the convolutions, each one LLVM macro: fragments from shared memory, products on the tensor cores, sums in registers.

Written out as Python, a step of 36 products with 144 sums took Numba minutes to type; as one intrinsic it compiles in a second. Sums live in a
``cuda.local.array`` that is only ever indexed with constants, so that it stays in registers. A kernel's source calls a macro by a name that carries
its sizes (``tile_products_MT_NT_...``); `make` builds it. The twins for the simulator are in `twin_products`.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .intrinsics import FLOAT, I32, I64, _build, _element_pointer
from .source import MACROS

from numba.cuda import types  # isort: skip

_MMA = ir.InlineAsm(
    ir.FunctionType(ir.LiteralStructType([FLOAT] * 4), [FLOAT] * 4 + [I32] * 6),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0,$1,$2,$3}, {$8,$9,$10,$11}, {$12,$13}, {$0,$1,$2,$3};",
    "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r",
    side_effect=False,
)
_PRODUCTS = {
    True: ((1, 0), (0, 1), (0, 0)),
    False: ((0, 0),),
}  # which part of A with which part of B


class _Emitter:
    """What the macros share, bound to one call site."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any) -> None:
        self.context, self.builder, self.sig, self.args = context, builder, sig, args

    def element(self, argument: int, i: int) -> Any:
        """Pointer to a constant element of a local array."""
        return _element_pointer(
            self.context,
            self.builder,
            self.sig.args[argument],
            self.args[argument],
            ir.Constant(I64, i),
        )

    def shared(self, argument: int) -> Any:
        """Shared memory as a pointer in its own address space."""
        array = self.context.make_array(self.sig.args[argument])
        data = array(self.context, self.builder, self.args[argument]).data
        return self.builder.addrspacecast(data, ir.PointerType(FLOAT, 3))

    def load(self, base: Any, offset: Any, constant: int, width: int = 1) -> list[Any]:
        """`width` neighbouring words of shared memory, one access."""
        b = self.builder
        pointer = b.gep(b.gep(base, [offset]), [ir.Constant(I32, constant)])
        if width == 1:
            return [b.load(pointer)]
        vector = b.load(
            b.bitcast(pointer, ir.PointerType(ir.VectorType(FLOAT, width), 3)), align=4 * width
        )
        return [b.extract_element(vector, ir.Constant(I32, i)) for i in range(width)]

    def split(self, value: Any, triple: bool) -> tuple[Any, Any]:
        """Register bits for the tensor core: (value, rest) or (rounded value, None).

        The unit ignores the low 13 bits, so the value itself serves as its own high part; the rest is exact.
        """
        b = self.builder
        bits = b.bitcast(value, I32)
        if not triple:
            return b.add(bits, ir.Constant(I32, 0x1000)), None
        high = b.bitcast(b.and_(bits, ir.Constant(I32, -8192)), FLOAT)
        return bits, b.bitcast(b.fsub(value, high), I32)

    def multiply(self, first: int, a: list[Any], b: list[Any], parts: tuple[int, int]) -> None:
        """Add one product to the four sums that start at `first` in argument 0."""
        pointers = [self.element(0, first + i) for i in range(4)]
        sums = [self.builder.load(p) for p in pointers]
        operands = [v[parts[0]] for v in a] + [v[parts[1]] for v in b]
        result = self.builder.call(_MMA, sums + operands)
        for i, p in enumerate(pointers):
            self.builder.store(self.builder.extract_value(result, i), p)


def _macro(
    name: str,
    parameters: str,
    kinds: Callable[..., tuple[Any, ...]],
    emit: Callable[[_Emitter], None],
) -> Any:
    names = parameters.split()

    def body(*found: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            emit(_Emitter(context, builder, sig, args))
            return context.get_dummy_value()

        return types.void(*kinds(*found)), codegen

    return _build(name, names, body)


def tile_products(name: str, mt: int, nt: int, triple: int, half: int, tap: int, first: int) -> Any:
    """(sums, shared, weights_at, patch_at, pixels): one tap, 8 channels of `conv_tile`; `tap` and `first` are constant offsets."""

    def emit(e: _Emitter) -> None:
        base = e.shared(1)
        a = [
            [e.split(v, bool(triple)) for v in e.load(base, e.args[2], first + 128 * i, 4)]
            for i in range(mt)
        ]
        b = []
        for n in range(nt):
            at = e.builder.add(e.args[3], e.builder.load(e.element(4, n)))
            b.append([e.split(e.load(base, at, tap + k * half)[0], bool(triple)) for k in (0, 1)])
        for parts in _PRODUCTS[bool(triple)]:
            for n in range(nt):
                for i in range(mt):
                    e.multiply((i * nt + n) * 4, a[i], b[n], parts)

    i32 = types.int32
    return _macro(
        name, "sums shared weights patch pixels", lambda s, m, *_: (s, m, i32, i32, _[2]), emit
    )


def tile_put(name: str, mt: int, nt: int, pitch: int) -> Any:
    """(sums, shared, at): a warp's sums to a tile in shared memory, rows of `pitch` words."""

    def emit(e: _Emitter) -> None:
        base = e.shared(1)
        for i in range(mt):
            for n in range(nt):
                for j in range(4):
                    at = e.builder.gep(base, [e.args[2]])
                    offset = ir.Constant(I32, (i * 16 + 8 * (j // 2)) * pitch + n * 8 + j % 2)
                    e.builder.store(
                        e.builder.load(e.element(0, (i * nt + n) * 4 + j)),
                        e.builder.gep(at, [offset]),
                    )

    return _macro(name, "sums shared at", lambda s, m, _: (s, m, types.int32), emit)


def _weight_offsets(ks: int, stride: int, dilation: int, shift: int) -> tuple[list[int], list[int]]:
    """Columns of the patch a step reads: each, and the even ones the 64-bit loads start at."""
    offsets = sorted({shift + e * stride + s * dilation for e in (0, 1) for s in range(ks)})
    return offsets, sorted({o // 2 * 2 for o in offsets})


def weight_fragment_count(
    mt: int, ng: int, fr: int, ks: int, stride: int, dilation: int, shift: int
) -> int:
    """Words `weight_load` keeps."""
    return 4 * mt + 2 * ng * fr * len(_weight_offsets(ks, stride, dilation, shift)[1])


def _weight_loads(
    e: _Emitter, base: Any, a_at: Any, b_at: Any, sizes: tuple[int, ...]
) -> list[Any]:
    mt, ng, fr, ks, stride, dilation, pitch, plane, row, shift = sizes
    found: list[Any] = []
    for a in range(mt):
        for h in range(2):
            found += e.load(base, a_at, (a * 16 + 8 * h) * pitch, 2)
    for g in range(ng):
        for r in range(fr):
            for o in _weight_offsets(ks, stride, dilation, shift)[1]:
                found += e.load(base, b_at, g * 8 * plane + r * row + o, 2)
    return found


def _weight_products(e: _Emitter, words: list[Any], sizes: tuple[int, ...], triple: bool) -> None:
    mt, ng, fr, ks, stride, dilation, _, _, _, shift = sizes
    a = []
    for i in range(mt):
        p0, p1, q0, q1 = words[4 * i : 4 * i + 4]
        a.append([e.split(v, triple) for v in (p0, q0, p1, q1)])
    offsets, pairs = _weight_offsets(ks, stride, dilation, shift)
    at = 4 * mt
    for g in range(ng):
        for r in range(fr):
            columns = {}
            for o in pairs:
                columns[o], columns[o + 1] = words[at], words[at + 1]
                at += 2
            parts = {o: e.split(columns[o], triple) for o in offsets}
            for which in _PRODUCTS[triple]:
                for s in range(ks):
                    b = [parts[shift + j * stride + s * dilation] for j in (0, 1)]
                    for i in range(mt):
                        e.multiply((((g * fr + r) * ks + s) * mt + i) * 4, a[i], b, which)


def weight_step(name: str, *sizes: int) -> Any:
    """(sums, shared, a_at, b_at): eight pixels of `conv2d_grad_weight`, loads and products."""
    *shape, triple = sizes

    def emit(e: _Emitter) -> None:
        words = _weight_loads(e, e.shared(1), e.args[2], e.args[3], tuple(shape))
        _weight_products(e, words, tuple(shape), bool(triple))

    i32 = types.int32
    return _macro(name, "sums shared a_at b_at", lambda s, m, *_: (s, m, i32, i32), emit)


def weight_load(name: str, *sizes: int) -> Any:
    """(kept, shared, a_at, b_at): the fragments of a step into a local array."""
    shape = sizes[:-1]

    def emit(e: _Emitter) -> None:
        for i, v in enumerate(_weight_loads(e, e.shared(1), e.args[2], e.args[3], shape)):
            e.builder.store(v, e.element(0, i))

    i32 = types.int32
    return _macro(name, "kept shared a_at b_at", lambda s, m, *_: (s, m, i32, i32), emit)


def weight_ahead(name: str, *sizes: int) -> Any:
    """(sums, kept, shared, a_at, b_at): load the next step's fragments, then the products of the kept ones."""
    *shape, triple = sizes

    def emit(e: _Emitter) -> None:
        mt, ng, fr, ks, stride, dilation, _, _, _, shift = shape
        count = weight_fragment_count(mt, ng, fr, ks, stride, dilation, shift)
        words = [e.builder.load(e.element(1, i)) for i in range(count)]
        coming = _weight_loads(e, e.shared(2), e.args[3], e.args[4], tuple(shape))
        _weight_products(e, words, tuple(shape), bool(triple))
        for i, v in enumerate(coming):
            e.builder.store(v, e.element(1, i))

    i32 = types.int32
    return _macro(name, "sums kept shared a_at b_at", lambda s, k, m, *_: (s, k, m, i32, i32), emit)


def weight_store(name: str, mt: int, ng: int, fr: int, ks: int, outputs: int, channels: int) -> Any:
    """(sums, part, home, m0, n0): the sums of a warp to part[tap, k, c], inside the bounds."""

    def emit(e: _Emitter) -> None:
        b = e.builder
        base = b.gep(e.args[1], [e.args[2]])
        for g in range(ng):
            for r in range(fr):
                for s in range(ks):
                    for a in range(mt):
                        for i in range(4):
                            value = b.load(e.element(0, (((g * fr + r) * ks + s) * mt + a) * 4 + i))
                            m = b.add(e.args[3], ir.Constant(I32, a * 16 + 8 * (i // 2)))
                            c = b.add(e.args[4], ir.Constant(I32, g * 8 + i % 2))
                            inside = b.and_(
                                b.icmp_signed("<", m, ir.Constant(I32, outputs)),
                                b.icmp_signed("<", c, ir.Constant(I32, channels)),
                            )
                            with b.if_then(inside):
                                line = b.add(m, ir.Constant(I32, (r * ks + s) * outputs))
                                at = b.add(b.mul(line, ir.Constant(I32, channels)), c)
                                b.store(value, b.gep(base, [b.sext(at, I64)]))

    i32 = types.int32
    return _macro(
        name, "sums part home m0 n0", lambda s, p, *_: (s, p, types.int64, i32, i32), emit
    )


def clear(name: str, count: int) -> Any:
    """(sums): all zero."""

    def emit(e: _Emitter) -> None:
        for i in range(count):
            e.builder.store(ir.Constant(FLOAT, 0.0), e.element(0, i))

    return _macro(name, "sums", lambda s: (s,), emit)


def flush(name: str, count: int) -> Any:
    """(total, sums): add the sums to the totals in float32, rounded to nearest, and clear them."""

    def emit(e: _Emitter) -> None:
        b = e.builder
        for i in range(count):
            b.store(b.fadd(b.load(e.element(0, i)), b.load(e.element(1, i))), e.element(0, i))
            b.store(ir.Constant(FLOAT, 0.0), e.element(1, i))

    return _macro(name, "total sums", lambda t, s: (t, s), emit)


def make(name: str) -> Any:
    """The macro a name stands for."""
    for stem in MACROS:
        if stem != "copies" and name.startswith(stem + "_"):
            sizes = [int(n) for n in name[len(stem) + 1 :].split("_")]
            return globals()[stem](name, *sizes)
    raise KeyError(name)
