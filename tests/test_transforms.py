"""The transforms as people call them: arguments, containers, outputs, nesting, pickling."""

from __future__ import annotations

import collections
import copy
import dataclasses
import operator
import pickle
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest

import npgrad
from npgrad.errors import DTypeMismatch, GradientLost, GraphFreed, NotDifferentiable, ShapeMismatch

X = np.array([0.3, 1.2, -0.7])
Y = np.array([2.0, 0.5, 1.5])


def loss(x, y=1.0, *, w=2.0):
    return np.sum(w * x**2 * y)


class Point(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Params:
    w: object
    b: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object


# -- argnums ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argnums", "want"),
    [
        (0, 2 * 3.0 * X * Y),
        (-1, 3.0 * X**2),
        (1, 3.0 * X**2),
        ("y", 3.0 * X**2),
        ("w", np.sum(X**2 * Y)),
        ((0, "w"), (2 * 3.0 * X * Y, np.sum(X**2 * Y))),
        ((1, 0), (3.0 * X**2, 2 * 3.0 * X * Y)),
        ([0], (2 * 3.0 * X * Y,)),
    ],
)
@pytest.mark.parametrize("transform", [npgrad.grad, npgrad.jacobian, npgrad.value_and_grad])
def test_argnums(transform, argnums, want):
    got = transform(loss, argnums=argnums)(X, Y, w=3.0)
    if transform is npgrad.value_and_grad:
        value, got = got
        assert value == loss(X, Y, w=3.0)
    assert isinstance(got, tuple) == isinstance(want, tuple)
    for a, b in zip(*((got, want) if isinstance(want, tuple) else ((got,), (want,))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_an_argument_by_number_that_was_passed_by_name_and_the_reverse():
    np.testing.assert_allclose(npgrad.grad(loss, 1)(X, y=Y), 2 * X**2)
    np.testing.assert_allclose(npgrad.grad(loss, "x")(X, Y), 4 * X * Y)
    np.testing.assert_allclose(npgrad.grad(loss, "x")(x=X, y=Y), 4 * X * Y)


@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [
        (2, TypeError, "2 positional arguments"),
        (-3, TypeError, "2 positional arguments"),
        ("z", TypeError, "no argument of that name"),
        ((), TypeError, "argnums is"),
        (1.0, TypeError, "argnums is"),
        (True, TypeError, "argnums is"),
        ((0, 0), ValueError, "twice"),
        ((0, -2), ValueError, "twice"),
        ((1, "y"), ValueError, "twice"),
    ],
)
def test_wrong_argnums(argnums, error, message):
    with pytest.raises(error, match=message):
        npgrad.grad(loss, argnums=argnums)(X, Y)


def test_not_a_function():
    with pytest.raises(TypeError, match="a function is needed"):
        npgrad.grad(3.0)


# -- has_aux, holomorphic --------------------------------------------------------------------------
def test_aux_comes_back_plain():
    f = lambda x: (np.sum(x**2), {"y": x * 2, "text": "seen", "n": 3})
    g, aux = npgrad.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(g, 2 * X)
    assert type(aux["y"]) is np.ndarray and aux["text"] == "seen" and aux["n"] == 3
    (value, aux), g = npgrad.value_and_grad(f, has_aux=True)(X)
    assert value == np.sum(X**2) and aux["n"] == 3
    with pytest.raises(TypeError, match="aux"):
        npgrad.grad(lambda x: np.sum(x), has_aux=True)(X)


def test_aux_stays_recorded_inside_another_differentiation():
    def outer(x):
        _, aux = npgrad.grad(lambda z: (np.sum(z**2), z * 3), has_aux=True)(x)
        return np.sum(aux * X)

    np.testing.assert_allclose(npgrad.grad(outer)(X), 3 * X)


def test_holomorphic():
    z = X + 1j * Y
    got = npgrad.grad(lambda z: np.sum(np.exp(z) * z), holomorphic=True)(z)
    np.testing.assert_allclose(got, np.exp(z) * (z + 1))
    with pytest.raises(TypeError, match="holomorphic=True"):
        npgrad.grad(lambda z: np.sum(np.exp(z)))(z)
    with pytest.raises(TypeError, match="complex arguments"):
        npgrad.grad(lambda x: np.sum(np.exp(1j * x)), holomorphic=True)(X)


# -- containers ------------------------------------------------------------------------------------
CONTAINERS = [
    [X, Y],
    (X, [Y]),
    {"a": X, "b": {"c": Y}},
    collections.OrderedDict(b=X, a=Y),
    Point(X, (Y, 2.0)),
    Params(X, {"deep": [Y, Point(Y, X)]}),
    Frozen(X),
    [],
]


@pytest.mark.parametrize("tree", CONTAINERS, ids=lambda t: type(t).__name__)
def test_gradients_have_the_structure_of_the_argument(tree):
    import optree

    from npgrad.transforms.trees import flatten

    def f(t):
        return sum([np.sum(p**3) for p in flatten(t)[0]], 0.0 * np.sum(X))

    got = npgrad.grad(f)(tree)
    assert type(got) is type(tree)
    parts, rebuild = flatten(tree)
    for a, b in zip(flatten(got)[0], parts, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, 3 * b**2)
    tangent = rebuild([np.ones_like(p) for p in parts])
    if parts:
        _, t = npgrad.jvp(f, (tree,), (tangent,))
        assert t == pytest.approx(sum(np.sum(3 * np.asarray(p) ** 2) for p in parts))
        hv = npgrad.hvp(f, tree, tangent)
        for a, b in zip(flatten(hv)[0], parts, strict=True):
            np.testing.assert_allclose(a, 6 * b)
    assert optree is not None


class Registered:
    def __init__(self, x):
        self.x = x


def test_a_registered_class():
    import optree

    optree.register_pytree_node(
        Registered, lambda r: ((r.x,), None), lambda _, c: Registered(*c), namespace="npgrad"
    )
    got = npgrad.grad(lambda r: np.sum(r.x**2))(Registered(X))
    assert type(got) is Registered
    np.testing.assert_allclose(got.x, 2 * X)


def test_outputs_in_containers():
    f = lambda x: {"a": x * 2, "b": (np.sum(x), Point(x[0], "text"))}
    out, pull = npgrad.vjp(f, X)
    assert out["b"][1] == Point(X[0], "text") and type(out["a"]) is np.ndarray
    (g,) = pull({"a": Y, "b": (1.0, Point(10.0, None))})
    np.testing.assert_allclose(g, 2 * Y + 1.0 + [10, 0, 0])
    out, tangent = npgrad.jvp(f, (X,), (Y,))
    np.testing.assert_allclose(tangent["a"], 2 * Y)
    assert tangent["b"][0] == np.sum(Y)
    jac = npgrad.jacobian(lambda p: {"y": p["w"] * p["b"]})({"w": X, "b": 2.0})
    np.testing.assert_allclose(jac["y"]["w"], 2 * np.eye(3))
    np.testing.assert_allclose(jac["y"]["b"], X)


def test_a_structure_that_does_not_fit():
    _, pull = npgrad.vjp(lambda x: {"a": x, "b": x}, X)
    for wrong in ({"a": Y}, [Y, Y], Y, {"a": Y, "c": Y}):
        with pytest.raises(ShapeMismatch, match="structure"):
            pull(wrong)
    with pytest.raises(ShapeMismatch, match="structure"):
        npgrad.jvp(lambda t: t[0], ([X, Y],), ((X, Y),))


# -- cotangents and tangents that do not fit -------------------------------------------------------
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.ones(2), ValueError),
        (1.0, ValueError),
        (np.ones(3) * 1j, TypeError),
        (np.array(["a", "b", "c"]), TypeError),
    ],
)
def test_cotangents_and_tangents_that_do_not_fit(bad, error):
    _, pull = npgrad.vjp(np.sin, X)
    with pytest.raises(error):
        pull(bad)
    _, push = npgrad.linearize(np.sin, X)
    with pytest.raises(error):
        push(bad)
    with pytest.raises(error):
        npgrad.jvp(np.sin, (X,), (bad,))
    assert issubclass(ShapeMismatch, ValueError) and issubclass(DTypeMismatch, TypeError)


