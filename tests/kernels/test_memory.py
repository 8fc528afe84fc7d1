"""Memory of large results is kept for the next ones, up to what was asked for."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

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
