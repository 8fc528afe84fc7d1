"""Methods and objects in what a call needs: what they lead to is read, and looked at again."""

import dataclasses
import math

import numpy as np
import pytest

import npgrad
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping import needs
from npgrad.wrapping.patch import LOCK
from npgrad.wrapping.plan import plan_for

X = np.array([0.7, 1.3, 1.9])
SPACE = globals()


def maker(n):
    return np.array([float(n), 1.0])


class Line:
    """A model of arrays and numbers."""

    shift = 1.0

    def __init__(self, slope):
        self.slope = slope
        self.name = "line"

    def __call__(self, x):
        return self.slope * x + self.shift

    def loss(self, x):
        return np.sum(self(x) ** 2)

    @property
    def doubled(self):
        return 2 * self.slope

    @staticmethod
    def half(x):
        return x / 2

    def by_property(self, x):
        return (self.half(x) * self.doubled).sum()

    def makes(self, x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = self.slope * x[i]
        return np.sum(out * out)

    def keeps(self, x):
        self.kept = x * x
        return self.kept.sum()


class Stack:
    """A model of models."""

    def __init__(self, parts):
        self.first = parts[0]
        self.parts = parts

    def loss(self, x):
        for part in self.parts:
            x = part(x)
        return (x * self.first.slope).sum()


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def __mul__(self, x):
        return self.scale * x

    def loss(self, x):
        return (self * x).sum()


@dataclasses.dataclass
class Data:
    scale: float
    offset: float = 1.0

    def loss(self, x):
        return ((x + self.offset) * self.scale).sum()


class Calling:
    """Holds a function, which may make anything."""

    def __init__(self, function):
        self.function = function

    def loss(self, x):
        return self.function(x[0])[0] * x[1]


class Derived(Line):
    def loss(self, x):
        return np.sum(self(x)) * self.slope


LINE = Line(2.0)
READ = [
    (LINE.loss, lambda x: 4 * (2 * x + 1)),
    (LINE.by_property, lambda x: 2 * np.ones(3)),
    (LINE.makes, lambda x: 8 * x),
    (LINE.keeps, lambda x: 2 * x),
    (Stack([Line(2.0), Line(3.0)]).loss, lambda x: 12 * np.ones(3)),
    (Slotted(3.0).loss, lambda x: 3 * np.ones(3)),
    (Data(5.0).loss, lambda x: 5 * np.ones(3)),
    (Derived(3.0).loss, lambda x: 9 * np.ones(3)),
    (lambda x: LINE.loss(x), lambda x: 4 * (2 * x + 1)),
]


def reading(f, *args):
    plan = plan_for(f)
    function, args = getattr(f, "__func__", f), (getattr(f, "__self__", None), *args)
    with LOCK:
        plan.look()
        return needs.Reading(function, plan, args)


def names(needed):
    return sorted(name for _, swap in needed for name, _, _ in swap.entries)


@pytest.fixture(autouse=True)
def nothing_left():
    before = dict(SPACE)
    yield
    assert before.keys() == SPACE.keys()
    assert all(SPACE[name] is value for name, value in before.items())
    assert not WRAPPED.get()


@pytest.mark.parametrize(("f", "expected"), READ)
def test_a_method_is_read(f, expected) -> None:
    derivative = npgrad.grad(f)
    for x in (X, 2 * X, X, X[::-1]):
        np.testing.assert_allclose(derivative(x), expected(x), rtol=1e-12)
    assert reading(f, X).needed((getattr(f, "__self__", 1.0), X), {}) is not None


def test_what_a_method_needs() -> None:
    model, x = Line(2.0), npgrad.array(X)
    assert reading(model.by_property, X).needed((model, x), {}) is needs.NOTHING
    assert reading(model.loss, X).needed((model, x), {}) is needs.NOTHING
    assert names(reading(model.makes, X).needed((model, x), {})) == ["np"]


def test_an_object_that_holds_a_function_takes_the_whole_plan() -> None:
    model = Calling(maker)
    assert reading(model.loss, X).needed((model, X), {}) is None
    for _ in range(3):
        np.testing.assert_allclose(npgrad.grad(model.loss)(X), [X[1], X[0], 0])


def test_an_attribute_that_becomes_a_function() -> None:
    model = Line(2.0)
    derivative = npgrad.grad(model.loss)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 4 * (2 * X + 1))
    model.slope = 3.0
    np.testing.assert_allclose(derivative(X), 6 * (3 * X + 1))

    class Factor:
        def __mul__(self, x):
            return np.array([4 * v for v in x])

    model.slope = Factor()
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 8 * (4 * X + 1))


