"""What holds for every test: hypothesis profiles, fixed seeds, and no mode left on behind it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

from npgrad.graph.modes import MODE

# `scripts/test --hypothesis-profile=nightly` runs the long version.
settings.register_profile("dev", max_examples=10, deadline=None)
settings.register_profile("ci", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=1000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def no_mode_left_on() -> Iterator[None]:
    """A test that leaves recording off, checks on or a tape listening spoils the next one."""
    assert MODE.get() is None, f"a mode was on before the test: {MODE.get()}"
    before = np.geterr()
    yield
    left = MODE.get()
    MODE.set(None)
    assert left is None, f"the test left a mode on: {left}"
    assert np.geterr() == before, "the test left NumPy's error state changed"


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Tests that draw from the global generators draw the same numbers every time."""
    random.seed(0)
    np.random.seed(0)
