"""batch_norm over every axis but 1: y = (x - mean[c]) rstd[c] w[c] + b[c], forward and backward on the device.

::

    x seen as (outer N, channels C, inner S)
    S == 1: a matrix, sums down its columns        S > 1: planes, a block owns one channel and a chunk of N
    pass 1: two sums a channel -> partials -> added in a fixed order;   pass 2: the result, element by element

Backward with d = x - mean, sums A = sum(g d), B = sum(g), M = N S:
dx = w rstd (g - B/M - d rstd^2 A/M),  dw = rstd A,  db = B. Five passes over memory at least (two to sum, three to write dx).
Both directions give the same bits every time.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Backend, Program, backend_of
from ..source import Element, Writer, block_reduce
from . import _norms, looped, rows

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]

THREADS = 256
UNROLL = 4


def _channel(values: Any, ndim: int) -> Any:
    return values.reshape((1, -1) + (1,) * (ndim - 2))


def reference_forward(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) in NumPy: the specification."""
    axes = (0, *range(2, x.ndim))
    mean = x.mean(axes)
    d = x - _channel(mean, x.ndim)
    rstd = 1 / np.sqrt((d * d).mean(axes) + eps)
    y = d * _channel(rstd, x.ndim)
    y = y if weight is None else y * _channel(weight, x.ndim)
    return (y if bias is None else y + _channel(bias, x.ndim)), mean, rstd


