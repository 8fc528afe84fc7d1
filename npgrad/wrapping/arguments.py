"""Plain arrays that the caller passes to a wrapped function and that the function writes into.

``fill(x, buffer)`` with ``buffer[i] = x[i]`` inside: the function is given a recording copy of the
buffer, and what it holds in the end is written back as plain numbers, as the caller expects. Which
parameters those are is read off the code (`writes`). An array given twice is one copy; one whose
memory the function can reach by yet another name stays plain, and a recorded write into it raises.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from npgrad.graph.array import GradArray, plain
from npgrad.graph.handles import leaf_node
from npgrad.transforms.reach import overlap, reachable, refuse
from npgrad.wrapping.writes import parameters_of, written

CONTAINERS = (list, tuple, dict)


class Targets(NamedTuple):
    """The parameters that a function writes into, by the positions of a call's arguments."""

    named: tuple[tuple[int, str, Any], ...]  # with their defaults
    rest: int | None  # the position of ``*args``
    known: frozenset[str] | None  # the parameters beside ``**kwargs``
    attributes: tuple[str, ...]  # of the object that a method is one of

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        """The values of a call that are written into, with the names of their parameters."""
        found = []
        for i, name, default in self.named:
            found.append((name, args[i] if i < len(args) else kwargs.get(name, default)))
        if self.rest is not None:
            found += [("*args", value) for value in args[self.rest :]]
        if self.known is not None:
            found += [(name, v) for name, v in kwargs.items() if name not in self.known]
        return found


def targets_of(f: Any) -> Targets | None:
    """What `f` writes into; None for nothing."""
    first, owner = 0, None
    if type(f) is types.MethodType:
        first, owner, f = 1, type(f.__self__), f.__func__
    if type(f) is not types.FunctionType or not (names := written(f, owner)):
        return None
    code, parameters = f.__code__, parameters_of(f.__code__)
    count = code.co_argcount + code.co_kwonlyargcount
    defaults = {**_defaults(f), **(f.__kwdefaults__ or {})}
    named = [
        (i - first if i < code.co_argcount else sys.maxsize, name, defaults.get(name))
        for i, name in enumerate(parameters[:count])
        if name in names and i >= first
    ]
    rest = known = None
    if code.co_flags & inspect.CO_VARARGS and parameters[count] in names:
        rest = max(code.co_argcount - first, 0)
    if code.co_flags & inspect.CO_VARKEYWORDS and parameters[-1] in names:
        known = frozenset(parameters[code.co_posonlyargcount : count])
    own = [name.partition(".")[2] for name in names if "." in name] if first else ()
    return Targets(tuple(named), rest, known, tuple(own))


def _defaults(f: types.FunctionType) -> dict[str, Any]:
    """The defaults of the parameters that can be given by name."""
    code, values = f.__code__, f.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(values) :]
    nameless = code.co_varnames[: code.co_posonlyargcount]
    return {n: v for n, v in zip(names, values, strict=True) if n not in nameless}


