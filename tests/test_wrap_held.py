"""Caches of ``functools``, and what the given function holds itself: no gradient is lost."""

import enum
import functools
import gc
import math
import operator
import threading
import weakref

import numpy as np
import pytest

import npgrad
from npgrad.wrapping import plan

X = np.array([1.5, 0.5, 1.5])


class Model:
    def __init__(self, x=None):
        self.x = x

    @functools.lru_cache  # noqa: B019
    def power(self, i):
        return self.x[i] ** 2

    @classmethod
    @functools.cache
    def cube(cls, v):
        return v * v * v

    @staticmethod
    @functools.cache
    def square(v):
        return v * v


def test_methods():
    f = lambda x: Model(x).power(1) + Model.cube(x[0]) + Model(x).cube(x[2]) + Model.square(x[1])
    np.testing.assert_allclose(npgrad.grad(f)(X), [3 * 1.5**2, 2 * 0.5 + 2 * 0.5, 3 * 1.5**2])
    still = Model(X)
    np.testing.assert_allclose(npgrad.grad(lambda x: x[0] * still.power(2))(X), [2.25, 0, 0])
    assert still.power(2) == 2.25 and type(still.power(2)) is np.float64
    assert type(vars(Model)["power"]) is functools._lru_cache_wrapper


KEPT = Model()
NOW = {}
CALLS = []


@functools.cache
def of_globals(i):
    CALLS.append(i)
    return NOW["x"][i] ** 2


def test_results_recorded_by_another_way_hold_for_their_call():
    def f(x):
        KEPT.x = NOW["x"] = x
        return x[0] * KEPT.power(1) + of_globals(2) * of_globals(2)

    expected = [0.25, 2 * 1.5 * 0.5, 4 * 1.5**3]
    for _ in range(3):
        CALLS.clear()
        np.testing.assert_allclose(npgrad.grad(f)(X), expected)
        assert CALLS.count(2) == 1 or _ == 0  # the first time shows that the results are recorded
    NOW["x"] = X
    assert type(of_globals(2)) is np.float64
    hessian = npgrad.hessian(f)(X)
    np.testing.assert_allclose(hessian[0], [0, 2 * 0.5, 0])
    np.testing.assert_allclose(hessian[2], [0, 0, 12 * 1.5**2])


LOCAL = threading.local()


@functools.cache
def of_thread(i):
    return LOCAL.x[i] * 3.0


def test_a_cache_in_threads():
    """Each thread has a recording of its own of the same numbers."""

    def f(x):
        LOCAL.x = x
        return of_thread(0) * of_thread(1)

    gradient, results = npgrad.grad(f), {}
    gradient(X)

    def work(i):
        results[i] = all(np.allclose(gradient(X), [4.5, 13.5, 0.0]) for _ in range(20))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_caches_made_in_the_call():
    def f(x):
        @functools.lru_cache(None)
        def basis(i, t):  # as of splines
            return t if i == 0 else t * basis(i - 1, t)

        @functools.cache
        def fibonacci(n):
            return x[0] * n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        return basis(3, x[1]) + fibonacci(60)

    np.testing.assert_allclose(npgrad.grad(f)(X), [1548008755920.0, 4 * 0.5**3, 0.0])


def _scaled_by(f):
    return lambda x: f(x[0]) * x[1]


def _called(f):
    return lambda x: f(x)


def _by_table():
    table = {"sin": math.sin}
    return lambda x: table["sin"](x[0]) * x[1]


SINES = {
    "closure": lambda: _scaled_by(math.sin),
    "closure of a closure": lambda: _called(_scaled_by(math.sin)),
    "default": lambda: lambda x, f=math.sin: f(x[0]) * x[1],
    "keyword default": lambda: lambda x, *, f=math.sin: f(x[0]) * x[1],
    "table as a default": lambda: lambda x, t={"sin": math.sin}: t["sin"](x[0]) * x[1],
    "table in a closure": _by_table,
    "partial": lambda: functools.partial(lambda f, x: f(x[0]) * x[1], math.sin),
    "partial's keyword": lambda: functools.partial(lambda x, f: f(x[0]) * x[1], f=math.sin),
    "argument": lambda: lambda x: npgrad.wrap(lambda v, f: f(v[0]) * v[1])(x, math.sin),
}


@pytest.mark.parametrize("where", SINES)
def test_what_the_given_function_holds(where):
    f = SINES[where]()
    before = [cell.cell_contents for cell in getattr(f, "__closure__", None) or ()]
    for each in (f, npgrad.wrap(f)):
        expected = [math.cos(1.5) * 0.5, math.sin(1.5), 0.0]
        np.testing.assert_allclose(npgrad.grad(each)(X), expected)
    np.testing.assert_allclose(f(X), math.sin(1.5) * 0.5)
    assert all(
        cell.cell_contents is value
        for cell, value in zip(getattr(f, "__closure__", None) or (), before, strict=True)
    )


def test_float_under_another_name():
    for f in (_scaled_by(float), lambda x, q=float: q(x[0]) * x[1]):
        np.testing.assert_allclose(npgrad.grad(f)(X), [0.5, 1.5, 0.0])
    seen = []

    def asks(x, kind=float):
        seen.append(kind is float)
        return x[0] * x[1]

    npgrad.grad(asks)(X)
    assert seen == [True]


