"""Runs of elementwise operations on large arrays, swept block by block.

A rule that is one pass over a million entries waits for memory: on the machine of decision 0012 a
product into fresh memory takes 0.95 ms, and 0.4 ms where its operands are in the cache. So where
the sweep meets a large elementwise operation it looks for others of the same shape further down,
and takes a block of each array through all of them before it goes on to the next: 128 KB each, or
as much as lets all blocks stay in the cache together. Cotangents between two operations of the run
are then never whole; what leaves the run is written once.

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
CACHE = 3 << 19  # bytes of the blocks of a short run: all stay in a cache of 2 MB
BYTES = 1 << 17  # of a block of a long run, which uses a few arrays at a time
SHORTEST = 3  # operations, or fewer if rules make arrays on the way
REACH = 400  # nodes that are looked at for one run


class _Part:
    """Stands for the parent of an operation, as rules and `conform` see it, in one block."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: Any) -> None:
        self.shape: tuple[int, ...] = ()
        self.dtype = dtype


class _Member:
    """An operation of a run: its rules, and what they keep, flat."""

    __slots__ = ("backs", "both", "kept", "key", "node", "parents", "simple", "sliced")

    def __init__(self, node: Node) -> None:
        op, kept = node.op, list(node.kept or ())
        self.node = node
        self.key = node.id
        simple = op.simple or (None,) * len(op.backs)
        rows: list[tuple[Any, Any, Any]] = [
            row for row in zip(op.backs, node.parents, simple, strict=False) if row[1] is not None
        ]
        self.backs = [back for back, _, _ in rows]
        self.parents: list[tuple[int, Any, bool]] = [
            (parent.id, _Part(parent.dtype), parent.shape == ()) for _, parent, _ in rows
        ]
        self.simple = [one for _, _, one in rows]
        like = [parent.shape == node.shape and parent.dtype is node.dtype for _, parent, _ in rows]
        self.both = op.both if like == [True, True] else None
        self.sliced = [i for i, x in enumerate(kept) if type(x) is backend.NDARRAY and x.ndim]
        for i in self.sliced:
            kept[i] = kept[i].reshape(-1)
        self.kept = kept


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


def saves(run: list[Node]) -> bool:
    """Whether `run` is faster block by block: whether whole arrays on the way are spared."""
    if len(run) >= SHORTEST:
        return True
    return any(node.op.both is None and None in (node.op.simple or (None,)) for node in run)


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
        have = walk.take_out(node)
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
    # The gradients among them are looked at while they are in the cache (see `backward`).
    last = {key for key in made if type(targets[key].op) is Leaf and key not in walk.cotangents}
    if not walk.masks or (last and walk.is_certain(size * len(last))):
        last = set()
    flats = {key: value.reshape(-1) for key, value in made.items()}
    totals: dict[int, Any] = {}
    ones = {key for key, value in pending.items() if not any(value.strides) and value[0] == 1}
    block = _Block(walk, members, ones)
    step = _extent(members, len(pending) + len(made), nodes[0].dtype.itemsize)
    token = backend.WHOLE.set(size)
    try:
        for start in range(0, size, step):
            stop = min(start + step, size)
            block.local = local = {key: value[start:stop] for key, value in pending.items()}
            block.out = {key: value[start:stop] for key, value in flats.items()}
            block.run(start, stop)
            for key, parent in targets.items():
                value = local.get(key)
                if not parent.shape:
                    if value is not None:
                        totals[key] = totals[key] + value if key in totals else value
                    continue
                out = block.out[key]
                if value is not out:
                    out[...] = 0 if value is None else value
                if key in last and not backend.finite(out):
                    last.clear()
                    walk.suspect = True
    finally:
        backend.WHOLE.reset(token)
    for key, value in made.items():
        walk.accumulate(targets[key], value, True)
    walk.looked |= last
    for key, value in totals.items():
        walk.accumulate(targets[key], value, False)
    walk.current = None
    return int(size) * len(made)


