"""Rows and copies written past the caches are the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad import kernels
from npgrad.kernels import _streaming, take_along

pytest.importorskip("numba")


@pytest.fixture(params=[1, 2, 5], autouse=True)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_streaming, "LARGE_BYTES", 1 << 12)
    monkeypatch.setattr("npgrad.kernels._threads._count", request.param)
    monkeypatch.setattr("npgrad.kernels._threads.GRAIN_NS", 1.0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "f2", ">f4"])
@pytest.mark.parametrize("shape", [(40, 16), (40, 48), (40, 2, 32), (40, 17), (40,), (3, 40, 16)])
def test_rows(dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    take = _streaming.take
    monkeypatch.setattr(_streaming, "take", lambda *a: used.append(1) or take(*a))
    axis = len(shape) - 2 if len(shape) > 2 and shape[0] == 3 else 0
    rng = np.random.default_rng(3)
    x, index = rng.normal(size=shape).astype(dtype), rng.integers(0, 40, 5003).astype("u4")
    np.testing.assert_array_equal(take_along.take_rows(x, index, axis), np.take(x, index, axis))
    whole = x.dtype in ("f4", "f8") and x[0].nbytes % 64 == 0 and axis == 0
    assert bool(used) == whole
    with kernels.disabled():
        used.clear()
        np.testing.assert_array_equal(take_along.take_rows(x, index, axis), np.take(x, index, axis))
        assert not used


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize("size", [0, 5, 1023, 1024, 4099, 70_001])
def test_copies(dtype: str, size: int) -> None:
    x = np.random.default_rng(4).normal(size=size).astype(dtype)
    for array in (x, x[1:], x[::-1], x.reshape(1, -1)):
        made = _streaming.copied(array)
        np.testing.assert_array_equal(made, array)
        assert not np.shares_memory(made, array) and made.flags.c_contiguous
    with kernels.disabled():
        np.testing.assert_array_equal(_streaming.copied(x), x)


def test_where_stores_may_not_go() -> None:
    x = np.zeros(5000, "f4")
    assert _streaming.suits(x, np.empty_like(x))
    raw = np.empty(x.nbytes + 16, np.uint8)
    shift = (4 - raw.ctypes.data) % 16
    odd = raw[shift : shift + x.nbytes].view("f4")
    assert odd.ctypes.data % 16 == 4 and not _streaming.suits(x, odd)
