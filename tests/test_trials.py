"""Rules that use what their function remembers, or ignore an output, are refused where wrong."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import npgrad
from npgrad.errors import RuleError

X = np.array([0.3, 1.2, -0.7])
WORDS = "remembers of its last call"


def by_dict():
    kept = {}

    def cube(x):
        kept["slope"] = 3 * x**2
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x: lambda g: g * kept["slope"])


def by_closure():
    slope = None

    def cube(x):
        nonlocal slope
        slope = 3 * x**2
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x: lambda g: g * slope)


def by_buffer():
    buffer = np.empty(3)

    def cube(x):
        np.multiply(3 * x, x, out=buffer[: np.size(x)].reshape(np.shape(x)))
        return x**3

    return npgrad.primitive(cube).defvjp(
        lambda ans, x: lambda g: g * buffer[: np.size(g)].reshape(np.shape(g))
    )


class Cube:
    def __call__(self, x):
        self.slope = 3 * x**2
        return x**3

    def rule(self, ans, x):
        return lambda g: g * self.slope


def by_object():
    cube = Cube()
    return npgrad.primitive(cube.__call__).defvjp(cube.rule)


def by_part():
    """Half of the slope is computed in the rule: second order would not be zero, but half."""
    kept = {}

    def cube(x):
        kept["x"] = x
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x: lambda g: g * 3 * x * kept["x"])


def by_helper():
    kept = {}

    def cube(x):
        kept["slope"] = 3 * x**2
        return x**3

    def back(g):
        return g * kept["slope"]

    return npgrad.primitive(cube).defvjp(functools.partial(lambda back, ans, x: back, back))


def jointly():
    kept = {}

    def cube(x):
        kept["slope"] = 3 * x**2
        return x**3

    made = npgrad.primitive(cube)
    return made.defvjp_argnums(lambda which, ans, args, kwargs: lambda g: [g * kept["slope"]])


def by_own_attribute():
    def cube(x):
        cube.slope = 3 * x**2
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x: lambda g: g * cube.slope)


KEPT: dict[str, np.ndarray] = {}


def by_default():
    def cube(x):
        KEPT["slope"] = 3 * x**2
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x, kept=KEPT: lambda g: g * kept["slope"])


def by_keyword_default():
    def cube(x):
        KEPT["slope"] = 3 * x**2
        return x**3

    return npgrad.primitive(cube).defvjp(lambda ans, x, *, kept=KEPT: lambda g: g * kept["slope"])


MAKE = [
    by_dict, by_closure, by_buffer, by_object, by_part, by_helper, jointly, by_own_attribute,
    by_default, by_keyword_default,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKE, ids=lambda make: make.__name__)
def test_a_second_derivative_is_refused(make):
    p = make()
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(p(x)))(X), 3 * X**2)
    for second in (
        lambda: npgrad.hessian(lambda x: np.sum(p(x)))(X),
        lambda: npgrad.hvp(lambda x: np.sum(p(x)), X, X),
        lambda: npgrad.jacfwd(npgrad.jacfwd(p))(X),
        lambda: npgrad.grad(lambda x: np.sum(npgrad.grad(lambda x: np.sum(p(x)))(x)))(X),
    ):
        with pytest.raises(RuleError, match=WORDS):
            second()


@pytest.mark.parametrize("make", MAKE, ids=lambda make: make.__name__)
def test_two_calls_before_the_backward_pass_are_refused(make):
    p = make()
    with pytest.raises(RuleError, match=WORDS):
        npgrad.grad(lambda x: np.sum(p(x) + p(2 * x)))(X)
    with pytest.raises(RuleError, match=WORDS):
        npgrad.jacfwd(lambda x: p(x) + p(2 * x))(X)
    with pytest.raises(RuleError, match=WORDS):
        npgrad.grad(lambda x: np.sum(p(p(x))))(X)


def test_a_plain_call_in_between_counts():
    p = by_dict()
    _, pull = npgrad.vjp(p, X)
    p(X + 1)
    with pytest.raises(RuleError, match=WORDS):
        pull(np.ones(3))


def test_forward_rules():
    kept = {}

    def cube(x):
        kept["slope"] = 3 * x**2
        return x**3

    p = npgrad.primitive(cube).defjvp(lambda g, ans, x: g * kept["slope"])
    np.testing.assert_allclose(npgrad.jvp(p, (X,), (X,))[1], 3 * X**3)
    with pytest.raises(RuleError, match=f"forward rule.*{WORDS}"):
        npgrad.jvp(lambda x: npgrad.jvp(p, (x,), (X,))[1], (X,), (X,))


def test_numbers_and_symmetric_matrices_as_arguments():
    p = by_dict()
    with pytest.raises(RuleError, match=WORDS):
        npgrad.grad(npgrad.grad(p))(0.5)

    kept = {}

    def factored(a):
        kept["l"] = np.linalg.cholesky(a)  # raises for other than definite matrices
        return np.sum(np.log(np.diag(kept["l"])))

    p = npgrad.primitive(factored).defvjp(
        lambda ans, a: lambda g: g * 0.5 * np.linalg.inv(kept["l"] @ kept["l"].T)
    )
    a = np.array([[2.0, 0.3], [0.3, 1.0]])
    np.testing.assert_allclose(npgrad.grad(p)(a), 0.5 * np.linalg.inv(a), rtol=1e-13)
    with pytest.raises(RuleError, match=WORDS):
        npgrad.hessian(p)(a)


# -- what is right stays right ---------------------------------------------------------------------
WEIGHTS = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
SETTINGS = {"rate": 2.0}


def linear():
    p = npgrad.primitive(lambda x: WEIGHTS @ x)
    return p.defvjp(lambda ans, x: lambda g: WEIGHTS.T @ g), np.zeros((2, 3, 3))


def scaled():
    p = npgrad.primitive(lambda x: SETTINGS["rate"] * x)
    return p.defvjp(lambda ans, x: lambda g: SETTINGS["rate"] * g), np.zeros((3, 3, 3))


def counted():
    calls = []

    def exp(x):
        calls.append(1)
        return np.array([math.exp(v) for v in x])

    p = npgrad.primitive(exp)
    made = p.defvjp(lambda ans, x: lambda g: g * ans if calls else g)
    want = np.zeros((3, 3, 3))
    want[[0, 1, 2], [0, 1, 2], [0, 1, 2]] = np.exp(X)
    return made, want


def fails_elsewhere():
    """It takes these numbers only, so nothing can be tried; its rule uses the arguments alone."""

    def exp(x):
        if not np.array_equal(x, X):
            raise ValueError("unknown numbers")
        return np.exp(x)

    p = npgrad.primitive(exp)
    want = np.zeros((3, 3, 3))
    want[[0, 1, 2], [0, 1, 2], [0, 1, 2]] = np.exp(X)
    return p.defvjp(lambda ans, x: lambda g: g * ans * SETTINGS["rate"] / 2), want


@pytest.mark.parametrize("make", [linear, scaled, counted, fails_elsewhere])
def test_constants_that_a_rule_uses_are_no_memory(make):
    p, want = make()
    np.testing.assert_allclose(npgrad.jacobian(npgrad.jacobian(p))(X), want, rtol=1e-13)
    np.testing.assert_allclose(npgrad.jacfwd(npgrad.jacfwd(p))(X), want, rtol=1e-13)
    got = npgrad.grad(lambda x: np.sum(p(x)) + np.sum(p(x)))(X)
    np.testing.assert_allclose(got, 2 * npgrad.grad(lambda x: np.sum(p(x)))(X), rtol=1e-13)


def test_a_rule_of_nothing_but_its_arguments_costs_no_call():
    calls = 0

    def exp(x):
        nonlocal calls
        calls += 1
        return np.array([math.exp(v) for v in x])

    p = npgrad.primitive(exp).defvjp(lambda ans, x: lambda g: g * ans * np.cos(0))
    npgrad.hessian(lambda x: np.sum(p(x) * p(2 * x)))(X)
    assert calls == 2


def test_it_is_tried_once():
    calls = 0

    def scale(x):
        nonlocal calls
        calls += 1
        return 2.0 * x

    p = npgrad.primitive(scale).defvjp(lambda ans, x: lambda g: g * SETTINGS["rate"])
    for _ in range(3):
        npgrad.grad(lambda x: np.sum(p(p(x))))(X)
    assert calls == 7  # six, and one with other numbers


# -- outputs that a rule ignores -------------------------------------------------------------------
def with_slope():
    """The slope is an output, to be used in the rule; its own derivative is not in the rule."""
    p = npgrad.primitive(lambda x: (x**3, 3 * x**2))
    return p.defvjp(lambda ans, x: lambda g: g[0] * ans[1])


def test_an_output_that_was_used_is_not_ignored():
    p = with_slope()
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(p(x)[0]))(X), 3 * X**2)
    lost = r"made zeros of the cotangent of ans\[1\]"
    for call in (
        lambda: npgrad.grad(lambda x: np.sum(with_slope()(x)[1]))(X),
        lambda: npgrad.jacfwd(lambda x: with_slope()(x)[1])(X),
        lambda: npgrad.hessian(lambda x: np.sum(with_slope()(x)[0]))(X),
        lambda: npgrad.hvp(lambda x: np.sum(with_slope()(x)[0]), X, X),
        lambda: npgrad.grad(npgrad.grad(lambda x: with_slope()(x)[0]))(np.float32(0.5)),
    ):
        with pytest.raises(RuleError, match=lost):
            call()
    for _ in range(2):  # once refused it is not forgotten
        with pytest.raises(RuleError, match=lost):
            npgrad.grad(lambda x: np.sum(p(x)[1]))(X)


def test_by_name_in_a_dict_and_beside_a_used_one():
    p = npgrad.primitive(lambda x: {"y": np.sin(x), "steps": 3, "norm": np.sum(x * x)})
    p.defvjp(lambda ans, x: lambda g: g["y"] * np.cos(x))
    f = lambda x: np.sum(p(x)["y"]) * p(x)["norm"]
    with pytest.raises(RuleError, match=r"ans\['norm'\]"):
        npgrad.grad(f)(X)
    constant = lambda x: np.sum(p(x)["y"]) * npgrad.value(p(x)["norm"])
    np.testing.assert_allclose(npgrad.grad(constant)(X), np.cos(X) * np.sum(X * X))


STEPS = {
    "an output of its own": (lambda x: (x**2, 0 * x + 5.0), lambda ans, x: lambda g: 2 * x * g[0]),
    "a count as a float": (
        lambda x: (x**2, np.floor(10 * x)),
        lambda ans, x: lambda g: 2 * x * g[0],
    ),
    "both": (lambda x: (x**2, 2 * x), lambda ans, x: lambda g: 2 * x * g[0] + 2 * g[1]),
    "random": (
        lambda x: (x**2, np.random.default_rng().normal(size=3)),
        lambda ans, x: lambda g: 2 * x * g[0],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_outputs_without_a_derivative_pass(name):
    fun, maker = STEPS[name]
    p = npgrad.primitive(fun).defvjp(maker)
    got = npgrad.grad(lambda x: np.sum(p(x)[0]) + 0.0 * np.sum(p(x)[1]))(X)
    np.testing.assert_allclose(got, 2 * X)


def test_an_output_is_tried_once():
    calls = []

    def fun(x):
        calls.append(1)
        return x**2, 2 * x

    rules = []

    def maker(ans, x):
        rules.append(1)
        return lambda g: 2 * x * g[0] + 2 * g[1]

    p = npgrad.primitive(fun).defvjp(maker)
    p.rules.trials.memory = 0
    for _ in range(3):
        npgrad.grad(lambda x: np.sum(p(x)[0]) + np.sum(p(x)[1]))(X)
    assert len(calls) == 6 and len(rules) == 6 + 2  # the rule of each output alone, once


# -- rules that write ------------------------------------------------------------------------------
WRITES = {
    "argument": lambda ans, x: lambda g: (x.__imul__(2), 2 * g)[1],
    "maker": lambda ans, x: (x.__imul__(2), lambda g: 2 * g)[1],
    "answer": lambda ans, x: lambda g: (ans.__imul__(2), 2 * g)[1],
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("size", [3, 300_000])
def test_a_reverse_rule_must_not_write_into_what_it_is_given(name, size):
    p = npgrad.primitive(lambda x: x * 2).defvjp(WRITES[name])
    x = np.linspace(1.0, 2.0, size)
    for transform in (
        lambda: npgrad.grad(lambda x: np.sum(x**2) + np.sum(p(x)))(x),
        lambda: npgrad.grad(lambda x: np.sum(npgrad.grad(lambda x: np.sum(p(x) ** 2))(x)))(x),
    ):
        with pytest.raises(
            (RuleError, npgrad.errors.InPlaceError), match=r"wrote into|writes? into"
        ):
            transform()
    if size == 3:  # a large array is not copied, and the rule wrote into the caller's
        np.testing.assert_array_equal(x, np.linspace(1.0, 2.0, size))


def test_a_forward_rule_must_not_write_into_what_it_is_given():
    p = npgrad.primitive(lambda x: x * 2)
    p.defjvp(lambda g, ans, x: (x.__imul__(2), 2 * g)[1])
    with pytest.raises(RuleError, match=r"a forward rule .* wrote into one of its arguments"):
        npgrad.jvp(lambda x: p(x) * np.sin(x), (X,), (X,))
