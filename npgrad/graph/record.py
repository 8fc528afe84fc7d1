"""Record a call: unwrap, compute with NumPy, keep what the rules name, make the node.

The only place where the node of a NumPy function is made (views and writes make their own in
`views` and `regions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

from .. import table
from ..errors import NoDerivative
from . import backend, modes, ownership
from .array import GradArray, current, handle_of, made
from .deferred import LAZY
from .every_case import general_slowly, several_handles
from .general import OPTION, STRICT, General, Slots, Zeros
from .keeping import protect
from .listeners import note
from .node import Node, claimed
from .op import Elementwise, Op
from .refusals import at, no_rule, refuse_times
from .results import assign, strip, wrapped
from .stale import entry_equal, found_equal, says
from .views import link, region

_MODE = modes.MODE.get
FLOAT, GENERIC, NDARRAY = backend.FLOAT, backend.GENERIC, backend.NDARRAY


def compiled(rule: table.Rule) -> Any:
    """The operation of `rule`, compiled when it is first met."""
    if rule.compiled is None:
        rule.compiled = Elementwise(rule) if rule.kind == "elementwise" else General(rule)
    return rule.compiled


def decided(fun: Any) -> table.Rule:
    """The decision for `fun`; NoDerivative if there is none."""
    rule = table.lookup(fun)
    if rule is None:
        name = table.function_name(fun)
        foreign = ""
        if type(fun).__name__ == "ufunc":  # of C code, or Numba's with target="parallel"
            foreign = f"Give it a rule, npgrad.register_vjp({name}, ...). "
        raise NoDerivative(
            f"npgrad: nothing is decided for {name}; it was not called. {foreign}"
            f"To treat its argument as a constant: {name}(npgrad.value(x))."
        )
    return rule


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
        raise NoDerivative(no_rule(op, mask & op.missing, frame))
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
    if dtype.kind in "mM":
        refuse_times(op.name, dtype, frame)
    node = Node(variant, tuple(parents), kept, shape, dtype, frame.f_code, frame.f_lasti)
    if mode is not None:
        note(node, result)
    return handle_of(result, node)


# Parameter values that need no copy and hide no array.
_SIMPLE = frozenset({int, bool, float, complex, str, type(None)})


def general(op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """Call a NumPy function decided as linear, bilinear or reverse, and record it.

    The everyday call (arrays and plain options, no ``out=``, no sequence of arrays) is written out
    here; every other case, and every error, takes `general_slowly`.
    """
    slot_at = op.slot_at
    if len(args) > len(slot_at) or _MODE() is not None:
        return general_slowly(op, args, kwargs, frame)
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
                return general_slowly(op, args, kwargs, frame)
            if value._view is None:
                array, node = value._array, value._node
            elif value._view is LAZY:
                return general_slowly(op, args, kwargs, frame)
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
                return general_slowly(op, args, kwargs, frame)
            if node is not None:
                nodes[slot] = node
                mask |= 1 << slot
        elif kind in _SIMPLE or (kind is tuple and _plain_tuple(value)):
            if slot == STRICT and value is not op.defaults[i]:
                return general_slowly(op, args, kwargs, frame)
            values[i] = value
        elif kind in backend.PLAIN and slot >= OPTION:
            values[i] = value if slot >= 0 or kind is not NDARRAY else backend.snapshot(value)
        else:
            return general_slowly(op, args, kwargs, frame)
    for key, value in kwargs.items():
        kind = type(value)
        i = op.place.get(key, -1)
        if i < 0 or slot_at[i] != OPTION:
            return general_slowly(op, args, kwargs, frame)
        if kind in _SIMPLE or (kind is tuple and _plain_tuple(value)):
            values[i] = value
        else:
            return general_slowly(op, args, kwargs, frame)
    plan = op.plans.get(mask) or op.plan(mask)
    if plan is None:
        return general_slowly(op, args, kwargs, frame)
    result = op.run(*plain, **kwargs)
    several = isinstance(result, (tuple, list))
    base = None
    shape: tuple[int, ...]
    if several:
        shape, dtype = (len(result),), None
    else:
        shape, dtype = backend.describe(result)
        if dtype.kind not in "fc" or type(result) is GradArray:
            if dtype.kind == "O" or type(result) is GradArray:
                return general_slowly(op, args, kwargs, frame)  # of objects: unpacked there
            if dtype.kind in "mM":
                refuse_times(op.name, dtype, frame)
            return result
        base = getattr(result, "base", None)
    if base is not None and not op.view:
        for i in op.arrays:
            if ownership.is_view(result, values[i]):
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
        return several_handles(node, result)
    handle = GradArray(result, node)
    shares = op.view and (
        result is source or (base is not None and ownership.is_view(result, source))
    )
    if shares and type(args[0]) is GradArray:
        values[op.arrays[0]] = None
        link(handle, args[0], op, tuple(values))
    return handle


def product(op: General, x1: Any, x2: Any, frame: FrameType) -> Any:
    """`general` for a function of two arrays and nothing else, such as matmul: half its time."""
    a, b, first, second = x1, x2, None, None
    if type(x1) is GradArray:
        if x1._view is not None:
            x1._view.refresh(x1)
        a, first = x1._array, x1._node
    if type(x2) is GradArray:
        if x2._view is not None:
            x2._view.refresh(x2)
        b, second = x2._array, x2._node
    pair, plan = op.pair, None
    if pair is not None and type(a) is NDARRAY and type(b) is NDARRAY and _MODE() is None:
        mask = (0 if first is None else 1) + (0 if second is None else 2)
        plan = pair.plans.get(mask) or pair.plan(mask)
    if pair is None or plan is None or plan[2]:
        return general(op, (x1, x2), {}, frame)
    result = pair.run(a, b)
    if type(result) is not NDARRAY and type(result) not in GENERIC:
        return general(op, (x1, x2), {}, frame)
    dtype = result.dtype
    if dtype is not FLOAT and dtype.kind not in "fc":
        return result
    if result.base is not None and (ownership.is_view(result, a) or ownership.is_view(result, b)):
        result = backend.snapshot(result)
    drop, guard, _, keep = plan
    if drop:
        a = None if 0 in drop else a
        b = None if 1 in drop else b
    y = result if keep else None
    if guard or pair.options:
        guards: list[tuple[Any, int, bool]] = []
        a = protect(a, guards) if 0 in guard else a
        b = protect(b, guards) if 1 in guard else b
        kept: tuple[Any, ...] = (a, b, *pair.options, y, None, *guards)
    else:
        kept = (a, b, y, None)
    return made(result, pair, (first, second), kept, frame)


def lone(op: General, x: Any, frame: FrameType) -> Any:
    """`general` for a call with one array and nothing else, such as ``np.sum(x)``."""
    if type(x) is not GradArray or x._view is LAZY or not op.lone or _MODE() is not None:
        return general(op, (x,), {}, frame)
    if x._view is None:
        array, parent = x._array, x._node
    else:
        array, parent = region(x) if op.view else current(x)
    plan = op.plans.get(1) or op.plan(1)
    if type(array) is not NDARRAY or parent is None or plan is None:
        return general(op, (x,), {}, frame)
    result = op.run(array)
    if type(result) is not NDARRAY and type(result) not in GENERIC:
        op.lone = False  # of several outputs
        return general(op, (x,), {}, frame)
    dtype = result.dtype
    if dtype is not FLOAT and dtype.kind not in "fc":
        return result
    base = result.base
    shares = result is array or (
        base is not None and (base is array or ownership.is_view(result, array))
    )
    if shares and not op.view:
        result = backend.snapshot(result)
    kept = op.nothing
    if 0 not in plan[0] or plan[3]:
        values = op.template[:]
        if 0 not in plan[0]:
            values[0] = array
        if plan[3]:
            values[-2] = result
        kept = tuple(values)
    handle = made(result, op, (parent,), kept, frame)
    if shares and op.view:
        if kept[0] is not None:
            kept = (None, *kept[1:])
        link(handle, x, op, kept)
    return handle


def _joined(op: General, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """`general` for a function of one sequence of arrays, such as concatenate and stack."""
    simple = op.sequence == 0 and not op.arrays and args and type(args[0]) in (list, tuple)
    if not simple or op.keeps((True,))[0] or op.keeps((True,))[-1]:
        return general_slowly(op, args, kwargs, frame)
    values = op.template[:]
    plain, nodes = [], []
    for item in args[0]:
        kind = type(item)
        if kind is GradArray:
            array, node = current(item)
        elif kind is NDARRAY:
            array, node = item, None
        else:
            return general_slowly(op, args, kwargs, frame)
        if type(array) not in backend.HOST or (kind is NDARRAY and array.dtype.hasobject):
            return general_slowly(op, args, kwargs, frame)
        plain.append(array)
        nodes.append(node)
    for i, value in (
        *enumerate(args[1:], 1),
        *((op.place.get(k, -1), v) for k, v in kwargs.items()),
    ):
        known = type(value) in _SIMPLE and i > 0 and op.slot_at[i] == OPTION
        if not known:
            return general_slowly(op, args, kwargs, frame)
        values[i] = value
    result = op.run(plain, *args[1:], **kwargs)
    if type(result) is not NDARRAY or not any(node is not None for node in nodes):
        return general_slowly(op, args, kwargs, frame)
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


def unclaimed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether all of it acts as its value: constants, what outlived its call (decision 0013).

    And everything where no gradient is wanted, under `no_grad`.
    """
    met: list[Node] = []
    for value in (*args, *kwargs.values()):
        strip(value, met)
    return not any(map(claimed, met))


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
    if kind == "writes" and args and type(args[0]) is backend.NDARRAY and unclaimed(args, kwargs):
        return rule.fun(*map(strip, args), **{k: strip(v) for k, v in kwargs.items()})
    if kind in ("composed", "writes"):
        body = rule.body if rule.body is not None else rule.fun._implementation
        return body(*args, **kwargs)
    if kind == "refused":
        if hasattr(rule.fun, "nin") and not kwargs:
            rule.fun(*map(strip, args))  # floats have no bits to NumPy either: its own error
        if unclaimed(args, kwargs):
            return rule.fun(*map(strip, args), **{k: strip(v) for k, v in kwargs.items()})
        raise NoDerivative(
            f"npgrad: {rule.name} has no derivative ({rule.reason}). Recorded at {at(frame)}. To "
            f"treat its argument as a constant: {rule.name}(npgrad.value(x))."
        )
    out = kwargs.pop("out", None)
    nodes: list[Node] = []
    plain = [strip(a, nodes) for a in args]
    result = rule.fun(*plain, **{k: strip(v, nodes) for k, v in kwargs.items()})
    if rule.verdict is not None and says(result, rule.verdict):
        pair = [v for v in (*args, *kwargs.values()) if hasattr(v, "dtype")]
        if len(pair) == 2 and found_equal(pair[0], pair[1], rule.name):
            result = not result if result is rule.verdict else ~result
    elif type(result) is backend.BOOL and bool(result) is rule.verdict and len(args) == 2:
        entry_equal(*args)
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
