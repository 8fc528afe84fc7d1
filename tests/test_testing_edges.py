"""Checks of gradients where they are weak: infinite, small, zero, drowned, complex entries."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import NotDifferentiable
from npgrad.testing import assert_grad, check_grads, finite_difference_grad

W = np.array([0.0, 1.0])
pytestmark = pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")


def roots(w):
    return np.sum(np.sqrt(w))


def test_an_infinite_entry_is_right_to_its_sign():
    with np.errstate(divide="ignore"):
        assert_grad(roots, np.array([np.inf, 0.5]), (W,))
    for first in (-np.inf, 1e3, -5.0, np.nan, 1e300):
        with pytest.raises(
            AssertionError, match=r"wrong at 1 of 2 entries\n  entry \[0\]: analytic"
        ):
            assert_grad(roots, np.array([first, 0.5]), (W,))
    with pytest.raises(AssertionError, match=r"wrong at 2 of 2 entries") as info:
        assert_grad(roots, np.array([-5.0, -77.0]), (W,))
    assert "entry [0]: analytic -5.0, npgrad inf" in str(info.value)


def test_a_jacobian_with_an_infinite_entry():
    right = np.array([[np.inf, 0.0], [0.0, 0.5]])
    assert_grad(np.sqrt, right, (W,))
    wrong = right.copy()
    wrong[0, 1] = wrong[1, 0] = 3.0
    with pytest.raises(
        AssertionError, match=r"wrong at 2 of 4 entries\n  entry \[0, 1\]: analytic 3"
    ):
        assert_grad(np.sqrt, wrong, (W,))


def test_differences_that_find_nothing_keep_their_shape():
    with pytest.warns(RuntimeWarning, match="do not settle"):
        found = finite_difference_grad(lambda w: np.sqrt(w) * np.ones(2), (np.array([0.0, 1.0]),))
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found[:, 1], [0, 0.5], atol=1e-9)


@pytest.mark.parametrize(
    ("f", "right", "wrong", "at"),
    [
        (lambda w: w[0] * 1e9 + w[1] + w[2], [1e9, 1, 1], [1e9, 0, 1], np.ones(3)),
        (lambda w: w[0] * 1e9 + w[1] + w[2], [1e9, 1, 1], [1e9, 1, 1.01], np.ones(3)),
        (lambda w: np.sum(w**3 * [1e6, 1e-4]), [3e6, 3e-4], [3e6, 6e-4], np.ones(2)),
    ],
)
def test_a_small_entry_beside_a_large_one(f, right, wrong, at):
    assert_grad(f, np.array(right, float), (at,))
    with pytest.raises(AssertionError, match="with npgrad: the analytic gradient is wrong"):
        assert_grad(f, np.array(wrong, float), (at,))
    assert_grad(f, np.array(wrong, float), (at,), atol=1e-7)  # asked for


def test_a_small_entry_in_a_dict():
    f = lambda w: w["a"] * 1e9 + w["b"]
    assert_grad(f, {"a": 1e9, "b": 1.0}, ({"a": 1.0, "b": 1.0},))
    with pytest.raises(AssertionError, match="array 1, entry"):
        assert_grad(f, {"a": 1e9, "b": 2.0}, ({"a": 1.0, "b": 1.0},))


def test_rounding_of_a_small_entry_is_no_fault():
    """Terms of 1e9 cancel to 1 in both, each in its own way."""
    data = np.array([[1e9, -1e9, 1.0], [1.0, 2.0, 3.0]])
    f = lambda w: np.sum((data @ w) ** 2)
    at = np.array([1.0, 1.0, 1e-3])
    assert_grad(f, lambda w: 2 * data.T @ (data @ w), (at,))
    assert_grad(f, lambda w: (2 * data.T @ data) @ w, (at,))


def test_one_gradient_for_two_arguments():
    with pytest.raises(AssertionError, match="1 parts for 2 argnums: return a tuple"):
        assert_grad(lambda a, b: a * b, lambda a, b: b, (1.0, 2.0), argnums=(0, 1))
    assert_grad(lambda a, b: a * b, lambda a, b: (b, a), (1.0, 2.0), argnums=(0, 1))


def test_a_gradient_that_writes_into_its_argument():
    at = np.array([1.0, 2.0])
    assert_grad(lambda w: np.sum(w**2), lambda w: w.__imul__(2), (at,))
    assert_grad(lambda p: np.sum(p["w"] ** 2), lambda p: {"w": p["w"].__imul__(2)}, ({"w": at},))
    np.testing.assert_array_equal(at, [1, 2])


def test_complex_functions_that_have_no_gradient():
    for f in (lambda z: z**2, lambda z: np.abs(z) * np.ones(2)):
        with pytest.raises(NotDifferentiable, match=r"one real number.*check_grads"):
            assert_grad(f, lambda z: 2 * z, (1 + 2j,))
    check_grads(lambda z: z**2, (1 + 2j,))


# -- check_grads -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fun", "maker"),
    [
        (lambda x: x**2, lambda ans, x: lambda g: 4 * g * x),
        (np.cos, lambda ans, x: lambda g: g * np.sin(x)),
        (lambda x: x**3, lambda ans, x: lambda g: g * x**2),
    ],
)
@pytest.mark.parametrize("at", [np.zeros(3), np.array([0.0, 1.0])])
@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "fwd")])
def test_a_rule_that_is_wrong_but_where_it_is_zero(fun, maker, at, modes):
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(npgrad.primitive(fun).defvjp(maker), (at,), order=1, modes=modes)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda x: x**2, np.zeros(3)),
        (np.cos, np.zeros(3)),
        (lambda x: np.sum(x[:1]), np.ones(3)),  # most entries have no part in it
        (lambda x: np.maximum(x, 0), np.array([1.0, -0.05])),
        (
            lambda x: np.arccos(x) * np.sqrt(1 - x),
            np.array([0.98, 0.0]),
        ),  # a point beside is outside
        (lambda x: 1e14 + 0 * x, np.ones(3)),
        (lambda x: x**2 + np.where(x > 0.0005, np.nan, 0), np.zeros(2) - 0.01),
    ],
)
def test_right_derivatives_that_are_zero_pass(f, at):
    check_grads(f, (at,), order=2)


@pytest.mark.parametrize(("size", "slope"), [(1e16, 100.0), (1e14, 1.5), (1e14, 1.0)])
def test_what_drowns_in_rounding_cannot_be_judged(size, slope):
    hidden = npgrad.primitive(lambda x: size + x).defvjp(lambda ans, x: lambda g: slope * g)
    with pytest.raises(AssertionError, match="cannot judge"):
        check_grads(hidden, (np.ones(3),), order=1)


def test_a_function_that_writes_into_its_arguments_is_judged_by_copies() -> None:
    def f(x, factor):
        x *= factor  # as old code scales in place
        factor += 1.0
        return np.sum(x**2)

    x, factor = np.array([1.0, 2.0]), np.array([2.0, 3.0])
    right = 2 * factor**2 * x
    for step in range(2):
        assert_grad(f, lambda x, factor: 2 * factor**2 * x, (x, factor))
        check_grads(f, (x, factor), order=2)
        np.testing.assert_allclose(finite_difference_grad(f, (x, factor)), right, rtol=1e-9)
        with pytest.raises(AssertionError, match="analytic gradient is wrong"):
            assert_grad(f, lambda x, factor: 2.02 * factor**2 * x, (x, factor))
        np.testing.assert_array_equal(x, [1.0, 2.0], err_msg=str(step))
        np.testing.assert_array_equal(factor, [2.0, 3.0], err_msg=str(step))


def test_check_grads_wraps_as_the_transforms_do() -> None:
    def f(x):
        buffer = np.zeros(2)
        buffer[0] = x[0] ** 2
        buffer[1] = x[1]
        return buffer.sum()

    check_grads(f, (np.array([0.1, 0.2]),))


@pytest.mark.parametrize(
    ("call", "says", "never"),
    [
        (lambda: npgrad.grad(np.sum)(np.zeros(3, [("a", float)])), "x['field']", "astype"),
        (lambda: npgrad.grad(np.sum)(np.zeros(3, "M8[s]")), "timedelta64", "astype"),
        (lambda: npgrad.grad(np.sum)(np.zeros(3, bool)), "astype", "timedelta64"),
        (lambda: npgrad.grad(lambda x: x.reshape(1, 1))(np.ones(1)), "out[0, 0]", "out[0] "),
        (
            lambda: npgrad.grad(lambda x: {(x[0], 1): 2.0}[(x[0], 1)])(np.ones(1)),
            "npgrad.value(x)",
            "register_vjp",
        ),
    ],
)
def test_messages_advise_what_can_be_done(call, says: str, never: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    text = " ".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert says in text
    assert never not in text


def test_an_argument_is_named_once() -> None:
    def f(a, b):
        a[0] = b[1]
        return np.sum(a * b)

    z = np.ones(3)
    with pytest.raises(npgrad.errors.InPlaceError, match="its argument 0,"):
        npgrad.grad(f, (0, 1))(z, z)
    with pytest.raises(npgrad.errors.InPlaceError, match="its argument a,"):
        npgrad.grad(f, ("a", "b"))(a=z, b=z)
