"""Runs of elementwise operations swept block by block: the same gradients, errors and promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import OperandMutated
from npgrad.graph import backward, blocks

SIZE = 1000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Blocks of 24 numbers from 600 entries on; returns the operations of the runs swept."""
    monkeypatch.setattr(backward, "TINY", 600)
    monkeypatch.setattr(blocks, "LARGE", 600)
    monkeypatch.setattr(blocks, "CACHE", 0)
    monkeypatch.setattr(blocks, "BYTES", 24 * 8)
    runs: list[list[str]] = []
    sweep = blocks.sweep

    def noted(walk: Any, nodes: list[Any], g: Any) -> int:
        runs.append([node.op.name for node in nodes])
        return sweep(walk, nodes, g)

    monkeypatch.setattr(blocks, "sweep", noted)
    return runs


def test_a_chain_by_its_derivative(small: list[list[str]]) -> None:
    x = np.linspace(0.1, 3, SIZE)
    gradient = npgrad.grad(lambda x: np.sum(np.sin(np.exp(-x * x)) / x))(x)
    bell = np.exp(-x * x)
    expected = -2 * bell * np.cos(bell) - np.sin(bell) / x**2
    np.testing.assert_allclose(gradient, expected, rtol=1e-13)
    assert small == [
        ["np.divide", "np.sin", "np.exp", "np.multiply", "np.negative"],
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(SIZE,), (20, 50), (5, 10, 20)])
def test_shapes_and_dtypes(small: list[list[str]], dtype: type, shape: tuple[int, ...]) -> None:
    x = np.linspace(0.5, 2, SIZE, dtype=dtype).reshape(shape)
    gradient = npgrad.grad(lambda x: np.sum(np.sqrt(1 + x * x) * np.tanh(x)))(x)
    wide = x.astype(np.float64)
    root = np.sqrt(1 + wide * wide)
    expected = wide / root * np.tanh(wide) + root / np.cosh(wide) ** 2
    assert gradient.dtype == dtype
    assert gradient.shape == shape
    np.testing.assert_allclose(gradient, expected, rtol=30 * np.finfo(dtype).eps)
    assert len(small) == 1


def test_numbers_get_the_sum_over_all_blocks(small: list[list[str]]) -> None:
    x = np.linspace(0, 1, SIZE)
    scale, shift = npgrad.grad(
        lambda scale, shift: np.sum(np.sin(scale * x + shift) * x), argnums=(0, 1)
    )(1.5, 0.25)
    assert small
    slope = np.cos(1.5 * x + 0.25) * x
    assert scale == pytest.approx(np.sum(slope * x), rel=1e-12)
    assert shift == pytest.approx(np.sum(slope), rel=1e-12)


def test_what_other_operations_add_in_the_middle(small: list[list[str]]) -> None:
    """A cotangent from elsewhere arrives at an operation of the run; another leaves the run."""
    x = np.linspace(0.5, 1.5, SIZE)
    order = np.arange(SIZE)[::-1]

    def f(x: np.ndarray) -> Any:
        a = np.exp(x)
        b = np.sort(a * x)  # no part of a run: `a` and `x` get more from here
        c = np.log(a + x) * x
        return np.sum(c * c) + np.sum(b[order] * x)

    a = np.exp(x)
    c = np.log(a + x) * x
    slope = (a + 1) / (a + x) * x + np.log(a + x)
    # a x increases, so sorting changes nothing and the index reverses
    reverse = (a * x)[::-1] + x[::-1] * (a * x + a)
    np.testing.assert_allclose(npgrad.grad(f)(x), 2 * c * slope + reverse, rtol=1e-12)
    assert small


def test_an_operation_of_another_shape_is_left_out(small: list[list[str]]) -> None:
    x, row = np.linspace(0.5, 1.5, SIZE).reshape(20, 50), np.linspace(1, 2, 50)

    def f(x: np.ndarray, row: np.ndarray) -> Any:
        return np.sum(np.log(np.exp(x * x + x) * row + 1) * x)

    found = npgrad.grad(f, argnums=(0, 1))(x, row)
    e = np.exp(x * x + x)
    inner = x / (e * row + 1) * e
    np.testing.assert_allclose(
        found[0], inner * row * (2 * x + 1) + np.log(e * row + 1), rtol=1e-12
    )
    np.testing.assert_allclose(found[1], inner.sum(axis=0), rtol=1e-12)


def test_where_and_clip_are_parts_of_a_run(small: list[list[str]]) -> None:
    x = np.linspace(-2, 2, SIZE)
    expected = 3 * np.where(x > 0, np.where(x <= 1, 2 * x, 1), -1)
    grad = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.clip(x, -1, 1) * x, -x) * 3.0))
    np.testing.assert_allclose(grad(x), expected, rtol=1e-13)
    assert "np.where" in small[0]
    assert "np.clip" in small[0]


