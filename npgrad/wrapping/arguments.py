"""Plain arrays that the caller passes to a wrapped function and that the function writes into.

``fill(x, buffer)`` with ``buffer[i] = x[i]`` inside: the function is given a recording copy of the
buffer, and what it holds in the end is written back as plain numbers, as the caller expects. Which
parameters a function writes into is read off its code. An array given twice is one copy; one whose
memory the function can reach by yet another name stays plain, and a recorded write into it raises.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray, plain
from npgrad.graph.handles import leaf_node
from npgrad.transforms.reach import overlap, reachable, refuse

LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")


@functools.lru_cache(maxsize=1024)
def written_parameters(code: types.CodeType) -> tuple[tuple[int, str], ...]:
    """The parameters of `code` that are targets of ``p[i] = v``, ``p += v`` or ``out=p``."""
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    instructions = list(dis.get_instructions(code))
    starts, names = set(), set()
    for i, step in enumerate(instructions):
        target = step.opname in ("STORE_SUBSCR", "STORE_SLICE")
        target = target or (step.opname == "BINARY_OP" and step.argrepr.endswith("="))
        if target and step.positions is not None:
            starts.add((step.positions.lineno, step.positions.col_offset))
        named = step.opname in ("KW_NAMES", "LOAD_CONST") and step.arg is not None
        keywords = code.co_consts[step.arg] if named else None  # type: ignore[index]
        if type(keywords) is tuple and "out" in keywords:
            back = i - len(keywords) + keywords.index("out")
            if back >= 0 and instructions[back].opname in LOADS:
                names.add(instructions[back].argval)
    for step in instructions:
        where = step.positions
        if where is None or (where.lineno, where.col_offset) not in starts:
            continue
        if step.opname in LOADS:
            names.add(step.argval)
        elif step.opname.startswith("LOAD_FAST_"):  # two of them in one
            names.update(step.argval)
    return tuple([(i, name) for i, name in enumerate(parameters) if name in names])


def writes_of(f: Any) -> tuple[tuple[int, str], ...]:
    """The parameters that `f` writes into, by the positions of a call's arguments."""
    first = 0
    if type(f) is types.MethodType:
        first, f = 1, f.__func__
    if type(f) is not types.FunctionType:
        return ()
    return tuple([(i - first, name) for i, name in written_parameters(f.__code__) if i >= first])


def _recording_copies(
    f: Any, written: list[tuple[str, Any]], given: list[Any]
) -> list[tuple[Any, GradArray]]:
    """Each plain array of `written` that `f` knows by no other name, and its recording copy."""
    candidates = {id(value): (name, value) for name, value in written}
    arrays = reachable(f, [value for value in given if id(value) not in candidates])
    if arrays is None:
        return []
    again = {id(array) for array in arrays}
    known = [*arrays, *(value for _, value in candidates.values())]
    pairs = []
    for name, value in candidates.values():
        shared = [
            other
            for other in known
            if (other is not value or id(value) in again) and overlap(other, value)
        ]
        if any(type(a) is GradArray and leaf_node(a) is not None for a in shared):
            refuse(repr(name))
        if not shared:
            pairs.append((value, GradArray(value.copy("K"), None)))
    return pairs


def filling(
    f: Any, writes: tuple[tuple[int, str], ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``f(*args, **kwargs)`` with recording copies of the plain arrays that `f` writes into."""
    written: list[tuple[str, Any]] = []
    for i, name in writes:
        value = args[i] if i < len(args) else kwargs.get(name)
        if type(value) is np.ndarray and value.dtype.kind in "fc" and value.flags.writeable:
            written.append((name, value))
    if not written:
        return f(*args, **kwargs)
    pairs = _recording_copies(f, written, [*args, *kwargs.values()])
    made = {id(array): copy for array, copy in pairs}
    filled = [made.get(id(value), value) for value in args]
    named = {name: made.get(id(value), value) for name, value in kwargs.items()}
    try:
        return f(*filled, **named)
    finally:
        for array, copy in pairs:
            array[...] = plain(copy)
