"""From a generated kernel to a launch: `Program` (what to compile), `Kernel` (loaded on a device), and the array backend.

A launcher is written once against a `Backend` (allocate, run, how many multiprocessors). On CuPy arrays that is `CupyBackend`:
the cubin goes through CuPy's `Module`, on CuPy's current stream and device, with memory from CuPy's pool (6.8 us a launch on an
H200 machine, where Numba's own dispatcher takes 28 to 69). On NumPy arrays, in a process with the CUDA simulator switched on, it is
`SimulatorBackend`, so that tests run the same launchers without a GPU.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from npgrad.graph.placing import refuse_devices

from . import blas

__all__ = ["Backend", "CupyBackend", "Kernel", "Program", "SimulatorBackend", "backend_of"]

# CUfunction_attribute (cuda.h); CuPy's driver module takes the numbers
STATIC_SHARED, LOCAL_BYTES, NUMBER_OF_REGISTERS, MAX_DYNAMIC_SHARED = 1, 3, 4, 8
STATIC_SHARED_LIMIT = 48 * 1024  # above this a kernel must ask for its shared memory
SHARED_LIMIT = 220 * 1024  # of a block, static and dynamic: tiles are laid out for an H200's 227 KB


@dataclasses.dataclass(frozen=True)
class Program:
    """One kernel to compile.

    `signature` names the parameters' types: ``"float32*"``, ``"int64"``. `threads` is the block size, `blocks` the wished number of
    resident blocks a multiprocessor (a register limit for the compiler) or None, `shared` the dynamic shared memory in bytes.
    """

    name: str
    source: str
    signature: tuple[str, ...]
    threads: int
    blocks: int | None = None
    shared: int = 0

    def __hash__(self) -> int:
        return hash((self.name, self.source, self.threads))  # asked at every launch


class Kernel:
    """A program loaded on one device."""

    def __init__(self, program: Program, capability: tuple[int, int]) -> None:
        import cupy
        from cupy.cuda import driver

        from .compile import cubin

        code, entry = cubin(program, capability)
        self.program = program
        self.module = cupy.cuda.function.Module()
        self.module.load(code)
        self.function = self.module.get_function(entry)
        pointer = self.function.ptr
        self.registers: int = driver.funcGetAttribute(NUMBER_OF_REGISTERS, pointer)
        self.local_bytes: int = driver.funcGetAttribute(LOCAL_BYTES, pointer)
        self.static_shared: int = driver.funcGetAttribute(STATIC_SHARED, pointer)
        if program.shared + self.static_shared > STATIC_SHARED_LIMIT:
            # without this a launch fails with CUDA_ERROR_INVALID_VALUE
            driver.funcSetAttribute(pointer, MAX_DYNAMIC_SHARED, program.shared)
        self.held = 0  # blocks on the device at once, when that was first asked

    def resident(self, shared_per_multiprocessor: int) -> int:
        """Blocks that fit on one multiprocessor together (registers, threads, shared memory)."""
        threads = self.program.threads
        by_registers = 65536 // max(1, (self.registers + 7) // 8 * 8 * threads)
        by_threads = min(2048 // threads, 32)
        used = self.program.shared + self.static_shared
        by_shared = shared_per_multiprocessor // (used + 1024)
        return max(1, min(by_registers, by_threads, by_shared))


class Backend(abc.ABC):
    """What a launcher needs from the array library."""

    @abc.abstractmethod
    def empty(self, shape: Any, dtype: Any) -> Any:
        """An array of any contents."""

    @abc.abstractmethod
    def zeros(self, shape: Any, dtype: Any) -> Any:
        """An array of zeros."""

    @abc.abstractmethod
    def run(self, program: Program, grid: Sequence[int], *args: Any) -> None:
        """Launch a program on the current stream."""

    @abc.abstractmethod
    def gemm(
        self,
        product: blas.Gemm,
        arrays: tuple[Any, Any, Any],
        starts: tuple[int, int, int],
        factor: float,
        added: bool,
    ) -> None:
        """A product of matrices on the current stream; `starts` are in elements of its kind."""

    @abc.abstractmethod
    def resident_blocks(self, program: Program) -> int:
        """How many blocks of this program the device holds at once."""

    @abc.abstractmethod
    def address(self, array: Any) -> int:
        """Where an array's memory starts."""

    @abc.abstractmethod
    def flags(self) -> Any:
        """int32 words, zero between kernels, private to the current device and stream."""

    #: red.global.add.v4.f32 exists from compute capability 9.0 on
    vector_add: bool = False
    #: bytes of shared memory that a block may take
    shared_limit: int = SHARED_LIMIT

    def aligned(self, *arrays: Any) -> bool:
        """Whether 128-bit accesses are allowed at the start of each array."""
        return all(self.address(a) % 16 == 0 for a in arrays if a is not None)

    @abc.abstractmethod
    def contiguous(self, array: Any) -> Any:
        """The array in C order, itself if it is."""

    @abc.abstractmethod
    def sort(self, array: Any) -> Any:
        """A sorted copy of a 1-D array."""

    @abc.abstractmethod
    def arange(self, n: int) -> Any:
        """0 .. n-1 as int64."""

    @abc.abstractmethod
    def constants(self, values: tuple[int, ...]) -> Any:
        """A small int32 table, kept on the device."""


