"""`register_vjp` for functions that no protocol reaches: met by name, or refused."""

import functools
import importlib
import inspect
import sys

import numpy as np
import pytest
import scipy.linalg as sl

import npgrad
from npgrad.compiled import rules
from npgrad.wrapping import patch, plan, stand_ins
from tests.wrapped import solves

X = np.array([8.0, 3.0])
EXPECTED = np.array([3.0 / 12.0, 2.0 + 8.0 * 3.0])  # a**(1/3) b + 4 b**2


@pytest.fixture
def registered():
    """The rules of the two functions, forgotten afterwards."""
    root, twice = solves.root_of_cube, solves.twice
    npgrad.register_vjp(root, lambda ans, a: lambda g: g / (3.0 * ans**2))
    npgrad.register_vjp(twice, lambda ans, x: lambda g: 2.0 * g)
    yield
    forget(root, twice)


def forget(*functions):
    """As if they had never had a rule."""
    for function in functions:
        made = rules._PRIMITIVES.pop(function)
        del stand_ins.REGISTERED[id(function)], stand_ins._originals[id(made)]
    patch.patches.pop(id(vars(solves)), None)
    plan._plans.clear()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A package of its own with a solver, which has a rule: d cbrt(a)/da = 1 / (3 cbrt(a)**2)."""
    text = inspect.getsource(solves.root_of_cube)
    (tmp_path / "package_of_a_solver.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("package_of_a_solver")
    npgrad.register_vjp(module.root_of_cube, lambda ans, a: lambda g: g / (3.0 * ans**2))
    yield module
    forget(module.root_of_cube)
    del sys.modules["package_of_a_solver"]


SLOPE = 1.0 / 12.0  # of the cube root at 8


def test_a_rule_is_met_through_a_module_that_no_plan_covers(elsewhere):
    original = elsewhere.root_of_cube
    for _ in range(3):
        np.testing.assert_allclose(npgrad.grad(lambda a: elsewhere.root_of_cube(a))(8.0), SLOPE)
    assert elsewhere.root_of_cube is original and sys.getprofile() is None
    with pytest.raises(ZeroDivisionError):
        npgrad.grad(lambda a: elsewhere.root_of_cube(a) / (1 // 0))(8.0)
    assert elsewhere.root_of_cube is original and sys.getprofile() is None


@pytest.mark.parametrize("wrap", [True, False])
def test_a_rule_is_met_where_a_transform_is_given_the_function(elsewhere, wrap):
    root = elsewhere.root_of_cube
    for f in (root, functools.partial(root)):
        np.testing.assert_allclose(npgrad.grad(f, wrap=wrap)(8.0), SLOPE)
        np.testing.assert_allclose(npgrad.value_and_grad(f, wrap=wrap)(8.0), (2.0, SLOPE))
    np.testing.assert_allclose(npgrad.jvp(root, (8.0,), (3.0,))[1], 3.0 * SLOPE)
    np.testing.assert_allclose(npgrad.hessian(root)(8.0), -2.0 / 9.0 / 32.0)


@pytest.mark.parametrize("wrap", [True, False])
def test_a_rule_is_met_where_the_function_is_an_argument(elsewhere, wrap):
    derivative = npgrad.grad(lambda a, f: f(a), wrap=wrap)
    np.testing.assert_allclose(derivative(8.0, elsewhere.root_of_cube), SLOPE)
    np.testing.assert_allclose(derivative(8.0, f=elsewhere.root_of_cube), SLOPE)


def test_a_function_that_is_reached_around_its_rule_is_refused(elsewhere):
    root = elsewhere.root_of_cube
    held = [root]
    with pytest.raises(npgrad.errors.GradientLost, match="root_of_cube has a rule"):
        npgrad.grad(lambda a: held[0](a))(8.0)
    by_name = npgrad.grad(lambda a: elsewhere.root_of_cube(a), wrap=False)
    with pytest.raises(npgrad.errors.GradientLost, match=r"at test_rules_of_others\.py:"):
        by_name(8.0)
    with npgrad.wrap.disabled(), pytest.raises(npgrad.errors.GradientLost):
        npgrad.grad(lambda a: elsewhere.root_of_cube(a))(8.0)
    assert sys.getprofile() is None
    # of a plain number, it is any function: d(2 a)/da
    np.testing.assert_allclose(npgrad.grad(lambda a: held[0](8.0) * a)(5.0), 2.0)
    assert held[0](8.0) == root(8.0)


def test_another_function_of_the_same_code_has_no_rule():
    def scaled(factor):
        return lambda a: factor * a

    three, five = scaled(3.0), scaled(5.0)
    npgrad.register_vjp(three, lambda ans, a: lambda g: 300.0 * g)
    try:
        held = [three, five]
        assert npgrad.grad(lambda a: three(a) + five(a))(1.0) == 305.0
        assert npgrad.grad(lambda a: held[1](a))(1.0) == 5.0
        with pytest.raises(npgrad.errors.GradientLost):
            npgrad.grad(lambda a: held[0](a))(1.0)
    finally:
        forget(three)


def test_a_rule_of_scipys_function_is_met_as_an_attribute():
    matrix = np.array([[0.3, 0.1], [0.0, 0.2]])
    f = npgrad.grad(lambda a: np.trace(sl.sinm(a)))
    with pytest.raises(npgrad.errors.GradientLost):
        f(matrix)
    sinm = sl.sinm
    npgrad.register_vjp(sinm, lambda ans, a: lambda g: sl.cosm(a).T @ g)
    try:  # the gradient of tr sin(A) is cos(A) transposed
        cosine = np.array([[np.cos(0.3), 0.0], [0.0, np.cos(0.2)]])
        cosine[0, 1] = 0.1 * (np.cos(0.3) - np.cos(0.2)) / 0.1  # a divided difference
        np.testing.assert_allclose(f(matrix), cosine.T, rtol=1e-12)
        np.testing.assert_allclose(npgrad.grad(lambda a: np.trace(sinm(a)))(matrix), cosine.T)
        assert sl.sinm is sinm
    finally:
        forget(sinm)
        for made in stand_ins._scipy.values():
            if getattr(made, "sinm", None) is not None:
                made.sinm = sinm


def test_without_a_rule_the_recorded_loop_has_no_derivative():
    with pytest.raises(npgrad.errors.GradientLost):
        npgrad.grad(npgrad.wrap(solves.twice))(np.array(3.0))
    assert npgrad.grad(npgrad.wrap(solves.root_of_cube))(8.0) == 0.0  # why a rule is wanted


@pytest.mark.parametrize("late", [False, True])
def test_a_rule_is_met_where_a_module_names_the_function(late, request):
    f = npgrad.wrap(lambda x: solves.program(x), also=("tests",))
    if late:  # the namespace was looked at before the rule came
        with pytest.raises(npgrad.errors.GradientLost):
            npgrad.grad(f)(X)
    request.getfixturevalue("registered")
    np.testing.assert_allclose(npgrad.grad(f)(X), EXPECTED, rtol=1e-12)
    tangent = npgrad.jvp(f, (X,), (np.array([1.0, -1.0]),))[1]
    np.testing.assert_allclose(tangent, EXPECTED @ [1.0, -1.0], rtol=1e-12)
    hessian = npgrad.hessian(f)(X)
    expected = [[3.0 * -2.0 / 9.0 / 32.0, 1.0 / 12.0], [1.0 / 12.0, 8.0]]
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)
    assert solves.twice(2.0) == 4.0 and not hasattr(solves.root_of_cube, "defvjp")
