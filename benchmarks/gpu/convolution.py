"""conv2d grad-weight, grad-input and grad-bias against cuDNN, float32-accurate and TF32; `TUNE=n` times the n best-ranked tiles."""

# ruff: noqa: B023, E501
# (a measured lambda runs within its turn of the loop; generated kernel text and table rows are not broken)

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
from typing import Any

import numpy as np
import torch

from npgrad.cuda import compile as kernel_compiler
from npgrad.cuda.kernels import (
    conv2d_grad_bias,
    conv2d_grad_input,
    conv2d_grad_weight,
    conv_products,
    conv_tile,
    conv_weight_tile,
)
from npgrad.cuda.launch import Backend, backend_of

from .timing import Record, error, given, host_cost, poison, seconds, sets_for, taken

aten = torch.ops.aten
# name: channels, size, output channels, kernel, stride, padding, dilation, groups
SHAPES = {
    "3x3 64-64 56": (64, 56, 64, 3, 1, 1, 1, 1),
    "3x3 128-128 28": (128, 28, 128, 3, 1, 1, 1, 1),
    "3x3 256-256 14": (256, 14, 256, 3, 1, 1, 1, 1),
    "3x3 512-512 7": (512, 7, 512, 3, 1, 1, 1, 1),
    "3x3 s2 128-128 56": (128, 56, 128, 3, 2, 1, 1, 1),
    "3x3 dil2 256-256 28": (256, 28, 256, 3, 1, 2, 2, 1),
    "1x1 256-64 56": (256, 56, 64, 1, 1, 0, 1, 1),
    "1x1 512-2048 7": (512, 7, 2048, 1, 1, 0, 1, 1),
    "7x7 s2 3-64 224": (3, 224, 64, 7, 2, 3, 1, 1),
    "depthwise 3x3 256 28": (256, 28, 256, 3, 1, 1, 1, 256),
    "3x3 groups=32 128 56": (128, 56, 128, 3, 1, 1, 1, 32),
}
MODES = ("tf32x3", "tf32")


