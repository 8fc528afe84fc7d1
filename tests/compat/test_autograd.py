"""``npgrad.compat.autograd``: autograd's names, argument order and complex convention."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import numpy
import pytest

import npgrad
import npgrad.compat.autograd.numpy as np
import npgrad.compat.autograd.numpy.random as npr
from npgrad.compat import autograd as ag
from npgrad.compat.autograd import extend
from npgrad.compat.autograd.builtins import isinstance as ag_isinstance
from npgrad.compat.autograd.builtins import type as ag_type
from npgrad.compat.autograd.core import make_vjp as unary_vjp
from npgrad.compat.autograd.misc import const_graph, flatten, flatten_func, optimizers
from npgrad.compat.autograd.test_util import check_grads, combo_check
from npgrad.compat.autograd.tracer import getval, isbox

X = numpy.array([0.5, -1.0, 2.0])
Z = 0.7 - 1.2j


# ------------------------------------------------------------------------------------ operators
def test_grad_by_argnum():
    f = lambda x, y: np.sum(x * y**2)
    assert numpy.array_equal(ag.grad(f, 1)(X, 2 * X), 4 * X * X)
    both = ag.grad(f, (0, 1))(X, 2 * X)
    assert type(both) is tuple and numpy.array_equal(both[0], 4 * X * X)
    assert numpy.array_equal(ag.grad(f, [1])(X, 2 * X)[0], 4 * X * X)
    assert ag.grad_named(f, "y")(1.0, 3.0) == 6.0
    assert ag.grad(lambda x: x**2)(3.0) == 6.0
    with pytest.raises(AssertionError, match="argnum"):
        ag.grad(f, "y")


def test_grad_of_one_entry_and_of_several():
    assert numpy.array_equal(ag.grad(lambda x: x[:1] ** 2)(X), [1.0, 0, 0])
    for operator in (ag.grad, ag.value_and_grad):
        with pytest.raises(TypeError, match="scalar-output"):
            operator(lambda x: x * 2)(X)
        with pytest.raises(TypeError, match="scalar-output"):
            operator(lambda z: z * z)(Z)


@pytest.mark.parametrize("out", [True, 1, numpy.int64(2), numpy.array([3])])
def test_outputs_that_are_no_real_numbers(out):
    with pytest.raises(TypeError, match="real numbers"):
        ag.grad(lambda x: out)(X)
    with pytest.raises(TypeError, match="real numbers"):
        ag.grad(lambda x: np.allclose(x, x))(X)


def test_value_and_grad_and_aux():
    value, gradient = ag.value_and_grad(lambda x: np.sum(x**2))(X)
    assert value == 5.25 and numpy.array_equal(gradient, 2 * X)
    gradient, aux = ag.grad_and_aux(lambda x: (np.sum(x**2), {"twice": 2 * x}))(X)
    assert numpy.array_equal(gradient, 2 * X) and numpy.array_equal(aux["twice"], 2 * X)


def test_names_and_docs_of_what_operators_return():
    def model(x):
        return x

    assert ag.grad(model, 0).__name__ == "grad_of_model_wrt_argnum_0"
    assert "gradient" in ag.grad.__doc__


def test_jacobian_hessian_and_products():
    f = lambda x: np.stack([x[0] * x[1], x[1] ** 2 * x[2]])
    j = numpy.array([[X[1], X[0], 0], [0, 2 * X[1] * X[2], X[1] ** 2]])
    numpy.testing.assert_allclose(ag.jacobian(f)(X), j)
    h = ag.hessian(f)(X)  # of a vector too: the Jacobian of the Jacobian
    assert h.shape == (2, 3, 3)
    numpy.testing.assert_allclose(h[1], [[0, 0, 0], [0, 2 * X[2], 2 * X[1]], [0, 2 * X[1], 0]])
    u, v = numpy.array([1.0, -2.0]), numpy.array([0.3, 0.1, 1.0])
    numpy.testing.assert_allclose(ag.vector_jacobian_product(f)(X, u), u @ j)
    numpy.testing.assert_allclose(ag.make_jvp_reversemode(f)(X)(v), j @ v)
    numpy.testing.assert_allclose(ag.make_ggnvp(f)(X)(v), j.T @ (j @ v))
    cube = lambda x: np.sum(x**3)
    numpy.testing.assert_allclose(ag.hessian_vector_product(cube)(X, v), 6 * X * v)
    hvp, gradient = ag.make_hvp(cube)(X)
    numpy.testing.assert_allclose(hvp(v), 6 * X * v)
    numpy.testing.assert_allclose(gradient, 3 * X**2)


def test_vjp_jvp_deriv_elementwise():
    vjp, ans = ag.make_vjp(lambda x, y: x * y, 1)(X, 3 * X)
    assert numpy.array_equal(ans, 3 * X * X) and numpy.array_equal(vjp(X), X * X)
    ans, tangent = ag.make_jvp(lambda x: x**2)(X)(numpy.ones(3))
    assert numpy.array_equal(ans, X**2) and numpy.array_equal(tangent, 2 * X)
    assert ag.deriv(np.sin)(0.0) == 1.0
    numpy.testing.assert_allclose(ag.elementwise_grad(np.tanh)(X), 1 - numpy.tanh(X) ** 2)
    third = ag.elementwise_grad(ag.elementwise_grad(ag.elementwise_grad(lambda x: x**4)))
    numpy.testing.assert_allclose(third(X), 24 * X)
    with pytest.raises(TypeError, match="real-output"):
        ag.elementwise_grad(lambda x: x * 1j)(X)


def test_multigrad_dict_and_checkpoint():
    def f(x, y=2.0, *rest, **more):
        return x * y + more["z"] ** 2 + rest[0]

    assert ag.multigrad_dict(f)(3.0, 4.0, 1.0, z=5.0) == {
        "x": 4.0, "y": 3.0, "rest": (1.0,), "more": {"z": 10.0},
    }  # fmt: skip
    assert ag.grad(ag.checkpoint(lambda x: np.sin(x) ** 2))(0.3) == pytest.approx(numpy.sin(0.6))


# -------------------------------------------------------------------------------------- complex
def test_gradient_of_a_real_function_of_complex_numbers_is_autograds():
    f = lambda z: np.real(z) ** 2 + 3 * np.imag(z)  # du/dx - i du/dy
    assert ag.grad(f)(Z) == 2 * Z.real - 3j
    assert npgrad.grad(f)(Z) == 2 * Z.real + 3j


def test_holomorphic_functions():
    assert ag.holomorphic_grad(lambda z: z**3)(Z) == pytest.approx(3 * Z**2)
    second = ag.holomorphic_grad(ag.holomorphic_grad(lambda z: z**3))(Z)
    assert second == pytest.approx(6 * Z)
    vjp, _ = ag.make_vjp(np.exp)(Z)
    assert vjp(2j) == pytest.approx(2j * numpy.exp(Z))  # no conjugate
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(lambda x: x**2)(2.0)


def test_the_jacobian_by_complex_numbers_keeps_autograds_convention():
    """d Re(z^2) = 2x dx - 2y dy, so du/dx - i du/dy = 2z; |z| gives conj(z)/|z|; Re(Az) gives A."""
    z = numpy.array([1 + 2j, 3 - 1j])
    numpy.testing.assert_allclose(
        ag.jacobian(lambda z: np.real(z**2))(z), numpy.diag(2 * z), rtol=1e-14
    )
    numpy.testing.assert_allclose(
        ag.jacobian(np.abs)(z), numpy.diag(numpy.conj(z) / numpy.abs(z)), rtol=1e-14
    )
    a = numpy.array([[1 + 1j, 2], [3j, 1 - 2j], [0.5, -1j]])
    numpy.testing.assert_allclose(ag.jacobian(lambda z: np.real(np.dot(a, z)))(z), a)
    u = numpy.array([1.0, -2.0, 0.5])
    numpy.testing.assert_allclose(
        ag.vector_jacobian_product(lambda z: np.real(np.dot(a, z)))(z, u), u @ a
    )
    by_x, by_z = ag.jacobian(lambda x, z: np.real(x * z), (0, 1))(X[:2], z)
    assert by_x.dtype == float
    numpy.testing.assert_allclose(by_x, numpy.diag(numpy.real(z)))
    numpy.testing.assert_allclose(by_z, numpy.diag(X[:2] + 0j))


def test_rules_for_complex_numbers_are_autograds():
    square = ag.primitive(lambda z: z * z)
    ag.defvjp(square, lambda ans, z: lambda g: g * 2 * z)
    assert ag.holomorphic_grad(square)(Z) == pytest.approx(2 * Z)
    check_grads(square, modes=["rev"])(Z)


# ---------------------------------------------------------------------------------------- rules
def test_primitives():
    @ag.primitive
    def scaled(x, c, power=1):
        return c * numpy.asarray(x) ** power

    ag.defvjp(scaled, lambda ans, x, c, power=1: lambda g: g * c * power * x ** (power - 1), None)
    assert ag.grad(scaled)(3.0, 2.0, power=2) == 12.0
    assert ag.grad(ag.grad(scaled))(3.0, 2.0, power=2) == 4.0
    assert ag.grad(scaled, 1)(3.0, 2.0, power=2) == 0.0


def test_other_ways_to_declare():
    product = ag.primitive(lambda x, y: x * y)
    extend.defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])
    extend.defjvp_argnum(product, lambda argnum, g, ans, args, kwargs: g * args[1 - argnum])
    check_grads(product, (0, 1))(2.0, 3.0)
    joint = ag.primitive(lambda x, y: x * y)
    extend.defvjp_argnums(
        joint, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - n] for n in argnums]
    )
    extend.defjvp_argnums(
        joint,
        lambda argnums, gs, ans, args, kwargs: sum(
            g * args[1 - n] for n, g in zip(argnums, gs, strict=True)
        ),
    )
    check_grads(joint, (0, 1))(2.0, 3.0)
    line = ag.primitive(lambda x, y: x * 2 + y)
    ag.defvjp(line, lambda ans, x, y: lambda g: 2 * g, lambda ans, x, y: lambda g: g)
    ag.defjvp(line, lambda g, ans, x, y: 2 * g, None)
    assert ag.make_jvp(line, (0, 1))(1.0, 1.0)((3.0, 5.0))[1] == 6.0
    third = ag.primitive(lambda a, x: 3 * x)
    ag.defvjp(third, lambda ans, a, x: lambda g: 3 * g, argnums=(1,))
    ag.defjvp(third, "same", argnums=(1,))
    check_grads(third, 1)(None, 2.0)
    with pytest.raises(TypeError, match="not a primitive"):
        ag.defvjp(numpy.packbits, None)
    assert extend.notrace_primitive(lambda x: type(x))(X) is numpy.ndarray


# ---------------------------------------------------------------------------- containers, spaces
class Pair(NamedTuple):
    a: float
    b: numpy.ndarray


def test_containers():
    f = lambda d: np.sum(d["w"][0] * d["w"][1]) + d["p"].a * np.sum(d["p"].b)
    gradient = ag.grad(f)({"w": [X, 2 * X], "p": Pair(2.0, X)})
    assert numpy.array_equal(gradient["w"][0], 2 * X)
    assert gradient["p"].a == X.sum() and isinstance(gradient["p"], Pair)
    check_grads(lambda t: [t[0] * t[1], {"s": np.sin(t[0])}])((2.0, X))
    with pytest.raises(TypeError, match="vector space"):
        ag.grad(lambda x: 1.0)(["text"])


def test_flatten():
    value = {"b": (1.0, X), "a": [numpy.eye(2)]}
    vector, back = flatten(value)
    assert numpy.array_equal(vector, [1, 0, 0, 1, 1, *X])
    again = back(vector)
    assert numpy.array_equal(again["a"][0], numpy.eye(2)) and type(again["b"]) is tuple
    f, _, start = flatten_func(lambda d: {"a": d["a"] * 2}, {"a": X})
    assert numpy.array_equal(f(start), 2 * X)
    assert flatten([])[0].size == 0
    assert const_graph(lambda x, y: x - y, 3.0)(1.0) == 2.0


def test_vector_spaces():
    space = extend.vspace([X, Z])
    assert space.size == 5 and space.iscomplex
    assert len(list(space.standard_basis())) == 5
    assert space == extend.vspace([X + 1, 2j]) and space != extend.vspace([X, 2.0])
    assert space.inner_prod([X, Z], [X, Z]) == pytest.approx(X @ X + abs(Z) ** 2)
    assert extend.vspace(Z).ones() == 1 + 1j


def test_types_of_recorded_values():
    def f(x):
        assert isbox(x) and not isbox(getval(x))
        assert ag_isinstance(x, numpy.ndarray) and not ag_isinstance(x, list)
        assert ag_type(x) is numpy.ndarray
        assert ag_isinstance(np.sum(x), float)
        return np.sum(x)

    ag.grad(f)(X)


# ---------------------------------------------------------------------------------------- numpy
def test_makers_take_recorded_values():
    f = lambda x: np.sum(np.array([[x, 2 * x], [1.0, x**2]]) * np.full((2, 2), x))
    assert ag.grad(f)(3.0) == pytest.approx(6 * 3 + 1 + 3 * 9)
    assert unary_vjp(np.asarray, X)[0](X) is not None
    rows = ag.jacobian(lambda x: np.r_[x, x[0], np.c_[x, 2 * x][0]])(X)
    numpy.testing.assert_allclose(rows[3:], [[1, 0, 0], [1, 0, 0], [2, 0, 0]])
    for name in ("mean", "std", "max", "prod"):
        check_grads(lambda x, y, name=name: getattr(np, name)([x, y]), (0, 1))(1.0, 2.5)
    check_grads(lambda x, y: np.linalg.norm([x, y]), (0, 1))(1.0, 2.5)
    check_grads(lambda x: np.where(condition=X > 0, x=x, y=-x))(X)
    check_grads(np.make_diagonal)(X)
    assert np.array([1, 2], ndmin=2).shape == (1, 2)
    assert np.array(X, dtype="float32").dtype == numpy.float32


def test_buffers_are_filled_in_a_loop():
    def squares(x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i] ** 2
        out[1:] *= x[0]
        return out

    want = [[2 * X[0], 0, 0], [X[1] ** 2, 2 * X[1] * X[0], 0], [X[2] ** 2, 0, 2 * X[2] * X[0]]]
    numpy.testing.assert_allclose(ag.jacobian(squares)(X), want)
    assert type(squares(X)) is type(np.zeros(2)) is numpy.ndarray


def test_everything_else_is_numpys():
    assert np.sin is numpy.sin and np.pi == numpy.pi and np.linalg.svd is numpy.linalg.svd
    assert npr.randn is numpy.random.randn and np.fft.fft is numpy.fft.fft
    space = {}
    exec("from npgrad.compat.autograd.numpy import *", space)
    assert space["cos"] is numpy.cos and space["array"] is np.array


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_the_gradient_of_eigh_lies_in_the_triangle_that_is_read(uplo):
    a = numpy.diag(X) + 0.3
    gradient = ag.grad(lambda a: np.linalg.eigvalsh(a, uplo)[0])(a)
    other = numpy.triu if uplo == "L" else numpy.tril
    assert numpy.all(other(gradient, 1 if uplo == "L" else -1) == 0)
    check_grads(lambda a: np.linalg.eigh(a, uplo)[0])(a)
    complex_matrix = a + 1j * (numpy.tril(a, -1) - numpy.tril(a, -1).T)
    check_grads(lambda a: np.linalg.eigh(a, uplo)[0])(complex_matrix)


@pytest.mark.parametrize(("name", "options"), [
    ("sgd", {"num_iters": 200}),
    ("rmsprop", {"num_iters": 300, "step_size": 0.02}),
    ("adam", {"num_iters": 500, "step_size": 0.1}),
])  # fmt: skip
def test_optimizers(name, options):
    seen = []
    gradient = ag.grad(lambda p: np.sum((p["w"] - X) ** 2) + (p["b"] - 1.0) ** 2)
    found = getattr(optimizers, name)(
        lambda p, i: gradient(p), {"w": 0 * X, "b": 0.0}, lambda p, i, g: seen.append(i), **options
    )
    numpy.testing.assert_allclose(found["w"], X, atol=0.03)
    assert found["b"] == pytest.approx(1.0, abs=0.03)
    assert seen == list(range(options["num_iters"]))


# ---------------------------------------------------------------------------------------- scipy
def test_scipy():
    pytest.importorskip("scipy")
    mvn = importlib.import_module("npgrad.compat.autograd.scipy.stats.multivariate_normal")
    special = importlib.import_module("npgrad.compat.autograd.scipy.special")
    assert ag.grad(special.logsumexp)(numpy.zeros(2)).tolist() == [0.5, 0.5]
    combo_check(mvn.logpdf, [0, 1])([X], [2 * X], [numpy.eye(3)])


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolve_over_chosen_axes(mode):
    scipy_signal = pytest.importorskip("scipy.signal")
    convolve = importlib.import_module("npgrad.compat.autograd.scipy.signal").convolve
    rng = numpy.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(3, 2, 3))
    got = convolve(a, b, axes=([1], [2]), dot_axes=([0], [0]), mode=mode)
    want = [sum(scipy_signal.convolve(a[i], b[i, j], mode) for i in range(3)) for j in range(2)]
    numpy.testing.assert_allclose(got, want)
    options = {"axes": [([1], [2])], "dot_axes": [([0], [0])], "mode": [mode]}
    combo_check(convolve, [0, 1])([a], [b], **options)
    check_grads(convolve, (0, 1))(X, X[:2])


# --------------------------------------------------------------------------------------- checks
def test_check_grads_finds_a_wrong_rule():
    wrong = ag.primitive(lambda x: x**2)
    ag.defvjp(wrong, lambda ans, x: lambda g: g * 2.001 * x)
    ag.defjvp(wrong, lambda g, ans, x: g * 2 * x)
    check_grads(wrong, modes=["fwd"])(1.5)
    with pytest.raises(AssertionError, match="VJP"):
        check_grads(wrong, modes=["rev"])(1.5)
    with pytest.raises(AssertionError, match="Value mismatch"):
        check_grads(lambda x: np.where(x > 0, wrong(x), 0) * 1.0 + _kink(x))(1.5)


_kink = ag.primitive(lambda x: x)
ag.defvjp(_kink, lambda ans, x: lambda g: g)
ag.defjvp(_kink, lambda g, ans, x: 1.001 * g)


@pytest.mark.parametrize("name", ["grad", "elementwise_grad", "jacobian", "deriv"])
def test_against_autograd_itself(name):
    theirs = pytest.importorskip("autograd")
    numpy_of_theirs = importlib.import_module("autograd.numpy")

    def model(lib, x):
        y = lib.tanh(x) * lib.exp(-x * x)
        return lib.sum(y) if name == "grad" else y

    got = getattr(ag, name)(lambda x: model(np, x))(X)
    want = getattr(theirs, name)(lambda x: model(numpy_of_theirs, x))(X)
    numpy.testing.assert_allclose(got, want, rtol=1e-12)
    real = lambda lib, z: lib.real(lib.exp(z) * lib.conj(z) ** 2) + lib.abs(z)
    complex_got = ag.grad(lambda z: real(np, z))(Z)
    assert complex_got == pytest.approx(theirs.grad(lambda z: real(numpy_of_theirs, z))(Z))
