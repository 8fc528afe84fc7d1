"""The sweep of a recording that comes again, replayed as a CUDA graph.

A step of a small network is bound by the host, and more than half of that is the sweep: rules,
launches, memory. `grad` and `value_and_grad` run the function as ever; the sweep of its recording
is read into a key of everything that decides what it launches (`_Structure`). What has the same key
for the `FIRST` time is recorded as a graph, on copies of the arrays that the recording kept
(`_Moved`); from then on these arrays are copied there and the graph is launched. Anything unknown,
and whatever cannot be recorded, is swept as ever. Decision 0023 says why this is safe.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from npgrad.graph import backend, modes, questions
from npgrad.graph.backward import Backward
from npgrad.graph.deferred import Deferred, put_off
from npgrad.graph.general import General, Slots, Zeros
from npgrad.graph.node import Leaf, Node
from npgrad.graph.op import Variant
from npgrad.graph.placing import device_of
from npgrad.graph.regions import GETITEM

from .capture import Graph, recording

__all__ = ["Sweeps"]

FIRST = 8  # the sighting of a structure at which its sweep is recorded
TRUST = 64  # structures met in vain, less those replayed, before a function is left alone
KEPT = 4  # structures remembered of one function, each with its graph and memory
MOST_BYTES = 64 << 20  # to copy them takes 30 us; a larger step does not wait for the host
MOST_NODES = 2000

# Functions whose rules are known to take all they need from the recording and from the device.
RECORDABLE = frozenset(
    {
        "npgrad.primitives.reshape_rows", "npgrad.rules.shape.ravel_rows",
        *("np." + name for name in (
            "broadcast_to", "concatenate", "expand_dims", "matmul", "mean", "squeeze", "stack",
            "sum", "swapaxes", "transpose", "where",
        )),
        *("npgrad.nn." + name for name in (
            "batch_norm", "conv2d", "conv2d_add_bias", "cross_entropy", "erf", "gelu",
            "gelu_erf", "group_norm", "layer_norm", "leaky_relu", "log_softmax",
            "relu", "rms_norm", "sigmoid", "silu", "softmax", "softplus",
        )),
    }
)  # fmt: skip
OURS = ("npgrad.nn.", "npgrad.primitives", "npgrad.rules.", "npgrad.table.")  # not a user's rule
_PLAIN = frozenset({bool, int, str})
_place = attrgetter("place")


class _Unlike(Exception):
    """The recording holds what a graph could not follow."""


def _fixed(values: Any) -> bool:
    """Whether there are only whole numbers, names and None in a tuple: axes, shapes, geometries."""
    for value in values:
        kind = type(value)
        if value is not None and kind not in _PLAIN and not (kind is tuple and _fixed(value)):
            return False
    return True


def _known(op: Any) -> bool:
    """Whether all that the rules of `op` do is a function of what a node keeps."""
    if op is GETITEM:
        return True
    base = getattr(op, "variant", op)  # one with guards
    if type(base) is not Variant and (type(base) is not General or base.name not in RECORDABLE):
        return False
    rules = [rule for rule in base.rule.vjps.values() if rule is not None]
    return all(str(getattr(rule, "__module__", "")).startswith(OURS) for rule in rules)


_KNOWN: dict[Any, bool] = {}  # what `_known` said


def _expression(value: Deferred, known: Any) -> list[Deferred]:
    """`value` and what it is computed from, operands first, without those in `known`."""
    stack, found = [value], {id(value): value}
    while stack:
        for operand in stack.pop().operands:
            if type(operand) is Deferred and id(operand) not in found and id(operand) not in known:
                found[id(operand)] = operand
                stack.append(operand)
    return sorted(found.values(), key=_place)


class _Structure:
    """What decides which launches the sweep of a recording makes: `key`, flat; and its arrays."""

    def __init__(self, order: Sequence[Node], leaves: Sequence[Node]) -> None:
        self.key: list[Any] = [os.environ.get("NPGRAD_CUDA_DETERMINISTIC"), len(leaves)]
        self.arrays: list[Any] = []
        self.numbers: dict[int, int] = {}  # of arrays and deferred arrays met, by id
        places = {node: i for i, node in enumerate(order)}
        among = {leaf: i for i, leaf in enumerate(leaves)}
        add = self.key.append
        for node in order:
            op = node.op
            add(node.shape)
            add(node.dtype)
            if type(op) is Leaf:
                if node.parents or node not in among:
                    raise _Unlike
                add(among[node])
                continue
            known = _KNOWN.get(op)
            if known is None:
                if len(_KNOWN) > 4096:  # some operations are made at each call
                    _KNOWN.clear()
                known = _KNOWN[op] = _known(op)
            if not known or node.kept is None:
                raise _Unlike
            add(op)
            for parent in node.parents:
                add(None if parent is None else places[parent])
            self.value(node.kept)

    def value(self, value: Any) -> None:
        """Add something that a node keeps."""
        add, kind = self.key.append, type(value)
        if value is None or kind in _PLAIN:
            self.key += (kind, value)
        elif kind is Deferred:
            self.expression(value)
        elif kind is float:
            add(value.hex())  # 0.0 and -0.0 differ
        elif kind in backend.GENERIC:
            self.key += (value.dtype.char, value.tobytes())
        elif isinstance(value, (tuple, list)):
            if kind is not list and _fixed(value):
                self.key += (kind, value)
                return
            self.key += (kind, len(value))
            for item in value:
                if item is None:
                    add(None)
                else:
                    self.value(item)
        elif backend.on_device(value):
            self.array(value)
        elif kind is slice:
            self.key += (slice, value.start, value.stop, value.step)
            if not _fixed((value.start, value.stop, value.step)):
                raise _Unlike
        elif kind is Zeros:
            self.key += (kind, value.shape)
        elif kind is Slots:
            self.key += (kind, value.shape, value.dtype)
        elif value is Ellipsis or value is np._NoValue or isinstance(value, (np.dtype, type)):
            add(value)
        else:
            raise _Unlike

    def array(self, array: Any) -> None:
        """Add an array by what a kernel's choice may depend on, the first time."""
        number = self.numbers.get(id(array))
        if number is None:
            flags = array.flags
            if not (flags.c_contiguous or flags.f_contiguous):
                raise _Unlike  # its copy would lie otherwise
            number = self.numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
            self.key += (array.shape, array.dtype, flags.c_contiguous, device_of(array))
        self.key += ("array", number)

    def expression(self, value: Deferred) -> None:
        """Add a deferred array: its operations the first time they are met."""
        add, numbers = self.key.append, self.numbers
        if id(value) not in numbers:
            for node in _expression(value, numbers):
                if node.value is not None:
                    add("value")
                    self.array(node.value)
                else:
                    self.key += (node.name, node.shape, node.dtype)
                    for operand in node.operands:
                        if type(operand) is Deferred:
                            self.key += ("put off", numbers[id(operand)])
                        else:
                            self.value(operand)
                numbers[id(node)] = len(numbers)
        self.key += ("put off", numbers[id(value)])


