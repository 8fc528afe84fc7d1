"""Movement: reshape, transpose, flip, roll, repeat: transposes of linear maps.

Functions whose result can be a view of the argument are primitives declared ``view=True``, or are
composed of such and of slices, so that a recorded view aliases as NumPy's does. Cutting apart is in
``windows``; joining, padding and diagonals have chapters of their own.

Rules may use ``g``, ``shape`` and NumPy's own parameter names; g may carry leading batch axes, so
axes are counted from the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.primitives import primitive, reshape_rows
from npgrad.rules.indexing import (
    Axes,
    as_array,
    axes_tuple,
    negative_axis,
    positive_axis,
    scatter,
)
from npgrad.table import composed, linear

Array = Any
Shape = tuple[int, ...]


def with_batch(g: Array, ndim: int, shape: Shape) -> Array:
    """`g`, the cotangent of an output of `ndim` dimensions, reshaped to `shape`."""
    return g.reshape(g.shape[: g.ndim - ndim] + shape)


# ----------------------------------------------------------------------------- reshape and ravel
# Other orders than "C" are transposes round a reshape in order "C": copies and views fall as
# NumPy's do, and batch axes stay in front. `target` is NumPy's ``shape``, a name that means the
# argument's own shape in a rule.
@primitive
def ravel_rows(a: Array) -> Array:
    """``np.ravel`` in order "C": unlike a reshape, it copies what is not contiguous."""
    return np.ravel(a)


linear(
    reshape_rows,
    transpose=lambda g, shape, target: with_batch(g, len(target), shape),
    ignores=("copy",),
    batched=True,
    view=True,
)
linear(
    ravel_rows,
    transpose=lambda g, shape: g.reshape(g.shape[:-1] + shape),
    batched=True,
    view=True,
)


def reshape(
    a: Any,
    /,
    shape: Any = None,
    order: str = "C",
    *,
    newshape: Any = None,
    copy: bool | None = None,
) -> Array:
    """``np.reshape``."""
    if shape is None:
        shape = newshape  # its name until NumPy 2.1
    target = tuple(shape) if hasattr(shape, "__len__") else (shape,)
    if order == "C":
        return reshape_rows(a, target, copy)
    a, order = as_array(a), order.upper()
    if order == "A":
        order = "F" if a.flags.fnc else "C"
    if order == "C":
        return reshape_rows(a, target, copy)
    if order != "F":
        raise ValueError(f"order {order!r} is not permitted for reshaping")
    return np.transpose(reshape_rows(np.transpose(a), target[::-1], copy))


def ravel(a: Any, order: str = "C") -> Array:
    """``np.ravel``; order "K" takes the axes from the widest stride to the narrowest."""
    if order == "C":
        return ravel_rows(a)
    a, order = as_array(a), order.upper()
    if order == "F" or (order == "A" and a.flags.fnc):
        return ravel_rows(np.transpose(a))
    if order == "K":
        steps = a.strides
        return ravel_rows(np.transpose(a, sorted(range(a.ndim), key=lambda i: -abs(steps[i]))))
    if order not in ("A", "C"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return ravel_rows(a)


composed(np.reshape, reshape)
composed(np.ravel, ravel)


def resize_body(a: Any, new_shape: Any) -> Array:
    """``np.resize``: the flattened array over and over, or cut off."""
    flat = np.ravel(as_array(a))
    target = tuple(new_shape) if hasattr(new_shape, "__len__") else (new_shape,)
    if any(extent < 0 for extent in target):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = math.prod(target)
    if flat.size == 0:
        return np.zeros_like(flat, shape=(1, *target))[0]  # CuPy overlooks a shape of ()
    return np.reshape(np.tile(flat, -(-size // flat.size))[:size], target)


composed(np.resize, resize_body)


# -------------------------------------------------------------------------- axes made and dropped
def unsqueeze(g: Array, shape: Shape, axis: Axes) -> Array:
    """Transpose of ``np.squeeze``."""
    if axis is None:
        dropped = shape.count(1)
    else:
        dropped = len(axis) if isinstance(axis, tuple) else 1
    return with_batch(g, len(shape) - dropped, shape)


linear(np.squeeze, transpose=unsqueeze, batched=True, view=True)
linear(
    np.expand_dims,
    transpose=lambda g, shape, axis: with_batch(
        g, len(shape) + (len(axis) if isinstance(axis, tuple | list) else 1), shape
    ),
    batched=True,
    view=True,
)


def each(lift: Any) -> Any:
    """A function of several arrays that lifts each; one alone is not put into a tuple."""

    def atleast(*arys: Any) -> Any:
        lifted = tuple(lift(as_array(array)) for array in arys)
        return lifted[0] if len(lifted) == 1 else lifted

    return atleast


def lift_1d(a: Array) -> Array:
    """A number becomes an array of one."""
    return a if a.ndim else a.reshape(1)


def lift_2d(a: Array) -> Array:
    """New axes stand in front."""
    return a if a.ndim >= 2 else a.reshape((1,) * (2 - a.ndim) + a.shape)


def lift_3d(a: Array) -> Array:
    """A vector goes into the middle, a matrix in front."""
    if a.ndim >= 3:
        return a
    return a.reshape(((1, 1, 1), (1, *a.shape, 1), (*a.shape, 1))[a.ndim])


composed(np.atleast_1d, each(lift_1d))
composed(np.atleast_2d, each(lift_2d))
composed(np.atleast_3d, each(lift_3d))


# ----------------------------------------------------------------------------------- permutations
def undo_transpose(g: Array, shape: Shape, axes: tuple[int, ...] | None) -> Array:
    """Inverse permutation."""
    ndim = len(shape)
    batch = g.ndim - ndim
    if axes is None:
        return g.transpose((*range(batch), *range(g.ndim - 1, batch - 1, -1)))
    inverse = [0] * ndim
    order: Any = axes if hasattr(axes, "__len__") else (axes,)
    for place, axis in enumerate(order):
        inverse[axis % ndim] = batch + place
    return g.transpose((*range(batch), *inverse))


linear(np.transpose, transpose=undo_transpose, batched=True, view=True)  # also np.permute_dims
linear(
    np.swapaxes,
    transpose=lambda g, shape, axis1, axis2: g.swapaxes(
        negative_axis(axis1, len(shape)), negative_axis(axis2, len(shape))
    ),
    batched=True,
    view=True,
)
composed(np.moveaxis)  # their own bodies are one transpose
composed(np.rollaxis)


def matrix_transpose(x: Any, /) -> Array:
    """``np.matrix_transpose``: the last two axes swapped."""
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


composed(np.matrix_transpose, matrix_transpose)
composed(np.linalg.matrix_transpose, matrix_transpose)
composed(np.flip)  # a slice with negative steps: a view


def flipped(axis: int, least: int) -> Any:
    """``np.flipud`` and ``np.fliplr``."""

    def flip(m: Any) -> Array:
        m = as_array(m)
        if m.ndim < least:
            raise ValueError(f"Input must be >= {least}-d.")
        return m[(slice(None),) * axis + (slice(None, None, -1),)]

    return flip


composed(np.flipud, flipped(0, 1))
composed(np.fliplr, flipped(1, 2))


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """``np.rot90``: flips and a swap of axes, all of them views."""
    m = as_array(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    first, second = (positive_axis(axis, m.ndim) for axis in axes)
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return np.flip(np.flip(m, first), second)
    if turns == 1:
        return np.flip(m, second).swapaxes(first, second)
    return np.flip(m.swapaxes(first, second), second)


composed(np.rot90, rot90)


def unroll(g: Array, shape: Shape, shift: Any, axis: Axes) -> Array:
    """Roll the other way."""
    back = np.negative(shift)
    if axis is not None:
        return np.roll(g, back, axes_tuple(axis, len(shape)))
    flat = g.reshape((*g.shape[: g.ndim - len(shape)], -1))
    return np.roll(flat, back, -1).reshape(g.shape)


linear(np.roll, transpose=unroll, batched=True)


# ------------------------------------------------------------------------------------ broadcasting
# The transpose, a sum over the repeated axes, is what the graph does to every cotangent.
linear(
    np.broadcast_to,
    transpose={"array": lambda g: g},
    ignores=("shape", "subok"),
    batched=True,
    view=True,
)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """``np.broadcast_arrays``."""
    arrays = [as_array(arg) for arg in args]
    target = np.broadcast_shapes(*(array.shape for array in arrays))
    return tuple(a if a.shape == target else np.broadcast_to(a, target) for a in arrays)


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """``np.meshgrid``."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    places = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        places[:2] = [1, 0]
    grids: tuple[Array, ...] = tuple(
        as_array(x).reshape((1,) * place + (-1,) + (1,) * (ndim - place - 1))
        for x, place in zip(xi, places, strict=True)
    )
    if not sparse:
        grids = np.broadcast_arrays(*grids)
    return tuple(grid.copy() for grid in grids) if copy else tuple(grids)


