"""How kernels are compiled: the mark for wide vectors reaches LLVM and changes no number."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad.kernels._compile import njit, wide
from npgrad.kernels.vector_math import exp_negative

pytest.importorskip("numba")

CONTRACT = {"fastmath": {"contract"}, "cache": False}


@njit(**CONTRACT)
def plain(x, y):  # type: ignore[no-untyped-def]
    for i in range(x.size):
        y[i] = exp_negative(x[i])


@njit(**CONTRACT)
def marked(x, y):  # type: ignore[no-untyped-def]
    wide()
    for i in range(x.size):
        y[i] = exp_negative(x[i])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_wide_vectors_give_the_same_numbers(dtype: str) -> None:
    x = -np.random.default_rng(0).exponential(20, 5003).astype(dtype)
    narrow, broad = np.empty_like(x), np.empty_like(x)
    plain(x, narrow)
    marked(x, broad)
    np.testing.assert_array_equal(narrow, broad)
    np.testing.assert_allclose(narrow, np.exp(x), rtol=4 * np.finfo(dtype).eps, atol=1e-44)
    text = "".join(marked.result.inspect_llvm().values())
    assert '"prefer-vector-width"="512"' in text
    assert "prefer-vector-width" not in "".join(plain.result.inspect_llvm().values())