class _Moved:
    """What a recording keeps, with other arrays in the place of its own."""

    def __init__(self, places: dict[int, Any]) -> None:
        self.made = places  # by the id of what they stand for

    def value(self, value: Any) -> Any:
        """`value` itself where no array is in it."""
        if type(value) is Deferred:
            return self.expression(value)
        if isinstance(value, (tuple, list)):
            parts = [self.value(item) for item in value]
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        return self.made.get(id(value), value)

    def expression(self, value: Deferred) -> Any:
        """A deferred array, put off once more."""
        made = self.made
        if id(value) not in made:
            for node in _expression(value, made):
                if node.value is not None:
                    there = made[id(node.value)]
                    made[id(node)] = put_off("input", None, (), node.shape, node.dtype, there)
                else:
                    operands = tuple([made.get(id(o), o) for o in node.operands])
                    made[id(node)] = put_off(
                        node.name, node.apply, operands, node.shape, node.dtype
                    )
        return made[id(value)]


def _swept(
    order: Sequence[Node], leaves: Sequence[Node], arrays: Sequence[Any], places: Sequence[Any]
) -> list[Any]:
    """The cotangents of `leaves`, None where nothing arrives, from `places` for the arrays kept."""
    moved = _Moved({id(array): place for array, place in zip(arrays, places, strict=True)})
    made: dict[Node | None, Node | None] = {None: None}
    for node in order:
        op, kept = node.op, ()
        if type(op) is Leaf:
            op = Leaf(False)
            op.open = False
        else:
            kept = moved.value(node.kept)
        parents = tuple([made[parent] for parent in node.parents])
        made[node] = Node(op, parents, kept, node.shape, node.dtype, node.code, node.lasti)
    twins: list[Any] = [made[node] for node in order]
    walk = Backward(private=True)
    walk.run(twins, [(twins[-1], backend.ones_like(twins[-1], places[0]))], False)
    found = [walk.leaves.get(made[leaf].id) if leaf in made else None for leaf in leaves]  # type: ignore[union-attr]
    return [None if one is None else one[1] for one in found]


