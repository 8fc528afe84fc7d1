"""Keep freed memory for the next sweep instead of giving it back to the system each time.

A recording allocates its arrays, and frees them all at the end. The C library then returns the top
of the heap to the system, and the next recording pays a page fault for every 4 KB: on the machine
of the decision note a quarter of an elementwise program's time. When the first large sweep ends,
the C library is told to keep up to 512 MB of freed memory, and to take blocks of up to 32 MB from
the heap; `empty` takes larger ones from there too.

``NPGRAD_KEEP_MEMORY`` in the environment is another number of megabytes; 0 leaves the C library
alone. Others than glibc are left alone too.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from typing import Any

import numpy as np

__all__ = ["empty", "keep_freed"]

KEEP_MB = 512
BLOCK_BYTES = 32 << 20  # the largest that glibc takes from the heap by itself
LARGE_BYTES = 256 << 20  # the largest that `empty` takes from there
HEADER = 64  # more than glibc and NumPy add to a block
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # malloc.h
MAPPED = 65536  # blocks that glibc maps at most, unless it is told otherwise

_mallopt: Any = None  # False where the C library is left alone


def keep_freed() -> Any:
    """Tell the C library, once; returns its mallopt, or False."""
    global _mallopt
    if _mallopt is None:
        _mallopt = _told()
    return _mallopt


def _told() -> Any:
    asked = os.environ.get("NPGRAD_KEEP_MEMORY", "")
    kept = int(asked) if asked.isdigit() else KEEP_MB
    if not kept or not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.PyDLL(None).mallopt  # with the GIL: a call takes 0.2 us
    except (OSError, AttributeError):
        return False
    mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES)
    mallopt(M_TRIM_THRESHOLD, min(kept << 20, 2**31 - 1))
    return mallopt


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """``np.empty``; a block of 32 to 256 MB comes from the heap, so that it is kept when freed.

    A fresh block of 64 MB takes 10 ms to touch, more than the kernel that fills it, and up to 200
    on a virtual machine whose host must find the memory first.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    mallopt = BLOCK_BYTES - HEADER < size <= LARGE_BYTES and keep_freed()
    if not mallopt:
        return np.empty(shape, dtype)
    mallopt(M_MMAP_MAX, 0)
    try:
        return np.empty(shape, dtype)
    finally:
        mallopt(M_MMAP_MAX, MAPPED)
