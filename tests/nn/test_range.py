"""Numbers near the ends of their dtype's range: huge and tiny rows, tails, subnormals, NaN."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import kernels, nn

NORMS: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: nn.layer_norm(x, eps=0.0),
    "layer_norm of an axis": lambda x: nn.layer_norm(x, eps=0.0, axis=1),
    "rms_norm": lambda x: nn.rms_norm(x, eps=0.0),
    "group_norm": lambda x: nn.group_norm(x, 2, eps=0.0),
    "batch_norm": lambda x: nn.batch_norm(x, eps=0.0),
}
SHAPES = [(4, 6, 5), (60, 6, 15), (40, 6, 30)]  # the reference; few positions, and many


@contextlib.contextmanager
def maybe(off: bool) -> Any:
    with kernels.disabled() if off else contextlib.nullcontext():
        yield


@pytest.mark.parametrize("off", [False, True], ids=["kernels", "reference"])
@pytest.mark.parametrize(
    ("dtype", "unit"),
    [("f4", 2.0**90), ("f4", 2.0**124), ("f4", 2.0**-90), ("f8", 2.0**700), ("f8", 2.0**-700)],
)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NORMS)
def test_a_norm_does_not_see_the_unit_of_its_input(
    name: str, shape: tuple[int, ...], dtype: str, unit: float, off: bool
) -> None:
    """Without an eps the value is that of the same numbers in a unit whose squares are finite."""
    rng, norm = np.random.default_rng(20), NORMS[name]
    x, g, t = rng.normal(size=(3, *shape)).astype(dtype)
    scale = x.dtype.type(unit)
    wanted, pull = npgrad.vjp(norm, x.astype("f8"))
    (gx,), ty = pull(g.astype("f8")), npgrad.jvp(norm, (x,), (t,))[1]
    tolerance = 3e-6 if dtype == "f4" else 1e-13
    with maybe(off):
        y, pulled = npgrad.vjp(norm, x * scale)
        np.testing.assert_allclose(y, wanted, atol=tolerance)
        moved = npgrad.jvp(norm, (x * scale,), (t * scale,))[1]
        np.testing.assert_allclose(moved, ty, atol=3 * tolerance)
        # of float32 beyond 2**124 the gradient is subnormal and has few digits
        digits = 1e-4 if unit == 2.0**124 else tolerance
        found = pulled(g)[0].astype("f8") * unit
        np.testing.assert_allclose(found, gx, atol=3 * digits * np.abs(gx).max())


@pytest.mark.parametrize("name", NORMS)
def test_second_derivatives_of_huge_numbers(name: str) -> None:
    """The Hessian of f(x / u) is that of f over u**2."""
    rng, norm, unit = np.random.default_rng(21), NORMS[name], 2.0**300
    x, v, w = rng.normal(size=(3, 3, 4, 2))
    f = lambda x: np.sum(w * norm(x) ** 2 + norm(x) * w**2)
    found = npgrad.hvp(f, x * unit, v * unit)
    assert np.abs(found).max() > 0
    wanted = npgrad.hvp(f, x, v)
    np.testing.assert_allclose(found * unit, wanted, atol=1e-12 * np.abs(wanted).max())


def test_an_eps_counts_in_the_unit_of_the_input() -> None:
    """Rows of very different sizes side by side, with an eps that only some of them notice."""
    rng = np.random.default_rng(22)
    rows = rng.normal(size=(5, 64)) * np.array([[1e-30], [1e-3], [1.0], [1e18], [1e30]])
    for repeat in (1, 40):
        x = np.tile(rows, (repeat, 1))
        wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        found = nn.layer_norm(x.astype("f4"), eps=1e-5)
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-6)
        assert (np.abs(found[0]) > 0).all()


# x, x Phi(x), its derivative: x erfc(-x / sqrt(2)) / 2 and erfc(..) / 2 + x phi(x), by mpmath 1.3
TAIL = [
    (-37.0, -2.1184613523340935e-298, -7.838298669418516e-297),
    (-20.0, -5.507248237212468e-88, -1.1014360483133464e-86),
    (-8.0, -4.976768459417427e-15, -3.979607261086796e-14),
    (-6.0, -5.9195258702261885e-09, -3.5468709453902015e-08),
    (-3.0, -0.0040496940948902835, -0.011945647204183927),
]


@pytest.mark.parametrize("repeat", [1, 2000], ids=["reference", "kernel"])
def test_the_lower_tail_of_gelu_erf(repeat: int) -> None:
    x, value, slope = (np.array(part) for part in zip(*TAIL, strict=True))
    x = np.tile(x, repeat)
    loss = lambda x: np.sum(nn.gelu_erf(x))
    np.testing.assert_allclose(nn.gelu_erf(x)[:5], value, rtol=4e-15)
    np.testing.assert_allclose(npgrad.grad(loss)(x)[:5], slope, rtol=3e-13)
    # recorded, the derivative is another formula; its own is (2 - x**2) phi(x)
    curve = (2 - x**2) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    found = npgrad.jvp(npgrad.grad(loss), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(found[0][:5], slope, rtol=3e-13)
    np.testing.assert_allclose(found[1], curve, rtol=1e-12)
    single = nn.gelu_erf(x.astype("f4"))[1:5]
    np.testing.assert_allclose(single[1:], value[2:], rtol=4e-6)
    assert single[0] == 0  # below the smallest float32


@pytest.mark.parametrize("repeat", [1, 2000], ids=["reference", "kernel"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("f", [nn.silu, nn.gelu, nn.gelu_erf, nn.softplus, nn.sigmoid, nn.erf])
def test_slopes_of_huge_numbers_are_the_limits(f: Any, dtype: str, repeat: int) -> None:
    """1 and 0 in both directions, second derivatives 0, in both modes; NaN stays NaN."""
    huge = (
        [np.finfo(dtype).max, np.inf] + [1e15, 1e20] * (dtype != "f2") + [1e160] * (dtype == "f8")
    )
    up = np.tile(np.array(huge, dtype), repeat)
    slope = 0 if f in (nn.sigmoid, nn.erf) else 1
    first = npgrad.elementwise_grad(f)
    with np.errstate(all="ignore"):
        for x, wanted in ((up, slope), (-up, 0)):
            ones = np.ones_like(x)
            np.testing.assert_array_equal(first(x), np.full_like(x, wanted))
            np.testing.assert_array_equal(npgrad.jvp(f, (x,), (ones,))[1], np.full_like(x, wanted))
            np.testing.assert_array_equal(npgrad.elementwise_grad(first)(x), np.zeros_like(x))
            np.testing.assert_array_equal(npgrad.jvp(first, (x,), (ones,))[1], np.zeros_like(x))
        x = np.tile(np.array([np.nan, 1.0], dtype), repeat)
        np.testing.assert_array_equal(np.isnan(first(x)), np.isnan(x))


@pytest.mark.parametrize("f", [nn.sigmoid, nn.silu, nn.swish, nn.softplus, nn.erf, nn.gelu])
@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_subnormal_slopes_are_no_sign_of_a_function_that_mixes(f: Any, dtype: str) -> None:
    x = np.array([-100.0, -95.0, -16.0, -10.0, 0.5, 10.0], dtype)
    first = npgrad.elementwise_grad(f)(x)
    np.testing.assert_allclose(first, npgrad.grad(lambda x: np.sum(f(x)))(x), rtol=1e-2)
    second = npgrad.elementwise_grad(npgrad.elementwise_grad(f))(x)
    assert second.shape == x.shape
    # not among nn's operations, which are elementwise by their declaration
    tail = npgrad.elementwise_grad(lambda x: np.exp(x)[:] * x)(np.float32([-100.0, -99.0]))
    np.testing.assert_allclose(tail, np.exp([-100.0, -99.0]) * np.array([-99.0, -98.0]), rtol=0.1)


def test_small_slopes_that_mix_are_still_seen() -> None:
    with pytest.raises(npgrad.errors.NotDifferentiable, match="not elementwise"):
        npgrad.elementwise_grad(lambda x: np.cumsum(x) * np.float32(1e-37))(np.ones(3, "f4"))


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("planes", [1, 1100], ids=["reference", "kernel"])
@pytest.mark.parametrize("size", [2, (2, 3), (9, 8)])
def test_the_nan_of_a_window_takes_its_cotangent(size: Any, planes: int) -> None:
    """As in np.max: the value is NaN because of that entry; several of them share."""
    x = np.ones((planes, 9, 9))
    x[:, 0, 0], x[:, 0, 1], x[:, 2, 4], x[:, 1, 1] = NAN, NAN, NAN, INF
    rows, columns = (size, size) if isinstance(size, int) else size

    def by_max(x: Any) -> Any:
        return np.stack(
            [
                np.stack(
                    [
                        np.max(x[:, i : i + rows, j : j + columns], axis=(1, 2))
                        for j in range(0, 9 - columns + 1, columns)
                    ],
                    -1,
                )
                for i in range(0, 9 - rows + 1, rows)
            ],
            1,
        )

    wanted, other = npgrad.vjp(by_max, x)
    y, pull = npgrad.vjp(lambda x: nn.max_pool2d(x, size), x)
    np.testing.assert_array_equal(y, wanted)
    g = np.random.default_rng(23).normal(size=y.shape)
    np.testing.assert_allclose(pull(g)[0], other(g)[0], rtol=1e-12)
    np.testing.assert_allclose(pull(g)[0].sum(), g.sum(), rtol=1e-9)
    t = np.random.default_rng(24).normal(size=x.shape)
    moved = [npgrad.jvp(f, (x,), (t,))[1] for f in (by_max, lambda x: nn.max_pool2d(x, size))]
    np.testing.assert_allclose(*moved, rtol=1e-12)


def test_the_other_name_of_silu_is_in_its_message() -> None:
    with pytest.raises(npgrad.errors.DTypeMismatch, match=r"npgrad\.nn\.swish is a function"):
        nn.swish(np.array([1j]))


ROWS = {
    "softmax": nn.softmax,
    "log_softmax": nn.log_softmax,
    "layer_norm": lambda x: nn.layer_norm(x, np.ones(x.shape[-1]), eps=1e-3),
    "rms_norm": lambda x: nn.rms_norm(x, eps=1e-3),
    "group_norm": lambda x: nn.group_norm(x, 1, eps=1e-3),
    "batch_norm": lambda x: np.swapaxes(nn.batch_norm(np.swapaxes(x, 0, 1), eps=1e-3), 0, 1),
}


@pytest.mark.parametrize("off", [False, True], ids=["kernels", "reference"])
@pytest.mark.parametrize("rows", [3, 900])
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_that_is_masked_after_it_was_nan_poisons_nothing(
    name: str, bad: float, rows: int, off: bool
) -> None:
    """The gradient of the other rows is that without it, the row's own is zero, twice over."""
    rng, f = np.random.default_rng(25), ROWS[name]
    x, w = rng.normal(size=(rows, 6)), rng.normal(size=(6, 6))
    hole = np.zeros((rows, 6))
    hole[1] = bad if name.endswith("softmax") else np.where(np.arange(6) == 2, bad, 0)
    keep = (np.arange(rows) != 1)[:, None]

    def loss(w: Any) -> Any:
        return np.sum(np.where(keep, f(x @ w + hole), 0.0) ** 2 * np.arange(6.0))

    def alone(w: Any) -> Any:
        return np.sum(f(x[keep[:, 0]] @ w) ** 2 * np.arange(6.0))

    with maybe(off):
        np.testing.assert_allclose(npgrad.grad(loss)(w), npgrad.grad(alone)(w), rtol=1e-9)
        v = rng.normal(size=w.shape)
        twice, wanted = (npgrad.hvp(g, w, v) for g in (loss, alone))
        np.testing.assert_allclose(twice, wanted, rtol=1e-7, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("size", [3, 6000])
@pytest.mark.parametrize("name", ["sigmoid", "silu", "gelu", "gelu_erf", "erf", "softplus"])
def test_activations_keep_a_cotangent_of_zero(name: str, size: int) -> None:
    x, g = np.full(size, NAN), np.zeros(size)
    x[0], g[0] = 0.3, 1.0
    f = getattr(nn, name)
    slope = npgrad.grad(f)(0.3)
    found = npgrad.vjp(f, x)[1](g)[0]
    np.testing.assert_allclose(found, np.where(g, slope, 0), rtol=1e-12)
    g[1] = 1.0
    assert np.isnan(npgrad.vjp(f, x)[1](g)[0][1])
    second = npgrad.grad(lambda x: np.sum(npgrad.vjp(f, x)[1](np.where(x < 1, 1.0, 0.0))[0]))(x)
    np.testing.assert_allclose(second[0], npgrad.grad(npgrad.grad(f))(0.3), rtol=1e-9)
    np.testing.assert_array_equal(second[1:], 0)
