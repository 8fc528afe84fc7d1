"""Dictionaries, instances and classes of a module that hold what is to be replaced.

``TABLE = {"sin": math.sin}``, ``xp = Backend(numpy)`` or ``class Linear: make = np.zeros``: the
names of the first two stand in a dictionary, and are replaced there as a module's are.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.builtin_names import SHADOWS
from npgrad.wrapping.stand_ins import replacement

MOST = 1000  # entries looked at: larger dictionaries hold data
ALL = 2000  # objects looked at for one namespace
DEEP = 3  # a namespace's class, its table of instances, what stands in one
_CALLED = types.FunctionType, types.BuiltinFunctionType, np.ufunc
_PLACED = types.MemberDescriptorType


# ``limit = float`` of an object or a table, as a converter; in a module it hides the builtin.
NUMBERS = {id(kind): SHADOWS[kind.__name__] for kind in (float, complex)}


def _top(name: Any) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def dictionaries_of(
    space: dict[str, Any], in_use: Callable[[Any], bool]
) -> Iterator[tuple[str | None, dict[Any, Any]]]:
    """The dictionaries behind a module's names that hold something to replace: see `held_by`."""
    module = space.get("__name__")
    own = _top(module)
    if own == "npgrad":
        return  # a copy of one of its modules, as doctest makes: what it holds, npgrad itself uses
    names = list(space.items())
    for label, held in held_by(names, in_use, lambda m: _top(m) == own, lambda m: m == module, own):
        if held is not space:
            yield label, held


def held_by(
    named: Iterable[tuple[str, Any]],
    in_use: Callable[[Any], bool],
    owns: Callable[[str], bool],
    here: Callable[[str], bool],
    own: str = "",
) -> Iterator[tuple[str | None, dict[Any, Any]]]:
    """The dictionaries behind `named` that hold something to replace, by their names.

    With those of instances of classes that are the program's own (`owns` their module), which
    have none, and with what instances, tables, classes and default arguments hold (those written
    `here`), and those that are `in_use`, in which a call has put what stands for it. In a script
    (`own`) also those in which a function may be put.
    """
    waiting: list[tuple[str | None, Any, int]] = [(label, value, 0) for label, value in named]
    seen: dict[int, Any] = {}  # the objects themselves, so that no other takes its address
    while waiting and len(seen) < ALL:
        label, value, deep = waiting.pop()
        kind = type(value)
        inside: list[tuple[Any, Any]]
        if kind in _DATA or id(value) in seen:
            continue
        if kind is types.FunctionType:
            if not (value.__defaults__ or value.__kwdefaults__) or not here(str(value.__module__)):
                continue
            inside = [*zip(_last_parameters(value), value.__defaults__ or (), strict=False)]
            inside += (value.__kwdefaults__ or {}).items()
        elif issubclass(kind, type):
            if not here(str(type.__getattribute__(value, "__module__"))):
                continue
            inside = [*vars(value).items()]
        else:
            held = value
            if kind is not dict:
                if not owns(str(kind.__module__)):
                    continue
                held, label = _dictionary(value), None
            if type(held) is not dict or len(held) > MOST:
                continue
            inside = [*held.items()]
            parts = [part for _, part in inside]
            if in_use(held) or any(map(_is_replaced, parts)):
                yield label, held
            elif own == "__main__" and deep == 0 and (not parts or _any_called(parts)):
                yield label, held  # a registry, in which an entry may be put or exchanged
        seen[id(value)] = value
        if deep < DEEP:
            for name, part in inside:
                if type(part) not in _DATA:
                    waiting.append((name if isinstance(name, str) else label, part, deep + 1))


def _is_replaced(part: Any) -> bool:
    return id(part) in NUMBERS or replacement(part) is not None


def _any_called(parts: list[Any]) -> bool:
    return any(isinstance(part, _CALLED) for part in parts)


_DATA = frozenset((
    int, float, complex, bool, str, bytes, list, tuple, set, frozenset, type(None), np.ndarray,
    property, staticmethod, classmethod, types.ModuleType, types.BuiltinFunctionType, np.ufunc,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType,
))  # fmt: skip


def _last_parameters(function: types.FunctionType) -> tuple[str, ...]:
    count = function.__code__.co_argcount
    return function.__code__.co_varnames[count - len(function.__defaults__ or ()) : count]


def slots_of(value: Any, module: Any) -> Iterator[tuple[Any, Any, Any]]:
    """What stands in the slots of an instance of a module's own class, to replace: as places."""
    kind = type(value)
    if kind in _DATA or kind.__module__ != module:
        return
    for base in kind.__mro__:
        for slot in list(vars(base).values()):
            if isinstance(slot, _PLACED):
                try:
                    held = slot.__get__(value)
                except AttributeError:
                    continue
                new = NUMBERS.get(id(held)) or replacement(held)
                if new is not None:
                    yield functools.partial(slot.__set__, value), held, new


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
