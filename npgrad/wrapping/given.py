"""What the function that is wrapped holds itself: closure, defaults, a partial's arguments, tables.

No name need lead to a function that is given to `wrap` or `grad`, as none leads to a lambda. What
it is called with is met here as well: ``loss(x, math.sqrt)``.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.builtin_names import SHADOWS, asks_identity, names_asked
from npgrad.wrapping.holders import attributes_of, held_by, slots_of
from npgrad.wrapping.needs import PLAIN
from npgrad.wrapping.patch import LOCK, Patch, in_use, look_at, patch_of
from npgrad.wrapping.places import content, functions_of, is_own, places_in
from npgrad.wrapping.plan import Plan, code_of
from npgrad.wrapping.stand_ins import REGISTERED, meet_scipy, replacement

TAKEN = (types.BuiltinFunctionType, types.ModuleType, types.FunctionType, functools.partial)


_met = 0  # how many modules were loaded when SciPy's chapters were last looked for


def _meet_scipy() -> None:
    """Have stand-ins of SciPy's functions ready, which a closure may hold."""
    global _met
    if len(sys.modules) != _met:
        _met = len(sys.modules)
        meet_scipy()


class Own(Patch):
    """Places in the functions behind a function: its own, and those in its closure.

    With the tables that these hold, and what stands in objects of the program's own that they
    hold, that the function is a method of, or that it is called with.
    """

    def __init__(self, f: Any, plan: Plan) -> None:
        super().__init__({}, [])
        self.plan = plan
        self.owner = (f.__self__,) if type(f) is types.MethodType else ()
        given = (*f.args, *f.keywords.values()) if type(f) is functools.partial else ()
        functions = [code_of(f), *(value for value in given if type(value) is types.FunctionType)]
        self.functions = [
            each
            for function in functions
            for each in functions_of(function, getattr(function, "__module__", None))
            if not is_own(each)
        ]
        codes = [each.__code__ for each in self.functions if asks_identity(each.__code__)]
        self.names = names_asked(codes)
        self.held: list[Any] = []  # nothing was looked at yet
        self.tables: list[Patch] = []

    def _now(self) -> list[Any]:
        """What the functions hold: a closure's variable may be bound anew between two calls."""
        found: list[Any] = [*self.owner]
        for function in self.functions:
            found += map(content, function.__closure__ or ())
            found += function.__defaults__ or ()
            found += (function.__kwdefaults__ or {}).values()
        return found

    def _find(self, held: list[Any]) -> None:
        _meet_scipy()
        self.held = held
        self.places = [place for function in self.functions for place in places_in(function)]
        for value in held:
            kind = value if isinstance(value, type) else type(value)
            if _may_hold(kind) and self.plan.covers(kind.__module__):
                self.places += slots_of(value, kind.__module__)
                if "<locals>" in kind.__qualname__:  # no name of a module leads to it
                    self.places += attributes_of(kind, self.names)
        self.tables = self._tables(held)

    def _tables(self, held: Iterable[Any]) -> list[Patch]:
        """The dictionaries behind what is held; where code asks for identity, their types stay."""
        asked = self.names | {"?"} if self.names else self.names  # a variable goes by any name
        found = []
        covers, named = self.plan.covers, [("?", value) for value in held]
        for label, table in held_by(named, in_use, covers, covers):
            found.append(patch_of(table))
            found[-1].asked_by(asked, label)
        look_at(found)
        return found

    def enter(self, opened: list[Patch], args: Iterable[Any]) -> None:
        """Put everything in place for one more call."""
        objects = [value for value in args if _may_hold(type(value))]
        if not (self.functions or self.owner or objects):
            return
        with LOCK:
            if not self.users:
                now = self._now()
                same = len(now) == len(self.held) and all(map(operator.is_, now, self.held))
                if not same:
                    self._find(now)
                look_at(self.tables)
            if self.places:
                self.open(opened)
            for table in self.tables:
                table.open(opened)
            for table in self._tables(objects) if objects else ():
                table.open(opened)


def _may_hold(kind: type) -> bool:
    """Whether instances of a class that was written in Python may hold functions."""
    return kind not in PLAIN and bool(kind.__flags__ & 1 << 9)  # Py_TPFLAGS_HEAPTYPE


def standing(value: Any) -> Any:
    """What stands for a function or a module among a call's arguments; a type may be a dtype."""
    new = replacement(value) if isinstance(value, TAKEN) else None
    return value if new is None else new


def itself(f: Any) -> Any:
    """What stands for a function that is given to `wrap` or `grad`, and is not looked into."""
    kind = type(f)
    if f is float or f is complex:
        return SHADOWS[f.__name__]
    if kind is types.BuiltinFunctionType and type(f.__self__) is np.ndarray:
        return functools.partial(_method, f.__self__, f.__name__)
    if kind.__module__.startswith("numpy.polynomial."):
        return functools.partial(_of_object, f)
    home = str(getattr(f, "__module__", None)).partition(".")[0]
    if kind in (np.vectorize, np.ufunc) or (kind in _FUNCTIONS and home in _COMPILED):
        _meet_scipy()
        new = replacement(f) if id(f) not in REGISTERED else None
        for name in ("pyfunc", "_func") if new is not None else ():
            if name in vars(new):
                setattr(new, name, itself(vars(new)[name]))
        return f if new is None else new
    return f


_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType)
_COMPILED = ("math", "cmath", "scipy")


def _method(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method of a plain array, called as that of a constant."""
    return getattr(GradArray(array, None), name)(*args, **kwargs)


def _of_object(f: Any, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def partial_of(f: Any) -> Any:
    """`f`, or the same partial function of what stands for its arguments."""
    if type(f) is not functools.partial:
        return f
    args = tuple(map(standing, f.args))
    named = {name: standing(value) for name, value in f.keywords.items()}
    return functools.partial(f.func, *args, **named) if _changed(f, args, named) else f


def _changed(f: Any, args: Iterable[Any], named: dict[str, Any]) -> bool:
    return any(map(operator.is_not, args, f.args)) or any(
        named[name] is not value for name, value in f.keywords.items()
    )
