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