def test_float32_cotangents_and_tangents_are_cast():
    (g,) = npgrad.vjp(np.sin, X)[1](np.ones(3, np.float32))
    assert g.dtype == np.float64
    assert npgrad.jvp(np.sin, (X.astype(np.float32),), (Y,))[1].dtype == np.float32


def test_the_number_of_tangents():
    with pytest.raises(ValueError, match="2 arguments need 2 tangents"):
        npgrad.jvp(lambda x, y: x * y, (X, Y), (X,))
    with pytest.raises(TypeError, match="tuples"):
        npgrad.jvp(np.sin, X, Y)


def test_pull_and_push_any_number_of_times():
    out, pull = npgrad.vjp(lambda x, y: x * y, X, Y)
    np.testing.assert_array_equal(out, X * Y)
    for scale in (1.0, 2.0):
        gx, gy = pull(np.full(3, scale))
        np.testing.assert_allclose(gx, scale * Y)
        np.testing.assert_allclose(gy, scale * X)
    _, push = npgrad.linearize(lambda x, y: x * y, X, Y)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(push(scale * X, 0 * Y), scale * X * Y)


def test_results_do_not_alias():
    cotangent = np.ones(3)
    _, pull = npgrad.vjp(lambda x: x, X)
    (g,) = pull(cotangent)
    g[0] = 7.0
    assert cotangent[0] == 1.0 and X[0] == 0.3
    out, _ = npgrad.vjp(lambda x: x, X)
    out[0] = 9.0
    assert X[0] == 0.3


