"""Record a call: unwrap, compute with NumPy, keep what the rules name, make the node.

The only place where the node of a NumPy function is made (views and writes make their own in
`views` and `regions`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from .. import table
from ..errors import InPlaceError, NoDerivative, RuleError
from . import backend, modes
from .array import GradArray, current, handle_of
from .deferred import LAZY, settled
from .general import OPTION, STRICT, General, Slots, Zeros, item_of
from .node import Node
from .op import Elementwise, Op
from .stacking import has_recorded, stacked
from .stale import found_equal
from .views import link, region

_MODE = modes.MODE.get
_frame = sys._getframe
NDARRAY = backend.NDARRAY


def compiled(rule: table.Rule) -> Any:
    """The operation of `rule`, compiled when it is first met."""
    if rule.compiled is None:
        rule.compiled = Elementwise(rule) if rule.kind == "elementwise" else General(rule)
    return rule.compiled


def protect(value: Any, guards: list[tuple[Any, int, bool]]) -> Any:
    """`value`, a plain operand that a rule keeps: copied if small, fingerprinted if large."""
    if type(value) is NDARRAY:
        if value.nbytes <= backend.COPIED_BYTES:
            return value.copy("K")
    elif not backend.is_array(value) or backend.is_scalar(value):
        return value
    value = settled(value)
    if value.nbytes <= backend.COPIED_BYTES:
        return backend.snapshot(value)
    mode = _MODE()
    whole = mode is not None and mode.checked
    guards.append((value, backend.fingerprint(value, whole), whole))
    return value


def parameter(value: Any) -> Any:
    """`value` of a parameter as it is kept: an index, a mask, a list of them is copied."""
    kind = type(value)
    if kind is list:
        return [parameter(item) for item in value]
    if kind is tuple:
        return tuple([parameter(item) for item in value])
    if backend.is_array(value) and not backend.is_scalar(value):
        return backend.snapshot(value)
    return value


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


def elementwise(
    op: Elementwise, result: Any, values: Sequence[Any], parents: Sequence[Any], frame: FrameType
) -> GradArray:
    """The handle of ``result = ufunc(*values)`` with its node, for any number of inputs."""
    mask = 0
    bit = 1
    for parent in parents:
        if parent is not None:
            mask |= bit
        bit += bit
    mode = _MODE()
    if mask == 0 or (mode is not None and not mode.recording):
        return handle_of(result, None)
    if mask & op.missing:
        raise NoDerivative(_no_rule(op, mask & op.missing, frame))
    variant = op.variants[mask]
    kept = variant.pack(values, result)
    guards: list[tuple[Any, int, bool]] = []
    if len(variant.recorded) < op.nin:
        safe = []
        for i, value in zip(variant.keep, kept, strict=True):
            plain = i < op.nin and parents[i] is None and type(value) not in backend.SCALARS
            safe.append(protect(value, guards) if plain else value)
        kept = (*safe, *guards)
        parents = [parent for parent in parents if parent is not None]
        if guards:
            variant = variant.guarded
    try:
        shape, dtype = result.shape, result.dtype
    except AttributeError:
        shape, dtype = backend.describe(result)
    frame = modes.users(frame)
    node = Node(variant, tuple(parents), kept, shape, dtype, frame.f_code, frame.f_lasti)
    if mode is not None:
        note(node, result)
    return handle_of(result, node)


def _no_rule(op: Any, missing: int, frame: FrameType) -> str:
    name = tuple(op.rule.signature.parameters)[(missing & -missing).bit_length() - 1]
    return (
        f"npgrad: {op.name} has no derivative with respect to {name!r}. "
        f"Recorded at {at(frame)}. To treat it as a constant, pass npgrad.value of it."
    )


def user_frame() -> FrameType:
    """The innermost running frame that is not npgrad's own."""
    return modes.users(_frame(1))  # type: ignore[no-any-return]


