"""`npgrad.primitive`: rules that forget their result, and memory that rules and outputs share."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import RuleError

X = np.array([0.3, 1.2, -0.7])
Y = np.array([2.0, 0.5, 1.5])


def forgets(*args):
    """A rule without its `return`."""


@pytest.mark.parametrize(
    "declare",
    [
        lambda p: p.defvjp(lambda ans, x: forgets),
        lambda p: p.defvjp(forgets),
        lambda p: p.defvjp_argnums(lambda argnums, ans, args, kwargs: forgets),
        lambda p: p.defvjp_argnums(forgets),
    ],
)
def test_a_reverse_rule_that_returns_none_is_refused(declare):
    p = declare(npgrad.primitive(np.sin))
    with pytest.raises(RuleError, match=r"returned? .*None"):
        npgrad.grad(lambda x: np.sum(p(x)))(X)
    with pytest.raises(RuleError, match=r"returned? .*None"):  # transposed
        npgrad.jvp(p, (X,), (Y,))


@pytest.mark.parametrize(
    "declare", [lambda p: p.defjvp(forgets), lambda p: p.defjvp_argnums(forgets)]
)
def test_a_forward_rule_that_returns_none_is_refused(declare):
    with pytest.raises(RuleError, match=r"returned None; is a `return` missing\? .* zeros"):
        npgrad.jvp(declare(npgrad.primitive(np.sin)), (X,), (Y,))


def squares_in_place():
    """x**2, with rules that write into g."""

    def back(g, x):
        g *= 2 * x
        return g

    p = npgrad.primitive(lambda x: x**2)
    p.defvjp(lambda ans, x: lambda g: back(g, x))
    p.defjvp(lambda g, ans, x: back(g, x))
    return p


def test_a_rule_must_not_write_into_its_cotangent():
    p = squares_in_place()
    with pytest.raises(RuleError, match="a rule must not write into g"):
        npgrad.grad(lambda x: np.sum(p(x) + x))(X)
    _, pull = npgrad.vjp(p, X)
    mine = Y.copy()
    with pytest.raises(RuleError, match="a rule must not write into g"):
        pull(mine)
    np.testing.assert_array_equal(mine, Y)
    with pytest.raises(RuleError, match=r"forward rule .* must not write into g"):
        npgrad.jvp(p, (X,), (mine,))
    np.testing.assert_array_equal(mine, Y)

    pair = npgrad.primitive(lambda x, y: (x + y, x * y))  # zeros for the unused output too

    def writes(g):
        g[1][:] = 1.0
        return g[0]

    pair.defvjp(lambda ans, x, y: writes, lambda ans, x, y: lambda g: g[0] + g[1] * x)
    with pytest.raises(RuleError, match="a rule must not write into g"):
        npgrad.grad(lambda x, y: np.sum(pair(x, y)[0]), (0, 1))(X, Y)


def test_a_compiled_rule_that_writes_into_its_cotangent():
    numba = pytest.importorskip("numba")

    @numba.njit
    def back(g):
        g[0] = 0.0
        return g

    p = npgrad.primitive(np.copy).defvjp(lambda ans, x: back)
    with pytest.raises(RuleError, match="a rule must not write into g"):
        npgrad.grad(lambda x: np.sum(p(x)))(X)


def test_a_recorded_write_into_the_cotangent_reaches_nobody_else():
    only_reverse = squares_in_place()
    only_reverse.rules.jvps.clear()
    # The transpose records the rule: d(x**2 + x) = (2 x + 1) dx.
    _, tangent = npgrad.jvp(lambda x: only_reverse(x) + x, (X,), (Y,))
    np.testing.assert_allclose(tangent, (2 * X + 1) * Y)


def test_a_rule_may_return_its_cotangent():
    p = npgrad.primitive(np.copy).defvjp(lambda ans, x: lambda g: g)
    p.defjvp(lambda g, ans, x: g)
    got = npgrad.grad(lambda x: np.sum(p(x) * Y + p(x) * X))(X)
    np.testing.assert_allclose(got, Y + X)
    got += 1.0  # it is the caller's own
    mine = Y.copy()
    for made in (npgrad.jvp(p, (X,), (mine,))[1], npgrad.vjp(p, X)[1](mine)[0]):
        made += 1.0
        np.testing.assert_array_equal(mine, Y)


@pytest.mark.parametrize(
    "same", [lambda x: x, lambda x: x[:], lambda x: np.frombuffer(memoryview(x))]
)
def test_an_output_that_is_the_argument_is_a_copy_with_and_without_a_recording(same):
    p = npgrad.primitive(same).defvjp(lambda ans, x: lambda g: g)

    def f(x):
        y = x * 1
        z = p(y)
        z[0] = 0  # writes into the copy: y stays
        return np.sum(y) + 2 * np.sum(z)

    x = np.array([1.0, 2.0, 3.0])  # sum(x) + 2 (x1 + x2)
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 16.0
    np.testing.assert_array_equal(gradient, [1, 3, 3])


def test_two_outputs_that_are_one_array_are_apart():
    @npgrad.primitive
    def twice(x):
        y = 2 * x
        return y, y

    twice.defvjp(lambda ans, x: lambda g: 2 * (g[0] + g[1]))

    def f(x):
        a, b = twice(x)
        a[0] = 0
        return np.sum(a) + np.sum(b)

    x = np.array([1.0, 2.0, 3.0])  # 2 (x1 + x2) + 2 (x0 + x1 + x2)
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 22.0
    np.testing.assert_array_equal(gradient, [2, 4, 4])
