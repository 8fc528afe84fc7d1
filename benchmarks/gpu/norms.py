"""Norms and softmax, backward (and forward): fraction of a copy of the same bytes, ratio to torch (cuDNN for batch_norm)."""

# ruff: noqa: B023, E501, N812
# (a measured lambda runs within its turn of the loop; generated kernel text and table rows are not broken; torch's own short name)

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npgrad.cuda.kernels import batch_norm, group_norm, layer_norm, log_softmax, rms_norm, softmax

from .timing import Record, error, given, host_cost, poison, seconds, sets_for, taken

aten = torch.ops.aten
ROWS = [(8192, 1024), (8192, 4096), (32768, 768), (1024, 16384), (131072, 128)]
PLANES = [(32, 64, 56, 56), (32, 256, 56, 56), (64, 512, 28, 28), (128, 256, 14, 14)]


def normal(*shape: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(kind)


def name_of(kind: torch.dtype) -> str:
    return str(kind)[6:]


def exact(function: Any, x: torch.Tensor, g: torch.Tensor, *weights: torch.Tensor) -> Any:
    """Gradients in float64 by torch."""
    inputs = [v.double().requires_grad_() for v in (x, *weights)]
    return torch.autograd.grad(function(*inputs), inputs, g.double(), allow_unused=True)


def row_norms(
    record: Record, kinds: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)
) -> None:
    for rows, columns in ROWS:
        for kind in kinds:
            if record.left() < 10:
                print("norms: out of time")
                return
            _row_case(record, rows, columns, kind)


