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
from .graph import modes
from .graph.array import GradArray, leaf
from .graph.node import Node, kept_bytes, position, sized, source_line
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

    @property
    def value(self) -> str:
        """Dtype and shape: ``float64[2, 3]``."""
        if self.dtype == "several":
            return f"{self.shape[0]} arrays"
        return f"{self.dtype}{list(self.shape)}"

    def cells(self) -> tuple[str, ...]:
        """What a table says of it."""
        return (
            f"%{self.number}",
            self.operation,
            ", ".join(f"%{i}" for i in self.inputs),
            self.value,
            sized(self.kept_bytes) if self.kept_bytes else "",
            self.where,
            self.line,
        )

    def __str__(self) -> str:
        return "  ".join(filter(None, self.cells()))


HEAD = ("", "operation", "inputs", "value", "keeps", "where", "line")
WIDEST = 60  # characters of a cell, so that a line of the table stays one


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
                kept_bytes(node),
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
        if not self._entries:
            return "(empty tape)"
        rows = [HEAD, *(entry.cells() for entry in self._entries)]
        rows = [tuple(map(_cut, row)) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, self._summary()])

    def _summary(self) -> str:
        """How much there is, in one line."""
        operations = sum(entry.operation != "leaf" for entry in self._entries)
        kept = sized(sum(entry.kept_bytes for entry in self._entries))
        return f"{operations} operation{'s' if operations != 1 else ''}, keeping {kept}"

    def __repr__(self) -> str:
        return f"<Tape of {len(self)} operations>"

    def show(self) -> None:
        """Print the tape."""
        print(self)  # noqa: T201 -- what it is for

    def _repr_html_(self) -> str:
        import html  # a large table of entities, for notebooks alone

        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(row(entry.cells(), "td") for entry in self._entries)
        return f"<table>{row(HEAD, 'th')}{body}</table><p>{self._summary()}</p>"

    def dot(self) -> str:
        r"""The recording as a graph in Graphviz's DOT language.

        Examples
        --------
        >>> import numpy as np, npgrad
        >>> with npgrad.Tape() as tape:
        ...     y = np.sin(tape.leaf(1.0))
        >>> print(tape.dot())
        digraph recording {
          rankdir=LR;
          n0 [label="leaf\nfloat64[]"];
          n1 [label="np.sin\nfloat64[]"];
          n0 -> n1;
        }
        """
        lines = ["digraph recording {", "  rankdir=LR;"]
        for e in self._entries:
            name = e.operation.replace("\\", "\\\\").replace('"', '\\"')
            label = f"{name}\\n{e.value}"
            lines.append(f'  n{e.number} [label="{label}"];')
            lines.extend(f"  n{i} -> n{e.number};" for i in e.inputs)
        return "\n".join([*lines, "}"])


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
