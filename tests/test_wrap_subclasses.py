"""Subclasses of ndarray with recorded values, in wrapped code."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative
from tests.wrapped import subclasses as classes
from tests.wrapped import unbound

X = np.array([1.0, 2.0, 3.5])
FUNCTIONS = [classes.points, classes.methods, classes.far, classes.quaternion, classes.filled]
FUNCTIONS += [classes.asking, unbound.unbound]


def differences(f, x, step=1e-5):
    """Of fourth order."""
    steps = np.eye(x.size) * step
    rise = [8 * (f(x + e) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e) for e in steps]
    return np.array([float(change) for change in rise]) / (12 * step)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_values_and_second_order(f) -> None:
    names = dict(vars(classes))
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-8)
    np.testing.assert_allclose(npgrad.jacfwd(f)(X), gradient, rtol=1e-12)
    v = np.array([0.3, -1.0, 0.5])
    second = (npgrad.grad(f)(X + 1e-5 * v) - npgrad.grad(f)(X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(npgrad.hvp(f, X, v), second, rtol=1e-6, atol=1e-7)
    assert vars(classes) == names
    assert all(vars(classes)[name] is value for name, value in names.items())


def test_what_is_returned_is_an_array_or_the_instance_itself() -> None:
    jacobian = npgrad.jacobian(lambda x: classes.Point(x) * 2.0)(X)
    np.testing.assert_array_equal(jacobian, 2 * np.eye(3))
    made = npgrad.wrap(classes.Point.doubled)(classes.GIVEN)
    assert type(made) is classes.Point and made.name == "doubled"
    np.testing.assert_array_equal(np.asarray(made), [6.0, 4.0, 2.0])


def test_what_cannot_be_known_is_refused() -> None:
    with pytest.raises(NoDerivative, match="other values than NumPy"):
        npgrad.grad(classes.degrees)(X)
    with pytest.raises(NoDerivative, match="__array_ufunc__ of its own"):
        npgrad.grad(classes.strict)(X)
    with pytest.raises(NoDerivative, match=r"x\.view\(Point\)"):
        npgrad.grad(lambda x: x.view(classes.Point).sum(), wrap=False)(X)
    with pytest.raises(TypeError, match="subclass of ndarray"):
        npgrad.grad(lambda x: np.sum(classes.GIVEN - x), wrap=False)(X)


def loss(x):
    p = classes.Point(x)
    twin = copy.copy(p)
    twin[0] = 5.0
    deep = copy.deepcopy(p)
    assert repr(p).startswith("Point(") and f"{p}" == str(p) and len(str(p)) > 5
    assert bool(p[0]) and int(p[2]) == 3
    p += 1.0
    return np.sum(twin * p) + np.sum(deep)


def test_copies_text_and_writes() -> None:
    np.testing.assert_allclose(npgrad.grad(loss)(X), differences(loss, X), rtol=1e-8)


def test_other_threads_make_instances() -> None:
    inside, done = threading.Event(), threading.Event()
    seen: list[object] = []

    def f(x):
        inside.set()
        assert done.wait(10)
        return classes.Point(x).norm()

    def other():
        assert inside.wait(10)
        seen.append(classes.Quaternion(X))
        seen.append(classes.Point(X).round(0))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    np.testing.assert_allclose(npgrad.grad(f)(X), X / np.linalg.norm(X))
    thread.join()
    assert [type(one) for one in seen] == [classes.Quaternion, classes.Point]
    np.testing.assert_allclose(np.asarray(seen[0]), X / np.linalg.norm(X))
