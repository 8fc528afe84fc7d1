"""What adds up to a gradient of float16 does so beyond 2048 ones, in every way of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad

Array = Any
MANY = 3000  # times that a value of one is used: a sum in float16 would stop at 2048


def whole(x: Array) -> Array:
    return np.sum(x.astype(np.float32))


def added(x: Array) -> Array:
    total = np.zeros(x.shape, np.float32)
    for _ in range(MANY):
        total = total + x
    return np.sum(total)


def written(x: Array) -> Array:
    buffer = np.zeros((MANY, *x.shape), np.float16, like=x)
    for i in range(MANY):
        buffer[i] = x
    return whole(buffer)


USES: dict[str, Callable[[Array], Array]] = {
    "stack": lambda x: whole(np.stack([x] * MANY)),
    "concatenate": lambda x: whole(np.concatenate([x] * MANY)),
    "operators": added,
    "casts": lambda x: whole(sum(x.astype(np.float32) for _ in range(MANY))),
    "views": lambda x: whole(np.concatenate([x[:2] for _ in range(MANY)])),
    "views of views": lambda x: whole(np.concatenate([x[0:][:2] for _ in range(MANY)])),
    "indices": lambda x: whole(np.concatenate([x[[0, 1]] for _ in range(MANY)])),
    "entries": lambda x: sum(
        x[0].astype(np.float32) + x[1].astype(np.float32) for _ in range(MANY)
    ),
    "selections": lambda x: whole(np.concatenate([np.where(x > 0, x, 0) for _ in range(MANY)])),
    "writes": written,
}


@pytest.mark.parametrize("name", USES)
def test_many_uses_of_a_small_array(name: str) -> None:
    x = np.ones(2, np.float16)
    gradient = npgrad.grad(USES[name])(x)
    assert gradient.dtype == np.float16
    np.testing.assert_array_equal(gradient, MANY)
    inner = npgrad.grad(lambda x: USES[name](x * x))(x)  # of a value that is no argument
    np.testing.assert_array_equal(inner, 2 * MANY)


def test_many_uses_of_a_large_array_and_of_a_number() -> None:
    for x in (np.ones(6000, np.float16), np.float16(1)):
        gradient = npgrad.grad(lambda x: whole(np.stack([x] * MANY)))(x)
        assert gradient.dtype == np.float16
        np.testing.assert_array_equal(gradient, MANY)


def test_in_a_recorded_sweep_and_in_a_batch() -> None:
    x, v = np.ones(3, np.float16), np.array([1, 2, 0], np.float16)
    product = npgrad.hvp(lambda x: whole(np.stack([x * x] * MANY)), x, v)
    np.testing.assert_array_equal(product, 2 * MANY * v)
    jacobian = npgrad.jacrev(lambda x: np.sum(np.stack([x] * MANY).astype(np.float32), 0))(x)
    assert jacobian.dtype == np.float16
    np.testing.assert_array_equal(jacobian, MANY * np.eye(3))


def test_where_a_zero_meets_an_infinity_and_where_a_sweep_recurs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("npgrad.transforms.recurring.FIRST", 2)
    x = np.array([0, 1], np.float16)
    gradient = npgrad.grad(
        lambda x: whole(np.stack([np.where(x > 0, np.sqrt(x), 0) * 2] * MANY)) + 0 * whole(x)
    )
    for _ in range(4):
        np.testing.assert_array_equal(gradient(x), [0, MANY])
