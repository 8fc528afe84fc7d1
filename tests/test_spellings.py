"""NumPy's spellings of picking and adding: large ones by the kernels, with the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import kernels
from npgrad.kernels import scatter_add, take_along

N, M = 60, 50
RNG = np.random.default_rng(21)
MANY = RNG.integers(-N, N, 3000)
SQUARE = RNG.integers(-N, N, (40, 70))
LINES = RNG.integers(-M, M, (N, 90))
COLUMNS = RNG.integers(-N, N, (90, M))
PLACES, OTHERS = RNG.integers(-N, N, (2, 5000))

# linear functions of an array (N, M)
READS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x[MANY],
    "rows twice": lambda x: x[SQUARE],
    "rows of a part": lambda x: x[MANY, 3:20:2],
    "columns": lambda x: x[:, MANY % M],
    "columns of a part": lambda x: x[5:-2:3, MANY % M],
    "columns backwards": lambda x: x[::-1, (MANY % M)[:900]],
    "last, by an ellipsis": lambda x: x[..., SQUARE % M],
    "middle": lambda x: np.reshape(x, (4, 15, M))[:, SQUARE % 15, 1:],
    "take": lambda x: np.take(x, MANY, axis=0),
    "take last": lambda x: np.take(x, SQUARE % M, axis=-1),
    "take flat": lambda x: np.take(x, PLACES),
    "take wrapped": lambda x: np.take(x, MANY * 7, axis=1, mode="wrap"),
    "along last": lambda x: np.take_along_axis(x, LINES, 1),
    "along first": lambda x: np.take_along_axis(x, COLUMNS, 0),
    "along, one line": lambda x: np.take_along_axis(x, LINES[:1], 1),
    "places": lambda x: x[PLACES, OTHERS % M],
    "outer": lambda x: x[np.ix_(MANY[:90], MANY[:80] % M)],
    "places in rows of a part": lambda x: x[1:, :, None][MANY[:200] % (N - 1), OTHERS[:200] % M],
}


def add_at(index: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = 2.0 * x
        values = np.broadcast_to(3.0 * x[0, 0] + x[1, 1], np.shape(npgrad.value(y)[index]))
        np.add.at(y, index, values)
        return y

    return f


def put_along(x: Any) -> Any:
    y = 2.0 * x
    np.put_along_axis(y, LINES % 9, np.take_along_axis(x, LINES, 1), 1)  # the last one stays
    return y


def assigned(x: Any) -> Any:
    y = 2.0 * x
    y[MANY] = x[:1] * np.arange(3000.0)[:, None].astype(x.dtype)
    return y


WRITES: dict[str, Callable[[Any], Any]] = {
    "add.at rows": add_at(MANY),
    "add.at columns": add_at((slice(None), MANY % M)),
    "add.at places": add_at((PLACES, OTHERS % M)),
    "put_along_axis": put_along,
    "assigned": assigned,
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_gradient_is_the_transpose(name: str, dtype: str) -> None:
    f = {**READS, **WRITES}[name]
    rng = np.random.default_rng(4)
    x, t = rng.normal(size=(2, N, M)).astype(dtype)
    limit = 1e-3 if dtype == "f4" else 1e-10
    for off in (False, True):
        with kernels.disabled() if off else np.errstate():
            out, pull = npgrad.vjp(f, x)
            g = rng.normal(size=np.shape(out)).astype(dtype)
            moved = f(t)  # f is linear
            (back,) = pull(g)
            assert back.dtype == x.dtype and back.shape == x.shape
            size = np.sum(np.abs(g * moved))
            assert abs(np.vdot(back, t) - np.vdot(g, moved)).real < limit * size
            np.testing.assert_allclose(npgrad.jvp(f, (x,), (t,))[1], moved, rtol=limit)


@pytest.mark.parametrize("name", READS)
def test_the_kernels_add(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    for module, function in (
        (scatter_add, "sum_rows"),
        (take_along, "sum_rows"),
        (take_along, "_slabs"),
        (take_along, "_along_last"),
        (take_along, "_by_one_index"),
        (take_along, "_along"),
        (take_along, "_check_along_last"),
    ):
        kernel = getattr(module, function)
        monkeypatch.setattr(module, function, lambda *args, k=kernel: used.append(1) or k(*args))
    out, pull = npgrad.vjp(READS[name], np.ones((N, M)))
    used.clear()
    pull(np.ones_like(out))
    assert used or out.size < 4096


@pytest.mark.parametrize("count", [10, 2000])
@pytest.mark.parametrize("extent", [7, 100_000])
def test_of_repeated_places_the_last_is_written(count: int, extent: int) -> None:
    rng = np.random.default_rng(count)
    index = rng.integers(-extent, extent, count)
    values = rng.normal(size=count)
    x = np.zeros(extent)

    def f(v: Any) -> Any:
        y = np.zeros(extent, like=v)
        y[index] = v
        return y

    out, pull = npgrad.vjp(f, values)
    x[index] = values
    np.testing.assert_array_equal(out, x)
    weights = rng.normal(size=extent)
    last = {int(i) % extent: k for k, i in enumerate(index)}
    want = np.zeros(count)
    for place, k in last.items():
        want[k] = weights[place]
    np.testing.assert_array_equal(pull(weights)[0], want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["line", "rows", "columns", "part", "places", "wider value"])
def test_add_at_has_numpys_bits(name: str, dtype: str) -> None:
    index: Any = np.sort(RNG.integers(0, 9, 9000))  # long runs, and many for each output
    index[2000:7000] = 3
    shape: tuple[int, ...] = (9,) if name == "line" else (9, 70)
    if name == "columns":
        shape, index = (70, 9), (slice(None), index)
    elif name == "part":
        index = index, slice(2, 60, 3)
    elif name == "places":
        index = index, index[::-1]
    start = RNG.normal(size=shape).astype(dtype)
    value = RNG.normal(size=start[index].shape).astype("f8" if name == "wider value" else dtype)
    want = start.copy()
    np.add.at(want, index, value)
    y = npgrad.array(start) * 1
    np.add.at(y, index, value)
    np.testing.assert_array_equal(npgrad.value(y), want)


@pytest.mark.parametrize("kind", ["f4", "f8", "c16", "f2", ">f8"])
@pytest.mark.parametrize("shape", [(300,), (300, 130), (300, 5, 26), (300, 0)])
def test_many_rows_are_read_as_numpy_reads_them(kind: str, shape: tuple[int, ...]) -> None:
    x = RNG.normal(size=shape).astype(kind)
    for index in (
        RNG.integers(-300, 300, 300_000 // max(1, x[0].size)),
        RNG.integers(0, 300, (7, 41, 1050)).astype("u2")[:, :, :: 1 + x[0].size // 2],
        RNG.integers(0, 300, (1050, 270), np.int32).T[:: 1 + x[0].size // 2],
    ):
        y = npgrad.value(npgrad.array(x)[index])
        want = x[index]
        assert y.dtype == want.dtype and y.flags.c_contiguous
        np.testing.assert_array_equal(y, want)
    index[-1, -1] = 300
    with pytest.raises(IndexError, match="300"):
        npgrad.array(x)[index]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_table_read_twice(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reading makes the cotangent, the second adds to it; half of it is one row."""
    monkeypatch.setattr("npgrad.kernels._threads._count", threads)
    rng = np.random.default_rng(8)
    index = np.where(rng.random(5000) < 0.5, 7, rng.integers(-40, 40, 5000))
    table, g = rng.normal(size=(40, 64)).astype("f4"), rng.normal(size=(2, 5000, 64)).astype("f4")

    def f(x: Any) -> Any:
        return np.stack([x[index], 3 * x[index[::-1]]])

    pull = npgrad.vjp(f, table)[1]
    (found,) = pull(g)
    want = np.zeros((40, 64))
    np.add.at(want, index, g[0].astype("f8"))
    np.add.at(want, index[::-1], 3 * g[1].astype("f8"))
    np.testing.assert_allclose(found, want, rtol=0, atol=2e-4)
    monkeypatch.setattr("npgrad.kernels._threads._count", 3)
    np.testing.assert_array_equal(npgrad.vjp(f, table)[1](g)[0], found)


