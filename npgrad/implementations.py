"""Which implementation runs: NumPy's, or a kernel, found by file name when it is first needed.

The graph adds cotangents into regions; where an index holds arrays of integers, entries repeat and
NumPy's only way is ``np.add.at``, which visits element by element. Large cases go to
`npgrad.kernels.scatter_add`, which is loaded when the first one turns up.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
from typing import Any

import numpy as np

from .graph import backend, deferred
from .graph.memory import empty

SMALL = 4096  # entries below which np.add.at costs less than reaching the kernel
# Entries from which elementwise rules take a kernel. It saves 1 to 3 ns an entry, and the first one
# of a process imports Numba (0.5 s): programs of small arrays should not pay for that.
LARGE = 1 << 18
Array = Any


@functools.cache
def module_of(operation: str) -> Any:
    """The file of `operation` among the kernels; what it offers falls back to NumPy by itself."""
    return importlib.import_module(f"npgrad.kernels.{operation}")


def kernel(operation: str) -> Any:
    """`module_of`, or None without Numba or with kernels switched off."""
    return module_of(operation) if module_of("_compile").available() else None


def large(array: Array) -> bool:
    """Whether a kernel is worth its price for `array`, and may take it.

    Of a block of large arrays it is: the price is paid once for all blocks.
    """
    return (
        type(array) is np.ndarray
        and (array.size >= LARGE or backend.WHOLE.get() >= LARGE)
        and array.dtype.char in "fd"
        and array.dtype.isnative
        and array.flags.c_contiguous
    )


def one_pass(first: Array, *others: Array, operation: str = "slopes") -> Any:
    """The kernels of elementwise rules (or of `operation`) if they may take these, else None."""
    if type(first) is not np.ndarray or first.size < SMALL or not large(first):
        return None
    for array in others:
        if type(array) is not np.ndarray or array.dtype != first.dtype:
            return None
        if array.shape != first.shape or not array.flags.c_contiguous:
            return None
    return kernel(operation)


def plain_floats(*arrays: Array) -> bool:
    """Whether all are NumPy's own arrays of one dtype that BLAS computes with."""
    dtype = getattr(arrays[0], "dtype", None)
    fast = dtype is not None and dtype.char in "fd" and dtype.isnative
    return fast and all(type(a) is np.ndarray and a.dtype == dtype for a in arrays)


def matmul(left: Array, right: Array) -> Array:
    """``left @ right``, or what stands for it while a device's launches are captured."""
    if backend.STAND_INS:
        return backend.STAND_INS.get(np.matmul, np.matmul)(left, right)
    return left @ right


def one_blas_thread() -> Any:
    """A context in which BLAS uses one thread: for runs of products that are not worth a join."""
    return module_of("_blas").one_thread()


def add_at(buffer: Array, index: Any, value: Array, exact: bool = False) -> None:
    """``buffer[index] += value``, repeated indices adding up; `exact`: as NumPy does, bit for bit.

    A gradient needs a definite order of its sums, not NumPy's: rows that are many for one output
    are summed by several threads.
    """
    if buffer.dtype.char == "e":  # sums of float16 stop at 2048 ones
        wide = buffer.astype(np.float32)
        add_at(wide, index, value, exact)
        buffer[...] = wide
        return
    if backend.on_device(buffer):
        _add_on_device(buffer, index, value)
        return
    if isinstance(index, np.ndarray) and index.dtype.kind == "b":
        buffer[index] += value  # a mask selects no entry twice
        return
    big = getattr(value, "size", 0) >= SMALL and (not exact or value.dtype == buffer.dtype)
    if big and _by_kernels(buffer, index, value, exact):
        return
    backend.library(buffer).add.at(buffer, index, value)


def add_outer_at(buffer: Array, index: Array, g: Array, row: Array) -> bool:
    """``buffer[index] += outer(g, row)``, repeated indices adding up; False where it is not done.

    The outer product, as large as all the rows that were gathered, is not made.
    """
    if not plain_floats(buffer, g, row) or not buffer.flags.c_contiguous:
        return False
    module = kernel("scatter_add")
    if module is None:
        return False
    module.add_outer(np.ascontiguousarray(g), np.ascontiguousarray(row), index, buffer)
    return True