class Sweeps:
    """The sweeps of one function's recordings on a device."""

    def __init__(self, graph: Callable[..., Any] = Graph) -> None:
        self.graph = graph
        self.seen: OrderedDict[Any, Any] = OrderedDict()  # times met, a graph, or False: none
        self.trust = TRUST
        self.replayed = 0  # for tests and people who look
        self.lock = threading.Lock()

    def __call__(
        self, order: Sequence[Node], leaves: Sequence[Node]
    ) -> dict[int, tuple[Node, Any]] | None:
        """The cotangents of the leaves by id, as a sweep leaves them; None: sweep as ever."""
        if self.trust < 0 or modes.MODE.get() is not None or len(order) > MOST_NODES:
            return None
        if not self.lock.acquire(blocking=False):
            return None  # another thread replays
        try:
            if recording():
                return None
            found = self._found(order, leaves)
        finally:
            self.lock.release()
        if found is None:
            self.trust -= 1
            return None
        self.trust = min(TRUST, self.trust + 1)
        return {leaf.id: (leaf, g) for leaf, g in zip(leaves, found, strict=True) if g is not None}

    def _found(self, order: Sequence[Node], leaves: Sequence[Node]) -> list[Any] | None:
        try:
            structure = _Structure(order, leaves)
        except _Unlike:
            return None
        arrays = structure.arrays
        if not arrays or sum(array.nbytes for array in arrays) > MOST_BYTES:
            return None
        key = tuple(structure.key)
        graph = self.seen.get(key, 0)
        if type(graph) is int:
            graph = self.seen[key] = graph + 1
            if len(self.seen) > KEPT:
                self.seen.popitem(last=False)
            if graph < FIRST:
                return None
            graph = self.seen[key] = self._recorded(order, leaves, arrays)
        self.seen.move_to_end(key)
        if graph is False:
            return None
        with backend.where_it_lives(arrays[0]):
            found: list[Any] = graph.launch(arrays)
            questions.answer()  # the function's own come first, as in a sweep
            graph.check()
        self.replayed += 1
        return found

    def _recorded(
        self, order: Sequence[Node], leaves: Sequence[Node], arrays: Sequence[Any]
    ) -> Any:
        """A graph of the sweep; False where it cannot be one, and the sweep says what is wrong."""
        try:
            with backend.where_it_lives(arrays[0]):
                return self.graph(lambda places: _swept(order, leaves, arrays, places), arrays)
        except Exception:
            return False