def problems(shape: tuple[int, ...]) -> tuple[conv_weight_tile.Problem, Any]:
    c, h, k, r, st, pad, dil, groups = shape
    p = (h + 2 * pad - dil * (r - 1) - 1) // st + 1
    both = ((r, r), (st, st), (pad, pad), (dil, dil))
    weight = conv_weight_tile.Problem(groups, c // groups, k // groups, h, h, p, p, *both)
    return weight, conv2d_grad_input.classes(
        groups, c // groups, k // groups, (h, h), (p, p), *both
    )


def tiles_for(
    shape: tuple[int, ...], images: int, mode: str, count: int
) -> tuple[list[Any], list[Any]]:
    """Best-ranked tiles of grad-weight and of the first class of grad-input, different enough to try."""
    weight, inputs = problems(shape)
    if shape[-1] > 1:
        return [], []
    by_shape: dict[Any, Any] = {}
    for t in conv_tile.ranked(inputs[0][0], images, mode):
        by_shape.setdefault((t.images, t.rows, t.columns, t.mt, t.nt, t.wm), t)
    return conv_weight_tile.ranked(weight, mode)[:count], list(by_shape.values())[:count]


class Sizes:
    """An array without contents."""

    def __init__(self, shape: Any, dtype: Any = np.float32) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    def __getitem__(self, _: Any) -> Sizes:
        return self


class Listed:
    """A backend that launches nothing and lists the programs."""

    def __init__(self) -> None:
        self.programs: list[Any] = []

    def empty(self, shape: Any, dtype: Any) -> Sizes:
        return Sizes(shape, dtype)

    def flags(self) -> Sizes:
        return Sizes((1,))

    def run(self, program: Any, *_: Any) -> None:
        self.programs.append(program)

    def gemm(self, *_: Any) -> None:
        """A library's."""


def products(name: str, images: int, mode: str) -> list[Any]:
    """The programs of a shape that goes by products of matrices; none if it does not."""
    c, h, k, r, st, pad, dil, groups = SHAPES[name]
    p = (h + 2 * pad - dil * (r - 1) - 1) // st + 1
    x, g, w = Sizes((images, c, h, h)), Sizes((images, k, p, p)), Sizes((k, c // groups, r, r))
    both = (r, r), (st, st), (pad, pad)
    way = conv_products.way(x.shape, g.shape, *both, groups, mode)
    listed: Any = Listed()
    backend: Backend = listed
    options = (pad, pad), (dil, dil), mode
    if way == "rows":
        conv_products.weight_gradient(backend, g, x, w, *options)
        conv_products.correlate(backend, g, w, x, *options, transposed=True)
    elif way == "planes":
        conv_products.weight_of_planes(backend, g, x, w)
    return list(listed.programs)


def programs(images: int, count: int, names: list[str]) -> list[Any]:
    found = []
    for name in names:
        for mode in MODES:
            weight, inputs = problems(SHAPES[name])
            of_weight, of_input = tiles_for(SHAPES[name], images, mode, count)
            found += [conv2d_grad_weight.partial_products(weight, t, mode) for t in of_weight]
            for i, (p, _) in enumerate(inputs):
                if of_input:
                    tiles = of_input if i == 0 else [conv_tile.choose(p, images, mode)]
                    found += [conv_tile.convolve(p, t, mode) for t in tiles]
        for mode in (*MODES, "float16", "bfloat16"):
            found += products(name, images, mode)
    return list(dict.fromkeys(found))


def _compile(program: Any) -> None:
    kernel_compiler.cubin(program, (9, 0))


def prepare(found: list[Any]) -> None:
    """Compile in parallel: a convolution kernel takes Numba some seconds."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        min(14, os.cpu_count() or 1), mp_context=context
    ) as pool:
        list(pool.map(_compile, found))


def run(record: Record) -> None:
    count = int(os.environ.get("TUNE", "1"))
    names = [n for n in SHAPES if os.environ.get("ONLY", "") in n]
    prepare(programs(32, count, names))
    print(f"compiled after {record.budget - record.left():.0f} s", flush=True)
    torch.backends.cudnn.benchmark = True
    for images in (int(n) for n in os.environ.get("IMAGES", "32").split(",")):
        for name in names:
            if record.left() < 10:
                print("conv: out of time")
                return
            _case(record, name, images, count)


def _case(record: Record, name: str, images: int, count: int) -> None:
    c, h, k, r, st, pad, dil, groups = shape = SHAPES[name]
    p = (h + 2 * pad - dil * (r - 1) - 1) // st + 1
    size = (images * c * h * h + images * k * p * p) * 4
    flops = 2 * images * k * p * p * (c // groups) * r * r
    sets = [
        (torch.randn(images, c, h, h, device="cuda"), torch.randn(images, k, p, p, device="cuda"))
        for _ in range(sets_for(size, 3))
    ]
    w = torch.randn(k, c // groups, r, r, device="cuda")
    ours = [(taken(x), taken(g)) for x, g in sets]
    weight = taken(w)
    geometry = (st, pad, dil, groups)

    def call(x: Any, g: Any, w: Any, which: int) -> Any:
        mask = [which == 0, which == 1, which == 2]
        bias = [k] if which == 2 else None
        return aten.convolution_backward(
            g, x, w, bias, [st, st], [pad, pad], [dil, dil], False, [0, 0], groups, mask
        )[which]

    x0, g0 = sets[0]
    wanted = [call(x0.double(), g0.double(), w.double(), which) for which in (0, 1)]
    case = f"{name} N={images}"
    for mode in MODES:
        torch.backends.cudnn.allow_tf32 = mode == "tf32"
        fast = {"tf32": mode == "tf32"}
        for which, label in ((1, "conv2d grad weight"), (0, "conv2d grad input")):
            theirs = seconds([lambda x=x, g=g: call(x, g, w, which) for x, g in sets], repeats=5)
            their_error = error(call(x0, g0, w, which), wanted[which])
            rival = None
            if which == 1:
                last = torch.channels_last
                moved = [
                    (x.contiguous(memory_format=last), g.contiguous(memory_format=last))
                    for x, g in sets
                ]
                wide = w.contiguous(memory_format=last)
                rival = seconds([lambda x=x, g=g: call(x, g, wide, 1) for x, g in moved], repeats=5)
                del moved
                mine = [
                    lambda x=x, g=g: conv2d_grad_weight.backward(g, x, (r, r), *geometry, **fast)
                    for x, g in ours
                ]
            else:
                mine = [
                    lambda g=g: conv2d_grad_input.backward(
                        g, weight, (images, c, h, h), *geometry, **fast
                    )
                    for _, g in ours
                ]
            poison(images * c * h * h * 4, k * c // groups * r * r * 4)
            wrong = error(given(mine[0]()), wanted[which])
            spent = seconds(mine, repeats=5)
            record.put(
                operation=label,
                case=case,
                kind=mode,
                ours=spent,
                torch=theirs,
                rival=rival,
                error=wrong,
                their_error=their_error,
                tflops=flops / spent / 1e12,
                host=host_cost(mine[0], 10),
            )
            if count > 1:
                _tune(
                    record,
                    label,
                    case,
                    mode,
                    shape,
                    images,
                    count,
                    ours,
                    weight,
                    wanted[which],
                    theirs,
                )
    for kind in ("float16", "bfloat16"):
        dtype = getattr(torch, kind)
        halves = [(x.to(dtype), g.to(dtype)) for x, g in sets]
        wh, word = w.to(dtype), {"kind": kind} if kind == "bfloat16" else {}
        passed = [(taken(x), taken(g)) for x, g in halves]
        narrow = taken(wh)
        for which, label in ((1, "conv2d grad weight"), (0, "conv2d grad input")):
            x0, g0 = halves[0]
            exact = call(x0.double(), g0.double(), wh.double(), which)
            if which == 1:
                mine = [
                    lambda x=x, g=g: conv2d_grad_weight.backward(g, x, (r, r), *geometry, **word)
                    for x, g in passed
                ]
            else:
                mine = [
                    lambda g=g: conv2d_grad_input.backward(
                        g, narrow, (images, c, h, h), *geometry, **word
                    )
                    for _, g in passed
                ]
            spent = seconds(mine, repeats=5)
            record.put(
                operation=label,
                case=case,
                kind=kind,
                ours=spent,
                torch=seconds([lambda x=x, g=g: call(x, g, wh, which) for x, g in halves], 5),
                error=error(given(mine[0]()), exact),
                their_error=error(call(x0, g0, wh, which), exact),
                tflops=flops / spent / 1e12,
            )
    if groups == 1 and r == 3:
        x0, g0 = sets[0]
        theirs = seconds([lambda g=g: g.sum((0, 2, 3)) for _, g in sets], repeats=5)
        mine = [lambda g=g: conv2d_grad_bias.backward(g) for _, g in ours]
        record.put(
            operation="conv2d grad bias",
            case=case,
            kind="float32",
            error=error(given(mine[0]()), g0.double().sum((0, 2, 3))),
            ours=seconds(mine, repeats=5),
            torch=theirs,
        )


def _tune(
    record: Record,
    label: str,
    case: str,
    mode: str,
    shape: tuple[int, ...],
    images: int,
    count: int,
    ours: Any,
    weight: Any,
    wanted: Any,
    theirs: float,
) -> None:
    import cupy

    problem, inputs = problems(shape)
    of_weight, of_input = tiles_for(shape, images, mode, count)
    backend = backend_of(weight)
    c, h, k, r = shape[:4]
    if "weight" in label:
        out = cupy.empty((k, c // shape[-1], r, r), cupy.float32)
        trials = [
            (
                t,
                lambda x, g, t=t: conv2d_grad_weight.run_tile(
                    backend, problem, t, mode, x, g, out, images
                ),
            )
            for t in of_weight
        ]
    elif len(inputs) == 1:
        out = cupy.empty((images, c, h, h), cupy.float32)
        p, flat = inputs[0]
        trials = [
            (
                t,
                lambda x, g, t=t: conv2d_grad_input.run_tiles(
                    backend, p, flat, g, weight, out, images, True, mode, t
                ),
            )
            for t in of_input
        ]
    else:
        return
    for t, trial in trials:
        out[...] = float("nan")
        trial(*ours[0])
        wrong = error(given(out), wanted)
        spent = seconds([lambda x=x, g=g: trial(x, g) for x, g in ours], repeats=5)
        if "weight" in label:
            kernel = backend.kernel(conv2d_grad_weight.partial_products(problem, t, mode))
        else:
            kernel = backend.kernel(conv_tile.convolve(p, t, mode))
        print(
            f"      {spent * 1e6:7.1f} us x{theirs / spent:.2f} err {wrong:.1e} regs {kernel.registers} local {kernel.local_bytes} {t}",
            flush=True,
        )