def _add_on_device(buffer: Array, index: Any, value: Array) -> None:
    """`add_at` on the device: the kernel for whole rows by one array of integers."""
    kind = getattr(getattr(index, "dtype", None), "kind", "")
    if kind == "b":
        buffer[index] += value
        return
    arrays = index if type(index) is tuple else (index,)
    while arrays and (
        arrays[-1] is Ellipsis or (type(arrays[-1]) is slice and arrays[-1] == slice(None))
    ):
        arrays = arrays[:-1]
    one: Any = arrays[0] if len(arrays) == 1 else None
    rows = buffer.dtype.char in "fd" and buffer.flags.c_contiguous and buffer.size > 0
    rows = rows and buffer.dtype.isnative
    if rows and backend.on_device(one) and one.dtype.kind in "iu" and one.size >= SMALL:
        kernels = device_kernel("index_add")
        if kernels is not None and buffer.dtype.char == "f":
            xp, length = backend.library(buffer), buffer.shape[0]
            flat = one.reshape(-1)
            wide = xp.broadcast_to(value, one.shape + buffer.shape[1:])
            wide = xp.ascontiguousarray(wide, buffer.dtype).reshape(flat.size, *buffer.shape[1:])
            flat = xp.where(flat < 0, flat + length, flat)
            kernels.add_into(buffer, flat, wide)
            return
    if buffer.dtype.kind == "c":  # CuPy adds at repeated places in real numbers only
        library = backend.library(buffer)
        value = library.asarray(value)
        library.add.at(buffer.real, index, value.real)
        library.add.at(buffer.imag, index, value.imag)
        return
    backend.library(buffer).add.at(buffer, index, value)


def device_kernel(operation: str) -> Any:
    """The CUDA kernels of `operation`; None where they cannot be compiled or are switched off."""
    if not _device_usable():
        return None
    return importlib.import_module(f"npgrad.cuda.kernels.{operation}")


@functools.lru_cache(maxsize=1)
def _device_usable() -> bool:
    wanted = os.environ.get("NPGRAD_CUDA_KERNELS", "1") != "0"
    return wanted and bool(importlib.import_module("npgrad.cuda").is_available())


def _evaluator() -> Any:
    """Who computes elementwise expressions on the device; None where nobody can.

    ``NPGRAD_CUDA_FUSE=0`` switches it off, ``now`` makes a kernel of every expression at once.
    """
    wanted = os.environ.get("NPGRAD_CUDA_FUSE", "1")
    if wanted == "0" or not _device_usable():
        return None
    module = importlib.import_module("npgrad.cuda.deferred")
    return module.Evaluator(importlib.import_module("cupy"), now=wanted == "now")


def _along_one_axis(buffer: Array, index: Any) -> tuple[Array, Array, int] | None:
    """The part of `buffer`, the array of integers and its axis, where all else are slices."""
    arrays = index if type(index) is tuple else (index,)
    places = [k for k, one in enumerate(arrays) if isinstance(one, np.ndarray)]
    if len(places) != 1 or any(one is None or isinstance(one, int) for one in arrays):
        return None
    place, given = places[0], arrays[places[0]]
    if (
        given.dtype.kind not in "iu"
        or not given.ndim
        or not all(
            type(one) is slice or one is Ellipsis for one in arrays[:place] + arrays[place + 1 :]
        )
    ):
        return None
    axis = buffer.ndim - (len(arrays) - place) if Ellipsis in arrays[:place] else place
    if not 0 <= axis < buffer.ndim:
        return None
    return buffer[(*arrays[:place], slice(None), *arrays[place + 1 :])], given, axis


def _by_kernels(buffer: Array, index: Any, value: Array, exact: bool) -> bool:
    """Let a kernel add; False, and nothing done, where it may not or cannot."""
    if type(buffer) is not np.ndarray:
        return False
    if buffer.flags.c_contiguous:
        found = _as_rows(buffer.shape, buffer.dtype, index, value)
        if found is not None:
            module, flat, rows, real = found
            module.sum_rows(
                rows, flat, buffer.reshape(-1).view(real).reshape(-1, rows.shape[1]), None, exact
            )
            return True
    return _by_slabs(buffer, index, value, exact)


