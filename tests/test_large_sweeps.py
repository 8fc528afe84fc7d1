"""Large cotangents: handed over uncopied and looked at once, and still nobody else's and right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import OperandMutated
from npgrad.graph import blocks, certain, gathered, temporaries

SHAPE = (600, 600)  # beyond the size from which the sweep looks for what it can spare


def test_gradients_of_a_sum_of_leaves_share_no_memory() -> None:
    x, y = np.ones(SHAPE), np.full(SHAPE, 2.0)
    first, second = npgrad.grad(lambda a, b: np.sum((a + b) * x), argnums=(0, 1))(x, y)
    assert not np.shares_memory(first, second)
    assert first.flags.writeable and first.base is None
    first += 1
    np.testing.assert_array_equal(second, x)


def test_a_cotangent_that_somebody_holds_is_copied() -> None:
    cotangent = np.ones(SHAPE)
    _, pull = npgrad.vjp(lambda a: np.positive(a), np.ones(SHAPE))
    (gradient,) = pull(cotangent)
    assert not np.shares_memory(gradient, cotangent)

    kept = []

    @npgrad.primitive
    def same(x: np.ndarray) -> np.ndarray:
        return x.copy()

    def maker(ans: object, x: object) -> object:
        def pull(g: np.ndarray) -> np.ndarray:
            kept.append(2.0 * g)
            return kept[0]

        return pull

    same.defvjp(maker)
    gradient = npgrad.grad(lambda a: np.sum(same(a)))(np.ones(SHAPE))
    assert not np.shares_memory(gradient, kept[0])


def test_an_operand_is_not_handed_out() -> None:
    weights = np.full(SHAPE, 3.0)
    _, pull = npgrad.vjp(lambda a: np.sum(a * weights), np.ones(SHAPE))
    (gradient,) = pull(1.0)
    gradient[:] = 0
    np.testing.assert_array_equal(pull(1.0)[0], weights)


@pytest.mark.parametrize("reduce", [np.sum, np.mean, np.max, np.prod])
def test_a_masked_column_stays_zero(reduce: object) -> None:
    x = np.ones(SHAPE)
    x[:, 3] = 0

    def f(x: np.ndarray) -> np.ndarray:
        column = reduce(x, axis=0)  # type: ignore[operator]
        return np.sum(np.where(column > 0, np.sqrt(column), 0))

    gradient = npgrad.grad(f)(x)
    assert np.isfinite(gradient).all()
    assert not gradient[:, 3].any()
    assert gradient[:, 2].any()


def test_what_arrives_after_the_look_is_looked_at() -> None:
    x = np.ones(SHAPE)
    x[5] = 0

    def f(x: np.ndarray) -> np.ndarray:
        masked = np.sum(np.where(x > 0, np.sqrt(x), 0))
        return masked + np.sum(np.sum(x, axis=0) * 2.0) + np.sum(x[5])

    expected = np.full(SHAPE, 2.5)
    expected[5] = 3.0
    np.testing.assert_allclose(npgrad.grad(f)(x), expected)


def test_two_large_cotangents_of_one_that_is_not_finite() -> None:
    x = np.ones(SHAPE)
    x[5] = 0

    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.where(x > 0, np.sqrt(np.maximum(x, y) + (x + y)), 0))

    for gradient in npgrad.grad(f, argnums=(0, 1))(x, x.copy()):
        assert np.isfinite(gradient).all()
        assert not gradient[5].any()


def test_what_a_custom_rule_keeps_is_neither_added_into_nor_handed_out() -> None:
    kept = np.full(1000, 2.0)

    @npgrad.primitive
    def double(x: np.ndarray) -> np.ndarray:
        return 2.0 * x

    double.defvjp(lambda ans, x: lambda g: kept)
    for _ in range(2):
        gradient = npgrad.grad(lambda x: np.sum(double(x)) + np.sum(double(x)))(np.ones(1000))
        np.testing.assert_array_equal(gradient, np.full(1000, 4.0))
        gradient = npgrad.grad(lambda x: np.sum(double(x)))(np.ones(1000))
        gradient[:] = 0
    np.testing.assert_array_equal(kept, np.full(1000, 2.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, 3])
def test_products_of_gathered_rows(dtype: type, columns: int | None) -> None:
    """Rows with repetitions, from the end, used twice, and a table that is used otherwise."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 128)).astype(dtype)
    head = rng.normal(size=(128,) if columns is None else (128, columns)).astype(dtype)
    index = rng.integers(-50, 50, 3000)
    other = np.array([3, 3, -1])
    weights = rng.normal(size=(3000,) if columns is None else (3000, columns)).astype(dtype)

    def f(table: np.ndarray, head: np.ndarray) -> Any:
        rows = table[index]
        used = np.sum((rows @ head) * weights) + np.sum(rows[:2] * 2.0) + np.sum(table[other])
        return used + np.sum(table * table)

    found, by_head = npgrad.grad(f, argnums=(0, 1))(table, head)
    counts = np.zeros((50, 3000))
    counts[index, np.arange(3000)] = 1
    wide = [a.astype(np.float64) for a in (table, head, weights)]
    expected = (
        counts @ (np.outer(wide[2], wide[1]) if columns is None else wide[2] @ wide[1].T)
        + 2 * wide[0]
    )
    np.add.at(expected, index[:2], 2.0)
    np.add.at(expected, other, 1.0)
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype is np.float32 else {"rtol": 1e-11}
    assert found.dtype == by_head.dtype == dtype
    np.testing.assert_allclose(found, expected, **tolerance)
    np.testing.assert_allclose(by_head, wide[0][index].T @ wide[2], **tolerance)