def test_an_instance_that_gets_a_method_of_its_own() -> None:
    model = Line(2.0)
    derivative = npgrad.grad(model.by_property)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 2 * np.ones(3))
    model.half = lambda x: np.array([3.0 * v for v in x])
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 12 * np.ones(3))


def test_a_class_that_is_changed(monkeypatch) -> None:
    model = Line(2.0)
    derivative = npgrad.grad(model.loss)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 4 * (2 * X + 1))
    monkeypatch.setattr(Line, "shift", 2.0)
    for _ in range(2):
        np.testing.assert_allclose(derivative(X), 4 * (2 * X + 2))
    monkeypatch.setattr(Line, "__call__", lambda self, x: np.array([v * v for v in x]))
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 4 * X**3)
    monkeypatch.setattr(Line, "slope", property(lambda self: math.exp(0.0)), raising=False)
    for _ in range(2):
        np.testing.assert_allclose(derivative(X), 4 * X**3)


def test_objects_of_several_classes() -> None:
    def f(x, model):
        return model.loss(x)

    derivative = npgrad.grad(f)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X, Line(2.0)), 4 * (2 * X + 1))
        np.testing.assert_allclose(derivative(X, Slotted(3.0)), 3 * np.ones(3))
        np.testing.assert_allclose(derivative(X, Calling(maker)), [X[1], X[0], 0])
        np.testing.assert_allclose(derivative(X, Derived(3.0)), 9 * np.ones(3))


def test_objects_that_hold_each_other() -> None:
    one, other = Line(2.0), Line(3.0)
    one.slope_of, other.slope_of = other, one

    def f(x, model):
        return (x * model.slope_of.slope).sum()

    for _ in range(3):
        np.testing.assert_array_equal(npgrad.grad(f)(X, one), 3 * np.ones(3))


def test_lists_of_an_object() -> None:
    """A list of recorded numbers that a method made is an array to np.sum, as in a function."""

    class Kept:
        def loss(self, x):
            self.parts = [x[0] * x[0], x[1] * x[2]]
            return self.total()

        def total(self):
            return np.sum(self.parts) + np.dot(self.parts, self.parts)

    model = Kept()
    for _ in range(4):
        a, b, c = X
        p, q = a * a, b * c
        expected = [2 * a * (1 + 2 * p), c * (1 + 2 * q), b * (1 + 2 * q)]
        np.testing.assert_allclose(npgrad.grad(model.loss)(X), expected)


LEAF = npgrad.array(X)


def of_global(x):
    return np.array([x[0] * LEAF[1], 1.0])[0]


def of_default(x, leaf=LEAF):
    return np.array([x[0] * leaf[1], 1.0])[0]


def of_closure():
    leaf = LEAF
    return lambda x: np.array([x[0] * leaf[1], 1.0])[0]


def test_what_reaches_nothing_recorded_runs_as_it_is() -> None:
    """Its buffers are NumPy's, and so is its result; with a recorded value anywhere they record."""
    model, x = Line(2.0), npgrad.array(X)
    wrapped = npgrad.wrap(model.makes)
    for _ in range(3):
        made = wrapped(X)
    assert type(made) is np.float64 and made == model.makes(X)
    assert type(wrapped(x)) is npgrad.GradArray
    model.slope = npgrad.array(2.0)
    np.testing.assert_allclose(wrapped(X).backward()[model.slope], 2 * 2.0 * X @ X)
    model.slope = 2.0
    assert type(wrapped(X)) is np.float64
    for f in (of_global, of_default, of_closure()):
        wrapped = npgrad.wrap(f)
        for _ in range(3):
            np.testing.assert_allclose(wrapped(X).backward()[LEAF], [0, X[0], 0])

    def of_list(x, items):
        return np.array([x[0] * items[0], 1.0])[0]

    wrapped = npgrad.wrap(of_list)
    for _ in range(3):
        assert type(wrapped(X, [1.0, 2.0])) is not npgrad.GradArray or _ < 1
        np.testing.assert_allclose(wrapped(X, [x[0], 2.0]).backward()[x], [X[0], 0, 0])


def test_a_caller_buffer_of_a_plain_call_is_the_callers() -> None:
    def f(x, out):
        out[:] = x
        return out

    wrapped, out = npgrad.wrap(f), np.zeros(3)
    for _ in range(3):
        made = wrapped(X, out)
    assert made is out
