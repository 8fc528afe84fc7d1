"""Unchanged code that makes its own buffers records; nothing is left behind."""

import functools
import threading

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost
from tests.wrapped import unchanged

X = np.array([0.7, 1.3, 1.9])


def differences(f, x, step=1e-6):
    columns = []
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = step
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step))
    return np.stack(columns, -1)


@pytest.mark.parametrize(
    "f",
    [
        unchanged.squares,
        unchanged.by_name,
        unchanged.with_math,
        unchanged.asks_for_its_type,
        unchanged.integer_buffers,
        unchanged.Model(3).predict,
        functools.partial(unchanged.squares),
    ],
)
def test_unchanged_programs(f) -> None:
    expected = differences(f, X)
    np.testing.assert_allclose(npgrad.jacobian(f)(X), expected, rtol=1e-7, atol=1e-8)
    value = npgrad.value(npgrad.wrap(f)(npgrad.array(X)))
    np.testing.assert_array_equal(value, f(X))
    tangent = npgrad.jvp(f, (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, expected @ np.ones(3), rtol=1e-7, atol=1e-8)


def test_everything_is_as_before_afterwards() -> None:
    before = {k: v for k, v in vars(unchanged).items() if k not in ("CALLS", "__builtins__")}
    npgrad.grad(lambda x: np.sum(unchanged.squares(x)))(X)
    with pytest.raises(RuntimeError, match="in the middle"):
        npgrad.grad(unchanged.fails)(X)
    assert all(vars(unchanged)[name] is value for name, value in before.items())
    assert np.zeros is before["zeros"] and type(unchanged.squares(X)) is np.ndarray
    assert not isinstance(npgrad.array(X), np.ndarray)


def test_the_numpy_module_is_never_touched() -> None:
    inside = []

    def f(x):
        inside.append(np.random.default_rng(0).normal(size=3))
        import sys

        inside.append(sys.modules["numpy"].zeros(3))
        return np.sum(x)

    npgrad.grad(f)(X)
    assert all(type(made) is np.ndarray for made in inside)


def test_globals_are_set_where_the_program_expects() -> None:
    unchanged.CALLS = []
    npgrad.grad(unchanged.counts)(X)
    npgrad.grad(unchanged.counts)(X)
    assert unchanged.CALLS == [3, 3]


def test_switched_off() -> None:
    with pytest.raises((GradientLost, ValueError)):
        npgrad.grad(lambda x: np.sum(unchanged.squares(x)), wrap=False)(X)
    with npgrad.wrap.disabled(), pytest.raises((GradientLost, ValueError)):
        npgrad.grad(lambda x: np.sum(unchanged.squares(x)))(X)


def test_a_module_and_a_leaf() -> None:
    module = npgrad.wrap(unchanged)
    x = npgrad.array(X)
    np.testing.assert_allclose(np.sum(module.squares(x)).backward()[x], 2 * X)
    assert module.CALLS is unchanged.CALLS
    with pytest.raises(TypeError):
        npgrad.wrap(3)


def test_another_thread_sees_numpy() -> None:
    inside, done = threading.Event(), threading.Event()
    kinds = []

    def other() -> None:
        inside.wait(10)
        kinds.append(type(unchanged.squares(X)))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def f(x):
        inside.set()
        done.wait(10)
        return np.sum(unchanged.squares(x))

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    thread.join()
    assert kinds == [np.ndarray]


def test_many_threads_at_once() -> None:
    failures = []

    def work(k: int) -> None:
        try:
            for _ in range(20):
                g = npgrad.grad(lambda x: np.sum(unchanged.squares(x) * k))(X)
                np.testing.assert_allclose(g, 2 * k * X)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert unchanged.zeros is np.zeros


def test_nested_and_reentrant() -> None:
    def f(x):
        inner = npgrad.grad(lambda y: np.sum(unchanged.squares(y)))(x)
        return np.sum(unchanged.squares(inner))

    np.testing.assert_allclose(npgrad.grad(f)(X), 8 * X)
    np.testing.assert_allclose(
        npgrad.hessian(lambda x: np.sum(unchanged.squares(x)))(X), 2 * np.eye(3)
    )


def test_other_packages_by_name() -> None:
    """``also=`` names packages whose buffers are to record."""
    interpolate = pytest.importorskip("scipy.integrate")
    f = lambda x: interpolate.simpson(x * x, dx=0.5)
    wrapped = npgrad.wrap(f, also=("scipy",))
    x = npgrad.array(X)
    g = wrapped(x).backward()[x]
    np.testing.assert_allclose(g, differences(f, X), rtol=1e-6)


def test_makers_outside_a_wrapped_call_are_numpys() -> None:
    from npgrad.wrapping.makers import MAKERS

    assert type(MAKERS["zeros"](3)) is np.ndarray
    assert type(MAKERS["array"]([1.0])) is np.ndarray
    assert type(MAKERS["r_"][1.0, 2.0]) is np.ndarray
