"""Lazy compilation: a kernel is a plain function until its first call.

Lives here: `njit`, the decorator of every kernel; `by_type`, which picks the float32 or the float64
body of a scalar function; `constant`, a table made on first use; `wide`, which asks for the widest
vectors; `available` and `disabled`, the switch. Importing this module (or any kernel file) does not
import Numba; calling a kernel does, and the machine code is kept on disk (`cache=True`) beside the
file.

Numba notices on disk that a kernel's own file changed, not that a file it borrows scalar functions
from did: after an edit of ``vector_math.py`` remove ``__pycache__/*.nb?`` in this folder.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

__all__ = ["available", "by_type", "constant", "disabled", "njit", "wide"]

_lock = threading.RLock()
_off: ContextVar[bool] = ContextVar("npgrad_kernels_off", default=False)
_installed: bool | None = None


def available() -> bool:
    """Whether kernels may be used: Numba is installed, and no `disabled` block is open."""
    global _installed
    if _installed is None:
        _installed = importlib.util.find_spec("numba") is not None
    return _installed and not _off.get()


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Switch the Numba kernels off inside the block: every operation runs its NumPy reference.

    The switch belongs to the context (thread, task) that opens it.

    Examples
    --------
    >>> import numpy as np
    >>> import npgrad
    >>> with npgrad.kernels.disabled():
    ...     npgrad.nn.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    token = _off.set(True)
    try:
        yield
    finally:
        _off.reset(token)


class Kernel:
    """A function that Numba compiles when it is first called."""

    __slots__ = ("function", "made", "options", "result")

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.options = options
        self.made: Any = None  # for kernels that name each other, while they are linked
        self.result: Any = None  # when that is done: other threads look here without the lock

    def compiled(self) -> Any:
        """Numba's dispatcher; names of other kernels in the function's module become theirs."""
        with _lock:
            if self.made is None:
                import numba

                self.made = numba.njit(**self.options)(self.function)
                link(self.function)
                self.result = self.made
            return self.made

    def __call__(self, *args: Any) -> Any:
        return (self.result or self.compiled())(*args)


class ByType:
    """A scalar function with one body for float32 and one for float64, chosen by Numba's types."""

    __slots__ = ("double", "result", "single")

    def __init__(self, single: Any, double: Any) -> None:
        self.single = single
        self.double = double
        self.result: Any = None

    def compiled(self) -> Any:
        """A function that Numba overloads with the two bodies."""
        with _lock:
            if self.result is None:
                from numba import types
                from numba.extending import overload

                bodies = {types.float32: self.single.function, types.float64: self.double.function}
                link(self.single.function)
                link(self.double.function)

                def stub(x: Any) -> Any:
                    raise TypeError("a scalar function for kernels; it is not called from Python")

                def choose(x: Any) -> Any:
                    return bodies.get(x)

                options: Any = {k: v for k, v in self.single.options.items() if k != "cache"}
                overload(stub, strict=False, jit_options=options)(choose)
                self.result = stub
        return self.result

    def __call__(self, x: Any) -> Any:
        raise TypeError("a scalar function for kernels; it is not called from Python")


class Constant:
    """A table that is computed when the first kernel that reads it is compiled."""

    __slots__ = ("make", "result")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.result: Any = None

    def compiled(self) -> Any:
        """The table."""
        if self.result is None:
            self.result = self.make()
        return self.result


class Wide:
    """``wide()``, first in a kernel: LLVM may use vectors of 512 bits there.

    By itself it prefers 256, since older processors lower their clock for wider ones. Loops that
    wait for arithmetic take three quarters of the time, those that wait for memory the same, sums
    along short rows longer. Where the processor has no such vectors, nothing changes.
    """

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: Any = None

    def compiled(self) -> Any:
        """An intrinsic that marks the function it is called from."""
        with _lock:
            if self.result is None:
                from numba import types
                from numba.extending import intrinsic

                def mark(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                    attributes = builder.function.attributes
                    # llvmlite's own `add` knows no attributes with a value; LLVM does
                    set.add(attributes, '"prefer-vector-width"="512"')
                    return context.get_dummy_value()

                def typed(context: Any) -> Any:
                    return types.void(), mark

                self.result = intrinsic(typed)
        return self.result

    def __call__(self) -> None:
        raise TypeError("a mark for kernels; it is not called from Python")


wide = Wide()


def link(function: Callable[..., Any]) -> None:
    """Put compiled kernels in place of the lazy ones that `function` refers to.

    Numba reads the globals of a function when it compiles it, and knows only its own dispatchers.
    """
    space = function.__globals__
    for name in function.__code__.co_names:
        value = space.get(name)
        if isinstance(value, Kernel | ByType | Constant | Wide):
            space[name] = value.compiled()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Mark a kernel: compiled on first use, kept on disk, run without the GIL.

    `options` are Numba's; ``error_model="numpy"`` (a division by zero is inf) is the default.
    """
    options = {"nogil": True, "cache": True, "error_model": "numpy", **options}

    def mark(function: Callable[..., Any]) -> Any:
        return Kernel(function, options)

    return mark


def constant(make: Callable[[], Any]) -> Any:
    """Decorate the function that makes a table; kernels then see the table under its name."""
    return Constant(make)


def by_type(single: Any, double: Any) -> Any:
    """One scalar function from its float32 and float64 bodies (each marked with `njit`)."""
    return ByType(single, double)
