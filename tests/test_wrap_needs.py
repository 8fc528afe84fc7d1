"""A call replaces what its function needs and no more, whatever the names come to mean later."""

import math
import sys
import threading
from math import sqrt

import numpy as np
import pytest

import npgrad
from benchmarks.workloads import chain_200, logistic, mlp_small, rosenbrock
from npgrad.compiled import rules
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping import needs, plan, stand_ins
from npgrad.wrapping import patch as patching
from npgrad.wrapping.patch import LOCK, patch_of
from npgrad.wrapping.plan import plan_for
from npgrad.wrapping.swaps import Swap
from tests.wrapped.interrupts import interrupted

X = np.array([0.7, 1.3, 1.9])
SPACE = globals()
FACTOR = 2.0
TABLE = [1.0, 2.0]


class Holder:
    """An object whose method makes a buffer."""

    def cubes(self, x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i] ** 3
        return out


HOLDER = Holder()


def squares(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] ** 2
    return out


def plainly(x):
    return x * x


def by_helper(x):
    return np.sum(squares(x))


def helper_that_changes(x):
    return np.sum(plainly(x))


def with_constant(x):
    return np.sum(x * x) * FACTOR


def by_method(x):
    return np.sum(HOLDER.cubes(x))


def of_list(x):
    return np.sum([x[0] * x[0], x[1] * x[1], x[2] * x[2]])


def of_comprehension(x):
    return np.prod([1.0 * v for v in x])


def of_given_list(x, items):
    return np.sum(x) + np.sum(items)


def of_given_object(x, holder):
    return np.sum(holder.cubes(x))


def by_name(x):
    return sqrt(x[0]) + math.exp(x[1])


def by_float(x):
    return float(x[0]) ** 2 + np.sum(x[1:] * x[1:])


def by_question(x):
    return np.sum(x * x) if isinstance(x, np.ndarray) else np.sum(0 * x)


def by_alias(x):
    library = np
    return library.sum(library.array([x[0], x[1], x[2]]) ** 2)


def by_callback(x):
    return np.sum(np.vectorize(lambda v: v * v)(x))


def by_stored_callback(x):
    return sum(map(square, x))


def square(v):
    return np.array([v, v])[0] * v


def by_inner(x):
    def inner(v):
        return np.asarray([v, 1.0])

    return np.sum(inner(x[0]) * inner(x[1]))


def by_default(x, scale=X):
    return np.sum(x * x * scale)


def by_varargs(*items):
    return np.sum(items[0] * items[0])


def by_table(x):
    return np.sum(x * x) * len(TABLE)


def by_import(x):
    from tests.wrapped import unchanged

    return np.sum(unchanged.squares(x))


def by_getattr(x):
    return np.sum(getattr(sys.modules[__name__], "squares")(x))  # noqa: B009 -- what is tested


def by_masked(x):
    return np.sum(np.ma.array(x) ** 2)


def solved(x):
    return x * 1.0


def by_solver(x):
    return np.sum(solved(x))


def lazily(x):
    yield squares(x)


def twice(x):
    return 2 * x


GRADIENTS = [
    (by_helper, twice),
    (helper_that_changes, twice),
    (with_constant, lambda x: 4 * x),
    (by_method, lambda x: 3 * x**2),
    (of_list, twice),
    (of_comprehension, lambda x: np.prod(x) / x),
    (by_name, lambda x: np.array([0.5 / np.sqrt(x[0]), np.exp(x[1]), 0.0])),
    (by_float, twice),
    (by_question, twice),
    (by_alias, twice),
    (by_callback, twice),
    (by_stored_callback, twice),
    (by_inner, lambda x: np.array([x[1], x[0], 0.0])),
    (by_default, lambda x: 2 * x * X),
    (by_varargs, twice),
    (by_table, lambda x: 4 * x),
    (by_import, twice),
    (by_getattr, twice),
    (by_masked, twice),
]