# -- outputs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x * 2, r"scalar output.*shape \(3,\)"),
        (lambda x: x[:1], r"out\[0\]"),
        (lambda x: None, "NoneType"),
        (lambda x: [np.sum(x)], "list of 1"),
        (lambda x: (np.sum(x), 3), "tuple of 2.*has_aux"),
        (lambda x: np.sum(x) * 1j, "complex-valued"),
        (lambda x: (v for v in x), "generator"),
        (lambda x: "text", "str"),
    ],
)
def test_outputs_that_have_no_gradient(f, message):
    for transform in (npgrad.grad, npgrad.value_and_grad):
        with pytest.raises(TypeError, match=message):
            transform(f)(X)


@pytest.mark.parametrize("out", [lambda x: (v for v in x), lambda x: {1, 2}, lambda x: [iter(x)]])
def test_what_could_hide_recorded_values_is_refused(out):
    for call in (
        lambda: npgrad.vjp(out, X),
        lambda: npgrad.jvp(out, (X,), (Y,)),
        lambda: npgrad.elementwise_grad(out)(X),
        lambda: npgrad.jacobian(out)(X),
    ):
        with pytest.raises(NotDifferentiable, match=r"arrays|numbers"):
            call()


def test_an_output_independent_of_the_input():
    for f in (lambda x: 3.0, lambda x: 3, lambda x: np.float64(2.0), lambda x: np.sum(Y)):
        value, g = npgrad.value_and_grad(f)(X)
        assert value == f(X)
        np.testing.assert_array_equal(g, np.zeros(3))
    out, tangent = npgrad.jvp(lambda x: Y, (X,), (X,))
    np.testing.assert_array_equal(out, Y)
    np.testing.assert_array_equal(tangent, np.zeros(3))
    np.testing.assert_array_equal(npgrad.jacobian(lambda x: Y)(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(npgrad.vjp(lambda x: Y, X)[1](Y)[0], np.zeros(3))
    np.testing.assert_array_equal(npgrad.hessian(lambda x: np.sum(x))(X), np.zeros((3, 3)))


def test_a_complex_jacobian_is_refused():
    with pytest.raises(TypeError, match="complex"):
        npgrad.jacobian(lambda x: x * 1j)(X)
    with pytest.raises(TypeError, match="complex"):
        npgrad.jacfwd(lambda z: np.abs(z))(X * 1j)
    with pytest.raises(TypeError, match="complex-valued"):
        npgrad.elementwise_grad(lambda x: np.exp(1j * x))(X)


# -- arguments -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "bad", [np.arange(3), np.array([True, False]), "text", None, np.array("a")]
)
def test_arguments_that_have_no_gradient(bad):
    with pytest.raises(TypeError):
        npgrad.grad(lambda x: np.sum(X))(bad)


def test_python_numbers_are_floats():
    assert npgrad.grad(lambda x: x**2)(3) == 6.0
    assert npgrad.grad(lambda x: x**2)(np.float32(3)).dtype == np.float32
    with pytest.raises(TypeError, match="astype"):
        npgrad.grad(lambda x: np.sum(x))(np.arange(3))
    np.testing.assert_array_equal(npgrad.grad(lambda x, n: np.sum(x[:n]))(X, 2), [1, 1, 0])


def test_side_effects_keep_what_they_keep():
    seen = []

    def f(x):
        seen.append(x)
        return np.sum(x**2)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    (kept,) = seen
    np.testing.assert_array_equal(npgrad.value(kept), X)
    y = np.sum(kept * kept)  # a recording of its own, after the differentiation
    assert type(y) is npgrad.GradArray

    def leaks(x):
        seen.append(float(x[0]))
        return np.sum(x**2)

    with pytest.raises(GradientLost):
        npgrad.grad(leaks, wrap=False)(X)

    stored = npgrad.array(X)
    z = np.sum(np.sin(stored))
    z.backward()
    with pytest.raises(GraphFreed):
        z.backward()


def test_an_exception_in_the_function_passes_through():
    class Odd(Exception):
        pass

    def f(x):
        raise Odd("mine")

    for call in (
        lambda: npgrad.grad(f)(X),
        lambda: npgrad.vjp(f, X),
        lambda: npgrad.jacobian(f)(X),
    ):
        with pytest.raises(Odd, match="mine"):
            call()


# -- jacobians -------------------------------------------------------------------------------------
MATRIX = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("transform", [npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd])
@pytest.mark.parametrize("chunk", [None, 1, 2, 100])
def test_jacobians_and_chunks(transform, chunk):
    f = lambda x: np.outer(MATRIX @ x, np.sin(x))
    want = np.einsum("ik,j->ijk", MATRIX, np.sin(X)) + np.einsum(
        "i,jk->ijk", MATRIX @ X, np.diag(np.cos(X))
    )
    got = transform(f, chunk=chunk)(X)
    assert got.shape == (4, 3, 3)
    np.testing.assert_allclose(got, want, atol=1e-14)


def test_chunks_must_be_positive():
    with pytest.raises(ValueError, match="chunk"):
        npgrad.jacobian(lambda x: x, chunk=0)(X)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0)])
