"""The forward sweep: tangents pushed along a recording, nodes by increasing id.

The tangent of a root that is written to is one buffer: a write stores its tangent there when it is
the last to use the previous version's.
"""

from __future__ import annotations

from typing import Any

from . import backend, ownership
from .array import GradArray, leaf, unwrap
from .backward import Backward
from .conform import conform, spread
from .cotangents import plain_of
from .deferred import settled
from .general import conjugate, is_complex
from .node import Leaf, Node, position
from .op import Op, verify
from .order import collect, depending, freed

MANY = 8  # tangents from which one reverse rule for all is cheaper than a forward rule for each


def _of_rows(index: Any) -> Any:
    """`index` behind a leading axis, None where NumPy would put the axes of arrays first."""
    items = index if type(index) is tuple else (index,)
    arrays = [i for i, item in enumerate(items) if not _cuts(item)]
    numbers = [i for i, item in enumerate(items) if type(item) is int]
    if arrays:  # they and the numbers beside them must be neighbours
        places = sorted(arrays + numbers)
        if places[-1] - places[0] >= len(places):
            return None
    return (slice(None), *items)


def _cuts(item: Any) -> bool:
    """Whether an item of an index is basic."""
    return type(item) is int or type(item) is slice or item is None or item is Ellipsis


class Forward:
    """One forward sweep."""

    def __init__(self, *, record: bool = False, batch: int = 0) -> None:
        self.record = record
        self.batch = batch
        self.count = 0
        self.like: Any = 0.0  # an array of the library that the tangents are made with
        self.tangents: dict[int, Any] = {}
        self.last_use: dict[int, int] = {}
        self.buffers: set[int] = set()  # tangents that a write may go on writing into
        self.current = 0
        self.there = False  # on a device

    def run(
        self, order: list[Node], seeds: dict[int, Any], outputs: list[Node | None]
    ) -> list[Any]:
        """The tangents of `outputs`, None where they are zero; `order` is ascending."""
        tangents = self.tangents = dict(seeds)
        for tangent in seeds.values():
            self.like = plain_of(tangent)
        self.there = backend.on_device(self.like)
        if self.batch:
            self.count = backend.describe(self.like)[0][0]
        for node in order:
            for parent in node.parents:
                if parent is not None:
                    self.last_use[parent.id] = node.id
        for out in outputs:
            if out is not None:
                self.last_use[out.id] = -1
        try:
            with backend.quiet(), backend.where_it_lives(self.like):
                for node in order:
                    self._step(node, tangents)
        except Exception as error:
            where, name = position(node), node.op.name
            error.add_note(
                f"npgrad: in the derivative of {name}" + (f", recorded at {where}" if where else "")
            )
            raise
        return [None if out is None else tangents.get(out.id) for out in outputs]

    def _step(self, node: Node, tangents: dict[int, Any]) -> None:
        op = node.op
        given = [None if p is None else tangents.get(p.id) for p in node.parents]
        if all(t is None for t in given):
            return
        if type(op) is Leaf:  # stands for a value of an outer differentiation
            tangents.setdefault(node.id, given[0])
            return
        kept = node.kept
        if kept is None:
            raise freed(node)
        if len(kept) > op.width:
            verify(node, kept)
        if self.record:
            kept = op.lift(node)
        elif self.there:
            kept = settled(kept)
        self.current = node.id
        if self.batch and not op.pushes_batches(given):
            result = self._looped(op, node, given, kept)
        else:
            result = op.push(self, node, given, kept)
        if result is not None:
            if type(result) is tuple or type(result) is list:
                tangents[node.id] = tuple(result)
            else:
                result = spread(result, node, self.batch)
                if self.buffers and node.id not in self.buffers:
                    result = self._apart(result, node, given)
                tangents[node.id] = result
        for parent in node.parents:
            if parent is not None and self.last_use.get(parent.id) == node.id:
                tangents.pop(parent.id, None)

    def _apart(self, result: Any, node: Node, given: list[Any]) -> Any:
        """`result`, copied if it is a buffer that later writes change, or a view of one."""
        for parent, tangent in zip(node.parents, given, strict=True):
            changing = tangent is not None and parent is not None and parent.id in self.buffers
            if changing and (result is tangent or _shares(result, tangent)):
                return result.copy()
        return result

    def _looped(self, op: Op, node: Node, given: list[Any], kept: tuple[Any, ...]) -> Any:
        """One tangent of the batch after the other, for a rule that takes one.

        Many go at once, against the sweep of a rule of reverse mode that takes a batch.
        """
        if self.count >= MANY and node.dtype is not None and op.turns_batches(given):
            return self._turned(op, node, given, kept)
        walk = Forward(record=self.record)
        walk.current, walk.last_use, walk.like = self.current, self.last_use, self.like
        rows = [
            op.push(walk, node, [None if t is None else t[i] for t in given], kept)
            for i in range(self.count)
        ]
        if isinstance(rows[0], (tuple, list)):
            return tuple(
                None if row[0] is None else backend.stack(list(row))
                for row in zip(*rows, strict=True)
            )
        return backend.stack([spread(row, node) for row in rows])

    def _turned(self, op: Op, node: Node, given: list[Any], kept: tuple[Any, ...]) -> Any:
        """The sum over the operands of what `transposed` gives for the whole batch."""
        total = None
        for slot, tangent in enumerate(given):
            if tangent is not None:
                part = self.transposed(op, node, slot, tangent, kept)
                if part is not None:
                    total = part if total is None else total + part
        if total is None:
            total = backend.zeros(self.like, (self.count, *node.shape), node.dtype)
        return total

    # -- what operations call ------------------------------------------------------------------
    def aligned(self, tangent: Any, parent: Node, node: Node) -> Any:
        """`tangent` of a batch with axes of length one behind the batch, to broadcast as x does."""
        missing = len(node.shape) - len(parent.shape)
        if not self.batch or missing <= 0:
            return tangent
        return tangent.reshape((self.count, *(1,) * missing, *parent.shape))

    def guarded(self, op: Op, rule: Any, tangent: Any, kept: tuple[Any, ...], parent: Node) -> Any:
        """What an elementwise `rule` makes of `tangent`, with ``0 * inf`` made zero.

        The zero may be the tangent, or the slope: there a reverse sweep would have met a zero
        cotangent. No wait for a device.
        """
        value = rule(tangent, kept, parent)
        if not op.risky:
            return value
        if self.there:
            return backend.masked(tangent, value)
        if not backend.finite(plain_of(value)):
            value = backend.masked(tangent, value)
            if op.holomorphic and not backend.finite(plain_of(tangent)):
                ones = backend.zeros(self.like, *backend.describe(plain_of(tangent))) + 1
                value = backend.masked(rule(ones, tuple(map(unwrap, kept)), parent), value)
        return value

    def take(self, tangent: Any, index: Any) -> Any:
        """``tangent[index]``, a copy if later writes could change it."""
        if self.batch:
            whole = _of_rows(index)
            if whole is None:
                return backend.stack([tangent[i][index] for i in range(self.count)])
            index = whole
        part = tangent[index]
        return part.copy() if hasattr(part, "copy") and not backend.is_scalar(part) else part

    def tangent_buffer(self, node: Node, before: Any, layout: Any) -> Any:
        """A buffer of `node`'s shape holding `before`, which may be the very buffer of `before`."""
        parent = node.parents[0]
        ours = before is not None and parent is not None and parent.id in self.buffers
        if ours and self.last_use.get(parent.id) == node.id:  # type: ignore[union-attr]
            self.buffers.add(node.id)
            return before
        shape = (self.count, *node.shape) if self.batch else node.shape
        if self.batch and layout is not None:
            layout = (0, *(axis + 1 for axis in layout))
        made = backend.zeros(self.like, shape, node.dtype, layout)
        if self.record:
            made = GradArray(made, None)
        if before is not None:
            made[...] = before
        self.buffers.add(node.id)
        return made

    def lanes(self, buffer: Any) -> list[Any]:
        """The single tangents in `buffer`."""
        return [buffer[i, ...] for i in range(self.count)] if self.batch else [buffer]

    def transposed(
        self, op: Any, node: Node, slot: int, tangent: Any, kept: tuple[Any, ...]
    ) -> Any:
        """The JVP as the adjoint of the VJP, for a rule that has no forward form.

        The VJP is linear in g; it is recorded at g = 0, and swept backward from the tangent.
        """
        parent = node.parents[slot]
        assert parent is not None
        if node.dtype is None:
            y = kept[op.width - 2]
            shapes = [backend.describe(part) for part in y]
        else:
            shapes = [(node.shape, node.dtype)]
        dummies = [
            leaf(backend.zeros(self.like, shape, dtype)) if backend.is_inexact(dtype) else None
            for shape, dtype in shapes
        ]
        g: Any = dummies[0] if node.dtype is not None else tuple(dummies)
        turn = op.holomorphic and is_complex(g)
        back = op.backs[slot](conjugate(g) if turn else g, kept, parent)
        if back is None:
            return None
        back = conform(conjugate(back) if turn else back, parent)
        roots = [d._node for d in dummies if d is not None]
        if type(back) is not GradArray or back._node is None:
            return None
        floor = roots[0].id - 1  # type: ignore[union-attr]
        order, older = collect([back._node], floor)
        ids = {r.id for r in roots if r is not None}
        record = self.record or bool(older) or type(tangent) is GradArray
        active = depending(order, ids) if older else None
        walk = Backward(record=record, active=active, batch=self.batch)
        walk.run(order, [(back._node, tangent)], retain=record)
        parts = [
            None if d is None else walk.leaves.get(d._node.id, (None, None))[1]  # type: ignore[union-attr]
            for d in dummies
        ]
        return parts[0] if node.dtype is not None else tuple(parts)


def _shares(result: Any, tangent: Any) -> bool:
    """Whether a write to `tangent` shows in `result`; of recorded ones the plain arrays may differ.

    A recorded view of a buffer that was written to holds a copy until the next write.
    """
    if type(result) is GradArray and type(tangent) is GradArray:
        ours, theirs = result._view, tangent._view
        if ours is not None and theirs is not None and ours.root is theirs.root:
            return True
    return ownership.is_view(plain_of(result), plain_of(tangent))