def reference_backward(
    g: Any, x: Any, mean: Any, rstd: Any, weight: Any = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) in NumPy: the specification."""
    axes = (0, *range(2, x.ndim))
    h = (x - _channel(mean, x.ndim)) * _channel(rstd, x.ndim)
    dweight, dbias = (g * h).sum(axes), g.sum(axes)
    count = x.size // x.shape[1]
    scale = rstd if weight is None else rstd * weight
    dx = _channel(scale, x.ndim) * (
        g - _channel(dbias, x.ndim) / count - h * _channel(dweight, x.ndim) / count
    )
    return dx, dweight, dbias


def _loop(w: Writer, size: int, width: int) -> None:
    """Number of accesses of this block, and its first image."""
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5); half = int32(0)")
    w("c = int64(cuda.blockIdx.x); first = int64(cuda.blockIdx.y) * chunk")
    w(f"count = int32(min(chunk, images - first) * {size // width})")


def _place(w: Writer, u: int, size: int, width: int) -> str:
    units = size // width
    w(f"i{u} = i + {u * THREADS}", f"ok{u} = i{u} < count", f"q{u} = i{u} if ok{u} else int32(0)")
    w(f"n{u} = q{u} // int32({units})")
    w(
        f"at{u} = ((first + n{u}) * channels + c) * {size} + (q{u} - n{u} * int32({units})) * {width}"
    )
    return f"at{u}"


@functools.cache
def channel_partials(element: Element, width: int, size: int, mode: str) -> Program:
    """part[chunk, c] and part[chunk, C + c]: sums of g (x - mean) and g, or of x - k and (x - k)^2 with k = x[0, c, 0]."""
    w = Writer()
    w("def channel_partials(g, x, mean, part, images, channels, chunk):")
    w.depth = 1
    w(f"red = cuda.shared.array({4 * (THREADS // 32)}, float32)")
    _loop(w, size, width)
    w(
        f"k = {element.load(1)}(x, c * {size})" if mode == "moments" else "k = load1_f32(mean, c)",
        "a = float32(0); b = float32(0)",
    )
    with w.block(f"for i in range(t, count, int32({THREADS * UNROLL})):"):
        loaded = []
        for u in range(UNROLL):
            at = _place(w, u, size, width)
            gs = [] if mode == "moments" else looped._load(w, element, width, f"g{u}_", "g", at)
            loaded.append((gs, looped._load(w, element, width, f"x{u}_", "x", at)))
        for u, (gs, xs) in enumerate(loaded):
            with w.block(f"if ok{u}:"):
                for j, x in enumerate(xs):
                    w(f"d = {x} - k")
                    w(
                        "a += d; b += d * d"
                        if mode == "moments"
                        else f"a += {gs[j]} * d; b += {gs[j]}"
                    )
    block_reduce(w, ["a", "b"], THREADS)
    with w.block("if t == 0:"):
        w("place = int64(cuda.blockIdx.y) * 2 * channels + c")
        w("store1_f32(part, place, a)", "store1_f32(part, place + channels, b)")
    pointer = element.pointer
    signature = (pointer, pointer, "float32*", "float32*", "int64", "int64", "int64")
    return Program("channel_partials", w.text(), signature, THREADS)


@functools.cache
def channel_apply(
    element: Element, width: int, size: int, mode: str, weight: bool, bias: bool
) -> Program:
    """Second pass over planes; `parts` partial sums a channel are added here, in a fixed order, by every block."""
    w = Writer()
    w(
        "def channel_apply(g, x, mean, rstd, w, b, part, sums, out, dw, images, channels, chunk, parts, scale, eps):"
    )
    w.depth = 1
    _loop(w, size, width)
    # the partial sums of a channel are few: every thread adds them (the reads are broadcasts)
    w("sa = float32(0); sb = float32(0)")
    with w.block("for p in range(parts):"):
        w("sa += load1_f32(part, int64(p) * 2 * channels + c)")
        w("sb += load1_f32(part, (int64(p) * 2 + 1) * channels + c)")
    lead = "t == 0 and cuda.blockIdx.y == 0"
    with w.block(f"if {lead}:"):
        w("store1_f32(sums, c, sa)", "store1_f32(sums, c + channels, sb)")
    if mode == "forward":
        w(f"k0 = {element.load(1)}(x, c * {size})")
    inner = Writer()
    looped.channel_factors(inner, 0, "c", "channels", mode, weight, bias, lead)
    inner.lines[0] = "whole = sa; sa *= scale; sb *= scale"
    w(*(line.replace("load1_f32(sums, c) * r", "whole * r") for line in inner.lines))
    with w.block(f"for i in range(t, count, int32({THREADS * UNROLL})):"):
        loaded = []
        for u in range(UNROLL):
            at = _place(w, u, size, width)
            gs = [] if mode == "forward" else looped._load(w, element, width, f"g{u}_", "g", at)
            loaded.append((gs, looped._load(w, element, width, f"x{u}_", "x", at)))
        for u, (gs, xs) in enumerate(loaded):
            with w.block(f"if ok{u}:"):
                values = [looped.channel_value(j, gs, xs, mode, 0) for j in range(width)]
                looped._store(w, element, width, "out", f"at{u}", values)
    pointer = element.pointer
    signature = (
        (pointer, pointer)
        + ("float32*",) * 6
        + (pointer, "float32*")
        + ("int64", "int64", "int64", "int64", "float32", "float32")
    )
    return Program("channel_apply", w.text(), signature, THREADS)


def as_float32(backend: Backend, array: Any, kind: str | None) -> Any:
    """Channel weights as float32 (bfloat16 words are shifted up)."""
    if array is None:
        return None
    if kind == "bfloat16" and array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return backend.contiguous(array.astype(np.float32, copy=False))


def _sizes(x: Any) -> tuple[int, int, int]:
    if x.ndim < 2:
        raise ValueError(f"batch_norm needs a batch axis and a channel axis, got shape {x.shape}")
    channels = int(x.shape[1])
    inner = 1
    for n in x.shape[2:]:
        inner *= int(n)
    return int(x.shape[0]), channels, inner


def _pass(
    backend: Backend,
    element: Element,
    mode: str,
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    out: Any,
    eps: float,
) -> tuple[Any, Any]:
    """Both passes; returns (sums, dweight)."""
    images, channels, inner = _sizes(x)
    aligned = backend.aligned(g, x, out)
    dw = backend.empty((channels,), np.float32)
    scale = np.float32(1.0 / (images * inner))
    wt, bs = (rstd if weight is None else weight), (rstd if bias is None else bias)
    partial_mode = "moments" if mode == "forward" else "column"
    if inner == 1:
        width = element.vector if aligned and channels % element.vector == 0 else 1
        part, chunks = _norms.column_partials(
            backend, element, width, partial_mode, g, x, mean, rstd, images, channels
        )
        sums = _norms.sum_partials(backend, part, chunks, 2 * channels)
        program = looped.column_apply(element, width, mode, weight is not None, bias is not None)
        tiles = -(-channels // (32 * width))
        chunk = max(4 * looped.COLUMN_WARPS, -(-images * tiles // 4096))
        backend.run(
            program,
            (tiles, -(-images // chunk)),
            *(
                g,
                x,
                mean,
                rstd,
                wt,
                bs,
                sums,
                out,
                dw,
                images,
                channels,
                chunk,
                scale,
                np.float32(eps),
            ),
        )
        return sums, dw
    width = element.vector if aligned and inner % element.vector == 0 else 1
    chunk = max(1, min(images, images * channels // 1056, 1 << 14), -(-4096 // inner))
    chunks = -(-images // chunk)
    part = backend.empty((chunks, 2 * channels), np.float32)
    sums = backend.empty((2 * channels,), np.float32)
    backend.run(
        channel_partials(element, width, inner, partial_mode),
        (channels, chunks),
        *(g, x, mean, part, images, channels, chunk),
    )
    backend.run(
        channel_apply(element, width, inner, mode, weight is not None, bias is not None),
        (channels, chunks),
        *(g, x, mean, rstd, wt, bs, part, sums, out, dw, images, channels, chunk, chunks, scale),
        np.float32(eps),
    )
    return sums, dw


def forward(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, kind: str | None = None
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) on the device, statistics of the batch (biased variance), float32."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    x = backend.contiguous(x)
    weight, bias = as_float32(backend, weight, kind), as_float32(backend, bias, kind)
    y = backend.empty(x.shape, x.dtype)
    channels = _sizes(x)[1]
    mean = backend.empty((channels,), np.float32)
    rstd = backend.empty((channels,), np.float32)
    if x.size:
        _pass(backend, element, "forward", x, x, mean, rstd, weight, bias, y, eps)
    else:
        mean[...], rstd[...] = np.nan, np.nan
    return y, mean, rstd


def backward(
    g: Any, x: Any, mean: Any, rstd: Any, weight: Any = None, *, kind: str | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) on the device; dweight and dbias are float32 (the gradients of a weight of ones without one)."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    g, x = backend.contiguous(g), backend.contiguous(x)
    dx = backend.empty(x.shape, x.dtype)
    channels = _sizes(x)[1]
    if not x.size:
        return dx, backend.zeros((channels,), np.float32), backend.zeros((channels,), np.float32)
    weight = as_float32(backend, weight, kind)
    sums, dw = _pass(backend, element, "backward", g, x, mean, rstd, weight, None, dx, 0.0)
    return dx, dw, sums[channels:]
