"""Gradient of a long elementwise chain: one generated kernel against torch eager and CuPy."""

# ruff: noqa: B008, E501
# (bound on purpose; generated kernel text and table rows are not broken)

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

import npgrad
from npgrad.cuda.fuse import Chain, Operation

from .timing import Record, error, given, host_cost, poison, seconds, sets_for, taken

REPEATS, SIZE = 50, 10_000_000
WARM = 24


def gradient_chain(repeats: int) -> Chain:
    """d/dx of t -> tanh(t * 1.01 + x) * 0.9, `repeats` times from t = x (4 operations each): values and cotangents in one list."""
    operations = [Operation("input", value=0)]

    def add(name: str, *operands: int, value: Any = None) -> int:
        operations.append(Operation(name, tuple(operands), value=value))
        return len(operations) - 1

    scale, damp, one = (add("constant", value=v) for v in (1.01, 0.9, 1.0))
    kept, t = [], 0
    for _ in range(repeats):
        y = add("tanh", add("add", add("multiply", t, scale), 0))
        kept.append(y)
        t = add("multiply", y, damp)
    g = one
    total = None
    for y in reversed(kept):
        h = add("multiply", add("multiply", g, damp), add("subtract", one, add("multiply", y, y)))
        total = h if total is None else add("add", total, h)
        g = add("multiply", h, scale)
    return Chain(operations, [add("add", total or 0, g)])


def by_torch(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    t = x
    for _ in range(REPEATS):
        t = torch.tanh(t * 1.01 + x) * 0.9
    return torch.autograd.grad(t.sum(), x)[0]


def recorded(x: Any) -> Any:
    """The same function as anybody would write it, for `npgrad.grad`."""
    t = x
    for _ in range(REPEATS):
        t = np.tanh(t * 1.01 + x) * 0.9
    return np.sum(t)


def wall(call: Any, count: int = 5) -> float:
    """Seconds a call on the wall clock, launches included, until the device is done."""
    times = []
    for _ in range(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2]


def by_cupy(x: Any) -> Any:
    import cupy

    kept, t = [], x
    for _ in range(REPEATS):
        y = cupy.tanh(t * 1.01 + x)
        kept.append(y)
        t = y * 0.9
    g, total = cupy.ones_like(x), cupy.zeros_like(x)
    for y in reversed(kept):
        h = g * 0.9 * (1 - y * y)
        total += h
        g = h * 1.01
    return total + g


def run(record: Record) -> None:
    chain = gradient_chain(REPEATS)
    sets = [torch.randn(SIZE, device="cuda") for _ in range(sets_for(8 * SIZE, 4))]
    ours = [taken(x) for x in sets]
    mine = [lambda x=x: chain(x)[0] for x in ours]
    poison(4 * SIZE)
    found = given(mine[0]())
    wanted = by_torch(sets[0].double())
    record.put(
        operation="elementwise gradient",
        case=f"{4 * REPEATS} operations, 1e7",
        kind="float32",
        error=error(found, wanted),
        ours=seconds(mine),
        torch=seconds([lambda x=x: by_torch(x) for x in sets], repeats=3),
        cupy=seconds([lambda x=x: by_cupy(x) for x in ours], repeats=3),
        copy=record.copy_seconds(8 * SIZE),
        host=host_cost(mine[0]),
    )
    step = npgrad.grad(recorded)
    mine = [lambda x=x: step(x) for x in ours]
    start = time.perf_counter()
    for i in range(WARM):  # kernels are made for expressions that come again
        mine[i % len(mine)]()
    torch.cuda.synchronize()
    warm = time.perf_counter() - start
    poison(4 * SIZE)
    found = given(mine[0]())
    here, there = wall(mine[0]), wall(lambda: by_torch(sets[0]))
    record.put(
        operation="npgrad.grad of a chain",
        case=f"{4 * REPEATS} operations, 1e7",
        kind="float32",
        error=error(found, wanted),
        ours=seconds(mine, repeats=3),
        torch=seconds([lambda x=x: by_torch(x) for x in sets], repeats=3),
        host=host_cost(mine[0], 5),
        note=f"wall {here * 1e6:.0f} us, torch {there / here:.2f}x; first {WARM} calls {warm:.1f} s",
    )
    x, y = Operation("input", value=0), Operation("input", value=1)
    one = Operation("constant", value=1.0)
    rule = Chain(
        [
            x,
            y,
            one,
            Operation("square", (1,)),
            Operation("subtract", (2, 3)),
            Operation("multiply", (0, 4)),
        ],
        [5],
    )
    pairs = [(torch.randn(SIZE, device="cuda"), torch.randn(SIZE, device="cuda")) for _ in range(4)]
    mine = [lambda a=taken(a), b=taken(b): rule(a, b)[0] for a, b in pairs]
    poison(4 * SIZE)
    record.put(
        operation="tanh rule",
        case="g (1 - y^2), 1e7",
        kind="float32",
        error=error(given(mine[0]()), pairs[0][0].double() * (1 - pairs[0][1].double() ** 2)),
        ours=seconds(mine),
        torch=seconds([lambda a=a, b=b: torch.ops.aten.tanh_backward(a, b) for a, b in pairs]),
        copy=record.copy_seconds(12 * SIZE),
        host=host_cost(mine[0]),
    )
