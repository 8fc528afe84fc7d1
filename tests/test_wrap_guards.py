"""Functions in Python that have a rule refuse recorded arguments, however they are reached."""

import inspect
import sys
import threading

import numpy as np
import pytest

import npgrad
from npgrad.compiled import rules
from npgrad.wrapping import plan, stand_ins

X = np.array([0.7, 1.3])


def make(offset):
    def closing(x, /, y=2.0, *more, scale=3.0, **named):
        if x is None:
            return closing(y)
        return float(np.sum(x)) * y * scale + offset + sum(more) + sum(named.values())

    return closing


def solver(x):
    return float(np.sum(x)) ** 2


@pytest.fixture
def ruled():
    """Functions with rules, out of a list: no name leads to them."""
    functions = [solver, make(1.0)]
    codes = [f.__code__ for f in functions]
    npgrad.register_vjp(functions[0], lambda ans, x: lambda g: g * 2 * np.sum(x) * np.ones(2))
    npgrad.register_vjp(
        functions[1], lambda ans, x, *rest, **named: lambda g: 7 * g * np.ones(2), argnums=0
    )
    yield functions
    for function, code in zip(functions, codes, strict=True):
        assert function.__code__ is code
        made = rules._PRIMITIVES.pop(function)
        del stand_ins.REGISTERED[id(function)], stand_ins._originals[id(made)]
    plan.renew()


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("wrap", [True, False])
def test_refused_out_of_a_list(ruled, which, wrap) -> None:
    with pytest.raises(npgrad.errors.GradientLost, match=r"has a rule, but was called at .*guards"):
        npgrad.grad(lambda x: ruled[which](x), wrap=wrap)(X)


def test_refused_under_a_profiler_which_stays(ruled) -> None:
    def profiler(frame, event, arg):
        pass

    sys.setprofile(profiler)
    try:
        with pytest.raises(npgrad.errors.GradientLost):
            npgrad.grad(lambda x: ruled[0](x))(X)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_plain_arguments_of_every_kind(ruled) -> None:
    plainly = make(1.0)

    def f(x):
        closing = ruled[1]
        assert sys.getprofile() is None
        assert inspect.signature(closing) == inspect.signature(plainly)
        for args, named in (
            ((X,), {}),
            ((X, 3.0), {}),
            ((X, 3.0, 4.0, 5.0), {"scale": 6.0}),
            ((X,), {"y": 2.5, "other": 8.0}),
            ((None, 2.0), {}),
        ):
            assert closing(*args, **named) == plainly(*args, **named)
        with pytest.raises(TypeError, match="missing 1 required positional"):
            closing()
        return np.sum(x) * closing(X)

    np.testing.assert_allclose(npgrad.grad(f)(X), plainly(X) * np.ones(2))


def test_rules_are_used_where_they_stand(ruled) -> None:
    first, second = ruled
    np.testing.assert_allclose(npgrad.grad(first)(X), 4.0 * np.ones(2))
    np.testing.assert_allclose(npgrad.grad(lambda x: second(x))(X), 7 * np.ones(2))
    np.testing.assert_allclose(npgrad.grad(lambda x, s: s(x))(X, first), 4.0 * np.ones(2))


def test_calls_that_overlap(ruled) -> None:
    """The guard stays until the last call ends, and nested calls leave it to the outer one."""
    inside, leave, errors = threading.Event(), threading.Event(), []

    def slow(x):
        inside.set()
        leave.wait(10)
        try:
            ruled[0](x)
        except npgrad.errors.GradientLost as error:
            errors.append(error)
        return np.sum(x)

    thread = threading.Thread(target=lambda: npgrad.grad(slow)(X))
    thread.start()
    inside.wait(10)
    npgrad.grad(lambda x: np.sum(npgrad.grad(lambda y: np.sum(y * y))(x)))(X)
    leave.set()
    thread.join()
    assert len(errors) == 1