def test_products_of_gathered_rows_without_kernels() -> None:
    with npgrad.kernels.disabled():
        test_products_of_gathered_rows(np.float64, None)


def test_a_row_that_was_gathered_before_it_was_overwritten() -> None:
    rng = np.random.default_rng(1)
    table, head = rng.normal(size=(40, 128)), rng.normal(size=128)
    index = rng.integers(0, 40, 3000)

    def f(table: Any) -> Any:
        copy = table * 1.0
        rows = copy[index]
        copy[3] = 0.0
        return np.sum(rows @ head) + np.sum(copy * copy)

    expected = np.bincount(index, minlength=40)[:, None] * head + 2 * table
    expected[3] -= 2 * table[3]
    np.testing.assert_allclose(npgrad.grad(f)(table), expected, rtol=1e-11)


def test_a_masked_product_of_gathered_rows_stays_zero() -> None:
    rng = np.random.default_rng(2)
    table, index = rng.normal(size=(40, 128)), rng.integers(0, 40, 3000)
    head = np.ones(128)
    head[5] = np.inf

    def f(table: Any) -> Any:
        return np.sum(np.where(np.arange(3000) < 0, np.exp(table[index] @ head), 0)) + table[0, 0]

    expected = np.zeros((40, 128))
    expected[0, 0] = 1
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(npgrad.grad(f)(table), expected)


