"""Cached results, handed out again in a later recording, whose gradient would be zero in silence.

A program that keeps its last input and result, and hands the result out again while the input is
the same, computes nothing the second time: the result is a constant. Two things can be seen of it.
The question whether the inputs are equal: a function that a transform called is told no, once, so
that it computes anew, and is called once more with plain arguments, to see whether the answer made
a difference (`found_equal`, `refuse_denied`). And, however it was asked, a value that an earlier
recording left behind at the same arguments (`refuse_kept`).
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..errors import GradientLost
from . import backend, fingerprints
from .array import GradArray, current
from .node import Leaf, Node, alive, position, recorded_at
from .regions import GETITEM, Write

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERIC = backend.GENERIC
MANY = 64  # arguments whose entries were found equal that are remembered
_FOUND = (
    "npgrad: {} found a recorded array equal to one from outside of this recording, as a program "
    "asks that keeps its last input and result: the kept result would have no gradient.{} Instead: "
    "clear what is kept before a gradient is taken; compare npgrad.value(x) where nothing is kept."
)
RUNS = os.path.join(PACKAGE, "transforms", "run.py")  # where a transform calls its function


def says(result: Any, verdict: bool) -> bool:
    """Whether a comparison answered `verdict`: as one truth value, or for each of some entries."""
    if type(result) is not backend.NDARRAY:
        return result is verdict
    return result.size > 1 and bool((result if verdict else ~result).all())


DENIED = [0]  # how often a function was told that its input is not the one of its last call
OFTEN = 64  # in one recording: a loop that waits for the answer yes would not end


def found_equal(x: Any, other: Any, name: str) -> bool:
    """Whether to deny that all of `x` and `other` are equal, since that is how a cache is asked.

    GradientLost if the same was denied before: it is no cache then, which keeps the new input.
    """
    for live, kept in ((x, other), (other, x)):
        if type(live) is GradArray and _outside(kept):
            value, node = current(live)
            if node is None or not _same(value, kept) or _argument(kept):
                continue
            leaf = _passed(node)
            if leaf is None:
                continue
            if _asked_by_a_rule():
                return False
            message = _FOUND.format(name, recorded_at(node))
            denied = getattr(leaf.op, "denied", None)
            if denied is None:
                denied = leaf.op.denied = []
            if len(denied) > OFTEN or any(one is kept for one, _ in denied):
                raise GradientLost(message)
            denied.append((kept, message))
            DENIED[0] += 1
            return True
    return False


def refuse_denied(
    leaves: Sequence[Node], out: Any, again: Callable[[], Any], parts: Callable[[Any], list[Any]]
) -> None:
    """Refuse a recording whose function was told no, if the answer yes gives another result.

    `again` calls the function with plain arguments, `parts` are the plain numbers of its result.
    """
    said = [message for leaf in leaves for _, message in getattr(leaf.op, "denied", None) or ()]
    if not said:
        return
    try:
        one, other = parts(out), parts(again())
        same = len(one) == len(other) and all(map(_alike, one, other))
    except Exception as error:
        raise GradientLost(said[0]) from error
    if not same:
        raise GradientLost(said[0])


def _alike(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-300, equal_nan=True))


_equal_entries: dict[
    int, set[tuple[int, ...]]
] = {}  # id of an argument's leaf -> where it was found equal


def entry_equal(one: Any, other: Any) -> None:
    """Note that a recorded number equals a plain one; refuse it once all of an argument do.

    So a program asks that compares its last input entry by entry, or as lists.
    """
    for live, plain in ((one, other), (other, one)):
        kind = type(plain)  # NumPy makes an array of no axes of its own number, on the left
        number = kind is float or kind in GENERIC or (kind is backend.NDARRAY and not plain.ndim)
        if type(live) is not GradArray or not number:
            continue
        node = current(live)[1]
        if node is None or node.op is not GETITEM or node.kept is None:
            continue
        (source,) = node.parents
        if source is None or type(source.op) is not Leaf or not source.op.open:
            continue
        held = source.op.held
        if type(held) is not backend.NDARRAY or held.size < 2:
            continue
        if source.id not in _equal_entries and len(_equal_entries) > MANY:
            _equal_entries.clear()
        found = _equal_entries.setdefault(source.id, set())
        index = node.kept[0] if type(node.kept[0]) is tuple else node.kept
        if all(type(place) is int for place in index):
            found.add(tuple(i % n for i, n in zip(index, held.shape, strict=True)))
        several = len(found) == held.size and bool((held != held.flat[0]).any())
        if several and not _argument(held, alike=True) and not _asked_by_a_rule():
            raise GradientLost(_FOUND.format("x[i] == number, for each i,", recorded_at(node)))


def refuse_kept(order: Sequence[Node], floor: int, leaves: Sequence[Node]) -> None:
    """Refuse a recording that uses what an earlier one left, if both were of the same arguments.

    `order` has what the output depends on, `leaves` the arguments. A state that goes on has others.
    The old contents of a buffer that is written again count for nothing: most often all of them go.
    """
    for node in order:
        if node.id <= floor:  # the output itself
            used: Sequence[Node | None] = (node,)
        elif type(node.op) is Leaf:
            continue
        else:
            used = node.parents[1:] if isinstance(node.op, Write) else node.parents
        for kept in used:
            if kept is not None and kept.id <= floor and _left_by_equal(kept, leaves):
                where, here = position(kept), "" if node is kept else position(node)
                raise GradientLost(
                    "npgrad: the function used a value that an earlier gradient at the same "
                    f"arguments left behind{f', recorded at {where}' if where else ''}"
                    f"{f' and used at {here}' if here else ''}: a cached result, it seems, which "
                    "is a constant now and would have no gradient. Instead: clear what is kept "
                    "before a gradient is taken; where it is a state that goes on, "
                    "npgrad.stop_gradient(state) or state = npgrad.value(state)."
                )


def _left_by_equal(kept: Node, leaves: Sequence[Node]) -> bool:
    """Whether a finished recording made `kept` of arguments equal to those that `leaves` hold."""
    stack, seen, equal = [kept], {kept}, False
    while stack:
        node = stack.pop()
        if type(node.op) is Leaf:
            held = node.op.held
            if node.op.open or node.op.own:
                return False  # alive
            if held is not None:
                equal = any(_equal(held, leaf.op.held) for leaf in leaves)
                if not equal:
                    return False
        elif node.kept is None:
            return False  # it was freed: where it led to is not known
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return equal


def _equal(held: Any, other: Any) -> bool:
    """Whether two copies, numbers or digests of arguments are the same."""
    if type(held) is int and type(other) is backend.NDARRAY:
        other = fingerprints.fingerprint(other)
    if type(held) is backend.NDARRAY and type(other) is backend.NDARRAY:
        same = held.shape == other.shape and held.dtype == other.dtype
        return same and fingerprints.same(held, other)
    if backend.on_device(held) or backend.on_device(other):
        return False  # an answer would wait for the device
    return type(held) is type(other) and bool(held == other)


def _passed(node: Node) -> Node | None:
    """The leaf, on which `node` depends, that a transform passed to the function that runs now.

    A leaf recorded by hand may be compared with the array that it was made of.
    """
    stack, seen = [node], {node}
    while stack:
        node = stack.pop()
        if type(node.op) is Leaf and node.op.open:
            return node
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return None


# Where a comparison passes through on its way from whoever asks.
_PASSING = tuple(os.path.join(PACKAGE, name) for name in ("graph", "wrapping"))


def _asked_by_a_rule() -> bool:
    """Whether npgrad itself compares: a rule looks for ties, also while it is recorded."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PASSING):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(PACKAGE)


def _argument(kept: Any, alike: bool = False) -> bool:
    """Whether `kept` (or an array like it) was given to the function that a transform called.

    Then it is no cache.
    """
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
    given = [called.f_locals.get(name) for name in code.co_varnames[:count]]
    return any(
        one is kept or (alike and type(one) is backend.NDARRAY and _equal(one, kept))
        for one in given
    )


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
