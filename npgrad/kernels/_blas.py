"""Many small matrix products at once: one BLAS thread each, spread over the kernels' own threads.

OpenBLAS gives every product to all its threads and joins them after each. On a busy machine each of
36 joins can wait for a time slice: 36 products of 64x64 by 64x392 take 8.5 ms with two threads,
1.4 ms in this way (on an idle machine both take 1 ms). The number of its threads is a setting of
the library that NumPy's wheels carry; without that library, products are NumPy's as usual.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from npgrad.kernels._arrays import Array
from npgrad.kernels._threads import spread

__all__ = ["batched_matmul", "one_thread"]

_lock = threading.Lock()
_inside = 0
_before = 1
_library: Any = None
_searched = False


def _find() -> Any:
    """The functions that get and set OpenBLAS's number of threads, or None."""
    global _library, _searched
    if not _searched:
        folder = Path(np.__file__).parent.parent / "numpy.libs"
        for path in sorted(folder.glob("*openblas*")):
            with contextlib.suppress(OSError, AttributeError):
                handle = ctypes.CDLL(str(path))  # loaded by NumPy already
                _library = (
                    handle.scipy_openblas_get_num_threads64_,
                    handle.scipy_openblas_set_num_threads64_,
                )
                break
        _searched = True
    return _library


@contextlib.contextmanager
def one_thread() -> Iterator[bool]:
    """Products inside of the block run in one thread each; False where that cannot be had."""
    global _inside, _before
    library = _find()  # also where npgrad may use one thread alone, which BLAS then must not exceed
    if library is None:
        yield False
        return
    get, put = library
    with _lock:  # the first to enter remembers, the last to leave restores
        if _inside == 0:
            _before = get()
            put(1)
        _inside += 1
    try:
        yield True
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                put(_before)


def _products(start: int, stop: int, left: Array, right: Array, out: Array) -> None:
    """The products ``start <= k < stop``."""
    with np.errstate(all="ignore"):  # another thread does not have the caller's setting
        np.matmul(left[start:stop], right[start:stop], out=out[start:stop])


def batched_matmul(left: Array, right: Array, out: Array) -> None:
    """``np.matmul(left, right, out=out)`` for stacks of matrices."""
    with one_thread() as alone:
        if alone:
            rows, inner = left.shape[1:]
            spread(_products, len(left), rows * inner * out.shape[2] * 0.02, left, right, out)
        else:
            np.matmul(left, right, out=out)
