"""In-place writes under `npgrad.no_grad`: leaves stay leaves, everything else is constant there."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost

START = np.array([[1.0, -2.0], [3.0, 4.0]])


def _rows(a: Any) -> None:
    for row in a:
        row -= 0.1


def _halves(a: Any) -> None:
    first, rest = a[:1], a[1:]
    first *= 0.5
    rest -= 3.0


def _flat(a: Any) -> None:
    a.reshape(-1)[1] = 3.0


def _iadd(a: Any) -> None:
    a -= 0.5


WRITES: dict[str, Callable[[Any], Any]] = {
    "whole": _iadd,
    "rows": _rows,
    "halves": _halves,
    "flat": _flat,
    "item": lambda a: a.__setitem__((0, 1), 7.0),
    "item of a row": lambda a: a[0].__setitem__(1, 5.0),
    "augmented slice": lambda a: a.__setitem__(slice(1, None), a[1:].__isub__(1.0)),
    "transposed": lambda a: a.T.__imul__(2.0),
    "out": lambda a: np.subtract(a[0], 1.0, out=a[0]),
    "out and where": lambda a: np.sqrt(a, out=a, where=a > 0),
    "add.at": lambda a: np.add.at(a, (0, 1), 3.0),
    "add.at of a row": lambda a: np.add.at(a[1], [0, 0], 3.0),
    "copyto": lambda a: np.copyto(a[0], 4.0),
    "fill": lambda a: a[0].fill(3.0),
    "sort": lambda a: a.sort(0),
    "put": lambda a: np.put(a, [0, 3], 3.0),
    "real": lambda a: a.real.__isub__(1.0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_leaf_stays_the_leaf_it_was(write: Callable[[Any], Any]) -> None:
    a, plain = npgrad.array(START), START.copy()
    before = np.sum(3.0 * a)
    store = np.sum(a**2).backward()
    held = store[a]
    with npgrad.no_grad():
        write(a)
    write(plain)
    np.testing.assert_array_equal(npgrad.value(a), plain)
    assert store[a] is held  # an optimiser's update does not lose what it was made of
    np.testing.assert_allclose(np.sum(a**2).backward()[a], 2 * plain)
    # what was recorded of the earlier value belongs to the leaf as well
    np.testing.assert_allclose((before + np.sum(a**2)).backward()[a], 3 + 2 * plain)


def test_a_view_taken_before_the_update_sees_it() -> None:
    a = npgrad.array([1.0, 2.0, 3.0])
    tail = a[1:]
    with npgrad.no_grad():
        a *= 10.0
    np.testing.assert_array_equal(np.sum(tail**2).backward()[a], [0.0, 40.0, 60.0])


def test_many_updates_leave_nothing_behind() -> None:
    a = npgrad.array(np.full(3, 5.0))
    for _ in range(2000):
        gradient = np.sum((a - 1.0) ** 2).backward()[a]
        with npgrad.no_grad():
            head, tail = a[:1], a[1:]
            head -= 0.1 * gradient[:1]
            tail -= 0.1 * gradient[1:]
    np.testing.assert_allclose(npgrad.value(a), 1.0)


def test_what_a_transform_passes_is_constant_where_it_was_written() -> None:
    def f(x: Any) -> Any:
        first = np.sum(2.0 * x)
        with npgrad.no_grad():
            x[0] = 0.5
            np.add.at(x, [1], x[2])
        return first + np.sum(x**2)

    x = np.array([1.0, 2.0, 3.0])
    # x[1] += (a constant 3): its slope goes on; x[0] is a constant
    want = np.array([2.0, 2.0 + 2 * 5.0, 2.0 + 2 * 3.0])
    np.testing.assert_allclose(npgrad.grad(f)(x), want)
    tangent = np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(npgrad.jvp(f, (x,), (tangent,))[1], want @ tangent)


def test_a_defensive_copy_in_wrapped_code_is_recorded() -> None:
    def f(x: Any) -> Any:
        y = copy.deepcopy(x)
        y *= 3
        return (y**2).sum() + x.sum()

    x = np.array([1.0, 2.0])
    a = npgrad.array(x)
    np.testing.assert_array_equal(npgrad.wrap(f)(a).backward()[a], 18 * x + 1)
    np.testing.assert_array_equal(npgrad.grad(f)(x), 18 * x + 1)
    with npgrad.Tape():
        np.testing.assert_array_equal(f(a).backward()[a], 18 * x + 1)
    with pytest.raises(GradientLost, match="pickl"):
        npgrad.wrap(lambda x: pickle.loads(pickle.dumps(x)).sum() + x.sum())(a)
    assert copy.deepcopy(a) is not a
    assert np.sum(copy.deepcopy(a)).backward().get(a) is None  # outside: a leaf of its own


PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda t, w: t.__setitem__(slice(None), w),
    "+=": lambda t, w: t.__iadd__(w),
    "out": lambda t, w: np.add(t, w, out=t),
    "out of a function": lambda t, w: np.dot(np.eye(2), w, out=t),
    "out of a composed function": lambda t, w: np.einsum("i->i", w, out=t),
    "out and where": lambda t, w: np.add(t, w, out=t, where=np.array([True, True])),
    "copyto": lambda t, w: np.copyto(t, w),
    "put": lambda t, w: np.put(t, [0, 1], w),
    "add.at": lambda t, w: np.add.at(t, [0, 1], w),
    "asarray": lambda t, w: t.__setitem__(slice(None), np.asarray(w)),
    "a list": lambda t, w: t.__setitem__(slice(None), [w[0], w[1]]),
    "assert": lambda t, w: (np.testing.assert_allclose(w, [1.0, 2.0]), t.__iadd__(w.tolist())),
}


@pytest.mark.parametrize("fill", PLAIN.values(), ids=PLAIN.keys())
def test_a_plain_array_takes_values_there(fill: Callable[[Any, Any], Any]) -> None:
    """A target network's ``t[:] = w``: a leaf is answered as ``w * 1`` is."""
    w, t = npgrad.array([1.0, 2.0]), np.zeros(2)
    with npgrad.no_grad():
        fill(t, w)
    assert type(t) is np.ndarray
    np.testing.assert_array_equal(t, [1.0, 2.0])
    with pytest.raises((GradientLost, npgrad.errors.InPlaceError)):
        fill(np.zeros(2), w)
    constant = npgrad.stop_gradient(w)
    t[:] = 0.0
    fill(t, constant)
    np.testing.assert_array_equal(t, [1.0, 2.0])


def test_an_update_that_was_recorded_says_what_to_do() -> None:
    w = npgrad.array(np.zeros(3))
    for _ in range(2):
        w -= 0.1 * np.sum((w - 1) ** 2).backward()[w]
    with pytest.raises(npgrad.errors.GraphFreed, match="no_grad"):
        np.sum((w - 1) ** 2).backward()
