"""Modules that are imported while a wrapped call runs: planned as soon as they are loaded."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, NamedTuple

from npgrad.graph.modes import WRAPPED


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


def install() -> None:
    """Watch imports; outside of wrapped calls it costs one look at a variable."""
    if Watch not in sys.meta_path:
        sys.meta_path.insert(0, Watch)
