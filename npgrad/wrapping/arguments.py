"""Plain arrays that the caller passes to a wrapped function and that the function writes into.

``fill(x, buffer)`` with ``buffer[i] = x[i]`` inside: the function is given a recording copy of the
buffer, and what it holds in the end is written back as plain numbers, as the caller expects. Which
parameters a function writes into is read off its code.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray, plain

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


def filling(
    f: Any, writes: tuple[tuple[int, str], ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``f(*args, **kwargs)`` with recording copies of the plain arrays that `f` writes into."""
    pairs: list[tuple[Any, GradArray]] = []
    filled, named = list(args), dict(kwargs)
    for i, name in writes:
        holder, key = (filled, i) if i < len(args) else (named, name)
        value = holder[key] if holder is filled or name in kwargs else None  # type: ignore[index]
        if type(value) is np.ndarray and value.dtype.kind in "fc" and value.flags.writeable:
            made = GradArray(value.copy("K"), None)
            pairs.append((value, made))
            holder[key] = made  # type: ignore[index]
    try:
        return f(*filled, **named)
    finally:
        for array, made in pairs:
            array[...] = plain(made)
