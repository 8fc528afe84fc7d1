"""The record of an elementwise operation of one or two inputs, written out.

Function calls and loops of Python would cost more than the operation. So an operation of two
inputs is a text, of which each operator and each ufunc gets a function of its own; every case that
it does not know goes to `record.elementwise`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import backend, modes, placing, temporaries
from .array import GradArray, handle_of
from .node import Node, next_id
from .record import compiled, decided, elementwise
from .stacking import unpacked

_MODE = modes.MODE.get
_frame = sys._getframe

# In the text x1 and x2 stand in NumPy's order; `one` and `two` are the variants with x1 or x2
# recorded alone, `both` with both.
_UNARY = """
def {name}(x):
    view = None
    if x._view is None:
        a, first = x._array, x._node
    else:
        a, first, view = x._view.operand(x)
    if first is None or mode() is not None:
        return slowly(x, frame({depth}))
    result = {compute}
    variant, parents, kept, like = one, (first,), {keep_one}, first
"""

_BINARY = """
def {name}({arguments}):
    kind1, kind2 = type(x1), type(x2)
    view = None
    if kind1 is GradArray:
        if x1._view is None:
            a, first = x1._array, x1._node
        else:
            a, first, view = x1._view.operand(x1)
        if kind2 in SCALARS:
            b, second = x2, None
        elif kind2 is GradArray:
            if x2._view is None:
                b, second = x2._array, x2._node
            else:
                b, second, view = x2._view.operand(x2)
        elif kind2 is NDARRAY:
            b, second = x2, None
        else:
            return slowly(x1, x2, frame({depth}))
    else:
        if x2._view is None:
            b, second = x2._array, x2._node
        else:
            b, second, view = x2._view.operand(x2)
        if kind1 in SCALARS or kind1 is NDARRAY:
            a, first = x1, None
        else:
            return slowly(x1, x2, frame({depth}))
    if mode() is not None:
        return slowly(x1, x2, frame({depth}))
    try:
{over}        result = {compute}
    except TypeError:
        refuse_mixed({name!r}, (a, b))
        raise
    if first is None:
        if second is None:
            if not hasattr(result, "shape") and type(result) not in SCALARS:
                return slowly(x1, x2, frame({depth}))
            return handle_of(result, None)
{guard_two}
        variant, parents, kept, like = two, (second,), {keep_two}, {like_two}
    elif second is None:
{guard_one}
        variant, parents, kept, like = one, (first,), {keep_one}, {like_one}
    else:
        variant, parents, kept = both, (first, second), {keep_both}
        like = first if first.shape is second.shape else None
"""

# Before the result is computed into fresh memory: an operand that is nobody's takes it.
_OVER = """
        {word} {kind} is GradArray and type({array}) is NDARRAY and {array}.nbytes > LARGE{alone} \\
                and is_temporary({handle}, {array}, frame({depth})) and holds({array}, {other}):
            result = ufunc(a, b, out={array})
"""

_GUARD = """
        if {kind} not in SCALARS:
            if not hasattr(result, "shape"):
                return slowly(x1, x2, frame({depth}))
            return plainly(ufunc, result, a, b, first, second, frame({depth}))
"""

# Where the plain operand is not kept: one of Python objects may hold recorded numbers.
_OBJECTS = """
        if {kind} is NDARRAY and (not hasattr(result, "dtype") or result.dtype.hasobject):
            return slowly(x1, x2, frame({depth}))
"""

_UNUSUAL = """
        if type(result) not in SCALARS:  # what an array of no axes held, a polynomial for one
            return slowly(x1, x2, frame({depth}))"""

# `like` is a parent that is known to have the result's shape: nodes then share one tuple.
_MADE = """
    node = new(Node)  # written out: the call of __init__ would take as long as all the rest
    node.id = next_id()
    node.op, node.parents, node.kept = variant, parents, kept
    try:
        node.shape, node.dtype = result.shape if like is None else like.shape, result.dtype
    except AttributeError:{unusual}
        node.shape, node.dtype = describe(result)
    f = frame({depth})
    node.code, node.lasti = f.f_code, f.f_lasti
    handle = new(GradArray)
    handle._array, handle._node, handle._view = result, node, view
    return handle
