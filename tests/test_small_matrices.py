"""Functions of small matrices, which are computed without the Python around LAPACK: as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad


@pytest.mark.parametrize("n", [0, 1, 2, 4, 63, 64, 65])
@pytest.mark.parametrize("name", ["inv", "det", "slogdet"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8"])
def test_small_matrices_have_numpys_bits(n: int, name: str, order: Any, dtype: Any) -> None:
    function = getattr(np.linalg, name)
    numbers = np.random.default_rng(n).normal(size=(n, n)) / max(n, 1) ** 0.5
    matrix = np.array(numbers, dtype, order=order)
    wanted, found = function(matrix), function(npgrad.array(matrix))
    for expected, made in zip(
        *(pair if name == "slogdet" else (pair,) for pair in (wanted, found)), strict=True
    ):
        made = npgrad.value(made)
        assert made.dtype == expected.dtype
        assert type(made) is type(expected)
        assert made.tobytes() == expected.tobytes()
    assert name != "slogdet" or type(found) is type(wanted)


def test_small_matrices_without_an_inverse() -> None:
    singular, unknown = npgrad.array(np.ones((3, 3))), npgrad.array(np.full((3, 3), np.nan))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        np.linalg.inv(singular)
    assert npgrad.value(np.linalg.det(singular)) == 0
    assert tuple(map(npgrad.value, np.linalg.slogdet(singular))) == (0, -np.inf)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            npgrad.value(np.linalg.inv(unknown)), np.linalg.inv(npgrad.value(unknown))
        )
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.inv(npgrad.array(np.ones((2, 3))))
