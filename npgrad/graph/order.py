"""The order in which a sweep visits nodes: each once, by id, however they are connected."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from ..errors import GraphFreed
from .node import Leaf, Node, recorded_at

_by_id = attrgetter("id")


def collect(seeds: Iterable[Node], floor: int) -> tuple[list[Node], list[Node]]:
    """The nodes younger than `floor` that `seeds` depend on, by id; and the older ones used."""
    order = list(dict.fromkeys(seeds))
    seen = set(order)
    older: list[Node] = []
    for node in order:  # it grows as it is read
        for parent in node.parents:
            if parent is not None and parent not in seen:
                if parent.id <= floor:
                    older.append(parent)
                else:
                    seen.add(parent)
                    order.append(parent)
    order.sort(key=_by_id)
    return order, older


def depending(order: list[Node], roots: set[int]) -> set[int]:
    """The ids in `order` (ascending) that depend on one of the nodes `roots`."""
    active = set(roots)
    for node in order:
        for parent in node.parents:
            if parent is not None and parent.id in active:
                active.add(node.id)
                break
    return active


def freed(node: Node) -> GraphFreed:
    """The error of a second sweep."""
    return GraphFreed(
        "npgrad: this recording was already swept backward, and what it kept for "
        f"{node.op.name} was freed.{recorded_at(node)} Use backward(retain_graph=True) the first "
        "time, or compute the value again. (A leaf that a loop updates, w -= rate * gradient, is "
        "updated under npgrad.no_grad(): outside, the update is recorded as well.)"
    )


def free(nodes: Iterable[Node]) -> None:
    """Forget what `nodes` kept; a second sweep will say so."""
    for node in nodes:
        if type(node.op) is not Leaf:
            node.kept = None
            node.parents = ()