def _is_buffer(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "fc" and value.flags.writeable


def _parts(value: Any) -> Iterable[Any]:
    """The entries of a container; what is none by itself."""
    if type(value) not in CONTAINERS:
        return (value,)
    return list(value.values()) if type(value) is dict else value


def _recording_copies(
    f: Any, written: list[tuple[str, Any]], given: list[Any], made: dict[int, GradArray]
) -> list[tuple[Any, GradArray]]:
    """Each plain array of `written` that `f` knows by no other name, and its recording copy."""
    candidates = {id(value): (name, value) for name, value in written}
    search, more = _without_defaults(f)
    arrays = reachable(search, [v for v in (*given, *more) if id(v) not in candidates])
    if arrays is None:
        return []
    again = {id(array) for array in arrays}
    known = [*arrays, *(value for _, value in candidates.values())]
    pairs = []
    for name, value in candidates.values():
        shared = [
            other
            for other in known
            if (other is not value or id(value) in again) and overlap(other, value)
        ]
        if any(type(a) is GradArray and leaf_node(a) is not None for a in shared):
            refuse(repr(name))
        if not shared:
            copy = made.get(id(value))
            pairs.append((value, GradArray(value.copy("K"), None) if copy is None else copy))
    return pairs


class _Attributes:
    """Buffers that stand in the object that a method is one of, exchanged while it runs."""

    def __init__(self, f: Any, names: tuple[str, ...]) -> None:
        self.space: Any = getattr(f.__self__, "__dict__", {}) if names else {}
        held = {name: self.space.get(name) for name in names}
        self.plain: dict[str, Any] = {name: v for name, v in held.items() if _is_buffer(v)}
        self.made = {id(v): GradArray(v.copy("K"), None) for v in self.plain.values()}

    def enter(self) -> None:
        """Put recording copies in place of the plain arrays."""
        self.space.update({name: self.made[id(v)] for name, v in self.plain.items()})

    def keep(self, pairs: list[tuple[Any, GradArray]]) -> None:
        """Exchange those alone that are among `pairs`."""
        wanted = {id(array) for array, _ in pairs}
        for name, value in self.plain.items():
            if id(value) not in wanted:
                self._put_back(name)

    def back(self) -> None:
        """All as before, except for what the method has set anew."""
        for name in self.plain:
            self._put_back(name)

    def _put_back(self, name: str) -> None:
        if self.space.get(name) is self.made[id(self.plain[name])]:
            self.space[name] = self.plain[name]


def _without_defaults(f: Any) -> tuple[Any, list[Any]]:
    """`f` without the defaults of its parameters, which are those of a call; and the defaults."""
    more: list[Any] = []
    if type(f) is types.MethodType:
        f, more = f.__func__, [f.__self__]
    more += (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    search = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__)
    search.__module__ = f.__module__
    search.__dict__.update(f.__dict__)
    return search, more


class _Handed:
    """What a function is given in place of the caller's arrays, alone or in containers."""

    def __init__(self, pairs: list[tuple[Any, GradArray]]) -> None:
        self.pairs = pairs
        self.made = {id(array): copy for array, copy in pairs}
        self.containers: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        """What stands for `value`."""
        if type(value) not in CONTAINERS or self.made.keys().isdisjoint(map(id, _parts(value))):
            return self.made.get(id(value), value)
        if id(value) not in self.containers:
            if type(value) is dict:
                new: Any = {key: self.made.get(id(part), part) for key, part in value.items()}
            else:
                new = type(value)([self.made.get(id(part), part) for part in value])
            self.containers[id(value)] = value, new
        return self.containers[id(value)][1]

    def back(self) -> None:
        """Fill the caller's arrays, and change containers as the function did."""
        arrays = {id(copy): array for array, copy in self.pairs}
        for array, copy in self.pairs:
            array[...] = plain(copy)
        for old, new in self.containers.values():
            if type(old) is list:
                old[:] = [arrays.get(id(part), part) for part in new]
            elif type(old) is dict:
                left = {key: arrays.get(id(part), part) for key, part in new.items()}
                for key in [key for key in old if key not in left]:
                    del old[key]
                old.update(left)


def filling(f: Any, targets: Targets, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``f(*args, **kwargs)`` with recording copies of the plain arrays that `f` writes into."""
    values = targets.of(args, kwargs)
    written = [(name, part) for name, v in values for part in _parts(v) if _is_buffer(part)]
    own = _Attributes(f, targets.attributes)
    if not (written or own.plain):
        return f(*args, **kwargs)
    entered = {id(value) for _, value in values}
    given: list[Any] = []
    for value in (*args, *kwargs.values()):
        given += _parts(value) if id(value) in entered else (value,)
    handed = _Handed([])
    try:
        own.enter()
        mine = [(f"self.{name}", value) for name, value in own.plain.items()]
        handed = _Handed(_recording_copies(f, written + mine, given, own.made))
        own.keep(handed.pairs)
        filled = [handed(value) if id(value) in entered else value for value in args]
        named = {n: handed(v) if id(v) in entered else v for n, v in kwargs.items()}
        for i, name, default in targets.named:
            if i >= len(args) and name not in kwargs and (new := handed(default)) is not default:
                named[name] = new
        return f(*filled, **named)
    finally:
        own.back()
        handed.back()
