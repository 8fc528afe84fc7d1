"""The reverse sweep: nodes by decreasing id, each once, each freed when it is done with.

With ``record=True`` the sweep runs on GradArrays, so that it is itself recorded and can be
differentiated again. ``batch`` counts leading axes of the cotangents (0 or 1): many cotangents in
one sweep.

A zero cotangent stays zero: where a partial derivative is infinite, ``0 * inf`` must not poison
the result. The sweep runs in stretches. At the end of each it looks at what is in flight (one sum
an array); if that is finite, the nodes of the stretch are freed, otherwise the stretch is swept
again, *careful*, with zeros masked. Most graphs are one stretch. Only rules of ufuncs and products
are, so a stretch without one is not looked at: in the backward of one layer that takes a third.
On a device whose elementwise rules are put off (`deferred`), zeros are masked at once.
"""

from __future__ import annotations

from typing import Any

from . import backend, blocks, certain, gathered, modes, ownership
from .conform import cast, conform
from .cotangents import Cotangents, owns, plain_of
from .deferred import Deferred, evaluator, lazily, settle, settled
from .listeners import check_cotangent
from .memory import keep_freed
from .node import Leaf, Node, say_where
from .op import Op, verify
from .order import free, freed
from .questions import answer
from .regions import GETITEM
from .small import TINY

PATIENCE = 1 << 24  # entries between two looks: 128 MB of float64 (decision 0006 chose half)
MANY = 20_000  # nodes between two looks
MUCH = 1 << 17  # entries in a sweep from which on freed memory is worth keeping
FLOAT = backend.FLOAT
State = tuple[dict[int, Any], dict[int, tuple[Node, Any]]]  # cotangents in flight, leaves' so far


def is_real(node: Node) -> bool:
    """Whether the value of `node` is one real array: of several outputs the dtype is None."""
    return node.dtype is not None and node.dtype.kind != "c"