def test_jacobians_of_odd_shapes(shape):
    x = np.ones(shape)
    for transform in (npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd):
        got = transform(lambda x: np.stack([x, x * 2]))(x)
        assert np.shape(got) == (2, *shape, *shape)
    h = npgrad.hessian(lambda x: np.sum(x**3))(x)
    np.testing.assert_allclose(np.reshape(h, (x.size, x.size)), 6 * np.eye(x.size))


def test_the_jacobian_of_a_number_is_a_number():
    for transform in (npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd):
        got = transform(lambda x: x**2)(3.0)
        assert type(got) is np.float64 and got == 6.0
    assert type(npgrad.hessian(lambda x: x**3)(3.0)) is np.float64


def test_hessians_of_several_arguments():
    f = lambda x, y: np.sum(x**2 * y)
    (xx, xy), (yx, yy) = npgrad.hessian(f, (0, 1))(X, Y)
    np.testing.assert_allclose(xx, np.diag(2 * Y))
    np.testing.assert_allclose(xy, np.diag(2 * X))
    np.testing.assert_allclose(yx, np.diag(2 * X))
    np.testing.assert_allclose(yy, np.zeros((3, 3)))
    np.testing.assert_allclose(npgrad.hessian(f, 1, chunk=2)(X, Y), np.zeros((3, 3)))
    np.testing.assert_allclose(npgrad.hvp(lambda x: f(x, Y), X, Y), 2 * Y * Y)


