"""A function that Numba compiles inside of a wrapped call is compiled with NumPy's own names."""

import importlib
import sys

import numpy as np

import npgrad


def test_first_compiled_in_wrapped_code() -> None:
    sys.modules.pop("tests.wrapped.compiles_late", None)
    late = importlib.import_module("tests.wrapped.compiles_late")
    gradient = npgrad.grad(late.program)(np.array([0.3, 0.7]))
    filled = [i + np.sin(i) + 2.0 for i in range(3)]
    np.testing.assert_allclose(gradient, [np.linalg.norm(filled) + 2.0, (np.sin(2.0) + 2.0) * 2.0])
    assert late.program(np.array([0.3, 0.7])) == np.sum(gradient * [0.3, 0.7])
    assert late.total._compiler.py_func is late.total.py_func
    assert late.wave._dispatcher.py_func.__globals__ is vars(late)
    assert late.np is np and late.zeros is np.zeros


def test_first_compiled_while_its_module_is_imported_inside() -> None:
    sys.modules.pop("tests.wrapped.compiles_late", None)

    def f(x):
        late = importlib.import_module("tests.wrapped.compiles_late")
        return late.program(x)

    again = npgrad.grad(f)(np.array([0.3, 0.7]))
    np.testing.assert_allclose(again, npgrad.grad(f)(np.array([1.0, 2.0])))
