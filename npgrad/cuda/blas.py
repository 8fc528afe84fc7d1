"""Products of matrices by cuBLAS where CuPy has no call for them.

`matmul` is for `capture`: CuPy 14 refuses to call cuBLAS while a CUDA graph is recorded, though
cuBLAS itself can be recorded. `multiply` is for convolutions: products of 16-bit operands with sums
and result in float32. The library that CuPy loaded is called on CuPy's own handle.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Gemm", "gemm_call", "matmul", "multiply"]

Array = Any
NORMAL, TRANSPOSED = 0, 1  # cublasOperation_t


class Gemm(NamedTuple):
    """``out[b] = factor first[b] @ second[b]``, or added to out, for matrices in C order.

    first is rows x inner and second inner x columns; one that is `turned` lies transposed in
    memory. `pitches` are the elements from one row in memory to the next, `steps` those from one
    member of the batch to the next, of first, second and out. Operands are of `kind`: "float16",
    "bfloat16", or "tf32" (float32 words, products of 10 bits); out is float32.
    """

    rows: int
    columns: int
    inner: int
    batch: int
    turned: tuple[bool, bool]
    pitches: tuple[int, int, int]
    steps: tuple[int, int, int]
    kind: str


BYTES = {"float16": 2, "bfloat16": 2, "tf32": 4}
# cudaDataType and cublasComputeType_t of each kind; sums are float32's
TYPES = {"float16": (2, 68), "bfloat16": (14, 68), "tf32": (0, 77)}
FLOAT32, DEFAULT = 0, -1


@functools.cache
def _library(version: int) -> Any:
    return ctypes.CDLL(f"libcublas.so.{version}")


@functools.cache
def _batched() -> tuple[Any, Any]:
    """cuBLAS's call for batches of 16-bit products, and the one that sets its stream."""
    import cupy

    library = _library(cupy.cuda.runtime.runtimeGetVersion() // 1000)
    pointer, number, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
    matrix = [pointer, number, number, long]
    run = library.cublasGemmStridedBatchedEx
    run.argtypes = [
        pointer, *[number] * 5, pointer, *matrix, *matrix, pointer, *matrix, number, number, number,
    ]  # fmt: skip
    library.cublasSetStream_v2.argtypes = [pointer, pointer]
    return run, library.cublasSetStream_v2


@functools.cache
def _number(value: float) -> Any:
    """Where a float32 lies that the host hands to cuBLAS; kept alive by the cache."""
    return ctypes.pointer(ctypes.c_float(value))


def multiply(
    product: Gemm, addresses: tuple[int, int, int], factor: float, added: bool, stream: int
) -> None:
    """Launch a product of matrices at these addresses, on a stream of the current device.

    cuBLAS reads by columns: a matrix in C order is its own transpose there, and the operands change
    places.
    """
    import cupy

    run, set_stream = _batched()
    handle = cupy.cuda.device.get_cublas_handle()
    dtype, compute = TYPES[product.kind]
    (of_first, of_second), (first, second, out) = product.turned, product.pitches
    step_first, step_second, step_out = product.steps
    failed = set_stream(handle, stream) or run(
        handle, of_second, of_first, product.columns, product.rows, product.inner,
        _number(factor), addresses[1], dtype, second, step_second,
        addresses[0], dtype, first, step_first,
        _number(1.0 if added else 0.0), addresses[2], FLOAT32, out, step_out,
        product.batch, compute, DEFAULT,
    )  # fmt: skip
    if failed:
        raise RuntimeError(f"cuBLAS failed with status {failed} for {product}")


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
