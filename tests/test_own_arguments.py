"""What a transform was given is the caller's: changing it later changes no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad


@pytest.mark.parametrize("shape", [(), (3,), (40, 60)])
def test_an_argument_changed_before_the_pull(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.0)
    _, pull = npgrad.vjp(lambda a: a * a, x)
    _, push = npgrad.linearize(lambda a: a * a, x)
    x *= 10
    np.testing.assert_array_equal(pull(np.ones(shape))[0], np.full(shape, 4.0))
    np.testing.assert_array_equal(push(np.ones(shape)), np.full(shape, 4.0))


def test_a_container_changed_before_the_pull() -> None:
    parameters = {"w": np.array([1.0, 2.0]), "b": np.array(3.0)}
    _, pull = npgrad.vjp(lambda p: np.sum(p["w"] ** 2) * p["b"], parameters)
    for array in parameters.values():
        array -= 1
    (found,) = pull(1.0)
    np.testing.assert_array_equal(found["w"], [6.0, 12.0])
    np.testing.assert_array_equal(found["b"], 5.0)


def test_a_function_that_overwrites_what_it_was_called_with() -> None:
    x = np.array([1.0, 2.0, 3.0])

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[:] = 7.0
        return result

    np.testing.assert_array_equal(npgrad.grad(f, wrap=False)(x), [2.0, 4.0, 6.0])


def test_aux_keeps_the_derivative_of_an_outer_variable() -> None:
    def outer(a: Any) -> Any:
        return npgrad.grad(lambda y: (y * y, y * a), has_aux=True)(2.0)[1]

    assert npgrad.grad(outer)(3.0) == 2.0
    assert npgrad.jvp(outer, (3.0,), (1.0,))[1] == 2.0
    value = npgrad.value_and_grad(lambda y: (y * y, {"seen": y * 3.0}), has_aux=True)(2.0)[0][1]
    assert type(value["seen"]) is np.float64 or type(value["seen"]) is float