def _row_case(record: Record, rows: int, columns: int, kind: torch.dtype) -> None:
    size = rows * columns * (4 if kind == torch.float32 else 2)
    case, label = f"{rows} x {columns}", name_of(kind)
    sets = [
        (normal(rows, columns, kind=kind), normal(rows, columns, kind=kind))
        for _ in range(sets_for(3 * size))
    ]
    w, b = normal(columns, kind=kind), normal(columns, kind=kind)
    weight, bias = taken(w), taken(b)
    ours = [(taken(x), taken(g)) for x, g in sets]
    x0, g0 = sets[0]
    copy = record.copy_seconds(3 * size)
    options: dict[str, Any] = {"kind": "bfloat16"} if kind == torch.bfloat16 else {}

    def note(
        operation: str,
        mine: list[Any],
        theirs: list[Any],
        found: Any,
        wanted: Any,
        their: Any,
        **more: Any,
    ) -> None:
        wrong = max(error(given(a), b) for a, b in zip(found, wanted, strict=True))
        theirs_wrong = max(error(a, b) for a, b in zip(their, wanted, strict=True))
        record.put(
            operation=operation,
            case=case,
            kind=label,
            ours=seconds(mine),
            torch=seconds(theirs),
            copy=more.pop("copy", copy),
            error=wrong,
            their_error=theirs_wrong,
            host=host_cost(mine[0]),
            **more,
        )

    # layer_norm
    saved = [aten.native_layer_norm(x, [columns], w, b, 1e-5) for x, _ in sets]
    states = [layer_norm.forward(x, weight, bias, 1e-5, **options) for x, _ in ours]
    wanted = exact(lambda x, w, b: F.layer_norm(x, (columns,), w, b), x0, g0, w, b)
    calls = [
        lambda x=x, g=g, s=s: aten.native_layer_norm_backward(
            g, x, [columns], s[1], s[2], w, b, [True] * 3
        )
        for (x, g), s in zip(sets, saved, strict=True)
    ]
    for deterministic in (False, True):
        mine = [
            lambda x=x, g=g, s=s: layer_norm.backward(
                g, x, s[1], s[2], weight, deterministic=deterministic, **options
            )
            for (x, g), s in zip(ours, states, strict=True)
        ]
        poison(size, 8 * columns)
        note(
            "layer_norm backward",
            mine,
            calls,
            mine[0](),
            wanted,
            calls[0](),
            note="ordered" if deterministic else "",
        )
    forward = [lambda x=x: layer_norm.forward(x, weight, bias, 1e-5, **options)[0] for x, _ in ours]
    poison(size)
    their = [lambda x=x: aten.native_layer_norm(x, [columns], w, b, 1e-5)[0] for x, _ in sets]
    note(
        "layer_norm forward",
        forward,
        their,
        [forward[0]()],
        [F.layer_norm(x0.double(), (columns,), w.double(), b.double())],
        [their[0]()],
        copy=record.copy_seconds(2 * size),
    )
    # rms_norm
    saved = [aten._fused_rms_norm(x, [columns], w, 1e-5) for x, _ in sets]
    states = [rms_norm.forward(x, weight, 1e-5, **options) for x, _ in ours]
    wanted = exact(lambda x, w: F.rms_norm(x, (columns,), w, 1e-5), x0, g0, w)
    calls = [
        lambda x=x, g=g, s=s: aten._fused_rms_norm_backward(g, x, [columns], s[1], w, [True, True])
        for (x, g), s in zip(sets, saved, strict=True)
    ]
    mine = [
        lambda x=x, g=g, s=s: rms_norm.backward(g, x, s[1], weight, **options)
        for (x, g), s in zip(ours, states, strict=True)
    ]
    poison(size, 4 * columns)
    note("rms_norm backward", mine, calls, mine[0](), wanted, calls[0]())
    # softmax, log_softmax
    for module, name, function, inner in (
        (softmax, "softmax", torch.softmax, aten._softmax_backward_data),
        (log_softmax, "log_softmax", torch.log_softmax, aten._log_softmax_backward_data),
    ):
        outputs = [function(x, -1) for x, _ in sets]
        kept = [taken(y) for y in outputs]
        y0 = outputs[0].double()
        wide = g0.double()
        total = (
            (wide * y0).sum(-1, keepdim=True) if name == "softmax" else wide.sum(-1, keepdim=True)
        )
        dx = y0 * (wide - total) if name == "softmax" else wide - y0.exp() * total
        calls = [
            lambda y=y, g=g: inner(g, y, -1, kind) for (_, g), y in zip(sets, outputs, strict=True)
        ]
        mine = [
            lambda y=y, g=g: module.backward(g, y, **options)
            for (_, g), y in zip(ours, kept, strict=True)
        ]
        poison(size)
        note(f"{name} backward", mine, calls, [mine[0]()], [dx], [calls[0]()])
        if name == "softmax":
            forward = [lambda x=x: softmax.forward(x, **options) for x, _ in ours]
            their = [lambda x=x: torch.softmax(x, -1) for x, _ in sets]
            poison(size)
            note(
                "softmax forward",
                forward,
                their,
                [forward[0]()],
                [torch.softmax(x0.double(), -1)],
                [their[0]()],
                copy=record.copy_seconds(2 * size),
            )
    # batch_norm over rows
    wide_w, wide_b = w.float(), b.float()
    running = torch.zeros(columns, device="cuda"), torch.ones(columns, device="cuda")
    saved = [aten.native_batch_norm(x, wide_w, wide_b, *running, True, 0.1, 1e-5) for x, _ in sets]
    calls = [
        lambda x=x, g=g, s=s: aten.native_batch_norm_backward(
            g, x, wide_w, *running, s[1], s[2], True, 1e-5, [True] * 3
        )
        for (x, g), s in zip(sets, saved, strict=True)
    ]
    states = [batch_norm.forward(x, taken(wide_w), taken(wide_b), 1e-5, **options) for x, _ in ours]
    mine = [
        lambda x=x, g=g, s=s: batch_norm.backward(g, x, s[1], s[2], taken(wide_w), **options)
        for (x, g), s in zip(ours, states, strict=True)
    ]
    wanted = exact(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x0, g0, wide_w, wide_b)
    poison(size)
    note(
        "batch_norm backward",
        mine,
        calls,
        mine[0](),
        wanted,
        calls[0](),
        copy=record.copy_seconds(5 * size),
    )


def plane_norms(
    record: Record, kinds: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)
) -> None:
    for shape in PLANES:
        for kind in kinds:
            if record.left() < 10:
                print("plane norms: out of time")
                return
            _plane_case(record, shape, kind)


