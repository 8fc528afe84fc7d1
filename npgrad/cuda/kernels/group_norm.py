"""group_norm: channels in groups, one mean and variance a group and image; forward and backward on the device.

::

    x seen as (N, groups G, channels a group K, inner S); a block owns one (image, group) slab of K S elements

    slab | channel 0: warp 0 1 | channel 1: warp 2 3 | ...        warps share a channel, or take channels in turn

Pass 1 sums g and g h a channel (h = (x - mean) rstd) and leaves g and h in shared memory, pass 2 writes
dx = rstd (w g - mean(w g) - h mean(w g h)) from there: memory is read once. Slabs above the shared memory are read twice (from L2).
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import SHARED_LIMIT, Program, backend_of
from ..source import Element, Writer, block_reduce, lanes_reduce
from . import _norms, row_sums, rows
from .batch_norm import as_float32
from .looped import _load, _store

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]

MARGIN = 20 * 1024  # of shared memory that is left to the block-wide sums
UNROLL = 4


def _grouped(x: Any, groups: int) -> Any:
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)


def reference_forward(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) in NumPy, statistics of shape (N, groups): the specification."""
    v = _grouped(x, groups)
    mean = v.mean((2, 3))
    d = v - mean[..., None, None]
    rstd = 1 / np.sqrt((d * d).mean((2, 3)) + eps)
    y = d * rstd[..., None, None]
    if weight is not None:
        y = y * weight.reshape(1, groups, -1, 1)
    if bias is not None:
        y = y + bias.reshape(1, groups, -1, 1)
    return y.reshape(x.shape), mean, rstd


