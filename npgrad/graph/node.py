"""A recorded value's node: what made it, from what, and what its rule keeps."""

from __future__ import annotations

import itertools
import linecache
import os
from collections.abc import Iterable
from types import CodeType
from typing import Any
from weakref import ref

from .modes import MODE, ours

# One counter for all threads; ``next`` on it is atomic. It never goes back, so that a nested
# differentiation cannot mistake another's values for its own.
next_id = itertools.count(1).__next__


class Node:
    """One recorded operation.

    ``parents`` has an entry for each array argument, None where that one is constant. ``kept`` is
    what the operation's rules named, in the operation's own order, or None once it was freed.
    """

    __slots__ = ("code", "dtype", "id", "kept", "lasti", "op", "parents", "shape")

    def __init__(
        self,
        op: Any,
        parents: tuple[Node | None, ...],
        kept: tuple[Any, ...] | None,
        shape: tuple[int, ...],
        dtype: Any,
        code: CodeType | None,
        lasti: int,
    ) -> None:
        self.id = next_id()
        self.op = op
        self.parents = parents
        self.kept = kept
        self.shape = shape
        self.dtype = dtype
        self.code = code
        self.lasti = lasti

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.dtype}{list(self.shape)} #{self.id}>"


class Leaf:
    """The pseudo-operation of a leaf: it has no rule, and remembers whose leaf it is."""

    # `denied`, set on use: comparisons with kept arrays that were answered no; see `stale`
    __slots__ = ("denied", "given", "handle", "held", "open", "own", "public")
    name = "leaf"
    quick = pull = None
    masks = by_entry = False

    def __init__(self, public: bool) -> None:
        self.given: Any = None  # the caller's array, of which the leaf holds a copy
        self.held: Any = None  # what it is known by afterwards: its copy, or a digest; see `stale`
        self.handle: ref[Any] | None = None  # weak: a store looks leaves up, nodes do not own them
        self.own = public  # asked for with a store: npgrad.array's and Tape.leaf's
        self.open = not public  # the function that a transform passed it to is still running
        self.public = public  # made by npgrad.array outside any transform or tape


FINISHED = Leaf(False)  # of nodes whose recording was swept, see `finish`
FINISHED.open = False


def finish(order: Iterable[Node], leaves: tuple[Node, ...]) -> None:
    """Let go of what the nodes in `order` kept: their recording was swept, and nobody asks again.

    A value that the program keeps (a log of losses) would hold all of it. Its node still leads to
    the `leaves`, the arguments of that call: so much is asked of what outlives it, see `stale`.
    """
    for node in order:
        if type(node.op) is not Leaf:
            node.op = FINISHED
            node.parents = leaves
            node.kept = ()


def alive(node: Node) -> bool:
    """Whether a gradient can still be asked for through `node`.

    A value that outlived the transform that recorded it (a program's state, a cache) is dead once
    the function of the transform returned, unless it depends on a leaf of npgrad.array's as well.
    """
    stack, seen = [node], {node}
    while stack:
        node = stack.pop()
        if type(node.op) is Leaf:
            if node.op.open or node.op.own:
                return True
        elif node.kept is None:  # swept and freed: where it led to is not known
            return True
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return False


def claimed(node: Node) -> bool:
    """Whether a gradient would be lost with the value of `node`; under `no_grad` none is wanted."""
    mode = MODE.get()
    return (mode is None or mode.recording) and alive(node)


def open_leaves(node: Node) -> frozenset[int]:
    """The ids of the arguments, of functions that still run, on which `node` depends."""
    stack, seen, found = [node], {node}, []
    while stack:
        node = stack.pop()
        if type(node.op) is Leaf and node.op.open:
            found.append(node.id)
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return frozenset(found)


def outside(order: list[Node], older: list[Node]) -> bool:
    """Whether `order` depends, through the `older` nodes, on a recording that is still alive.

    A dead one, a program's state from an earlier call, is replaced by a closed leaf in the nodes
    that it went into. Or the state would hold the graphs of all calls there ever were.
    """
    dead: dict[int, Node] = {}
    living = False
    for node in older:
        if type(node.op) is Leaf and not node.parents and not (node.op.open or node.op.own):
            continue  # replaced already
        if alive(node):
            living = True
            continue
        twin = Node(Leaf(False), (), (), node.shape, node.dtype, node.code, node.lasti)
        twin.op.open, twin.id = False, node.id
        dead[node.id] = twin
    if dead:
        for node in order:
            parents = node.parents
            if any(parent is not None and parent.id in dead for parent in parents):
                node.parents = tuple([p and dead.get(p.id, p) for p in parents])
    return living


def position(node: Node) -> str:
    """``file.py:12`` of the user's code that recorded `node`; empty if it is not known."""
    line = _line(node)
    return f"{os.path.basename(node.code.co_filename)}:{line}" if node.code and line else ""


def say_where(error: Exception, node: Node) -> None:
    """Add to an error of a sweep which operation's derivative raised it."""
    where = position(node)
    error.add_note(
        f"npgrad: in the derivative of {node.op.name}" + (f", recorded at {where}" if where else "")
    )


def source_line(node: Node) -> str:
    """The text of the user's line that recorded `node`; empty if there is none."""
    line = _line(node)
    return linecache.getline(node.code.co_filename, line).strip() if node.code and line else ""


def _line(node: Node) -> int | None:
    """The user's line; None where a transform calls a function of NumPy: grad(np.sin)."""
    if node.code is None or ours(node.code):
        return None
    return line_number(node.code, node.lasti)


def line_number(code: CodeType, lasti: int) -> int | None:
    """The line of instruction `lasti` of `code`."""
    for start, stop, line in code.co_lines():
        if start <= lasti < stop:
            return line
    return None


def recorded_at(node: Node | None) -> str:
    """`` Recorded at file.py:12.``, for the end of a message; empty if it is not known."""
    where = position(node) if node is not None else ""
    return f" Recorded at {where}." if where else ""


def kept_bytes(node: Node) -> int:
    """The bytes of the arrays that `node` keeps; one kept by two nodes counts twice."""
    if type(node.op) is Leaf:
        return 0
    return _bytes((node.kept or ())[: node.op.width])  # beyond are guards of the same arrays


def _bytes(kept: Any) -> int:
    if isinstance(kept, (tuple, list)):
        return sum(map(_bytes, kept))
    return int(kept.nbytes) if getattr(kept, "shape", ()) and hasattr(kept, "nbytes") else 0


def sized(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"
