"""Device functions that Numba CUDA does not have: vector accesses, reductions in memory, shuffles, `mma`, `cp.async`.

Every function takes a raw pointer (``types.CPointer``) or a Numba array and an element index, so that kernels can be
written on pointers and sizes alone. Each name here has a plain Python twin of the same name in `twins`, which the
CUDA simulator runs. Importing this module imports Numba; nothing else in ``npgrad.cuda`` does.
"""

# ruff: noqa: E402, E501, E741
# (NumPy is mended before Numba is imported; generated kernel text and table rows are not broken; I is a type)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# numba-cuda 0.30 reads np.row_stack, which NumPy 2.5 no longer has: every compile would fail with AttributeError.
GONE = "row_stack"  # by name: a linter's fix once turned the attribute into np.vstack on both sides
if not hasattr(np, GONE):
    setattr(np, GONE, np.vstack)

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
I16, I32, I64, VOID = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.VoidType()
LLVM = {
    types.float32: FLOAT,
    types.float64: DOUBLE,
    types.uint16: I16,
    types.int32: I32,
    types.uint32: I32,
    types.int64: I64,
}
LETTER = {
    types.float32: "f",
    types.float64: "d",
    types.int32: "r",
    types.uint32: "r",
    types.int64: "l",
    types.uint16: "h",
}


def _element_pointer(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    """LLVM pointer to element `index` of a raw pointer or of a Numba array."""
    if isinstance(kind, types.CPointer):
        return builder.gep(value, [index])
    return builder.gep(context.make_array(kind)(context, builder, value).data, [index])


def _shared_address(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    """32-bit shared-memory address of element `index`."""
    pointer = _element_pointer(context, builder, kind, value, index)
    return builder.ptrtoint(
        builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, 3)), I32
    )


def _build(name: str, parameters: Sequence[str], body: Callable[..., Any]) -> Any:
    """An intrinsic `name(parameters)` whose signature and code `body` decides (Numba reads the parameter names)."""
    scope: dict[str, Any] = {"body": body}
    listed = ", ".join(parameters)
    exec(f"def {name}(typingctx{', ' + listed if listed else ''}): return body({listed})", scope)
    return intrinsic(scope[name])


def _asm(
    name: str,
    returns: Any,
    takes: Sequence[Any],
    text: str,
    *,
    memory: bool = False,
    count: int = 1,
) -> Any:
    """One inline PTX instruction.

    `takes` lists operand types in order; ``"global"`` and ``"shared"`` each stand for two parameters, a pointer and an
    element index, and give one address operand. `count` > 1 returns a tuple of that many `returns`.
    """
    parameters: list[str] = []
    for i, kind in enumerate(takes):
        parameters += [f"p{i}", f"i{i}"] if isinstance(kind, str) else [f"a{i}"]

    def body(*kinds: Any) -> Any:
        argument_types: list[Any] = []
        k = 0
        for kind in takes:
            if isinstance(kind, str):
                argument_types += [kinds[k], types.int64 if kind == "global" else types.int32]
                k += 2
            else:
                argument_types.append(kind)
                k += 1
        result = types.void if returns is None else returns
        if count > 1:
            result = types.UniTuple(returns, count)
        signature = result(*argument_types)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            operands, operand_types, letters = [], [], []
            k = 0
            for kind in takes:
                if kind == "global":
                    pointer = _element_pointer(context, builder, sig.args[k], args[k], args[k + 1])
                    operands.append(builder.ptrtoint(pointer, I64))
                    operand_types.append(I64)
                    letters.append("l")
                    k += 2
                elif kind == "shared":
                    operands.append(
                        _shared_address(context, builder, sig.args[k], args[k], args[k + 1])
                    )
                    operand_types.append(I32)
                    letters.append("r")
                    k += 2
                else:
                    operands.append(args[k])
                    operand_types.append(LLVM[kind])
                    letters.append(LETTER[kind])
                    k += 1
            if returns is None:
                out, outs = VOID, []
            elif count == 1:
                out, outs = LLVM[returns], ["=" + LETTER[returns]]
            else:
                out = ir.LiteralStructType([LLVM[returns]] * count)
                outs = ["=" + LETTER[returns]] * count
            clobbers = ["~{memory}"] if memory else []
            code = ir.InlineAsm(
                ir.FunctionType(out, operand_types),
                text,
                ",".join(outs + letters + clobbers),
                side_effect=memory,
            )
            value = builder.call(code, operands)
            if returns is None:
                return context.get_dummy_value()
            if count == 1:
                return value
            parts = [builder.extract_value(value, i) for i in range(count)]
            return context.make_tuple(builder, sig.return_type, parts)

        return signature, codegen

    return _build(name, parameters, body)


