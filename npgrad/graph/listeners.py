"""Who is told of a new node: a tape that listens, and the checks of `npgrad.debug`."""

from __future__ import annotations

from typing import Any

from . import backend, modes
from .node import Node
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
