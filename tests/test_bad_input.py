"""Bad input to every transform: outputs, arguments, structures, dtypes, side effects; and None."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import npgrad
from npgrad.errors import NotDifferentiable, NpgradError, ShapeMismatch
from npgrad.testing import assert_grad, check_grads, finite_difference_grad
from npgrad.transforms.trees import flatten

X = np.array([0.3, 1.2, -0.7])
Y = np.array([[1.0, 2.0], [3.0, 0.5]])

# Each takes a function and its argument; `scalar` ones need a function that returns a number.
SCALAR = {
    "grad": lambda f, x: npgrad.grad(f)(x),
    "value_and_grad": lambda f, x: npgrad.value_and_grad(f)(x),
    "hessian": lambda f, x: npgrad.hessian(f)(x),
    "hvp": lambda f, x: npgrad.hvp(f, x, x),
}
ARRAY = {
    "elementwise_grad": lambda f, x: npgrad.elementwise_grad(f)(x),
    "jacobian": lambda f, x: npgrad.jacobian(f)(x),
    "jacrev": lambda f, x: npgrad.jacrev(f)(x),
    "jacfwd": lambda f, x: npgrad.jacfwd(f)(x),
    "vjp": lambda f, x: npgrad.vjp(f, x),
    "jvp": lambda f, x: npgrad.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: npgrad.linearize(f, x),
}
EVERY = {**SCALAR, **ARRAY}


class Holder:
    """An object that no transform can look into."""

    def __init__(self, x):
        self.x = x


OUTPUTS = {
    "a generator": lambda x: (v for v in x),
    "an iterator in a list": lambda x: [iter(x)],
    "a map": lambda x: map(np.sin, x),
    "a set": lambda x: {1.0, 2.0},
    "an object": Holder,
    "an object in a dict": lambda x: {"held": Holder(x)},
    "a function": lambda x: lambda: x,
    "a count": lambda x: np.sum(x > 0),
    "a comparison": lambda x: x > 0,
    "positions in a container": lambda x: [np.argsort(x), {"n": np.argmax(x)}],
}


@pytest.mark.parametrize("transform", EVERY)
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_that_have_no_gradient(name, transform):
    with pytest.raises(NotDifferentiable, match="npgrad"):
        EVERY[transform](OUTPUTS[name], X)


@pytest.mark.parametrize("transform", SCALAR)
@pytest.mark.parametrize(
    "out", [lambda x: x, lambda x: x[:1], lambda x: [np.sum(x)], lambda x: None]
)
def test_outputs_that_are_no_number(out, transform):
    with pytest.raises(NotDifferentiable, match=r"scalar|one number"):
        SCALAR[transform](out, X)


@pytest.mark.parametrize("transform", EVERY)
@pytest.mark.parametrize(
    "bad",
    [
        np.arange(3), np.array([True]), True, "text", b"bytes", None, {1.0}, range(2), object(),
        [1.0, "text"], {"a": X, "n": np.arange(2)}, np.array([1, None]), (v for v in (1.0,)),
        np.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]), np.datetime64("2000-01-01"),
    ],
    ids=lambda bad: type(bad).__name__,
)  # fmt: skip
def test_arguments_that_have_no_gradient(bad, transform):
    with pytest.raises(NotDifferentiable, match=r"argument 0.*no gradient"):
        EVERY[transform](lambda x: 1.0, bad)


@pytest.mark.parametrize("transform", EVERY)
@pytest.mark.parametrize("make", [np.matrix, np.ma.array])
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_whose_rules_nobody_knows(make, transform):
    with pytest.raises(TypeError, match="subclass of ndarray"):
        EVERY[transform](np.sum, make(Y))


@pytest.mark.parametrize("transform", EVERY)
def test_what_is_no_function(transform):
    with pytest.raises(TypeError, match="a function is needed"):
        EVERY[transform](X, X)


def test_tangents_and_cotangents_that_do_not_fit():
    tree = {"w": X, "b": [Y, 2.0]}
    f = lambda t: {"y": t["w"] * t["b"][1], "z": np.sum(t["b"][0])}
    _, pull = npgrad.vjp(f, tree)
    _, push = npgrad.linearize(f, tree)
    for bad in ({"y": X}, [X, 1.0], {"y": X, "z": [1.0]}, X, {"y": {"y": X}, "z": 1.0}):
        with pytest.raises(ShapeMismatch, match=r"the cotangent must have the structure.*'y': \*"):
            pull(bad)
    for bad in ({"w": X}, {"w": X, "b": (Y, 2.0)}, {"w": X, "b": [Y]}, X):
        for call in (
            lambda bad: push(bad),
            lambda bad: npgrad.jvp(f, (tree,), (bad,)),
            lambda bad: npgrad.hvp(lambda t: f(t)["z"], tree, bad),
        ):
            with pytest.raises(ShapeMismatch, match=r"tangent 0 must have the structure.*'w': \*"):
                call(bad)
    for bad, error in (
        (X[:2], ValueError),
        (X * 1j, TypeError),
        (np.array(["a", "b", "c"]), TypeError),
    ):
        with pytest.raises(error, match=r"the cotangent\['y'\]"):
            pull({"y": bad, "z": 1.0})
        with pytest.raises(error, match=r"tangent 0\['w'\]"):
            push({"w": bad, "b": [Y, 2.0]})


@pytest.mark.parametrize("transform", EVERY)
def test_side_effects_happen_once_and_keep_constants(transform):
    seen = []

    def f(x):
        seen.append(x * 2)
        return np.sum(x**3)

    EVERY[transform](f, X)
    assert len(seen) == 1
    np.testing.assert_array_equal(np.asarray(seen[0]), 2 * X)  # its doors are open by now


@pytest.mark.parametrize("transform", EVERY)
def test_the_error_of_the_function_comes_through(transform):
    def f(x):
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        EVERY[transform](f, X)
    assert type(np.sin(X)) is np.ndarray
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(x**2))(X), 2 * X)


@pytest.mark.parametrize("transform", ["grad", "jacobian", "hessian", "elementwise_grad"])
@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [
        ("scale", TypeError, r"no argument of that name was passed; pass scale="),
        ("nothing", TypeError, r"no argument of that name was passed$"),
        ("rest", TypeError, r"no argument of that name was passed$"),
        (5, TypeError, "called with 1 positional"),
        ((0, -1), ValueError, "twice"),
        (("x", 0), ValueError, "twice"),
        ((0, 0), ValueError, "twice"),
        ({0, 1}, TypeError, "tuple of them"),
        ({"x": 0}, TypeError, "tuple of them"),
        ((), TypeError, "tuple of them"),
        (1.0, TypeError, "tuple of them"),
        (True, TypeError, "tuple of them"),
        ((0, None), TypeError, "tuple of them"),
    ],
)
def test_wrong_argnums(argnums, error, message, transform):
    def f(x, *rest, scale=1.0):
        return scale * np.sum(x) + sum(rest)

    with pytest.raises(error, match=message):
        getattr(npgrad, transform)(f, argnums)(X)


@pytest.mark.parametrize("argnums", [np.int64(1), np.array(1), [1, 0], range(2), (-1,)])
def test_argnums_as_numpy_and_sequences(argnums):
    f = lambda x, y: np.sum(x) * y
    got = npgrad.grad(f, argnums)(X, 2.0)
    by = {0: np.full(3, 2.0), 1: np.sum(X)}
    keys = [1] if not np.ndim(argnums) else [k % 2 for k in argnums]
    for found, key in zip([got] if not np.ndim(argnums) else got, keys, strict=True):
        np.testing.assert_allclose(found, by[key])


# -- checks ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "bad", ["text", [1.0, {"n": "text"}], {1.0}, range(2), True, None, object()]
)
def test_checks_of_what_has_no_gradient(bad):
    for call in (
        lambda: finite_difference_grad(lambda x: 1.0, (bad,)),
        lambda: assert_grad(lambda x: 1.0, 0.0, (bad,)),
    ):
        with pytest.raises(NotDifferentiable, match=r"argument 0.* is "):
            call()
    with pytest.raises(NotDifferentiable, match=r"floating or complex argument"):
        check_grads(lambda x: 1.0, ([1, 2],))


@pytest.mark.parametrize("argnums", [1, -2, (0, 1)])
def test_checks_by_an_argument_that_is_not_there(argnums):
    for call in (
        lambda: finite_difference_grad(np.sin, (1.0,), argnums),
        lambda: assert_grad(np.sin, np.cos, (1.0,), argnums),
    ):
        with pytest.raises(TypeError, match="there are 1 arguments"):
            call()


# -- None ------------------------------------------------------------------------------------------
class Point(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    bias: Any = None


TREES = {
    "dict": {"w": X, "bias": None, "more": [None, Y]},
    "namedtuple": Point(None, X),
    "dataclass": Layer(X),
    "list": [None, None, X, [], None],
}


def leaves(tree):
    if isinstance(tree, np.ndarray) or type(tree) is npgrad.GradArray:
        return [tree]
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    elif isinstance(tree, Layer):
        tree = [tree.w, tree.bias]
    return [leaf for part in tree if part is not None for leaf in leaves(part)]


def cubes(tree):
    return sum(np.sum(leaf**3) for leaf in leaves(tree))


def nones(tree):
    return [part is None for part in flatten(tree)[0]]


@pytest.mark.parametrize("name", TREES)
def test_none_in_a_container_has_none_for_its_gradient(name):
    tree = TREES[name]
    found = [
        npgrad.grad(cubes)(tree),
        npgrad.value_and_grad(cubes)(tree)[1],
        npgrad.jacrev(cubes)(tree),
        npgrad.jacfwd(cubes)(tree),
        npgrad.vjp(cubes, tree)[1](1.0)[0],
        npgrad.elementwise_grad(cubes)(tree),
        npgrad.grad(npgrad.checkpoint(cubes))(tree),
    ]
    for got in found:
        assert type(got) is type(tree) and nones(got) == nones(tree)
        for one, leaf in zip(leaves(got), leaves(tree), strict=True):
            np.testing.assert_allclose(one, 3 * leaf**2)
    assert npgrad.jvp(cubes, (tree,), (tree,))[1] == pytest.approx(
        sum(np.sum(3 * leaf**3) for leaf in leaves(tree))
    )
    for one, leaf in zip(leaves(npgrad.hvp(cubes, tree, tree)), leaves(tree), strict=True):
        np.testing.assert_allclose(one, 6 * leaf**2)
    check_grads(cubes, (tree,))
    assert_grad(cubes, npgrad.grad(cubes), (tree,))
    with pytest.raises(AssertionError, match="the analytic gradient is wrong"):
        assert_grad(cubes, npgrad.grad(lambda t: 1.01 * cubes(t)), (tree,))


def test_none_beside_arrays_in_the_output_and_in_tangents():
    out, pull = npgrad.vjp(lambda x: [None, x * 2], X)
    assert out[0] is None
    np.testing.assert_allclose(pull([None, X])[0], 2 * X)
    jacobian = npgrad.jacobian(lambda x: {"n": None, "y": x * 2})(X)
    assert jacobian["n"] is None
    np.testing.assert_allclose(jacobian["y"], 2 * np.eye(3))
    _, push = npgrad.linearize(cubes, TREES["dict"])
    assert push({"w": None, "bias": None, "more": [None, None]}) == 0.0
    with pytest.raises(NpgradError, match="an array where its argument has None"):
        push({"w": X, "bias": X, "more": [None, Y]})
    with pytest.raises(NotDifferentiable, match=r"argument 0\['n'\] is builtins\.str"):
        npgrad.grad(cubes)({"a": None, "n": "text"})


DURATIONS = np.array([10**9, 2 * 10**9], "m8[ns]")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * DURATIONS).sum() / np.timedelta64(1, "s"),
        lambda x: (DURATIONS / x).sum() / np.timedelta64(1, "s"),
        lambda x: np.multiply.outer(x, DURATIONS).sum() / np.timedelta64(1, "s"),
        lambda x: np.outer(x, DURATIONS).sum() / np.timedelta64(1, "s"),
        lambda x: x[0] * np.timedelta64(1, "s") / np.timedelta64(1, "s"),
        lambda x: np.timedelta64(1, "s") * x[0] / np.timedelta64(1, "s"),
        lambda x: (np.datetime64("2020-01-01") + x * DURATIONS)[0],
    ],
)
def test_recorded_numbers_times_durations(f):
    """Whole nanoseconds have no derivative: it was 0, where the numbers' is not."""
    x = np.array([0.8, 1.3])
    for transform in (npgrad.grad(f), lambda x: npgrad.jvp(f, (x,), (np.ones(2),))):
        with pytest.raises(TypeError, match=r"timedelta64\[.*test_bad_input\.py.*np\.timedelta64"):
            transform(x)
    seconds = DURATIONS / np.timedelta64(1, "s")
    np.testing.assert_allclose(npgrad.grad(lambda x: (x * seconds).sum())(x), [1.0, 2.0])
    np.testing.assert_allclose(
        npgrad.grad(lambda x: (x * (DURATIONS[0] < DURATIONS)).sum())(x), [0, 1]
    )
