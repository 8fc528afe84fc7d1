"""`npgrad.primitive`: rules by position and name, containers, compiled functions, mistakes."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, InPlaceError, NoDerivative, RuleError

X = np.array([0.3, 1.2, -0.7])
Y = np.array([2.0, 0.5, 1.5])


def _loop_exp(x):
    """Python's math, which no protocol can look into."""
    return np.array([math.exp(t) for t in np.ravel(x)]).reshape(np.shape(x))


@npgrad.primitive
def opaque_exp(x):
    return _loop_exp(x)


opaque_exp.defvjp(lambda ans, x: lambda g: g * ans)


def product():
    """x * y, with rules for both, reverse and forward."""

    @npgrad.primitive
    def times(x, y):
        return x * y

    times.defvjp(lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    times.defjvp(lambda g, ans, x, y: g * y, lambda g, ans, x, y: x * g)
    return times


def test_a_plain_call_is_the_function():
    assert type(opaque_exp(X)) is np.ndarray
    np.testing.assert_array_equal(opaque_exp(X), _loop_exp(X))
    assert opaque_exp.__name__ == "opaque_exp" and "opaque_exp" in repr(opaque_exp)


def test_gradient_and_higher_orders():
    f = lambda x: np.sum(opaque_exp(x) * np.sin(x))
    want = np.exp(X) * (np.sin(X) + np.cos(X))
    np.testing.assert_allclose(npgrad.grad(f)(X), want, rtol=1e-14)
    np.testing.assert_allclose(npgrad.hessian(f)(X), np.diag(2 * np.exp(X) * np.cos(X)), atol=1e-14)
    third = npgrad.grad(npgrad.grad(npgrad.grad(opaque_exp)))
    assert third(0.5) == pytest.approx(math.exp(0.5))


def test_forward_mode_is_the_transpose_of_the_reverse_rule_where_no_other_is_given():
    out, tangent = npgrad.jvp(opaque_exp, (X,), (Y,))
    np.testing.assert_allclose(out, np.exp(X))
    np.testing.assert_allclose(tangent, np.exp(X) * Y)
    np.testing.assert_allclose(npgrad.jacfwd(opaque_exp)(X), np.diag(np.exp(X)))
    np.testing.assert_allclose(npgrad.jacrev(opaque_exp)(X), np.diag(np.exp(X)))


def test_two_arguments():
    f = lambda x, y: np.sum(product()(x, y) ** 2)
    gx, gy = npgrad.grad(f, (0, 1))(X, Y)
    np.testing.assert_allclose(gx, 2 * X * Y**2)
    np.testing.assert_allclose(gy, 2 * X**2 * Y)
    _, tangent = npgrad.jvp(product(), (X, Y), (Y, X))
    np.testing.assert_allclose(tangent, Y * Y + X * X)


def test_the_same_array_as_both_arguments():
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(product()(x, x)))(X), 2 * X)


@pytest.mark.parametrize("call", [lambda p, x: p(2.0, x), lambda p, x: p(2.0, x=x)])
def test_rules_by_argnums_and_by_name(call):
    def make():
        return npgrad.primitive(lambda scale, x: scale * x)

    by_number, by_name, chained = make(), make(), make()
    by_number.defvjp(lambda ans, scale, x: lambda g: scale * g, argnums=(1,))
    by_name.defvjp(x=lambda ans, scale, x: lambda g: scale * g)
    assert chained.defvjp(lambda ans, scale, x: lambda g: scale * g, argnums="x") is chained
    for p in (by_number, by_name, chained):
        got = npgrad.grad(lambda p, x: np.sum(call(p, x)), 1)(p, X)
        np.testing.assert_array_equal(got, [2, 2, 2])


def test_keyword_only_and_variable_arguments():
    @npgrad.primitive
    def weighted(*arrays, scale):
        return scale * sum(arrays)

    weighted.defvjp(
        *(lambda ans, *arrays, scale: lambda g: scale * g,) * 2,
        scale=lambda ans, *arrays, scale: lambda g: np.sum(g * sum(arrays)),
    )
    f = lambda x, s: np.sum(weighted(x, Y, scale=s))
    gx, gs = npgrad.grad(f, (0, 1))(X, 3.0)
    np.testing.assert_allclose(gx, [3, 3, 3])
    assert gs == pytest.approx(np.sum(X + Y))


