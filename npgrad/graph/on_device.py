"""The everyday call of a function that is no ufunc, on arrays of a device.

What `record.general` writes out for arrays of the host, for handles whose array may be put off: a
small step on a device waits for the host. All else takes `general_slowly`.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from . import backend, modes, ownership, placing
from .array import GradArray, current, handle_of
from .deferred import LAZY
from .general import OPTION, STRICT, General, Zeros
from .keeping import parameter, protect
from .node import Node

_MODE = modes.MODE.get
_SIMPLE = frozenset({int, bool, float, complex, str, type(None)})


def is_everyday(args: tuple[Any, ...]) -> bool:
    """Whether a handle on an array of a device is among `args`."""
    for value in args:  # noqa: SIM110 -- a generator costs more
        if type(value) is GradArray and value._view is LAZY:
            return True
    return False


def recorded(op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """The function's result with its node; NotImplemented where it is no everyday call."""
    slot_at = op.slot_at
    if op.view or op.sequence >= 0 or len(args) > len(slot_at) or _MODE() is not None:
        return NotImplemented
    values = op.template[:]
    nodes: list[Node | None] = [None] * len(op.arrays)
    plain = list(args)
    mask = 0
    for i, value in enumerate(args):
        slot = slot_at[i]
        if type(value) is GradArray:
            if slot < 0:
                return NotImplemented
            if op.pointwise and value._view is LAZY:
                array, node, _ = LAZY.operand(value)
            else:
                array, node = current(value)
                if not backend.on_device(array):
                    return NotImplemented
            plain[i] = values[i] = array
            if node is not None:
                nodes[slot] = node
                mask |= 1 << slot
        elif backend.on_device(value):
            if slot < OPTION:
                return NotImplemented
            values[i] = value if slot >= 0 else parameter(value)
        elif (slot == OPTION or (slot == STRICT and value is op.defaults[i])) and _fixed(value):
            values[i] = value
        else:
            return NotImplemented
    for key, value in kwargs.items():
        i = op.place.get(key, -1)
        if i < 0 or slot_at[i] != OPTION or not _fixed(value):
            return NotImplemented
        values[i] = value
    plan = op.plans.get(mask) or op.plan(mask)
    if plan is None:
        return NotImplemented
    try:
        result = backend.STAND_INS.get(op.fun, op.fun)(*plain, **kwargs)
    except Exception:
        placing.refuse_mixed(op.name, values)
        raise
    if isinstance(result, (tuple, list)):
        return NotImplemented
    shape, dtype = backend.describe(result)
    if dtype.kind not in "fc":
        return result
    for i in op.arrays:
        if result is values[i] or ownership.is_view(result, values[i]):
            return NotImplemented  # must not alias in secret
    drop, guard, zeros, keep_y = plan
    guards: list[tuple[Any, int, bool]] = []
    for i in guard:
        values[i] = protect(values[i], guards)
    for i in zeros:
        values[i] = Zeros(values[i])
    for i in drop:
        values[i] = None
    if keep_y:
        values[-2] = result
    kept = (*values, *guards)
    node = Node(op, tuple(nodes), kept, shape, dtype, frame.f_code, frame.f_lasti)
    return handle_of(result, node)


def _fixed(value: Any) -> bool:
    """Whether `value` needs no copy and hides no array: a number, a name, whole numbers."""
    kind = type(value)
    if kind in _SIMPLE:
        return True
    return isinstance(value, tuple) and all(type(v) is int or _fixed(v) for v in value)
