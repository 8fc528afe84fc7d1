"""`profile`: where the time and the memory of a gradient go, operation by operation.

Under a profile every recorded operation is listed with the time since the one before (NumPy's work,
and the Python between the two), the bytes of its result and of what it keeps. Its node's operation
is replaced by one that measures its own sweep: so the backward (and forward-mode) times are those
of the rules themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from .graph import backend, modes
from .graph.node import Leaf, Node, kept_bytes, position, sized
from .graph.op import Op


@dataclass
class Row:
    """The figures of one operation at one line, summed over its calls."""

    operation: str
    where: str
    calls: int = 0
    forward: float = 0.0
    backward: float = 0.0
    swept: int = 0
    result_bytes: int = 0
    kept_bytes: int = 0
    cotangent_bytes: int = 0


class profile:  # noqa: N801 -- a context manager, named as `no_grad` is
    """Time and memory of every operation recorded in a ``with`` block, forward and backward.

    Attributes
    ----------
    rows : list of Row
        One for each operation and line; the most expensive first.

    Notes
    -----
    ``forward`` is the time from the end of the operation before to the end of this one, the user's
    own Python included. ``backward`` is the time of the operation's rules, whichever sweep runs
    them. Measuring costs about a microsecond an operation, and sweeps take their general path.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> with npgrad.profile() as seen:
    ...     _ = npgrad.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(1000))
    >>> sorted(row.operation for row in seen)
    ['np.multiply', 'np.sin', 'np.sum']
    >>> sum(row.swept for row in seen)
    3
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Row] = {}
        self._tokens: list[Token[Any]] = []
        self._last = 0.0
        self.seconds = 0.0
        self._begin = 0.0

    def __enter__(self) -> profile:
        mode = modes.MODE.get() or modes.EVERYDAY
        self._tokens.append(modes.change(listeners=(*mode.listeners, self._listen)))
        self._begin = self._last = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.seconds += time.perf_counter() - self._begin
        modes.MODE.reset(self._tokens.pop())

    def _listen(self, node: Node, value: Any) -> None:
        now = time.perf_counter()
        if type(node.op) is Leaf:
            return
        key = (node.op.name, position(node))
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = Row(*key)
        row.calls += 1
        row.forward += now - self._last
        row.result_bytes += _size(value)
        row.kept_bytes += kept_bytes(node)
        op = node.op
        while isinstance(op, _Measured) and op.owner is not self:  # of a profile around this one
            op = op.op
        if not isinstance(op, _Measured):
            node.op = _Measured(node.op, row, self)
        self._last = time.perf_counter()

    @property
    def rows(self) -> list[Row]:
        """The rows, the most expensive first."""
        return sorted(self._rows.values(), key=lambda row: -(row.forward + row.backward))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        if not self._rows:
            return "(nothing was recorded)"
        lines = [
            f"{'operation':28}{'calls':>7}{'forward':>12}{'backward':>12}"
            f"{'result':>11}{'kept':>11}  where"
        ]
        lines += [
            f"{row.operation:28}{row.calls:>7}{_time(row.forward):>12}{_time(row.backward):>12}"
            f"{sized(row.result_bytes):>11}{sized(row.kept_bytes):>11}  {row.where}"
            for row in self.rows
        ]
        total = self.rows
        lines.append(
            f"{'together':28}{sum(r.calls for r in total):>7}"
            f"{_time(sum(r.forward for r in total)):>12}"
            f"{_time(sum(r.backward for r in total)):>12}"
            f"{sized(sum(r.result_bytes for r in total)):>11}"
            f"{sized(sum(r.kept_bytes for r in total)):>11}  of {_time(self.seconds)}"
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<profile of {len(self)} operations>"

    def show(self) -> None:
        """Print the table."""
        print(self)  # noqa: T201 -- printing is the job


class _Measured(Op):
    """An operation that measures its own sweep; everything else is the operation's."""

    def __init__(self, op: Any, row: Row, owner: profile) -> None:
        self.op = op
        self._row = row
        self.owner = owner
        self.name = op.name
        self.risky = op.risky
        self.width = op.width
        self.holomorphic = op.holomorphic

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def lift(self, node: Node) -> tuple[Any, ...]:
        kept: tuple[Any, ...] = self.op.lift(node)
        return kept

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        begin = time.perf_counter()
        self.op.spread(walk, node, g, kept)
        self._done(begin, g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        begin = time.perf_counter()
        result = self.op.push(walk, node, tangents, kept)
        self._done(begin, result)
        return result

    def pushes_batches(self, tangents: list[Any]) -> bool:
        return bool(self.op.pushes_batches(tangents))

    def weight(self, g: Any) -> int:
        return int(self.op.weight(g))

    def _done(self, begin: float, g: Any) -> None:
        row = self._row
        row.backward += time.perf_counter() - begin
        row.swept += 1
        row.cotangent_bytes += _size(g)
        self.owner._last = time.perf_counter()


def _size(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_size, value))
    return int(getattr(value, "nbytes", 0)) if backend.is_array(value) else 8 * (value is not None)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds < 1 else f"{seconds:.2f} s"