def at(frame: FrameType) -> str:
    """``file.py:12`` of a running frame."""
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


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


# Parameter values that need no copy and hide no array.
_SIMPLE = frozenset({int, bool, float, complex, str, type(None)})


def general(op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """Call a NumPy function decided as linear, bilinear or reverse, and record it.

    The everyday call (arrays and plain options, no ``out=``, no sequence of arrays) is written out
    here; every other case, and every error, takes `_general_slowly`.
    """
    slot_at = op.slot_at
    if len(args) > len(slot_at) or _MODE() is not None:
        return _general_slowly(op, args, kwargs, frame)
    if op.sequence >= 0:
        return _joined(op, args, kwargs, frame)
    values = op.template[:]
    nodes: list[Node | None] = [None] * len(op.arrays)
    plain = list(args)
    mask = 0
    for i, value in enumerate(args):
        kind = type(value)
        slot = slot_at[i]
        if kind is GradArray:
            if slot < 0:
                return _general_slowly(op, args, kwargs, frame)
            if value._view is None:
                array, node = value._array, value._node
            elif value._view is LAZY:
                return _general_slowly(op, args, kwargs, frame)
            elif op.view and slot == 0:
                array, node = region(value)
            else:
                array, node = current(value)
            plain[i] = array
            if type(array) is NDARRAY:
                values[i] = array
            elif type(array) in backend.SCALARS:
                values[i] = array if type(array) not in backend.NUMBERS else backend.sized(array)
            else:  # another library's array: its own function runs, not the body of NumPy's
                return _general_slowly(op, args, kwargs, frame)
            if node is not None:
                nodes[slot] = node
                mask |= 1 << slot
        elif kind in _SIMPLE or (kind is tuple and _plain_tuple(value)):
            if slot == STRICT and value is not op.defaults[i]:
                return _general_slowly(op, args, kwargs, frame)
            values[i] = value
        elif kind in backend.PLAIN and slot >= OPTION:
            values[i] = value if slot >= 0 or kind is not NDARRAY else backend.snapshot(value)
        else:
            return _general_slowly(op, args, kwargs, frame)
    for key, value in kwargs.items():
        kind = type(value)
        i = op.place.get(key, -1)
        if i < 0 or slot_at[i] != OPTION:
            return _general_slowly(op, args, kwargs, frame)
        if kind in _SIMPLE or (kind is tuple and _plain_tuple(value)):
            values[i] = value
        else:
            return _general_slowly(op, args, kwargs, frame)
    plan = op.plan(mask)
    if plan is None:
        return _general_slowly(op, args, kwargs, frame)
    result = op.run(*plain, **kwargs)
    several = False
    base = None
    try:
        shape, dtype, base = result.shape, result.dtype, result.base
    except AttributeError:
        several = isinstance(result, (tuple, list))
        shape, dtype = ((len(result),), None) if several else backend.describe(result)
    if not several and dtype.kind not in "fc":
        return result
    if base is not None and not op.view:
        for i in op.arrays:
            if backend.is_view(result, values[i]):
                result = backend.snapshot(result)  # not declared as a view: must not alias
    drop, guard, zeros, keep_y = plan
    source = values[op.arrays[0]]
    guards: list[tuple[Any, int, bool]] = []
    for i in guard:
        values[i] = protect(values[i], guards)
    for i in zeros:
        values[i] = Zeros(values[i])
    for i in drop:
        values[i] = None
    if keep_y:
        values[-2] = tuple(result) if several else result
    if guards:
        values.extend(guards)
    node = Node(op, tuple(nodes), tuple(values), shape, dtype, frame.f_code, frame.f_lasti)
    if several:
        return _several(node, result)
    handle = GradArray(result, node)
    shares = op.view and (
        result is source or (base is not None and backend.is_view(result, source))
    )
    if shares and type(args[0]) is GradArray:
        values[op.arrays[0]] = None
        link(handle, args[0], op, tuple(values))
    return handle


def product(op: General, x1: Any, x2: Any, frame: FrameType) -> Any:
    """`general` for a function of two arrays and nothing else, such as matmul: half its time."""
    a, b, first, second = x1, x2, None, None
    if type(x1) is GradArray:
        a, first = (x1._array, x1._node) if x1._view is None else current(x1)
    if type(x2) is GradArray:
        b, second = (x2._array, x2._node) if x2._view is None else current(x2)
    pair, plan = op.pair, None
    if type(a) is NDARRAY and type(b) is NDARRAY and pair is not None and _MODE() is None:
        plan = pair.plan((first is not None) + 2 * (second is not None))
    if pair is None or plan is None:
        return general(op, (x1, x2), {}, frame)
    result = pair.run(a, b)
    try:
        shape, dtype, base = result.shape, result.dtype, result.base
    except AttributeError:
        return general(op, (x1, x2), {}, frame)
    if dtype.kind not in "fc" or plan[2]:
        return general(op, (x1, x2), {}, frame)
    if base is not None and (backend.is_view(result, a) or backend.is_view(result, b)):
        result = backend.snapshot(result)
    values = pair.template[:]
    guards: list[tuple[Any, int, bool]] = []
    drop, guard = plan[0], plan[1]
    if 0 not in drop:
        values[0] = protect(a, guards) if 0 in guard else a
    if 1 not in drop:
        values[1] = protect(b, guards) if 1 in guard else b
    if plan[3]:
        values[-2] = result
    if guards:
        values.extend(guards)
    node = Node(pair, (first, second), tuple(values), shape, dtype, frame.f_code, frame.f_lasti)
    return GradArray(result, node)


def lone(op: General, x: Any, frame: FrameType) -> Any:
    """`general` for a call with one array and nothing else, such as ``np.sum(x)``."""
    if type(x) is not GradArray or x._view is LAZY or not op.lone or _MODE() is not None:
        return general(op, (x,), {}, frame)
    array, parent = (x._array, x._node) if x._view is None else current(x)
    plan = op.plan(1)
    if type(array) is not NDARRAY or parent is None or plan is None:
        return general(op, (x,), {}, frame)
    result = op.run(array)
    try:
        shape, dtype, base = result.shape, result.dtype, result.base
    except AttributeError:
        return general(op, (x,), {}, frame)
    if dtype.kind not in "fc":
        return result
    if base is not None and backend.is_view(result, array):
        result = backend.snapshot(result)
    values = op.template[:]
    if 0 not in plan[0]:
        values[0] = array
    if plan[3]:
        values[-2] = result
    node = Node(op, (parent,), tuple(values), shape, dtype, frame.f_code, frame.f_lasti)
    return GradArray(result, node)


def _joined(op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """`general` for a function of one sequence of arrays, such as concatenate and stack."""
    simple = op.sequence == 0 and not op.arrays and args and type(args[0]) in (list, tuple)
    if not simple or op.keeps((True,))[0] or op.keeps((True,))[-1]:
        return _general_slowly(op, args, kwargs, frame)
    values = op.template[:]
    plain, nodes = [], []
    for item in args[0]:
        kind = type(item)
        if kind is GradArray:
            array, node = current(item)
        elif kind is NDARRAY:
            array, node = item, None
        else:
            return _general_slowly(op, args, kwargs, frame)
        if type(array) not in backend.HOST:
            return _general_slowly(op, args, kwargs, frame)
        plain.append(array)
        nodes.append(node)
    for i, value in (
        *enumerate(args[1:], 1),
        *((op.place.get(k, -1), v) for k, v in kwargs.items()),
    ):
        known = type(value) in _SIMPLE and i > 0 and op.slot_at[i] == OPTION
        if not known:
            return _general_slowly(op, args, kwargs, frame)
        values[i] = value
    result = op.run(plain, *args[1:], **kwargs)
    if type(result) is not NDARRAY or not any(node is not None for node in nodes):
        return _general_slowly(op, args, kwargs, frame)
    values[0] = None
    described = [backend.describe(item) for item in plain]
    values[-1] = Slots(tuple([d[0] for d in described]), tuple([d[1] for d in described]))
    node = Node(
        op, tuple(nodes), tuple(values), result.shape, result.dtype, frame.f_code, frame.f_lasti
    )
    return GradArray(result, node)


def _plain_tuple(value: tuple[Any, ...]) -> bool:
    """Whether there are nothing but integers in `value`: axes, shapes, widths."""
    for item in value:
        if type(item) is not int and not (type(item) is tuple and _plain_tuple(item)):
            return False
    return True


def _general_slowly(
    op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType
) -> Any:
    """`general` for sequences, views of written roots, ``out=``, modes, and what is refused."""
    parents: list[Node | None] = [None] * len(op.arrays)
    elements: list[Node | None] = []
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
        if out is not None and type(out) is not GradArray:
            raise InPlaceError(plain_out(op.name, frame))
    try:
        result = op.fun(*plain, **named)
    except Exception:
        backend.refuse_mixed(op.name, values)
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


def as_array(value: Any) -> Any:
    """`value` as NumPy sees it: lists become arrays."""
    return backend.asarray(value) if isinstance(value, (list, tuple)) else value


def _several(node: Node, result: Any) -> Any:
    """Handles of several outputs, in the container NumPy made."""
    items = [item_of(node, i, value) for i, value in enumerate(result)]
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def _handles(op: General, node: Node | None, result: Any, source: Any, values: list[Any]) -> Any:
    """`result` as the caller gets it: handles for inexact arrays, in the container NumPy made."""
    if isinstance(result, (tuple, list)):
        return wrapped(result) if node is None else _several(node, result)
    if not backend.is_inexact(backend.describe(result)[1]):
        return result
    for array in () if op.view else [values[i] for i in op.arrays]:
        if backend.is_view(result, array) or result is array:
            result = backend.snapshot(result)  # not declared as a view: must not alias in secret
            if node is not None and node.kept is not None and node.kept[op.width - 2] is not None:
                raise RuleError(f"npgrad: {op.name} returned a view; declare it with view=True")
            break
    handle = handle_of(result, node)
    if op.view and source is not None and not backend.is_scalar(result):
        array = values[op.arrays[0]]
        if result is array or backend.is_view(result, array):
            kept = list(values)
            kept[op.arrays[0]] = None
            kept = list(map(parameter, kept))
            link(handle, source, op, (*kept, None, None))
    return handle


def wrapped(value: Any) -> Any:
    """A constant handle of an inexact array; anything else as it is."""
    if isinstance(value, (tuple, list)):
        items = [wrapped(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    plain = type(value) is not GradArray and (backend.is_array(value) or backend.is_scalar(value))
    if plain and hasattr(value, "dtype") and backend.is_inexact(value.dtype):
        return GradArray(value, None)
    return value


def check_parameters(
    op: General, values: list[Any], recorded: tuple[bool, ...], frame: FrameType
) -> None:
    """Refuse by name what no rule handles."""
    for i in op.strict:
        if values[i] is not op.defaults[i] and not _same(values[i], op.defaults[i]):
            raise NoDerivative(
                f"npgrad: {op.name} has no derivative rule for {op.names[i]}={values[i]!r}. "
                f"Recorded at {at(frame)}. Leave it out, or compute with npgrad.value."
            )
    for flag, back, name in zip(recorded, op.backs, op.order, strict=True):
        if flag and back is None:
            raise NoDerivative(
                f"npgrad: {op.name} has no derivative with respect to {name.lstrip('*')!r}. "
                f"Recorded at {at(frame)}. To treat it as a constant, pass npgrad.value of it."
            )


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, str, float)) and a == b


def refuse_parameter(op: Any, name: str, frame: FrameType) -> None:
    """A recorded value in a place that has no derivative."""
    raise NoDerivative(
        f"npgrad: {op.name} has no derivative with respect to {name!r}. Recorded at {at(frame)}. "
        f"To treat it as a constant: {name}=npgrad.value({name})."
    )


def plain_out(name: str, frame: FrameType) -> str:
    """The message for a plain array as ``out=`` or left of ``+=``."""
    return (
        f"npgrad: {name} would write a recorded value into a plain array (out=, or the left side "
        f"of an augmented assignment), and lose its gradient. Recorded at {at(frame)}. Instead: "
        "y = y + x for y += x; np.zeros_like(x) or np.zeros(shape, like=x) for the buffer; or "
        "npgrad.wrap(f), under which such buffers record."
    )


def assign(out: Any, made: Any, name: str, frame: FrameType) -> Any:
    """Write `made` into `out` as a whole, and return `out`."""
    from .regions import fill  # regions knows this module

    if type(out) is not GradArray:
        array, node = current(made) if type(made) is GradArray else (made, None)
        if node is not None:
            raise InPlaceError(plain_out(name, frame))
        out[...] = array
        return out
    fill(out, made, frame)
    return out


def call(rule: table.Rule, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """Do what the table decides for a function called with at least one GradArray."""
    op = rule.compiled
    if type(op) is General:
        if len(args) == 1 and not kwargs:
            return lone(op, args[0], frame)
        return general(op, args, kwargs, frame)
    kind = rule.kind
    if kind == "elementwise":
        return rule.fun(*args, **kwargs)  # comes back through the protocol for ufuncs
    if kind in ("linear", "bilinear", "reverse"):
        return general(compiled(rule), args, kwargs, frame)
    if kind in ("composed", "writes"):
        body = rule.body if rule.body is not None else rule.fun._implementation
        return body(*args, **kwargs)
    if kind == "refused":
        raise NoDerivative(
            f"npgrad: {rule.name} has no derivative ({rule.reason}). Recorded at {at(frame)}. To "
            f"treat its argument as a constant: {rule.name}(npgrad.value(x))."
        )
    out = kwargs.pop("out", None)
    nodes: list[Node] = []
    plain = [strip(a, nodes) for a in args]
    result = rule.fun(*plain, **{k: strip(v, nodes) for k, v in kwargs.items()})
    if rule.verdict and result:
        pair = [v for v in (*args, *kwargs.values()) if hasattr(v, "dtype")]
        if len(pair) == 2:
            found_equal(pair[0], pair[1], rule.name)
    if kind == "flat":
        mode = _MODE()
        recording = mode is None or mode.recording
        single = backend.is_array(result) or backend.is_scalar(result)
        if nodes and single and recording and not rule.fresh:
            result = _flat(rule, result, nodes, frame)
        else:
            result = wrapped(result)
    return result if out is None else assign(out, result, rule.name, frame)


class Flat(Op):
    """A piecewise constant function: connected, with a gradient of zero."""

    def __init__(self, name: str) -> None:
        self.name = name

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """Nothing arrives at the parents; whoever asks for their gradient gets zeros."""

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        return None


def _flat(rule: table.Rule, result: Any, nodes: list[Node], frame: FrameType) -> Any:
    """`result` of a flat function, still a function of what it was computed from."""
    shape, dtype = backend.describe(result)
    if not backend.is_inexact(dtype):
        return result
    op = Flat(rule.name)
    return GradArray(result, Node(op, tuple(nodes), (), shape, dtype, frame.f_code, frame.f_lasti))


def strip(value: Any, nodes: list[Node] | None = None) -> Any:
    """`value` with every GradArray in it replaced by its array; their nodes go into `nodes`."""
    kind = type(value)
    if kind is GradArray:
        array, node = current(value)
        if nodes is not None and node is not None:
            nodes.append(node)
        return array
    if kind is list or kind is tuple:
        return kind([strip(item, nodes) for item in value])
    return value
