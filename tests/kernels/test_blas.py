"""Products by threads of npgrad's own equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad.kernels import _blas


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacks_of_products(dtype: type) -> None:
    rng = np.random.default_rng(2)
    for count in (0, 1, 5, 64):
        left = rng.normal(size=(count, 40, 30)).astype(dtype)
        right = rng.normal(size=(count, 20, 30)).astype(dtype).swapaxes(1, 2)
        found = np.empty((count, 40, 20), dtype)
        _blas.batched_matmul(left, right, found)
        wide = left.astype(np.float64) @ right.astype(np.float64)
        np.testing.assert_allclose(found, wide, rtol=0, atol=200 * np.finfo(dtype).eps)


def test_no_warning_from_another_thread() -> None:
    """A sweep is silent about infinities; the threads it uses have to be told."""
    left, right = np.ones((64, 40, 30)), np.ones((64, 30, 20))
    left[:, 0, :2] = np.inf, -np.inf
    found = np.empty((64, 40, 20))
    with np.errstate(all="ignore"):
        _blas.batched_matmul(left, right, found)
    assert np.isnan(found[:, 0]).all()
    assert (found[:, 1:] == 30).all()
