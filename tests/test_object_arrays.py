"""Arrays of Python objects that hold recorded numbers, beside recorded arrays."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from tests.test_wrap_subclasses import differences

X = np.array([0.3, 1.2, 0.8])


def held(x):
    made = np.empty(3, object)
    for i in range(3):
        made[i] = x[i]
    return made


FUNCTIONS = {
    "product": lambda x: np.sum(held(x) * x) + np.sum(x * held(x)),
    "difference": lambda x: (x - held(x)[::-1]).dot(x) + np.sum((held(x) + x) ** 2),
    "quotient, power": lambda x: np.sum(x / held(x)[::-1]) + np.sum(x ** held(x)),
    "matmul": lambda x: held(x) @ x + x @ held(x)[::-1],
    "dot": lambda x: np.dot(held(x), x) + x.dot(held(x)) + np.inner(x, held(x)),
    "einsum": lambda x: np.einsum("i,i", x, held(x)),
    "joined": lambda x: np.sum(np.concatenate([x, held(x)]) ** 2) + np.sum(np.stack([x, held(x)])),
    "clip": lambda x: np.sum(np.clip(x, held(x) * 0.5, held(x) * 0.7)),
    "maximum": lambda x: np.sum(np.maximum(x, held(x)[::-1])),
    "a list of one": lambda x: np.sum(x * [held(x)]),
    "polyval": lambda x: np.sum(np.polyval(held(x), x)),
    "where": lambda x: np.sum(np.where(X > 0.5, held(x), x) ** 2),
    "outer": lambda x: np.sum(np.subtract.outer(held(x), x) ** 2),
    "alone": lambda x: held(x).dot(held(x)) + (held(x) ** 2).sum(),
    "norm": lambda x: np.linalg.norm(x - held(x)[::-1] + X),
}


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, wrap) -> None:
    f = FUNCTIONS[name]
    expected = differences(FUNCTIONS[name], X)
    for _ in range(2):  # the second time by the operator that was written out
        try:
            value, gradient = npgrad.value_and_grad(f, wrap=wrap)(X)
        except npgrad.errors.GradientLost:
            assert not wrap  # held(x).dot(x) is ndarray's own
            continue
        assert type(value) is not npgrad.GradArray
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)
