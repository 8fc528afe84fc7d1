"""How a workload is measured: one process a library, rounds interleaved, values checked first.

For each workload and library a fresh worker process starts (`benchmarks.worker`). It computes value
and gradient once; the gradient is compared with a float64 reference that owes nothing to any
library: central differences of the plain NumPy text (`reference`). Only a worker that agrees is
timed. A round then asks each worker in turn for one sample, and NumPy's forward is a worker among
them, so a ratio always divides times taken within one round; what is reported is the median over
the rounds. Processor time is kept beside the time on the wall: on a busy machine its ratios are the
steadier ones. Memory is the high-water mark of the worker's resident set during one call, counted
from where it stood before that call.

This module knows neither the libraries (`benchmarks.libraries`) nor the command line
(`benchmarks.run`).
"""

from __future__ import annotations

import importlib
import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

SEED = 20
# Idle workers must sleep: OpenMP threads that spin between rounds would steal the other's cores.
# OpenBLAS has no such setting: its threads spin for 2**26 cycles after a product, 27 ms at 2.5 GHz.
# A worker that was sampled at once after another's products had half a core less: NumPy by hand
# took 3.3 times the forward of the large MLP where it takes 2.0, and npgrad 6.4 for 3.2.
PAUSE_SECONDS = 0.05
QUIET = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "PYTHONHASHSEED": "0"}


@dataclass(frozen=True)
class Bar:
    """What npgrad must reach: ``limit`` in ``unit``.

    The units are ``"x forward"`` (time over NumPy's forward), ``"us an item"`` (time over the
    workload's ``ITEMS``) and ``"bytes an item"`` (memory over ``ITEMS``).
    """

    limit: float
    unit: str = "x forward"


@dataclass
class Measured:
    """What one library did on one workload; `refused` says why there is nothing else."""

    library: str
    version: str = ""
    refused: str = ""
    error: float = float("nan")  # largest deviation from the reference, relative to its scale
    compiling: float = 0.0  # seconds before the first call, for the libraries that compile
    first_call: float = float("nan")  # seconds
    memory: float = float("nan")  # bytes above the resting level during one call
    peak: float = float("nan")  # bytes, high-water mark of the fresh process
    samples: list[float] = field(default_factory=list)  # seconds a call, one a round
    ratios: list[float] = field(default_factory=list)  # over NumPy's forward in the same round
    cpu: list[float] = field(default_factory=list)  # processor seconds a call, all threads
    cpu_ratios: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median time of one call."""
        return statistics.median(self.samples) if self.samples else float("nan")

    @property
    def ratio(self) -> float:
        """The median of time over NumPy's forward."""
        return statistics.median(self.ratios) if self.ratios else float("nan")

    def in_unit(self, unit: str, items: int) -> float:
        """The figure that a bar in `unit` speaks of."""
        if unit == "x forward":
            return self.ratio
        return self.seconds / items * 1e6 if unit == "us an item" else self.memory / items


@dataclass
class Outcome:
    """One workload's figures, NumPy's forward first among the libraries."""

    workload: str
    title: str
    bar: Bar
    items: int
    measured: list[Measured]

    def of(self, library: str) -> Measured | None:
        """The figures of `library`, if it ran."""
        return next((m for m in self.measured if m.library == library), None)


def load(name: str) -> ModuleType:
    """The module of a workload."""
    return importlib.import_module(f"benchmarks.workloads.{name}")


def title(module: ModuleType) -> str:
    """The first line of a workload's docstring."""
    return (module.__doc__ or module.__name__).splitlines()[0].rstrip(".")


def arguments(module: ModuleType) -> tuple[Any, ...]:
    """The workload's arguments, the same in every process."""
    return tuple(module.make(np.random.default_rng(SEED)))


# -- the reference -----------------------------------------------------------------------------


def directions(module: ModuleType, args: tuple[Any, ...], count: int = 4) -> list[list[Any]]:
    """Random unit-variance directions, one array for each differentiated argument."""
    rng = np.random.default_rng(SEED + 1)
    return [
        [rng.normal(size=np.shape(args[i])) for i in getattr(module, "ARGNUMS", (0,))]
        for _ in range(count)
    ]


def projections(module: ModuleType, args: tuple[Any, ...], grads: list[Any]) -> list[float]:
    """Inner products of the gradient with `directions`."""
    return [
        float(sum(np.vdot(np.asarray(g, np.float64), d) for g, d in zip(grads, ds, strict=True)))
        for ds in directions(module, args)
    ]