def test_what_both_operands_of_a_difference_get() -> None:
    """One takes the cotangent itself, the other a buffer of its own; neither is added to twice."""
    rng = np.random.default_rng(3)
    x, y, w = rng.normal(size=(3, *SHAPE))
    row, column = rng.normal(size=SHAPE[1:]), rng.normal(size=(SHAPE[0], 1))

    def f(x: Any, y: Any, row: Any, column: Any) -> Any:
        away = np.sinh(x * 0.1) - np.cosh(y * 0.1)
        shifted = (away - column) - row
        return np.sum(shifted * w * x) + np.sum(away * y)

    found = npgrad.grad(f, argnums=(0, 1, 2, 3))(x, y, row, column)
    away = np.sinh(x * 0.1) - np.cosh(y * 0.1)
    g = w * x + y
    expected = (
        g * 0.1 * np.cosh(x * 0.1) + (away - column - row) * w,
        -g * 0.1 * np.sinh(y * 0.1) + away,
        -np.sum(w * x, axis=0),
        -np.sum(w * x, axis=1, keepdims=True),
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_a_quotient_by_itself_and_by_its_sum() -> None:
    x, w = np.random.default_rng(4).uniform(0.5, 1.5, size=(2, *SHAPE))

    def f(x: Any) -> Any:
        return np.sum(x / np.sum(x, axis=-1, keepdims=True) * w) + np.sum(x / x * w)

    total = np.sum(x, axis=-1, keepdims=True)
    expected = w / total - np.sum(x * w, axis=-1, keepdims=True) / total**2
    np.testing.assert_allclose(npgrad.grad(f)(x), expected, rtol=1e-9, atol=1e-12)
    leaf, other = npgrad.array(x), npgrad.array(x + 1)
    store = np.sum(np.positive(leaf / other) * w).backward()
    np.testing.assert_allclose(store[leaf], w / (x + 1), rtol=1e-13)
    np.testing.assert_allclose(store[other], -w * x / (x + 1) ** 2, rtol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_without_what_is_spared(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's values to the last bit, and the gradients that the plain way gives."""
    rng = np.random.default_rng(seed)
    shape = (520, 520)
    w, index = rng.uniform(0.5, 1.5, shape), rng.integers(0, shape[0], shape[0])
    vector, steps = rng.normal(size=shape[1]), rng.integers(0, 1 << 30, size=(12, 3))

    def f(x: Any, y: Any, row: Any) -> Any:
        values = [x, y]
        for kind, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            made = (
                lambda a, b: a * b,
                lambda a, b: (a + 1.0) * w - b,
                lambda a, b: a / (1.0 + b * b),
                lambda a, b: np.tanh(a) - row,
                lambda a, b: a - np.max(a, axis=-1, keepdims=True),
                lambda a, b: np.exp(-a * a) / np.sum(np.exp(-a * a), axis=1, keepdims=True),
                lambda a, b: np.where(a > b, np.sqrt(np.abs(a) + 0.1), np.maximum(a, b)),
                lambda a, b: a[index] * 2.0 + b[::-1],
                lambda a, b: (row - a) * 2.0 - np.square(b),
                lambda a, b: (np.abs(a) + 0.5) ** (b * 0.1),
            )[kind % 10](a, b)
            values.append(made)
        return np.sum(values[-1] * w) + np.mean(values[-2]) + np.sum(values[-3][index] @ vector)

    args = (*rng.uniform(-1, 1, (2, *shape)), rng.uniform(0.5, 1.5, shape[1]))
    copies = [a.copy() for a in args]
    monkeypatch.setattr(certain, "FEW", 1)
    value, found = npgrad.value_and_grad(f, argnums=(0, 1, 2))(*args)
    assert value == f(*args)
    for module in (blocks, gathered):
        monkeypatch.setattr(module, "LARGE", 1 << 40)
    monkeypatch.setattr(certain, "FEW", 1 << 40)
    monkeypatch.setattr(blocks, "factor", lambda *given: None)
    monkeypatch.setattr(temporaries, "_ALONE", None)
    with npgrad.kernels.disabled():
        plain, expected = npgrad.value_and_grad(f, argnums=(0, 1, 2))(*args)
    assert plain == value
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * np.max(np.abs(other)))
    for a, copy in zip(args, copies, strict=True):
        np.testing.assert_array_equal(a, copy)


@pytest.mark.parametrize("size", [3_000, 50_000, 400_000])
def test_a_plain_operand_is_checked_and_multiplied_with_as_it_is(size: int) -> None:
    """Of more than 16 KB it is guarded: the sweep looks at it, then takes the everyday way."""
    x, w = np.linspace(0.5, 1.5, size), np.linspace(1.0, 2.0, size)

    def quotient(x: Any) -> Any:
        return np.sum(w / x)

    for f, slope in (
        (lambda x: np.sum(x * w), w),
        (lambda x: np.sum(w * np.exp(x)), w * np.exp(x)),
        (lambda x: np.sum(x / w * x), 2 * x / w),
        (quotient, -w / x**2),
    ):
        gradient = npgrad.grad(f)(x)
        np.testing.assert_allclose(gradient, slope, rtol=1e-14)
        assert not np.shares_memory(gradient, w)
        leaf, operand = npgrad.array(x), w
        value = f(leaf)
        first = operand[0]
        operand[0] = 7.0
        try:
            np.testing.assert_allclose(value.backward()[leaf], slope, rtol=1e-14)
            kept = False  # of w / x the quotient is, which is right still
        except OperandMutated:
            kept = True
        assert kept == (f is not quotient)
        operand[0] = first