@pytest.fixture(autouse=True)
def nothing_left():
    before = dict(SPACE)
    yield
    assert before.keys() == SPACE.keys()
    assert all(SPACE[name] is value for name, value in before.items())
    assert not WRAPPED.get()
    assert not any(patch.users for patch in patching.patches.values())


@pytest.mark.parametrize(("f", "expected"), GRADIENTS, ids=lambda f: f.__name__)
def test_every_call_is_right(f, expected) -> None:
    derivative = npgrad.grad(f)
    for x in (X, 2 * X, X, X[::-1]):  # the first replaces all, the second reads, the others know
        np.testing.assert_allclose(derivative(x), expected(x), rtol=1e-12)


def reading(f) -> needs.Reading:
    plan = plan_for(f)
    with LOCK:
        plan.look()
        return needs.Reading(f, plan)


def replaced(needed) -> list:
    return sorted(name for _, names in needed for name, _, _ in names.entries)


@pytest.mark.parametrize("module", [chain_200, logistic, mlp_small, rosenbrock])
def test_a_loss_of_ufuncs_and_operators_needs_nothing(module) -> None:
    assert reading(module.loss).simple is needs.NOTHING


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (plainly, []),
        (helper_that_changes, []),
        (by_helper, ["np"]),
        (of_list, ["np"]),
        (of_comprehension, ["np"]),
        (by_float, ["float"]),
        (by_name, ["math", "sqrt"]),
        (by_question, ["np"]),
        (square, ["np"]),
    ],
)
def test_what_is_needed(f, names) -> None:
    assert replaced(reading(f).simple) == names


@pytest.mark.parametrize("f", [by_table, by_import, by_getattr, by_masked, lazily])
def test_what_may_lead_anywhere_takes_the_whole_plan(f) -> None:
    with pytest.raises(needs.Unknown):
        reading(f)


def test_lists_and_objects_as_arguments() -> None:
    derivative = npgrad.grad(of_given_list)
    for items in (X, [1.0, 2.0], [X, X], (X, {"a": X})[0], [np.float64(1.0)] * 200):
        np.testing.assert_array_equal(derivative(X, items), np.ones(3))
    derivative = npgrad.grad(of_given_list, argnums=1)
    for _ in range(3):
        np.testing.assert_array_equal(derivative(X, [1.0, 2.0]), [1.0, 1.0])
        np.testing.assert_array_equal(derivative(X, X), np.ones(3))
    derivative = npgrad.grad(of_given_object)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X, HOLDER), 3 * X**2)


def test_names_that_come_to_mean_something_else(monkeypatch) -> None:
    derivative = npgrad.grad(helper_that_changes)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 2 * X)
    monkeypatch.setitem(SPACE, "plainly", squares)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 2 * X)
    monkeypatch.setitem(SPACE, "plainly", HOLDER.cubes)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 3 * X**2)
    monkeypatch.setitem(SPACE, "plainly", lambda x: x)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), np.ones(3))


def test_constants_are_looked_up_at_each_call(monkeypatch) -> None:
    derivative = npgrad.grad(with_constant)
    for factor in (2.0, 3.0, np.float32(4.0), 5):
        monkeypatch.setitem(SPACE, "FACTOR", factor)
        np.testing.assert_allclose(derivative(X), 2 * factor * X)


def test_a_rule_that_is_registered_later() -> None:
    derivative = npgrad.grad(by_solver)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), np.ones(3))
    npgrad.register_vjp(solved, lambda ans, x: lambda g: 5.0 * g)
    try:
        for _ in range(3):
            np.testing.assert_allclose(derivative(X), 5 * np.ones(3))
    finally:  # while a function in Python has a rule, all calls are watched
        made = rules._PRIMITIVES.pop(solved)
        del stand_ins.REGISTERED[id(solved)], stand_ins._originals[id(made)]
        plan.renew()


