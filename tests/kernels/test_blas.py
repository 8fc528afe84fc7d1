"""Products by threads of npgrad's own equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad import implementations
from npgrad.kernels import _blas


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_by_a_tall_matrix(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blas, "PIECE_BYTES", 4000)
    rng = np.random.default_rng(1)
    for rows, columns in ((1003, 7), (64, 100), (1, 5)):
        row, tall = rng.normal(size=rows).astype(dtype), rng.normal(size=(rows, columns))
        for matrix in (
            tall.astype(dtype),
            np.asfortranarray(tall, dtype),
            tall.astype(dtype)[::-1],
        ):
            found = _blas.row_matmul(row, matrix)
            wide = row.astype(np.float64) @ matrix.astype(np.float64)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, wide, rtol=0, atol=rows * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_takes_a_thread_of_ours(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implementations, "STACKED", 1)
    monkeypatch.setattr(implementations, "TALL", 1)
    rng = np.random.default_rng(2)
    shapes = (
        ((5, 3, 4), (5, 4, 2)),
        ((5, 3, 4), (1, 4, 2)),
        ((1, 3, 4), (5, 4, 2)),
        ((2, 3, 4), (4, 2)),
        ((6,), (6, 3)),
        ((2, 6), (6, 3)),
        ((0, 3, 4), (0, 4, 2)),
    )
    for left, right in shapes:
        a, b = rng.normal(size=left).astype(dtype), rng.normal(size=right).astype(dtype)
        found = implementations.matmul(a, b)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, a @ b, rtol=0, atol=100 * np.finfo(dtype).eps)
    turned = rng.normal(size=(5, 4, 3)).astype(dtype).swapaxes(1, 2)
    other = rng.normal(size=(5, 4, 2)).astype(dtype)
    np.testing.assert_allclose(implementations.matmul(turned, other), turned @ other, rtol=1e-4)


def test_no_warning_from_another_thread() -> None:
    """A sweep is silent about infinities; the threads it uses have to be told."""
    tall = np.ones((200_000, 8))
    tall[5] = np.inf
    row = np.ones(200_000)
    row[150_000] = -np.inf
    with np.errstate(all="ignore"):
        assert np.isnan(implementations.matmul(row, tall)).all()
