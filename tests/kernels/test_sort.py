"""Sorted rows: their order, and their cotangent equal to NumPy's spelling; both are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.implementations import LARGE
from npgrad.kernels import sort

EPS = np.spacing(1.0)
ROWS = {
    "random": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "falling": lambda rng, n: -np.arange(1.0, n + 1),
    "infinities": lambda rng, n: rng.choice([np.inf, -np.inf, 0.0, -0.0, 1.0], n),
    "NaN of both signs": lambda rng, n: rng.choice([np.nan, -np.nan, 1.0, -2.0, np.inf], n),
    "of all sizes": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-320, 300, n),
    # these differ in the bits that give way to the place; the last ones are left to argsort
    "neighbours": lambda rng, n: 1 + EPS * rng.permutation(n),
    "pairs of neighbours": lambda rng, n: np.nextafter(rng.normal(size=n).round(2), rng.choice(2)),
    "falling neighbours": lambda rng, n: -1 - EPS * np.arange(n),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 1000])
@pytest.mark.parametrize("kind", ROWS)
def test_order_sorts(kind: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    with np.errstate(over="ignore"):
        a = np.stack([ROWS[kind](rng, n) for _ in range(4)]).astype(dtype)
    made = sort.order(a)
    np.testing.assert_array_equal(np.sort(made), np.arange(n) + np.zeros((4, 1)))
    found, plain = (
        np.take_along_axis(a, made, -1),
        np.take_along_axis(a, sort.order_reference(a), -1),
    )
    np.testing.assert_array_equal(found, plain)


def test_order_of_one_long_row() -> None:
    a = np.random.default_rng(1).uniform(size=(1, LARGE))
    np.testing.assert_array_equal(sort.order(a), np.argsort(a))
    assert sort.order(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 65])
def test_kernel_equals_its_reference(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(7)
    a = np.concatenate((rng.integers(-4, 5, (6, n)), rng.normal(size=(6, n)))).astype(dtype)
    a[0, 0], a[1, -1], a[2, n // 2], a[3, 0] = np.inf, -np.inf, np.nan, -0.0
    a[4, 0] = a[4, -1] = np.nan
    g = rng.normal(size=a.shape).astype(dtype)
    y = np.sort(a)
    order = np.argsort(a)
    made = sort.back(g, y, order)
    assert made.dtype == dtype
    np.testing.assert_allclose(made, sort.back_reference(g, y, order), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(LARGE // 512, 512), (LARGE // 4096, 64, 64)])
def test_large_arrays_have_the_gradient_of_small_ones(shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 900, shape).astype(dtype)
    weights = rng.normal(size=shape).astype(dtype)
    gradient = npgrad.grad(lambda a: np.sum(np.sort(a) * weights))
    made = gradient(x)
    with npgrad.kernels.disabled():
        plain = gradient(x)
    assert made.dtype == dtype
    np.testing.assert_allclose(made, plain, rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-6)


def test_kernel_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel wrong by one per cent shows in the gradient."""
    right = sort.back
    monkeypatch.setattr(sort, "back", lambda g, y, order: 1.01 * right(g, y, order))
    x = np.random.default_rng(9).normal(size=(LARGE // 512, 512))
    weights = np.full(x.shape, 2.0)
    gradient = npgrad.grad(lambda a: np.sum(np.sort(a) * weights))(x)
    np.testing.assert_allclose(gradient, 2.02)