def test_code_that_is_replaced_in_place(monkeypatch) -> None:
    derivative = npgrad.grad(helper_that_changes)
    for _ in range(3):
        np.testing.assert_allclose(derivative(X), 2 * X)
    before = plainly.__code__
    try:
        plainly.__code__ = squares.__code__
        for _ in range(3):
            np.testing.assert_allclose(derivative(X), 2 * X)
    finally:
        plainly.__code__ = before


def test_closures() -> None:
    scale, helper = 2.0, plainly

    def f(x):
        return np.sum(helper(x) * scale)

    derivative = npgrad.grad(f)
    for scale in (2.0, np.float64(3.0), np.array([1.0, 2.0, 3.0])):
        np.testing.assert_allclose(derivative(X), 2 * X * scale)
    for helper in (squares, HOLDER.cubes, plainly):
        slope = 3 * X**2 if helper == HOLDER.cubes else 2 * X
        for _ in range(3):
            np.testing.assert_allclose(derivative(X), slope * scale)


def test_a_call_of_few_names_overlaps_one_of_all() -> None:
    """Each leaves first once; neither takes the other's names away, both leave nothing."""
    for few_first in (True, False):
        patch = patch_of(SPACE)
        entries = {entry[0]: entry for entry in patch.entries}
        few, every = [], []
        patch.open(few, Swap([entries["np"]]))
        assert SPACE["np"] is entries["np"][2] and SPACE["sqrt"] is sqrt
        patch.open(every)
        assert SPACE["sqrt"] is entries["sqrt"][2]
        patch.close(few if few_first else every)
        assert SPACE["np"] is entries["np"][2]
        assert (SPACE["sqrt"] is entries["sqrt"][2]) == few_first
        patch.close(every if few_first else few)
        assert SPACE["np"] is np and SPACE["sqrt"] is sqrt and "float" not in SPACE


def test_threads() -> None:
    inside, done = threading.Event(), threading.Event()
    kinds = []

    def other() -> None:
        inside.wait(10)
        kinds.append(type(squares(X)))
        done.set()

    thread = threading.Thread(target=other)
    derivative = npgrad.grad(by_helper)
    for _ in range(3):
        derivative(X)
    thread.start()

    def f(x):
        inside.set()
        done.wait(10)
        return by_helper(x)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    thread.join()
    assert kinds == [np.ndarray]


def test_an_interrupt_anywhere_is_undone() -> None:
    wrapped = npgrad.wrap(squares)
    x = npgrad.array(X)
    for _ in range(3):
        wrapped(x)
    assert replaced(wrapped_needs(x)) == ["np"]
    lines = interrupted(lambda: wrapped(x), 0)
    assert lines > 30
    for stop in range(1, lines):
        assert interrupted(lambda: wrapped(x), stop) >= stop
        assert not WRAPPED.get() and SPACE["np"] is np
        assert not any(patch.users for patch in patching.patches.values())


def wrapped_needs(x):
    return reading(squares).needed((x,), {})


def test_code_that_is_typed_in_later_and_asks_for_types() -> None:
    """The call replaces `np` by what does not answer for np.ndarray then, nor in another thread."""
    text = """
def f(x):
    made = np.zeros(3)
    made[:] = x
    return (made * made).sum()
"""
    space = {"np": np, "__builtins__": __builtins__, "__name__": "typed_in"}
    exec(text, space)
    derivative = npgrad.grad(space["f"])
    for _ in range(4):
        np.testing.assert_allclose(derivative(X), 2 * X)
    exec("def other(b):\n    return type(b) is np.ndarray", space)
    np.testing.assert_allclose(derivative(X), 2 * X)
    assert patch_of(space).strict == {np.ndarray}
    plan, patch = plan_for(space["f"]), patch_of(space)
    opened: list = []
    with LOCK:
        needed = needs.Reading(space["f"], plan, (X,)).needed((npgrad.array(X),), {})
        plan.enter(opened, needed)
        assert space["np"] is not np and space["np"].ndarray is np.ndarray
        plan.leave(opened)
    assert patch.all is not None and space["np"] is np
