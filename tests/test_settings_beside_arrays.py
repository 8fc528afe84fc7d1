"""Text and integers that stand beside arrays: what passes through, and what is said of the rest."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import npgrad
import npgrad.testing
from npgrad.errors import NotDifferentiable

PARAMETERS: dict[str, Any] = {"w": np.array([1.0, 2.0]), "act": "relu", "raw": b"x", "n": 3}


def test_stop_gradient_lets_text_through() -> None:
    assert npgrad.stop_gradient("relu") == "relu"
    stopped = npgrad.stop_gradient({**PARAMETERS, "f": len, "none": None})
    assert {**stopped, "w": None} == {**PARAMETERS, "f": len, "none": None, "w": None}

    def f(x: Any) -> Any:
        held = npgrad.stop_gradient({**PARAMETERS, "w": x})
        return np.sum(held["w"] * x) if held["act"] == "relu" else 0

    np.testing.assert_array_equal(npgrad.grad(f)(np.array([1.0, 2.0])), [1, 2])


def test_text_in_a_differentiated_argument_is_refused_with_the_remedy() -> None:
    with pytest.raises(NotDifferentiable, match=r"\['act'\] is builtins.str.*another argument"):
        npgrad.grad(lambda p: np.sum(p["w"]))({"w": np.ones(2), "act": "relu"})


def test_an_integer_in_a_differentiated_argument_is_a_float() -> None:
    given = {"w": np.array([1.0, 2.0]), "n": 2}
    with pytest.raises(TypeError) as caught:
        npgrad.grad(lambda p: sum(p["w"][k] for k in range(p["n"])))(given)
    assert "int(x)" in caught.value.__notes__[0]
    with pytest.raises(IndexError, match=r"int\(x\)"):
        npgrad.grad(lambda p: p["w"][p["n"]])(given)
    found = npgrad.grad(lambda p: sum(p["w"][k] for k in range(int(p["n"]))))(given)
    np.testing.assert_array_equal(found["w"], [1, 1])


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">c16"])
def test_a_gradient_has_the_order_of_bytes_of_its_argument(dtype: str) -> None:
    x = np.array([1, 2, 4], dtype)
    for f in (lambda a: (a * a).real.sum(), lambda a: np.cumsum(a).real.sum()):
        leaf = npgrad.array(x)
        for found in (npgrad.grad(f)(x), npgrad.jacrev(f)(x), f(leaf).backward()[leaf]):
            assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(npgrad.grad(lambda a: (a * a).real.sum())(x), 2 * x)


@pytest.mark.parametrize("wrap", [True, False])
def test_buffers_of_numbers_are_arrays_and_a_matrix_is_refused(wrap: bool) -> None:
    x, numbers = np.array([1.0, 2.0, 3.0]), array.array("d", [1, 2, 3])
    for f in (
        lambda x: np.sum(x * numbers),
        lambda x: np.sum(numbers * x),
        lambda x: np.dot(x, numbers),
        lambda x: np.sum(np.multiply(x, numbers)),
    ):
        np.testing.assert_array_equal(npgrad.grad(f, wrap=wrap)(x), [1, 2, 3])
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(np.eye(3))
    for f in (lambda x: np.sum(matrix * x[:, None]), lambda x: np.sum(x[None] * matrix)):
        with pytest.raises(TypeError, match=r"np.asarray\(m\) of the matrix"):
            npgrad.grad(f, wrap=wrap)(x)


def test_assert_grad_takes_a_function_for_each_argument() -> None:
    args = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    npgrad.testing.assert_grad(
        lambda a, b: np.sum(a * b), (lambda a, b: b, lambda a, b: a), args, argnums=(0, 1)
    )
    with pytest.raises(AssertionError, match="the analytic gradient is wrong"):
        npgrad.testing.assert_grad(
            lambda a, b: np.sum(a * b), (lambda a, b: b, lambda a, b: b), args, argnums=(0, 1)
        )
