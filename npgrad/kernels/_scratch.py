"""Work space that convolutions use again: fresh pages cost more than what is written to them.

(The first touch of 30 MB takes 3 ms, a 3x3 convolution of 8 images at 56x56 takes 8.) What a call
borrowed is handed back at its end; at most `KEEP_BYTES` are kept.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.graph.memory import empty

__all__ = ["borrowed"]

KEEP_BYTES = 64 << 20

_free: list[np.ndarray[Any, Any]] = []  # append and pop are atomic, so threads may share it


@contextlib.contextmanager
def borrowed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """An array of uninitialised memory, for the length of a with block."""
    nbytes = math.prod(shape) * dtype.itemsize
    buffer = None
    with contextlib.suppress(IndexError):
        buffer = _free.pop()
    if buffer is None or buffer.nbytes < nbytes:
        buffer = empty((nbytes,), np.uint8)
    yield buffer[:nbytes].view(dtype).reshape(shape)
    if len(_free) < 2 and buffer.nbytes + sum(b.nbytes for b in _free) <= KEEP_BYTES:
        _free.append(buffer)
