"""A call of a function that is no ufunc, in every case, and with every error.

`record.general` writes the everyday case out and comes here for sequences, views of written roots,
``out=``, modes, and what is refused.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from ..errors import InPlaceError, RuleError
from . import backend, modes, on_device, ownership, placing
from .array import GradArray, current, handle_of
from .deferred import LAZY
from .general import General, Slots, Zeros, item_of
from .keeping import as_array, parameter, protect
from .listeners import note
from .node import Node, claimed
from .refusals import (
    check_parameters,
    is_number_or_array,
    plain_out,
    refuse_objects,
    refuse_parameter,
    refuse_times,
    user_frame,
)
from .results import assign, wrapped
from .stacking import has_recorded, stacked, unpacked
from .views import link, region

_MODE = modes.MODE.get


def general_slowly(
    op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType
) -> Any:
    """`general` for sequences, views of written roots, ``out=``, modes, and what is refused."""
    if on_device.is_everyday(args):
        made = on_device.recorded(op, args, kwargs, frame)
        if made is not NotImplemented:
            return made
    parents: list[Node | None] = [None] * len(op.arrays)
    elements: list[Node | None] = []
    args = tuple(map(unpacked, args))
    kwargs = {name: unpacked(value) for name, value in kwargs.items()}
    plain = list(args)
    named = dict(kwargs)
    source = out = None
    mode = _MODE()
    for key, value in (*enumerate(args), *kwargs.items()):
        i = key if type(key) is int else op.place.get(key, -1)  # type: ignore[call-overload]
        holder: Any = plain if type(key) is int else named
        if i == op.sequence and i >= 0:
            holder[key], elements = _sequence(value)
        elif i == op.out and i >= 0:
            out = value
            holder[key] = None
        elif type(value) is GradArray:
            slot = op.slot.get(i)
            if slot is None and 0 <= i < len(op.names) and op.names[i] in op.rule.recorded:
                return op.rule.recorded[op.names[i]](*args, **kwargs)
            if slot is None:
                refuse_parameter(op, op.names[i] if 0 <= i < len(op.names) else str(key), frame)
            if op.view and slot == 0:
                source = value
                holder[key], parents[0] = region(value)
            elif op.pointwise and value._view is LAZY and mode is None:
                holder[key], parents[slot], _ = LAZY.operand(value)  # type: ignore[index]
            else:
                holder[key], parents[slot] = current(value)  # type: ignore[index]
        elif i in op.slot and isinstance(value, (list, tuple)) and has_recorded(value):
            array = stacked(value)
            holder[key], parents[op.slot[i]] = current(array)
        elif type(value) in (list, tuple) and has_recorded(value):
            refuse_parameter(op, op.names[i] if 0 <= i < len(op.names) else str(key), frame)
    if type(out) is tuple:
        (out,) = out
    values = op.bind(*plain, **named)
    recorded = tuple([p is not None for p in parents]) + (
        (any(e is not None for e in elements),) if op.sequence >= 0 else ()
    )
    active = any(recorded)
    if active:
        check_parameters(op, values, recorded, frame)
        met = any(p is not None and claimed(p) for p in parents)
        if met and out is not None and type(out) is not GradArray:
            raise InPlaceError(plain_out(op.name, frame))
    try:
        result = backend.STAND_INS.get(op.fun, op.fun)(*plain, **named)
    except Exception:
        placing.refuse_mixed(op.name, values)
        raise
    node = None
    if active and (mode is None or mode.recording):
        node = _general_node(op, values, parents, elements, recorded, result, frame)
        if mode is not None:
            note(node, result)
    made = _handles(op, node, result, source, values)
    return made if out is None else assign(out, made, op.name, frame)


def _general_node(
    op: General,
    values: list[Any],
    parents: list[Node | None],
    elements: list[Node | None],
    recorded: tuple[bool, ...],
    result: Any,
    frame: FrameType,
) -> Node:
    keep = op.keeps(recorded)
    guards: list[tuple[Any, int, bool]] = []
    kept: list[Any] = []
    slots = None
    for i, value in enumerate(values):
        slot = op.slot.get(i)
        if slot is not None:
            if keep[i]:
                value = backend.sized(value) if type(value) in backend.NUMBERS else value
                kept.append(
                    value if parents[slot] is not None else protect(as_array(value), guards)
                )
            elif op.rule.kind == "linear" and parents[slot] is None and value is not None:
                kept.append(Zeros(as_array(value)))
            else:
                kept.append(None)
        elif i == op.sequence:
            described = [backend.describe(as_array(item)) for item in value]
            slots = Slots(tuple(d[0] for d in described), tuple(d[1] for d in described))
            kept.append(
                [
                    item if parent is not None else protect(as_array(item), guards)
                    for item, parent in zip(value, elements, strict=True)
                ]
                if keep[i]
                else None
            )
        else:
            kept.append(parameter(value))
    several = isinstance(result, (tuple, list))
    kept.append((tuple(result) if several else result) if keep[-1] else None)
    kept.append(slots)
    kept.extend(guards)
    shape, dtype = ((len(result),), None) if several else backend.describe(result)
    return Node(op, (*parents, *elements), tuple(kept), shape, dtype, frame.f_code, frame.f_lasti)


def _sequence(items: Any) -> tuple[Any, list[Node | None]]:
    """The plain elements and the nodes of a sequence argument."""
    if type(items) is GradArray or not isinstance(items, (list, tuple)):
        items = list(items) if type(items) is GradArray else items
        if not isinstance(items, (list, tuple)):
            return items, []
    plain, nodes = [], []
    for item in items:
        if type(item) is GradArray:
            array, node = current(item)
            plain.append(array)
            nodes.append(node)
        else:
            plain.append(item)
            nodes.append(None)
    return (tuple(plain) if isinstance(items, tuple) else plain), nodes


def several_handles(node: Node, result: Any) -> Any:
    """Handles of several outputs, in the container NumPy made."""
    items = [item_of(node, i, value) for i, value in enumerate(result)]
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def _handles(op: General, node: Node | None, result: Any, source: Any, values: list[Any]) -> Any:
    """`result` as the caller gets it: handles for inexact arrays, in the container NumPy made."""
    if isinstance(result, (tuple, list)):
        return wrapped(result) if node is None else several_handles(node, result)
    dtype = backend.describe(result)[1]
    if node is not None and (dtype.kind == "O" or not is_number_or_array(result)):
        refuse_objects(op.name, result, user_frame())
    if node is not None and dtype.kind in "mM":
        refuse_times(op.name, dtype, user_frame())
    if not backend.is_inexact(dtype):
        return result
    for array in () if op.view else [values[i] for i in op.arrays]:
        if ownership.is_view(result, array) or result is array:
            result = backend.snapshot(result)  # not declared as a view: must not alias in secret
            if node is not None and node.kept is not None and node.kept[op.width - 2] is not None:
                raise RuleError(f"npgrad: {op.name} returned a view; declare it with view=True")
            break
    handle = handle_of(result, node)
    if op.view and source is not None and not backend.is_scalar(result):
        array = values[op.arrays[0]]
        if result is array or ownership.is_view(result, array):
            kept = list(values)
            kept[op.arrays[0]] = None
            kept = list(map(parameter, kept))
            link(handle, source, op, (*kept, None, None))
    return handle