def test_progress_shows_a_bar_if_tqdm_is_there(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    got = npgrad.jacobian(lambda x: x**2, progress=True, chunk=1)(X)
    np.testing.assert_allclose(got, np.diag(2 * X))
    assert "row" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    np.testing.assert_allclose(npgrad.jacobian(lambda x: x**2, progress=True)(X), np.diag(2 * X))
    np.testing.assert_allclose(
        npgrad.hessian(lambda x: np.sum(x**3), progress=True)(X), np.diag(6 * X)
    )


def test_elementwise_grad():
    np.testing.assert_allclose(npgrad.elementwise_grad(np.tanh)(X), 1 - np.tanh(X) ** 2)
    second = npgrad.elementwise_grad(npgrad.elementwise_grad(np.sin))
    np.testing.assert_allclose(second(X), -np.sin(X))
    got = npgrad.elementwise_grad(lambda x, y: (x * y, x), (0, 1))(X, Y)
    np.testing.assert_allclose(got[0], Y + 1)
    np.testing.assert_allclose(got[1], X)


# -- nesting ---------------------------------------------------------------------------------------
def test_third_order_in_every_combination():
    f = lambda x: np.sin(x) * x
    third = -3 * np.sin(0.7) - 0.7 * np.cos(0.7)
    reverse = npgrad.grad
    forward = lambda f: lambda x: npgrad.jvp(f, (x,), (1.0,))[1]
    for a in (reverse, forward):
        for b in (reverse, forward):
            for c in (reverse, forward):
                assert a(b(c(f)))(0.7) == pytest.approx(third)


def test_perturbations_are_not_confused():
    # d/dx (x * d/dy (x + y)) = 1, the classic of Siskind and Pearlmutter
    got = npgrad.grad(lambda x: x * npgrad.grad(lambda y: x + y)(1.0))(1.0)
    assert got == 1.0
    got = npgrad.grad(lambda x: x * npgrad.jvp(lambda y: x * y, (2.0,), (1.0,))[1])(3.0)
    assert got == pytest.approx(6.0)


def test_nested_results_stay_recorded():
    def inner(x):
        out, pull = npgrad.vjp(np.sin, x)
        assert type(out) is npgrad.GradArray
        (g,) = pull(np.ones(3))
        assert type(g) is npgrad.GradArray
        return np.sum(out * g)

    np.testing.assert_allclose(npgrad.grad(inner)(X), np.cos(2 * X))


# -- pickling, names, methods ----------------------------------------------------------------------
@pytest.mark.parametrize(
    "transform",
    [
        npgrad.grad,
        npgrad.value_and_grad,
        npgrad.jacobian,
        npgrad.jacrev,
        npgrad.jacfwd,
        npgrad.hessian,
        npgrad.elementwise_grad,
    ],
)
def test_transforms_of_an_importable_function_pickle(transform):
    made = transform(loss, argnums=(0, 1))
    again = pickle.loads(pickle.dumps(made))
    for a, b in zip(np.ravel(again(X, Y)[0]), np.ravel(made(X, Y)[0]), strict=True):
        np.testing.assert_array_equal(a, b)
    twice = pickle.loads(pickle.dumps(npgrad.grad(npgrad.grad(operator.neg))))
    assert twice(2.0) == 0.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(transform(lambda x: x))


def test_options_survive_pickling():
    made = npgrad.grad(operator.neg, has_aux=True, holomorphic=True, wrap=False)
    assert pickle.loads(pickle.dumps(made)).__reduce__() == made.__reduce__()
    made = npgrad.jacobian(operator.neg, chunk=2, progress=True)
    assert pickle.loads(pickle.dumps(made)).__reduce__() == made.__reduce__()


def test_results_pickle():
    results = npgrad.value_and_grad(loss)(X), npgrad.hessian(loss)(X), npgrad.vjp(np.sin, X)[0]
    for a, b in zip(pickle.loads(pickle.dumps(results)), results, strict=True):
        assert repr(a) == repr(b)


def test_names_and_documentation():
    made = npgrad.grad(loss)
    assert made.__name__ == "grad_of_loss" and "loss" in repr(made)
    assert npgrad.jacobian(np.sin).__name__ == "jacobian_of_sin"

    def f(x):
        """What f is."""
        return x

    assert npgrad.grad(f).__doc__ == "What f is."


class Model:
    scale = 3.0

    def loss(self, w):
        return self.scale * np.sum(w**2)

    gradient = npgrad.grad(loss, argnums=1)


def test_methods():
    np.testing.assert_allclose(Model().gradient(X), 6 * X)
    np.testing.assert_allclose(npgrad.grad(Model().loss)(X), 6 * X)


# -- threads ---------------------------------------------------------------------------------------
def test_threads_differentiate_side_by_side():
    shared = npgrad.value_and_grad(lambda x: np.sum(np.sin(x) ** 2))
    results: dict[int, np.ndarray] = {}
    start = threading.Barrier(4)

    def work(k):
        start.wait()
        x = X * k
        total = np.zeros(3)
        for _ in range(30):
            with npgrad.no_grad() if k % 2 else npgrad.debug():
                np.sin(npgrad.array(x))
            total += shared(x)[1]
            total += npgrad.grad(lambda z: npgrad.grad(lambda v: np.sum(v**3))(z)[0])(x)
        results[k] = total

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        want = np.sin(2 * X * k) + np.array([6 * X[0] * k, 0, 0])
        np.testing.assert_allclose(results[k], 30 * want, rtol=1e-12, atol=1e-12)


# -- outputs that have no gradient -----------------------------------------------------------------
WHOLE = {
    "count": lambda x: np.sum(x > 1),
    "position": lambda x: np.argmax(x),
    "comparison": lambda x: np.sum(x) > 1,
    "python's comparison": lambda x: bool(np.sum(x) > 1),
    "cast": lambda x: np.sum(x.astype(int)),
    "containers": lambda x: {"a": np.argmax(x), "b": [np.sum(x) > 1]},
    "array": lambda x: np.argsort(x),
    "mask": lambda x: x > 1,
}
ASKED = {
    "grad": lambda f, x: npgrad.grad(f)(x),
    "grad, not wrapped": lambda f, x: npgrad.grad(f, wrap=False)(x),
    "value_and_grad": lambda f, x: npgrad.value_and_grad(f)(x),
    "has_aux": lambda f, x: npgrad.grad(lambda x: (f(x), x), has_aux=True)(x),
    "nested": lambda f, x: npgrad.grad(lambda x: np.sum(npgrad.grad(f)(x) * x))(x),
    "hessian": lambda f, x: npgrad.hessian(f)(x),
    "elementwise_grad": lambda f, x: npgrad.elementwise_grad(f)(x),
    "jacobian": lambda f, x: npgrad.jacobian(f)(x),
    "jacrev": lambda f, x: npgrad.jacrev(f)(x),
    "jacfwd": lambda f, x: npgrad.jacfwd(f)(x),
    "vjp": lambda f, x: npgrad.vjp(f, x),
    "jvp": lambda f, x: npgrad.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: npgrad.linearize(f, x),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", WHOLE)
def test_integers_and_booleans_have_no_gradient(name, asked):
    with pytest.raises(
        NotDifferentiable, match=r"constant wherever|needs a (scalar|function that)"
    ):
        ASKED[asked](WHOLE[name], np.array([1.0, 2.0]))


def test_integers_beside_floats_have_a_gradient_of_zeros():
    x = np.array([1.0, 2.0])
    _, pull = npgrad.vjp(lambda x: (x * 2, np.argsort(x)), x)
    np.testing.assert_array_equal(pull((np.ones(2), np.ones(2)))[0], [2.0, 2.0])
    _, tangents = npgrad.jvp(lambda x: (x * 2, np.argsort(x)), (x,), (x,))
    np.testing.assert_array_equal(tangents[1], [0.0, 0.0])
    assert npgrad.grad(lambda x: sum([]))(2.0) == 0.0  # an empty sum of Python's is no mistake
    assert npgrad.grad(lambda x: (np.sum(x), np.argmax(x)), has_aux=True)(x)[1] == 1


@pytest.mark.parametrize("text", ["abc", np.array(["a", "b"]), np.array([None, None])])
def test_text_is_no_cotangent_whatever_its_shape(text):
    x = np.array([1.0, 2.0])
    for f in (lambda x: x * 2, np.sum, lambda x: 3.0):
        with pytest.raises(npgrad.errors.DTypeMismatch):
            npgrad.vjp(f, x)[1](text)
    with pytest.raises(npgrad.errors.DTypeMismatch):
        npgrad.jvp(np.sin, (x,), (text,))
    with pytest.raises(npgrad.errors.DTypeMismatch):
        npgrad.hvp(lambda x: np.sum(x**2), x, text)
    with pytest.raises(npgrad.errors.DTypeMismatch):
        (npgrad.array(x) * 2).backward(text)


def test_a_list_is_no_cotangent_of_an_array():
    with pytest.raises(npgrad.errors.ShapeMismatch, match=r"one array or number, got \[\*, \*\]"):
        npgrad.vjp(np.sin, np.array([1.0, 2.0]))[1]([1.0, 1.0])


def test_pull_and_push_say_why_they_are_not_pickled():
    x = np.array([1.0, 2.0])
    for held, maker in (
        (npgrad.vjp(np.sin, x)[1], "vjp"),
        (npgrad.linearize(np.sin, x)[1], "linearize"),
    ):
        for kept in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=rf"holds a recording.*npgrad\.{maker}\(f"):
                kept(held)
        assert repr(held).startswith("<npgrad pu")


def test_a_value_stored_away_opens_its_doors_when_nobody_can_ask_for_its_gradient():
    stored = []

    def f(x):
        stored.append(x * 2)
        return x * x

    def within(x):
        return f(x) + float(stored[-1])

    def outer(x, ask):
        slope = npgrad.grad(f, wrap=False)(x)
        return slope + (float(stored[-1]) if ask else 0)  # of x, still being differentiated

    for refused in (within, lambda x: outer(x, True)):
        with pytest.raises(npgrad.errors.GradientLost):
            npgrad.grad(refused, wrap=False)(3.0)  # float() of wrapped code would record
    npgrad.grad(outer, wrap=False)(3.0, False)
    assert float(stored[-1]) == 6.0


def test_a_refused_leaf_is_named_by_its_place():
    with pytest.raises(TypeError, match=r"argument 0\['b'\] is builtins\.str"):
        npgrad.grad(lambda p: p["a"])({"a": 1.0, "b": "text"})
    with pytest.raises(TypeError, match=r"argument 1\[1\]\['c'\] is an array of int64"):
        npgrad.grad(lambda x, p: x, 1)(1.0, [1.0, {"c": np.arange(2)}])
    with pytest.raises(TypeError, match=r"argument 0 is builtins\.str"):
        npgrad.grad(lambda p: 1.0)("text")


def test_a_cotangent_or_tangent_that_does_not_fit_is_named_by_its_place():
    _, pull = npgrad.vjp(lambda x: {"y": [x, x * 2], "n": 3.0}, X)
    with pytest.raises(ValueError, match=r"the cotangent\['y'\]\[1\] has shape \(2,\)"):
        pull({"y": [X, np.ones(2)], "n": 0.0})
    with pytest.raises(ValueError, match=r"the cotangent\['n'\] has shape \(3,\)"):
        pull({"y": [X, X], "n": X})
    with pytest.raises(TypeError, match=r"the cotangent\['y'\]\[0\] is complex128"):
        pull({"y": [X * 1j, X], "n": 0.0})
    _, push = npgrad.linearize(lambda p: p["w"][0] * p["b"], {"w": (X,), "b": 2.0})
    with pytest.raises(ValueError, match=r"tangent 0\['w'\]\[0\] has shape \(\)"):
        push({"w": (1.0,), "b": 0.0})
    with pytest.raises(TypeError, match=r"tangent 0\['b'\] is complex128"):
        push({"w": (X,), "b": 1j})


@pytest.mark.parametrize("cotangents", [(), (X, X)])
def test_pull_takes_one_cotangent(cotangents):
    with pytest.raises(TypeError, match=f"pull takes one cotangent.* not {len(cotangents)}"):
        npgrad.vjp(np.sin, X)[1](*cotangents)


def test_a_line_of_npgrads_own_is_nobodys():
    """Where NumPy's function is what is differentiated, no line of the user's calls it."""
    with pytest.raises(ValueError, match=r"the value has \(3,\)\.$"):
        npgrad.vjp(np.sin, X)[1](np.ones(2))
