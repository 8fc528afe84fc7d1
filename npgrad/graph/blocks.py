"""Runs of elementwise operations on large arrays, swept block by block.

A rule that is one pass over a million entries waits for memory: on the machine of decision 0012 a
product into fresh memory takes 0.95 ms, and 0.4 ms where its operands are in the cache. So where
the sweep meets a large elementwise operation it looks for others of the same shape further down,
and takes 128 KB of each array through all of them before it goes on to the next 128 KB. Cotangents
between two operations of the run are then never whole; what leaves the run is written once.

Rules are called as ever, with blocks for arrays and a stand-in for the parent that has the block's
shape. Only the everyday sweep of plain arrays does this: one that is recorded, batched or careful
takes operation by operation.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .conform import conform
from .node import Leaf, Node
from .op import verify

LARGE = 1 << 18  # entries from which on a run is worth looking for: 2 MB of float64
BYTES = 1 << 17  # of one block: some fifteen fit into a cache of 2 MB
SHORTEST = 3  # operations
REACH = 400  # nodes that are looked at for one run


class _Part:
    """Stands for the parent of an operation, as rules and `conform` see it, in one block."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: Any) -> None:
        self.shape: tuple[int, ...] = ()
        self.dtype = dtype


class _Member:
    """An operation of a run: its rules, and what they keep, flat."""

    __slots__ = ("backs", "kept", "key", "node", "parents", "reuse", "sliced")

    def __init__(self, node: Node) -> None:
        op, kept = node.op, list(node.kept or ())
        self.node = node
        self.key = node.id
        pairs = [
            (back, parent)
            for back, parent in zip(op.backs, node.parents, strict=False)
            if parent is not None
        ]
        self.backs = [back for back, _ in pairs]
        self.parents: list[tuple[int, Any, bool]] = [
            (parent.id, _Part(parent.dtype), parent.shape == ()) for _, parent in pairs
        ]
        self.sliced = [i for i, x in enumerate(kept) if type(x) is backend.NDARRAY and x.ndim]
        for i in self.sliced:
            kept[i] = kept[i].reshape(-1)
        self.kept = kept
        self.reuse = op.reuse


def fits(g: Any, node: Node) -> bool:
    """Whether a run may begin at `node`, whose cotangent is `g`."""
    return type(g) is backend.NDARRAY and g.size > LARGE and belongs(node, g.shape)


def belongs(node: Node, shape: tuple[int, ...]) -> bool:
    """Whether `node` can be part of a run of `shape`: all that its rules read has that shape."""
    op, kept = node.op, node.kept
    if not op.by_entry or node.shape != shape or kept is None:
        return False
    if node.dtype.kind != "f":
        return False
    for parent in node.parents:
        if parent is not None and (parent.dtype.kind != "f" or (parent.shape not in (shape, ()))):
            return False
    for value in kept[: op.width]:
        if type(value) is backend.NDARRAY:
            if value.ndim and not (value.shape == shape and value.flags.c_contiguous):
                return False
        elif value is not None and not backend.is_scalar(value) and backend.is_array(value):
            return False
    return True


def find(walk: Any, order: list[Node], start: int, begin: int) -> list[Node]:
    """The operations from ``order[start]`` down that can be swept together, in that order.

    What depends on an operation that is not one of them is left to the sweep.
    """
    shape = order[start].shape
    reached, blocked = {order[start].id}, set()
    members = []
    for i in range(start, max(begin, start - REACH) - 1, -1):
        node = order[i]
        key = node.id
        if key not in reached and key not in blocked and key not in walk.cotangents:
            continue
        parents = [parent.id for parent in node.parents if parent is not None]
        if key not in blocked and belongs(node, shape):
            members.append(node)
            reached.update(parents)
        elif type(node.op) is not Leaf:
            blocked.update(parents)
    return members


def flat(g: Any, size: int) -> Any:
    """`g` along one axis; a view, if it can be one."""
    if g.flags.c_contiguous:
        return g.reshape(-1)
    if not any(g.strides):  # a number that was broadcast, as the cotangent of a sum is
        return backend.broadcast(g[(0,) * g.ndim], (size,))
    return g.copy().reshape(-1)


def sweep(walk: Any, nodes: list[Node], g: Any) -> int:
    """Sweep `nodes`, which `find` found; `g` is the cotangent of the first.

    Returns how many entries it made. Should a rule raise, ``walk.current`` is its node.
    """
    shape, size = g.shape, g.size
    pending = {nodes[0].id: flat(g, size)}
    for node in nodes:
        have = walk.cotangents.pop(node.id, None)
        if have is not None:
            pending[node.id] = flat(have, size)
        kept = node.kept or ()
        if len(kept) > node.op.width:
            verify(node, kept)
    members = [_Member(node) for node in nodes]
    inside = {member.key for member in members}
    targets: dict[int, Node] = {}
    for node in nodes:
        for parent in node.parents:
            if parent is not None and parent.id not in inside:
                targets[parent.id] = parent
    made = {
        key: backend.empty(shape, parent.dtype) for key, parent in targets.items() if parent.shape
    }
    flats = {key: value.reshape(-1) for key, value in made.items()}
    totals: dict[int, Any] = {}
    step = max(1, BYTES // nodes[0].dtype.itemsize)
    token = backend.WHOLE.set(size)
    try:
        for start in range(0, size, step):
            stop = min(start + step, size)
            local = {key: value[start:stop] for key, value in pending.items()}
            _block(walk, members, local, start, stop)
            for key, parent in targets.items():
                value = local.get(key)
                if parent.shape:
                    flats[key][start:stop] = 0 if value is None else value
                elif value is not None:
                    totals[key] = totals[key] + value if key in totals else value
    finally:
        backend.WHOLE.reset(token)
    for key, value in made.items():
        walk.accumulate(targets[key], value, True)
    for key, value in totals.items():
        walk.accumulate(targets[key], value, False)
    walk.current = None
    return int(size) * len(made)


def _block(walk: Any, members: list[_Member], local: dict[int, Any], start: int, stop: int) -> None:
    """One block through all operations; `local` holds its cotangents, first and last."""
    shape = (stop - start,)
    owned: set[int] = set()
    for member in members:
        g = local.pop(member.key, None)
        if g is None:
            continue
        walk.current = member.node
        mine = member.key in owned
        kept = member.kept
        if member.sliced:
            kept = kept[:]
            for i in member.sliced:
                kept[i] = kept[i][start:stop]
        alone = len(member.backs) == 1
        last = member.backs[-1] if mine and member.reuse is not None else None
        for back, (key, part, number) in zip(member.backs, member.parents, strict=True):
            part.shape = () if number else shape
            if back is last:
                ufunc, place = member.reuse
                value = ufunc(g, kept[place], out=g, casting="same_kind")
            else:
                value = back(g, kept, part)
            if value is None:
                continue
            if value is g:
                fresh = mine and alone
            else:
                fresh = getattr(value, "base", 0) is None
            try:
                if value.shape != part.shape or value.dtype is not part.dtype:
                    value = conform(value, part)
                    fresh = False
            except AttributeError:
                value, fresh = conform(value, part), False
            old = local.get(key)
            if old is None:
                local[key] = value
                if fresh and not number:
                    owned.add(key)
            elif key in owned:
                old += value
            else:
                local[key] = old + value
                if not number:
                    owned.add(key)