def _vector_load(name: str, element: Any, width: int) -> Any:
    """Plain LLVM vector load (global or shared memory), aligned to the whole vector."""

    def body(array: Any, index: Any) -> Any:
        llvm = LLVM[element]
        size = width * np.dtype(str(element)).itemsize

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, sig.args[0], args[0], args[1])
            vector = ir.VectorType(llvm, width)
            value = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=size)
            parts = [builder.extract_element(value, ir.Constant(I32, i)) for i in range(width)]
            return context.make_tuple(builder, sig.return_type, parts)

        return types.UniTuple(element, width)(array, types.int64), codegen

    return _build(name, ["array", "index"], body)


def _vector_store(name: str, element: Any, width: int) -> Any:
    """Plain LLVM vector store."""

    def body(array: Any, index: Any, *values: Any) -> Any:
        llvm = LLVM[element]
        size = width * np.dtype(str(element)).itemsize

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, sig.args[0], args[0], args[1])
            vector = ir.VectorType(llvm, width)
            value = ir.Constant(vector, ir.Undefined)
            for i in range(width):
                value = builder.insert_element(value, args[2 + i], ir.Constant(I32, i))
            builder.store(value, builder.bitcast(pointer, vector.as_pointer()), align=size)
            return context.get_dummy_value()

        return types.void(array, types.int64, *([element] * width)), codegen

    return _build(name, ["array", "index"] + [f"v{i}" for i in range(width)], body)


