"""Which sweeps look at a device's arrays: counted on arrays that stand for a device's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.graph import backend
from tests.fake_device import DeviceArray, to_device, to_host


class Library:
    """The fake device's array makers and tests."""

    def __getattr__(self, name: str) -> Any:
        made = getattr(np, name)
        return lambda *args, **kwargs: to_device(made(*map(to_host, args), **kwargs))


@pytest.fixture
def looks(monkeypatch: Any) -> list[int]:
    """How many arrays each look took."""
    found: list[int] = []
    all_finite, library = backend.all_finite, backend.library

    def counted(values: Any) -> bool:
        found.append(len(values))
        return all_finite(values)

    def of(value: Any) -> Any:
        return Library() if type(value) is DeviceArray else library(value)

    monkeypatch.setattr(backend, "on_device", lambda value: type(value) is DeviceArray)
    monkeypatch.setattr(backend, "library", of)
    monkeypatch.setattr(backend, "all_finite", counted)
    return found


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
