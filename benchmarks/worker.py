"""The process that runs one library on one workload: commands in, one line of JSON out for each.

``prepare`` makes the job, calls it once, reads the gradient's projections, then measures memory
over a second call; ``calibrate`` chooses how many calls make a sample; ``sample`` times one sample.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.harness import arguments, load, projections
from benchmarks.libraries import Job, job

SAMPLE_SECONDS = 0.05  # long against the clock and a scheduler's tick, short against a round


def resident() -> tuple[int, int]:
    """Resident bytes now, and their high-water mark since `forget_peak` (Linux)."""
    words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(words[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def settle() -> None:
    """Hand free memory back, then start the high-water mark again from what is resident (Linux).

    Without it a second call would live in what the first one freed, and seem to need nothing.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # a libc without malloc_trim
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


class Session:
    """The worker's state between commands."""

    def __init__(self, library: str, workload: str) -> None:
        self.library, self.workload = library, workload
        self.job: Job | None = None
        self.timed: Any = None
        self.calls = 1

    def prepare(self) -> dict[str, Any]:
        """One call for the values and one for the memory."""
        module = load(self.workload)
        self.job = job(self.library, self.workload)
        start = time.perf_counter()
        out = self.job.run()
        first = time.perf_counter() - start
        grads = self.job.gradient(out)
        found = None if grads is None else projections(module, arguments(module), grads)
        forward_only = getattr(module, "FORWARD_ONLY", False)
        self.timed = (self.job.forward if forward_only else None) or self.job.run
        del out, grads
        _, absolute = resident()
        settle()
        resting, _ = resident()
        self.timed()
        _, peak = resident()
        return {
            "version": self.job.version,
            "compiling": self.job.compiling,
            "first_call": first,
            "memory": max(0, peak - resting),
            "peak": max(peak, absolute),
            "projections": found,
        }

    def calibrate(self) -> dict[str, Any]:
        """Double the calls until they fill a sample."""
        while self.sample()["seconds"] * self.calls < SAMPLE_SECONDS:
            self.calls *= 2
        return {"calls": self.calls}

    def sample(self) -> dict[str, Any]:
        """Seconds a call, over one sample; one call first wakes what slept since the last one."""
        timed, calls = self.timed, self.calls
        timed()
        begin, start = time.process_time(), time.perf_counter()
        for _ in range(calls):
            timed()
        stop, end = time.perf_counter(), time.process_time()
        return {"seconds": (stop - start) / calls, "cpu": (end - begin) / calls}


def main() -> None:
    """Answer commands until the input ends."""
    # What a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = Session(*sys.argv[1:3])
    for line in sys.stdin:
        command = json.loads(line)["do"]
        try:
            answer = getattr(session, command)()
        except Exception as error:
            reason = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
            answer = {"refused": reason[:160]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