FLAG_WORDS = 1 << 16
_ALREADY = contextlib.nullcontext()


class CupyBackend(Backend):
    """One device, on CuPy's current stream there; another device may be CuPy's current one."""

    def __init__(self, device: int) -> None:
        import cupy

        self.cupy = cupy
        self.device = device
        facts = cupy.cuda.runtime.getDeviceProperties(device)
        self.capability = (int(facts["major"]), int(facts["minor"]))
        self.multiprocessors = int(facts["multiProcessorCount"])
        self.shared_per_multiprocessor = int(facts["sharedMemPerMultiprocessor"])
        self.shared_limit = min(SHARED_LIMIT, int(facts["sharedMemPerBlockOptin"]))
        self.vector_add = self.capability >= (9, 0)
        self.several = int(cupy.cuda.runtime.getDeviceCount()) > 1
        self.kernels: dict[Program, Kernel] = {}
        self.flag_words: dict[int, Any] = {}
        self.tables: dict[tuple[int, ...], Any] = {}

    def here(self) -> Any:
        """A context in which this device is the current one; nothing to do where it is alone."""
        if self.several and self.cupy.cuda.runtime.getDevice() != self.device:
            return self.cupy.cuda.Device(self.device)
        return _ALREADY

    def kernel(self, program: Program) -> Kernel:
        """The program, compiled and loaded once."""
        found = self.kernels.get(program)
        if found is None:
            with self.cupy.cuda.Device(self.device):
                found = self.kernels[program] = Kernel(program, self.capability)
        return found

    def empty(self, shape: Any, dtype: Any) -> Any:
        """An array of any contents."""
        if not self.several:
            return self.cupy.empty(shape, dtype)
        with self.here():
            return self.cupy.empty(shape, dtype)

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """An array of zeros."""
        with self.here():
            return self.cupy.zeros(shape, dtype)

    def run(self, program: Program, grid: Sequence[int], *args: Any) -> None:
        """Launch a program on the current stream."""
        kernel = self.kernels.get(program) or self.kernel(program)
        grid = (*grid, 1, 1)[:3]
        if not self.several:
            kernel.function(grid, (program.threads, 1, 1), args, program.shared)
            return
        refuse_devices(f"the kernel {program.name} of device {self.device}", args)
        with self.here():
            kernel.function(grid, (program.threads, 1, 1), args, program.shared)

    def gemm(
        self,
        product: blas.Gemm,
        arrays: tuple[Any, Any, Any],
        starts: tuple[int, int, int],
        factor: float,
        added: bool,
    ) -> None:
        """A product of matrices on the current stream, by cuBLAS."""
        size = blas.BYTES[product.kind]
        first, second, out = arrays
        addresses = (
            first.data.ptr + starts[0] * size,
            second.data.ptr + starts[1] * size,
            out.data.ptr + starts[2] * 4,
        )
        with self.here():
            stream = self.cupy.cuda.get_current_stream().ptr
            blas.multiply(product, addresses, factor, added, stream)

    def resident_blocks(self, program: Program) -> int:
        """How many blocks of this program the device holds at once."""
        kernel = self.kernels.get(program) or self.kernel(program)
        if not kernel.held:
            kernel.held = self.multiprocessors * kernel.resident(self.shared_per_multiprocessor)
        return kernel.held

    def address(self, array: Any) -> int:
        """Where an array's memory starts."""
        return int(array.data.ptr)

    def flags(self) -> Any:
        """int32 words, zero between kernels, private to the current stream."""
        with self.here():
            stream = self.cupy.cuda.get_current_stream().ptr
            found = self.flag_words.get(stream)
            if found is None:
                found = self.flag_words[stream] = self.cupy.zeros(FLAG_WORDS, np.int32)
        return found

    def contiguous(self, array: Any) -> Any:
        """The array in C order, itself if it is."""
        if array.flags.c_contiguous:
            return array
        with self.here():
            return self.cupy.ascontiguousarray(array)

    def sort(self, array: Any) -> Any:
        """A sorted copy of a 1-D array."""
        with self.here():
            return self.cupy.sort(array)

    def arange(self, n: int) -> Any:
        """0 .. n-1 as int64."""
        with self.here():
            return self.cupy.arange(n, dtype=np.int64)

    def constants(self, values: tuple[int, ...]) -> Any:
        """A small int32 table, kept on the device."""
        found = self.tables.get(values)
        if found is None:
            with self.here():
                found = self.tables[values] = self.cupy.asarray(np.array(values, np.int32))
                self.cupy.cuda.get_current_stream().synchronize()  # other streams may read it next
        return found


