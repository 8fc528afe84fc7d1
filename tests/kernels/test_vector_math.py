"""Every function of vector_math within 2 ulp of the true value, over its whole range."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")
numba = pytest.importorskip("numba")

from npgrad.kernels import vector_math, vector_normal  # noqa: E402

NAMES = ["cos", "erf", "exp", "exp_negative", "expm1", "log", "log1p", "sigmoid", "sin", "tanh"]
TRUE: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(mpmath, name) for name in NAMES if hasattr(mpmath, name)},
    "exp_negative": mpmath.exp,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}
DOMAIN = {"log": 0.0, "log1p": -1.0}


@cache
def loop(name: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """A compiled loop over the scalar function, as a kernel would have it."""
    function = getattr(
        vector_normal if name in vector_normal.__all__ else vector_math, name
    ).compiled()

    def run(x, y):
        for i in range(x.size):
            y[i] = function(x[i])

    return numba.njit(run)


def apply(name: str, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    loop(name)(x, y)
    return y


def points(dtype: str, n: int) -> np.ndarray:
    """Arguments: random bit patterns (every exponent), the ranges that matter, the edges."""
    rng = np.random.default_rng(7)
    word = "u4" if dtype == "f4" else "u8"
    bits = rng.integers(0, np.iinfo(word).max, n, word, endpoint=True).view(dtype)
    edge = 110.0 if dtype == "f4" else 750.0
    tiny = np.finfo(dtype).tiny
    special = [0.0, tiny, tiny / 4, np.finfo(dtype).smallest_subnormal, 1.0, 0.5, 2.0, np.pi / 2]
    special += [88.7228, 88.723, 103.97, 104.1, 709.78, 709.79, 745.13, 745.2, 1e5, 1e22]
    # the double nearest to a multiple of pi / 2: 2**-61 away from it
    special += [6381956970095103 * 2.0**797] if dtype == "f8" else [16367173 * 2.0**72]
    parts = [
        bits,
        rng.uniform(-1, 1, n),
        rng.uniform(-20, 20, n),
        rng.uniform(-edge, edge, n),
        rng.normal(size=n) * 1e-4,
        1 + rng.normal(size=n) * 1e-3,
        np.exp(rng.uniform(-30, 30, n)),
        np.array([*special, *(-np.array(special))]),
    ]
    x = np.concatenate([p.astype(dtype) for p in parts])
    return x[np.isfinite(x)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_within_two_ulp(name: str, dtype: str) -> None:
    x = points(dtype, 300)
    x = x[x > DOMAIN.get(name, -np.inf)]
    x = -abs(x) if name == "exp_negative" else x
    y = apply(name, x)
    worst, at = 0.0, 0.0
    with mpmath.workprec(1200), np.errstate(over="ignore"):
        for argument, got in zip(x.tolist(), y, strict=True):
            true = TRUE[name](mpmath.mpf(argument))
            rounded = np.dtype(dtype).type(float(true))
            if not np.isfinite(rounded):
                assert got == rounded, argument
                continue
            error = float(abs(mpmath.mpf(float(got)) - true) / float(np.spacing(abs(rounded))))
            if error > worst:
                worst, at = error, argument
    assert worst <= 2.0, f"{worst:.2f} ulp at {at!r}"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("name", "x", "want"),
    [
        ("exp", [np.inf, -np.inf, np.nan], [np.inf, 0.0, np.nan]),
        ("exp_negative", [-np.inf, np.nan, -0.0, 0.0], [0.0, np.nan, 1.0, 1.0]),
        ("expm1", [np.inf, -np.inf, np.nan, -0.0], [np.inf, -1.0, np.nan, -0.0]),
        (
            "log",
            [np.inf, -np.inf, np.nan, 0.0, -0.0, -1.0],
            [np.inf, *[np.nan] * 2, -np.inf, -np.inf, np.nan],
        ),
        (
            "log1p",
            [np.inf, -np.inf, np.nan, -1.0, -0.0, -2.0],
            [np.inf, *[np.nan] * 2, -np.inf, -0.0, np.nan],
        ),
        ("tanh", [np.inf, -np.inf, np.nan, -0.0], [1.0, -1.0, np.nan, -0.0]),
        ("sigmoid", [np.inf, -np.inf, np.nan, 0.0], [1.0, 0.0, np.nan, 0.5]),
        ("erf", [np.inf, -np.inf, np.nan, -0.0], [1.0, -1.0, np.nan, -0.0]),
        ("sin", [np.inf, -np.inf, np.nan, -0.0], [np.nan, np.nan, np.nan, -0.0]),
        ("cos", [np.inf, -np.inf, np.nan, 0.0], [np.nan, np.nan, np.nan, 1.0]),
    ],
)
def test_special_values(name: str, x: list[float], want: list[float], dtype: str) -> None:
    got = apply(name, np.array(x, dtype))
    np.testing.assert_array_equal(got, np.array(want, dtype))
    numbers = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_becomes_vector_code(name: str) -> None:
    import platform

    if platform.machine() != "x86_64":
        pytest.skip("looks at x86 assembler")
    apply(name, np.ones(1, "f4"))
    assembler = next(iter(loop(name).inspect_asm().values()))
    packed = ("vmulps", "mulps", "vfmadd213ps", "vmulpd", "mulpd")
    assert any(word in assembler for word in packed)


def test_gelu_relative_to_the_true_value_in_both_tails() -> None:
    x = np.linspace(-8, 8, 4001).astype("f4")
    value, slope = apply("gelu_erf", x), apply("gelu_erf_slope", x)
    with mpmath.workprec(200):
        for argument, got, rate in zip(x.tolist(), value.tolist(), slope.tolist(), strict=True):
            v = mpmath.mpf(argument)
            phi = mpmath.ncdf(v)
            limit = 4e-7 if argument > -4 else 2e-6
            assert abs(got - v * phi) <= limit * abs(v * phi), argument
            true = phi + v * mpmath.npdf(v)  # a difference of equal sizes below -4
            assert abs(rate - true) <= 4e-7 * (phi + abs(v) * mpmath.npdf(v)) * 5, argument


def test_they_are_not_called_from_python() -> None:
    with pytest.raises(TypeError, match="for kernels"):
        vector_math.exp(1.0)
