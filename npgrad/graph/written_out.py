"""The record of an elementwise operation of one or two inputs, written out.

Function calls and loops of Python would cost more than the operation. So an operation of two
inputs is a text, of which each operator and each ufunc gets a function of its own; every case that
it does not know goes to `record.elementwise`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import backend, modes, placing
from .array import GradArray, handle_of
from .node import Node, next_id
from .record import compiled, decided, elementwise

_MODE = modes.MODE.get
_frame = sys._getframe
_new = object.__new__

# The text of a binary operator, and of a ufunc of two inputs called by name: Python's function
# calls and loops would cost more than the operation. In it, x1 and x2 stand in NumPy's order;
# `one` and `two` are the variants with x1 or x2 recorded alone, `both` with both.
BINARY_TEXT = """
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
            return slowly({slow})
    else:
        if x2._view is None:
            b, second = x2._array, x2._node
        else:
            b, second, view = x2._view.operand(x2)
        if kind1 in SCALARS or kind1 is NDARRAY:
            a, first = x1, None
        else:
            return slowly({slow})
    if mode() is not None:
        return slowly({slow})
    try:
        result = {compute}
    except TypeError:
        refuse_mixed({name!r}, (a, b))
        raise
    if first is None:
        if second is None:
            return handle_of(result, None)
        variant, parents, code = two, (second,), two.code
        if code & 1 and kind1 not in SCALARS:
            return plainly(ufunc, result, a, b, first, second, frame(1))
    elif second is None:
        variant, parents, code = one, (first,), one.code
        if code & 2 and kind2 not in SCALARS:
            return plainly(ufunc, result, a, b, first, second, frame(1))
    else:
        variant, parents, code = both, (first, second), both.code
    if code == 0:
        kept = ()
    elif code == 2:
        kept = (b,)
    elif code == 1:
        kept = (a,)
    elif code == 3:
        kept = (a, b)
    else:
        kept = variant.pack((a, b), result)
    node = new(Node)  # written out: the call of __init__ would take as long as all the rest
    node.id = next_id()
    node.op, node.parents, node.kept = variant, parents, kept
    try:
        node.shape, node.dtype = result.shape, result.dtype
    except AttributeError:
        node.shape, node.dtype = describe(result)
    f = frame(1)
    node.code, node.lasti = f.f_code, f.f_lasti
    handle = new(GradArray)
    handle._array, handle._node, handle._view = result, node, view
    return handle
"""


def plainly(
    ufunc: Any, result: Any, a: Any, b: Any, first: Any, second: Any, frame: Any
) -> GradArray:
    """A plain array beside a recorded one: it is kept as a copy, or guarded."""
    op = compiled(decided(ufunc))
    return elementwise(op, result, (a, b), (first, second), frame)


def space_of(ufunc: Any, op: Any, slowly: Callable[..., Any]) -> dict[str, Any]:
    """The names that `BINARY_TEXT` uses."""
    return {
        "GradArray": GradArray,
        "NDARRAY": backend.NDARRAY,
        "Node": Node,
        "SCALARS": backend.SCALARS,
        "both": op.variants[3],
        "describe": backend.describe,
        "frame": _frame,
        "handle_of": handle_of,
        "mode": _MODE,
        "new": object.__new__,
        "next_id": next_id,
        "one": op.variants[1],
        "plainly": plainly,
        "slowly": slowly,
        "two": op.variants[2],
        "refuse_mixed": placing.refuse_mixed,
        "ufunc": ufunc,
    }


def one_input(
    variant: Any, result: Any, array: Any, node: Node, view: Any, frame: Any
) -> GradArray:
    """The handle of ``result = ufunc(array)``."""
    code = variant.code
    if code == 1:
        kept: tuple[Any, ...] = (array,)
    elif code == 2:
        kept = (result,)
    elif code == 0:
        kept = ()
    else:
        kept = variant.pack((array,), result)
    made = _new(Node)
    made.id = next_id()
    made.op, made.parents, made.kept = variant, (node,), kept
    try:
        made.shape, made.dtype = result.shape, result.dtype
    except AttributeError:
        made.shape, made.dtype = backend.describe(result)
    made.code, made.lasti = frame.f_code, frame.f_lasti
    handle = _new(GradArray)
    handle._array, handle._node, handle._view = result, made, view
    return handle


OPS: dict[Any, Any] = {}  # ufunc -> compiled operation, for those whose inputs all have rules
