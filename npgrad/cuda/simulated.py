"""Plain Python twins of `intrinsics`, and the launch of a kernel in Numba's CUDA simulator.

The simulator runs every CUDA thread as a Python thread and has no shuffles, votes or inline PTX. The twins here do what
the instruction does, element by element; warp operations meet at a barrier of the warp's own threads.
Works only in a process started with ``NUMBA_ENABLE_CUDASIM=1``.
"""

# ruff: noqa: D103, E501
# (a twin does what its namesake in intrinsics is documented to do; generated kernel text and table rows are not broken)

from __future__ import annotations

import contextlib
import math
import operator
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from .source import generated

_memory_lock = threading.Lock()


def bf16_to_f32(words: Any) -> Any:
    """float32 of bfloat16 bit patterns."""
    return (np.asarray(words, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(values: Any) -> Any:
    """bfloat16 bit patterns, rounded to nearest even (NaN stays NaN)."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)


# ---- memory


def _loads(width: int) -> Any:
    return lambda array, index: tuple(array[index + i] for i in range(width))


def _stores(width: int) -> Any:
    def store(array: Any, index: int, *values: Any) -> None:
        for i in range(width):
            array[index + i] = values[i]

    return store


load4_f32 = once4_f32 = ahead4_f32 = again4_f32 = get4_f32 = load4_u32 = _loads(4)
load2_f64 = get2_f32 = _loads(2)
store4_f32 = put4_f32 = _stores(4)
store2_f64 = put2_f32 = _stores(2)


def load1_f32(array: Any, index: int) -> Any:
    return array[index]


load1_f64 = once1_f32 = load1_i64 = load1_i32 = load1_f32


def store1_f32(array: Any, index: int, value: Any) -> None:
    array[index] = value


store1_f64 = store1_i64 = store1_f32


def load1_bf16(array: Any, index: int) -> Any:
    return bf16_to_f32([array[index]])[0]


def load1_f16(array: Any, index: int) -> Any:
    return np.float32(np.uint16(array[index]).view(np.float16))


def store1_bf16(array: Any, index: int, value: Any) -> None:
    array[index] = f32_to_bf16([value])[0]


def store1_f16(array: Any, index: int, value: Any) -> None:
    array[index] = np.float16(value).view(np.uint16)


def load8_bf16(array: Any, index: int) -> Any:
    return tuple(load1_bf16(array, index + i) for i in range(8))


def load8_f16(array: Any, index: int) -> Any:
    return tuple(load1_f16(array, index + i) for i in range(8))


def store8_bf16(array: Any, index: int, *values: Any) -> None:
    for i in range(8):
        store1_bf16(array, index + i, values[i])


def store8_f16(array: Any, index: int, *values: Any) -> None:
    for i in range(8):
        store1_f16(array, index + i, values[i])


def add1_f32(array: Any, index: int, value: Any) -> None:
    with _memory_lock:
        array[index] += value


add1_f64 = shared_add_f32 = shared_add_i32 = add1_f32


def add4_f32(array: Any, index: int, *values: Any) -> None:
    with _memory_lock:
        for i in range(4):
            array[index + i] += values[i]


add4_split_f32 = add4_f32


def shared_exchange_i32(array: Any, index: int, value: Any) -> Any:
    with _memory_lock:
        old = array[index]
        array[index] = value
        return old


def ticket(array: Any, index: int, value: Any) -> Any:
    with _memory_lock:
        old = int(array[index])
        array[index] = old + int(value)
        return old


def flag_set(array: Any, index: int, value: Any) -> None:
    array[index] = value


def flag_get(array: Any, index: int) -> Any:
    return int(array[index])


def fence() -> None:
    """The simulator's memory is always coherent."""


# ---- warps


class _Warp:
    """The meeting place of one warp's threads."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(32)
        self.values: list[Any] = [None] * 32


def _exchange(value: Any) -> tuple[int, list[Any]]:
    """Hand in this lane's value; return the lane and what all 32 lanes handed in."""
    thread: Any = threading.current_thread()
    manager = thread._manager
    with _memory_lock:
        if not hasattr(manager, "warps"):
            manager.warps = {}
        warp = manager.warps.setdefault(thread.thread_id // 32, _Warp())
    lane = thread.thread_id % 32
    warp.values[lane] = value
    warp.barrier.wait(timeout=120)
    values = list(warp.values)
    warp.barrier.wait(timeout=120)
    return lane, values


def shfl_xor_f32(_: Any, value: Any, mask: int) -> Any:
    lane, values = _exchange(value)
    return values[lane ^ int(mask)]


shfl_xor_i32 = shfl_xor_f32


def shfl_up_f32(_: Any, value: Any, delta: int) -> Any:
    lane, values = _exchange(value)
    return values[lane - int(delta)] if lane >= delta else value


shfl_up_i32 = shfl_up_f32


def shfl_down_i32(_: Any, value: Any, delta: int) -> Any:
    lane, values = _exchange(value)
    return values[lane + int(delta)] if lane + delta < 32 else value


def shfl_f32(_: Any, value: Any, source: int) -> Any:
    return _exchange(value)[1][int(source)]


shfl_i32 = shfl_f32


def warp_match(_: Any, value: Any) -> Any:
    _, values = _exchange(value)
    mask = sum(1 << i for i in range(32) if values[i] == value)
    return mask - (1 << 32) if mask >= 1 << 31 else mask


def warp_any(value: Any) -> Any:
    return int(any(_exchange(value)[1]))


def warp_ballot(value: Any) -> Any:
    mask = sum(1 << i for i, v in enumerate(_exchange(value)[1]) if v)
    return mask - (1 << 32) if mask >= 1 << 31 else mask


def warp_sync() -> None:
    _exchange(None)


def barrier_some(number: int, count: int) -> None:
    manager: Any = threading.current_thread()._manager  # type: ignore[attr-defined]
    with _memory_lock:
        if not hasattr(manager, "some"):
            manager.some = {}
        barrier = manager.some.setdefault(int(number), threading.Barrier(int(count)))
    barrier.wait(timeout=120)


def popcount(value: Any) -> int:
    return int(int(value) & 0xFFFFFFFF).bit_count()


def lowest_bit(value: Any) -> int:
    value = int(value) & 0xFFFFFFFF
    return int((value & -value).bit_length()) - 1


# ---- bits


def bits_of(value: Any) -> Any:
    return np.float32(value).view(np.int32)


def float_of(value: Any) -> Any:
    return np.int32(value).view(np.float32)


def tf32_cut(value: Any) -> Any:
    """What the tensor core sees of a float32 register."""
    return (np.float32(value).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32_operand(value: Any) -> Any:
    bits = (int(np.float32(value).view(np.uint32)) + 0x1000) & 0xFFFFFFFF
    return np.uint32(bits).view(np.float32)


# ---- asynchronous copies: done at once


def _copy(words: int) -> Any:
    def copy(shared: Any, at: int, source: Any, index: int, size: int) -> None:
        for i in range(words):
            shared[at + i] = source[index + i] if 4 * i < size else np.float32(0)

    return copy


copy16_f32, copy8_f32, copy4_f32 = _copy(4), _copy(2), _copy(1)


def copies(size: int, count: int, shared_step: int, global_step: int) -> Any:
    """Twin of `intrinsics.copies`."""
    copy = _copy(size // 4)

    def many(shared: Any, at: int, source: Any, index: int, taken: int) -> None:
        for j in range(count):
            copy(shared, at + j * shared_step, source, index + j * global_step, taken)

    return many


def copy_commit() -> None:
    """Nothing is pending."""


copy_wait0 = copy_wait1 = copy_wait2 = copy_commit


def mma_tf32(*operands: Any) -> Any:
    """m16n8k8 of one warp: gathers the fragments of all lanes, multiplies in float32."""
    lane, lanes = _exchange(operands)
    a, b = np.zeros((16, 8), np.float32), np.zeros((8, 8), np.float32)
    for i, (_, _, _, _, a0, a1, a2, a3, b0, b1) in enumerate(lanes):
        row, column = divmod(i, 4)
        a[row, column], a[row + 8, column] = tf32_cut(a0), tf32_cut(a1)
        a[row, column + 4], a[row + 8, column + 4] = tf32_cut(a2), tf32_cut(a3)
        b[column, row], b[column + 4, row] = tf32_cut(b0), tf32_cut(b1)
    row, column = lane // 4, 2 * (lane % 4)
    c0, c1, c2, c3 = operands[:4]
    return (
        np.float32(c0 + a[row] @ b[:, column]),
        np.float32(c1 + a[row] @ b[:, column + 1]),
        np.float32(c2 + a[row + 8] @ b[:, column]),
        np.float32(c3 + a[row + 8] @ b[:, column + 1]),
    )


# ---- the macros of `products`, written out


def _multiply(sums: Any, first: int, a: list[Any], b: list[Any], triple: int) -> None:
    """The product of one fragment pair, split in three or rounded."""
    if triple:
        low_a = [v - tf32_cut(v) for v in a]
        low_b = [v - tf32_cut(v) for v in b]
        rounds = [(low_a, b), (a, low_b), (a, b)]
    else:
        rounds = [([tf32_operand(v) for v in a], [tf32_operand(v) for v in b])]
    for left, right in rounds:
        sums[first : first + 4] = mma_tf32(*sums[first : first + 4], *left, *right)


def _tile_put(mt: int, nt: int, pitch: int) -> Any:
    def run(sums: Any, shared: Any, at: int) -> None:
        for i, n, h, e in np.ndindex(mt, nt, 2, 2):
            shared[at + (i * 16 + 8 * h) * pitch + n * 8 + e] = sums[(i * nt + n) * 4 + 2 * h + e]

    return run


def _tile_products(mt: int, nt: int, triple: int, half: int, tap: int, first: int) -> Any:
    def run(sums: Any, shared: Any, weights: int, patch: int, pixels: Any) -> None:
        for n in range(nt):
            b = [shared[patch + pixels[n] + tap + k * half] for k in (0, 1)]
            for i in range(mt):
                a = [shared[weights + first + 128 * i + j] for j in range(4)]
                _multiply(sums, (i * nt + n) * 4, a, b, triple)

    return run


def _weight_step(*sizes: int) -> Any:
    mt, ng, fr, ks, stride, dilation, pitch, plane, row, shift, triple = sizes

    def run(sums: Any, shared: Any, a_at: int, b_at: int) -> None:
        for i in range(mt):
            top, bottom = a_at + i * 16 * pitch, a_at + (i * 16 + 8) * pitch
            a = [shared[top], shared[bottom], shared[top + 1], shared[bottom + 1]]
            for g in range(ng):
                for r in range(fr):
                    for s in range(ks):
                        at = b_at + g * 8 * plane + r * row + shift + s * dilation
                        b = [shared[at], shared[at + stride]]
                        _multiply(sums, (((g * fr + r) * ks + s) * mt + i) * 4, a, b, triple)

    return run


def _weight_load(*sizes: int) -> Any:
    def run(kept: Any, shared: Any, a_at: int, b_at: int) -> None:
        kept[0], kept[1] = (
            a_at,
            b_at,
        )  # the twin remembers where, not what: shared memory does not change meanwhile

    return run


def _weight_ahead(*sizes: int) -> Any:
    step = _weight_step(*sizes)

    def run(sums: Any, kept: Any, shared: Any, a_at: int, b_at: int) -> None:
        step(sums, shared, int(kept[0]), int(kept[1]))
        kept[0], kept[1] = a_at, b_at

    return run


def _weight_store(mt: int, ng: int, fr: int, ks: int, outputs: int, channels: int) -> Any:
    def run(sums: Any, part: Any, home: int, m0: int, n0: int) -> None:
        for g, r, s, a, i in np.ndindex(ng, fr, ks, mt, 4):
            m, c = m0 + a * 16 + 8 * (i // 2), n0 + g * 8 + i % 2
            if m < outputs and c < channels:
                at = ((r * ks + s) * outputs + m) * channels + c
                part[home + at] = sums[(((g * fr + r) * ks + s) * mt + a) * 4 + i]

    return run


def _clear(count: int) -> Any:
    def run(sums: Any) -> None:
        sums[:count] = 0

    return run


def _flush(count: int) -> Any:
    def run(total: Any, sums: Any) -> None:
        total[:count] += sums[:count]
        sums[:count] = 0

    return run


_MAKERS: dict[str, Any] = {
    "copies": copies,
    "tile_products": _tile_products,
    "tile_put": _tile_put,
    "weight_step": _weight_step,
    "weight_load": _weight_load,
    "weight_ahead": _weight_ahead,
    "weight_store": _weight_store,
    "clear": _clear,
    "flush": _flush,
}


def _macro(name: str) -> Any:
    """The twin of a sized intrinsic."""
    stem = next(m for m in _MAKERS if re.fullmatch(rf"{m}(_\d+)+", name))
    return _MAKERS[stem](*(int(n) for n in name[len(stem) + 1 :].split("_")))


# ---- launching


def run(program: Any, grid: tuple[int, ...], args: tuple[Any, ...]) -> None:
    """Run a `launch.Program` in the simulator on NumPy arrays (written in place)."""
    from numba import cuda, float32, float64, int32, int64, uint32

    scope: dict[str, Any] = {
        k: v for k, v in globals().items() if not k.startswith("_") and k not in ("run", "np")
    }
    scope.update(
        cuda=cuda,
        math=math,
        float32=float32,
        float64=float64,
        int32=int32,
        int64=int64,
        uint32=uint32,
        fmul_rn=operator.mul,  # NumPy rounds each product
        dmul_rn=operator.mul,
    )
    text = program.source.replace(", alignment=16", "")
    for name in generated(text):
        scope[name] = _macro(name)
    exec(compile(text, f"<{program.name}>", "exec"), scope)
    kernel = cuda.jit(scope[program.name])
    flat = [_memory(a) if isinstance(a, np.ndarray) else a for a in args]
    # kernels see 16-bit floats as words
    flat = [
        a.view(np.uint16) if isinstance(a, np.ndarray) and a.dtype == np.float16 else a
        for a in flat
    ]
    # the simulator cannot hand over an empty array; no kernel reads one
    flat = [np.zeros(1, a.dtype) if isinstance(a, np.ndarray) and not a.size else a for a in flat]
    with np.errstate(all="ignore"), _barriers():
        kernel[grid, program.threads, 0, program.shared](*flat)


def _memory(array: Any) -> Any:
    """The words from an array's first element on, as a kernel sees them through a pointer."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    last = (
        sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True))
        // array.itemsize
    )
    if min(array.strides) < 0:
        raise ValueError("the simulator takes no negative strides")
    return np.lib.stride_tricks.as_strided(array, (last + 1,), (array.itemsize,))


@contextlib.contextmanager
def _barriers() -> Iterator[None]:
    """Run the simulator's blocks with real barriers.

    Its own block manager polls all threads without pause and so keeps the interpreter lock from them: a block of 96 threads
    took 20 s. With `threading.Barrier` and a join the same block takes a tenth of a second.
    """
    from numba.cuda.simulator import kernel as simulator

    def run_block(manager: Any, grid_point: Any, *args: Any) -> None:
        count = math.prod(manager._block_dim)
        manager.barrier = threading.Barrier(count)
        failures: list[BaseException] = []

        def body() -> None:
            try:
                manager._f(*args)
            except BaseException as error:
                failures.append(error)
                manager.barrier.abort()
                for warp in getattr(manager, "warps", {}).values():
                    warp.barrier.abort()
                for barrier in getattr(manager, "some", {}).values():
                    barrier.abort()

        points = np.ndindex(*manager._block_dim)
        threads = [
            simulator.BlockThread(body, manager, grid_point, point, manager._debug)
            for point in points
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        real = [e for e in failures if not isinstance(e, threading.BrokenBarrierError)]
        if failures:
            raise (real or failures)[0]

    def synchronise(thread: Any) -> None:
        thread._manager.barrier.wait(timeout=120)

    kept = simulator.BlockManager.run, simulator.BlockThread.syncthreads
    simulator.BlockManager.run, simulator.BlockThread.syncthreads = run_block, synchronise
    try:
        yield
    finally:
        simulator.BlockManager.run, simulator.BlockThread.syncthreads = kept