composed(np.broadcast_arrays, broadcast_arrays)
composed(np.meshgrid, meshgrid)


# ------------------------------------------------------------------------------- copies that add up
def untile(g: Array, shape: Shape, reps: Any) -> Array:
    """Sum over the tiles."""
    counts = tuple(reps) if hasattr(reps, "__len__") else (reps,)
    ndim = max(len(counts), len(shape))
    counts = (1,) * (ndim - len(counts)) + counts
    padded = (1,) * (ndim - len(shape)) + shape
    tiles = tuple(extent for pair in zip(counts, padded, strict=True) for extent in pair)
    batch = g.shape[: g.ndim - ndim]
    repeated = tuple(2 * (axis - ndim) for axis in range(ndim) if counts[axis] != 1)
    return summed(g.reshape(batch + tiles), repeated).reshape(batch + shape)


def summed(x: Array, axis: Any) -> Array:
    """Sum over `axis`, of float16 in float32: NumPy adds rows in float16, ones up to 2048."""
    return x.sum(axis=axis, dtype=np.float32) if x.dtype == np.float16 else x.sum(axis=axis)


def sum_last(x: Array) -> Array:
    """Sum over the last axis; a short one by BLAS, where NumPy's loop pays for every result.

    1000 x 1000 sums of two numbers: 17 ms by ``sum``, 0.9 ms by a product with ones.
    """
    count = x.shape[-1]
    return x @ np.ones_like(x, shape=count) if 0 < count <= 32 else summed(x, -1)