def _extent(members: list[_Member], others: int, itemsize: int) -> int:
    """Entries of a block; a call of a rule, a microsecond, must stay small against its work."""
    read = {id(member.kept[i].base) for member in members for i in member.sliced}
    return max(1, BYTES // itemsize, CACHE // (itemsize * (len(read) + len(members) + others)))


def factor(simple: Any, g: Any, kept: Any) -> Any:
    """What a rule that is ``g * kept`` makes of the cotangent of a sum, 1 throughout; else None."""
    if simple is None or simple[0] is not backend.MULTIPLY or type(g) is not backend.NDARRAY:
        return None
    value = kept[simple[1]]
    same = type(value) is backend.NDARRAY and value.dtype is g.dtype and value.shape == g.shape
    one = same and g.size and not any(g.strides) and g[(0,) * g.ndim] == 1
    return value if one else None


class _Block:
    """One block of a run: its cotangents on the way, and where those that leave it go."""

    __slots__ = ("local", "members", "ones", "out", "owned", "walk")

    def __init__(self, walk: Any, members: list[_Member], ones: set[int]) -> None:
        self.walk = walk
        self.members = members
        self.ones = ones  # the members whose cotangent is 1 throughout
        self.local: dict[int, Any] = {}  # first the cotangents that arrive, at the end the others
        self.out: dict[int, Any] = {}  # slices of the results
        self.owned: set[int] = set()

    def run(self, start: int, stop: int) -> None:
        """Take the block through all operations."""
        self.owned.clear()
        shape = (stop - start,)
        for member in self.members:
            g = self.local.pop(member.key, None)
            if g is None:
                continue
            self.walk.current = member.node
            kept = member.kept
            if member.sliced:
                kept = kept[:]
                for i in member.sliced:
                    kept[i] = kept[i][start:stop]
            if member.both is not None and self.pair(member, g, kept):
                continue
            for i, (back, (key, part, number)) in enumerate(
                zip(member.backs, member.parents, strict=True)
            ):
                part.shape = () if number else shape
                simple = member.simple[i]
                if simple is not None and not number and type(kept[simple[1]]) is backend.NDARRAY:
                    value, fresh = self.simply(member, i, g, kept[simple[1]])
                else:
                    value = back(g, kept, part)
                    fresh = getattr(value, "base", 0) is None
                if value is None:
                    continue
                if value is g:
                    fresh = member.key in self.owned and len(member.backs) == 1
                try:
                    if value.shape != part.shape or value.dtype is not part.dtype:
                        value = conform(value, part)
                        fresh = False
                except AttributeError:
                    value, fresh = conform(value, part), False
                self.put(key, value, fresh and not number)

    def put(self, key: int, value: Any, fresh: bool) -> None:
        """Add `value` to the cotangent `key`; `fresh` says that its memory is ours."""
        old = self.local.get(key)
        if old is None:
            self.local[key] = value
            if fresh:
                self.owned.add(key)
        elif key in self.owned:
            old += value
        else:
            self.local[key] = old + value
            if getattr(value, "shape", ()):
                self.owned.add(key)

    def pair(self, member: _Member, g: Any, kept: list[Any]) -> bool:
        """Both cotangents of `member` at once; False where its rules have to make them."""
        keys = [key for key, _, _ in member.parents]
        out = tuple(
            self.out[key]
            if key in self.out and key not in self.local
            else backend.empty(g.shape, g.dtype)
            for key in keys
        )
        if keys[0] == keys[1] or not member.both(g, out, kept):  # type: ignore[misc]
            return False
        for key, value in zip(keys, out, strict=True):
            self.put(key, value, True)
        return True

    def simply(self, member: _Member, i: int, g: Any, factor: Any) -> tuple[Any, bool]:
        """The value of rule `i`, one ufunc of g and `factor`, and whether its memory is ours.

        Written where it is to be in the end, or over `g` where nobody else needs that.
        """
        ufunc = member.simple[i][0]
        key, part, _ = member.parents[i]
        one = member.key in self.ones and g.strides == (0,)  # nothing was added to it
        if one and g.dtype is factor.dtype and ufunc is backend.MULTIPLY:
            return factor, False
        if key not in self.local:
            out = self.out.get(key)
            if out is None and i == len(member.backs) - 1 and member.key in self.owned:
                out = g
            if out is not None and out.dtype is part.dtype:
                return ufunc(g, factor, out=out, casting="same_kind"), True
        return ufunc(g, factor), True
