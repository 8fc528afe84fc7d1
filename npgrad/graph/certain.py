"""Whether a sweep can meet a zero cotangent and an infinite partial derivative at all.

A program that ends in a finite number says much about what went before. The sum of an array is
finite only if all its entries are, a product only if both factors are: such an operation *shows*
what it was given. Another, or the same one, is *tame* if its partial derivatives are finite where
its value is: a product, an exponential, and not a square root, whose value at 0 is finite. Where
every operation that can make ``0 * inf`` is tame, and its value shown to be finite by the result,
no gradient has to be looked at: a million entries of each take 0.4 ms to read.

Nothing is known of what a mask, an index or a matrix product (whose BLAS may skip zeros) hides.
See decision 0021.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .array import GradArray, current
from .node import Leaf, Node

FEW = 1000  # entries to be looked at for each operation, from which on asking here costs less


def no_zero_meets_infinity(order: list[Node], result: Any) -> bool:
    """Whether the sweep of `order`, which begins at the scalar `result`, is certain of it."""
    if type(result) is not GradArray:
        return False
    value, last = current(result)
    if last is not order[-1] or not backend.is_scalar(value) or value - value != 0:
        return False
    finite = {last.id}
    for node in reversed(order):
        op = node.op
        if type(op) is Leaf:
            continue
        shown = node.id in finite
        if op.masks and not (shown and op.tame):
            return False
        if shown and op.shows and op.whole(node.kept) and 0 not in node.shape:
            for parent, shows in zip(node.parents, op.shows, strict=True):
                if shows and parent is not None and parent.dtype.kind == "f":
                    finite.add(parent.id)
    return True
