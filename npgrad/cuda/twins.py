"""Plain Python twins of `intrinsics`, for Numba's CUDA simulator: memory, warps, bits, copies.

The simulator runs every CUDA thread as a Python thread and has no shuffles, votes or inline PTX.
A twin does what the instruction does, element by element; warp operations meet at a barrier of the
warp's own threads. Those of the convolutions' inner loops are in `twin_products`.
"""

# ruff: noqa: D103
# (a twin does what its namesake in intrinsics is documented to do)

from __future__ import annotations

import threading
from typing import Any

import numpy as np

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


def ahead8_words(array: Any, index: int) -> Any:
    halves = [int(array[index + i]) for i in range(8)]
    return tuple(np.uint32(halves[i] | halves[i + 1] << 16) for i in range(0, 8, 2))


def low_bf16(word: Any) -> Any:
    return bf16_to_f32([int(word) & 0xFFFF])[0]


def high_bf16(word: Any) -> Any:
    return bf16_to_f32([int(word) >> 16])[0]


def low_f16(word: Any) -> Any:
    return np.float32(np.uint16(int(word) & 0xFFFF).view(np.float16))


def high_f16(word: Any) -> Any:
    return np.float32(np.uint16(int(word) >> 16).view(np.float16))


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


def exchange(value: Any) -> tuple[int, list[Any]]:
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
    lane, values = exchange(value)
    return values[lane ^ int(mask)]


shfl_xor_i32 = shfl_xor_f32


def shfl_up_f32(_: Any, value: Any, delta: int) -> Any:
    lane, values = exchange(value)
    return values[lane - int(delta)] if lane >= delta else value


shfl_up_i32 = shfl_up_f32


def shfl_down_i32(_: Any, value: Any, delta: int) -> Any:
    lane, values = exchange(value)
    return values[lane + int(delta)] if lane + delta < 32 else value


def shfl_f32(_: Any, value: Any, source: int) -> Any:
    return exchange(value)[1][int(source)]


shfl_i32 = shfl_f32


def warp_match(_: Any, value: Any) -> Any:
    _, values = exchange(value)
    mask = sum(1 << i for i in range(32) if values[i] == value)
    return mask - (1 << 32) if mask >= 1 << 31 else mask


def warp_any(value: Any) -> Any:
    return int(any(exchange(value)[1]))


def warp_ballot(value: Any) -> Any:
    mask = sum(1 << i for i, v in enumerate(exchange(value)[1]) if v)
    return mask - (1 << 32) if mask >= 1 << 31 else mask


def warp_sync() -> None:
    exchange(None)


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


# ---- 16-bit words, two a register


def load1_u16(array: Any, index: int) -> Any:
    return np.int32(array[index])


store1_u32 = store1_f32


def pack2_u16(first: Any, second: Any) -> Any:
    return np.uint32((int(second) & 0xFFFF) << 16 | (int(first) & 0xFFFF))


def pack2_f16(first: Any, second: Any) -> Any:
    return pack2_u16(*np.array([first, second], np.float16).view(np.uint16))


def split2_f16(first: Any, second: Any) -> Any:
    both = np.array([first, second], np.float32)
    high = both.astype(np.float16)
    low = ((both - high.astype(np.float32)) * np.float32(2048)).astype(np.float16)
    return pack2_u16(*high.view(np.uint16)), pack2_u16(*low.view(np.uint16))


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
