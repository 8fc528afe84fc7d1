"""np.unique: who shares the cotangent of a value, also where NaN is one value or several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad

NAN = float("nan")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("size", [0, 1, 5, 300])
@pytest.mark.parametrize("name", ["unique", "unique_values"])
def test_elements_of_a_value_share(dtype: str, size: int, name: str) -> None:
    rng = np.random.default_rng(size)
    x = rng.integers(-3, 4, size).astype(dtype)
    if dtype == "c16":
        x = x + 1j * rng.integers(0, 3, size)
    x = x.reshape(-1, 1) if size == 5 else x
    function: Any = getattr(np, name)
    values = function(x)
    weights = rng.integers(1, 9, values.size)
    expected = np.zeros(x.shape)
    for value, weight in zip(values, weights, strict=True):
        expected[x == value] = weight / np.sum(x == value)
    found = npgrad.grad(lambda x: np.sum(np.real(function(x)) * weights))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "f2" else 1e-6)


def test_not_a_number_is_one_value_or_several() -> None:
    x = np.array([NAN, 2.0, NAN, 1.0, 2.0])
    one = [[0, 0, 0, 1, 0], [0, 0.5, 0, 0, 0.5], [0.5, 0, 0.5, 0, 0]]
    several = [*one[:2], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]
    np.testing.assert_array_equal(npgrad.jacrev(np.unique)(x), one)
    np.testing.assert_array_equal(
        npgrad.jacrev(lambda x: np.unique(x, equal_nan=False))(x), several
    )
    np.testing.assert_array_equal(npgrad.jacfwd(np.unique)(x), one)