class SimulatorBackend(Backend):
    """NumPy arrays in Numba's CUDA simulator: small grids, for tests."""

    vector_add = True

    def __init__(self) -> None:
        self.words = np.zeros(FLAG_WORDS, np.int32)
        self.launched: list[str] = []

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Poisoned, so that an element no kernel wrote is seen."""
        out = np.empty(shape, dtype)
        out.view(np.uint8).reshape(-1)[...] = 0xFF
        return out

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """An array of zeros."""
        return np.zeros(shape, dtype)

    def run(self, program: Program, grid: Sequence[int], *args: Any) -> None:
        """Launch a program on the current stream."""
        from . import simulated

        self.launched.append(program.name)
        simulated.run(program, tuple(int(n) for n in grid), args)

    def gemm(
        self,
        product: blas.Gemm,
        arrays: tuple[Any, Any, Any],
        starts: tuple[int, int, int],
        factor: float,
        added: bool,
    ) -> None:
        """A product of matrices in NumPy."""
        from . import simulated

        self.launched.append("gemm")
        simulated.gemm(product, arrays, starts, factor, added)

    def resident_blocks(self, program: Program) -> int:
        """How many blocks of this program the device holds at once."""
        return 3

    def address(self, array: Any) -> int:
        """Where an array's memory starts."""
        return 0 if array.ctypes.data % array.itemsize == 0 else 1

    def flags(self) -> Any:
        """int32 words, zero between kernels, private to the current stream."""
        return self.words

    def contiguous(self, array: Any) -> Any:
        """The array in C order, itself if it is."""
        return np.ascontiguousarray(array)

    def sort(self, array: Any) -> Any:
        """A sorted copy of a 1-D array."""
        return np.sort(array)

    def arange(self, n: int) -> Any:
        """0 .. n-1 as int64."""
        return np.arange(n, dtype=np.int64)

    def constants(self, values: tuple[int, ...]) -> Any:
        """A small int32 table, kept on the device."""
        return np.array(values, np.int32)


@functools.cache
def _cupy_backend(device: int) -> CupyBackend:
    return CupyBackend(device)


@functools.cache
def _simulator_backend() -> SimulatorBackend:
    return SimulatorBackend()


def backend_of(array: Any) -> Backend:
    """The backend of the device an array lives on."""
    device = getattr(array, "device", None)
    number = getattr(device, "id", None)
    if number is not None:
        return _cupy_backend(number)
    if isinstance(array, np.ndarray) and os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return _simulator_backend()
    raise TypeError(
        f"device kernels take CuPy arrays, not {type(array).__name__}; "
        "npgrad.cuda.to_device(x) copies to the GPU, npgrad.cuda.array(x) takes another library's device array as it is"
    )
