"""scatter_rows against its reference, over shapes, dtypes and kinds of index."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad import kernels
from npgrad.kernels import scatter_add
from npgrad.kernels.scatter_add import scatter_rows, scatter_rows_reference

pytest.importorskip("numba")

INDICES = {
    "uniform": lambda rng, m, n: rng.integers(-n, n, m),
    "skewed": lambda rng, m, n: np.minimum(rng.zipf(1.2, m), n) - 1,
    "equal": lambda rng, m, n: np.full(m, n // 2),
    "sorted": lambda rng, m, n: np.sort(rng.integers(0, n, m)).astype(np.int32),
    "strided": lambda rng, m, n: rng.integers(0, n, 2 * m)[::-2],
}


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("trailing", [(), (1,), (3,), (128,), (5, 7), (2000,)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "f2"])
def test_equals_the_reference(kind: str, trailing: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(5)
    for m, n in ((700, 30), (900, 1), (1501, 1000)):
        index = INDICES[kind](rng, m, n)
        g = rng.normal(size=(m, *trailing)).astype(dtype)
        if np.dtype(dtype).kind == "c":
            g = g + 1j * rng.normal(size=g.shape).astype(g.real.dtype)
        kept = g.copy()
        wide = np.result_type(dtype, np.float64)
        want = scatter_rows_reference(g.astype(wide), index, n)
        got = scatter_rows(g, index, n)
        assert got.dtype == g.dtype and got.shape == (n, *trailing)
        scale = scatter_rows_reference(np.abs(g).astype(np.float64), index, n).max()
        assert np.abs(got - want).max() <= 20 * np.finfo(g.dtype).eps * scale
        np.testing.assert_array_equal(g, kept)


def test_cotangents_without_strides_and_transposed() -> None:
    index = np.arange(600) % 7
    ones = np.broadcast_to(np.float32(1), (600, 4))
    np.testing.assert_array_equal(
        scatter_rows(ones, index, 7), np.bincount(index)[:, None] * np.ones(4)
    )
    g = np.random.default_rng(0).normal(size=(9, 600)).T
    np.testing.assert_allclose(
        scatter_rows(g, index, 7), scatter_rows_reference(g, index, 7), rtol=1e-12
    )


@pytest.mark.parametrize("bad", [30, -31, 2**40, -(2**40)])
@pytest.mark.parametrize("m", [3, 5000])
def test_index_out_of_range_raises_before_any_access(bad: int, m: int) -> None:
    index = np.zeros(m, np.int64)
    index[-1] = bad
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 30"):
        scatter_rows(np.ones((m, 2)), index, 30)


def test_float_index_is_refused() -> None:
    with pytest.raises(IndexError, match="integer"):
        scatter_rows(np.ones(2), np.array([0.0, 1.0]), 2)


def test_empty() -> None:
    assert scatter_rows(np.ones((0, 3)), np.zeros(0, int), 0).shape == (0, 3)
    np.testing.assert_array_equal(scatter_rows(np.ones((0, 3)), [], 2), np.zeros((2, 3)))
    assert scatter_rows(np.ones((4, 0)), np.zeros(4, int), 2).shape == (2, 0)


def test_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    g, index = rng.normal(size=(20000, 96)).astype("f4"), rng.integers(0, 50, 20000)
    results = []
    for count in (1, 2, 5):
        monkeypatch.setattr("npgrad.kernels._threads._count", count)
        results.append(scatter_rows(g, index, 50))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_disabled_runs_the_reference() -> None:
    rng = np.random.default_rng(2)
    g, index = rng.normal(size=(2000, 3)), rng.integers(0, 50, 2000)
    with kernels.disabled():
        assert not kernels.available()
        np.testing.assert_array_equal(
            scatter_rows(g, index, 50), scatter_rows_reference(g, index, 50)
        )


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("base", [None, "zeros", "numbers"])
def test_outputs_are_divided_by_rows_or_columns_with_the_same_bits(
    kind: str, base: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(31)
    rows, width, m = 200, 100, 4000
    index = scatter_add.check_index(INDICES[kind](rng, m, rows), rows)
    g, begin = rng.normal(size=(m, width)), rng.normal(size=(rows, width))
    start = {None: None, "zeros": begin[:0], "numbers": begin}[base]
    results = []
    for count in (1, 2, 3, 7):
        monkeypatch.setattr("npgrad.kernels._threads._count", count)
        out = begin.copy()
        scatter_add.sum_rows(g, index, out, start)
        results.append(out)
    want = np.zeros_like(begin) if base == "zeros" else begin.copy()
    np.add.at(want, index, g)
    np.testing.assert_allclose(results[0], want, rtol=1e-10, atol=1e-12)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_uneven_outputs_are_not_divided_by_rows() -> None:
    even = np.full(100, 10)
    bounds = scatter_add._bounds(even, 4)
    assert bounds is not None
    np.testing.assert_allclose(bounds, [0, 25, 50, 75, 100], atol=1)
    uneven = even.copy()
    uneven[7] = 1000
    assert scatter_add._bounds(uneven, 4) is None
    assert scatter_add._bounds(even, 1) is None


def test_outputs_of_many_rows_are_summed_apart() -> None:
    rng = np.random.default_rng(33)
    index = scatter_add.check_index(rng.choice([3, 3, 3, 8, 9, -1], 4000), 20)
    g = rng.normal(size=(4000, 64))
    count = np.bincount(index.astype(int), minlength=20)
    often, sums, rest = scatter_add._frequent(g, index, count)
    assert often.tolist() == [3]
    np.testing.assert_allclose(sums[0], g[index == 3].sum(0), rtol=1e-11)
    assert count[3] == 0
    np.testing.assert_array_equal(rest, np.where(index == 3, 20, index))


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("width", [1, 3, 64])
@pytest.mark.parametrize("base", [None, "zeros", "numbers"])
def test_exact_sums_have_numpys_bits(kind: str, width: int, base: str | None) -> None:
    rng = np.random.default_rng(34)
    index = scatter_add.check_index(INDICES[kind](rng, 6000, 90), 90)
    g, begin = rng.normal(size=(6000, width)).astype("f4"), rng.normal(size=(90, width))
    begin = begin.astype("f4")
    start = {None: None, "zeros": begin[:0], "numbers": begin}[base]
    out, want = begin.copy(), np.zeros_like(begin) if base == "zeros" else begin.copy()
    scatter_add.sum_rows(g, index, out, start, exact=True)
    np.add.at(want, index, g)
    np.testing.assert_array_equal(out, want)