def _plane_case(record: Record, shape: tuple[int, ...], kind: torch.dtype) -> None:
    n, channels, height, width = shape
    inner, groups = height * width, 32
    size = n * channels * inner * (4 if kind == torch.float32 else 2)
    case, label = " x ".join(map(str, shape)), name_of(kind)
    sets = [
        (normal(*shape, kind=kind), normal(*shape, kind=kind)) for _ in range(sets_for(3 * size, 6))
    ]
    w, b = normal(channels, kind=kind), normal(channels, kind=kind)
    ours = [(taken(x), taken(g)) for x, g in sets]
    x0, g0 = sets[0]
    options: dict[str, Any] = {"kind": "bfloat16"} if kind == torch.bfloat16 else {}
    wide_w, wide_b = w.float(), b.float()
    weight = taken(wide_w)

    saved = [aten.native_group_norm(x, w, b, n, channels, inner, groups, 1e-5) for x, _ in sets]
    calls = [
        lambda x=x, g=g, s=s: aten.native_group_norm_backward(
            g, x, s[1], s[2], w, n, channels, inner, groups, [True] * 3
        )
        for (x, g), s in zip(sets, saved, strict=True)
    ]
    wanted = exact(lambda x, w, b: F.group_norm(x, groups, w, b), x0, g0, w, b)
    states = [group_norm.forward(x, groups, weight, weight, 1e-5, **options) for x, _ in ours]
    mine = [
        lambda x=x, g=g, s=s: group_norm.backward(g, x, s[1], s[2], groups, weight, **options)
        for (x, g), s in zip(ours, states, strict=True)
    ]
    poison(size)
    found, their = mine[0](), calls[0]()
    record.put(
        operation="group_norm backward",
        case=case,
        kind=label,
        ours=seconds(mine),
        torch=seconds(calls),
        copy=record.copy_seconds(3 * size),
        error=max(error(given(a), c) for a, c in zip(found, wanted, strict=True)),
        their_error=max(error(a, c) for a, c in zip(their, wanted, strict=True)),
        host=host_cost(mine[0]),
    )
    running = torch.zeros(channels, device="cuda"), torch.ones(channels, device="cuda")
    wanted = exact(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x0, g0, wide_w, wide_b)
    times = {}
    for layout in ("nchw", "nhwc"):
        memory = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        moved = [
            (x.contiguous(memory_format=memory), g.contiguous(memory_format=memory))
            for x, g in sets
        ]
        saved = [
            aten.native_batch_norm(x, wide_w, wide_b, *running, True, 0.1, 1e-5) for x, _ in moved
        ]
        times[f"native {layout}"] = seconds(
            [
                lambda x=x, g=g, s=s: aten.native_batch_norm_backward(
                    g, x, wide_w, *running, s[1], s[2], True, 1e-5, [True] * 3
                )
                for (x, g), s in zip(moved, saved, strict=True)
            ]
        )
        times[f"cudnn {layout}"] = float("inf")
        if kind != torch.float32:  # cuDNN's entry wants one type for all
            continue
        saved = [
            aten.cudnn_batch_norm(x, wide_w, wide_b, *running, True, 0.1, 1e-5) for x, _ in moved
        ]
        times[f"cudnn {layout}"] = seconds(
            [
                lambda x=x, g=g, s=s: aten.cudnn_batch_norm_backward(
                    x, g, wide_w, *running, s[1], s[2], 1e-5, s[3]
                )
                for (x, g), s in zip(moved, saved, strict=True)
            ]
        )
        del moved, saved
    states = [batch_norm.forward(x, weight, weight, 1e-5, **options) for x, _ in ours]
    mine = [
        lambda x=x, g=g, s=s: batch_norm.backward(g, x, s[1], s[2], weight, **options)
        for (x, g), s in zip(ours, states, strict=True)
    ]
    poison(size)
    found = mine[0]()
    record.put(
        operation="batch_norm backward",
        case=case,
        kind=label,
        ours=seconds(mine),
        torch=min(times["native nchw"], times["cudnn nchw"]),
        rival=min(times["native nhwc"], times["cudnn nhwc"]),
        copy=record.copy_seconds(5 * size),
        error=max(error(given(a), c) for a, c in zip(found, wanted, strict=True)),
        host=host_cost(mine[0]),
        all_torch=times,
    )