def test_a_closure_bound_anew():
    def make():
        f = math.sin

        def use(g):
            nonlocal f
            f = g

        return (lambda x: f(x[0])), use

    f, use = make()
    gradient = npgrad.grad(f)
    np.testing.assert_allclose(gradient(X)[0], math.cos(1.5))
    use(math.exp)
    np.testing.assert_allclose(gradient(X)[0], math.exp(1.5))
    assert f(X) == math.exp(1.5)


# ------------------------------------------------------------ tables and objects that hold makers
class Backend:
    """An object of makers, as an attribute, in a table of its own, in a table of its class."""

    shared = {"zeros": np.zeros}

    def __init__(self):
        self.make, self.library, self.convert = np.zeros, np, float
        self.table = {"zeros": np.zeros}
        self.inner = {"deep": {"zeros": np.zeros}}

    def by_attribute(self, x):
        return filled(self.make(3), x)

    def by_library(self, x):
        return filled(self.library.zeros(3), x)

    def by_table(self, x):
        return filled(self.table["zeros"](3), x)

    def by_inner_table(self, x):
        return filled(self.inner["deep"]["zeros"](3), x)

    def by_class(self, x):
        return filled(self.shared["zeros"](3), x)

    def by_converter(self, x):
        return self.convert(x[0]) ** 2 + x[1] ** 2 + x[2] ** 2


class Slotted:
    __slots__ = ("make", "unset")

    def __init__(self):
        self.make = np.zeros

    def by_slot(self, x):
        return filled(self.make(3), x)


class Choice(enum.Enum):
    ZEROS = functools.partial(np.zeros)


def filled(made, x):
    made[:] = x
    return (made * made).sum()


def by_default(x, makers={"zeros": np.zeros}, *, named={"zeros": np.zeros}):  # noqa: B006
    return filled(makers["zeros"](3), x) * filled(named["zeros"](3), x)


BACKEND, SLOTTED = Backend(), Slotted()
METHODS = ["by_attribute", "by_library", "by_table", "by_inner_table", "by_class", "by_converter"]
V = np.array([0.5, 1.5, 2.5])


def held_plainly():
    """What everything holds, to be the same afterwards."""
    one = BACKEND
    return [
        one.make, one.library, one.convert, one.table["zeros"], one.inner["deep"]["zeros"],
        Backend.shared["zeros"], SLOTTED.make, Choice.ZEROS.value,
        by_default.__defaults__[0]["zeros"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("way", ["global", "method", "closure", "argument", "local method"])
def test_what_an_object_holds(name, way):
    before = held_plainly()
    local = Backend()
    kept = vars(local) | {"table": dict(local.table)}
    calls = {
        "global": lambda x: getattr(BACKEND, name)(x),
        "method": getattr(BACKEND, name),
        "closure": lambda x: getattr(local, name)(x),
        "local method": getattr(local, name),
    }
    for _ in range(3):
        if way == "argument":
            made = npgrad.grad(lambda x, held: getattr(held, name)(x))(V, local)
        else:
            made = npgrad.grad(calls[way])(V)
        np.testing.assert_allclose(made, 2 * V)
    assert all(map(operator.is_, held_plainly(), before))
    # by `operator`: of types that code asks for by `is`, a module keeps its own
    assert vars(local) == kept
    assert operator.is_(local.make, np.zeros) and operator.is_(local.convert, float)


def test_slots_members_and_defaults():
    before = held_plainly()
    for _ in range(3):
        np.testing.assert_allclose(npgrad.grad(SLOTTED.by_slot)(V), 2 * V)
        np.testing.assert_allclose(npgrad.grad(lambda x: SLOTTED.by_slot(x))(V), 2 * V)
        np.testing.assert_allclose(npgrad.grad(Slotted().by_slot)(V), 2 * V)
        np.testing.assert_allclose(
            npgrad.grad(lambda x: filled(Choice.ZEROS.value(3), x))(V), 2 * V
        )
        np.testing.assert_allclose(npgrad.grad(by_default)(V), 4 * V * (V @ V))
        np.testing.assert_allclose(npgrad.grad(lambda x: by_default(x))(V), 4 * V * (V @ V))
    assert all(map(operator.is_, held_plainly(), before))


def test_an_object_of_a_call_is_not_kept():
    local = Backend()
    derivative = npgrad.grad(lambda x, held: held.by_table(x))
    for _ in range(3):
        derivative(V, local)
    gone = weakref.ref(local)
    del local
    gc.collect()
    assert gone() is None


def test_a_look_while_another_call_has_the_tables_open():
    """What a call has replaced is found again by one that looks meanwhile, and by those after."""
    inside, leave = threading.Event(), threading.Event()

    def slow(x):
        inside.set()
        leave.wait(10)
        return x.sum()

    npgrad.grad(lambda x: BACKEND.by_class(x))(V)
    thread = threading.Thread(target=lambda: npgrad.grad(slow)(V))
    thread.start()
    inside.wait(10)
    plan.renew()
    try:
        np.testing.assert_allclose(npgrad.grad(lambda x: BACKEND.by_class(x))(V), 2 * V)
    finally:
        leave.set()
        thread.join()
    np.testing.assert_allclose(npgrad.grad(lambda x: BACKEND.by_class(x))(V), 2 * V)
    np.testing.assert_allclose(npgrad.grad(lambda x: by_default(x))(V), 4 * V * (V @ V))
    np.testing.assert_allclose(npgrad.grad(BACKEND.by_inner_table)(V), 2 * V)
