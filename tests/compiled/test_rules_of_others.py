"""`register_vjp` for functions that no protocol reaches: met by name in wrapped code."""

import numpy as np
import pytest

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
    for function in (root, twice):
        made = rules._PRIMITIVES.pop(function)
        del stand_ins.REGISTERED[id(function)], stand_ins._originals[id(made)]
    patch.patches.pop(id(vars(solves)), None)
    plan._plans.clear()


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
