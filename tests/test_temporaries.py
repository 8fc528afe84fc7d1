"""Operators write over operands that are nobody's, and over no others."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.graph import temporaries

N = 40_000
X = np.linspace(0.5, 1.5, N)
W = np.linspace(2.0, 1.0, N)

known = pytest.mark.skipif(
    temporaries._ALONE is None, reason="this Python's reference counts do not tell"
)


@pytest.fixture
def overwritten(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The addresses of the operands that were written over."""
    # The functions of the operators hold `holds` by name: it is asked last, of those written over.
    found: list[int] = []
    for name in dir(npgrad.GradArray):
        space = getattr(getattr(npgrad.GradArray, name), "__globals__", {})
        if space.get("holds") is temporaries.holds:
            monkeypatch.setitem(
                space,
                "holds",
                lambda array, other: (
                    temporaries.holds(array, other) and not found.append(array.ctypes.data)
                ),
            )
    return found


def warmed() -> None:
    """The text of an operator is made at its first call."""
    x = npgrad.array(np.ones(2))
    (x + x, x - x, x * x, x / x, 1.0 + x, 1.0 - x, 2.0 * x, 1.0 / x, -x)


warmed()


@known
@pytest.mark.parametrize(
    ("f", "count"),
    [
        (lambda x: np.sin(x) * W + 1.0, 2),
        (lambda x: 1.0 - (2.0 * np.sin(x)), 2),
        (lambda x: W / (x + 1.0), 0),  # the quotient keeps its divisor
        (lambda x: (x + 1.0) / W, 1),
        (lambda x: np.exp(x) * W, 0),  # the exponential keeps itself
        (lambda x: (x + 1.0) * (x + 2.0), 0),  # the product keeps both
        (lambda x: (x + 1.0) - (x + 2.0), 1),
        (lambda x: (x + 1.0)[:] * W, 0),  # a view
        (lambda x: (x + 1.0) * np.float32(2), 0),  # another dtype, as far as is looked
        (lambda x: (x + 1.0).reshape(200, 200) + X.reshape(200, 200)[:, None, :], 0),
    ],
)
def test_what_is_written_over(f: Callable[..., Any], count: int, overwritten: list[int]) -> None:
    x = npgrad.array(X)
    np.testing.assert_array_equal(npgrad.value(f(x)), f(X))
    assert len(overwritten) == count
    step = np.cos(np.arange(N))
    slope = (np.sum(f(X + 1e-6 * step)) - np.sum(f(X - 1e-6 * step))) / 2e-6
    found = npgrad.grad(lambda x: np.sum(f(x)))(X)
    assert np.sum(found * step) == pytest.approx(slope, rel=1e-6, abs=1e-3)


def named(x: Any) -> Any:
    y = x + 1.0
    return y * W, y


def in_a_list(x: Any) -> Any:
    y = [x + 1.0]
    return y[0] * W, y[0]


def in_a_closure(x: Any) -> Any:
    y = x + 1.0

    def product() -> Any:
        return y * W

    return product(), y


def given_to_a_function(x: Any) -> Any:
    def scaled(y: Any) -> Any:
        return y * W, y

    return scaled(x + 1.0)


class Holder:
    """An attribute."""

    y: Any


def in_an_attribute(x: Any) -> Any:
    held = Holder()
    held.y = x + 1.0
    return held.y * W, held.y


def lent_by_c(x: Any) -> Any:
    """starmap lends what is in the pair, which the list still holds."""
    pairs = [(x + 1.0, W)]
    return next(itertools.starmap(operator.mul, pairs)), pairs[0][0]


def mapped(x: Any) -> Any:
    y = [x + 1.0]
    return next(map(operator.mul, y, [W])), y[0]


def assigned_within(x: Any) -> Any:
    return (y := x + 1.0) * W, y


def in_place(x: Any) -> Any:
    y = x + 1.0
    z = y
    y = y * 1.0
    y *= W
    return y, z


def by_loop(x: Any) -> Any:
    made = [y * W for y in (x + 1.0, x + 2.0)]
    return made[0], x + 1.0


@pytest.mark.parametrize(
    "f",
    [
        named,
        in_a_list,
        in_a_closure,
        given_to_a_function,
        in_an_attribute,
        lent_by_c,
        mapped,
        assigned_within,
        in_place,
        by_loop,
    ],
)
def test_what_somebody_holds_stays(f: Callable[..., Any]) -> None:
    product, operand = f(npgrad.array(X))
    np.testing.assert_array_equal(npgrad.value(operand), X + 1.0)
    np.testing.assert_array_equal(npgrad.value(product), (X + 1.0) * W)


def test_the_arrays_of_arguments_and_operands_stay() -> None:
    x, w = X.copy(), W.copy()
    npgrad.grad(lambda x: np.sum((np.positive(x) * w + w) - x / w))(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, W)
    leaf = npgrad.array(x)
    (npgrad.array(x) * w, leaf * w)
    np.testing.assert_array_equal(npgrad.value(leaf), X)


def test_second_order_and_forward_mode() -> None:
    v = np.cos(np.arange(N))

    def f(x: Any) -> Any:
        return np.sum((np.sin(x) * W + 1.0) * 3.0 - (x * x) * 0.5)

    np.testing.assert_allclose(npgrad.hvp(f, X, v), (-3 * np.sin(X) * W - 1) * v, rtol=1e-12)
    tangent = npgrad.jvp(f, (X,), (v,))[1]
    assert tangent == pytest.approx(np.sum((3 * np.cos(X) * W - X) * v), rel=1e-9)
