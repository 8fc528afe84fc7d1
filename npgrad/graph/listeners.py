"""Who is told of a new node: a tape that listens, and the checks of `npgrad.debug`."""

from __future__ import annotations

from typing import Any

from . import backend, modes
from .array import unwrap
from .node import Leaf, Node, recorded_at
from .refusals import at, user_frame

_MODE = modes.MODE.get


def note(node: Node, value: Any) -> None:
    """Tell the listeners of this context, and check `value` if asked to."""
    mode = _MODE()
    if mode is None:
        return
    if mode.checked:
        check_value(node, value)
    for listener in mode.listeners:
        listener(node, value)


def check_value(node: Node, value: Any) -> None:
    """Under `npgrad.debug`: stop at the first NaN."""
    for part in value if isinstance(value, (tuple, list)) else (value,):
        if backend.is_inexact(backend.describe(part)[1]) and bool(backend.has_nan(part)):
            raise FloatingPointError(
                f"npgrad: the result of {node.op.name} holds a NaN, the first of this recording."
                f" Recorded at {at(user_frame())}."
            )


def check_cotangent(node: Node, g: Any) -> None:
    """Under `npgrad.debug`: stop a sweep at the first NaN."""
    for part in g if isinstance(g, (tuple, list)) else (g,):
        value = unwrap(part)
        if value is None or not backend.is_inexact(backend.describe(value)[1]):
            continue
        if bool(backend.has_nan(value)):
            name = "an argument" if type(node.op) is Leaf else f"the result of {node.op.name}"
            raise FloatingPointError(
                f"npgrad: the cotangent of {name} holds a NaN, the first of this sweep."
                f"{recorded_at(node)} What is computed of it has an infinite derivative that meets "
                "a factor of zero, as sqrt(x ** 2) has at 0."
            )
