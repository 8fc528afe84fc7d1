"""``autograd.tracer``: telling recorded values from plain ones, and making them."""

from __future__ import annotations

from typing import Any

import npgrad
from npgrad.graph.array import GradArray

from .extend import Box, notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "new_box", "notrace_primitive", "primitive"]


def isbox(x: Any) -> bool:
    """Whether `x` is recorded."""
    return type(x) is GradArray


def getval(x: Any) -> Any:
    """The plain value of `x`; its gradient is cut."""
    return npgrad.value(x)


def new_box(value: Any, trace: int, node: Any) -> Any:
    """A recorded `value` whose gradient `core.backward_pass` gives; `node` is a `core.VJPNode`.

    npgrad numbers its levels by itself: `trace` is not used.
    """
    return npgrad.array(value)
