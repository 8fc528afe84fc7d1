"""Wrapping is of one call in one context: threads, tasks, interrupts, overlaps leave no trace."""

import asyncio
import contextvars
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping import patch as patching
from tests.wrapped import styles, unchanged
from tests.wrapped.interrupts import interrupted

X = np.array([0.7, 1.3, 1.9])


def squares(x):
    return np.sum(unchanged.squares(x))


@pytest.fixture(autouse=True)
def nothing_left():
    modules = (unchanged, styles, patching, sys.modules[__name__])
    before = [dict(vars(module)) for module in modules]
    yield
    for module, names in zip(modules, before, strict=True):
        now = vars(module)
        assert now.keys() == names.keys()
        assert all(now[name] is value for name, value in names.items() if name != "CALLS")
    assert not WRAPPED.get()
    assert not any(patch.users for patch in patching.patches.values())


def test_an_interrupt_anywhere_is_undone() -> None:
    wrapped = npgrad.wrap(squares)
    x = npgrad.array(X)
    for _ in range(2):  # the second call looks at what the function needs
        wrapped(x)
    lines = interrupted(lambda: wrapped(x), 0)
    assert lines > 50
    for stop in sorted({*range(1, 40), *range(40, lines, lines // 60), *range(lines - 40, lines)}):
        assert interrupted(lambda: wrapped(x), stop) >= stop
        assert not WRAPPED.get()
        assert unchanged.np is np and unchanged.zeros is np.zeros
        assert not any(patch.users for patch in patching.patches.values())


def test_calls_of_different_packages_overlap() -> None:
    """The first to leave must not put names back that the second still uses."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    results = {}

    def one(x):
        first_in.set()
        second_in.wait(10)
        return squares(x)

    def two(x):
        second_in.set()
        first_out.wait(10)
        return squares(x)

    def first() -> None:
        results[1] = npgrad.grad(one)(X)
        first_out.set()

    def second() -> None:
        first_in.wait(10)
        results[2] = npgrad.grad(npgrad.wrap(two, also=("scipy",)), wrap=False)(X)

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(results[1], 2 * X)
    np.testing.assert_allclose(results[2], 2 * X)


def test_another_thread_keeps_python_and_numpy() -> None:
    """While one thread records, the programs of the same module mean in another what they say."""
    seen, failures = [], []
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(10)
        try:
            for f in styles.PROGRAMS:
                value = f(X)
                seen.append(type(value))
        except Exception as error:
            failures.append(error)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def f(x):
        inside.set()
        done.wait(30)
        return np.sum(styles.out_buffers(x) * x)

    npgrad.grad(f)(X)
    thread.join()
    assert not failures
    assert npgrad.GradArray not in seen and len(seen) == len(styles.PROGRAMS)


def test_tasks() -> None:
    """A task that waits while another records sees nothing of it."""

    async def plain(turns) -> list:
        kinds = []
        for _ in range(turns):
            await asyncio.sleep(0)
            kinds.append(type(unchanged.squares(X)))
        return kinds

    async def recording(turns) -> list:
        found = []
        for _ in range(turns):
            await asyncio.sleep(0)
            found.append(npgrad.grad(squares)(X))
        return found

    async def both():
        return await asyncio.gather(plain(5), recording(5))

    kinds, found = asyncio.run(both())
    assert kinds == [np.ndarray] * 5
    np.testing.assert_allclose(found, [2 * X] * 5)


def test_another_context_of_the_same_thread() -> None:
    outside = contextvars.copy_context()
    kinds = []

    def f(x):
        kinds.append(outside.run(lambda: type(unchanged.squares(X))))
        return squares(x)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    assert kinds == [np.ndarray]


def buffers(x):
    for i in range(3):
        buffer = np.zeros(1)
        buffer[0] = x[i] ** 2
        yield buffer[0]


def test_a_generator_begun_outside_records_inside() -> None:
    def f(x):
        return sum(parts(x))

    parts = buffers
    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    kept = {}

    def suspended(x):
        kept["parts"] = buffers(x)
        return next(kept["parts"])

    np.testing.assert_allclose(npgrad.grad(suspended)(X), [2 * X[0], 0, 0])
    assert [float(part) for part in kept["parts"]] == pytest.approx(list(X[1:] ** 2))  # plain again


def test_nested_wraps_of_different_packages() -> None:
    inner = npgrad.wrap(unchanged.squares, also=("scipy",))
    outer = npgrad.wrap(lambda x: np.sum(inner(x) * unchanged.by_name(inner(x))))
    plain = lambda x: np.sum(unchanged.squares(x) * unchanged.by_name(unchanged.squares(x)))
    expected = [(plain(X + e) - plain(X - e)) / 2e-6 for e in np.eye(3) * 1e-6]
    np.testing.assert_allclose(npgrad.grad(outer)(X), expected, rtol=1e-6)
    second = npgrad.hessian(lambda x: np.sum(inner(x)))(X)
    np.testing.assert_allclose(second, 2 * np.eye(3))


def test_a_failure_inside_leaves_the_traceback_of_the_program() -> None:
    with pytest.raises(RuntimeError) as caught:
        npgrad.grad(unchanged.fails)(X)
    assert caught.traceback[-1].path.name == "unchanged.py"
    assert "in the middle" in str(caught.traceback[-1].statement)


CELLS = [
    "npgrad.grad(lambda x: np.sum(x**2))(np.ones(3))",
    "def f(x): return np.sum(x**2) if type(x) is np.ndarray else np.sum(x*5)",
    "import math\ndef f(x): return math.sin(x[0])",
    "def f(x): return float(x[0])**2",
    "from numpy import zeros\ndef f(x):\n    b = zeros(3); b[0] = x[0]**2\n    return b.sum()",
    "import numpy.linalg as la\ndef f(x): return la.norm([x[0], x[1]])",
    "def h(x): return float(x[1])\ndef f(x): return h(x)**2",
    "def h(x): return 3*math.exp(x[1])",
]


def test_what_is_typed_in_later_is_met() -> None:
    """As in a notebook, whose cells bind names anew after the first gradient."""
    x = np.array([1.0, 2.0, 3.0])
    space: dict[str, Any] = {"np": np, "npgrad": npgrad, "__name__": "notebook"}
    for cell in CELLS:
        exec(cell, space)
        if "f" not in space:
            continue
        f = space["f"]
        for _ in range(3):
            value, gradient = npgrad.value_and_grad(f)(x)
            assert value == f(x)
            steps = 1e-6 * np.eye(3)
            want = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
            np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-8)


def test_a_namespace_is_freed_with_its_functions() -> None:
    class Mark:
        pass

    marks = []
    for i in range(40):
        space: dict[str, Any] = {"np": np, "__name__": f"cell {i}", "mark": Mark()}
        exec("def f(x):\n    b = np.zeros(1); b[0] = x[0]\n    return b[0] + float(x[1])", space)
        for _ in range(3):
            npgrad.grad(space["f"])(np.ones(2))
        marks.append(weakref.ref(space["mark"]))
    del space
    gc.collect()
    assert sum(mark() is not None for mark in marks) <= 16
