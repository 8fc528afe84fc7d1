"""CuPy's arrays, streams and graphs where there is no GPU.

The stand-in's arrays note every operation while a stream captures; launching a graph does them
again, into the same memory. So what a replay makes of new arguments is what a graph would.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from npgrad.graph import backend, deferred

PLAIN = (np, type)  # in a tuple: `npgrad.wrap`, which runs functions of this package, overlooks it


class _Machine(threading.local):
    """What the stand-in's library is doing, in each thread."""

    operations: list[Callable[[], None]] | None = None  # while a stream captures
    waited = 0


Machine = _Machine()


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

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """NumPy's, as an operation: it may copy."""
        return done(lambda: host(self).reshape(*shape, **options))

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

    def is_capturing(self) -> bool:
        return Machine.operations is not None

    def wait_event(self, event: Any) -> None:
        event.waited = True


@contextmanager
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
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
    fake.isnan = lambda x: np.isnan(host(x))
    fake.zeros = lambda *args: np.zeros(*args).view(Array)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    load = deferred._Offer.load
    deferred.use(lambda: Evaluator(fake))
    Machine.operations, Machine.waited = None, 0
    yield fake.asarray
    deferred.use(load)  # type: ignore[arg-type]
