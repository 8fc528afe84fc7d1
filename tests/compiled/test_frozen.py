"""Numba's own meaning of a function: frozen constants, numbers that wrap, draws, no exceptions."""

import math

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost

numba = pytest.importorskip("numba")

X = np.array([1.3, 0.7, 2.1])
K = 2.0
TABLE = np.array([2.0, 3.0])


@numba.njit
def over_arrays(x):
    return x.sum() * K


@numba.njit
def of_numbers(a):
    return a * a * K


@numba.njit
def calling(a):
    return of_numbers(a) + K * a


@numba.vectorize
def elementwise(a):
    return a * K


@numba.njit
def looked_up(x):
    return x.sum() * TABLE[0]


def _closed_over():
    k = 2.0

    @numba.njit
    def f(x):
        return x.sum() * k

    def change(value):
        nonlocal k
        k = value

    return f, change


@pytest.fixture
def changed(monkeypatch):
    """The constants of functions that were compiled with K = 2."""
    for f, x in ((over_arrays, X), (of_numbers, 1.5), (calling, 1.5), (elementwise, X)):
        f(x)
    monkeypatch.setitem(globals(), "K", 5.0)


@pytest.mark.usefixtures("changed")
def test_a_number_changed_after_the_compilation():
    np.testing.assert_allclose(npgrad.grad(over_arrays)(X), [2.0, 2.0, 2.0])
    assert npgrad.value_and_grad(of_numbers)(1.5) == (4.5, 6.0)
    assert npgrad.value_and_grad(calling)(1.5) == (7.5, 8.0)
    np.testing.assert_allclose(npgrad.grad(lambda x: elementwise(x).sum())(X), [2.0, 2.0, 2.0])


def test_a_closures_number_changed_after_the_compilation():
    f, change = _closed_over()
    f(X)
    change(5.0)
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(gradient, [2.0, 2.0, 2.0])


def test_a_number_changed_before_the_compilation(monkeypatch):
    @numba.njit
    def late(x):
        return (x * x).sum() * K

    monkeypatch.setitem(globals(), "K", 3.0)
    np.testing.assert_allclose(npgrad.grad(late)(X), 6.0 * X)  # compiled now, as by a plain call
    assert late(X) == pytest.approx(3.0 * np.sum(X * X))
    monkeypatch.setitem(globals(), "K", 4.0)
    np.testing.assert_allclose(npgrad.grad(late)(X), 6.0 * X)


def test_an_array_changed_after_the_compilation(monkeypatch):
    looked_up(X)
    np.testing.assert_allclose(npgrad.grad(looked_up)(X), [2.0, 2.0, 2.0])
    monkeypatch.setitem(globals(), "TABLE", TABLE)
    TABLE[0] = 7.0
    try:
        with pytest.raises(GradientLost, match=r"looked_up\.recompile\(\)"):
            npgrad.grad(looked_up)(X)
        looked_up.recompile()
        np.testing.assert_allclose(npgrad.grad(looked_up)(X), [7.0, 7.0, 7.0])
    finally:
        TABLE[0] = 2.0


@numba.njit
def hashed(x, n):
    h = n * 2654435761 * 2654435761
    h = h ^ (h >> 13)
    h = h * 1274126177
    return x[0] * ((h >> 3) % 100)


def test_integers_that_wrap():
    """Python's do not: the value was another one."""
    with pytest.raises(GradientLost, match="do not fit their type"):
        npgrad.grad(lambda x: hashed(x, 1234567))(X)


@numba.njit
def drawing(a):
    return a * np.random.normal()


@numba.njit
def drawing_inside(x):
    return x.sum() * drawing(1.0)


@numba.vectorize
def drawing_each(a):
    return a * np.random.random()


@pytest.mark.parametrize(
    ("f", "x"),
    [(drawing, 1.5), (drawing_inside, X), (lambda x: drawing_each(x).sum(), X)],
)
def test_draws_are_refused(f, x):
    """The derivative's would be other draws than the value's."""
    state = np.random.get_state()[1].copy()
    with pytest.raises(GradientLost, match="random numbers"):
        npgrad.grad(f)(x)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    assert np.all(np.isfinite(f(x)))


@numba.njit
def without_exceptions(x):
    s = 0.0
    for v in x:
        s += v / (1 + math.exp(-v * 1000)) + math.floor(v) * v + math.hypot(v, 1.0)
    return s if math.isnan(math.sqrt(-1.0)) and math.isinf(math.log(0.0)) else 0.0


def test_functions_of_math_raise_nothing():
    """In compiled code exp overflows to inf, log(0) is -inf, and sqrt(-1) NaN."""
    x = np.array([-1.3, 0.7, 2.1])
    value, gradient = npgrad.value_and_grad(without_exceptions)(x)
    assert value == pytest.approx(without_exceptions(x))
    np.testing.assert_allclose(gradient, [0, 1, 1] + np.floor(x) + x / np.hypot(x, 1.0))


def test_what_is_filled_is_compared_too():
    @numba.njit
    def fill(x, out):
        for i in range(x.size):
            out[i] = x[i] * x[i]
        return out.sum()

    def f(x):
        out = np.zeros(3)
        fill(x, out)
        return out @ [1.0, 2.0, 3.0]

    f(X)
    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X * [1.0, 2.0, 3.0])
    np.testing.assert_allclose(npgrad.hessian(f)(X), np.diag([2.0, 4.0, 6.0]))
