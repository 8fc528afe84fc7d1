"""Modules that are imported while a wrapped call runs: planned as soon as they are loaded."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from npgrad.graph.modes import WRAPPED

# The plan and the open patches of the wrapped call that this context is in, and of outer ones.
OPEN: ContextVar[Any] = ContextVar("npgrad_wrapped_open", default=None)


class Watch:
    """A finder that finds nothing itself: it has the loader tell when it is done."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual spec of a module that a wrapped call imports."""
        now = OPEN.get()
        while now is not None and not now[0].covers(name):
            now = now[2]
        if now is None:
            return None
        plan, opened, _ = now
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            token = WRAPPED.set(False)  # a module's own constants are plain
            try:
                del loader.exec_module
                execute(module)
            finally:
                WRAPPED.reset(token)
            plan.adopt(module, opened)

        loader.exec_module = exec_module
        return spec


def install() -> None:
    """Watch imports; outside of wrapped calls it costs one look at a variable."""
    if Watch not in sys.meta_path:
        sys.meta_path.insert(0, Watch)
