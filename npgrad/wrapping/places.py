"""What of a function or a class holds names to replace: closures, defaults, attributes."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from npgrad.wrapping.builtin_names import SHADOWS, asks_identity
from npgrad.wrapping.stand_ins import replacement

Place = tuple[Callable[[Any], None], Any, Any]  # how to set it, what it is, what it is to be


def written_in(value: Any) -> Any:
    """The module that a value names as its own."""
    try:
        return getattr(value, "__module__", None)
    except Exception:  # what stands for a package that is not installed may raise anything
        return None


def functions_of(value: Any, module: Any) -> Iterator[types.FunctionType]:
    """The Python functions behind a name: itself, what it decorates, a class's methods."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            if value.__module__ == module:
                stack.extend(vars(value).values())
            continue
        if isinstance(value, (classmethod, staticmethod)):
            stack.append(value.__func__)
        elif isinstance(value, property):
            stack.extend(part for part in (value.fget, value.fset) if part is not None)
        elif isinstance(value, functools.cached_property):
            stack.append(value.func)
        elif type(value) is types.FunctionType:
            yield value
            held = [content(cell) for cell in value.__closure__ or ()]
            stack.extend(h for h in held if type(h) is types.FunctionType)
            if hasattr(value, "__wrapped__"):
                stack.append(value.__wrapped__)
        else:  # an instance or a table that holds functions, a decorator's object
            held = _held(value)
            stack.extend(
                h for h in held if type(h) is types.FunctionType and h.__module__ == module
            )


def _held(value: Any) -> list[Any]:
    """What an instance or a dictionary holds."""
    if type(value) is dict:
        return list(value.values()) if len(value) <= MOST else []
    try:
        return [*vars(value).values()]
    except Exception:  # it has no attributes, or raises whatever is asked of it
        return []


MOST = 1000  # entries looked at: larger dictionaries hold data


def is_own(function: types.FunctionType) -> bool:
    """Whether `function` was written in npgrad: a stand-in, whose closure holds what it stands for.

    Its ``__module__`` may be that of what it stands for.
    """
    return str(function.__globals__.get("__name__")).partition(".")[0] == "npgrad"


def content(cell: Any) -> Any:
    """What a closure's cell holds; None while it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _standing(value: Any, code: types.CodeType) -> Any:
    """What stands for `value` where `code` uses it as a variable; `value` itself for nothing."""
    new = _NUMBERS.get(id(value))
    new = replacement(value) if new is None else new
    if new is None or (isinstance(value, type) and asks_identity(code)):
        return value
    return new


# `float` under another name; the name itself is met in the namespace.
_NUMBERS = {id(kind): SHADOWS[kind.__name__] for kind in (float, complex)}


def cells_of(function: types.FunctionType) -> Iterator[Place]:
    """The cells of a closure that hold something to replace."""
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        old = content(cell)
        new = _standing(old, function.__code__)
        if new is not old and name != "__class__":  # by which ``super()`` knows its class
            yield functools.partial(setattr, cell, "cell_contents"), old, new


def places_in(function: types.FunctionType) -> Iterator[Place]:
    """The closure's cells and defaults of `function` that hold something to replace."""
    yield from cells_of(function)
    code = function.__code__
    defaults = function.__defaults__ or ()
    changed = tuple([_standing(value, code) for value in defaults])
    if any(map(operator.is_not, changed, defaults)):
        yield functools.partial(setattr, function, "__defaults__"), defaults, changed
    named = function.__kwdefaults__ or {}
    renamed = {name: _standing(value, code) for name, value in named.items()}
    if any(renamed[name] is not value for name, value in named.items()):
        yield functools.partial(setattr, function, "__kwdefaults__"), named, renamed
