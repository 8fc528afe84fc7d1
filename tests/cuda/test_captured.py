"""`npgrad.cuda.captured` where there is no GPU: CuPy's streams and graphs are stood in for.

The stand-in's arrays note every operation while a stream captures; launching a graph does them
again, into the same memory. So what a replay makes of new arguments is what a graph would.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.cuda import blas
from npgrad.graph import backend, deferred, questions

PLAIN = (np, type)  # in a tuple: `npgrad.wrap`, which runs functions of this package, overlooks it


class Machine:
    """What the stand-in's library is doing."""

    operations: list[Callable[[], None]] | None = None  # while a stream captures
    waited = 0


class Array(np.ndarray):  # type: ignore[type-arg]
    """A device array: NumPy's memory, and operations that a graph repeats."""

    device = types.SimpleNamespace(id=0)

    @property
    def data(self) -> Any:
        """A pointer, for copies."""
        return types.SimpleNamespace(
            copy_from_device_async=lambda other, size: np.copyto(host(self), other.array),
            array=host(self),
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(PLAIN[1](value) in SIMPLE for value in inputs):
            return NotImplemented
        out = kwargs.pop("out", None)
        target = host(out[0]) if out else None
        return done(lambda: getattr(ufunc, method)(*map(host, inputs), **kwargs), target)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(kind is Array for kind in types):
            return NotImplemented
        return done(lambda: func(*map(host, args), **{k: host(v) for k, v in kwargs.items()}))

    def __bool__(self) -> bool:
        if Machine.operations is not None:
            raise RuntimeError("operation not permitted when stream is capturing")
        Machine.waited += 1
        return bool(host(self))

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's, as an operation."""
        return done(lambda: host(self).sum(*args, **kwargs))

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's, as an operation."""
        return done(lambda: host(self).any(*args, **kwargs))

    def copy(self, order: Any = "C") -> Any:
        """NumPy's, as an operation."""
        return done(lambda: host(self).copy())


Array.__module__ = "cupy"
SIMPLE = backend.PLAIN | {Array}


class Evaluator:
    """Puts elementwise operations off, as on a device, and computes them one by one."""

    names: frozenset[str] = frozenset()
    now = False

    def __init__(self, library: Any) -> None:
        self.library = library
        words = ("add", "multiply", "subtract", "tanh", "power", "square", "negative")
        self.operations = {getattr(np, word): word for word in words}

    def evaluate(self, order: Any, outputs: Any) -> bool:
        """No kernel."""
        return False


def host(value: Any) -> Any:
    """`value` with NumPy's arrays in it."""
    if type(value) is Array:
        return value.view(PLAIN[0].ndarray)
    return type(value)(map(host, value)) if type(value) in (list, tuple) else value


def done(operation: Callable[[], Any], target: Any = None) -> Any:
    """Do `operation`; note it, with the memory of its result, while a stream captures."""
    plain = PLAIN[0]
    result = plain.asarray(operation())
    if target is None:
        target = result if result.base is not None else result.copy()
    else:
        plain.copyto(target, result, casting="unsafe")
    if Machine.operations is not None:
        Machine.operations.append(lambda: plain.copyto(target, operation(), casting="unsafe"))
    return target.view(Array)


class Graph:
    def __init__(self, operations: list[Callable[[], None]]) -> None:
        self.operations = operations

    def launch(self) -> None:
        for operation in self.operations:
            operation()


class Stream:
    def __init__(self, non_blocking: bool = False) -> None:
        self.ptr = id(self)

    def synchronize(self) -> None:
        Machine.waited += 1

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def begin_capture(self) -> None:
        Machine.operations = []

    def end_capture(self) -> Graph:
        found, Machine.operations = Machine.operations, None
        if found is None:
            raise RuntimeError("no capture")
        return Graph(found)

    def wait_event(self, event: Any) -> None:
        event.waited = True


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module in the place of CuPy, and a function that puts an array there."""
    main = Stream()

    class Quiet:
        malloc = None

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: Any) -> None:
            return None

    event = types.SimpleNamespace(record=lambda stream: None)
    fake: Any = types.ModuleType("cupy")
    fake.cuda = types.SimpleNamespace(
        MemoryPool=Quiet,
        Stream=Stream,
        Event=lambda disable_timing: event,
        get_current_stream=lambda: main,
        using_allocator=lambda malloc: Quiet(),
    )
    fake.asarray = lambda x: np.asarray(x).view(Array)
    fake.ones = lambda *args: np.ones(*args).view(Array)
    fake.zeros = lambda *args: np.zeros(*args).view(Array)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    load = deferred._Offer.load
    deferred.use(lambda: Evaluator(fake))
    Machine.operations, Machine.waited = None, 0
    yield fake.asarray
    deferred.use(load)  # type: ignore[arg-type]


def loss(parameters: Any, x: Any, power: int = 2) -> Any:
    w, b = parameters
    return np.sum((np.tanh(x * w) + b) ** power)


def arguments(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=4), rng.normal(size=4)), rng.normal(size=(3, 4))


def test_a_replay_is_the_function_of_its_own_arguments(device: Any) -> None:
    step = npgrad.value_and_grad(loss)
    calls = []

    def counted(parameters: Any, x: Any) -> Any:
        calls.append(1)
        return step(parameters, x)

    replayed = npgrad.cuda.captured(counted)
    found = []
    for seed in range(4):
        (w, b), x = arguments(seed)
        value, (gw, gb) = replayed((device(w), device(b)), device(x))
        found.append((host(value), host(gw), host(gb)))
    assert len(calls) == 2  # once to compile, once to record
    for seed, (value, gw, gb) in enumerate(found):  # nobody wrote over an earlier result
        (w, b), x = arguments(seed)
        t = np.tanh(x * w)
        np.testing.assert_allclose(value, np.sum((t + b) ** 2))
        np.testing.assert_allclose(gw, np.sum(2 * (t + b) * (1 - t * t) * x, axis=0))
        np.testing.assert_allclose(gb, np.sum(2 * (t + b), axis=0))


def test_other_shapes_and_numbers_are_other_graphs(device: Any) -> None:
    replayed = npgrad.cuda.captured(npgrad.grad(lambda x, power: np.sum(x**power)))
    for values, power in (([1.0, 2.0], 2), ([1.0, 2.0, 3.0], 2), ([1.0, 2.0], 3), ([3.0, 5.0], 2)):
        got = replayed(device(np.array(values)), power=power)
        np.testing.assert_allclose(host(got), power * np.array(values) ** (power - 1))
    assert len(replayed.graphs) == 3


def test_what_is_asked_at_the_end_of_a_sweep_is_asked_after_each_replay(device: Any) -> None:
    def checked(x: Any) -> Any:
        questions.ask_later((x < 0).any(), lambda: IndexError("negative"))
        questions.answer()
        return x * 2

    replayed = npgrad.cuda.captured(checked)
    replayed(device(np.ones(2)))
    with pytest.raises(IndexError, match="negative"):
        replayed(device(np.array([1.0, -1.0])))
    assert host(replayed(device(np.full(2, 3.0)))).tolist() == [6.0, 6.0]


def test_nothing_may_wait_while_a_graph_is_recorded(device: Any) -> None:
    def branches(x: Any) -> Any:
        return x * 2 if bool(x.sum() > 0) else x

    with pytest.raises(RuntimeError, match="capturing") as raised:
        npgrad.cuda.captured(branches)(device(np.ones(2)))
    assert any("nothing may wait for the device" in note for note in raised.value.__notes__)
    assert Machine.operations is None


def test_what_a_graph_could_not_follow_is_refused(device: Any) -> None:
    double = npgrad.cuda.captured(lambda *values: values[0] * 2)
    x = device(np.ones(2))
    with pytest.raises(TypeError, match=r"not numpy\.ndarray"):
        double(x, np.ones(2))
    with pytest.raises(TypeError, match="Capture the whole step"):
        npgrad.grad(lambda x: np.sum(double(x)))(x)
    with pytest.raises(TypeError, match="none of the arguments"):
        double(2.0)
    with pytest.raises(TypeError, match=r"returned a builtins\.object"):
        npgrad.cuda.captured(lambda x: object())(x)


def test_graphs_are_forgotten_in_turn(device: Any) -> None:
    double = npgrad.cuda.captured(lambda x, number: x * number)
    for number in range(20):
        assert host(double(device(np.ones(1)), number)).tolist() == [number]
    assert len(double.graphs) == 16
    assert backend.on_device(device(np.ones(1)))


def read(x: np.ndarray, operation: int, rows: int, columns: int, leading: int) -> np.ndarray:
    """The matrix that cuBLAS sees: `rows` x `columns` after `operation`, column by column."""
    shape = (rows, columns) if operation == 0 else (columns, rows)
    item = x.itemsize
    seen = np.lib.stride_tricks.as_strided(x, shape, (item, leading * item))
    return seen if operation == 0 else seen.T


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("layout", ["C", "T", "part", "strided"])
def test_products_as_cublas_is_asked(rows: int, inner: int, columns: int, layout: str) -> None:
    rng = np.random.default_rng(0)

    def made(m: int, n: int) -> np.ndarray:
        whole = rng.normal(size=(m, n))
        if layout == "T":
            return np.ascontiguousarray(whole.T).T
        if layout == "part":
            wide = np.zeros((m + 2, n + 3))
            wide[1 : m + 1, 2 : n + 2] = whole
            return wide[1 : m + 1, 2 : n + 2]
        if layout == "strided":
            return np.repeat(np.repeat(whole, 2, 0), 2, 1)[::2, ::2]
        return whole

    a, b, out = made(rows, inner), made(inner, columns), np.zeros((rows, columns))
    (second, first), (of_b, of_a, m, n, k, ldb, lda, ldc) = blas.gemm_call(a, b, out)
    assert ldc >= m and ldb >= (m if of_b == 0 else k) and lda >= (k if of_a == 0 else n)
    product = read(second, of_b, m, k, ldb) @ read(first, of_a, k, n, lda)
    np.testing.assert_allclose(product, (a @ b).T)
