"""Which sweeps look at a device's arrays: counted on arrays that stand for a device's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.graph import backend

from .standing import device, to_device, to_host


@pytest.fixture
def looks(monkeypatch: Any) -> Iterator[list[int]]:
    """How many arrays each look took; nothing is put off."""
    found: list[int] = []
    with device(None):
        all_finite = backend.all_finite

        def counted(values: Any) -> bool:
            found.append(len(values))
            return all_finite(values)

        monkeypatch.setattr(backend, "all_finite", counted)
        yield found


def test_no_look_where_no_rule_makes_infinities(looks: list[int]) -> None:
    x = to_device(np.array([0.0, 1.0, 4.0]))
    got = npgrad.grad(lambda x: np.sum(np.cumsum(x) - x))(x)
    assert to_host(got).tolist() == [2.0, 1.0, 0.0]
    assert not looks


def test_one_look_of_a_risky_rule_mends_zero_times_infinity(looks: list[int]) -> None:
    x, y = to_device(np.array([0.0, 1.0, 4.0])), to_device(np.ones(3))
    got, _ = npgrad.grad(lambda x, y: np.sum(np.where(x > 0, np.sqrt(x), 0) + y), argnums=(0, 1))(
        x, y
    )
    assert to_host(got).tolist() == [0.0, 0.5, 0.25]
    assert looks == [2]


def test_all_finite_of_both_places(looks: list[int]) -> None:
    good, large = to_device(np.ones(3)), to_device(np.full(3, 1e308))  # whose sum overflows
    with backend.quiet():
        for bad in (np.nan, np.inf, -np.inf):
            assert not backend.all_finite([good, to_device(np.array([1.0, bad]))])
            assert not backend.all_finite([good, np.array([1.0, bad])])
        assert backend.all_finite([good, large, np.ones(2)])
    assert backend.all_finite([])
