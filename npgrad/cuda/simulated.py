"""The launch of a kernel in Numba's CUDA simulator, on NumPy arrays.

Works only in a process started with ``NUMBA_ENABLE_CUDASIM=1``. What kernels call beyond Python's
arithmetic stands in `twins` and `twin_products`.
"""

from __future__ import annotations

import contextlib
import math
import operator
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import blas, twin_products, twins
from .source import generated

__all__ = ["gemm", "run"]


def run(program: Any, grid: tuple[int, ...], args: tuple[Any, ...]) -> None:
    """Run a `launch.Program` in the simulator on NumPy arrays (written in place)."""
    from numba import cuda, float32, float64, int32, int64, uint32

    scope = {k: v for k, v in vars(twins).items() if not k.startswith("_")}
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
        mma_tf32=twin_products.mma_tf32,
    )
    text = program.source.replace(", alignment=16", "")
    for name in generated(text):
        scope[name] = twin_products.macro(name)
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


def gemm(
    product: Any,
    arrays: tuple[Any, Any, Any],
    starts: tuple[int, int, int],
    factor: float,
    added: bool,
) -> None:
    """What cuBLAS does with a `blas.Gemm`: exact products, sums in float32."""

    def matrix(which: int, shape: tuple[int, int], turned: bool) -> Any:
        memory = arrays[which].reshape(-1).view(np.uint8)
        size = 4 if which == 2 else blas.BYTES[product.kind]
        memory = memory[starts[which] * size :]
        words = memory.view(np.uint16 if size == 2 else np.float32)
        pitch, step = product.pitches[which], product.steps[which]
        lines, along = shape[::-1] if turned else shape
        assert pitch >= along  # cuBLAS refuses others
        assert (product.batch - 1) * step + (lines - 1) * pitch + along <= words.size
        view = np.lib.stride_tricks.as_strided(
            words, (product.batch, lines, along), (step * size, pitch * size, size)
        )
        return view.swapaxes(1, 2) if turned else view

    def operand(which: int, shape: tuple[int, int]) -> Any:
        words = matrix(which, shape, product.turned[which])
        if product.kind == "float16":
            return np.ascontiguousarray(words).view(np.float16).astype(np.float32)
        if product.kind == "bfloat16":
            return twins.bf16_to_f32(words)
        bits = np.ascontiguousarray(words).view(np.uint32)
        return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)

    first = operand(0, (product.rows, product.inner))
    second = operand(1, (product.inner, product.columns))
    out = matrix(2, (product.rows, product.columns), False)
    found = np.float32(factor) * (first @ second)
    out[...] = out + found if added else found


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

    Its own block manager polls all threads without pause and so keeps the interpreter lock from
    them: a block of 96 threads took 20 s. With `threading.Barrier` and a join the same block takes
    a tenth of a second.
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
