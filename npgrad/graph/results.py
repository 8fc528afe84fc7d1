"""Values on their way into handles and out of them, in whatever container they stand."""

from __future__ import annotations

from types import FrameType
from typing import Any

from ..errors import InPlaceError
from . import backend
from .array import GradArray, current
from .node import Node, claimed
from .refusals import plain_out


def wrapped(value: Any) -> Any:
    """A constant handle of an inexact array; anything else as it is."""
    if isinstance(value, (tuple, list)):
        items = [wrapped(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    plain = type(value) is not GradArray and (backend.is_array(value) or backend.is_scalar(value))
    if plain and hasattr(value, "dtype") and backend.is_inexact(value.dtype):
        return GradArray(value, None)
    return value


def strip(value: Any, nodes: list[Node] | None = None) -> Any:
    """`value` with every GradArray in it replaced by its array; their nodes go into `nodes`."""
    kind = type(value)
    if kind is GradArray:
        array, node = current(value)
        if nodes is not None and node is not None:
            nodes.append(node)
        return array
    if kind is list or kind is tuple:
        return kind([strip(item, nodes) for item in value])
    return value


def assign(out: Any, made: Any, name: str, frame: FrameType) -> Any:
    """Write `made` into `out` as a whole, and return `out`."""
    from .regions import fill  # regions knows this module

    if type(out) is not GradArray:
        array, node = current(made) if type(made) is GradArray else (made, None)
        if node is not None and claimed(node):
            raise InPlaceError(plain_out(name, frame))
        out[...] = array
        return out
    fill(out, made, frame)
    return out
