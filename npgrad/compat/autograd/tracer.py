"""``autograd.tracer``: telling recorded values from plain ones."""

from __future__ import annotations

from typing import Any

import npgrad
from npgrad.graph.array import GradArray

from .extend import Box, notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]


def isbox(x: Any) -> bool:
    """Whether `x` is recorded."""
    return type(x) is GradArray


def getval(x: Any) -> Any:
    """The plain value of `x`; its gradient is cut."""
    return npgrad.value(x)
