"""Tables whose keys or entries are NumPy's functions: ``RULES[np.sum]``, ``np.mean in KNOWN``.

They are looked up by what stands for the function, which has to equal it then. A call of such a
stand-in costs 0.03 microseconds more, with keywords 0.1; so a function has one from when a table
is found that names it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

MOST = 1000  # entries looked at: larger tables hold data
_TABLES = (dict, list, tuple, set, frozenset)


class Equal(staticmethod):  # type: ignore[type-arg]  # the fastest callable that can be derived from
    """A stand-in that equals, hashes and is pickled as its original."""

    _original: Any

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """In a class: a method if the original is one."""
        if instance is None or not hasattr(self._original, "__get__"):
            return self
        return types.MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __repr__(self) -> str:
        return repr(self._original)

    def __deepcopy__(self, memo: Any) -> Equal:
        return self

    def __reduce__(self) -> Any:
        return _itself, (self._original,)


def equal(call: Any, original: Any) -> Equal:
    """`call` as a stand-in that answers as `original`."""
    made = Equal(call)
    made._original = original
    return made


def _itself(original: Any) -> Any:
    return original


def functions_in(space: dict[str, Any], known: dict[int, Any]) -> Iterator[Any]:
    """The functions among `known`, by identity, that tables of a namespace hold."""
    for value in list(space.values()):
        for held in (value, *_within(value, space.get("__name__"))):
            if type(held) in _TABLES and len(held) <= MOST and held is not space:
                for part in _parts(held):
                    if id(part) in known and not isinstance(part, (type, types.ModuleType)):
                        yield part


def _within(value: Any, module: Any) -> list[Any]:
    """What a class of the module, or a function's default arguments, hold."""
    if type(value) is types.FunctionType:
        return [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, type) and type.__getattribute__(value, "__module__") == module:
        return list(vars(value).values())
    return []


def _parts(table: Any) -> Iterator[Any]:
    for part in list(table):
        if type(part) is tuple:
            yield from part
        else:
            yield part