"""


def plainly(
    ufunc: Any, result: Any, a: Any, b: Any, first: Any, second: Any, frame: Any
) -> GradArray:
    """A plain array beside a recorded one: it is kept as a copy, or guarded."""
    if type(result) is GradArray or backend.describe(result)[1].kind == "O":
        pair = unpacked(a), unpacked(b)
        if pair[0] is not a or pair[1] is not b:
            handles = [
                handle_of(value, node) if node is not None else value
                for value, node in zip(pair, (first, second), strict=True)
            ]
            return ufunc(*handles)  # type: ignore[no-any-return]
    op = compiled(decided(ufunc))
    return elementwise(op, result, (a, b), (first, second), frame)


def _over(op: Any, depth: int) -> str:
    """The text that lets the result take the memory of an operand, of those not kept."""
    one, two, both = op.variants[1:]
    text = ""
    for i, alone, other in ((0, one, "second"), (1, two, "first")):
        if i in alone.keep:
            continue
        text += _OVER.format(
            word="elif" if text else "if",
            array="ab"[i],
            handle=f"x{i + 1}",
            kind=f"kind{i + 1}",
            other="ba"[i],
            alone=f" and {other} is None" if i in both.keep else "",
            depth=depth,
        ).lstrip("\n")
    return text + "        else:\n    " if text else ""


def written(
    ufunc: Any,
    op: Any,
    slowly: Callable[..., Any],
    *,
    depth: int = 1,
    overwrites: bool = False,
    **words: str,
) -> Callable[..., Any]:
    """The function that computes and records `op`.

    Parameters
    ----------
    ufunc, op : object
        The NumPy function and its compiled operation, of one or two inputs.
    slowly : callable
        What is called for every other case, with the inputs and the user's frame.
    depth : int
        How many frames below the function's own the user's is.
    overwrites : bool
        Whether the result may take the memory of an operand that is nobody's, see `temporaries`.
    words : str
        The ``name`` of the function, ``compute``, the text of the operation on the arrays a (and
        b), and of two inputs ``arguments``, in the order in which they are passed.
    """
    unary = op.nin == 1
    words["unusual"] = "" if unary else _UNUSUAL.format(depth=depth)
    named = ("a", "result") if unary else ("a", "b", "result")
    for variant, word in zip(op.variants[1:], ("one", "two", "both"), strict=False):
        words[f"keep_{word}"] = "(" + "".join(f"{named[i]}, " for i in variant.keep) + ")"
    if not unary:  # a plain array that is kept is copied or guarded
        for word, i in (("one", 1), ("two", 0)):
            kept = i in op.variants[2 - i].keep
            kind, known = f"kind{i + 1}", ("second", "first")[i]
            guard = _GUARD if kept else _OBJECTS
            words[f"guard_{word}"] = guard.format(kind=kind, depth=depth)
            words[f"like_{word}"] = known if kept else f"{known} if {kind} in SCALARS else None"
        words["over"] = _over(op, depth) if overwrites else ""
    text = (_UNARY if unary else _BINARY) + _MADE.strip("\n")
    space = {
        "GradArray": GradArray,
        "NDARRAY": backend.NDARRAY,
        "Node": Node,
        "SCALARS": backend.SCALARS,
        "both": op.variants[-1],
        "describe": backend.describe,
        "LARGE": temporaries.LARGE,
        "frame": _frame,
        "handle_of": handle_of,
        "holds": temporaries.holds,
        "is_temporary": temporaries.is_temporary,
        "mode": _MODE,
        "new": object.__new__,
        "next_id": next_id,
        "one": op.variants[1],
        "plainly": plainly,
        "slowly": slowly,
        "two": op.variants[-2],
        "refuse_mixed": placing.refuse_mixed,
        "ufunc": ufunc,
    }
    exec(compile(text.format(depth=depth, **words), __file__, "exec"), space)  # a file of ours
    return space[words["name"]]  # type: ignore[no-any-return]
