"""The sweep of a recording that comes again, written out as a whole: one function.

A fit calls value and gradient of one loss a thousand times, and small arrays cost less than what
Python needs to walk over their operations: which comes next, where its cotangent is, whether it is
the first, whose its buffer is. All of that follows from the structure of the recording. `written`
reads one, and gives a function that sweeps every recording of the same structure::

    n8, = n9.parents
    if n9.op is not op9 or n9.shape != (10,):
        return None
    ...
    c8 = rule9_0(c9, n9.kept[0])

It compares first, and answers None where anything is otherwise; so it does where a gradient is not
finite. Then `backward` sweeps as ever: nothing but buffers of the function's own was written to.

What is written is what `small` writes for an operation, and reads, lists and several outputs: all
arrays of one real dtype, and of less than `TINY` entries; nothing written in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import backend
from .conform import conform
from .general import ITEM, General
from .node import Leaf, Node, say_where
from .op import Variant, verify
from .order import collect
from .regions import GETITEM, is_basic
from .small import TINY, called
from .stacking import STACK

MOST = 2000  # operations: the text of one takes 50 us to compile
UFUNC = type(backend.MULTIPLY)
Key = int | tuple[int, int]  # a node's id, and which of several outputs


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


def fitted(value: Any, parent: Node) -> Any:
    """What a rule made, as a cotangent of `parent`; `_Nothing` if it made none."""
    if value is None:
        raise _Nothing
    return conform(value, parent)


class _Nothing(Exception):
    """A rule gave no cotangent, where one was given before."""


class Sweep:
    """A sweep of one structure; `begins` are the first lines of the nodes, and their names."""

    __slots__ = ("begins", "function")

    def __init__(self, function: Callable[..., Any], begins: list[tuple[int, str]]) -> None:
        self.function = function
        self.begins = begins

    def __call__(self, root: Node, g: Any, leaves: Sequence[Node]) -> list[Any] | None:
        """The cotangents of the leaves, each a buffer of its own; or None."""
        try:
            with backend.quiet():
                return self.function(root, g, leaves)  # type: ignore[no-any-return]
        except _Nothing:
            return None
        except Exception as error:
            place: Any = error.__traceback__.tb_next  # type: ignore[union-attr]
            names = [name for line, name in self.begins if line <= place.tb_lineno]
            say_where(error, place.tb_frame.f_locals[names[-1]] if names else root)
            raise


class _OtherKind(Exception):
    """The recording holds what is not written out."""


class _Writer:
    """The text of one sweep, and what its names mean."""

    def __init__(self, order: list[Node], leaves: Sequence[Node]) -> None:
        self.order = order
        self.leaves = leaves
        self.dtype = order[-1].dtype
        self.known: list[str] = []  # lines that recognise
        self.lines: list[str] = []  # lines that sweep
        self.begins: list[tuple[int, str]] = []  # the first line of a node's rules, and its name
        self.names = {leaf.id: f"leaf{i}" for i, leaf in enumerate(leaves)}  # of nodes met so far
        self.cotangents: dict[Key, str] = {}  # the names of those that something was added to
        self.free: list[str] = []  # names of cotangents that are done with
        self.buffers: set[Key] = set()  # nodes whose cotangent is a buffer of zeros, added into
        self.fresh: set[Key] = set()  # ... or a sum: what nobody else refers to
        self.space: dict[str, Any] = {
            "NDARRAY": backend.NDARRAY,
            "add_region": add_region,
            "all_finite": backend.all_finite,
            "conform": conform,
            "dtype": self.dtype,
            "fitted": fitted,
            "sum_rows": backend.sum_rows,
            "total": backend.total,
            "vdot": backend.VDOT,
            "verify": verify,
            "zeros": partial(backend.zeros, 0.0),
        }

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append(f"    {text}")

    def small(self, node: Node) -> None:
        """Refuse a node that is large, or of another dtype."""
        size = 1
        for extent in node.shape:
            size *= extent
        if size >= TINY or node.dtype is not self.dtype:
            raise _OtherKind

    def recognise(self, node: Node, number: int, *doubts: str) -> None:
        """Name the parents of `node`, and leave if it is another operation, or if one of `doubts`.

        They are texts of what is to be false, with a star for the node.
        """
        name = self.names[node.id]
        targets, found = [], []
        for i, parent in enumerate(node.parents):
            known = "None" if parent is None else self.names.get(parent.id)
            if known is not None:
                targets.append(f"p{i}")
                found.append(f"p{i} is not {known}")
            else:
                assert parent is not None
                targets.append(f"n{parent.id - self.order[0].id}")
                self.names[parent.id] = targets[-1]
        self.space[f"op{number}"] = node.op
        found += [f"{name}.op is not op{number}", *(doubt.replace("*", name) for doubt in doubts)]
        self.known.append(f"        {', '.join(targets)}, = {name}.parents")
        self.known.append(f"        if {' or '.join(found)}: return None")

    def put(self, key: Key, value: str, fresh: bool = False) -> None:
        """Add the text `value` to the cotangent `key`; `fresh`: nobody else refers to it."""
        name = self.cotangents.get(key)
        if name is None:
            self.line(f"{self.new(key)} = {value}")
        elif key in self.buffers:
            self.line(f"{name} += {value}")
        else:
            self.line(f"{name} = {name} + {value}")
            fresh = True
        if fresh:
            self.fresh.add(key)

    def new(self, key: Key) -> str:
        """A name for the cotangent `key`."""
        name = self.free.pop() if self.free else f"c{len(self.cotangents)}"
        self.cotangents[key] = name
        return name

    def call(self, node: Node, i: int, number: int, g: str, parent: str) -> str:
        """The text of a call of rule `i`."""
        rules, places = node.op.sources
        if rules[i] is None:
            raise _OtherKind
        self.space[f"rule{number}_{i}"] = rules[i]
        kept = f"{self.names[node.id]}.kept"
        return called(rules[i], places, f"rule{number}_{i}", g, kept, parent)

    def elementwise(self, node: Node, number: int, g: str) -> None:
        """The rules of a ufunc: what they give has the shape of `g`, see `small`."""
        for i, parent in enumerate(node.parents):
            assert parent is not None
            name = self.names[parent.id]
            value = self.call(node, i, number, g, name)
            self.put(
                parent.id, value if parent.shape == node.shape else f"conform({value}, {name})"
            )

    def general(self, node: Node, number: int, g: str) -> None:
        """The rules of another function: what they give is looked at; guards may follow."""
        name, op = self.names[node.id], node.op
        if None in node.parents:  # a plain operand may be kept, and guarded
            self.line(f"if len({name}.kept) > {op.width}: verify({name}, {name}.kept)")
        simple = len(op.arrays)
        for i, parent in enumerate(node.parents):
            value = f"parts[{i - simple}]"
            if i < simple and parent is not None:
                value = self.call(node, i, number, g, self.names[parent.id])
            elif i == simple:  # one rule for all arrays of a sequence
                slots = f"{name}.kept[{op.width - 1}]"
                self.line(f"parts = {self.call(node, i, number, g, slots)}")
            if parent is not None:
                self.line(f"v = {value}")
                known = self.names[parent.id]
                other = f"v.shape != {parent.shape} or v.dtype is not dtype"
                self.line(f"if type(v) is not NDARRAY or {other}: v = fitted(v, {known})")
                self.put(parent.id, "v")

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

    def item(self, node: Node, number: int, g: str) -> None:
        """One output of a function of several."""
        self.put((node.parents[0].id, node.kept[0]), g)  # type: ignore[index, union-attr]

    def stack(self, node: Node, number: int, g: str) -> None:
        """A list of recorded values that was made an array."""
        for place, parent in zip(node.kept[0], node.parents, strict=True):  # type: ignore[index]
            value = f"{g}[{', '.join(map(str, place))}]"
            if node.shape[len(place) :] != parent.shape:  # type: ignore[union-attr]
                value = f"conform({value}, {self.names[parent.id]})"  # type: ignore[union-attr]
            self.put(parent.id, value)  # type: ignore[union-attr]

    def operation(self, node: Node, number: int) -> bool:
        """The text of one operation; whether its rules are of those that `backward` masks."""
        op: Any = node.op
        kind, spread = type(op), self.general
        keys: list[Key] = [node.id]
        doubts = [f"*.shape != {node.shape}", "*.dtype is not dtype"]
        if kind is General and node.dtype is None:  # of several outputs
            keys, doubts[1] = [(node.id, i) for i in range(node.shape[0])], "*.dtype is not None"
        else:
            self.small(node)
        if kind is Variant:
            spread = self.elementwise
            if len(op.recorded) == op.base.nin:
                doubts = []  # they are right if those of the parents are
        elif op is GETITEM and node.parents[0].shape:  # type: ignore[union-attr]
            spread = self.region
        elif op is ITEM or op is STACK:
            spread = self.item if op is ITEM else self.stack
            doubts.append(f"*.kept[0] != {node.kept[0]}")  # type: ignore[index]
        elif kind is not General:
            raise _OtherKind
        elif type(op.fun) is UFUNC and len(op.names) == len(op.arrays) and all(node.parents):
            doubts = []  # likewise, of a product of two
        self.recognise(node, number, *doubts)
        arrived = [self.cotangents.get(key) for key in keys]
        names = [name for name in arrived if name is not None]
        if names:  # else nothing arrived
            self.begins.append((len(self.lines), self.names[node.id]))
            spread(node, number, f"({', '.join(map(str, arrived))})")
            self.free += names
        return bool(names and op.masks)

    def sweep(self) -> Sweep:
        """The function."""
        root = self.order[-1]
        for leaf in self.leaves:
            self.small(leaf)
            name = self.names[leaf.id]
            self.known.append(f"        if {name}.shape != {leaf.shape}: return None")
            self.known.append(f"        if {name}.dtype is not dtype: return None")
        self.names[root.id] = "root"
        self.cotangents[root.id] = "g"
        masks = False
        for number, node in enumerate(reversed(self.order)):
            if type(node.op) is not Leaf:
                masks = self.operation(node, number) or masks
            elif node not in self.leaves:  # another recording's
                raise _OtherKind
        there = [self.cotangents[leaf.id] for leaf in self.leaves if leaf.id in self.cotangents]
        if masks and there:  # most often one look says so: at the squares, which may overflow
            self.line(f"squares = {' + '.join(f'vdot({name}, {name})' for name in there)}")
            self.line("if squares - squares != 0:")
            self.line(f"    if not all_finite([{', '.join(there)}]): return None")
        found, copy = [], (".copy()", "")
        for leaf in self.leaves:
            key = leaf.id
            whole = "" if leaf.shape else "[()]"
            if key in self.cotangents:
                found.append(self.cotangents[key] + (whole or copy[key in self.fresh]))
            else:
                found.append(f"zeros({leaf.shape}, dtype){whole}")
        self.line(f"return [{', '.join(found)}]")
        head = f"        {''.join(f'{self.names[leaf.id]}, ' for leaf in self.leaves)}= leaves"
        text = ["def sweep(root, g, leaves):", "    try:", head, *self.known]
        text += ["    except Exception:", "        return None", *self.lines]
        exec(compile("\n".join(text), f"{__file__} (written)", "exec"), self.space)
        above = len(text) - len(self.lines) + 1
        return Sweep(self.space["sweep"], [(above + i, name) for i, name in self.begins])


def written(root: Node, leaves: Sequence[Node], floor: int) -> Sweep | None:
    """The sweep of recordings like that of `root`; None where it is not one to be written out."""
    order, older = collect([root], floor)
    if older or len(order) > MOST or type(root.op) is Leaf or root.dtype is backend.HALF:
        return None
    try:
        return _Writer(order, leaves).sweep()
    except _OtherKind:
        return None
