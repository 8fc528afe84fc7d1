"""conv2d_grad_bias: the cotangent of the bias, the sum of g over images and pixels, a channel at a time; a fixed order of additions."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Program, backend_of
from ..source import Writer, block_reduce
from . import _norms, sixteen

__all__ = ["backward", "reference"]

THREADS = 256


def reference(g: Any) -> Any:
    """gb in NumPy: the specification."""
    return g.sum((0, 2, 3))


@functools.cache
def channel_sums(size: int, width: int) -> Program:
    """part[chunk, c]: sum of one channel over a chunk of images."""
    units = size // width
    w = Writer()
    w("def channel_sums(g, part, images, channels, chunk):")
    w.depth = 1
    w(f"red = cuda.shared.array({2 * (THREADS // 32)}, float32)")
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5); half = int32(0)")
    w("c = int64(cuda.blockIdx.x); first = int64(cuda.blockIdx.y) * chunk")
    w(f"count = int32(min(chunk, images - first) * {units})", "total = float32(0)")
    with w.block(f"for i in range(t, count, int32({THREADS * 4})):"):
        for u in range(4):
            w(
                f"i{u} = i + int32({THREADS * u}); ok{u} = i{u} < count; i{u} = i{u} if ok{u} else int32(0)"
            )
            w(f"n{u} = i{u} // int32({units})")
            w(
                f"at{u} = ((first + n{u}) * channels + c) * {size} + (i{u} - n{u} * int32({units})) * int32({width})"
            )
            w(f"{', '.join(f'g{u}_{j}' for j in range(width))} = load{width}_f32(g, at{u})")
        for u in range(4):
            terms = " + ".join(f"g{u}_{j}" for j in range(width))
            w(f"total += ({terms}) if ok{u} else float32(0)")
    block_reduce(w, ["total"], THREADS)
    with w.block("if t == 0:"):
        w("store1_f32(part, int64(cuda.blockIdx.y) * channels + c, total)")
    return Program(
        "channel_sums", w.text(), ("float32*", "float32*", "int64", "int64", "int64"), THREADS
    )


def backward(g: Any, *, kind: str | None = None) -> Any:
    """gb on the device, float32; of a 16-bit `g` too, see `sixteen`."""
    backend = backend_of(g)
    narrow = sixteen.kind_of(kind, g)
    if narrow is not None:
        g = sixteen.widened(g, narrow)
    if g.dtype != np.float32:
        raise TypeError(f"conv2d_grad_bias on the device is float32, not {g.dtype}")
    g = backend.contiguous(g)
    images, channels = int(g.shape[0]), int(g.shape[1])
    size = int(g.shape[2]) * int(g.shape[3])
    if not g.size:
        return backend.zeros((channels,), np.float32)
    width = 4 if size % 4 == 0 and backend.aligned(g) else 1
    chunk = max(1, images * channels // 1056)
    chunks = -(-images // chunk)
    part = backend.empty((chunks, channels), np.float32)
    backend.run(channel_sums(size, width), (channels, chunks), g, part, images, channels, chunk)
    return _norms.sum_partials(backend, part, chunks, channels)
