"""Results far larger than a core's cache, written past it: picked rows, and copies.

A processor reads a line before it writes to it, and what is written drives out what comes next.
Stores that LLVM marks as nontemporal do neither: 400,000 rows of 64 float32 are picked in 9.4 ms
in place of 17.4 (processor time). From 16 MB on that costs the reader of the result nothing;
smaller ones are better left in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import FLOATS, Array
from npgrad.kernels._compile import available, constant, njit
from npgrad.kernels._threads import spread

__all__ = ["copied", "suits", "take"]

LARGE_BYTES = 16 << 20
LINE = 64  # bytes that are moved at a time, by four stores, each to a multiple of 16 bytes
STORE = 16


@constant
def _move() -> Any:
    """``_move(to, k, source, j)``: the 64 bytes from ``source[j]`` on to ``to[k]`` and on."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def move(typing: Any, to: Any, k: Any, source: Any, j: Any) -> Any:
        itemsize = to.dtype.bitwidth // 8
        lanes = STORE // itemsize

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = ir.IntType(64)
            vector = ir.VectorType(context.get_value_type(to.dtype), lanes).as_pointer()
            past = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])

            def address(array: int, place: int, part: int) -> Any:
                made = context.make_array(signature.args[array])(context, builder, args[array])
                at = builder.add(args[place], ir.Constant(word, part * lanes))
                return builder.bitcast(builder.gep(made.data, [at]), vector)

            for part in range(LINE // STORE):
                value = builder.load(address(2, 3, part))
                value.align = itemsize
                store = builder.store(value, address(0, 1, part))
                store.align = STORE
                store.set_metadata("nontemporal", past)
            return context.get_dummy_value()

        return types.void(to, types.int64, source, types.int64), generate

    return move


@constant
def _settle() -> Any:
    """``_settle()``: what was written past the cache is seen by other threads from here on."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def settle(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), generate

    return settle


@njit()
def _take(start, stop, x, index, out):  # type: ignore[no-untyped-def]
    """Rows ``start <= k < stop`` of `out`."""
    width = x.shape[1]
    step = LINE // x.itemsize
    source, to = x.reshape(-1), out.reshape(-1)
    for k in range(start, stop):
        first = np.int64(index[k]) * width
        for j in range(0, width, step):
            _move(to, k * width + j, source, first + j)
    _settle()


@njit()
def _copy(start, stop, x, out):  # type: ignore[no-untyped-def]
    """Lines of 64 bytes ``start <= k < stop``."""
    step = LINE // x.itemsize
    for k in range(start, stop):
        _move(out, k * step, x, k * step)
    _settle()


def suits(x: Array, out: Array) -> bool:
    """Whether `out` is large enough, of a type that is moved, and where stores may go."""
    return (
        out.nbytes >= LARGE_BYTES
        and type(x) is np.ndarray
        and x.dtype in FLOATS
        and x.flags.c_contiguous
        and available()
        and out.ctypes.data % STORE == 0
    )


def take(x: Array, index: Array, out: Array) -> None:
    """``out[k] = x[index[k]]`` for matrices of rows of whole lines; no index is negative."""
    spread(_take, len(index), 0.1 * x.itemsize * x.shape[1], x, index, out)


def _plain(start: int, stop: int, source: Array, target: Array) -> None:
    """NumPy's own copy, which lets other threads run."""
    target[start:stop] = source[start:stop]


def copied(x: Array) -> Array:
    """A copy of a large array in C order, by all threads; it needs no Numba."""
    out = empty(x.shape, x.dtype)
    if not x.flags.c_contiguous:
        out[...] = x
        return out
    source, target = x.reshape(-1), out.reshape(-1)
    moved = 0
    if suits(x, out):
        lines = x.nbytes // LINE
        spread(_copy, lines, 0.07 * LINE, source, target)
        moved = lines * (LINE // x.itemsize)
    # one thread copies 14 GB/s from and to the last cache
    spread(_plain, x.size - moved, 0.07 * x.itemsize, source[moved:], target[moved:])
    return out