def _by_slabs(buffer: Array, index: Any, value: Array, exact: bool) -> bool:
    """Let the kernel add along another axis than the first, or into a part of the others."""
    if buffer.dtype.char not in "fd" or not buffer.dtype.isnative:
        return False
    found = _along_one_axis(buffer, index)
    if found is None:
        return False
    part, given, axis = found
    module = kernel("take_along")
    if module is None:
        return False
    lead, inner = part.shape[:axis], part.shape[axis + 1 :]
    flat = module.check_index(given.reshape(-1), part.shape[axis], axis)
    wide = np.broadcast_to(value, (*lead, *given.shape, *inner)).astype(buffer.dtype, copy=False)
    rows = wide.reshape(*lead, flat.size, *inner)
    part[...] = module.added_rows(part, part.shape, flat, rows, axis, exact)
    return True


def _as_rows(shape: tuple[int, ...], dtype: Any, index: Any, value: Array) -> Any:
    """`value` as rows for an array of `shape`, where `index` is integers for leading axes alone.

    The kernels, the row of the array for each row of the value, these rows, and their dtype (real:
    a complex number is two); or None.
    """
    arrays = index if type(index) is tuple else (index,)
    while arrays and (
        arrays[-1] is Ellipsis or (type(arrays[-1]) is slice and arrays[-1] == slice(None))
    ):
        arrays = arrays[:-1]
    if not arrays or not all(isinstance(i, np.ndarray) and i.dtype.kind in "iu" for i in arrays):
        return None
    if dtype.char not in "fdFD" or not dtype.isnative or len(arrays) > len(shape):
        return None
    module = kernel("scatter_add")
    if module is None:
        return None
    check_index = module.check_index
    lead = shape[: len(arrays)]
    if len(arrays) == 1:
        flat = np.ravel(arrays[0])
    else:
        place: Any = 0
        for axis, (one, extent) in enumerate(zip(arrays, lead, strict=True)):
            wrapped = check_index(np.ravel(one), extent, axis).reshape(one.shape)
            place = place * extent + wrapped.astype(np.intp)
        flat = np.ravel(place)
    flat = check_index(flat, math.prod(lead))
    full = np.broadcast_shapes(*(one.shape for one in arrays)) + shape[len(arrays) :]
    real = np.dtype(np.empty(0, dtype).real.dtype)
    wide = np.ascontiguousarray(np.broadcast_to(value, full), dtype)
    return module, flat, wide.reshape(flat.size, -1).view(real), real


def scattered(shape: tuple[int, ...], dtype: Any, index: Any, value: Array) -> Array | None:
    """Zeros to which `value` is added at `index`: by a kernel that writes every row once, or None.

    The zeros alone would take as long as a third of the sum.
    """
    if type(value) is not np.ndarray or value.size < SMALL:
        return None
    found = _as_rows(shape, dtype, index, value)
    if found is None:
        return None
    module, flat, rows, real = found
    out = empty(shape, dtype)
    to = out.reshape(-1).view(real).reshape(-1, rows.shape[1])
    module.sum_rows(rows, flat, to, to[:0])
    return out


def picked(array: Array, index: Array) -> Any:
    """``array[index]``; many rows, which integers name, are moved as blocks by several threads.

    Single numbers are not: NumPy's indexing takes half of the time there.
    """
    if (
        type(array) is not np.ndarray
        or array.ndim < 2
        or index.dtype.kind not in "iu"
        or not array.size
        or index.size * (array.size // len(array)) < LARGE
        or array.dtype.hasobject
        or not (array.flags.c_contiguous and index.flags.c_contiguous)
    ):
        return array[index]
    module = module_of("take_along")
    flat = module.check_index(index.reshape(-1), len(array))
    return module.take_rows(array, flat, 0).reshape(index.shape + array.shape[1:])


def copied(array: Array) -> Array:
    """A copy of a large array."""
    return module_of("_streaming").copied(array)


backend.scatter = add_at
backend.scattered = scattered
backend.scatter_outer = add_outer_at
backend.copied = copied
backend.picked = picked
deferred.use(_evaluator)
