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
from npgrad.wrapping.builtin_names import SHADOWS, asks_identity
from npgrad.wrapping.holders import dictionaries_of
from npgrad.wrapping.patch import LOCK, Patch, look_at, patch_of
from npgrad.wrapping.places import content, functions_of, is_own, places_in
from npgrad.wrapping.plan import code_of
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
    """Places in the functions behind a function: its own, and those in its closure."""

    def __init__(self, f: Any) -> None:
        super().__init__({}, [])
        _meet_scipy()
        module = getattr(f, "__module__", None)
        self.functions = [each for each in functions_of(f, module) if not is_own(each)]
        self.held: list[Any] = []
        self.tables: list[Patch] = []
        self._find(self._now())

    def _now(self) -> list[Any]:
        """What the functions hold: a closure's variable may be bound anew between two calls."""
        found: list[Any] = []
        for function in self.functions:
            found += map(content, function.__closure__ or ())
            found += function.__defaults__ or ()
            found += (function.__kwdefaults__ or {}).values()
        return found

    def _find(self, held: list[Any]) -> None:
        self.held = held
        self.places = [place for function in self.functions for place in places_in(function)]
        space = {str(i): v for i, v in enumerate(held) if type(v) is dict}
        asked = any(asks_identity(function.__code__) for function in self.functions)
        self.tables = []
        for label, table in dictionaries_of(space):
            self.tables.append(patch_of(table))
            self.tables[-1].asked_by(frozenset(space) if asked else frozenset(), label)
        look_at(self.tables)

    def enter(self, opened: list[Patch]) -> None:
        """Put everything in place for one more call."""
        if not self.functions:
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


def own(f: Any) -> Own | None:
    """What `f` holds; None if nothing can be replaced in it."""
    function = code_of(f)
    if type(function) is types.FunctionType and not (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__
    ):
        return None
    made = Own(function)
    return made if made.held else None


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
