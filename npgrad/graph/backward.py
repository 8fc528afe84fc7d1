"""The reverse sweep: nodes by decreasing id, each once, each freed when it is done with.

A cotangent is *owned* when the sweep made its buffer and nobody else refers to it; only owned
buffers are added into in place. With ``record=True`` the sweep runs on GradArrays, so that it is
itself recorded and can be differentiated again. ``batch`` counts leading axes of the cotangents
(0 or 1): many cotangents in one sweep.

A zero cotangent stays zero: where a partial derivative is infinite, ``0 * inf`` must not poison
the result. The sweep runs in stretches. At the end of each it looks at what is in flight (one sum
an array); if that is finite, the nodes of the stretch are freed, otherwise the stretch is swept
again, *careful*, with zeros masked. Most graphs are one stretch. Only rules of ufuncs and products
are, so a stretch without one is not looked at: in the backward of one layer that takes a third.
On a device whose elementwise rules are put off (`deferred`), zeros are masked at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from ..errors import GraphFreed
from . import backend, blocks
from .array import GradArray, handle_of
from .conform import conform
from .deferred import Deferred, answer, evaluator, lazily, settle, settled
from .memory import keep_freed
from .node import Leaf, Node, position, recorded_at
from .op import Op, verify
from .regions import GETITEM, add_at, is_basic

PATIENCE = 1 << 24  # entries between two looks: 128 MB of float64 (decision 0006 chose half)
MANY = 20_000  # nodes between two looks
MUCH = 1 << 17  # entries in a sweep from which on freed memory is worth keeping
TINY = 512  # entries below which a new sum is as cheap as adding in place
DEEP = 50  # views of views whose cotangents share one buffer
FLOAT = backend.FLOAT
State = tuple[dict[int, Any], dict[int, tuple[Node, Any]]]  # cotangents in flight, leaves' so far
_by_id = attrgetter("id")


def collect(seeds: Iterable[Node], floor: int) -> tuple[list[Node], list[Node]]:
    """The nodes younger than `floor` that `seeds` depend on, by id; and the older ones used."""
    order = list(dict.fromkeys(seeds))
    seen = set(order)
    older: list[Node] = []
    for node in order:  # it grows as it is read
        for parent in node.parents:
            if parent is not None and parent not in seen:
                if parent.id <= floor:
                    older.append(parent)
                else:
                    seen.add(parent)
                    order.append(parent)
    order.sort(key=_by_id)
    return order, older


def depending(order: list[Node], roots: set[int]) -> set[int]:
    """The ids in `order` (ascending) that depend on one of the nodes `roots`."""
    active = set(roots)
    for node in order:
        for parent in node.parents:
            if parent is not None and parent.id in active:
                active.add(node.id)
                break
    return active


def freed(node: Node) -> GraphFreed:
    """The error of a second sweep."""
    return GraphFreed(
        "npgrad: this recording was already swept backward, and what it kept for "
        f"{node.op.name} was freed.{recorded_at(node)} Use backward(retain_graph=True) the first "
        "time, or compute the value again."
    )


class Backward:
    """One reverse sweep."""

    def __init__(
        self,
        *,
        record: bool = False,
        batch: int = 0,
        active: set[int] | None = None,
        private: bool = False,
    ) -> None:
        self.record = record
        self.batch = batch
        self.active = active
        self.private = private  # nobody else will sweep this recording: it goes when we are done
        self.count = 0  # extent of the batch axis
        self.careful = False
        self.lazy = False  # elementwise rules on a device are put off, see `deferred`
        self.masks = True  # whether a careful sweep would mask anything
        self.entries = 0
        self.depth = 0  # of views of views whose regions are looked up
        self.cotangents: dict[int, Any] = {}
        self.owned: set[int] = set()
        self.looked: set[int] = set()  # finite as far as a second sweep could tell, see `_look`
        self.suspect = False
        self.array: Any = None  # hands a cotangent to `_leaf`, which counts who else refers to it
        self.aliased: set[int] = set()
        self.leaves: dict[int, tuple[Node, Any]] = {}

    # -- what operations call ------------------------------------------------------------------
    def wants(self, node: Node) -> bool:
        """Whether a cotangent of `node` leads anywhere."""
        return self.active is None or node.id in self.active

    def add(self, node: Node, value: Any, g: Any) -> None:
        """Add `value` to the cotangent of `node`; `g` is what it was computed from."""
        try:
            fits = value.shape == node.shape and value.dtype is node.dtype
        except AttributeError:
            fits = False
        if not fits:
            value = conform(value, node, self.batch)
        key = node.id
        if value.size < TINY and key not in self.owned and not self.batch:
            have = self.cotangents.get(key)
            if type(value) is Deferred:  # first: a device array would compute it
                have, value = value, have
            self.cotangents[key] = (
                value if have is None else have if value is None else have + value
            )
        else:
            self.accumulate(node, value, not self.record and _owns(value, g))

    def accumulate(self, node: Node, value: Any, fresh: bool) -> None:
        """Add a conforming `value`; `fresh` says that its buffer is ours."""
        key = node.id
        old = self.cotangents.get(key)
        if old is not None and self.looked:
            self.looked.discard(key)
        if old is None:
            self.cotangents[key] = value
            if fresh and not self.record:
                self.owned.add(key)
        elif key in self.owned and not self.record and not backend.is_scalar(old):
            backend.add_into(old, settled(value))
        elif key in self.owned and self.record:
            self._add_recorded(old, ..., value)
        else:
            made = self.cotangents[key] = value + old if type(value) is Deferred else old + value
            if not self.record and type(made) is not Deferred:
                self.owned.add(key)

    def add_region(self, node: Node, index: Any, value: Any) -> None:
        """Add `value` to the region `index` of the cotangent of `node`."""
        if self.batch:
            self._add_region_batched(node, index, value)
            return
        buffer = self.buffer(node)
        if self.record:
            self._add_recorded(buffer, index, value)
        elif type(index) is slice or is_basic(index):
            area = buffer[index]
            if type(area) is backend.NDARRAY:
                area += value
            elif backend.is_scalar(area):
                buffer[index] = area + value
            else:
                backend.add_into(area, value)
        else:
            backend.add_at(buffer, index, value)

    def add_item(self, node: Node, index: int, count: int, value: Any) -> None:
        """Add `value` to the cotangent of output `index` of `node`, which has `count`."""
        parts = self.cotangents.setdefault(node.id, [None] * count)
        parts[index] = value if parts[index] is None else parts[index] + value

    def buffer(self, node: Node) -> Any:
        """An owned buffer for the cotangent of `node`, holding what arrived so far."""
        key = node.id
        self.looked.discard(key)
        have = self.cotangents.get(key)
        if have is not None and key in self.owned and not backend.is_scalar(have):
            return have
        made: Any = None
        if have is None and not self.batch and not self.record and node.op.name == "getitem":
            made = self._alias(node)
        if made is None:
            shape = (self.count, *node.shape) if self.batch else node.shape
            made = backend.zeros(self.like, shape, node.dtype)
            if self.record:
                made = handle_of(made, None)
            if have is not None:
                made[...] = settled(have)
        self.cotangents[key] = made
        self.owned.add(key)
        return made

    def _alias(self, node: Node) -> Any:
        """The region of the parent's buffer, for the cotangent of a view of it; None if not one."""
        parent = node.parents[0] if node.kept is not None else None
        if parent is None or not self.wants(parent) or not is_basic(node.kept[0]):  # type: ignore[index]
            return None
        if self.depth > DEEP:
            return None
        self.depth += 1
        area = self.buffer(parent)[node.kept[0]]  # type: ignore[index]
        self.depth -= 1
        if backend.is_scalar(area):
            return None
        self.aliased.add(node.id)
        return area

    def take_over(self, g: Any, layout: Any) -> Any:
        """`g`, a cotangent that nobody else needs, as a buffer in `layout` to be written to.

        The layout is the root's: the steps to a view are views of the buffer only if they are
        views of the root.
        """
        if self.batch and layout is not None:
            layout = (0, *(axis + 1 for axis in layout))
        plain = _plain(g)
        array = not backend.is_scalar(plain)
        if self._current_owned and array and backend.layout(plain) == layout:
            return g
        made = backend.zeros(plain, *backend.describe(plain), layout)
        if self.record:
            made = handle_of(made, None)
        made[...] = g
        return made

    def hand_on(self, node: Node, buffer: Any) -> None:
        """Make `buffer` the cotangent of `node`, with what arrived there before added."""
        key = node.id
        self.looked.discard(key)
        have = self.cotangents.get(key)
        if have is not None:
            if self.record:
                buffer = buffer + have
            else:
                backend.add_into(buffer, settled(have))
        self.cotangents[key] = buffer
        self.owned.add(key)

    def lanes(self, buffer: Any) -> list[Any]:
        """The single cotangents in `buffer`."""
        return [buffer[i, ...] for i in range(self.count)] if self.batch else [buffer]

    def joined(self, parts: list[Any]) -> Any:
        """The inverse of `lanes`."""
        return backend.stack(parts) if self.batch else parts[0]

    def take(self, g: Any, place: Any) -> Any:
        """``g[place]``, behind the batch axis."""
        return g[(slice(None), *place)] if self.batch else g[place]

    def loop(self, op: Op, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """Spread one cotangent of the batch after the other, for a rule that takes one."""
        lane = _Lane(self)
        for i in range(self.count):
            part = tuple(None if p is None else p[i] for p in g) if isinstance(g, tuple) else g[i]
            lane.number = i
            op.spread(lane, node, part, kept)
        for parent, parts in lane.parts.values():
            zero = backend.zeros(self.like, parent.shape, parent.dtype)
            filled = [zero if part is None else part for part in parts]
            self.accumulate(parent, backend.stack(filled), True)

    def _add_recorded(self, buffer: Any, index: Any, value: Any) -> None:
        if index is ... or is_basic(index):
            buffer[index] = buffer[index] + value
        else:
            add_at(buffer, index, value, sys._getframe())

    def _add_region_batched(self, node: Node, index: Any, value: Any) -> None:
        buffer = self.buffer(node)
        rest = index if type(index) is tuple else (index,)
        for i in range(self.count):
            if is_basic(index):
                place = (i, *rest)
                if self.record:
                    self._add_recorded(buffer, place, value[i])
                else:
                    buffer[place] += value[i]
            elif self.record:
                self._add_recorded(buffer[i, ...], index, value[i])
            else:
                backend.add_at(buffer[i, ...], index, value[i])

    # -- the sweep ---------------------------------------------------------------------------
    def run(self, order: list[Node], seeds: list[tuple[Node, Any]], retain: bool) -> None:
        """Sweep; afterwards `leaves` holds the cotangents of the leaves met."""
        self.like = _plain(seeds[0][1])
        if self.batch:
            self.count = backend.describe(self.like)[0][0]
        for node, g in seeds:
            self.accumulate(node, g, False)
        there = backend.on_device(self.like)
        self.lazy = there and not self.record and evaluator() is not None
        with backend.quiet(), backend.where_it_lives(self.like):
            self._sweep(list(order), retain or self.record)
            if there:
                self._settle_leaves()
                answer()
        if self.entries > MUCH:
            keep_freed()

    def _sweep(self, order: list[Node], retain: bool) -> None:
        self.masks = any(node.op.masks for node in order)
        stop = len(order)
        while stop:
            state = self._checkpoint()
            begin = self._stretch(order, stop, 0)
            masked = self.masks and not self.careful
            masked = masked and (not begin or any(order[i].op.masks for i in range(begin, stop)))
            if masked and not self._finite(state, order, begin):
                self._restore(state)
                self.careful = True
                self._stretch(order, stop, begin)
            if begin == 0 and (retain or self.private):
                return  # the caller drops the nodes
            if not retain:
                _free(order[begin:])
            del order[begin:]
            stop = begin

    def _stretch(self, order: list[Node], stop: int, begin: int) -> int:
        """Sweep ``order[begin:stop]``, or the end of it; returns where the stretch begins."""
        cotangents, owned, pending = self.cotangents, self.owned, self.cotangents.get
        looked = self.looked
        record = self.record
        lazy = self.lazy
        simple = not (record or self.batch or self.active is not None or self.careful or lazy)
        entries = 0
        # Whether there may be a cotangent that is worth sweeping by blocks.
        large = self.entries > 0 or getattr(self.like, "size", 1) > blocks.LARGE
        node = order[stop - 1]
        parent: Any
        try:
            for i in range(stop - 1, begin - 1, -1):
                node = order[i]
                key = node.id
                g = cotangents.pop(key, None)
                if g is None:
                    continue
                op = node.op
                kept = node.kept
                if kept is None:
                    raise freed(node)
                if large and simple and op.by_entry and blocks.fits(g, node):
                    run = blocks.find(self, order, i, begin)
                    if len(run) >= blocks.SHORTEST:
                        entries += blocks.sweep(self, run, g)
                        continue
                if simple:  # the everyday case, written out: a ufunc, or a function of arrays
                    single = op.single
                    if single is not None:
                        dtype = node.dtype
                        if dtype is FLOAT or dtype.kind != "c":
                            parent = node.parents[0]
                            if key in owned and op.reuse is not None:
                                value = self._overwritten(op, g, kept)
                            elif len(kept) == 1:  # *kept would take a tenth of a microsecond
                                value = single(g, kept[0])
                            else:
                                value = single(g, *kept)
                            try:
                                if value.shape != parent.shape or value.dtype is not parent.dtype:
                                    value = conform(value, parent)
                                size = value.size
                            except AttributeError:
                                value, size = conform(value, parent), 1
                            key = parent.id
                            if size < TINY and key not in owned:
                                have = pending(key)
                                cotangents[key] = value if have is None else have + value
                                continue
                            ours = node.id in owned if value is g else _owns(value, g)
                            self.accumulate(parent, value, size >= TINY and ours)
                            entries += size
                            large = large or size > blocks.LARGE
                            if entries > PATIENCE and not self.aliased and not begin:
                                self.entries = entries
                                return i
                            continue
                    elif op.quick is not None and (
                        node.dtype is FLOAT or (node.dtype is not None and node.dtype.kind != "c")
                    ):
                        quick = op.quick
                        mine = op.overwrites and key in owned
                        last = quick[-1] if op.reuse is not None and mine else None
                        seen = key in looked
                        if len(kept) > op.width:
                            verify(node, kept)
                        if mine and op.both is not None:
                            quick = op.both(g, kept) or quick
                        for back, parent in zip(quick, node.parents):  # noqa: B905
                            if parent is None:
                                continue
                            if back is last:
                                value = self._overwritten(op, g, kept)
                            else:
                                value = back(g, kept, parent)
                                if value is None:
                                    continue
                            try:
                                if value.shape != parent.shape or value.dtype is not parent.dtype:
                                    value = conform(value, parent)
                                size = value.size
                            except AttributeError:
                                value, size = conform(value, parent), 1
                            key = parent.id
                            if size < TINY and key not in owned:
                                have = pending(key)
                                cotangents[key] = value if have is None else have + value
                            else:
                                ours = mine if value is g else _owns(value, g)
                                self.accumulate(parent, value, size >= TINY and ours)
                                entries += size
                                large = large or size > blocks.LARGE
                                if (
                                    size > MUCH
                                    and self.masks
                                    and (size > 8 * g.size or (len(quick) > 1 and not op.risky))
                                ):
                                    self._look(key, value, None if seen else g, op, kept)
                                    seen = True
                        continue
                    elif op is GETITEM and key not in self.aliased:
                        parent, index = node.parents[0], kept[0]
                        if type(index) is slice or is_basic(index):
                            buffer = pending(parent.id)
                            if buffer is None or parent.id not in owned or looked:
                                buffer = self.buffer(parent)
                            area = buffer[index]
                            if type(area) is backend.NDARRAY or not backend.is_scalar(area):
                                area += g
                            else:
                                buffer[index] = area + g
                            continue
                if type(op) is Leaf:
                    self.array = g
                    g = value = None
                    self._leaf(node)
                    continue
                if key in self.aliased:
                    self.aliased.discard(key)
                    continue
                if len(kept) > op.width:
                    verify(node, kept, lazy)
                if record:
                    kept = op.lift(node)
                elif lazy and op.pointwise:
                    g, kept = lazily(g), tuple(map(lazily, kept))
                elif lazy and not op.puts_off:
                    g, kept = settled(g), settled(kept)
                self._current_owned = key in owned
                op.spread(self, node, tuple(g) if type(g) is list else g, kept)
                entries += op.weight(g)
                large = large or entries > blocks.LARGE
                if (entries > PATIENCE or stop - i > MANY) and not self.aliased and not begin:
                    self.entries = max(self.entries, entries)
                    return i
        except Exception as error:
            node = self.current or node
            where = position(node)
            error.add_note(
                f"npgrad: in the derivative of {node.op.name}"
                + (f", recorded at {where}" if where else "")
            )
            raise
        self.entries = max(self.entries, entries)
        return begin

    def _overwritten(self, op: Any, g: Any, kept: tuple[Any, ...]) -> Any:
        """The value of a rule that is one ufunc of g, in the memory of `g`, which is ours."""
        ufunc, place = op.reuse
        if type(g) is not backend.NDARRAY:
            return ufunc(g, kept[place])
        return ufunc(g, kept[place], out=g, casting="same_kind")

    def _finite(self, start: State, order: list[Node], begin: int) -> bool:
        """Look whether everything in flight, and every gradient so far, is finite.

        What was in flight at the start of the stretch was looked at then, and not written to since.
        A look at a device's arrays waits for the device: it is taken only if a rule of the stretch
        is one that can make ``0 * inf``.
        """
        if self.suspect:
            return False
        if self.lazy:
            return True  # zeros are kept zero by the kernels
        if backend.on_device(self.like):
            risky = (type(node.op) is not Leaf and node.op.risky for node in order[begin:])
            if not any(risky):
                return True
        cotangents, leaves = start
        new = []
        if self.cotangents:
            new = [
                _plain(part)
                for key, g in self.cotangents.items()
                if g is not cotangents.get(key) and key not in self.looked
                for part in (g if type(g) is list else (g,))
                if part is not None
            ]
        for key, found in self.leaves.items():
            if found is not leaves.get(key) and key not in self.looked:
                new.append(_plain(found[1]))
        return backend.all_finite(new)

    def _look(self, key: int, value: Any, g: Any, op: Op, kept: tuple[Any, ...]) -> None:
        """Look at `g` in place of the larger or several values that an operation made of it.

        A second sweep changes what risky rules make of a zero, and nothing else. So where `g` is
        finite the `value` of any other operation is right, and need not be read once more; that of
        a product, where its factors are finite too. Arrays of a device are looked at together, at
        the end: each look would wait.
        """
        if backend.on_device(self.like):
            return
        if self.cotangents.get(key) is value:
            self.looked.add(key)
        parts = [] if g is None else [g]
        if op.risky:
            parts += op.factors(kept)
        if not all(backend.finite(_plain(part)) for part in parts):
            self.suspect = True

    def _checkpoint(self) -> State:
        """What is in flight; none of it will be added into in place from here on."""
        self.owned.clear()
        cotangents = self.cotangents.copy()
        for key, g in cotangents.items():
            if type(g) is list:
                cotangents[key] = g.copy()
        return cotangents, self.leaves.copy()

    def _restore(self, start: State) -> None:
        self.cotangents, self.leaves = start
        self.owned.clear()
        self.looked.clear()

    def _leaf(self, node: Node) -> None:
        """Keep ``self.array`` as the gradient of `node`; a copy, if anybody else refers to it."""
        g = self.array
        if type(g) is Deferred:
            if node.parents:
                self.array = g = settled(g)
            else:
                self.array = None
                self.leaves[node.id] = (node, g)
                return
        if node.parents:  # it stands for a value of an outer differentiation
            parent = node.parents[0]
            if parent is not None and self.wants(parent):
                self.accumulate(parent, g, False)
        ours = node.id in self.owned or self.record
        if not ours:
            g = None
            ours = backend.exclusive(self)
        g, self.array = self.array, None
        self.leaves[node.id] = (node, g if ours else backend.snapshot_any(g))

    def _settle_leaves(self) -> None:
        """Compute the gradients, those of one shape in one kernel; each is a buffer of its own."""
        settle([g for _, g in self.leaves.values() if type(g) is Deferred])
        given: set[int] = set()
        for key, (node, g) in self.leaves.items():
            if type(g) is Deferred:
                array = settled(g)
                ours = g.name != "input" and id(array) not in given
                given.add(id(array))
                self.leaves[key] = (node, array if ours else backend.snapshot(array))

    like: Any = None
    current: Node | None = None  # the operation of a block that is being swept
    _current_owned = False


def _free(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if type(node.op) is not Leaf:
            node.kept = None
            node.parents = ()


class _Lane:
    """What an operation sees of a batched sweep when it spreads one cotangent at a time."""

    batch = 0
    lazy = False

    def __init__(self, walk: Backward) -> None:
        self.walk = walk
        self.number = 0
        self.parts: dict[int, tuple[Node, list[Any]]] = {}
        self.active = walk.active
        self.careful = walk.careful

    def wants(self, node: Node) -> bool:
        return self.walk.wants(node)

    def add(self, node: Node, value: Any, g: Any) -> None:
        value = conform(value, node)
        parts = self.parts.setdefault(node.id, (node, [None] * self.walk.count))[1]
        have = parts[self.number]
        parts[self.number] = value if have is None else have + value


def _plain(value: Any) -> Any:
    if type(value) is list:
        return next(part for part in map(_plain, value) if part is not None)
    return (
        value._array
        if type(value) is GradArray and value._array is not None
        else (value._view.peek() if type(value) is GradArray else value)
    )


def _owns(value: Any, g: Any) -> bool:
    """Whether `value` is a buffer of its own: neither `g`, nor a view of what somebody else has."""
    if type(value) is backend.NDARRAY:
        return value is not g and value.flags.writeable and backend.sole_view(value)
    if type(value) is Deferred:
        return False
    return (
        value is not g
        and getattr(value, "base", None) is None
        and not backend.is_scalar(value)
        and bool(getattr(getattr(value, "flags", None), "writeable", True))
    )
