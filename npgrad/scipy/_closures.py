"""Whether a function of the user's has recorded values within reach that are no arguments."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from ._declare import varies

DEPTH = 4  # functions that call functions: so far down
FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def uses_recorded(function: Any, depth: int = DEPTH) -> bool:
    """Whether a recorded value is in its closure, defaults, globals or object, or its callees'."""
    return any(
        varies(value)
        or (depth > 0 and isinstance(value, FUNCTIONS) and uses_recorded(value, depth - 1))
        for value in _within(function)
    )


def _within(function: Any) -> Iterator[Any]:
    """What the function can name."""
    if isinstance(function, functools.partial):
        yield from (function.func, list(function.args), function.keywords)
    elif isinstance(function, types.MethodType):
        yield function.__func__
        yield from getattr(function.__self__, "__dict__", {}).values()
    elif isinstance(function, types.FunctionType):
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        yield list(function.__defaults__ or ())
        yield function.__kwdefaults__ or {}
        for name in function.__code__.co_names:
            if name in function.__globals__:
                yield function.__globals__[name]
    else:
        yield getattr(type(function), "__call__", None)  # noqa: B004 -- an object that is called
        yield from getattr(function, "__dict__", {}).values()
