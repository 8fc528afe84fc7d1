"""The arrays that a function can get at: through its arguments, closure, attributes and globals.

A buffer of the caller's may become a recording copy only if the function has no other way to the
same memory: through one it would read numbers of before the write. Counting references cannot tell
(a closure variable or an attribute may be the only one), so the objects are searched. Libraries are
not entered: they hold no array of the caller's, unless a container of theirs was handed over.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
import types
import weakref
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import InPlaceError
from ..graph.array import GradArray, plain
from ..graph.handles import leaf_node

MOST = 100_000  # objects looked at, some 50 ms; a function that reaches more may reach anything
ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None), types.CodeType))


@functools.lru_cache(maxsize=1024)
def names_in(code: types.CodeType) -> frozenset[str]:
    """The globals and modules that `code`, and the functions written in it, name."""
    found = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")
    }
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= names_in(inner)
    return frozenset(found)


@functools.lru_cache(maxsize=1024)
def _library(top: str) -> bool:
    """Whether the package `top` is Python's, npgrad's, or installed."""
    if top == "__main__":  # its file is pytest's, for an example that pytest runs
        return False
    if top in ("npgrad", "numpy") or top in sys.stdlib_module_names:
        return True
    where = str(getattr(sys.modules.get(top), "__file__", None) or "")
    return "site-packages" in where or "dist-packages" in where


def in_library(thing: Any) -> bool:
    """Whether a function, a class or a module is Python's, npgrad's, or installed."""
    return _library(top_of(thing))


def top_of(thing: Any) -> str:
    """The top-level package of a function, a class or a module."""
    name = getattr(thing, "__name__" if type(thing) is types.ModuleType else "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


def _next(thing: Any, own: str) -> list[Any]:
    """What `thing` leads to."""
    kind = type(thing)
    if kind is types.FunctionType:
        if str(thing.__globals__.get("__name__")).startswith("npgrad.wrapping"):
            return [getattr(thing, "__wrapped__", None)]  # its patches hold whole modules
        if (top := top_of(thing)) != own and _library(top):
            named: list[Any] = []
        else:
            known = thing.__globals__
            named = [known.get(n, sys.modules.get(n)) for n in names_in(thing.__code__)]
        return [
            *named,
            *(thing.__closure__ or ()),
            thing.__defaults__,
            thing.__kwdefaults__,
            thing.__dict__,
        ]
    if kind is types.ModuleType or issubclass(kind, type):
        if (top := top_of(thing)) != own and _library(top):
            return []
        if kind is types.ModuleType:
            return list(vars(thing).values())
    elif top_of(kind) == "npgrad":
        return [getattr(thing, "__wrapped__", None)]
    if kind is ContextVar:  # what these two lead to, the garbage collector does not know
        return [thing.get(None)]
    if issubclass(kind, weakref.ReferenceType):
        return [thing()]
    return [kind, *gc.get_referents(thing)]


def reachable(f: Any, given: list[Any]) -> list[Any] | None:
    """The arrays, plain and recorded, that `f` can reach with `given`; None if that is too much."""
    own = top_of(f)
    arrays: list[Any] = []
    waiting, seen = [f, *given], {}
    while waiting:
        thing = waiting.pop()
        kind = type(thing)
        if kind in ATOMS or id(thing) in seen:
            continue
        seen[id(thing)] = thing  # kept, so that no other object takes its address
        if len(seen) > MOST:
            return None
        if issubclass(kind, np.ndarray):
            arrays.append(thing)
            if thing.dtype.hasobject:
                waiting.extend(thing.ravel().tolist())
            if kind is not np.ndarray:
                waiting.append(getattr(thing, "__dict__", None))
        elif kind is GradArray:
            arrays.append(thing)
        else:
            waiting.extend(_next(thing, own))
    return arrays


def memory_of(array: Any) -> Any:
    """The plain array that the caller knows `array` as."""
    if type(array) is not GradArray:
        return array
    node = leaf_node(array)
    given = None if node is None else node.op.given
    return plain(array) if given is None else given


def overlap(one: Any, other: Any) -> bool:
    """Whether two arrays, plain or recorded, may have memory in common; on a device: no."""
    a, b = map(memory_of, (one, other))
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    try:
        return np.shares_memory(a, b, max_work=1000)  # type: ignore[arg-type]  # any int will do
    except np.exceptions.TooHardError:
        return True


def _argument(name: str) -> str:
    """`name` as it stands in a sentence: those passed by position are "argument 0" already."""
    return name if name.startswith("argument ") else f"argument {name}"


def refuse(name: str) -> None:
    """Raise: a function writes into what it can reach by two names."""
    raise InPlaceError(
        f"npgrad: the function writes into its {_argument(name)}, and can reach the same memory by "
        "another name (another argument, a closure or global variable, an attribute), of which one "
        "is being differentiated: NumPy would change both, a recording changes one. Pass a copy "
        "(x.copy()), or let the function write into a copy of its own."
    )


def folded(array: Any) -> bool:
    """Whether entries of a plain array may lie in one place, as `as_strided` makes them."""
    reach = array.itemsize
    steps = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for step, count in sorted(steps) if array.size else ():
        if step < reach:
            return True
        reach += step * (count - 1)
    return False


def refuse_folded(name: str) -> None:
    """Raise: a function writes into an argument of which several entries are one number."""
    raise InPlaceError(
        f"npgrad: the function writes into its {_argument(name)}, of which several entries lie in "
        "one place in memory (as_strided, broadcast_to): NumPy would change them together, or "
        "refuse, and a recording changes one. Pass a copy (x.copy())."
    )
