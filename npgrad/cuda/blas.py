"""Products of matrices while a CUDA graph is recorded: cuBLAS, which CuPy 14 refuses to call then.

cuBLAS itself can be recorded. The library that CuPy loaded is called on CuPy's own handle; nothing
here is used outside of `capture`.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

__all__ = ["gemm_call", "matmul"]

Array = Any
NORMAL, TRANSPOSED = 0, 1  # cublasOperation_t


@functools.cache
def _library(version: int) -> Any:
    return ctypes.CDLL(f"libcublas.so.{version}")


def _operand(x: Array) -> tuple[Array, int, int]:
    """A matrix as cuBLAS reads it, column by column: its memory, the operation, the leading size.

    A matrix in C order is, read so, its own transpose.
    """
    rows, columns = x.shape[-2:]
    down, along = (s // x.itemsize for s in x.strides[-2:])
    if (along == 1 or columns == 1) and (down >= columns or rows == 1):
        return x, NORMAL, max(1, columns, down if rows > 1 else columns)
    if (down == 1 or rows == 1) and (along >= rows or columns == 1):
        return x, TRANSPOSED, max(1, rows, along if columns > 1 else rows)
    return x.copy(order="C"), NORMAL, max(1, columns)


def gemm_call(a: Array, b: Array, out: Array) -> tuple[tuple[Array, Array], tuple[int, ...]]:
    """``out = a @ b`` in C order as column-major ``out.T = b.T @ a.T``.

    The arrays in the order of the call (b, a), and (operation of b, of a, m, n, k, ldb, lda, ldc).
    """
    a, of_a, lda = _operand(a)
    b, of_b, ldb = _operand(b)
    columns, rows, inner = out.shape[-1], out.shape[-2], a.shape[-1]
    return (b, a), (of_b, of_a, columns, rows, inner, ldb, lda, max(1, columns))


def matmul(a: Array, b: Array) -> Array:
    """``a @ b`` of float32 or float64 device arrays, on CuPy's current stream."""
    import cupy

    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(
            f"npgrad.cuda.captured: a product of {a.dtype} and {b.dtype} cannot be recorded, only "
            "of float32 and float64"
        )
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit")
    left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    inner, columns = right.shape[-2:]
    if right.ndim == 2:  # one product of all rows
        shape: tuple[int, ...] = (*left.shape[:-1], columns)
        products = [(left.reshape(math.prod(left.shape[:-1]), inner), right)]
    else:
        many = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        shape = (*many, left.shape[-2], columns)
        wide = [
            cupy.broadcast_to(x, (*many, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
            for x in (left, right)
        ]
        products = list(zip(*wide, strict=True))
    if not math.prod(shape) or not inner:
        out = cupy.zeros(shape, dtype)
    else:
        out = cupy.empty(shape, dtype)
        parts = out.reshape(len(products), -1, columns)
        for part, (one, other) in zip(parts, products, strict=True):
            _gemm(one, other, part)
    out = out[..., 0] if b.ndim == 1 else out
    return out[..., 0] if a.ndim == b.ndim == 1 else out[..., 0, :] if a.ndim == 1 else out


def _gemm(a: Array, b: Array, out: Array) -> None:
    import cupy

    library = _library(cupy.cuda.runtime.runtimeGetVersion() // 1000)
    handle = ctypes.c_void_p(cupy.cuda.device.get_cublas_handle())
    stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
    single = out.dtype.char == "f"
    number = ctypes.c_float if single else ctypes.c_double
    run = library.cublasSgemm_v2 if single else library.cublasDgemm_v2
    (second, first), (of_b, of_a, m, n, k, ldb, lda, ldc) = gemm_call(a, b, out)
    pointers = [ctypes.c_void_p(x.data.ptr) for x in (second, first, out)]
    one, zero = number(1), number(0)
    failed = library.cublasSetStream_v2(handle, stream) or run(
        handle,
        of_b,
        of_a,
        m,
        n,
        k,
        ctypes.byref(one),
        pointers[0],
        ldb,
        pointers[1],
        lda,
        ctypes.byref(zero),
        pointers[2],
        ldc,
    )
    if failed:
        raise RuntimeError(f"npgrad.cuda.captured: cuBLAS failed with status {failed}")
