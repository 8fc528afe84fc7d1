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


@pytest.mark.parametrize("size", [3, 2_000, 10_000, 131_072])
def test_a_function_that_overwrites_what_it_was_called_with(size: int) -> None:
    """Up to 1 MB the leaf is a copy."""
    x = np.linspace(1.0, 3.0, size)
    expected = 2 * x

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[:] = 7.0
        return result

    np.testing.assert_array_equal(npgrad.grad(f, wrap=False)(x), expected)
    x[:] = np.linspace(1.0, 3.0, size)
    found = npgrad.grad(lambda p: f(p["x"]), wrap=False)({"x": x})
    np.testing.assert_array_equal(found["x"], expected)


FORMS = {
    "array": lambda f, x: npgrad.grad(f, wrap=False)(x),
    "dictionary": lambda f, x: npgrad.grad(lambda p: f(p["x"]), wrap=False)({"x": x}),
    "jacobian": lambda f, x: npgrad.jacobian(lambda a: np.stack([f(a)]), wrap=False)(x),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_large_array_that_the_function_overwrites_is_noticed(form: str) -> None:
    x = np.linspace(1.0, 3.0, 131_073)

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[:] = 7.0
        return result

    with pytest.raises(npgrad.errors.OperandMutated, match="argument 0 was changed in place"):
        FORMS[form](f, x)


def test_one_changed_entry_of_a_large_array_is_noticed_under_debug() -> None:
    x = np.linspace(1.0, 3.0, 200_000)

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[77_777] = 7.0
        return result

    with npgrad.debug(), pytest.raises(npgrad.errors.OperandMutated):
        npgrad.grad(f, wrap=False)(x)


def test_a_large_parameter_may_be_written_to() -> None:
    x = np.linspace(1.0, 3.0, 200_000)
    before = x.copy()

    def f(a: Any) -> Any:
        a = a * 1.0
        a[0] = 0.0
        a *= 2.0
        return np.sum(a * a)

    found = npgrad.grad(f)(x)
    np.testing.assert_allclose(found[1:], 8 * before[1:])
    assert found[0] == 0.0
    np.testing.assert_array_equal(x, before)


def test_aux_keeps_the_derivative_of_an_outer_variable() -> None:
    def outer(a: Any) -> Any:
        return npgrad.grad(lambda y: (y * y, y * a), has_aux=True)(2.0)[1]

    assert npgrad.grad(outer)(3.0) == 2.0
    assert npgrad.jvp(outer, (3.0,), (1.0,))[1] == 2.0
    value = npgrad.value_and_grad(lambda y: (y * y, {"seen": y * 3.0}), has_aux=True)(2.0)[0][1]
    assert type(value["seen"]) is np.float64 or type(value["seen"]) is float
