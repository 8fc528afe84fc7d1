"""Timing on the device: CUDA events, warm-up, medians, input sets rotated past the L2 cache, poisoned outputs.

Times are device times: a sleep kernel ahead of each batch lets the host run ahead, so that launch cost is not part of them (it is
reported apart, by `host_cost`).
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

Call = Callable[[], Any]
ROTATE_BYTES = 400e6  # input sets together: the L2 of an H200 holds 60 MB
SLEEP_CYCLES_A_MICROSECOND = 1980


def sets_for(bytes_a_set: float, most: int = 8) -> int:
    """How many input sets to rotate among."""
    return int(min(most, max(1, -(-ROTATE_BYTES // max(bytes_a_set, 1)))))


def host_cost(call: Call, count: int = 30) -> float:
    """Host seconds a call takes to enqueue."""
    torch.cuda.synchronize()
    torch.cuda._sleep(int(3e-3 * 1e6 * SLEEP_CYCLES_A_MICROSECOND))
    start = time.perf_counter()
    for _ in range(count):
        call()
    cost = (time.perf_counter() - start) / count
    torch.cuda.synchronize()
    return cost


def seconds(calls: Call | Sequence[Call], repeats: int = 9, target: float = 1.5e-3) -> float:
    """Median device seconds a call."""
    many = [calls] if callable(calls) else list(calls)
    for call in many:
        call()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    started = time.perf_counter()
    begin.record()
    for i in range(2):
        many[i % len(many)]()
    end.record()
    host = (time.perf_counter() - started) / 2
    torch.cuda.synchronize()
    estimate = max(begin.elapsed_time(end) / 2e3, 1e-6)
    batch = int(min(32, max(2, round(target / estimate), len(many) if estimate < 5e-3 else 1)))
    repeats = max(3, min(repeats, int(1.0 / (estimate * batch)) or 3))
    times, at = [], 0
    for _ in range(repeats):
        torch.cuda._sleep(int((1.5 * host * batch * 1e6 + 80) * SLEEP_CYCLES_A_MICROSECOND))
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for i in range(batch):
            many[(at + i) % len(many)]()
        end.record()
        at += batch
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / batch * 1e-3)
    return statistics.median(times)


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """||found - wanted|| / ||wanted|| in float64."""
    found, wanted = found.double(), wanted.double()
    return float((found - wanted).norm() / wanted.norm().clamp_min(1e-300))


def poison(*sizes: int) -> None:
    """Fill CuPy's free blocks of these sizes with NaN: the next results of these sizes are allocated there."""
    import cupy

    kept = [cupy.full(max(1, size // 4), float("nan"), cupy.float32) for size in sizes]
    del kept


def taken(tensor: torch.Tensor) -> Any:
    """A torch tensor as a CuPy array on the same memory (bfloat16 as uint16 words)."""
    import cupy

    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return cupy.from_dlpack(tensor.view(torch.int16)).view(cupy.uint16)
    return cupy.from_dlpack(tensor)


def given(array: Any, like: torch.dtype = torch.float32) -> torch.Tensor:
    """A CuPy array as a torch tensor on the same memory."""
    import cupy

    if array.dtype == cupy.uint16:
        return torch.from_dlpack(array.view(cupy.int16)).view(torch.bfloat16)
    return torch.from_dlpack(array)


class Record:
    """Rows of results, printed as they come and written to JSON."""

    def __init__(self, path: Path, budget: float) -> None:
        self.path, self.budget, self.started = path, budget, time.time()
        self.rows: list[dict[str, Any]] = []
        self.copies: dict[int, float] = {}

    def left(self) -> float:
        return self.budget - (time.time() - self.started)

    def copy_seconds(self, size: int) -> float:
        """Time of a device copy that moves `size` bytes in all (read and written), past the L2."""
        if size not in self.copies:
            n = max(4, size // 8)
            pairs = [
                (torch.randn(n, device="cuda"), torch.empty(n, device="cuda"))
                for _ in range(sets_for(size))
            ]
            self.copies[size] = seconds([lambda a=a, b=b: b.copy_(a) for a, b in pairs])
        return self.copies[size]

    def put(self, **row: Any) -> None:
        self.rows.append(row)
        ours, theirs = row.get("ours"), row.get("torch")
        line = f"{row['operation']:22s} {row['case']:34s} {row['kind']:8s}"
        if ours is not None:
            line += f" {ours * 1e6:8.1f} us"
        if theirs:
            line += f" torch {theirs * 1e6:8.1f} x{theirs / ours:5.2f}"
        if row.get("copy"):
            line += f" copy {row['copy'] / ours:4.2f}"
        for name in ("rival", "cupy", "tflops", "error", "their_error", "host", "note"):
            value = row.get(name)
            if value is None:
                continue
            if name in ("rival", "cupy"):
                line += f" {name} x{value / ours:.2f}"
            elif name == "host":
                line += f" host {value * 1e6:.0f}us"
            elif isinstance(value, float):
                line += f" {name} {value:.2g}"
            else:
                line += f" {value}"
        print(line, flush=True)

    def save(self, **facts: Any) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"facts": facts, "rows": self.rows}, indent=1) + "\n")
