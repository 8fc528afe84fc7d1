"""One library in a process of its own: reads requests from stdin, writes times to stdout.

A request is ``case mode seconds``; the answer a JSON list with one ``[wall, processor]`` a run, in
nanoseconds; processor time is that of all threads. Modes are
``backward`` (that alone, of one recording), ``both`` (a new recording and its backward), the same
two with ``, copied`` (torch's ``backward()``, into ``.grad``) and ``memory`` (bytes that the
resident set rose by, at most, during one of both, freed memory having been given back before).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nn.cases import CASES, Case

Runs = dict[str, Callable[[], Any]]


def ours(case: Case) -> Runs:
    """What is timed, by mode, in npgrad."""
    import npgrad

    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    arrays, constants = case.arrays(rng), case.constants(rng)

    leaves = [npgrad.array(x) for x in arrays]  # made once, as torch's are

    def f() -> Any:
        return case.ours(npgrad.nn, np, *leaves, *constants)

    out = f()
    g = rng.normal(size=out.shape).astype(out.dtype)
    return {
        "backward": lambda: out.backward(g, retain_graph=True),
        "both": lambda: f().backward(g),
    }


def theirs(case: Case) -> Runs:
    """What is timed, by mode, in torch."""
    import torch
    from torch.nn import functional

    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    tensors = [torch.from_numpy(x).requires_grad_() for x in case.arrays(rng)]
    constants = [torch.from_numpy(x) for x in case.constants(rng)]

    def f() -> Any:
        return case.theirs(torch, functional, *tensors, *constants)

    out = f()
    g = torch.from_numpy(rng.normal(size=tuple(out.shape)).astype("f4"))

    def copied(out: Any, retain: bool = False) -> Any:
        for tensor in tensors:
            tensor.grad = None
        out.backward(g, retain_graph=retain)

    return {
        "backward": lambda: torch.autograd.grad(out, tensors, g, retain_graph=True),
        "both": lambda: torch.autograd.grad(f(), tensors, g),
        "backward, copied": lambda: copied(out, True),
        "both, copied": lambda: copied(f()),
    }


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
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    clear.write_text("5")
    before = resident("VmRSS")
    run()
    return max(0, resident("VmHWM") - before)


def main() -> None:
    make = ours if sys.argv[1] == "npgrad" else theirs
    name = ""
    runs: Runs = {}
    for request in sys.stdin:
        case, mode, seconds = json.loads(request)
        if case != name:
            runs = {}  # the old arrays go before the new ones come
            name, runs = case, make(CASES[case])
            runs["backward"]()
            runs["both"]()
        if mode == "memory":
            answer: list[Any] = [peak(runs["both"])]
            runs["both"]()  # what was given back comes again
        else:
            answer = timed(runs[mode], seconds)
        print(json.dumps(answer), flush=True)


def timed(run: Callable[[], Any], seconds: float) -> list[tuple[int, int]]:
    """Wall and processor time of runs for so long, but three at least."""
    times: list[tuple[int, int]] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start, busy = time.perf_counter_ns(), time.process_time_ns()
        run()
        times.append((time.perf_counter_ns() - start, time.process_time_ns() - busy))
    return times


if __name__ == "__main__":
    main()
