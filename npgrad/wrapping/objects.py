"""Objects of a program's own classes in what `needs` reads: ``model.loss(w)``.

A method is a function whose first argument is an object. What code can reach through that one is
what its class has under the names that the code says, what stands in the object under them, and the
methods that Python calls for operators, brackets and calls. If all of that is functions that can be
read, arrays and numbers, then the object leads nowhere else.
"""

from __future__ import annotations

import abc
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.said import words

Space = Any  # a class's dictionary, which can be read only
# Called when objects are made, compared as classes, copied or pickled; and generated code.
_NEVER = words("""
    __annotate__ __class_getitem__ __copy__ __deepcopy__ __del__ __dir__ __getnewargs__
    __getnewargs_ex__ __getstate__ __init__ __init_subclass__ __instancecheck__ __new__
    __post_init__ __prepare__ __reduce__ __reduce_ex__ __set_name__ __setstate__ __sizeof__
    __subclasscheck__ __subclasshook__
""")
_TEXT = frozenset(("__repr__", "__str__", "__format__"))
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_METACLASSES = (type, abc.ABCMeta)


def of_class(value: Any) -> bool:
    """Whether `value` is an object of a class that was written in Python, and no container."""
    kind = type(value)
    return (
        type(kind) in _METACLASSES
        and all(
            "__module__" in vars(base) and base.__flags__ & 1 << 9  # Py_TPFLAGS_HEAPTYPE
            for base in kind.__mro__[:-1]
        )
    )


def functions_under(kind: type, said: set[str], text: bool) -> Iterator[Any]:
    """What a class has under names that are `said`, or called by Python: functions, and data."""
    for base in kind.__mro__[:-1]:
        generated = "__dataclass_fields__" in vars(base)
        for name, held in list(vars(base).items()):
            if name.startswith("__") and name.endswith("__"):
                if name in _NEVER or not callable(held) or (name in _TEXT and not text):
                    continue
                code = getattr(held, "__code__", None)
                if generated and code is not None and code.co_filename == "<string>":
                    continue  # a dataclass compares its fields
            elif name not in said:
                continue
            if isinstance(held, property):
                yield from (part for part in (held.fget, held.fset) if part is not None)
            elif isinstance(held, staticmethod):
                yield held.__func__
            elif not isinstance(held, _SLOTS):
                yield held


def attributes(value: Any, slots: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What stands in an object."""
    held = getattr(value, "__dict__", None)
    if held:
        yield from held.items()
    for name in slots:
        yield name, getattr(value, name, None)


class Class:
    """A class, as it was read."""

    __slots__ = ("_read", "slots")

    def __init__(self, kind: type) -> None:
        bases = kind.__mro__[:-1]
        self._read = [(vars(base), list(vars(base).values())) for base in bases]
        self.slots = tuple(
            name
            for base in bases
            for name, held in vars(base).items()
            if isinstance(held, types.MemberDescriptorType)
        )

    def holds(self) -> bool:
        """Whether nothing was put into it since, or into a class that it is derived from."""
        for space, values in self._read:
            if len(space) != len(values) or not all(map(operator.is_, space.values(), values)):
                return False
        return True


Kinds = dict[type, Class]


class Look:
    """One look at what a call is given: whether containers, or GradArrays, were among it."""

    __slots__ = ("_kinds", "_left", "_plain", "_said", "containers", "recorded")

    def __init__(self, kinds: Kinds, said: Any, plain: frozenset[type], most: int) -> None:
        self._kinds, self._said, self._plain, self._left = kinds, said, plain, most
        self.containers = self.recorded = False

    def closed(self, value: Any) -> bool:
        """Whether `value` leads to nothing but arrays, numbers, text and classes that are known."""
        kind = type(value)
        if kind is GradArray:
            self.recorded = True
        if kind in self._plain:
            return True
        if kind is np.ndarray:
            return not value.dtype.hasobject
        if kind is list or kind is tuple or kind is dict:
            self.containers = True
            parts = value.values() if kind is dict else value
            self._left -= len(parts)
            return self._left >= 0 and all(map(self.closed, parts))
        known = self._kinds.get(kind)
        if known is None or self._left <= 0:
            return False
        self._left -= 1
        said = self._said
        held = attributes(value, known.slots)
        return all(name not in said or self.closed(part) for name, part in held)
