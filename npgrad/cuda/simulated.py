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

from . import twin_products, twins
from .source import generated

__all__ = ["run"]


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
