"""One library in a process of its own: reads requests from stdin, writes times to stdout.

A request is ``case mode seconds``; the answer a JSON list with one ``[wall, processor]`` a run, in
nanoseconds; processor time is that of all threads. Modes are
``backward`` (that alone, of one recording), ``both`` (a new recording and its backward) and
``memory`` (bytes that the resident set rose by, at most, during one of both).
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nn.cases import CASES, Case


def ours(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The two things to time, in npgrad."""
    import npgrad

    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    arrays, constants = case.arrays(rng), case.constants(rng)

    leaves = [npgrad.array(x) for x in arrays]  # made once, as torch's are

    def f() -> Any:
        return case.ours(npgrad.nn, np, *leaves, *constants)

    out = f()
    g = rng.normal(size=out.shape).astype(out.dtype)
    return lambda: out.backward(g, retain_graph=True), lambda: f().backward(g)


def theirs(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The two things to time, in torch."""
    import torch
    from torch.nn import functional

    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    tensors = [torch.from_numpy(x).requires_grad_() for x in case.arrays(rng)]
    constants = [torch.from_numpy(x) for x in case.constants(rng)]

    def f() -> Any:
        return case.theirs(torch, functional, *tensors, *constants)

    out = f()
    g = torch.from_numpy(rng.normal(size=tuple(out.shape)).astype("f4"))
    return (
        lambda: torch.autograd.grad(out, tensors, g, retain_graph=True),
        lambda: torch.autograd.grad(f(), tensors, g),
    )


def resident(line: str) -> int:
    """A number of ``/proc/self/status``, in bytes."""
    for row in Path("/proc/self/status").read_text().splitlines():
        if row.startswith(line):
            return int(row.split()[1]) * 1024
    return 0


def peak(run: Callable[[], Any]) -> int:
    """How far the resident set rises during one run; 0 where the system does not say."""
    clear = Path("/proc/self/clear_refs")
    if not clear.exists():
        return 0
    clear.write_text("5")
    before = resident("VmRSS")
    run()
    return max(0, resident("VmHWM") - before)


def main() -> None:
    make = ours if sys.argv[1] == "npgrad" else theirs
    name, backward, both = "", None, None
    for request in sys.stdin:
        case, mode, seconds = json.loads(request)
        if case != name:
            backward = both = None  # the old arrays go before the new ones come
            name = case
            backward, both = make(CASES[case])
            backward()
            both()
        run = backward if mode == "backward" else both
        assert run is not None
        answer: list[Any] = [peak(run)] if mode == "memory" else []
        end = time.perf_counter() + seconds
        while mode != "memory" and (len(answer) < 3 or time.perf_counter() < end):
            start, busy = time.perf_counter_ns(), time.process_time_ns()
            run()
            answer.append([time.perf_counter_ns() - start, time.process_time_ns() - busy])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
