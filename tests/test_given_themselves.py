"""Functions given to a transform themselves, registries that change, errors in threads."""

import functools
import math
import sys
import threading
import types

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost

X = np.array([2.0, 0.7, 1.5])


@pytest.mark.parametrize(
    ("f", "at", "right"),
    [
        (math.sin, 2.0, math.cos(2.0)),
        (math.exp, 0.5, math.exp(0.5)),
        (float, 2.0, 1.0),
        (np.polynomial.Polynomial([1.0, 2.0, 3.0]), 2.0, 14.0),
        (np.polynomial.Chebyshev([0.0, 0.0, 1.0]), 0.5, 2.0),
        (np.poly1d([3.0, 2.0, 1.0]), 2.0, 14.0),
        (np.vectorize(lambda t: t**2), 3.0, 6.0),
        (np.array([1.0, 2.0]).dot, np.array([3.0, 4.0]), np.array([1.0, 2.0])),
        (np.sin, 2.0, math.cos(2.0)),
    ],
)
def test_a_function_given_itself(f, at, right):
    np.testing.assert_allclose(npgrad.grad(f)(at), right)
    np.testing.assert_allclose(npgrad.jvp(f, (at,), (np.ones_like(at),))[1], np.sum(right))
    np.testing.assert_allclose(npgrad.grad(npgrad.wrap(f))(at), right)


def test_functions_of_several_arguments_and_of_elements():
    p, q = npgrad.grad(math.pow, (0, 1))(2.0, 3.0)
    assert (p, q) == (pytest.approx(12.0), pytest.approx(8.0 * math.log(2.0)))
    for f in (np.vectorize(math.sin), np.frompyfunc(math.sin, 1, 1)):
        np.testing.assert_allclose(npgrad.elementwise_grad(f)(X), np.cos(X))
    z = npgrad.grad(complex, holomorphic=True)(1.0 + 1.0j)
    assert z == 1.0


def test_the_determinant_of_scipy():
    linalg = pytest.importorskip("scipy.linalg")
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(npgrad.grad(linalg.det)(a), [[3.0, -0.5], [-1.0, 2.0]])


@functools.singledispatch
def chosen(x):
    return 1.0


@chosen.register(np.ndarray)
def _(x):
    return np.sin(x[0])


@chosen.register(float)
def _(x):
    return x * x


class Chooser:
    @functools.singledispatchmethod
    def chosen(self, x):
        return 1.0

    @chosen.register(np.ndarray)
    def _(self, x):
        return np.sin(x[0])


@pytest.mark.parametrize(
    "f", [chosen, functools.partial(chosen), Chooser().chosen, lambda x: chosen(x)]
)
def test_a_dispatching_function_takes_the_branch_for_arrays(f):
    for _ in range(3):
        value, gradient = npgrad.value_and_grad(f)(X)
        assert value == np.sin(2.0)
        np.testing.assert_allclose(gradient, [np.cos(2.0), 0.0, 0.0])


def test_a_dispatching_function_of_a_number():
    assert npgrad.value_and_grad(chosen)(1.5) == (2.25, 3.0)


def test_entries_exchanged_in_a_table(monkeypatch):
    """In a module of its own that is `__main__`, as a script or a notebook has it."""
    space = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", space)
    source = (
        "import numpy as np\n"
        "table = {'f': np.tanh}\n"
        "late = {}\n"
        "def f(x): return table['f'](x[0]) * x[1]\n"
        "def g(x): return late['f'](x[0]) * x[1]\n"
    )
    exec(source, vars(space))
    gradient = npgrad.grad(space.f)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X)[1], np.tanh(2.0))
    for made, right in ((math.sin, np.sin(2.0)), (float, 2.0), (np.exp, np.exp(2.0))):
        space.table["f"] = made
        np.testing.assert_allclose(gradient(X)[1], right)
    for made, right in ((math.sin, np.sin(2.0)), (math.exp, np.exp(2.0))):
        space.late["f"] = made
        np.testing.assert_allclose(npgrad.grad(space.g)(X)[1], right)
    assert space.late["f"] is math.exp


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_in_a_thread_is_raised_when_the_function_returns():
    def work(b, x):
        b[:] = x * 2

    def f(x, b):
        thread = threading.Thread(target=work, args=(b, x))
        thread.start()
        thread.join()
        return np.sum(b * x)

    with pytest.raises(GradientLost, match="a thread caught this error"):
        npgrad.grad(f, wrap=False)(X, np.ones(3))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_of_another_threads_own_recording_is_not_ours():
    def elsewhere():
        with pytest.raises(GradientLost):
            npgrad.grad(lambda y: math.sin(y), wrap=False)(1.0)

    def f(x):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return np.sum(x**2)

    np.testing.assert_allclose(npgrad.grad(f, wrap=False)(X), 2 * X)
