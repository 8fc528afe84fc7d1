"""`npgrad.primitive`: outputs through which no gradient can be followed, and rules too many."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import npgrad
from npgrad.errors import NotDifferentiable

X = np.array([1.0, 2.0, 3.0])


class Holder:
    """An object that no container library knows."""

    def __init__(self, x):
        self.x = x


def identity(fun):
    """`fun` with a reverse rule that hands on what it gets."""
    return npgrad.primitive(fun).defvjp(lambda ans, x: lambda g: g)


HIDDEN = {
    "generator": (lambda x: (v * v for v in x), sum),
    "map": (lambda x: map(np.sin, x), sum),
    "set": (lambda x: set(x.tolist()), sum),
    "object array": (lambda x: x.astype(object), np.sum),
    "sparse matrix": (lambda x: sparse.csr_matrix(np.diag(x)), lambda y: np.sum(y.data)),
    "object": (Holder, lambda y: np.sum(y.x)),
    "function": (lambda x: lambda: x, lambda y: np.sum(y())),
    "text": (lambda x: str(x[0]), float),
    "Fraction": (lambda x: Fraction(float(x[0])), float),
    "Decimal": (lambda x: Decimal(float(x[0])), float),
    "masked array": (lambda x: np.ma.array(x, mask=[1, 0, 0]), np.sum),
    "structured array": (lambda x: x.view([("a", float)]), lambda y: np.sum(y["a"])),
    "generator in a tuple": (lambda x: (x, (v for v in x)), lambda y: np.sum(y[0]) + sum(y[1])),
    "object in a dict": (lambda x: {"a": x, "b": Holder(x)}, lambda y: np.sum(y["b"].x)),
}


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("transform", [npgrad.grad, npgrad.jacfwd])
def test_what_hides_a_gradient_is_refused(kind, transform):
    fun, after = HIDDEN[kind]
    hiding = identity(fun)
    with pytest.raises(NotDifferentiable, match="no gradient can be followed"):
        transform(lambda x: np.sum(x * 0) + after(hiding(x)))(X)
    after(hiding(X))  # plain arguments have no gradient to lose


def test_no_gradient_may_be_declared_or_the_argument_be_constant():
    silent = npgrad.primitive(Holder).defvjp(None)
    got = npgrad.grad(lambda x: np.sum(x * silent(x).x))(X)
    np.testing.assert_array_equal(got, X)
    hiding = identity(Holder)
    got = npgrad.grad(lambda x: np.sum(x * hiding(npgrad.value(x)).x))(X)
    np.testing.assert_array_equal(got, X)


def test_remarks_beside_arrays_pass():
    solver = npgrad.primitive(lambda x: (x**2, {"message": "converged", "steps": 3, "more": None}))
    solver.defvjp(lambda ans, x: lambda g: 2 * x * g[0])
    np.testing.assert_array_equal(npgrad.grad(lambda x: np.sum(solver(x)[0]))(X), 2 * X)


def test_more_rules_than_arguments_are_refused():
    maker = lambda ans, x: lambda g: 2 * g
    for word in ("defvjp", "defjvp"):
        with pytest.raises(TypeError, match=r"takes 1 arguments by position.*number 2"):
            getattr(npgrad.primitive(lambda x: 2 * x), word)(maker, maker)
        with pytest.raises(TypeError, match=r"takes 1 arguments by position.*number 3"):
            getattr(npgrad.primitive(lambda x, *, key=0: 2 * x), word)(maker, argnums=2)
    many = npgrad.primitive(lambda *xs: sum(xs))
    many.defvjp(*(lambda ans, *xs: lambda g: g for _ in range(3)))
    assert npgrad.grad(lambda x: many(x, x, x))(1.0) == 3.0


def test_an_argument_that_is_handed_back_goes_through() -> None:
    """It holds what the caller gave; another object may hold values whose gradient is lost."""

    class Pattern:
        def __init__(self) -> None:
            self.weight = 3.0

    @npgrad.primitive
    def cost(x, pattern, fresh):
        return {"cost": pattern.weight * x, "pattern": Pattern() if fresh else pattern}

    cost.defvjp(lambda ans, x, pattern, fresh: lambda g: pattern.weight * g["cost"])
    given = Pattern()

    def f(x):
        made = cost(x, given, False)
        assert made["pattern"] is given
        return np.sum(made["cost"] * x)

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(npgrad.grad(f)(x), 6 * x)
    with pytest.raises(npgrad.errors.NotDifferentiable, match="Pattern"):
        npgrad.grad(lambda x: np.sum(cost(x, given, True)["cost"]))(x)
