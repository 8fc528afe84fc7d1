"""The one-pass cotangent of an extreme: equal to NumPy's spelling, ties shared, and used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.implementations import LARGE
from npgrad.kernels import extreme

SHAPE = (64, LARGE // 4096, 64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(1, 30, 40), (30, 40, 1), (1, 1200, 1), (3, 40, 10), (2, 40, 130)]
)
def test_kernel_equals_its_reference(shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 20, shape).astype(dtype)
    y = a.max(axis=1)
    g = rng.normal(size=y.shape).astype(dtype)
    made = extreme.share(g, a, y)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, extreme.share_reference(g, a, y))
    np.testing.assert_allclose(made.sum(axis=1), g, rtol=1e-5)


@pytest.mark.parametrize("f", [np.max, np.min])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_large_arrays_have_the_gradient_of_small_ones(f: Any, axis: Any, keepdims: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 90, SHAPE).astype(float)
    weights = rng.normal(size=np.shape(f(x, axis=axis, keepdims=keepdims)))
    gradient = npgrad.grad(lambda a: np.sum(f(a, axis=axis, keepdims=keepdims) * weights))
    made = gradient(x)
    with npgrad.kernels.disabled():
        plain = gradient(x)
    np.testing.assert_allclose(made, plain, rtol=1e-14)


def test_nan_shares_as_it_does_in_small_arrays() -> None:
    x = np.zeros(SHAPE)
    x[0, 3, 5] = x[0, 7, 5] = np.nan
    gradient = npgrad.grad(lambda a: np.sum(np.max(a, axis=1)))(x)
    assert gradient[0, 3, 5] == gradient[0, 7, 5] == 0.5
    assert gradient[0, 0, 5] == 0


def test_kernel_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel wrong by one per cent shows in the gradient."""
    right = extreme.share
    monkeypatch.setattr(extreme, "share", lambda g, a, y: 1.01 * right(g, a, y))
    gradient = npgrad.grad(lambda a: np.sum(np.max(a, axis=1)))(np.zeros(SHAPE))
    np.testing.assert_allclose(gradient, 1.01 / SHAPE[1])
