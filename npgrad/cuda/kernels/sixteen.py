"""16-bit floats of the convolutions: widened to float32 on the way in, rounded on the way out.

float16 has 10 bits of mantissa and bfloat16 7, and TF32 has 10: the tensor core multiplies what was
16 bits wide exactly, and adds in float32. So a convolution of such arrays is one of TF32, and the
widening costs a read of 2 bytes and a write of 4 an element. bfloat16 travels as uint16 words.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Program, backend_of
from ..source import ELEMENTS, Element, Writer

__all__ = ["kind_of", "narrowed", "widened"]

THREADS = 256
FLOAT = ELEMENTS["float32"]


def kind_of(kind: str | None, *arrays: Any) -> str | None:
    """Which 16-bit type the arrays hold, "float16" or "bfloat16"; None if they are wider.

    Raises
    ------
    TypeError
        For a kind that is unknown, or that the arrays do not hold.
    """
    if kind is None:
        return "float16" if all(array.dtype == np.float16 for array in arrays) else None
    word = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}.get(kind)
    if word is None or any(array.dtype != word for array in arrays):
        found = ", ".join(str(array.dtype) for array in arrays)
        raise TypeError(f"a convolution of kind {kind!r} was given arrays of {found}")
    return None if kind == "float32" else kind


@functools.cache
def convert(source: Element, target: Element, width: int) -> Program:
    """Copy `units` groups of `width` elements from one type to another."""
    w = Writer()
    w("def convert(a, b, units):")
    w.depth = 1
    w("i = int64(cuda.blockIdx.x) * 256 + cuda.threadIdx.x")
    with w.block("while i < units:"):
        for name, element, verb in (("a", source, "load"), ("b", target, "store")):
            step = min(width, element.vector)
            for first in range(0, width, step):
                lanes = ", ".join(f"v{j}" for j in range(first, first + step))
                at = f"i * {width} + {first}"
                if verb == "load":
                    w(f"{lanes} = {element.load(step)}({name}, {at})")
                else:
                    w(f"{element.store(step)}({name}, {at}, {lanes})")
        w("i += int64(cuda.gridDim.x) * 256")
    return Program("convert", w.text(), (source.pointer, target.pointer, "int64"), THREADS)


def _converted(array: Any, source: Element, target: Element, dtype: Any) -> Any:
    backend = backend_of(array)
    array = backend.contiguous(array)
    out = backend.empty(array.shape, dtype)
    size = int(array.size)
    if size:
        width = 8 if size % 8 == 0 and backend.aligned(array, out) else 1
        units = size // width
        blocks = max(1, min(-(-units // THREADS), 1 << 16))
        backend.run(convert(source, target, width), (blocks,), array, out, units)
    return out


def widened(array: Any, kind: str) -> Any:
    """float32 of a 16-bit array, exactly."""
    return _converted(array, ELEMENTS[kind], FLOAT, np.float32)


def narrowed(array: Any, kind: str) -> Any:
    """float32 rounded to a 16-bit type."""
    dtype = np.float16 if kind == "float16" else np.uint16
    return _converted(array, FLOAT, ELEMENTS[kind], dtype)