class Backward(Cotangents):
    """One reverse sweep."""

    masks = True  # whether a careful sweep would mask anything
    entries = 0  # that this stretch made
    most = 0  # ... and that one stretch made, at most
    suspect = False
    array: Any = None  # hands a cotangent to `_leaf`, which counts who else refers to it
    result: Any = None  # what the sweep begins at: the scalar whose gradient this is
    certain: bool | None = None  # whether no zero can meet an infinity; None: not asked yet
    order: list[Node]
    checked = False  # under `npgrad.debug`: the first NaN raises
    current: Node | None = None  # the operation of a block that is being swept

    def run(self, order: list[Node], seeds: list[tuple[Node, Any]], retain: bool) -> None:
        """Sweep; afterwards `leaves` holds the cotangents of the leaves met."""
        self.like = plain_of(seeds[0][1])
        mode = modes.MODE.get()
        if mode is not None and mode.checked:
            self.checked = self.careful = True
        if self.batch:
            self.count = backend.describe(self.like)[0][0]
        for node, g in seeds:
            self.accumulate(node, g, False)
        there = backend.on_device(self.like)
        self.lazy = there and not self.record and evaluator() is not None
        with backend.quiet():
            if there:
                with backend.where_it_lives(self.like):
                    self._sweep(list(order), retain or self.record)
                    self._settle_leaves()
                    answer()
            else:
                self._sweep(list(order), retain or self.record)
        if self.most > MUCH:
            keep_freed()

    def is_certain(self, entries: int) -> bool:
        """Whether a look at `entries` can be spared, see `certain`."""
        if self.certain is None:
            if entries < certain.FEW * len(self.order):
                return False  # asked again when there is more
            self.certain = certain.no_zero_meets_infinity(self.order, self.result)
        return self.certain

    def _sweep(self, order: list[Node], retain: bool) -> None:
        self.order = order
        self.masks = False
        for node in reversed(order):
            if node.op.masks:
                self.masks = True
                break
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
            self.certain = bool(self.certain)  # of the rest alone nothing can be told
            if not retain:
                free(order[begin:])
            del order[begin:]
            stop = begin

    def _stretch(self, order: list[Node], stop: int, begin: int) -> int:
        """Sweep ``order[begin:stop]``, or the end of it; returns where the stretch begins."""
        cotangents, owned = self.cotangents, self.owned
        record, lazy = self.record, self.lazy
        simple = not (record or self.batch or self.active is not None or self.careful or lazy)
        self.entries = 0
        node = order[stop - 1]
        try:
            for i in range(stop - 1, begin - 1, -1):
                node = order[i]
                key = node.id
                g = cotangents.pop(key, None) if not self.halves else self.take_out(node)
                if g is None:
                    continue
                op = node.op
                kept = node.kept
                if kept is None:
                    raise freed(node)
                if self.checked:
                    check_cotangent(node, g)
                if simple and (node.dtype is FLOAT or is_real(node)):
                    if g.size < TINY or op is GETITEM:
                        if op.pull is not None and op.pull(node, g, kept, self):
                            continue
                    elif op.by_entry and g.size > blocks.LARGE and blocks.fits(g, node):
                        run = blocks.find(self, order, i, begin)
                        if blocks.saves(run):
                            self.entries += blocks.sweep(self, run, g)
                            continue
                    if op.quick is not None:
                        self._pull_large(node, g, kept)
                        if self.entries > PATIENCE and not self.aliased and not begin:
                            return i
                        continue
                if type(op) is Leaf:
                    self.array = g
                    g = None
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
                self.current_owned = key in owned
                op.spread(self, node, tuple(g) if type(g) is list else g, kept)
                self.entries += op.weight(g)
                if (self.entries > PATIENCE or stop - i > MANY) and not self.aliased and not begin:
                    return i
        except Exception as error:
            say_where(error, self.current or node)
            raise
        finally:
            self.most = max(self.most, self.entries)
        return begin

    def _pull_large(self, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """The everyday sweep of an operation, where a cotangent that is ours may be used again."""
        op: Op = node.op
        quick: Any = op.quick
        ours = node.id in self.owned
        over = op.over if ours else -1
        seen = node.id in self.looked
        if len(kept) > op.width:
            verify(node, kept)
        pair = None if op.both is None else self._pair(node, g, kept)
        takers: list[Node] = []  # the parents that get g itself
        others = []  # what the rest gets
        for i in op.turns or range(len(quick)):
            parent = node.parents[i]
            if parent is None:
                continue
            root = gathered.root_of(parent, g) if op.by_rows and i == 0 else None
            if root is not None:
                gathered.scatter(self, op, parent, root, g, kept)
                continue
            if pair is not None:
                value = pair[i]
            elif op.simple and (factor := blocks.factor(op.simple[i], g, kept)) is not None:
                if factor.shape == parent.shape and factor.dtype is parent.dtype:
                    self.accumulate(parent, factor, False)  # an operand, not ours
                    continue
                value = factor
            elif i == over and not takers:
                value = self._overwritten(op.simple[i], g, kept)
            elif op.bare and op.bare[i] and parent.shape != g.shape:
                value = quick[i](conform(g, parent), kept, parent)  # a sum first is shorter
            else:
                value = quick[i](g, kept, parent)
            if value is None:
                continue
            try:
                if value.shape != parent.shape or value.dtype is not parent.dtype:
                    value = conform(value, parent)
            except AttributeError:
                value = conform(value, parent)
            if value is g and i != over:
                takers.append(parent)
            else:
                others.append(value)
            mine = ours and (i == over or len(quick) == 1)
            seen = self.place(parent, value, g, op, kept, mine, seen)
        if ours and over < 0 and len(takers) == 1 and op.by_entry:
            key = takers[0].id
            if self.cotangents.get(key) is g and all(owns(value, g) for value in others):
                self.owned.add(key)

    def place(
        self,
        parent: Node,
        value: Any,
        g: Any,
        op: Op,
        kept: Any,
        mine: bool = False,
        seen: bool = False,
    ) -> bool:
        """Add a conforming `value`, which `op` made of `g`, and look at `g` if that is due.

        `mine`: `g` is ours, and goes to `parent` alone if it is `value`. Returns whether `g` was
        looked at; `seen` says whether it had been before.
        """
        size = value.size
        if size < TINY:
            self.accumulate(parent, value, False)
            return seen
        self.accumulate(parent, value, mine if value is g else owns(value, g))
        self.entries += size
        several = len(op.quick or ()) > 1 and not op.risky
        stays = size > MUCH and self.masks and type(parent.op) is Leaf  # until the look at the end
        if stays and (size > 8 * g.size or several):
            self.look(parent.id, value, None if seen else g, op, kept)
            return True
        return seen

    def _pair(self, node: Node, g: Any, kept: tuple[Any, ...]) -> tuple[Any, Any] | None:
        """Both cotangents of an operation of two inputs by its rule for both; None if it has no."""
        for parent in node.parents:
            if parent.shape != g.shape or parent.dtype is not g.dtype:  # type: ignore[union-attr]
                return None
        pair = backend.empty(g.shape, g.dtype), backend.empty(g.shape, g.dtype)
        return pair if node.op.both(g, pair, kept) else None

    def _overwritten(self, simple: Any, g: Any, kept: tuple[Any, ...]) -> Any:
        """The value of a rule that is one ufunc of g, in the memory of `g`, which is ours."""
        ufunc, place = simple
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
                plain_of(part)
                for key, g in self.cotangents.items()
                if g is not cotangents.get(key) and key not in self.looked
                for part in (g if type(g) is list else (g,))
                if part is not None
            ]
        for key, found in self.leaves.items():
            if found is not leaves.get(key) and key not in self.looked:
                new.append(plain_of(found[1]))
        if self.is_certain(sum(value.size for value in new if hasattr(value, "size"))):
            return True
        return backend.all_finite(new)

    def look(self, key: int, value: Any, g: Any, op: Op, kept: tuple[Any, ...]) -> None:
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
        if self.is_certain(value.size):
            return
        parts = [] if g is None else [g]
        if op.risky:
            parts += op.factors(kept)
        if not all(backend.finite(plain_of(part)) for part in parts):
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
        if g.dtype is not node.dtype:  # a sum is in the machine's order of bytes
            self.array = g = cast(g, node.dtype)
        if node.parents:  # it stands for a value of an outer differentiation
            parent = node.parents[0]
            if parent is not None and self.wants(parent):
                self.accumulate(parent, g, False)
        ours = node.id in self.owned or self.record
        tiny = type(g) is backend.NDARRAY and g.size < TINY  # a copy costs less than to ask
        if not ours and not tiny:
            g = None
            ours = ownership.exclusive(self)
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
