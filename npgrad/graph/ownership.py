"""Who else refers to an array's memory: reference counts, and the ``base`` of views."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import backend

Array = Any


def is_view(result: Array, array: Array) -> bool:
    """Whether `result` shares the memory of `array`, as a reshape can."""
    base = getattr(result, "base", None)
    while base is not None and not backend.is_array(base):
        base = getattr(base, "base", None)  # as_strided puts a holder of the array in between
    return base is not None and (base is array or base is getattr(array, "base", None))


class _Owner:
    """Stands for an owner whose array nobody else refers to."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array = object()


def _references(owner: Any) -> int:
    return sys.getrefcount(owner.array)


# What the count reads for an object with exactly one owner: it differs between Python versions.
_ALONE = _references(_Owner())


def exclusive(owner: Any) -> bool:
    """Whether ``owner.array`` owns its memory and nobody but `owner` refers to it."""
    if _references(owner) > _ALONE or getattr(owner.array, "base", None) is not None:
        return False
    flags = getattr(owner.array, "flags", None)
    return bool(getattr(flags, "writeable", True))


def sole_view(array: np.ndarray[Any, Any]) -> bool:
    """Whether `array` owns its memory, or is the only reference to the array that does.

    A rule that ends in a reshape, a transpose or a ``view`` of a fresh buffer returns such a one.
    """
    base = array.base
    if base is None:
        return True
    return (
        type(base) is np.ndarray
        and base.base is None
        and sys.getrefcount(base) <= _SOLE
        and not backend.repeats(array)
    )


def _count_of_sole() -> int:
    """What the count reads there for the base of an only view."""
    view = np.zeros(2).reshape(2, 1)
    base = view.base
    return sys.getrefcount(base)


_SOLE = _count_of_sole()
