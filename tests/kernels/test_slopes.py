"""One-pass cotangents of maximum, clip and divide: equal to NumPy's, and used where they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.implementations import LARGE
from npgrad.kernels import slopes

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def arrays(dtype: Any) -> tuple[Any, ...]:
    """Cotangent and two operands: every pair of special values, then random ones with ties."""
    rng = np.random.default_rng(3)
    first, second = np.meshgrid(SPECIAL, SPECIAL)
    x1 = np.concatenate((first.ravel(), rng.integers(-3, 4, 1000)))
    x2 = np.concatenate((second.ravel(), rng.integers(-3, 4, 1000)))
    return tuple(a.astype(dtype) for a in (rng.normal(size=x1.size), x1, x2))


def into_pair(kernel: Any, *arrays: Any) -> Any:
    """What `kernel` writes to a pair of arrays; it leaves the others as they were."""
    before = [a.copy() for a in arrays]
    pair = tuple(np.empty_like(arrays[0]) for _ in range(2))
    assert kernel(*arrays, *pair) is True
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)
    return pair


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_equal_their_references(dtype: Any) -> None:
    g, x1, x2 = arrays(dtype)
    plain = g[-1000:], abs(x1[-1000:]) + 1, x2[-1000:]  # a power is refused at special values
    with np.errstate(all="ignore"):
        for made, wanted in (
            (slopes.larger(g, x1, x2), slopes.larger_reference(g, x1, x2)),
            (slopes.inside(g, x1, 0.1, 2), slopes.inside_reference(g, x1, dtype(0.1), 2)),
            (slopes.divisor(g, x1, x2), slopes.divisor_reference(g, x1, x2)),
            *zip(
                into_pair(slopes.divided, g, x1, x2),
                (slopes.larger_reference(g, x1, x2), slopes.larger_reference(g, x2, x1)),
                strict=True,
            ),
            *zip(
                into_pair(slopes.quotient, g, x1, x2),
                (g / x2, slopes.divisor_reference(g, x1, x2)),
                strict=True,
            ),
            *zip(
                into_pair(slopes.powers, *plain, plain[1] ** plain[2]),
                slopes.powers_reference(*plain, plain[1] ** plain[2]),
                strict=True,
            ),
        ):
            assert made.dtype == dtype
            np.testing.assert_allclose(made, wanted, rtol=1e-6 if dtype is np.float32 else 1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [np.maximum, np.minimum, np.divide, np.power, lambda a, b: np.clip(a, 1.0, 2) * b],
    ids=["maximum", "minimum", "divide", "power", "clip"],
)
def test_large_arrays_have_the_gradient_of_small_ones(f: Any, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x1, x2 = (rng.integers(1, 4, (LARGE // 512, 512)).astype(dtype) for _ in range(2))
    weights = rng.normal(size=x1.shape).astype(dtype)
    gradient = npgrad.grad(lambda a, b: np.sum(f(a, b) * weights), argnums=(0, 1))
    made = gradient(x1, x2)
    with npgrad.kernels.disabled():
        plain = gradient(x1, x2)
    for one, other in zip(made, plain, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=2e-6 if dtype is np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_no_plain_power_is_refused_by_the_kernel(dtype: Any) -> None:
    ones = np.ones(1000, dtype)
    for base, power in ((0, 1), (-1, 1), (np.nan, 1), (1, 0), (1, np.inf), (1, np.nan), (1, -1)):
        x1, y, pair = ones.copy(), ones.copy(), (ones.copy(), ones.copy())
        x1[500], y[500] = base, power
        assert slopes.powers(ones, x1, ones, y, *pair) is False
    assert slopes.powers(ones, ones, ones, ones, *pair) is True


def test_powers_of_zero_take_the_careful_way() -> None:
    x, n = np.full(LARGE, 2.0), np.full(LARGE, 3.0)
    x[0], n[0], x[1], n[1], x[2] = 0.0, 0.0, 0.0, 1.0, -2.0
    by_base, _ = npgrad.grad(lambda a, b: np.sum(a**b * np.ones(LARGE)), argnums=(0, 1))(x, n)
    np.testing.assert_allclose(by_base[:4], [0.0, 1.0, 12.0, 12.0])


def test_kernels_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel wrong by one per cent shows in the gradient."""
    right = slopes.larger
    monkeypatch.setattr(slopes, "larger", lambda g, a, b: 1.01 * right(g, a, b))
    x = np.arange(float(LARGE))
    low, weights = -np.ones(LARGE), np.full(LARGE, 2.0)
    gradient = npgrad.grad(lambda a: np.sum(np.maximum(a, low) * weights))(x)
    np.testing.assert_allclose(gradient, 2.02)


def test_sine_and_cosine_times_the_cotangent() -> None:
    """Within 2 units in the last place, next to the zeros too; no answer beyond the range."""
    rng = np.random.default_rng(5)
    quarter = np.arange(-2000, 2000) * (np.pi / 2)
    for x in (rng.normal(size=5000), rng.uniform(-1e6, 1e6, 5000), quarter, quarter * 300):
        g = rng.normal(size=x.size)
        wide = x.astype(np.longdouble)
        for made, exact in (
            (slopes.times_cos(g, x), g * np.cos(wide)),
            (slopes.times_minus_sin(g, x), -g * np.sin(wide)),
        ):
            error = np.abs(made - exact)
            assert np.all(error <= 3 * np.spacing(np.abs(exact.astype(np.float64))))
    one = np.ones(4)
    for far in (np.inf, -np.inf, 1.1e6):
        assert slopes.times_cos(one, np.array([0, 1, far, 2])) is None
        assert slopes.times_minus_sin(one, np.array([0, 1, far, 2])) is None
    assert np.isnan(slopes.times_cos(one, np.array([0, 1, np.nan, 2]))[2])
    np.testing.assert_array_equal(slopes.times_cos(one, np.zeros(4)), one)


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_large_sines_have_the_gradient_of_small_ones(
    far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    right = slopes.times_cos
    monkeypatch.setattr(slopes, "times_cos", lambda g, x: calls.append(g.size) or right(g, x))
    rng = np.random.default_rng(6)
    x = rng.normal(size=(LARGE // 256, 512))
    x[5, 5] = far
    for f, slope in (
        (lambda x: np.sum(np.sin(x) * np.ones(x.shape)), np.cos(x)),
        (lambda x: np.sum(np.cos(x) * np.ones(x.shape)), -np.sin(x)),
        (  # a run of four, by blocks
            lambda x: np.sum(np.exp(np.sin(x) * 0.5) / (x + 10.0)),
            np.exp(0.5 * np.sin(x)) * (0.5 * np.cos(x) / (x + 10) - 1 / (x + 10) ** 2),
        ),
    ):
        bound = 1e-14 * np.max(np.abs(slope))
        np.testing.assert_allclose(npgrad.grad(f)(x), slope, rtol=1e-13, atol=bound)
    assert calls