HALF: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x[np.zeros(5000, int)],
    "columns": lambda x: x[:, np.zeros(5000, int)],
    "places": lambda x: x[np.zeros(5000, int), np.zeros(5000, int)],
    "take": lambda x: np.take(x, np.zeros(5000, int), axis=1),
    "along": lambda x: np.take_along_axis(x, np.zeros((5000, 2), int), 0),
    "index_select": lambda x: npgrad.nn.index_select(x, 0, np.zeros(5000, int)),
    "gather": lambda x: npgrad.nn.gather(x, 1, np.zeros((3, 5000), int)),
    "broadcast": lambda x: np.broadcast_to(x, (5000, 3, 2)),
    "add": lambda x: x + np.zeros((5000, 3, 2), "f2"),
    "divide": lambda x: np.ones((5000, 3, 2), "f2") / x,
    "bias of rows": lambda x: x[0] + np.zeros((5000, 2), "f2"),
}


@pytest.mark.parametrize("off", [False, True])
@pytest.mark.parametrize("name", HALF)
def test_sums_of_half_precision_do_not_stop_at_2048(name: str, off: bool) -> None:
    x = np.ones((3, 2), "f2")
    with kernels.disabled() if off else np.errstate():
        out, pull = npgrad.vjp(HALF[name], x)
        g = pull(np.ones_like(out))[0]
    assert g.dtype == np.float16
    assert abs(g[0, 0]) == 5000


def assign(x: Any) -> Any:
    y = np.zeros((5000, 2), "f2", like=x)
    y[:] = x
    return y


def test_half_precision_written_to_many_places() -> None:
    out, pull = npgrad.vjp(assign, np.ones(2, "f2"))
    np.testing.assert_array_equal(pull(np.ones_like(out))[0], [5000, 5000])


def test_values_of_half_precision_are_numpys_where_it_computes_them() -> None:
    rows, zeros = np.ones((5000, 2), "f2"), np.zeros(5000, int)
    recorded, plain = npgrad.array(np.zeros((3, 2), "f2")), np.zeros((3, 2), "f2")
    np.add.at(recorded, zeros, npgrad.array(rows))
    np.add.at(plain, zeros, rows)
    np.testing.assert_array_equal(npgrad.value(recorded), plain)
    whole = npgrad.nn.index_add(np.zeros((3, 2), "f2"), 0, zeros, rows)
    assert whole.dtype == np.float16
    assert whole[0, 0] == 5000