def unrepeat(g: Array, shape: Shape, repeats: Any, axis: int | None) -> Array:
    """Sum over the copies of each entry."""
    length = math.prod(shape) if axis is None or not shape else shape[axis]
    if np.size(repeats) > 1:
        places = np.cumsum(np.ones_like(repeats, dtype=np.intp)) - 1  # where `repeats` lives
        return scatter(g, shape, np.repeat(places, repeats), axis)
    count = int(np.reshape(repeats, -1)[0]) if np.ndim(repeats) else int(repeats)
    if axis is None or not shape:
        return sum_last(g.reshape((*g.shape[:-1], length, count))).reshape(g.shape[:-1] + shape)
    axis = negative_axis(axis, len(shape))
    before, after = g.shape[: g.ndim + axis], g.shape[g.ndim + axis + 1 :]
    apart = g.reshape((*before, length, count, *after))
    return summed(apart, axis) if after else sum_last(apart)


linear(np.tile, transpose={"A": untile}, batched=True)
linear(np.repeat, transpose=unrepeat, batched=True)


# ------------------------------------------------------------------------------- copies and casts
linear(np.copy, transpose=lambda g: g, ignores=("order", "subok"), batched=True)
if hasattr(np, "astype"):  # NumPy 2.1
    linear(
        np.astype,
        transpose=lambda g: g,
        ignores=("dtype", "copy", "device"),
        batched=True,
        view=True,
    )
