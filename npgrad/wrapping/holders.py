"""Dictionaries, instances and classes of a module that hold what is to be replaced.

``TABLE = {"sin": math.sin}``, ``xp = Backend(numpy)`` or ``class Linear: make = np.zeros``: the
names of the first two stand in a dictionary, and are replaced there as a module's are.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.builtin_names import SHADOWS
from npgrad.wrapping.stand_ins import replacement

MOST = 1000  # entries looked at: larger dictionaries hold data
_CALLED = types.FunctionType, types.BuiltinFunctionType, np.ufunc
_NO_HOLDERS = (types.ModuleType, types.FunctionType, type)


# ``limit = float`` of an object or a table, as a converter; in a module it hides the builtin.
NUMBERS = {id(kind): SHADOWS[kind.__name__] for kind in (float, complex)}


def _top(name: Any) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def dictionaries_of(space: dict[str, Any]) -> Iterator[tuple[str | None, dict[Any, Any]]]:
    """The dictionaries of `space` that hold something to replace, by their names there.

    With those of its own instances, which have none.
    """
    own = _top(space.get("__name__"))
    if own == "npgrad":
        return  # a copy of one of its modules, as doctest makes: what it holds, npgrad itself uses
    typed = own == "__main__"
    for label, value in list(space.items()):
        if type(value) is dict:
            held: Any = value
        elif issubclass(type(value), _NO_HOLDERS) or _top(type(value).__module__) != own:
            continue
        else:
            held = _dictionary(value)
        if type(held) is not dict or held is space or len(held) > MOST:
            continue
        parts = list(held.values())
        if any(id(part) in NUMBERS or replacement(part) is not None for part in parts):
            yield label if held is value else None, held
        elif typed and (not parts or any(isinstance(part, _CALLED) for part in parts)):
            # a registry, in which an entry may be put or exchanged
            yield label if held is value else None, held


def _dictionary(instance: Any) -> Any:
    try:
        return vars(instance)
    except Exception:  # what stands for a package that is not installed may raise anything
        return None


def _plainly(convert: types.FunctionType) -> types.FunctionType:
    """A class's ``__array__`` as NumPy may call it, which takes no GradArray for an answer."""

    @functools.wraps(convert)
    def plainly(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = convert(self, *args, **kwargs)
        return made.__array__() if type(made) is GradArray else made

    return plainly  # type: ignore[return-value]


_IMMUTABLE, _HEAP = 1 << 8, 1 << 9  # Py_TPFLAGS_IMMUTABLETYPE, Py_TPFLAGS_HEAPTYPE


def attributes_of(kind: type, asked: frozenset[str]) -> Iterator[tuple[Any, Any, Any]]:
    """The attributes of a class, and of those written in it, to replace: as places.

    Types stay under the names `asked`, which code beside an ``is`` names. None of a class that
    cannot be changed, as those of C extensions.
    """
    if not kind.__flags__ & _HEAP or kind.__flags__ & _IMMUTABLE:
        return
    for name, value in list(vars(kind).items()):
        if isinstance(value, type) and value.__qualname__ == f"{kind.__qualname__}.{name}":
            yield from attributes_of(value, asked)
        if name == "__array__" and type(value) is types.FunctionType:
            yield functools.partial(setattr, kind, name), value, _plainly(value)
            continue
        bound = type(value) if isinstance(value, (staticmethod, classmethod)) else None
        held = value.__func__ if bound is not None else value
        new = replacement(held)
        if new is None:
            new = NUMBERS.get(id(held))
        if new is None or (name in asked and isinstance(held, type)):
            continue
        if bound is not None:
            new = bound(new)
        elif isinstance(new, types.FunctionType) and not hasattr(value, "__get__"):
            new = staticmethod(new)  # a Python function would become a method
        yield functools.partial(setattr, kind, name), value, new