def test_a_zero_cotangent_stays_zero(small: list[list[str]]) -> None:
    x = np.linspace(0, 1, SIZE)
    gradient = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x) * 2.0, 0)))(x)
    assert small
    assert gradient[0] == 0
    np.testing.assert_allclose(gradient[1:], 1 / np.sqrt(x[1:]), rtol=1e-13)


@pytest.mark.parametrize("make", [lambda x: x[::2], lambda x: x[::-1], lambda x: x.T])
def test_arrays_that_are_not_contiguous(make: Callable[[np.ndarray], np.ndarray]) -> None:
    x = make(np.linspace(0.5, 1.5, 4 * SIZE).reshape(80, 50))
    cotangent = make(np.linspace(-1, 1, 4 * SIZE).reshape(80, 50))
    _, pull = npgrad.vjp(lambda x: np.exp(x) * x + np.sin(x), x)
    expected = cotangent * (np.exp(x) * (x + 1) + np.cos(x))
    np.testing.assert_allclose(pull(cotangent)[0], expected, rtol=1e-13)


def test_nothing_given_or_handed_out_is_shared() -> None:
    x, cotangent = np.linspace(0.5, 1.5, SIZE), np.ones(SIZE)
    before = x.copy()
    _, pull = npgrad.vjp(lambda x, y: ((x + y) * 2.0 + x) - y, x, x.copy())
    first, second = pull(cotangent)
    again = [g.copy() for g in pull(cotangent)]
    for gradient in (first, second):
        assert gradient.flags.owndata
        assert not np.shares_memory(gradient, cotangent)
    assert not np.shares_memory(first, second)
    first[:], second[:] = 0, 0
    np.testing.assert_array_equal(again, [np.full(SIZE, 3.0), np.full(SIZE, 1.0)])
    np.testing.assert_array_equal(cotangent, 1)
    np.testing.assert_array_equal(x, before)


def test_second_order_and_a_second_sweep(small: list[list[str]]) -> None:
    x, v = np.linspace(0.5, 1.5, SIZE), np.linspace(-1, 1, SIZE)
    product = npgrad.hvp(lambda x: np.sum(np.sin(x) * x * x), x, v)
    expected = v * (2 * np.sin(x) + 4 * x * np.cos(x) - x * x * np.sin(x))
    np.testing.assert_allclose(product, expected, rtol=1e-11, atol=1e-14)
    leaf = npgrad.array(x)
    y = np.sum(np.sin(leaf) * leaf * leaf)
    first = y.backward(retain_graph=True)[leaf]
    np.testing.assert_array_equal(y.backward()[leaf], first)
    assert len(small) >= 2


def test_a_changed_operand_and_a_failing_rule_name_the_operation() -> None:
    weights = np.full(40_000, 2.0)
    leaf = npgrad.array(np.linspace(0.5, 1.5, 40_000))
    y = np.sum(np.sin(leaf * weights) * leaf * leaf)
    weights[:] = 3.0
    with pytest.raises(OperandMutated, match=r"np\.multiply"):
        y.backward()

    leaf = npgrad.array(np.linspace(0.5, 1.5, SIZE))
    y = np.sum(np.exp(np.sin(leaf) * leaf) * leaf)
    node = next(n for n in ancestors(y._node) if n.op.name == "np.sin")
    node.kept = ("no array",)
    with pytest.raises(TypeError) as caught:
        y.backward()
    assert "in the derivative of np.sin" in "".join(caught.value.__notes__)


def ancestors(node: Any) -> list[Any]:
    """All nodes that `node` was computed from."""
    found, stack = [], [node]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += [parent for parent in node.parents if parent is not None]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_as_operation_by_operation(
    seed: int, monkeypatch: pytest.MonkeyPatch, small: list[list[str]]
) -> None:
    """Random graphs with values used many times, against the sweep that takes one at a time."""
    rng = np.random.default_rng(seed)
    xs = [rng.uniform(0.5, 1.5, size=(25, 40)) for _ in range(3)]
    choices = rng.integers(0, 1 << 30, size=(40, 3))

    def f(*xs: Any) -> Any:
        values = list(xs)
        for kind, i, j in choices:
            a, b = values[i % len(values)], values[j % len(values)]
            made = (
                lambda a, b: a * b,
                lambda a, b: a + b,
                lambda a, b: np.tanh(a) - b,
                lambda a, b: a / (1.0 + b * b),
                lambda a, b: np.where(a > b, np.sin(a), b),
                lambda a, b: np.maximum(a, b) * 0.5,
                lambda a, b: a - np.mean(b, axis=1, keepdims=True),
                lambda a, b: np.exp(-a * a) + b[::-1],
            )[kind % 8](a, b)
            values.append(made)
        return np.sum(values[-1] * values[-2]) + np.sum(values[-3])

    grad = npgrad.grad(f, argnums=(0, 1, 2))
    found = grad(*xs)
    monkeypatch.setattr(blocks, "LARGE", 1 << 40)
    for got, want in zip(found, grad(*xs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert small