def test_none_is_no_gradient():
    p = npgrad.primitive(lambda x, y: x * np.round(y))
    p.defvjp(lambda ans, x, y: lambda g: g * np.round(y), None)
    gx, gy = npgrad.grad(lambda x, y: np.sum(p(x, y)), (0, 1))(X, Y)
    np.testing.assert_array_equal(gx, np.round(Y))
    np.testing.assert_array_equal(gy, np.zeros(3))
    _, tangent = npgrad.jvp(lambda y: p(X, y), (Y,), (Y,))
    np.testing.assert_array_equal(tangent, np.zeros(3))


def test_a_missing_rule_says_what_to_write():
    p = npgrad.primitive(lambda x, y: x * y).defvjp(lambda ans, x, y: lambda g: g * y)
    np.testing.assert_array_equal(npgrad.grad(lambda x: np.sum(p(x, Y)))(X), Y)
    with pytest.raises(NoDerivative, match=r"argument 1.*defvjp"):
        npgrad.grad(lambda y: np.sum(p(X, y)))(Y)
    bare = npgrad.primitive(np.sin)
    with pytest.raises(NotImplementedError, match="no derivative with respect to its argument 0"):
        npgrad.grad(lambda x: np.sum(bare(x)))(X)


def test_a_forward_rule_alone_serves_forward_mode_alone():
    p = npgrad.primitive(np.sin).defjvp(lambda g, ans, x: g * np.cos(x))
    np.testing.assert_allclose(npgrad.jvp(p, (X,), (Y,))[1], np.cos(X) * Y)
    with pytest.raises(NoDerivative, match="no reverse derivative"):
        npgrad.grad(lambda x: np.sum(p(x)))(X)


