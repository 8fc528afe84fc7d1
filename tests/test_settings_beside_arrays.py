"""Text and integers that stand beside arrays: what passes through, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
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
