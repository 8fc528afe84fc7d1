"""``isinstance(x, Union[int, float])`` of a recorded number, in wrapped code.

A union of `typing` asks for the type of what it is given, and a recorded number's is GradArray;
``int | float`` asks what it says it is. So a union stands for the other where a function hands one
to ``isinstance``. From Python 3.14 on they are the same.
"""

from __future__ import annotations

import functools
import numbers
import operator
import types
import typing
from collections.abc import Iterable
from typing import Any

import numpy as np

from npgrad.graph.modes import WRAPPED
from npgrad.wrapping.builtin_names import nested

_UNION: Any = type(typing.Union.__getitem__((int, str)))
_NUMERIC = (numbers.Number, np.generic, np.ndarray)


def asking(union: Any) -> Any:
    """``int | float`` for ``Union[int, float]``; None for what says nothing of numbers."""
    if type(union) is not _UNION:
        return None
    kinds = union.__args__
    if not all(isinstance(kind, type) for kind in kinds):
        return None
    numeric = any(issubclass(kind, _NUMERIC) for kind in kinds)
    return functools.reduce(operator.or_, kinds) if numeric else None


class _Maker:
    """``Union`` or ``Optional``, where a function writes ``Union[int, float]``."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getitem__(self, kinds: Any) -> Any:
        made = self.original[kinds]
        new = asking(made) if WRAPPED.get() else None
        return made if new is None else new


class _Typing:
    """The module `typing` with these two."""

    Union, Optional = _Maker(typing.Union), _Maker(typing.Optional)

    def __getattr__(self, name: str) -> Any:
        return getattr(typing, name)


TYPING = _Typing()


def _standing(value: Any) -> Any:
    if value is typing:
        return TYPING
    if value is typing.Union or value is typing.Optional:
        return TYPING.Union if value is typing.Union else TYPING.Optional
    return asking(value)


def unions_in(space: dict[str, Any], codes: Iterable[types.CodeType]) -> list[tuple[str, Any, Any]]:
    """The names of unions that `codes` say beside ``isinstance``, and what stands for them."""
    if _UNION is types.UnionType:
        return []
    found: dict[str, tuple[str, Any, Any]] = {}
    for outer in codes:
        for code in nested(outer):
            if "isinstance" not in code.co_names:
                continue
            for name in code.co_names:
                if name in space and (new := _standing(space[name])) is not None:
                    found[name] = (name, space[name], new)
    return list(found.values())
