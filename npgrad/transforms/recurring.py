"""A loss that is called again and again: its sweeps by one function, see `npgrad.graph.whole`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import backend
from ..graph.deferred import evaluator
from ..graph.node import Leaf, Node
from ..graph.order import collect
from .run import Run
from .trees import only

if TYPE_CHECKING:
    from ..graph.whole import Sweep

FIRST = 64  # calls before a sweep is written out: from then on it has paid for its compilation
TRUST = 32  # sweeps in vain, two of them for each that went well, before it is given up


class Recurring:
    """The sweeps of one function's recordings."""

    __slots__ = ("calls", "device", "due", "sweep", "trust")

    def __init__(self) -> None:
        self.calls = 0
        self.due = FIRST
        self.sweep: Sweep | None = None
        self.trust = 0
        self.device: Any = None  # who replays sweeps there, or False: nobody

    def gradients(self, run: Run, node: Node, result: Any) -> list[Any] | None:
        """The gradients of a recording that nobody else sweeps; None where it is another one."""
        if run.there is not None:
            return self._on_device(run, node)
        sweep = self.sweep
        if sweep is None:
            self.calls += 1
            if self.calls < self.due:
                return None
        kind = type(result)
        if kind is not float and kind not in backend.GENERIC:
            return None
        leaves: list[Node] = []
        arrays = True
        for argument in run.arguments:
            if argument.recorded:
                return None
            leaves += argument.nodes
            arrays = arrays and argument.rebuild is only
        if sweep is None:
            from ..graph.whole import written  # not needed by a program of few calls

            self.calls, self.due = 0, self.due * 4
            self.sweep = sweep = written(node, leaves, run.floor)
            self.trust = TRUST
            if sweep is None:
                return None
        found = sweep(node, node.dtype.type(1), leaves)
        if found is None:
            self.trust -= 2
            if self.trust < 0:
                self.sweep = None
            return None
        if self.trust < TRUST:
            self.trust += 1
        if arrays:
            return found
        parts = iter(found)
        return [
            argument.rebuild([next(parts) for _ in argument.nodes]) for argument in run.arguments
        ]

    def _on_device(self, run: Run, node: Node) -> list[Any] | None:
        """The gradients by a sweep that `npgrad.cuda` replays; None where it does not."""
        if self.device is None:
            make = getattr(evaluator(), "sweeps", None)
            self.device = (make and make()) or False
        if self.device is False:
            return None
        leaves: list[Node] = []
        for argument in run.arguments:
            if argument.recorded:
                return None
            leaves += argument.nodes
        order, older = collect([node], run.floor)
        if older or type(node.op) is Leaf or order[0].id <= run.floor:
            return None
        found = self.device(order, leaves)
        if found is None:
            return None
        return [argument.collect(found, False) for argument in run.arguments]
