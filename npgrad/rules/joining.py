"""Joining: concatenate, stack and what is made of them, append, block.

The transpose of joining is cutting apart. Members of a list may be recorded arrays, plain arrays
and numbers in any mixture; only the recorded ones get a cotangent. Rules may use ``g``, ``shape``
(a tuple of the members' shapes) and NumPy's own parameter names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.rules.indexing import as_array, negative_axis
from npgrad.table import composed, linear

Array = Any
Shape = tuple[int, ...]


def cut(g: Array, shape: tuple[Shape, ...], axis: int | None) -> list[Array]:
    """Transpose of ``np.concatenate``: each member's piece of g."""
    pieces, start = [], 0
    if axis is None:  # members were flattened
        batch = g.shape[:-1]
        for one in shape:
            stop = start + math.prod(one)
            pieces.append(g[..., start:stop].reshape(batch + one))
            start = stop
        return pieces
    axis = negative_axis(axis, len(shape[0]))
    after = (slice(None),) * (-1 - axis)
    for one in shape:
        stop = start + one[axis]
        pieces.append(g[(..., slice(start, stop), *after)])
        start = stop
    return pieces


def unstack(g: Array, shape: tuple[Shape, ...], axis: int) -> list[Array]:
    """Transpose of ``np.stack``."""
    after = (slice(None),) * (-1 - negative_axis(axis, len(shape[0]) + 1))
    return [g[(..., i, *after)] for i in range(len(shape))]


linear(
    np.concatenate,
    signature="arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    transpose={"*arrays": cut},
    ignores=("dtype", "casting"),
    batched=True,
)
linear(np.stack, transpose={"*arrays": unstack}, ignores=("dtype", "casting"), batched=True)


def joined(lift: Callable[[Shape], Shape], axis: int | None) -> Callable[..., list[Array]]:
    """Transpose of a join of members of the shapes `lift` gives them; axis None: see `hstack`."""

    def transpose(g: Array, shape: tuple[Shape, ...]) -> list[Array]:
        lifted = tuple(lift(one) for one in shape)
        ndim = len(lifted[0])
        batch = g.shape[: g.ndim - ndim]
        along = axis if axis is not None else min(ndim - 1, 1)
        pieces = cut(g, lifted, along)
        return [
            piece if own == one else piece.reshape(batch + one)
            for piece, own, one in zip(pieces, lifted, shape, strict=True)
        ]

    return transpose


def rows(shape: Shape) -> Shape:
    """A vector is a row."""
    return (1,) * (2 - len(shape)) + shape


def columns(shape: Shape) -> Shape:
    """A vector is a column."""
    return shape if len(shape) >= 2 else (math.prod(shape), 1)


def layers(shape: Shape) -> Shape:
    """A vector is a row of columns of one, a matrix a layer."""
    return shape if len(shape) >= 3 else (*rows(shape), 1)


def lines(shape: Shape) -> Shape:
    """A number is a vector of one."""
    return shape or (1,)


TUP = "tup, *, dtype=None, casting='same_kind'"
linear(
    np.vstack,
    signature=TUP,
    transpose={"*tup": joined(rows, 0)},
    ignores=("dtype", "casting"),
    batched=True,
)
linear(
    np.hstack,  # vectors along their axis, all else along the second
    signature=TUP,
    transpose={"*tup": joined(lines, None)},
    ignores=("dtype", "casting"),
    batched=True,
)
linear(np.dstack, transpose={"*tup": joined(layers, 2)}, batched=True)
linear(np.column_stack, transpose={"*tup": joined(columns, 1)}, batched=True)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """``np.append``: both flattened when no axis is given."""
    return np.concatenate((as_array(arr), as_array(values)), axis)


composed(np.append, append)


# ------------------------------------------------------------------------------------------- block
def depth(blocks: Any, path: str = "arrays") -> int:
    """How deep the lists are nested; NumPy's errors where they are not of one depth."""
    if isinstance(blocks, tuple):
        raise TypeError(
            f"{path} is a tuple. Only lists can be used to arrange blocks, and np.block does not "
            "allow implicit conversion from tuple to ndarray."
        )
    if not isinstance(blocks, list):
        return 0
    if not blocks:
        raise ValueError(f"List at {path} cannot be empty")
    depths = {depth(member, f"{path}[{i}]") for i, member in enumerate(blocks)}
    if len(depths) > 1:
        raise ValueError(f"List depths are mismatched below {path}")
    return depths.pop() + 1


def leaves(blocks: Any) -> list[Array]:
    """The arrays in nested lists, from left to right."""
    if not isinstance(blocks, list):
        return [as_array(blocks)]
    return [leaf for member in blocks for leaf in leaves(member)]


def lift(array: Array, ndim: int) -> Array:
    """`array` with axes of length one in front, up to `ndim`."""
    array = as_array(array)
    missing = ndim - array.ndim
    return array.reshape((1,) * missing + array.shape) if missing > 0 else array


def block(arrays: Any) -> Array:
    """``np.block``: the innermost lists are joined along the last axis, and so outwards."""
    levels = depth(arrays)
    ndim = max(levels, *(leaf.ndim for leaf in leaves(arrays)))

    def join(blocks: Any, level: int) -> Array:
        if not isinstance(blocks, list):
            return lift(blocks, ndim)
        return np.concatenate([join(member, level - 1) for member in blocks], -level)

    return join(arrays, levels) if levels else lift(arrays, ndim).copy()


composed(np.block, block)
