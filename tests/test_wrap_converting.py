"""Objects that NumPy converts by their ``__array__``, in wrapped code."""

import numpy as np
import pytest

import npgrad

W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
X = np.array([0.1, 0.2, 0.3])


class Holder:
    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return self.value


class Other:
    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return self.value


class First(Other):
    """Has a priority over arrays, and operators for them."""

    __array_priority__ = 20.0

    def __rmul__(self, other):
        return ("mine", other)


def through(make):
    def f(x):
        total = np.sum(make(np.outer(x, x)) @ W) + np.sum(W @ make(x)) + np.sum(W * make(x))
        total = total + np.exp(make(x)).sum() + np.sum(make(W) + x)
        return total + np.sum(np.add(make(x), make(x)))

    return f


def test_operators_and_ufuncs_of_what_is_converted():
    expected = npgrad.grad(through(lambda value: value))(X)
    np.testing.assert_allclose(npgrad.grad(through(Holder))(X), expected)
    assert not hasattr(Holder, "__array_ufunc__")
    np.testing.assert_allclose(through(Holder)(X), through(lambda value: value)(X))


def test_a_class_with_ways_of_its_own_keeps_them():
    def f(x):
        assert (W * First(1.0))[0] == "mine"
        return x.sum()

    np.testing.assert_allclose(npgrad.grad(f)(X), np.ones(3))


def test_outside_of_wrapped_code_it_is_refused():
    with pytest.raises(ValueError, match="not producing an array"):
        npgrad.grad(lambda x: np.sum(W @ Holder(x)), wrap=False)(X)
