"""Imports while a wrapped call runs: of modules, planned as soon as they are loaded, and of NumPy.

``def f(x): import numpy as np`` gets what a module that imported NumPy would see under the name.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, NamedTuple

from npgrad.graph.modes import WRAPPED
from npgrad.wrapping.stand_ins import meet_scipy, replacement


class Call(NamedTuple):
    """What `WRAPPED` holds during a wrapped call: its plan, its open patches, what it is in."""

    plan: Any
    opened: list[Any]
    outer: Any


class Importing(Call):
    """The same while a module is imported: makers are NumPy's, imports are still watched."""

    def __bool__(self) -> bool:
        return False


class Watch:
    """A finder that finds nothing itself: it has the loader tell when it is done."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual spec of a module that a wrapped call imports."""
        now = WRAPPED.get()
        while isinstance(now, Call) and not now.plan.covers(name):
            now = now.outer
        if not isinstance(now, Call):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            token = WRAPPED.set(Importing(*now))  # a module's own constants are plain
            try:
                del loader.exec_module
                execute(module)
            finally:
                WRAPPED.reset(token)
            now.plan.adopt(module, now.opened)

        loader.exec_module = exec_module
        return spec


_REPLACED = ("numpy", "math", "cmath", "scipy")


@functools.lru_cache(maxsize=4096)
def imports_numpy(code: types.CodeType) -> bool:
    """Whether a function imports NumPy, `math` or SciPy for itself, or one written in it does."""
    if any(isinstance(inner, types.CodeType) and imports_numpy(inner) for inner in code.co_consts):
        return True
    if not any(name.partition(".")[0] in _REPLACED for name in code.co_names):
        return False
    steps = {(s.opname, s.argval) for s in dis.get_instructions(code) if s.argval is not None}
    if any(name == "STORE_GLOBAL" for name, _ in steps):
        return False  # the name would outlive the call
    return any(n == "IMPORT_NAME" and v.partition(".")[0] in _REPLACED for n, v in steps)


def replacing(usual: Any) -> Any:
    """``__import__`` that gives wrapped code what stands for NumPy."""

    @functools.wraps(usual)
    def call(name: str, globals: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = usual(name, globals, *args, **kwargs)
        now = WRAPPED.get()
        if not now or not globals or name.partition(".")[0] not in _REPLACED:
            return made
        asking = globals.get("__name__") or ""
        while isinstance(now, Call) and not (now.plan.covers(asking) or now.plan.space is globals):
            now = now.outer
        if not isinstance(now, Call) or asking.partition(".")[0] in _REPLACED:
            return made
        meet_scipy()
        new = replacement(made)
        return made if new is None else new

    return call


def install() -> None:
    """Watch imports; outside of wrapped calls it costs one look at a variable."""
    if Watch not in sys.meta_path:
        sys.meta_path.insert(0, Watch)
