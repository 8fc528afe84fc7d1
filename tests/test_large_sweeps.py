"""Large cotangents: handed over uncopied and looked at once, and still nobody else's and right."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad

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
