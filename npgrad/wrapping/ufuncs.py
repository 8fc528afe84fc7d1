"""Ufuncs that a module hands lists of recorded numbers: ``np.exp([a, b])``.

Each call through a stand-in costs as much as a ufunc of a number, so only those get one that a
module's code calls with a list written on the spot; a list in a variable is refused.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from npgrad.wrapping.builtin_names import nested
from npgrad.wrapping.lists import listed

METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
NAMED = {name: value for name, value in vars(np).items() if isinstance(value, np.ufunc)}


class OfLists:
    """A ufunc that takes lists of recorded numbers for arrays; it is the ufunc in every answer."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self._call = listed(ufunc)
        for method in METHODS:
            setattr(self, method, listed(getattr(ufunc, method)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The ufunc, of arrays in place of lists of recorded numbers."""
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(np.exp, np.ufunc)
        return np.ufunc

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._ufunc

    def __hash__(self) -> int:
        return hash(self._ufunc)

    def __repr__(self) -> str:
        return repr(self._ufunc)

    def __reduce__(self) -> Any:
        return _of_name, (self._ufunc.__name__,)


def _of_name(name: str) -> Any:
    return NAMED[name]


@functools.cache
def of_lists(ufunc: Any) -> OfLists:
    """The one stand-in of a ufunc."""
    return OfLists(ufunc)


def given_lists(codes: Iterable[types.CodeType]) -> frozenset[Any]:
    """The ufuncs that `codes` call with a list among their arguments: a display or what it makes.

    A call stands in the source from the ufunc's name to its closing bracket; a list made in between
    counts as an argument. A ufunc named where ``is`` stands, as in ``f is np.exp``, is kept.
    """
    found: set[Any] = set()
    kept: set[Any] = set()
    for outer in codes:
        for code in nested(outer):
            names = NAMED.keys() & set(code.co_names)
            if names:
                steps = list(dis.get_instructions(code))
                found.update(_with_lists(steps))
                if any(step.opname == "IS_OP" for step in steps):
                    kept.update(NAMED[name] for name in names)
    return frozenset(found - kept)


_MAKE_LISTS = ("BUILD_LIST", "BUILD_TUPLE", "MAKE_FUNCTION")  # the last: ``[v for v in x]``


def _with_lists(steps: list[dis.Instruction]) -> Iterable[Any]:
    places = [s.positions for s in steps if s.opname in _MAKE_LISTS]
    lists = [(p.lineno, p.col_offset) for p in places if p is not None]
    calls = [s.positions for s in steps if s.opname.startswith("CALL")] if lists else []
    for step in steps if lists else ():
        where = step.positions
        if where is None or not step.opname.startswith("LOAD_") or step.argval not in NAMED:
            continue
        start = (where.lineno, where.col_offset)
        for call in calls:
            if call is None or (call.lineno, call.col_offset) != start:
                continue
            end = (call.end_lineno, call.end_col_offset)
            if any(start < place < end for place in lists):
                yield NAMED[step.argval]
