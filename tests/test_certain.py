"""What a finite result says of the sweep: no gradient is looked at, and none is wrong for it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import table
from npgrad.graph import backend
from npgrad.table import rule_parameters

SHAPE = (600, 600)
SPECIAL = [0.0, -0.0, 1.0, -2.5, 1e-320, 1e200, -1e200, np.inf, -np.inf, np.nan]
DECLARED = [rule for rule in table.all_rules() if rule.kind == "elementwise" and rule.fun.nin < 4]


def values(ufunc: Any) -> tuple[Any, ...]:
    """Every combination of special numbers."""
    rows = np.array(list(itertools.product(SPECIAL, repeat=ufunc.nin))).T
    return tuple(rows)


@pytest.mark.parametrize("rule", [r for r in DECLARED if r.shows], ids=lambda r: r.name)
def test_a_finite_output_shows_finite_inputs(rule: Any) -> None:
    xs = values(rule.fun)
    with np.errstate(all="ignore"):
        y = rule.fun(*xs)
    for name, x in zip(rule.signature.parameters, xs, strict=True):
        if name not in rule.shows:
            continue
        assert np.isfinite(x[np.isfinite(y)]).all()


@pytest.mark.parametrize("rule", [r for r in DECLARED if r.tame], ids=lambda r: r.name)
def test_a_zero_cotangent_stays_zero_where_the_output_is_finite(rule: Any) -> None:
    xs = values(rule.fun)
    with np.errstate(all="ignore"):
        y = rule.fun(*xs)
        kept = {**dict(zip(rule.signature.parameters, xs, strict=True)), "y": y}
        kept.update(shape=y.shape, dtype=y.dtype)
        good = np.isfinite(y)
        assert good.any()
        for vjp in rule.vjps.values():
            made = vjp(np.zeros(y.shape), *[kept[name] for name in rule_parameters(vjp)])
            np.testing.assert_array_equal(made[good], 0)


def test_some_are_declared_and_those_with_infinite_slopes_are_not() -> None:
    tame = {rule.name for rule in DECLARED if rule.tame}
    assert {"np.add", "np.multiply", "np.divide", "np.exp", "np.log", "np.maximum"} <= tame
    assert not tame & {"np.sqrt", "np.cbrt", "np.arcsin", "np.power", "np.reciprocal"}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the large arrays that were looked at."""
    sizes: list[int] = []
    finite = backend.finite

    def noted(value: Any) -> bool:
        sizes.append(value.size)
        return finite(value)

    monkeypatch.setattr(backend, "finite", noted)
    return sizes


W = np.linspace(-1, 1, SHAPE[0] * SHAPE[1]).reshape(SHAPE)


@pytest.mark.parametrize(
    ("f", "spared"),
    [
        (lambda x: np.sum(np.exp(x) * W), True),
        (lambda x: np.mean(np.abs(x * x + W + 3.0) * np.sin(2.0 - x) / 3.0), True),
        (lambda x: np.sum(np.sqrt(x)), False),
        (lambda x: np.sum(np.where(W > 0, x * x, 0)), False),
        (lambda x: np.sum(1.0 / (x * x)), False),  # an infinite divisor does not show
        (lambda x: np.sum(x * W, where=W > 0), False),
        (lambda x: np.sum(np.exp(-np.exp(x) * x)), False),  # exp(-inf) is 0, and finite
    ],
)
def test_what_is_looked_at(f: Any, spared: bool, looks: list[int]) -> None:
    x = np.full(SHAPE, 0.5) + W * 0.25
    gradient = npgrad.grad(f)(x)
    assert bool(looks) is not spared
    step = 1e-4 * np.cos(np.arange(x.size)).reshape(SHAPE)
    slope = (f(x + step) - f(x - step)) / 2
    scale = np.sum(np.abs(gradient * step))
    assert np.sum(gradient * step) == pytest.approx(slope, rel=1e-5, abs=1e-7 * scale)


def test_a_result_that_is_not_finite_says_nothing(looks: list[int]) -> None:
    x, other = np.ones(SHAPE), np.ones(SHAPE)
    x[0], other[0] = 0.0, np.inf
    with np.errstate(invalid="ignore"):
        check_masked_and_not(x, other)
    assert looks


def check_masked_and_not(x: Any, other: Any) -> None:
    for g in npgrad.grad(lambda a, b: np.sum(np.where(b < 9, a * b, 0)), argnums=(0, 1))(x, other):
        np.testing.assert_array_equal(g[0], 0)
    gradient = npgrad.grad(lambda a: np.sum(a * other))(x)
    np.testing.assert_array_equal(gradient[0], np.inf)


def test_an_infinity_hidden_by_an_exponential_is_found() -> None:
    """exp(-inf) = 0 ends in a finite number; its zero meets the infinity in the product."""
    x, other = np.ones(SHAPE), np.ones(SHAPE)
    other[3] = np.inf
    gradient = npgrad.grad(lambda a: np.sum(np.exp(-(a * other))))(x)
    np.testing.assert_array_equal(gradient[3], 0)
    np.testing.assert_allclose(gradient[4], -np.exp(-1))


def test_backward_of_a_leaf_is_spared_too(looks: list[int]) -> None:
    leaf = npgrad.array(np.ones(SHAPE))
    np.testing.assert_array_equal(np.sum(leaf * W).backward()[leaf], W)
    assert not looks


def test_several_results_say_nothing_of_each_other(looks: list[int]) -> None:
    other = np.ones(SHAPE)
    other[2] = np.inf
    _, pull = npgrad.vjp(lambda a: (np.sum(a), np.sum(np.exp(-(a * other)))), np.ones(SHAPE))
    (gradient,) = pull((1.0, 1.0))
    np.testing.assert_array_equal(gradient[2], 1)
    np.testing.assert_allclose(gradient[3], 1 - np.exp(-1))
