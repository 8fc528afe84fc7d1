"""A sample's call as somebody with device arrays would have written it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

MAKERS = (
    "arange", "array", "asarray", "empty", "eye", "full", "identity", "linspace", "ones", "tri",
    "zeros",
)  # fmt: skip


class Namespace:
    """NumPy, with makers that make arrays of another library."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put

    def _made(self, value: Any) -> Any:
        return self._put(value) if type(value) is np.ndarray else value

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name in MAKERS:
            return lambda *args, **kwargs: self._made(found(*args, **kwargs))
        return found


def moved(value: Any, put: Callable[[Any], Any], done: dict[int, Any] | None = None) -> Any:
    """`value` with every constant array in it, also those that a function refers to, put there."""
    done = {} if done is None else done
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, np.ndarray):
        return put(value)
    if value is np:
        return Namespace(put)
    if type(value) in (list, tuple):
        return type(value)(moved(item, put, done) for item in value)
    if type(value) is dict:
        return {key: moved(item, put, done) for key, item in value.items()}
    if isinstance(value, types.FunctionType) and value.__module__.startswith("tests."):
        names = value.__code__.co_names
        space = {**value.__globals__}
        done[id(value)] = value  # a function that refers to itself goes on with the host's
        for inner in (c for c in value.__code__.co_consts if isinstance(c, types.CodeType)):
            names = (*names, *inner.co_names)
        for name in names:
            if name in space:
                space[name] = moved(space[name], put, done)
        cells = tuple(
            types.CellType(moved(cell.cell_contents, put, done)) for cell in value.__closure__ or ()
        )
        defaults = moved(value.__defaults__, put, done)
        made = types.FunctionType(value.__code__, space, value.__name__, defaults, cells or None)
        made.__kwdefaults__ = moved(value.__kwdefaults__, put, done)
        done[id(value)] = made
        return made
    return value
