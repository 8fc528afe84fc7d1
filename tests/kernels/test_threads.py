"""Kernels are called from any thread, count their threads, hand errors on, and survive a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from npgrad.kernels import _threads, softmax

pytest.importorskip("numba")


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


def test_import_brings_neither_numba_nor_scipy() -> None:
    code = (
        "import sys, npgrad, npgrad.nn, npgrad.kernels.conv2d;"
        "print([m for m in ('numba', 'scipy') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_thread_count_is_numbas() -> None:
    code = "from npgrad import kernels; print(kernels.thread_count())"
    assert run(code, NUMBA_NUM_THREADS="3") == "3"


def test_ranges_cover_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_count", 5)
    seen: list[tuple[int, int]] = []
    _threads.spread(lambda start, stop: seen.append((start, stop)), 23, 1e9)
    assert len(seen) == 5
    assert sorted(i for a, b in seen for i in range(a, b)) == list(range(23))


def test_little_work_stays_in_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_count", 5)
    seen = []
    _threads.spread(lambda start, stop: seen.append((start, stop)), 23, 1.0)
    assert seen == [(0, 23)]


def test_an_error_in_a_worker_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_count", 4)

    def fail(start: int, stop: int) -> None:
        if start > 0:
            raise ArithmeticError(start)

    with pytest.raises(ArithmeticError):
        _threads.spread(fail, 8, 1e9)
    seen = []
    _threads.spread(lambda start, stop: seen.append(start), 8, 1e9)
    assert len(seen) == 4


def test_many_threads_call_kernels_at_once() -> None:
    x = np.random.default_rng(0).normal(size=(400, 300)).astype("f4")
    want = softmax.softmax(x)
    results: list[np.ndarray] = []

    def work() -> None:
        results.extend(softmax.softmax(x) for _ in range(20))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 160
    assert all(np.array_equal(y, want) for y in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_workers_of_its_own() -> None:
    code = """
import os, warnings
import numpy as np
from npgrad.kernels import _threads, softmax
warnings.simplefilter("ignore")
_threads._count = 3
x = np.ones((1000, 1000), "f4")
softmax.softmax(x)
pid = os.fork()
if pid == 0:
    y = softmax.softmax(x)
    os._exit(0 if abs(float(y.sum()) - 1000) < 1 else 1)
print(os.waitpid(pid, 0)[1])
"""
    assert run(code) == "0"
