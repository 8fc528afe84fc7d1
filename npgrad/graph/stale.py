"""Cached results: a recorded input that equals one kept from outside of its recording.

A program that keeps its last input and result, and hands the result out again while the input is
the same, computes nothing the second time: the result is a constant, and its gradient would be zero
in silence. What can be seen of it is the question whether the inputs are equal, answered yes.
"""

from __future__ import annotations

import inspect
import os
import sys
from types import FrameType
from typing import Any

from ..errors import GradientLost
from . import backend
from .array import GradArray, current
from .node import Leaf, Node, alive, recorded_at

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUNS = os.path.join(PACKAGE, "transforms", "run.py")  # where a transform calls its function


def found_equal(x: Any, other: Any, name: str) -> None:
    """Refuse that `name` found all of `x` and `other` equal, if that is how a cache is asked."""
    for live, kept in ((x, other), (other, x)):
        if type(live) is GradArray and _outside(kept):
            value, node = current(live)
            if node is None or not _same(value, kept) or not _passed(node) or _argument(kept):
                continue
            raise GradientLost(
                f"npgrad: {name} found a recorded array equal to one from outside of this "
                "recording, as a program asks that keeps its last input and result: the kept "
                f"result would have no gradient.{recorded_at(node)} Instead: clear what is kept "
                "before a gradient is taken; compare npgrad.value(x) where no result is kept."
            )


def _passed(node: Node) -> bool:
    """Whether `node` depends on what a transform passed to the function that runs now.

    A leaf recorded by hand may be compared with the array that it was made of.
    """
    stack, seen = [node], {node}
    while stack:
        node = stack.pop()
        if type(node.op) is Leaf and node.op.open:
            return True
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return False


def _argument(kept: Any) -> bool:
    """Whether `kept` is an argument of the function that a transform called, and so no cache."""
    frame: FrameType | None = sys._getframe(2)
    called = None
    while frame is not None and frame.f_code.co_filename != RUNS:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            called = frame
        frame = frame.f_back
    if frame is None or called is None:
        return False
    code = called.f_code
    flags = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
    count = code.co_argcount + code.co_kwonlyargcount
    count += sum(bool(code.co_flags & flag) for flag in flags)
    return any(called.f_locals.get(name) is kept for name in code.co_varnames[:count])


def _outside(value: Any) -> bool:
    """Whether `value` was there before: a plain inexact array, or one of an earlier recording."""
    if type(value) is GradArray:
        node = current(value)[1]
        return node is not None and not alive(node)
    return hasattr(value, "dtype") and value.dtype.kind in "fc" and backend.is_array(value)


def _same(value: Any, kept: Any) -> bool:
    """Whether they have the same shape and numbers, not just 0, 1 and -1."""
    if type(kept) is GradArray:
        kept = current(kept)[0]
    if backend.describe(value)[0] != backend.describe(kept)[0]:
        return False
    trivial = (kept == 0) | (abs(kept) == 1)
    return bool((value == kept).all()) and not bool(trivial.all())
