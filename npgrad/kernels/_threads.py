"""Spread a kernel over threads: `spread(kernel, n, cost, *arrays)`.

A kernel here is a serial, GIL-free function ``kernel(start, stop, *arrays)`` that handles the items
``start <= i < stop`` and writes nothing that another range writes. So results cannot depend on the
number of threads, a call may come from any thread, and a fork is safe; none of this holds for
Numba's own parallel loops (the workqueue layer aborts on concurrent calls, the OpenMP layer in a
forked child). A spread call costs about 20 us for two threads, Numba's parallel loop 50 us.

The number of threads is ``NUMBA_NUM_THREADS``, or else the number of cores this process may use.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

__all__ = ["spread", "thread_count"]

# A range that takes less than this many nanoseconds is not worth another thread: handing over and
# joining costs 20 us (two threads, loaded machine 40 us).
GRAIN_NS = 40_000.0

_lock = threading.Lock()
_tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
_workers = 0
_count: int | None = None


def thread_count() -> int:
    """Threads that kernels may use, the calling one included."""
    global _count
    if _count is None:
        asked = os.environ.get("NUMBA_NUM_THREADS", "")
        _count = max(1, int(asked)) if asked.strip().isdigit() else _cores()
    return _count


def _cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _work(tasks: SimpleQueue[Callable[[], None]]) -> None:
    """The life of a worker."""
    while True:
        tasks.get()()


def _start(wanted: int) -> None:
    """Have at least `wanted` workers."""
    global _workers
    with _lock:
        while _workers < wanted:
            threading.Thread(
                target=_work, args=(_tasks,), name="npgrad-kernel", daemon=True
            ).start()
            _workers += 1


def _after_fork() -> None:
    """A forked child has no workers, and may have inherited a held lock."""
    global _tasks, _workers, _lock
    _lock = threading.Lock()
    _tasks = SimpleQueue()
    _workers = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _piece(
    kernel: Callable[..., Any], start: int, stop: int, args: tuple[Any, ...], done: Any
) -> None:
    """Run one range in a worker and report its exception, or None."""
    error: BaseException | None = None
    try:
        kernel(start, stop, *args)
    except BaseException as caught:  # handed to the caller, whatever it is
        error = caught
    done.put(error)


def spread(kernel: Callable[..., Any], n: int, cost: float, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` over ranges that make up ``range(n)``.

    `cost` estimates the nanoseconds of one item; it decides how many threads are worth their price.
    """
    pieces = min(thread_count(), n, int(n * cost / GRAIN_NS))
    if pieces <= 1:
        kernel(0, n, *args)
        return
    if _workers < pieces - 1:
        _start(pieces - 1)
    bounds = [n * i // pieces for i in range(pieces + 1)]
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    for start, stop in itertools.pairwise(bounds[1:]):
        _tasks.put(lambda a=start, b=stop: _piece(kernel, a, b, args, done))  # type: ignore[misc]
    error: BaseException | None = None
    try:
        kernel(0, bounds[1], *args)
    finally:  # the arrays must outlive every worker's range, also when this one was interrupted
        for _ in range(pieces - 1):
            error = done.get() or error
    if error is not None:
        raise error
