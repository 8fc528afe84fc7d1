"""`Tape`: a recording that can be read, in order, and swept.

Everything recorded inside the ``with`` is listed: operation, shape, dtype, bytes kept, the user's
line. The gradients are the same as those of `GradArray.backward`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from .errors import NotDifferentiable
from .graph import backend, modes
from .graph.array import GradArray, leaf
from .graph.node import Node, position, source_line
from .graph.store import GradStore, backward_into
from .transforms.values import array


@dataclass(frozen=True)
class Entry:
    """One line of a tape."""

    number: int
    operation: str
    shape: tuple[int, ...]
    dtype: str
    inputs: tuple[int, ...]
    kept_bytes: int
    where: str
    line: str

    def __str__(self) -> str:
        inputs = ", ".join(f"%{i}" for i in self.inputs)
        value = f"{self.dtype}{list(self.shape)}"
        return (
            f"%{self.number:<4} {value:20} {self.operation}({inputs})"
            f"  keeps {self.kept_bytes} B  {self.where}  {self.line}"
        ).rstrip()


class Tape:
    """An ordered, printable record of what is computed in a ``with`` block.

    Iterating gives one `Entry` an operation, leaves included.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> with npgrad.Tape() as tape:
    ...     a = tape.leaf(np.array([0.0, 1.0]))
    ...     y = np.sum(np.sin(a) * 2.0)
    >>> [entry.operation for entry in tape]
    ['leaf', 'np.sin', 'np.multiply', 'np.sum']
    >>> tape.grad(a) is None
    True
    >>> store = tape.backward(y)
    >>> tape.grad(a)
    array([2.        , 1.08060461])
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._numbers: dict[int, int] = {}
        self._store = GradStore()
        self._tokens: list[Token[Any]] = []
        self._handles: list[GradArray] = []

    def __enter__(self) -> Tape:
        mode = modes.MODE.get() or modes.EVERYDAY
        self._tokens.append(modes.change(listeners=(*mode.listeners, self._listen)))
        return self

    def __exit__(self, *exc: object) -> None:
        modes.MODE.reset(self._tokens.pop())

    def _listen(self, node: Node, value: Any) -> None:
        number = self._numbers[node.id] = len(self._entries)
        inputs = []
        for parent in node.parents:
            if parent is not None:
                if parent.id not in self._numbers:
                    self._listen(parent, None)
                    number = self._numbers[node.id] = len(self._entries)
                inputs.append(self._numbers[parent.id])
        self._entries.append(
            Entry(
                number,
                node.op.name,
                node.shape,
                str(node.dtype) if node.dtype is not None else "several",
                tuple(inputs),
                _bytes(node.kept),
                position(node),
                source_line(node),
            )
        )

    def leaf(self, x: Any, dtype: Any = None) -> GradArray:
        """A new leaf holding a copy of `x`, listed on the tape."""
        plain = array(x, dtype)
        handle = leaf(plain._array, False)
        node = handle._node
        assert node is not None
        node.op.open, node.op.own = False, True  # though it cannot be pickled
        self._handles.append(handle)
        self._listen(node, plain._array)
        return handle

    def backward(
        self, y: GradArray, cotangent: Any = None, *, retain_graph: bool = False
    ) -> GradStore:
        """Sweep backward from `y`; gradients add up in the tape's store, which is returned."""
        if type(y) is not GradArray:
            raise NotDifferentiable("npgrad: Tape.backward takes a recorded array")
        return backward_into(y, self._store, cotangent, retain_graph=retain_graph)

    def grad(self, x: GradArray) -> Any:
        """The gradient of a leaf so far; None before `backward`, or if nothing depends on it."""
        return self._store.get(x)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __str__(self) -> str:
        return "\n".join(map(str, self._entries)) or "(empty tape)"

    def __repr__(self) -> str:
        return f"<Tape of {len(self)} operations>"

    def show(self) -> None:
        """Print the tape."""
        print(self)  # noqa: T201 -- what it is for

    def _repr_html_(self) -> str:
        import html  # a large table of entities, for notebooks alone

        head = (
            "<tr><th>"
            + "</th><th>".join(
                ("", "operation", "inputs", "shape", "dtype", "kept", "where", "line")
            )
            + "</th></tr>"
        )
        rows = []
        for e in self._entries:
            cells = (
                f"%{e.number}", e.operation, ", ".join(f"%{i}" for i in e.inputs), str(e.shape),
                e.dtype, f"{e.kept_bytes} B", e.where, e.line,
            )  # fmt: skip
            rows.append("<tr><td>" + "</td><td>".join(map(html.escape, cells)) + "</td></tr>")
        return f"<table>{head}{''.join(rows)}</table>"

    def dot(self) -> str:
        """The recording as a graph in Graphviz's DOT language."""
        lines = ["digraph recording {", "  rankdir=LR;"]
        for e in self._entries:
            label = f"{e.operation}\\n{e.dtype}{list(e.shape)}"
            lines.append(f'  n{e.number} [label="{label}"];')
            lines.extend(f"  n{i} -> n{e.number};" for i in e.inputs)
        return "\n".join([*lines, "}"])


def _bytes(kept: Any) -> int:
    total = 0
    for item in kept or ():
        if isinstance(item, (tuple, list)):
            total += _bytes(item)
        elif backend.is_array(item):
            total += int(getattr(item, "nbytes", 0))
    return total