def test_an_argument_that_does_not_move_needs_no_forward_rule():
    p = npgrad.primitive(lambda x, y: x * y)
    p.defjvp(lambda g, ans, x, y: g * y)
    p.defvjp(lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    _, tangent = npgrad.jvp(p, (X, Y), (X, np.zeros(3)))
    np.testing.assert_allclose(tangent, X * Y)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@dataclasses.dataclass
class Model:
    weight: np.ndarray
    bias: np.ndarray


def test_containers_in_and_out():
    @npgrad.primitive
    def split(params, x, mode="plain"):
        assert mode == "plain"
        return Pair(params["w"] * x, [params["b"][0] + 0 * x, "text"])

    def maker(ans, params, x, mode="plain"):
        assert ans.right[1] == "text"

        def back(g):
            return {"w": g.left * x, "b": [np.sum(g.right[0])]}

        return back

    split.defvjp(maker)

    def loss(params):
        pair = split(params, Y, mode="plain")
        return np.sum(pair.left**2) + 3 * pair.right[0][0]

    params = {"w": X, "b": [np.float64(2.0)]}
    got = npgrad.grad(loss)(params)
    np.testing.assert_allclose(got["w"], 2 * X * Y**2)
    assert got["b"][0] == 3.0
    unused = npgrad.grad(lambda p: np.sum(split(p, Y).left))(params)
    assert unused["b"][0] == 0.0  # no cotangent reached the second output: zeros
    second = npgrad.jacobian(npgrad.grad(loss))(params)
    np.testing.assert_allclose(second["w"]["w"], np.diag(2 * Y**2))


def test_a_dataclass_argument():
    @npgrad.primitive
    def linear(model, x):
        return model.weight * x + model.bias

    linear.defvjp(lambda ans, m, x: lambda g: Model(g * x, g))
    linear.defjvp(lambda g, ans, m, x: g.weight * x + g.bias)
    got = npgrad.grad(lambda m: np.sum(linear(m, Y)))(Model(X, X))
    assert type(got) is Model
    np.testing.assert_array_equal(got.weight, Y)
    _, tangent = npgrad.jvp(lambda m: linear(m, Y), (Model(X, X),), (Model(X, Y),))
    np.testing.assert_allclose(tangent, X * Y + Y)


def test_several_outputs_one_of_them_integer():
    @npgrad.primitive
    def parts(x):
        return x * 2, np.argsort(x)

    parts.defvjp(lambda ans, x: lambda g: 2 * g[0])

    def f(x):
        doubled, order = parts(x)
        assert type(order) is np.ndarray and order.dtype.kind == "i"
        return np.sum(doubled[order[:2]])

    np.testing.assert_array_equal(npgrad.grad(f)(X), [2, 0, 2])


def test_a_function_compiled_by_numba():
    numba = pytest.importorskip("numba")

    @numba.njit
    def cumulative(x):
        out = np.empty_like(x)
        total = 0.0
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out

    with pytest.raises((GradientLost, TypeError)):
        npgrad.grad(lambda x: np.sum(cumulative(x)), wrap=False)(X)
    p = npgrad.primitive(cumulative)
    p.defvjp(lambda ans, x: lambda g: cumulative(g[::-1].copy())[::-1])
    got = npgrad.grad(lambda x: np.sum(p(x) * Y))(X)
    np.testing.assert_allclose(got, np.cumsum(Y[::-1])[::-1])
    with pytest.raises(NoDerivative, match="primitive"):  # its rule is compiled too
        npgrad.hessian(lambda x: np.sum(p(x) ** 2))(X)
    # A rule that is a primitive itself is differentiated again.
    back = npgrad.primitive(lambda g: cumulative(g[::-1].copy())[::-1])
    q = npgrad.primitive(cumulative).defvjp(lambda ans, x: back)
    back.defvjp(lambda ans, g: q)
    lower = np.tril(np.ones((3, 3)))
    np.testing.assert_allclose(npgrad.hessian(lambda x: np.sum(q(x) ** 2))(X), 2 * lower.T @ lower)


def test_a_c_extension_without_a_signature():
    import scipy.special  # a cephes routine behind a ufunc, as any C function would be

    p = npgrad.primitive(scipy.special.jv)
    p.defvjp(lambda ans, v, x: lambda g: g * (p(v - 1, x) - p(v + 1, x)) / 2, argnums=1)
    got = npgrad.grad(lambda x: np.sum(p(1.0, x)))(Y)
    np.testing.assert_allclose(got, scipy.special.jvp(1.0, Y), rtol=1e-12)
    assert npgrad.grad(npgrad.grad(lambda x: p(1.0, x)))(2.0) == pytest.approx(
        scipy.special.jvp(1.0, 2.0, 2)
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda g, x: g[:2], r"shape \(2,\), it must be \(3,\)"),
        (lambda g, x: np.sum(g), r"shape \(\), it must be \(3,\)"),
        (lambda g, x: np.outer(g, x), r"shape \(3, 3\), it must be \(3,\): sum the axes"),
        (lambda g, x: np.ones(3, int), "of int64"),
        (lambda g, x: np.ones(3, bool), "of bool"),
        (lambda g, x: g * 1j, "complex cotangent for a real array"),
        (lambda g, x: (g, g), "structure of the argument"),
        (lambda g, x: "g", "structure of the argument|not an array"),
    ],
)
def test_mistakes_of_reverse_rules(rule, message):
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: rule(g, x))
    with pytest.raises(RuleError, match=message):
        npgrad.grad(lambda x: np.sum(p(x)))(X)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda g, ans, x: g[:2], r"shape \(2,\), it must be \(3,\)"),
        (lambda g, ans, x: np.ones(3, int), "of int64"),
        (lambda g, ans, x: g * 1j, "complex tangent for a real array"),
        (lambda g, ans, x: [g], "structure of the output"),
    ],
)
def test_mistakes_of_forward_rules(rule, message):
    p = npgrad.primitive(np.sin).defjvp(rule)
    with pytest.raises(RuleError, match=message):
        npgrad.jvp(p, (X,), (Y,))


def test_a_maker_that_is_no_maker():
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: np.cos(x))
    with pytest.raises(RuleError, match=r"maker\(ans, \*args\)"):
        npgrad.grad(lambda x: np.sum(p(x)))(X)


@pytest.mark.parametrize("wrong", [lambda g: np.abs(g), lambda g: g + 1.0, lambda g: g * g])
def test_a_rule_that_is_not_linear_is_caught_under_debug(wrong):
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: wrong)
    with npgrad.debug(), pytest.raises(RuleError, match="not linear"):
        npgrad.grad(lambda x: np.sum(p(x)))(X)
    right = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: g * np.cos(x))
    with npgrad.debug():
        npgrad.grad(lambda x: np.sum(right(x)))(X)


def test_mistakes_of_declarations():
    p = npgrad.primitive(lambda x, y: x)
    with pytest.raises(TypeError, match="no argument 'z'"):
        p.defvjp(z=lambda ans, x, y: lambda g: g)
    with pytest.raises(TypeError, match="1 rules for 2 argnums"):
        p.defvjp(lambda ans, x, y: lambda g: g, argnums=(0, 1))
    with pytest.raises(TypeError, match="a function or None"):
        p.defvjp(3)
    with pytest.raises(TypeError, match="takes a function"):
        npgrad.primitive(3)


