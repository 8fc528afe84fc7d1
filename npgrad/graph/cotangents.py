"""The cotangents in flight during a reverse sweep, and who owns their buffers.

A cotangent is *owned* when the sweep made its buffer and nobody else refers to it; only owned
buffers are added into in place. The methods of `Cotangents` are what operations call when they
spread a cotangent to their parents.

What adds up to the cotangent of a float16 value is added in float32, and cast when the sweep takes
it (`Cotangents.take_out`): sums of float16 stop at 2048 ones.
"""

from __future__ import annotations

import sys
from typing import Any

from . import backend, ownership
from .array import GradArray, handle_of
from .conform import cast, conform
from .deferred import Deferred, settled
from .node import Node
from .op import Op
from .regions import add_at, is_basic
from .small import TINY

HALF, SINGLE = backend.HALF, backend.SINGLE
DEEP = 50  # views of views whose cotangents share one buffer


class Cotangents:
    """What a reverse sweep holds, and how operations add to it."""

    like: Any = None
    count = 0  # extent of the batch axis
    careful = False
    lazy = False  # elementwise rules on a device are put off, see `deferred`
    depth = 0  # of views of views whose regions are looked up
    current_owned = False
    halves = False  # whether there are cotangents of float16 values that are float32 so far

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
        self.cotangents: dict[int, Any] = {}
        self.owned: set[int] = set()
        self.looked: set[int] = set()  # finite as far as a second sweep could tell
        self.aliased: set[int] = set()
        self.leaves: dict[int, tuple[Node, Any]] = {}

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
        few = value.size < TINY and node.dtype is not HALF
        if few and key not in self.owned and not self.batch:
            have = self.cotangents.get(key)
            if type(value) is Deferred:  # first: a device array would compute it
                have, value = value, have
            self.cotangents[key] = (
                value if have is None else have if value is None else have + value
            )
        else:
            self.accumulate(node, value, not self.record and owns(value, g))

    def accumulate(self, node: Node, value: Any, fresh: bool) -> None:
        """Add a conforming `value`; `fresh` says that its buffer is ours."""
        key = node.id
        old = self.cotangents.get(key)
        if old is not None and self.looked:
            self.looked.discard(key)
        if old is not None and node.dtype is HALF:
            self.halves = True
            if old.dtype is HALF:
                old = cast(settled(old), SINGLE)
                self.owned.discard(key)
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

    def take_out(self, node: Node) -> Any:
        """The cotangent of `node`, which leaves those in flight; None if nothing arrived."""
        g = self.cotangents.pop(node.id, None)
        if self.halves and node.dtype is HALF and g is not None:
            return cast(settled(g), HALF)
        return g

    def add_region(self, node: Node, index: Any, value: Any) -> None:
        """Add `value` to the region `index` of the cotangent of `node`."""
        if self.batch:
            self._add_region_batched(node, index, value)
            return
        basic = type(index) is slice or is_basic(index)
        if not basic and not self.record and self._scattered(node, index, value):
            return
        buffer = self.buffer(node)
        if self.record:
            self._add_recorded(buffer, index, value)
        elif basic:
            area = buffer[index]
            if type(area) is backend.NDARRAY:
                area += value
            elif backend.is_scalar(area):
                buffer[index] = area + value
            else:
                backend.add_into(area, value)
        else:
            backend.add_at(buffer, index, value)

    def _scattered(self, node: Node, index: Any, value: Any) -> bool:
        """Make the first cotangent of `node` of zeros and `value`, if that is worth a kernel."""
        key = node.id
        if key in self.cotangents or node.op.name == "getitem":  # a view's may have a place
            return False
        made = backend.scattered(node.shape, node.dtype, index, value)
        if made is None:
            return False
        self.cotangents[key] = made
        self.owned.add(key)
        return True

    def add_item(self, node: Node, index: int, count: int, value: Any) -> None:
        """Add `value` to the cotangent of output `index` of `node`, which has `count`."""
        parts = self.cotangents.setdefault(node.id, [None] * count)
        parts[index] = value if parts[index] is None else parts[index] + value

    def buffer(self, node: Node) -> Any:
        """An owned buffer for the cotangent of `node`, holding what arrived so far."""
        key = node.id
        self.looked.discard(key)
        have = self.cotangents.get(key)
        dtype = node.dtype
        if dtype is HALF:
            dtype, self.halves = SINGLE, True
        ours = have is not None and key in self.owned and not backend.is_scalar(have)
        if ours and backend.describe(have)[1] == dtype:
            return have
        made: Any = None
        if have is None and not self.batch and not self.record and node.op.name == "getitem":
            made = self._alias(node)
        if made is None:
            shape = (self.count, *node.shape) if self.batch else node.shape
            made = backend.zeros(self.like, shape, dtype)
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
        plain = plain_of(g)
        array = not backend.is_scalar(plain)
        if self.current_owned and array and backend.layout(plain) == layout:
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


class _Lane:
    """What an operation sees of a batched sweep when it spreads one cotangent at a time."""

    batch = 0
    lazy = False

    def __init__(self, walk: Cotangents) -> None:
        self.walk = walk
        self.number = 0
        self.parts: dict[int, tuple[Node, list[Any]]] = {}
        self.active = walk.active
        self.careful = walk.careful

    def wants(self, node: Node) -> bool:
        """See `Cotangents.wants`."""
        return self.walk.wants(node)

    def add(self, node: Node, value: Any, g: Any) -> None:
        """See `Cotangents.add`."""
        value = conform(value, node)
        parts = self.parts.setdefault(node.id, (node, [None] * self.walk.count))[1]
        have = parts[self.number]
        if have is not None and node.dtype is HALF:
            have, self.walk.halves = cast(have, SINGLE), True
        parts[self.number] = value if have is None else have + value


def plain_of(value: Any) -> Any:
    """A plain array of the kind of `value`, to look at: of a list the first."""
    if type(value) is list:
        return next(part for part in map(plain_of, value) if part is not None)
    return (
        value._array
        if type(value) is GradArray and value._array is not None
        else (value._view.peek() if type(value) is GradArray else value)
    )


def owns(value: Any, g: Any) -> bool:
    """Whether `value` is a buffer of its own: neither `g`, nor a view of what somebody else has."""
    if type(value) is backend.NDARRAY:
        return value is not g and value.flags.writeable and ownership.sole_view(value)
    if type(value) is Deferred:
        return False
    return (
        value is not g
        and getattr(value, "base", None) is None
        and not backend.is_scalar(value)
        and bool(getattr(getattr(value, "flags", None), "writeable", True))
    )
