"""The sweep of a recording that comes again, written out as a whole: one function.

A fit calls value and gradient of one loss a thousand times, and small arrays cost less than what
Python needs to walk over their operations: which comes next, where its cotangent is, whether it is
the first, whose its buffer is. All of that follows from the structure of the recording. `written`
reads one, and gives a function that sweeps every recording of the same structure::

    n8, = n9.parents
    if n9.op is not op9 or n9.shape != shape9:
        return None
    c8 = rule9_0(c9, n9.kept[0])

It compares as it goes, and answers None where anything is otherwise: the recording is another one,
a rule raised, a gradient is not finite. Then `backward` sweeps as ever; until the answer nothing
but buffers of the function's own is written to, so it may start again.

What is written is what `small` writes for an operation: of arrays of one real dtype, all of less
than `TINY` entries, without writes in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import backend
from .conform import conform
from .general import General
from .node import Leaf, Node
from .op import Variant, verify
from .order import collect
from .regions import GETITEM, is_basic
from .small import TINY, called

MOST = 500  # operations: the text of one takes 50 us to compile
Sweep = Callable[[Node, Any, Sequence[Node]], "list[Any] | None"]


def add_region(buffer: Any, index: Any, value: Any) -> None:
    """Add `value` to a region of `buffer`, which may be one entry, or several times the same."""
    if is_basic(index):
        area = buffer[index]
        if type(area) is backend.NDARRAY:
            area += value
        else:
            buffer[index] = area + value
    else:
        backend.add_at(buffer, index, value)


class _OtherKind(Exception):
    """The recording holds what is not written out."""


class _Writer:
    """The text of one sweep, and what its names mean."""

    def __init__(self, order: list[Node], leaves: Sequence[Node]) -> None:
        self.order = order
        self.leaves = leaves
        self.dtype = order[-1].dtype
        self.lines: list[str] = []
        self.names = {leaf.id: f"leaf{i}" for i, leaf in enumerate(leaves)}  # of nodes met so far
        self.cotangents: dict[int, str] = {}  # the names of those that something was added to
        self.free: list[str] = []  # names of cotangents that are done with
        self.buffers: set[int] = set()  # nodes whose cotangent is a buffer of zeros, added into
        self.fresh: set[int] = set()  # ... or a sum: what nobody else refers to
        self.space: dict[str, Any] = {
            "add_region": add_region,
            "all_finite": backend.all_finite,
            "conform": conform,
            "dtype": self.dtype,
            "verify": verify,
            "zeros": partial(backend.zeros, 0.0),
        }

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append(f"        {text}")

    def small(self, node: Node) -> None:
        """Refuse a node that is large, or of another dtype."""
        size = 1
        for extent in node.shape:
            size *= extent
        if size >= TINY or node.dtype is not self.dtype:
            raise _OtherKind

    def recognise(self, node: Node, number: int, implied: bool) -> None:
        """Name the parents of `node`, and leave if it is another operation.

        `implied`: its shape and dtype are right if those of its parents are.
        """
        name = self.names[node.id]
        targets, doubts = [], []
        for i, parent in enumerate(node.parents):
            known = "None" if parent is None else self.names.get(parent.id)
            if known is not None:
                targets.append(f"p{i}")
                doubts.append(f"p{i} is not {known}")
            else:
                assert parent is not None
                targets.append(f"n{parent.id - self.order[0].id}")
                self.names[parent.id] = targets[-1]
        self.space[f"op{number}"] = node.op
        doubts.append(f"{name}.op is not op{number}")
        if not implied:
            doubts += [f"{name}.shape != {node.shape}", f"{name}.dtype is not dtype"]
        self.line(f"{', '.join(targets)}, = {name}.parents")
        self.line(f"if {' or '.join(doubts)}: return None")

    def put(self, parent: Node, value: str) -> None:
        """Add the text `value` to the cotangent of `parent`."""
        key = parent.id
        name = self.cotangents.get(key)
        if name is None:
            self.line(f"{self.new(key)} = {value}")
        elif key in self.buffers:
            self.line(f"{name} += {value}")
        else:
            self.line(f"{name} = {name} + {value}")
            self.fresh.add(key)

    def new(self, key: int) -> str:
        """A name for the cotangent of the node `key`."""
        name = self.free.pop() if self.free else f"c{len(self.cotangents)}"
        self.cotangents[key] = name
        return name

    def call(self, node: Node, i: int, number: int, g: str) -> str:
        """The text of a call of the rule of parent `i`."""
        rules, places = node.op.sources
        rule, parent = rules[i], node.parents[i]
        if rule is None or parent is None:
            raise _OtherKind
        self.space[f"rule{number}_{i}"] = rule
        kept = f"{self.names[node.id]}.kept"
        return called(rule, places, f"rule{number}_{i}", g, kept, self.names[parent.id])

    def elementwise(self, node: Node, number: int, g: str) -> None:
        """The rules of a ufunc: what they give has the shape of `g`, see `small`."""
        for i, parent in enumerate(node.parents):
            assert parent is not None
            value = self.call(node, i, number, g)
            if parent.shape != node.shape:
                value = f"conform({value}, {self.names[parent.id]})"
            self.put(parent, value)

    def general(self, node: Node, number: int, g: str) -> None:
        """The rules of another function: what they give is looked at; guards may follow."""
        name = self.names[node.id]
        self.line(f"if len({name}.kept) > {node.op.width}: verify({name}, {name}.kept)")
        for i, parent in enumerate(node.parents):
            if parent is not None:
                self.line(f"v = {self.call(node, i, number, g)}")
                self.line(f"if v.shape != {parent.shape} or v.dtype is not dtype:")
                self.line(f"    v = conform(v, {self.names[parent.id]})")
                self.put(parent, "v")

    def region(self, node: Node, number: int, g: str) -> None:
        """The cotangent of what was read goes into its region of a buffer."""
        parent: Any = node.parents[0]
        key, index = parent.id, f"{self.names[node.id]}.kept[0]"
        if key not in self.buffers:
            before = self.cotangents.get(key)
            if before is not None:
                self.line(f"v = {before}")
            name = before or self.new(key)
            self.line(f"{name} = zeros({parent.shape}, dtype)")
            if before is not None:
                self.line(f"{name}[...] = v")
            self.buffers.add(key)
            self.fresh.add(key)
        name = self.cotangents[key]
        if type(node.kept[0]) is slice:  # type: ignore[index]
            self.line(f"if type({index}) is slice:")
            self.line(f"    v = {name}[{index}]")
            self.line(f"    v += {g}")
            self.line("else:")
            self.line(f"    add_region({name}, {index}, {g})")
        else:
            self.line(f"add_region({name}, {index}, {g})")

    def operation(self, node: Node, number: int) -> bool:
        """The text of one operation; whether its rules are of those that `backward` masks."""
        op: Any = node.op
        self.small(node)
        spread: Any
        if type(op) is Variant:
            spread, implied = self.elementwise, len(op.recorded) == op.base.nin
        elif type(op) is General and op.sequence < 0:
            spread, implied = self.general, False
        elif op is GETITEM and node.parents[0].shape:  # type: ignore[union-attr]
            spread, implied = self.region, False
        else:
            raise _OtherKind
        self.recognise(node, number, implied)
        g = self.cotangents.get(node.id)
        if g is None:  # nothing arrived
            return False
        spread(node, number, g)
        self.free.append(g)
        return bool(op.masks)

    def sweep(self) -> Sweep:
        """The function."""
        root = self.order[-1]
        for leaf in self.leaves:
            self.small(leaf)
            self.line(f"if {self.names[leaf.id]}.shape != {leaf.shape}: return None")
        self.names[root.id] = "root"
        self.cotangents[root.id] = "g"
        masks = False
        for number, node in enumerate(reversed(self.order)):
            if type(node.op) is not Leaf:
                masks = self.operation(node, number) or masks
            elif node not in self.leaves:  # another recording's
                raise _OtherKind
        there = [self.cotangents[leaf.id] for leaf in self.leaves if leaf.id in self.cotangents]
        if masks:
            self.line(f"if not all_finite([{', '.join(there)}]): return None")
        found = []
        for leaf in self.leaves:
            name = self.cotangents.get(leaf.id, "None")
            ours = leaf.id in self.fresh or not leaf.shape or name == "None"
            found.append(name if ours else f"{name}.copy()")
        self.line(f"return [{', '.join(found)}]")
        head = f"        {''.join(f'{self.names[leaf.id]}, ' for leaf in self.leaves)}= leaves"
        text = ["def sweep(root, g, leaves):", "    try:", head, *self.lines]
        text += ["    except Exception:", "        return None"]
        exec(compile("\n".join(text), __file__, "exec"), self.space)
        return self.space["sweep"]  # type: ignore[no-any-return]


def written(root: Node, leaves: Sequence[Node], floor: int) -> Sweep | None:
    """``sweep(root, g, leaves)`` for recordings like that of `root`; None where it is not for one.

    It gives the cotangents of the leaves, each a buffer of its own, None for zeros; or None.
    """
    order, older = collect([root], floor)
    if older or len(order) > MOST or type(root.op) is Leaf:
        return None
    try:
        return _Writer(order, leaves).sweep()
    except _OtherKind:
        return None
