"""Programs of public packages, unchanged: each gradient is right, or the program is refused.

Those of NumPy, SciPy and scikit-learn run by default; the others with the extra `programs`
installed and ``-m programs``. docs/programs.md says what was found.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import npgrad
from tests.programs_public import registry
from tests.programs_public.rules import RULES

LIGHT = frozenset({"numpy", "scipy", "sklearn"})
PROGRAMS = registry.load()


def marks(program: registry.Program) -> list[pytest.MarkDecorator]:
    return [] if program.package in LIGHT else [pytest.mark.programs]


PARAMS = [pytest.param(name, marks=marks(program)) for name, program in PROGRAMS.items()]

pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages


def gradient(program: registry.Program, case: registry.Case, weight: np.ndarray) -> np.ndarray:
    f = npgrad.wrap(case.f, also=program.also)
    value, found = npgrad.value_and_grad(lambda x: np.sum(weight * f(x)))(case.x.copy())
    assert type(found) is np.ndarray and found.dtype == case.x.dtype
    plain = np.sum(weight * case.f(case.x.copy()))
    assert np.allclose(value, plain, rtol=1e-12, atol=1e-14)
    return found


@pytest.mark.parametrize("name", PARAMS)
def test_gradient(name):
    program = PROGRAMS[name]
    if importlib.util.find_spec(program.package) is None:
        pytest.skip(f"{program.package} is not installed")
    try:
        case = program.make()
        before = np.array(case.f(case.x.copy()))
    except ImportError as error:  # a package that this one imports on use
        pytest.skip(str(error))
    if name in RULES:
        RULES[name]()
    expected = registry.reference(case)
    assert np.any(expected != 0.0), "the program must depend on its argument"
    try:
        found = gradient(program, case, registry.weights(before))
    except AssertionError:
        raise
    except Exception:
        if program.refuses is None:
            raise
    else:
        assert registry.agrees(found, expected, case.tolerance), (found, expected)
    assert registry.left_behind(program.also) == []
    after = case.f(case.x.copy())
    # A result that the package kept may be a GradArray of the ended call: its doors are open.
    assert np.array_equal(np.array(after), before), "the package computes something else now"


def test_the_check_can_fail():
    expected = np.array([1.0, 2.0])
    assert registry.agrees(expected * (1 + 1e-7), expected, 1e-6)
    assert not registry.agrees(expected * 1.01, expected, 1e-6)
    assert not registry.agrees(expected * np.nan, expected, 1e-6)
    assert not registry.agrees(expected[:1], expected, 1e-6)


@pytest.mark.programs
@pytest.mark.parametrize("package", [(), ("astropy",)])
def test_a_result_cached_inside_of_the_package(package):
    models = pytest.importorskip("astropy.modeling.models")
    model, x = models.Voigt1D(), np.array([1.5, 1.2, 0.7, 0.4])
    t = np.linspace(0.3, 4.0, 7)
    f = npgrad.wrap(lambda p: np.sum(model.evaluate(t, *p)), also=package)
    expected = np.sum(models.Voigt1D().fit_deriv(t, *x), axis=1)
    assert np.allclose(npgrad.grad(f)(x), expected)
    f(x)  # the model now keeps the result at x, a plain one
    assert np.allclose(npgrad.grad(f)(x), expected)
    assert np.allclose(npgrad.grad(f)(x), expected)
