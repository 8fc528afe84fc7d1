"""Which names of which modules stand for array makers: planned once, remembered by package.

Names are replaced in the modules that use them; the numpy module itself is never touched (a
replaced ``np.empty`` there crashes ``numpy.random``).
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from npgrad.wrapping.makers import MAKERS, MATH, recording_numpy

# Never looked into: npgrad's own modules, what NumPy is made of, and what must see plain arrays.
OWN = frozenset({"npgrad", "numpy", "numba", "llvmlite", "builtins", "math", "pytest", "_pytest"})
Entry = tuple[dict[str, Any], str, Any, Any]


@functools.cache
def _numpy() -> Any:
    return recording_numpy()


def _replacement(value: Any) -> Any:
    """What stands for `value` in wrapped code, or None."""
    if value is np:
        return _numpy()
    if value is math:
        return MATH
    return _BY_ORIGINAL.get(id(value))


_BY_ORIGINAL = {id(getattr(np, name)): maker for name, maker in MAKERS.items()}


class Plan:
    """The names to replace for some packages, and who uses them right now."""

    def __init__(self, packages: frozenset[str], space: dict[str, Any] | None = None) -> None:
        self.packages = packages
        self.space = space  # the function's own globals, which need not be a module's
        self.names = 0  # how many it held when the plan was made
        self.modules = 0  # how many were loaded when the plan was made
        self.entries: list[Entry] = []
        self.users = 0
        self.lock = threading.Lock()

    def refresh(self) -> None:
        """Look again if modules were imported, or names bound, since."""
        names = 0 if self.space is None else len(self.space)
        if self.modules == len(sys.modules) and self.names == names:
            return
        self.modules, self.names = len(sys.modules), names
        known = {(id(space), name) for space, name, _, _ in self.entries}
        spaces = [
            module.__dict__
            for module_name, module in list(sys.modules.items())
            if module_name.partition(".")[0] in self.packages and hasattr(module, "__dict__")
        ]
        for space in spaces if self.space is None else [*spaces, self.space]:
            for name, value in list(space.items()):
                new = _replacement(value)
                if new is not None and (id(space), name) not in known:
                    self.entries.append((space, name, value, new))

    def enter(self) -> None:
        """Put the names in place, unless another call already did."""
        with self.lock:
            if self.users == 0:
                self.refresh()
                for space, name, old, new in self.entries:
                    if space.get(name) is old:
                        space[name] = new
            self.users += 1

    def leave(self) -> None:
        """Put NumPy's own back when the last call leaves."""
        with self.lock:
            self.users -= 1
            if self.users == 0:
                for space, name, old, new in self.entries:
                    if space.get(name) is new:
                        space[name] = old


_plans: dict[tuple[frozenset[str], int], Plan] = {}


def code_of(f: Any) -> Any:
    """The function behind a partial, a decorator or a method."""
    while isinstance(f, functools.partial):
        f = f.func
    f = getattr(f, "__wrapped__", f)
    return getattr(f, "__func__", f)


def _of_module(space: dict[str, Any]) -> bool:
    """Whether `space` is the namespace of an imported module."""
    module = sys.modules.get(space.get("__name__", ""))
    return module is not None and module.__dict__ is space


def package_of(f: Any) -> str | None:
    """The top-level package that the code of `f` was written in."""
    module = getattr(f, "__module__", None) or getattr(type(f), "__module__", None)
    top = module.partition(".")[0] if isinstance(module, str) else None
    return None if top in OWN else top


def plan_for(f: Callable[..., Any] | None, also: Iterable[str] = ()) -> Plan | None:
    """The plan for `f`'s package and the packages `also`; None if there is nothing to do."""
    names = {name.partition(".")[0] for name in also}
    space = None
    if f is not None:
        f = code_of(f)
        own = package_of(f)
        if own is not None:
            names.add(own)
        space = getattr(f, "__globals__", None)
        if own is None and space is not None and _of_module(space):
            space = None
    packages = frozenset(names - OWN)
    if not packages and space is None:
        return None
    key = (packages, id(space))
    plan = _plans.get(key)
    if plan is None:
        plan = _plans.setdefault(key, Plan(packages, space))
    return plan
