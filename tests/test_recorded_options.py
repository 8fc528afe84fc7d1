"""Numbers that are options of a function, and recorded: ``initial=``, and what replaces NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from tests.test_every_method import check, uniform

KEPT = np.array([True, False, True])
HOLES: dict[str, Callable[[Any, Any], Any]] = {
    "nan": lambda a, v: np.nan_to_num(np.where(a > 1, np.nan, a), nan=v) * a,
    "posinf": lambda a, v: np.nan_to_num(np.where(a > 1, np.inf, a), posinf=v * v),
    "neginf": lambda a, v: np.nan_to_num(np.where(a > 1, -np.inf, a), neginf=v) * a,
    "of complex": lambda a, v: (
        np.nan_to_num(np.where(a > 1, complex(np.nan, np.inf), a), nan=v, posinf=3 * v) * a
    ),
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, v: np.sum(a, axis=1, initial=v),
    "sum where": lambda a, v: np.sum(a, initial=v, keepdims=True, where=KEPT),
    "sum by position": lambda a, v: np.sum(a, 0, None, None, False, v),
    "sum into": lambda a, v: np.sum(a, axis=0, initial=v, out=np.zeros(3, like=a)),
    "prod": lambda a, v: np.prod(a, axis=1, initial=v),
    "prod by position": lambda a, v: np.prod(a, 0, None, None, True, v),
    "max": lambda a, v: np.max(a, axis=0, initial=v),
    "max by position": lambda a, v: np.max(a, 0, None, True, v),
    "amax": lambda a, v: np.amax(a, initial=v * 2),
    "min": lambda a, v: np.min(a, axis=0, initial=v),
    "nansum": lambda a, v: np.nansum(a, axis=0, initial=v),
    "nanprod": lambda a, v: np.nanprod(a, initial=v),
    "nanmax": lambda a, v: np.nanmax(a, axis=0, initial=v),
    "nanmin": lambda a, v: np.nanmin(a, axis=0, initial=v),
    "methods": lambda a, v: a.sum(initial=v) * a.max(axis=0, initial=v),
    "add.reduce": lambda a, v: np.add.reduce(a, initial=v),
    "multiply.reduce": lambda a, v: np.multiply.reduce(a, axis=1, initial=v),
    "maximum.reduce": lambda a, v: np.maximum.reduce(a, axis=1, initial=v),
    "fmax.reduce": lambda a, v: np.fmax.reduce(a, axis=1, initial=v),
    "logaddexp.reduce": lambda a, v: np.logaddexp.reduce(a, axis=1, initial=v),
    "logaddexp2.reduce": lambda a, v: np.logaddexp2.reduce(a, axis=1, initial=v, where=KEPT),
    "hypot.reduce": lambda a, v: np.hypot.reduce(a, axis=1, initial=v),
    **HOLES,
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    check(name, CALLS[name], uniform(0.6, 1.9, (2, 3), ()))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_precision_is_the_arrays_own(name: str) -> None:
    f = getattr(np, name)
    a, initial = np.ones((2, 3), np.float32), np.float64(1.5)
    value, pull = npgrad.vjp(lambda a, v: f(a, axis=0, initial=v), a, initial)
    assert value.dtype == f(a, axis=0, initial=initial).dtype == np.float32
    assert [g.dtype for g in pull(value)] == [np.float32, np.float64]


def test_the_largest_of_nothing_is_the_initial_one() -> None:
    assert npgrad.grad(lambda v: np.max(np.zeros(0) * v, initial=v))(3.0) == 1


def test_the_first_result_along_an_axis_gives_the_type() -> None:
    """NumPy's buffer is of integers if the first line gives one, and truncates the others."""
    x = np.array([-0.5, 0.7, 0.3])

    def f(x: Any) -> Any:
        return np.apply_along_axis(lambda v: 0 if v[0] < 0 else v[0], 1, x[:, None]).sum() * x[1]

    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 0
    np.testing.assert_array_equal(gradient, 0)
