"""The Python source of a compiled function, run on recorded arrays.

Numba freezes the globals of a function when it compiles it; so a copy of the function with other
globals means the same. In the copy array makers record, ``math`` takes recorded scalars, and
compiled functions are such copies too. ``prange`` is a range outside of compiled code.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.compiled.frozen import names_of, source_of
from npgrad.compiled.overloads import overloaded
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping.builtin_names import shadows_for
from npgrad.wrapping.mathematics import QUIET
from npgrad.wrapping.stand_ins import replacement


class _List(list[Any]):
    """``numba.typed.List`` in a source that is recorded."""

    @classmethod
    def empty_list(cls, item_type: Any, allocated: int = 0) -> _List:
        """A list of no items yet."""
        return cls()


class _Dict(dict[Any, Any]):
    """``numba.typed.Dict`` in a source that is recorded."""

    @classmethod
    def empty(cls, key_type: Any, value_type: Any, n_keys: int = 0) -> _Dict:
        """A table of no entries yet."""
        return cls()


_CONTAINERS = {"List": _List, "Dict": _Dict}
_copies: dict[Any, Callable[..., Any]] = {}


def is_dispatcher(f: Any) -> bool:
    """Whether `f` was made by ``numba.njit`` or ``numba.jit`` for the CPU."""
    kind = type(f)
    return kind.__module__ == "numba.core.registry" and kind.__name__ == "CPUDispatcher"


def _recording(value: Any) -> Any:
    """What a name of the function stands for in its copy."""
    if is_dispatcher(value):
        return python_of(value)
    if isinstance(value, type) and value.__module__.startswith("numba.typed."):
        return _CONTAINERS.get(value.__name__, value)
    new = QUIET.get(id(value))
    new = overloaded(value, python_of) if new is None else new
    new = replacement(value) if new is None else new
    return value if new is None else new


def as_numba(value: Any) -> Any:
    """A Python float or complex number as the 64-bit type that Numba gives it.

    Beside a float32 array Python's own numbers are weak, and the result stays float32.
    """
    kind = type(value)
    if kind is tuple:
        return tuple(map(as_numba, value))
    return _NUMBERS[kind](value) if kind in _NUMBERS else value


_NUMBERS: dict[Any, Any] = {float: np.float64, complex: np.complex128}


def _typed(code: types.CodeType) -> types.CodeType:
    """`code` with the floats written in it of Numba's type."""
    return code.replace(
        co_consts=tuple(
            _typed(value) if isinstance(value, types.CodeType) else as_numba(value)
            for value in code.co_consts
        )
    )


def python_of(dispatcher: Any) -> Callable[..., Any]:
    """The copy of ``dispatcher.py_func`` that records."""
    made = _copies.get(dispatcher)
    if made is not None:
        return made
    source = source_of(dispatcher) or dispatcher.__wrapped__
    space = dict(source.__globals__)
    cells = tuple(types.CellType() for _ in source.__closure__ or ())
    code, defaults = _typed(source.__code__), as_numba(source.__defaults__)
    copy = types.FunctionType(code, space, source.__name__, defaults, cells)
    copy.__kwdefaults__ = source.__kwdefaults__
    free = dict(zip(source.__code__.co_freevars, cells, strict=True))

    shadows = shadows_for([source.__code__])

    @functools.wraps(source)
    def run(*args: Any, **kwargs: Any) -> Any:
        for name, value in names_of(source).items():  # as frozen, or as they are now
            made = as_numba(_recording(value))
            if name in shadows and value is getattr(builtins, name, None):
                made = shadows[name]  # a module that is wrapped just now has it among its names
            if name in free:
                free[name].cell_contents = made
            else:
                space[name] = made
        token = WRAPPED.set(True)
        try:
            return copy(*map(as_numba, args), **{k: as_numba(v) for k, v in kwargs.items()})
        finally:
            WRAPPED.reset(token)

    _copies[dispatcher] = run  # before its names are looked at: it may call itself
    for name, shadow in shadows.items():
        space.setdefault(name, shadow)
    return run


def njit(f: Any = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit``, and differentiate it through its Python source.

    With plain arguments it is the compiled function. With a recorded one its Python source runs
    and is recorded, loops, in-place writes, filled arguments and compiled callees included: right
    at the price of Python's speed. Rules of `npgrad.register_vjp` come first.

    Parameters
    ----------
    f : callable
        A Python function, or one that ``numba.njit`` made already.
    options
        What ``numba.njit`` takes: ``parallel``, ``fastmath``, ``nogil``, ``cache``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> @npgrad.njit
    ... def running(x):
    ...     out = np.zeros(x.size)
    ...     for i in range(1, x.size):
    ...         out[i] = out[i - 1] + x[i] * x[i]
    ...     return out
    >>> npgrad.grad(lambda x: running(x)[-1])(np.array([1.0, 2.0, 3.0]))
    array([0., 4., 6.])
    """
    if f is None:
        return functools.partial(njit, **options)
    from npgrad.compiled.doors import Compiled

    if not is_dispatcher(f):
        import numba

        f = numba.njit(**options)(f)
    return Compiled(f)