def test_an_argument_changed_in_place_is_noticed():
    @npgrad.primitive
    def doubled(x):
        x *= 2
        return x

    doubled.defvjp(lambda ans, x: lambda g: 2 * g)
    with pytest.raises(InPlaceError, match="changed its argument 0"):
        npgrad.grad(lambda x: np.sum(doubled(x * 1.0)))(X.copy())


def test_a_recorded_value_in_the_closure_is_refused():
    def f(x):
        hidden = npgrad.primitive(lambda y: y * x).defvjp(lambda ans, y: lambda g: g)
        return np.sum(hidden(x * 2))

    with pytest.raises(RuleError, match="not among its arguments"):
        npgrad.grad(f)(X)


def test_the_result_may_be_the_argument_or_a_view_of_it():
    p = npgrad.primitive(lambda x: x[::-1]).defvjp(lambda ans, x: lambda g: g[::-1])

    def f(x):
        y = x * 1.0
        z = p(y)
        y[0] = 100.0  # must not reach z
        return np.sum(z * Y)

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == pytest.approx(np.sum(X[::-1] * Y))
    np.testing.assert_allclose(gradient, Y[::-1])


def test_its_own_buffers_are_plain_inside_a_differentiated_function():
    seen = []

    @npgrad.primitive
    def squares(x):
        out = np.zeros(x.size)
        seen.append(type(out))
        out[:] = x**2
        return out

    squares.defvjp(lambda ans, x: lambda g: 2 * g * x)
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(squares(x)))(X), 2 * X)
    npgrad.grad(lambda x: np.sum(x * squares(Y)))(X)  # nothing recorded is passed
    assert set(seen) == {np.ndarray}


def test_float32_is_kept():
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: g * np.cos(x).astype(float))
    got = npgrad.grad(lambda x: np.sum(p(x)))(X.astype(np.float32))
    assert got.dtype == np.float32


def test_complex_rules_are_adjoints():
    z = X + 1j * Y
    p = npgrad.primitive(np.exp).defvjp(lambda ans, z: lambda g: g * np.conj(ans))
    p.defjvp(lambda g, ans, z: g * ans)
    for f in (p, np.exp):
        got = npgrad.grad(lambda f, z: np.sum(np.real(f(z))), 1)(f, z)
        np.testing.assert_allclose(got, np.conj(np.exp(z)))
        np.testing.assert_allclose(npgrad.jvp(f, (z,), (1j * z,))[1], 1j * z * np.exp(z))


def test_one_rule_for_all_arguments():
    asked = []
    p = npgrad.primitive(lambda x, y: x * y)

    def maker(argnums, ans, args, kwargs):
        asked.append(argnums)
        return lambda g: [g * args[1 - i] for i in argnums]

    p.defvjp_argnums(maker)
    p.defjvp_argnums(
        lambda argnums, tangents, ans, args, kwargs: sum(
            t * args[1 - i] for i, t in zip(argnums, tangents, strict=True)
        )
    )
    gx, gy = npgrad.grad(lambda x, y: np.sum(p(x, y)), (0, 1))(X, Y)
    np.testing.assert_array_equal(gx, Y)
    np.testing.assert_array_equal(gy, X)
    npgrad.grad(lambda y: np.sum(p(X, y)))(Y)
    assert asked == [(0, 1), (1,)]
    np.testing.assert_allclose(npgrad.jvp(p, (X, Y), (X, Y))[1], 2 * X * Y)


def test_nothing_is_recorded_under_no_grad():
    x = npgrad.array(X)
    with npgrad.no_grad():
        y = opaque_exp(x)
    assert np.sum(x * y).backward()[x] == pytest.approx(np.exp(X))


def test_a_tape_names_it():
    with npgrad.Tape() as tape:
        x = tape.leaf(X)
        np.sum(opaque_exp(x))
    assert "opaque_exp" in str(tape)


class Physics:
    """A primitive as a method."""

    factor = 3.0

    @npgrad.primitive
    def energy(self, x):
        return self.factor * x**2

    energy.defvjp(lambda ans, self, x: lambda g: g * 2 * self.factor * x, argnums=1)


def test_a_method():
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(Physics().energy(x)))(X), 6 * X)


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(opaque_exp)) is opaque_exp


def test_memory_of_a_dropped_result_goes():
    import gc
    import weakref

    y = opaque_exp(npgrad.array(X))
    node = weakref.ref(y)
    del y
    gc.collect()
    assert node() is None
