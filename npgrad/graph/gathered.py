"""Products of gathered rows: their cotangent goes to where the rows came from, block by block.

The cotangent of ``table[index]`` in ``table[index] @ head`` is as large as all rows together, is
written once and read once, and each of its rows depends on the same row of `g` alone. So a block of
rows is made and added to the table's cotangent while it is in the cache; of a product with a vector
the rows are not made at all.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .node import Node
from .regions import GETITEM

LARGE = 1 << 18  # entries of all rows together
BYTES = 1 << 20  # of a block: half of a cache of 2 MB


class _Rows:
    """Stands for some of the gathered rows, as a rule sees its input."""

    __slots__ = ("dtype", "shape")

    def __init__(self, node: Node) -> None:
        self.shape = node.shape
        self.dtype = node.dtype


def root_of(node: Node, g: Any) -> Node | None:
    """Where the rows of `node` were gathered from; None if they were not, or are few."""
    if node.op is not GETITEM or node.kept is None or len(node.shape) != 2:
        return None
    rows, width = node.shape
    index = node.kept[0]
    whole = type(index) is backend.NDARRAY and index.dtype.kind in "iu" and index.shape == (rows,)
    root = node.parents[0]
    if not whole or root is None or len(root.shape) != 2 or rows * width < LARGE:
        return None
    return root if type(g) is backend.NDARRAY and g.shape[:1] == (rows,) else None


def scatter(walk: Any, op: Any, node: Node, root: Node, g: Any, kept: tuple[Any, ...]) -> None:
    """Add the cotangent that `op` makes of `g` for the rows `node` to that of `root`."""
    rows, width = node.shape
    index: Any = node.kept[0]  # type: ignore[index]
    first = root.id not in walk.cotangents
    buffer = walk.buffer(root)
    vector = g.ndim == 1 and kept[1].ndim == 1  # the product of a matrix and a vector
    if not (vector and backend.scatter_outer(buffer, index, g, kept[1])):
        part = _Rows(node)
        step = max(1, BYTES // (width * node.dtype.itemsize))
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            part.shape = (stop - start, width)
            value = op.backs[0](g[start:stop], kept, part)
            backend.add_at(buffer, index[start:stop], value)
    walk.entries += buffer.size
    if first and walk.masks:
        walk.look(root.id, buffer, g, op, kept)
