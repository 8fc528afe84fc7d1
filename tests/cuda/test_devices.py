"""Several devices in one program: launches and allocations follow the array, mixtures raise.

One GPU is rarely two, so CuPy is stood in for by a module that notes which device is current.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.cuda import launch
from npgrad.graph import backend, placing

from .standing import device, to_device


class Machine:
    """A machine with two devices, and what was done on which."""

    def __init__(self, count: int = 2) -> None:
        self.current = 0
        self.count = count
        self.done: list[tuple[str, int]] = []

    def note(self, what: str) -> None:
        self.done.append((what, self.current))


def module(machine: Machine) -> Any:
    """What `launch` uses of CuPy."""

    class Device:
        def __init__(self, number: int) -> None:
            self.id = number

        def __enter__(self) -> Any:
            self.before, machine.current = machine.current, self.id
            return self

        def __exit__(self, *_: Any) -> None:
            machine.current = self.before

    class Array:
        def __init__(self, shape: Any, dtype: Any, number: int) -> None:
            self.shape, self.dtype, self.device = shape, np.dtype(dtype), Device(number)
            self.flags = types.SimpleNamespace(c_contiguous=False)

    def made(name: str) -> Any:
        def make(shape: Any, dtype: Any = np.float32) -> Any:
            machine.note(name)
            shape = getattr(shape, "shape", shape)
            return Array(shape if isinstance(shape, tuple) else (shape,), dtype, machine.current)

        return make

    names = ("empty", "zeros", "ones", "ascontiguousarray", "sort", "arange", "asarray")
    fake: Any = types.SimpleNamespace(**{name: made(name) for name in names})
    stream = types.SimpleNamespace(ptr=7, synchronize=lambda: machine.note("wait"))
    facts = {
        "major": 9,
        "minor": 0,
        "multiProcessorCount": 4,
        "sharedMemPerMultiprocessor": 1 << 17,
        "sharedMemPerBlockOptin": 99 << 10,
    }
    fake.cuda = types.SimpleNamespace(
        Device=Device,
        get_current_stream=lambda: stream,
        runtime=types.SimpleNamespace(
            getDevice=lambda: machine.current,
            getDeviceCount=lambda: machine.count,
            getDeviceProperties=lambda number: facts,
        ),
    )
    fake.Array = Array
    return fake


class FakeKernel:
    def __init__(self, machine: Machine, program: Any) -> None:
        machine.note("load")
        self.function = lambda *args: machine.note("launch")


PROGRAM = launch.Program("nothing", "", ("float32*",), 32)


@pytest.mark.parametrize(
    ("static", "dynamic", "asked"),
    [(0, 48 << 10, False), (16, 48 << 10, True), (0, 200 << 10, True)],
)
def test_much_shared_memory_is_asked_for(
    monkeypatch: Any, static: int, dynamic: int, asked: bool
) -> None:
    """Numba never raises the limit of 48 KB: such a launch fails with CUDA_ERROR_INVALID_VALUE."""
    set_: list[tuple[int, int]] = []
    driver: Any = types.ModuleType("cupy.cuda.driver")
    driver.funcGetAttribute = lambda which, pointer: static if which == launch.STATIC_SHARED else 32
    driver.funcSetAttribute = lambda pointer, which, value: set_.append((which, value))
    function = types.SimpleNamespace(ptr=1)
    loaded = types.SimpleNamespace(load=lambda code: None, get_function=lambda entry: function)
    fake, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    fake.cuda, cuda.driver = cuda, driver
    cuda.function = types.SimpleNamespace(Module=lambda: loaded)
    for name, module_ in (("cupy", fake), ("cupy.cuda", cuda), ("cupy.cuda.driver", driver)):
        monkeypatch.setitem(sys.modules, name, module_)
    monkeypatch.setattr("npgrad.cuda.compile.cubin", lambda program, capability: (b"", "entry"))
    launch.Kernel(launch.Program("nothing", "", (), 32, shared=dynamic), (9, 0))
    assert set_ == ([(launch.MAX_DYNAMIC_SHARED, dynamic)] if asked else [])


@pytest.fixture
def machine(monkeypatch: Any) -> Machine:
    found = Machine()
    monkeypatch.setitem(sys.modules, "cupy", module(found))
    monkeypatch.setattr(launch, "Kernel", lambda program, capability: FakeKernel(found, program))
    launch._cupy_backend.cache_clear()
    return found


@pytest.mark.parametrize("number", [0, 1])
def test_everything_happens_where_the_array_lives(machine: Machine, number: int) -> None:
    array = sys.modules["cupy"].Array((4,), np.float32, number)
    there = launch.backend_of(array)
    out = there.empty((4,), np.float32)
    there.zeros((2,), np.int32)
    there.run(PROGRAM, (1,), array, out, 4)
    there.contiguous(array)
    there.sort(array)
    there.arange(3)
    there.constants((1, 2))
    there.flags()
    assert out.device.id == number
    assert {device for _, device in machine.done} == {number}
    assert [what for what, _ in machine.done].count("launch") == 1
    assert machine.current == 0  # as it was before


def test_arrays_of_two_devices_are_refused_by_both_names(machine: Machine) -> None:
    made = sys.modules["cupy"].Array
    first, second = made((4,), np.float32, 0), made((2, 3), np.float64, 1)
    with pytest.raises(TypeError, match=r"float32\[4\] on device 0 .* float64\[2, 3\] on device 1"):
        launch.backend_of(first).run(PROGRAM, (1,), first, second, 4)
    assert ("launch", 0) not in machine.done
    placing.refuse_devices("f", (first, first, 3.0, np.ones(2)))


def test_one_device_asks_nothing(monkeypatch: Any) -> None:
    alone = Machine(count=1)
    fake = module(alone)
    fake.cuda.runtime.getDevice = None  # would fail if it were called
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(launch, "Kernel", lambda program, capability: FakeKernel(alone, program))
    launch._cupy_backend.cache_clear()
    array = fake.Array((4,), np.float32, 0)
    launch.backend_of(array).run(PROGRAM, (1,), array, 4)
    launch.backend_of(array).zeros((1,), np.int32)
    assert alone.done == [("load", 0), ("launch", 0), ("zeros", 0)]


class Noting:
    """Stands for a device that is made the current one, and notes when."""

    def __init__(self, entered: list[str]) -> None:
        self.entered = entered

    def __enter__(self) -> None:
        self.entered.append("in")

    def __exit__(self, *_: Any) -> None:
        self.entered.append("out")


def test_function_and_sweep_run_on_the_device_of_the_argument(monkeypatch: Any) -> None:
    entered: list[str] = []

    def f(x: Any) -> Any:
        entered.append("f")
        return np.sum(x * x)

    with device(None):
        monkeypatch.setattr(backend, "where_it_lives", lambda value: Noting(entered))
        x = to_device(np.ones(2))
        npgrad.grad(f)(x)
        run = entered[entered.index("f") - 1 :]
        assert run[:5] == ["in", "f", "out", "in", "out"]  # the function, and the sweep
        entered.clear()
        npgrad.jvp(f, (x,), (x,))
        assert entered.count("in") == entered.count("out") >= 1
    monkeypatch.undo()
    entered.clear()
    npgrad.grad(f)(np.ones(2))
    assert entered == ["f"]
    with backend.where_it_lives(np.ones(2)):
        pass


def test_copies_stay_on_the_device_of_their_array(monkeypatch: Any) -> None:
    entered: list[int] = []

    class There:
        def __enter__(self) -> None:
            entered.append(1)

        def __exit__(self, *_: Any) -> None:
            entered.append(0)

    class Array:
        device, ndim, size = There(), 1, 3

        def copy(self, order: str = "C") -> Any:
            assert entered[-1] == 1  # CuPy's copy goes to its current device
            return self

    monkeypatch.setattr(backend, "on_device", lambda value: type(value) is Array)
    array = Array()
    assert backend.snapshot(array) is backend.snapshot_any(array) is array
    assert entered == [1, 0, 1, 0]
    assert backend.snapshot_any(2.0) == 2.0


def test_what_is_made_beside_an_array_is_made_on_its_device(machine: Machine) -> None:
    array = sys.modules["cupy"].Array((4,), np.float32, 1)
    type(array).__module__ = "cupy"
    backend.zeros(array, (2,), np.float32)
    backend.ones_like(types.SimpleNamespace(shape=(), dtype=np.dtype("f4")), array)
    placing.placed(2.0, array)
    assert machine.done == [("zeros", 1), ("ones", 1), ("asarray", 1)]
    assert machine.current == 0