def _llvm_call(
    name: str, function: str, returns: Any, takes: Sequence[Any], tail: tuple[int, ...]
) -> Any:
    """A call of an NVVM intrinsic; `tail` are constant int32 arguments appended at the end."""

    def body(*_: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kinds = [LLVM[t] for t in takes] + [I32] * len(tail)
            declared = builder.module.globals.get(function)
            if declared is None:
                declared = ir.Function(
                    builder.module, ir.FunctionType(LLVM[returns], kinds), function
                )
            return builder.call(declared, list(args) + [ir.Constant(I32, c) for c in tail])

        return returns(*takes), codegen

    return _build(name, [f"a{i}" for i in range(len(takes))], body)


F, D, H, I, U, L = (
    types.float32,
    types.float64,
    types.uint16,
    types.int32,
    types.uint32,
    types.int64,
)

# ---- global memory: read-only loads (.nc) and streaming stores (.cs: written once, do not keep)
load4_f32 = _asm("load4_f32", F, ["global"], "ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4];", count=4)
load2_f64 = _asm("load2_f64", D, ["global"], "ld.global.nc.v2.f64 {$0,$1}, [$2];", count=2)
load4_u32 = _asm("load4_u32", U, ["global"], "ld.global.nc.v4.u32 {$0,$1,$2,$3}, [$4];", count=4)
# read once and not again: leave the caches to others
once4_f32 = _asm(
    "once4_f32", F, ["global"], "ld.global.nc.L1::no_allocate.v4.f32 {$0,$1,$2,$3}, [$4];", count=4
)
once1_f32 = _asm("once1_f32", F, ["global"], "ld.global.nc.L1::no_allocate.f32 $0, [$1];")
# the same, not moved past a barrier: prefetch of the next row
ahead4_f32 = _asm(
    "ahead4_f32", F, ["global"], "ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4];", count=4, memory=True
)
# eight 16-bit elements as they lie in memory, ahead of their turn, and the halves of a word
ahead8_words = _asm(
    "ahead8_words", U, ["global"], "ld.global.nc.v4.b32 {$0,$1,$2,$3}, [$4];", count=4, memory=True
)
low_bf16 = _asm("low_bf16", F, [U], "shl.b32 $0, $1, 16;")
high_bf16 = _asm("high_bf16", F, [U], "and.b32 $0, $1, 0xffff0000;")
low_f16 = _asm("low_f16", F, [U], "{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }")
high_f16 = _asm("high_f16", F, [U], "{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, h; }")
# really read again (second pass over a row that lies in L2)
again4_f32 = _asm(
    "again4_f32", F, ["global"], "ld.global.v4.f32 {$0,$1,$2,$3}, [$4];", count=4, memory=True
)
store4_f32 = _asm(
    "store4_f32",
    None,
    ["global", F, F, F, F],
    "st.global.cs.v4.f32 [$0], {$1,$2,$3,$4};",
    memory=True,
)
store2_f64 = _asm(
    "store2_f64", None, ["global", D, D], "st.global.cs.v2.f64 [$0], {$1,$2};", memory=True
)
load1_f32 = _asm("load1_f32", F, ["global"], "ld.global.nc.f32 $0, [$1];")
load1_i64 = _asm("load1_i64", L, ["global"], "ld.global.nc.s64 $0, [$1];")
load1_i32 = _asm("load1_i32", I, ["global"], "ld.global.nc.s32 $0, [$1];")
store1_i64 = _asm("store1_i64", None, ["global", L], "st.global.s64 [$0], $1;", memory=True)
load1_f64 = _asm("load1_f64", D, ["global"], "ld.global.nc.f64 $0, [$1];")
load1_bf16 = _asm(
    "load1_bf16",
    F,
    ["global"],
    "{ .reg .b16 h; .reg .b16 z; mov.b16 z, 0; ld.global.nc.b16 h, [$1]; mov.b32 $0, {z, h}; }",
)
load1_f16 = _asm(
    "load1_f16", F, ["global"], "{ .reg .b16 h; ld.global.nc.b16 h, [$1]; cvt.f32.f16 $0, h; }"
)
store1_f32 = _asm("store1_f32", None, ["global", F], "st.global.f32 [$0], $1;", memory=True)
store1_f64 = _asm("store1_f64", None, ["global", D], "st.global.f64 [$0], $1;", memory=True)
store1_bf16 = _asm(
    "store1_bf16",
    None,
    ["global", F],
    "{ .reg .b16 h; cvt.rn.bf16.f32 h, $1; st.global.b16 [$0], h; }",
    memory=True,
)
store1_f16 = _asm(
    "store1_f16",
    None,
    ["global", F],
    "{ .reg .b16 h; cvt.rn.f16.f32 h, $1; st.global.b16 [$0], h; }",
    memory=True,
)

_UNPACK_BF16 = " ".join(
    f"mov.b32 {{l, h}}, w{i}; mov.b32 ${2 * i}, {{z, l}}; mov.b32 ${2 * i + 1}, {{z, h}};"
    for i in range(4)
)
load8_bf16 = _asm(
    "load8_bf16",
    F,
    ["global"],
    "{ .reg .b32 w0, w1, w2, w3; .reg .b16 l, h, z; mov.b16 z, 0; "
    f"ld.global.nc.v4.b32 {{w0,w1,w2,w3}}, [$8]; {_UNPACK_BF16} }}",
    count=8,
)
_UNPACK_F16 = " ".join(
    f"mov.b32 {{l, h}}, w{i}; cvt.f32.f16 ${2 * i}, l; cvt.f32.f16 ${2 * i + 1}, h;"
    for i in range(4)
)
load8_f16 = _asm(
    "load8_f16",
    F,
    ["global"],
    f"{{ .reg .b32 w0, w1, w2, w3; .reg .b16 l, h; ld.global.nc.v4.b32 {{w0,w1,w2,w3}}, [$8]; {_UNPACK_F16} }}",
    count=8,
)


def _store8(name: str, kind: str) -> Any:
    """Round eight float32 to 16 bits and store 16 bytes."""
    pack = " ".join(f"cvt.rn.{kind}x2.f32 w{i}, ${2 * i + 2}, ${2 * i + 1};" for i in range(4))
    text = f"{{ .reg .b32 w0, w1, w2, w3; {pack} st.global.v4.b32 [$0], {{w0,w1,w2,w3}}; }}"
    return _asm(name, None, ["global"] + [F] * 8, text, memory=True)


store8_bf16 = _store8("store8_bf16", "bf16")
store8_f16 = _store8("store8_f16", "f16")

# ---- plain vector accesses (shared memory, or global memory that is written and read)
get4_f32 = _vector_load("get4_f32", F, 4)
get2_f32 = _vector_load("get2_f32", F, 2)
put4_f32 = _vector_store("put4_f32", F, 4)
put2_f32 = _vector_store("put2_f32", F, 2)

# ---- reductions in memory (no value returned)
add1_f32 = _asm(
    "add1_f32", None, ["global", F], "red.relaxed.gpu.global.add.f32 [$0], $1;", memory=True
)
add1_f64 = _asm(
    "add1_f64", None, ["global", D], "red.relaxed.gpu.global.add.f64 [$0], $1;", memory=True
)
# one instruction adds 16 bytes; compute capability 9.0 and newer
add4_f32 = _asm(
    "add4_f32",
    None,
    ["global", F, F, F, F],
    "red.relaxed.gpu.global.add.v4.f32 [$0], {$1,$2,$3,$4};",
    memory=True,
)
add4_split_f32 = _asm(
    "add4_split_f32",
    None,
    ["global", F, F, F, F],
    " ".join(f"red.relaxed.gpu.global.add.f32 [$0+{4 * i}], ${i + 1};" for i in range(4)),
    memory=True,
)
shared_add_f32 = _asm(
    "shared_add_f32",
    None,
    ["shared", F],
    "red.relaxed.cta.shared::cta.add.f32 [$0], $1;",
    memory=True,
)
shared_exchange_i32 = _asm(
    "shared_exchange_i32",
    I,
    ["shared", I],
    "atom.relaxed.cta.shared::cta.exch.b32 $0, [$1], $2;",
    memory=True,
)
shared_add_i32 = _asm(
    "shared_add_i32",
    None,
    ["shared", I],
    "red.relaxed.cta.shared::cta.add.u32 [$0], $1;",
    memory=True,
)

# ---- flags between blocks
ticket = _asm(
    "ticket", I, ["global", I], "atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", memory=True
)
flag_set = _asm("flag_set", None, ["global", I], "st.release.gpu.global.u32 [$0], $1;", memory=True)
flag_get = _asm("flag_get", I, ["global"], "ld.acquire.gpu.global.u32 $0, [$1];", memory=True)
fence = _asm("fence", None, [], "fence.acq_rel.gpu;", memory=True)

# ---- warps
shfl_xor_f32 = _llvm_call("shfl_xor_f32", "llvm.nvvm.shfl.sync.bfly.f32", F, [I, F, I], (31,))
shfl_xor_i32 = _llvm_call("shfl_xor_i32", "llvm.nvvm.shfl.sync.bfly.i32", I, [I, I, I], (31,))
shfl_up_f32 = _llvm_call("shfl_up_f32", "llvm.nvvm.shfl.sync.up.f32", F, [I, F, I], (0,))
shfl_up_i32 = _llvm_call("shfl_up_i32", "llvm.nvvm.shfl.sync.up.i32", I, [I, I, I], (0,))
shfl_down_i32 = _llvm_call("shfl_down_i32", "llvm.nvvm.shfl.sync.down.i32", I, [I, I, I], (31,))
shfl_f32 = _llvm_call("shfl_f32", "llvm.nvvm.shfl.sync.idx.f32", F, [I, F, I], (31,))
shfl_i32 = _llvm_call("shfl_i32", "llvm.nvvm.shfl.sync.idx.i32", I, [I, I, I], (31,))
warp_match = _llvm_call("warp_match", "llvm.nvvm.match.any.sync.i32", I, [I, I], ())
warp_any = _asm(
    "warp_any",
    I,
    [I],
    "{ .reg .pred p, q; setp.ne.s32 p, $1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.s32 $0, 1, 0, q; }",
    memory=True,
)
warp_ballot = _asm(
    "warp_ballot",
    I,
    [I],
    "{ .reg .pred p; setp.ne.s32 p, $1, 0; vote.sync.ballot.b32 $0, p, 0xffffffff; }",
    memory=True,
)
warp_sync = _asm("warp_sync", None, [], "bar.warp.sync 0xffffffff;", memory=True)
popcount = _asm("popcount", I, [I], "popc.b32 $0, $1;")
lowest_bit = _asm(
    "lowest_bit", I, [I], "{ .reg .b32 t; brev.b32 t, $1; bfind.shiftamt.u32 $0, t; }"
)

# ---- a barrier of some warps of a block: number 1..15, threads a multiple of 32
barrier_some = _asm("barrier_some", None, [I, I], "bar.sync $0, $1;", memory=True)

# ---- bits
bits_of = _asm("bits_of", I, [F], "mov.b32 $0, $1;")
float_of = _asm("float_of", F, [I], "mov.b32 $0, $1;")

# ---- 16-bit words, two a register: the first argument lies in the lower half
load1_u16 = _asm(
    "load1_u16", I, ["global"], "{ .reg .b16 h; ld.global.nc.b16 h, [$1]; cvt.u32.u16 $0, h; }"
)
store1_u32 = _asm("store1_u32", None, ["global", U], "st.global.u32 [$0], $1;", memory=True)
pack2_u16 = _asm("pack2_u16", U, [I, I], "prmt.b32 $0, $1, $2, 0x5410;")
pack2_f16 = _asm("pack2_f16", U, [F, F], "cvt.rn.f16x2.f32 $0, $2, $1;")
# two float32 as float16 and, times 2048, what that leaves: 22 bits of mantissa and a sign
split2_f16 = _asm(
    "split2_f16",
    U,
    [F, F],
    "{ .reg .b16 a, b; .reg .b32 h, l; .reg .f32 x, y; cvt.rn.f16x2.f32 h, $3, $2; "
    "mov.b32 {a, b}, h; cvt.f32.f16 x, a; cvt.f32.f16 y, b; sub.f32 x, $2, x; sub.f32 y, $3, y; "
    "mul.f32 x, x, 0f45000000; mul.f32 y, y, 0f45000000; cvt.rn.f16x2.f32 l, y, x; "
    "mov.b32 $0, h; mov.b32 $1, l; }",
    count=2,
)

# ---- asynchronous copies, global to shared; `size` bytes are read, the rest is zero-filled
copy16_f32 = _asm(
    "copy16_f32",
    None,
    ["shared", "global", I],
    "cp.async.cg.shared.global [$0], [$1], 16, $2;",
    memory=True,
)
copy8_f32 = _asm(
    "copy8_f32",
    None,
    ["shared", "global", I],
    "cp.async.ca.shared.global [$0], [$1], 8, $2;",
    memory=True,
)
copy4_f32 = _asm(
    "copy4_f32",
    None,
    ["shared", "global", I],
    "cp.async.ca.shared.global [$0], [$1], 4, $2;",
    memory=True,
)
copy_commit = _asm("copy_commit", None, [], "cp.async.commit_group;", memory=True)
copy_wait0 = _asm("copy_wait0", None, [], "cp.async.wait_group 0;", memory=True)
copy_wait1 = _asm("copy_wait1", None, [], "cp.async.wait_group 1;", memory=True)
copy_wait2 = _asm("copy_wait2", None, [], "cp.async.wait_group 2;", memory=True)


def copies(size: int, count: int, shared_step: int, global_step: int) -> Any:
    """`count` asynchronous copies of `size` bytes with constant steps (in elements of 4 bytes) as immediate offsets.

    Address arithmetic in registers, one a copy, made a weight-gradient kernel twice as slow.
    """
    way = "cg" if size == 16 else "ca"
    text = " ".join(
        f"cp.async.{way}.shared.global [$0+{4 * j * shared_step}], [$1+{4 * j * global_step}], {size}, $2;"
        for j in range(count)
    )
    name = f"copies_{size}_{count}_{shared_step}_{global_step}"
    return _asm(name, None, ["shared", "global", I], text, memory=True)


def _mma_tf32() -> Any:
    """(c0..c3) + A(16x8) B(8x8) on the tensor cores; operands are float32 registers whose low 13 bits are ignored."""
    parameters = [f"c{i}" for i in range(4)] + [f"a{i}" for i in range(4)] + ["b0", "b1"]

    def body(*_: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            out = ir.LiteralStructType([FLOAT] * 4)
            code = ir.InlineAsm(
                ir.FunctionType(out, [FLOAT] * 4 + [I32] * 6),
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                "{$0,$1,$2,$3}, {$8,$9,$10,$11}, {$12,$13}, {$0,$1,$2,$3};",
                "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r",
                side_effect=False,
            )
            value = builder.call(code, list(args[:4]) + [builder.bitcast(a, I32) for a in args[4:]])
            parts = [builder.extract_value(value, i) for i in range(4)]
            return context.make_tuple(builder, sig.return_type, parts)

        return types.UniTuple(F, 4)(*([F] * 10)), codegen

    return _build("mma_tf32", parameters, body)


mma_tf32 = _mma_tf32()


def _bits_round(name: str, mask: int, bias: int = 0x1000) -> Any:
    """float32 to a 10-bit mantissa on the integer bits: rounded (ties away from zero), or cut off with bias 0."""

    def body(_: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            u = builder.bitcast(args[0], I32)
            if bias:
                u = builder.add(u, ir.Constant(I32, bias))
            if mask:
                u = builder.and_(u, ir.Constant(I32, mask))
            return builder.bitcast(u, FLOAT)

        return F(F), codegen

    return _build(name, ["v"], body)


# what the tensor core sees of a register: the low 13 bits are ignored
tf32_cut = _bits_round("tf32_cut", -8192, 0)
# rounded to nearest once the tensor core has cut it
tf32_operand = _bits_round("tf32_operand", 0)
