"""Memory of large results is kept for the next ones, up to what was asked for."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import npgrad
from npgrad.graph import backend

# Faults of the pages of a block that is filled, freed and taken again, by itself and under others.
PROGRAM = """
import resource
import numpy as np
from npgrad.graph import memory

def faults(megabytes):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    made = memory.empty((megabytes << 20,), np.uint8)
    made[:: resource.getpagesize()] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

memory.keep_freed()
for megabytes in (16, 64, 200, 300):
    faults(megabytes)
    print(faults(megabytes), end=" ")
"""


def again(kept: str) -> list[int]:
    """Page faults of the second block of 16, 64, 200 and 300 MB."""
    environment = {**os.environ, "NPGRAD_KEEP_MEMORY": kept}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [int(word) for word in run.stdout.split()]


glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries than glibc are left alone"
)


@glibc
def test_large_blocks_are_used_again() -> None:
    *kept, huge = again("512")
    assert max(kept) < 20
    assert huge > 100  # 2 MB a fault where the system has such pages


@glibc
def test_what_is_kept_can_be_limited() -> None:
    small, large, larger, _ = again("100")
    assert small < 20 and large < 20
    assert larger > 80


@glibc
def test_the_c_library_is_left_alone_on_request() -> None:
    assert min(again("0")[1:]) > 25


@pytest.mark.parametrize("dtype", ["f4", "c16", "i1"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_large_gradient_is_a_copy_by_all_threads(
    dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npgrad.kernels._threads._count", threads)
    rng = np.random.default_rng(3)
    whole = rng.integers(-100, 100, (1001, 4096)).astype(dtype)
    for array in (whole, whole.T, whole[::-1, 1:], np.broadcast_to(whole[0], whole.shape)):
        copy = backend.snapshot_any(array)
        assert np.array_equal(copy, array)
        assert not np.shares_memory(copy, whole)
        assert copy.flags.c_contiguous and copy.flags.owndata


def test_a_large_cotangent_never_becomes_the_gradient_itself() -> None:
    g = np.ones((600, 1000))
    x = npgrad.array(np.zeros_like(g))
    out = npgrad.nn.index_add(x, 0, [0], np.ones((1, 1000)))
    gradient = out.backward(g)[x]
    g[:] = 7
    assert (gradient == 1).all()
