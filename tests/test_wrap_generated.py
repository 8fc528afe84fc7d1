"""Functions that libraries generate as text record as written ones do."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import npgrad
from npgrad.wrapping import patch as patching
from tests.wrapped import generated

X = np.array([0.7, 1.3])


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert generated.pair.__globals__["array"] is np.array
    assert generated.Point.__init__.__globals__["convert"] is np.asarray
    assert not any(patch.users for patch in patching.patches.values())


def test_a_function_that_a_module_names():
    expected = [[2 * X[0], 0.0], [np.sin(X[1]), X[0] * np.cos(X[1])]]
    assert np.allclose(npgrad.jacobian(generated.of_pair)(X), expected)
    assert np.allclose(npgrad.jacobian(generated.of_pair)(X), expected)


def test_a_method_with_a_converter():
    expected = [[X[1], X[0]], [0.0, 3 * X[1] ** 2]]
    assert np.allclose(npgrad.jacobian(generated.of_point)(X), expected)


def test_the_function_itself_keeps_all_its_names_afterwards():
    jacobian = npgrad.jacobian(npgrad.wrap(generated.pair))(X)
    assert np.allclose(jacobian, [[1.0, 0.0], [0.0, np.cos(X[1])]])
    test_a_function_that_a_module_names()


def rotation(sympy):
    t = sympy.Symbol("t")
    cos, sin = sympy.cos(t), sympy.sin(t)
    return sympy.lambdify(t, sympy.Matrix([[cos, -sin], [sin, cos]]), "numpy")


def turned(link):
    return lambda x: (link(x[0]) @ x)[0]


def test_what_sympy_made_wherever_it_is_held():
    link = generated.Link(rotation(pytest.importorskip("sympy")))
    a, b = X
    expected = [np.cos(a) - a * np.sin(a) - b * np.cos(a), -np.sin(a)]
    for _ in range(3):
        assert np.allclose(npgrad.grad(turned(link))(X), expected)
    later = generated.Link(rotation(pytest.importorskip("sympy")))
    assert np.allclose(npgrad.grad(turned(later))(X), expected)
    assert later.steps[0]["matrix"].__globals__["array"] is np.array


def test_what_sympy_made_is_freed():
    sympy = pytest.importorskip("sympy")
    link = generated.Link(rotation(sympy))
    npgrad.grad(turned(link))(X)
    gone = weakref.ref(link.steps[0]["matrix"])
    del link
    gc.collect()
    assert gone() is None