def reference(module: ModuleType, args: tuple[Any, ...]) -> list[float]:
    """Directional derivatives by central differences of the plain NumPy text, in float64.

    Two steps and Richardson's extrapolation leave about 1e-9 of the scale where the loss is smooth;
    a workload with kinks names its own ``DIFFERENCE_STEP``. A wrong gradient has the right
    projections on four random directions with probability zero.
    """
    argnums = getattr(module, "ARGNUMS", (0,))
    base = [
        a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
        for a in args
    ]

    def along(direction: list[Any], step: float) -> float:
        moved = list(base)
        for i, d in zip(argnums, direction, strict=True):
            moved[i] = base[i] + step * d
        return float(module.loss(*moved))

    def slope(direction: list[Any], step: float) -> float:
        return (along(direction, step) - along(direction, -step)) / (2 * step)

    step = getattr(module, "DIFFERENCE_STEP", 1e-4)
    return [(4 * slope(d, step / 2) - slope(d, step)) / 3 for d in directions(module, args)]


def tolerance(args: tuple[Any, ...]) -> float:
    """What a right gradient may differ by, in the precision of the workload."""
    single = any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in args)
    return 1e-3 if single else 1e-6


# -- workers -----------------------------------------------------------------------------------


class WorkerFailed(Exception):
    """A worker refused, crashed or took too long; the message is for the table."""


class Worker:
    """A process that runs one library on one workload and answers in lines of JSON."""

    def __init__(self, library: str, workload: str) -> None:
        self.library = library
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", library, workload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **QUIET},
            bufsize=0,
        )

    def ask(self, command: str, limit: float, **given: Any) -> dict[str, Any]:
        """Send `command`, wait at most `limit` seconds for the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": command, **given}).encode() + b"\n")
        except BrokenPipeError:
            raise WorkerFailed("the process died") from None
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            self.close()
            raise WorkerFailed(f"no answer in {limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise WorkerFailed(f"the process died ({code})")
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise WorkerFailed(answer["refused"])
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def measure(
    workload: str,
    libraries: list[str],
    rounds: int = 9,
    limit: float = 120.0,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run one workload in every library and return the figures."""
    module = load(workload)
    args = arguments(module)
    say("reference by central differences")
    expected = reference(module, args)
    outcome = Outcome(
        workload, title(module), module.BAR, getattr(module, "ITEMS", 1), [Measured("numpy")]
    )
    left_out = getattr(module, "LEFT_OUT", {})
    workers: list[tuple[Measured, Worker]] = []
    try:
        for library in ("numpy", *(name for name in libraries if name != "numpy")):
            found = Measured(library)
            if library == "numpy":
                found = outcome.measured[0]
            else:
                outcome.measured.append(found)
            if library in left_out:
                found.refused = left_out[library]
                continue
            say(f"{library}: first call, gradient, memory")
            worker = Worker(library, workload)
            try:
                answer = worker.ask("prepare", limit)
                _check(found, answer, expected, tolerance(args))
                if rounds:
                    worker.ask("calibrate", limit)
            except WorkerFailed as failure:
                found.refused = str(failure)
                worker.close()
            else:
                workers.append((found, worker))
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            for found, worker in list(workers):
                try:
                    time.sleep(PAUSE_SECONDS)
                    answer = worker.ask("sample", limit)
                except WorkerFailed as failure:
                    found.refused = str(failure)
                    workers.remove((found, worker))
                else:
                    found.samples.append(answer["seconds"])
                    found.cpu.append(answer["cpu"])
    finally:
        for _, worker in workers:
            worker.close()
    forward = outcome.measured[0]
    for found in outcome.measured:
        pairs = zip(found.samples, forward.samples, strict=False)
        found.ratios = [a / b for a, b in pairs]
        pairs = zip(found.cpu, forward.cpu, strict=False)
        found.cpu_ratios = [a / b for a, b in pairs if b]
    return outcome


def _check(found: Measured, answer: dict[str, Any], expected: list[float], allowed: float) -> None:
    """Take what the worker said of its first call; refuse a gradient that is wrong."""
    for name in ("version", "compiling", "first_call", "memory", "peak"):
        setattr(found, name, answer[name])
    if answer["projections"] is None:  # NumPy's forward has no gradient
        return
    scale = max(abs(value) for value in expected)
    pairs = zip(answer["projections"], expected, strict=True)
    found.error = max(abs(got - want) for got, want in pairs) / scale
    if not found.error <= allowed:
        raise WorkerFailed(f"wrong gradient: off by {found.error:.1e} of its scale")