def reference_backward(
    g: Any, x: Any, mean: Any, rstd: Any, groups: int, weight: Any = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) in NumPy: the specification."""
    v, gv = _grouped(x, groups), _grouped(g, groups)
    h = (v - mean[..., None, None]) * rstd[..., None, None]
    q = gv if weight is None else gv * weight.reshape(1, groups, -1, 1)
    dx = rstd[..., None, None] * (
        q - q.mean((2, 3), keepdims=True) - h * (q * h).mean((2, 3), keepdims=True)
    )
    return dx.reshape(x.shape), (gv * h).sum((0, 3)).reshape(-1), gv.sum((0, 3)).reshape(-1)


def _threads(slab: int) -> int:
    return 128 if slab <= 1024 else 256 if slab <= 8192 else 512 if slab <= 16384 else 1024


def _sharing(threads: int, channels: int) -> tuple[int, int]:
    """(warps a channel, channels at a time)."""
    warps = threads // 32
    each = 1
    while each * 2 * channels <= warps:
        each *= 2
    return each, warps // each


def _head(w: Writer, threads: int, sums: int, channels: int, size: int, groups: int) -> None:
    each, _ = _sharing(threads, channels)
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31); warp = t >> int32(5); half = int32(0)")
    w(f"red = cuda.shared.array({2 * sums * (threads // 32)}, float32)")
    w("slab = int64(cuda.blockIdx.x)")
    w(f"base = slab * {channels * size}; group = slab % {groups}; image = slab // {groups}")
    w(f"own = warp // int32({each}); part = warp - own * int32({each})")


def _channel_loop(w: Writer, threads: int, channels: int) -> Any:
    _, at_once = _sharing(threads, channels)
    return w.block(f"for k in range(own, int32({channels}), int32({at_once})):")


def _inner_loop(w: Writer, threads: int, channels: int, units: int) -> Any:
    each, _ = _sharing(threads, channels)
    stride = 32 * each
    return w.block(
        f"for i in range(lane + int32(32) * part, int32({units}), int32({stride * UNROLL})):"
    ), stride


@functools.cache
def group_forward(
    element: Element,
    width: int,
    channels: int,
    size: int,
    groups: int,
    weight: bool,
    bias: bool,
    limit: int = SHARED_LIMIT,
) -> Program:
    """y, mean and rstd of every slab."""
    slab, units = channels * size, size // width
    threads = _threads(slab)
    staged = 4 * slab <= limit - MARGIN
    w = Writer()
    w("def group_forward(x, w, b, y, mean, rstd, eps):")
    w.depth = 1
    _head(w, threads, 1, channels, size, groups)
    if staged:
        w("kept = cuda.shared.array(0, float32)")
    factor = f"float32({float(np.float32(1.0 / slab))!r})"
    stride = threads * width

    def flat(body: Any) -> None:
        """Over the slab without regard to channels, each thread its own elements."""
        with w.block(
            f"for i in range(t * int32({width}), int32({slab}), int32({stride * UNROLL})):"
        ):
            names = []
            for u in range(UNROLL):
                w(
                    f"j{u} = i + int32({u * stride})",
                    f"p{u} = j{u} if j{u} < int32({slab}) else int32(0)",
                )
                names.append(body(u, True))
            for u in range(UNROLL):
                with w.block(f"if j{u} < int32({slab}):"):
                    body(u, names[u])

    def first(u: int, names: Any) -> Any:
        if names is True:
            return _load(w, element, width, f"x{u}_", "x", f"base + p{u}")
        for j, name in enumerate(names):
            w(f"m += {name}")
            if staged:
                w(f"kept[p{u} + int32({j})] = {name}")
        return None

    def second(u: int, names: Any) -> Any:
        if names is True:
            if staged:
                for j in range(width):
                    w(f"x{u}_{j} = kept[p{u} + int32({j})]")
                return [f"x{u}_{j}" for j in range(width)]
            return _load(w, element, width, f"x{u}_", "x", f"base + p{u}")
        for name in names:
            w(f"q += ({name} - m) * ({name} - m)")
        return None

    w("m = float32(0)")
    flat(first)
    block_reduce(w, ["m"], threads)
    w(f"m *= {factor}; q = float32(0)")
    flat(second)
    block_reduce(w, ["q"], threads)
    w(f"r = float32(1) / math.sqrt(q * {factor} + eps)")
    with w.block("if t == 0:"):
        w("store1_f32(mean, slab, m)", "store1_f32(rstd, slab, r)")
    if staged:
        w("cuda.syncthreads()")
    with _channel_loop(w, threads, channels):
        w(f"channel = group * {channels} + k")
        w("wt = load1_f32(w, channel)" if weight else "wt = float32(1)")
        w("bs = load1_f32(b, channel)" if bias else "bs = float32(0)")
        w("factor = r * wt")
        block, stride_in = _inner_loop(w, threads, channels, units)
        with block:
            for u in range(UNROLL):
                w(f"j{u} = i + int32({u * stride_in})")
                with w.block(f"if j{u} < int32({units}):"):
                    w(f"p = k * int32({size}) + j{u} * int32({width})")
                    if staged:
                        xs = [f"kept[p + int32({j})]" for j in range(width)]
                    else:
                        xs = _load(w, element, width, "x", "x", "base + p")
                    _store(
                        w, element, width, "y", "base + p", [f"({x} - m) * factor + bs" for x in xs]
                    )
    pointer = element.pointer
    signature = (pointer, "float32*", "float32*", pointer, "float32*", "float32*", "float32")
    return Program("group_forward", w.text(), signature, threads, shared=4 * slab if staged else 0)


@functools.cache
def group_backward(
    element: Element,
    width: int,
    channels: int,
    size: int,
    groups: int,
    weight: bool,
    finish: str,
    limit: int = SHARED_LIMIT,
) -> Program:
    """dx of every slab and the channel sums behind dweight and dbias."""
    slab, units = channels * size, size // width
    threads = _threads(slab)
    each, _ = _sharing(threads, channels)
    staged = 8 * slab + 8 * channels * each <= limit - MARGIN
    total = channels * groups
    w = Writer()
    w("def group_backward(g, x, mean, rstd, w, dx, grads, flags):")
    w.depth = 1
    _head(w, threads, 2, channels, size, groups)
    if finish == "atomic":
        row_sums.clear_by_first_block(w, 2 * total, threads)
    w("kept = cuda.shared.array(0, float32)")
    sums_at = 2 * slab if staged else 0
    w("m = load1_f32(mean, slab); r = load1_f32(rstd, slab)")
    with _channel_loop(w, threads, channels):
        w("a = float32(0); b = float32(0)")
        block, stride = _inner_loop(w, threads, channels, units)
        with block:
            loaded = []
            for u in range(UNROLL):
                w(f"j{u} = i + int32({u * stride})")
                w(
                    f"p{u} = k * int32({size}) + (j{u} if j{u} < int32({units}) else int32(0)) * int32({width})"
                )
                gs = _load(w, element, width, f"g{u}_", "g", f"base + p{u}")
                loaded.append((gs, _load(w, element, width, f"x{u}_", "x", f"base + p{u}")))
            for u, (gs, xs) in enumerate(loaded):
                with w.block(f"if j{u} < int32({units}):"):
                    for g, x in zip(gs, xs, strict=True):
                        w(f"{x} = ({x} - m) * r", f"a += {g} * {x}", f"b += {g}")
                    if staged and width % 4 == 0:
                        for q in range(0, width, 4):
                            w(
                                f"put4_f32(kept, int64(p{u} + int32({q})), {', '.join(gs[q : q + 4])})"
                            )
                            w(
                                f"put4_f32(kept, int64(p{u} + int32({slab + q})), {', '.join(xs[q : q + 4])})"
                            )
                    elif staged:
                        for q in range(width):
                            w(
                                f"kept[p{u} + int32({q})] = {gs[q]}; kept[p{u} + int32({slab + q})] = {xs[q]}"
                            )
        lanes_reduce(w, ["a", "b"], 32)
        with w.block("if lane == 0:"):
            w(f"kept[int32({sums_at}) + (k * int32({each}) + part) * int32(2)] = a")
            w(f"kept[int32({sums_at}) + (k * int32({each}) + part) * int32(2) + int32(1)] = b")
    w("cuda.syncthreads()")
    if finish == "atomic":
        row_sums.await_clear(w)
    w("s1 = float32(0); s2 = float32(0)")
    with w.block(f"for k in range(t, {channels}, {threads}):"):
        w("a = float32(0); b = float32(0)")
        with w.block(f"for j in range({each}):"):
            w(
                f"a += kept[{sums_at} + (k * {each} + j) * 2]",
                f"b += kept[{sums_at} + (k * {each} + j) * 2 + 1]",
            )
        w(f"channel = group * {channels} + k")
        if finish == "atomic":
            w("add1_f32(grads, channel, a)", f"add1_f32(grads, channel + {total}, b)")
        else:
            w(f"store1_f32(grads, image * {2 * total} + channel, a)")
            w(f"store1_f32(grads, image * {2 * total} + {total} + channel, b)")
        w(
            "wt = load1_f32(w, channel)" if weight else "wt = float32(1)",
            "s1 += wt * b",
            "s2 += wt * a",
        )
    block_reduce(w, ["s1", "s2"], threads)
    factor = f"float32({float(np.float32(1.0 / slab))!r})"
    w(f"s1 *= {factor}; s2 *= {factor}")
    with _channel_loop(w, threads, channels):
        w(f"wt = load1_f32(w, group * {channels} + k)" if weight else "wt = float32(1)")
        block, stride = _inner_loop(w, threads, channels, units)
        with block:
            for u in range(UNROLL):
                w(f"j{u} = i + int32({u * stride})")
                with w.block(f"if j{u} < int32({units}):"):
                    w(f"p = k * int32({size}) + j{u} * int32({width})")
                    gs, xs = [f"g{j}" for j in range(width)], [f"x{j}" for j in range(width)]
                    if staged and width % 4 == 0:
                        for q in range(0, width, 4):
                            w(f"{', '.join(gs[q : q + 4])} = get4_f32(kept, int64(p + int32({q})))")
                            w(
                                f"{', '.join(xs[q : q + 4])} = get4_f32(kept, int64(p + int32({slab + q})))"
                            )
                    elif staged:
                        for q in range(width):
                            w(f"g{q} = kept[p + int32({q})]; x{q} = kept[p + int32({slab + q})]")
                    else:
                        _load(w, element, width, "g", "g", "base + p")
                        for x in _load(w, element, width, "x", "x", "base + p"):
                            w(f"{x} = ({x} - m) * r")
                    values = [
                        f"r * (wt * {g} - s1 - {x} * s2)" for g, x in zip(gs, xs, strict=True)
                    ]
                    _store(w, element, width, "dx", "base + p", values)
    if finish == "atomic":
        row_sums.release_flags(w)
    pointer = element.pointer
    signature = (
        pointer,
        pointer,
        "float32*",
        "float32*",
        "float32*",
        pointer,
        "float32*",
        "int32*",
    )
    shared = 4 * (sums_at + 2 * channels * each)
    return Program("group_backward", w.text(), signature, threads, shared=shared)


def _sizes(x: Any, groups: int) -> tuple[int, int, int]:
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ValueError(f"group_norm: {groups} groups do not divide axis 1 of shape {x.shape}")
    inner = 1
    for n in x.shape[2:]:
        inner *= int(n)
    return int(x.shape[0]), int(x.shape[1]) // groups, inner


def forward(
    x: Any,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    kind: str | None = None,
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) on the device; the statistics are float32 of shape (N, groups)."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    x = backend.contiguous(x)
    weight, bias = as_float32(backend, weight, kind), as_float32(backend, bias, kind)
    images, channels, inner = _sizes(x, groups)
    y = backend.empty(x.shape, x.dtype)
    mean = backend.empty((images, groups), np.float32)
    rstd = backend.empty((images, groups), np.float32)
    if x.size:
        width = element.vector if backend.aligned(x, y) and inner % element.vector == 0 else 1
        has = weight is not None, bias is not None
        program = group_forward(element, width, channels, inner, groups, *has, backend.shared_limit)
        wt, bs = (rstd if weight is None else weight), (rstd if bias is None else bias)
        backend.run(program, (images * groups,), x, wt, bs, y, mean, rstd, np.float32(eps))
    return y, mean, rstd


def backward(
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    groups: int,
    weight: Any = None,
    *,
    kind: str | None = None,
    deterministic: bool = False,
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) on the device; see `layer_norm.backward` for `deterministic`."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    g, x = backend.contiguous(g), backend.contiguous(x)
    weight = as_float32(backend, weight, kind)
    images, channels, inner = _sizes(x, groups)
    total = channels * groups
    dx = backend.empty(x.shape, x.dtype)
    if not x.size:
        return dx, backend.zeros((total,), np.float32), backend.zeros((total,), np.float32)
    finish = "partials" if deterministic else "atomic"
    width = element.vector if backend.aligned(g, x, dx) and inner % element.vector == 0 else 1
    sizes = element, width, channels, inner, groups
    program = group_backward(*sizes, weight is not None, finish, backend.shared_limit)
    grads = backend.empty((images if deterministic else 1, 2 * total), np.float32)
    wt = rstd if weight is None else weight
    backend.run(program, (images * groups,), g, x, mean, rstd, wt, dx, grads, backend.flags())
    if deterministic:
        grads = _norms.sum_partials(backend, grads, images, 2 * total)
    grads = grads.reshape(-1)
    return dx, grads[:total], grads[total : 2 * total]
