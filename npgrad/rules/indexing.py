"""Gathering: take, compress, delete, insert, the index grids, functions applied along axes.

Basic and fancy ``x[index]`` and everything that writes into its argument live with the graph.

Every transpose here is one primitive, `scatter_add`, whose specification is ``np.add.at`` on zeros;
its own transpose is the gather it came from. Where positions cannot repeat, it assigns instead of
adding. Rules may use ``g``, ``shape`` and NumPy's own parameter names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npgrad.graph.array import unwrap
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.implementations import add_at, module_of
from npgrad.primitives import beside, primitive
from npgrad.table import composed, linear

Array = Any
Axes = int | tuple[int, ...] | None
Shape = tuple[int, ...]

# From about this many numbers on the compiled kernel is faster than np.add.at, its import included.
KERNEL_SIZE = 4096


def as_array(value: Any) -> Array:
    """`value` itself if it is an array, recorded or not; a plain list or number as an array."""
    return value if hasattr(value, "dtype") and hasattr(value, "ndim") else np.asarray(value)


def negative_axis(axis: int, ndim: int) -> int:
    """`axis` counted from the end, so that leading batch axes do not move it."""
    return axis - ndim if axis >= 0 else axis


def positive_axis(axis: int, ndim: int) -> int:
    """`axis` counted from the front; NumPy's error when there is no such axis."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_tuple(axis: Axes, ndim: int) -> tuple[int, ...]:
    """`axis`, one or several, counted from the end."""
    axes: Any = axis if isinstance(axis, tuple | list | range) else (axis,)
    return tuple(negative_axis(one, ndim) for one in axes)


def each_row(push: Callable[[Array], Array], g: Array, shape: Shape) -> Array:
    """``push(g)`` for one tangent of `shape`; for a batch of them, a stack."""
    return push(g) if g.shape == shape else np.stack([push(row) for row in g])


def into(out: Any, result: Array) -> Array:
    """`result`, written into ``out=`` if there is one."""
    if out is None:
        return result
    np.copyto(out, result)
    return out


def in_order(made: Array, like: Array = None) -> Array:
    """`made` in the order in which NumPy's result lies: rows first, or as `like` if that is given.

    It decides whether a later ``made.ravel()`` is a view that can be written through.
    """
    flags, theirs = getattr(made, "flags", None), getattr(like, "flags", None)
    if flags is None or made.ndim < 2:
        return made
    order = "F" if theirs is not None and theirs.fnc else "C"
    fits = flags.f_contiguous if order == "F" else flags.c_contiguous
    return made if fits else made.copy(order=order)


def iterated(shape: tuple[int, ...], *strides: Sequence[int]) -> tuple[int, ...]:
    """The axes, the outermost first, in the order in which NumPy's iterator goes through them.

    Its results lie so. `strides` are those of the inputs, 0 where one is broadcast: there it does
    not say anything, nor where the extent is 1; where none does C order stays.
    """
    strides = tuple([s if n > 1 else 0 for s, n in zip(one, shape, strict=True)] for one in strides)
    inner_first: list[int] = []
    for axis in reversed(range(len(shape))):
        place = len(inner_first)
        for i in reversed(range(place)):
            pairs = [(abs(s[axis]), abs(s[inner_first[i]])) for s in strides]
            known = [own >= other for own, other in pairs if own and other]
            if any(known):
                break
            if known:
                place = i
        inner_first.insert(place, axis)
    return tuple(reversed(inner_first))


def in_memory(made: Array, order: tuple[int, ...]) -> Array:
    """`made` with its axes in memory in `order`, the outermost first."""
    ndim = getattr(made, "ndim", 0)
    if ndim < 2 or unwrap(made).transpose(order).flags.c_contiguous:
        return made
    if order in (tuple(range(ndim)), tuple(reversed(range(ndim)))):
        return made.copy(order="F" if order[0] else "C")
    inverse = sorted(range(ndim), key=order.__getitem__)
    return made.transpose(order).copy(order="C").transpose(inverse)


# ------------------------------------------------------------------------ the one scatter primitive
@primitive
def gather(a: Array, index: Array, axis: int, unique: bool = False) -> Array:
    """``np.take`` along a negative `axis`; `unique` promises that no position occurs twice."""
    return np.take(a, index, axis=axis)


@primitive
def scatter_add(g: Array, index: Array, length: int, axis: int, unique: bool = False) -> Array:
    """Zeros with `length` entries along `axis`, to which the entries of `g` are added at `index`.

    The dimensions of ``index``, integers in ``-length <= i < length``, stand in `g` where the
    result has `axis`, which is negative.
    """
    inner = g.shape[g.ndim + axis + 1 :]
    lead = g.shape[: g.ndim - len(inner) - index.ndim]
    rows = g.reshape((*lead, index.size, *inner))
    index = index.reshape(-1)
    if g.size >= KERNEL_SIZE and not unique and isinstance(g, np.ndarray):
        scatter_rows = module_of("scatter_add").scatter_rows
        if not lead:
            return scatter_rows(rows, index, length)
        if g.dtype.char in "fd" and g.dtype.isnative:
            along = module_of("take_along")
            places = along.check_index(index, length, len(lead))
            return along.added_rows(None, (*lead, length, *inner), places, rows, len(lead))
        return np.moveaxis(scatter_rows(np.moveaxis(rows, axis, 0), index, length), 0, axis)
    out = np.zeros_like(rows, shape=(*lead, length, *inner))
    where = (..., index, *(slice(None),) * len(inner))
    if unique:
        out[where] = rows
    else:
        add_at(out, where, rows)
    return out


linear(
    gather,
    transpose=lambda g, shape, index, axis, unique: scatter_add(
        g, index, shape[axis], axis, unique
    ),
    batched=True,
)
linear(
    scatter_add,
    transpose=lambda g, index, axis, unique: gather(g, index, axis, unique),
    ignores=("length",),
    batched=True,
)


def scatter(
    g: Array, shape: Shape, index: Array, axis: int | None, *, unique: bool = False
) -> Array:
    """Transpose of taking `index` along `axis` (None: of the flattened array) of a `shape`."""
    if axis is None or not shape:
        flat = scatter_add(g, index, math.prod(shape), -1, unique)
        return flat.reshape(flat.shape[:-1] + shape)
    return scatter_add(g, index, shape[axis], negative_axis(axis, len(shape)), unique)


# ------------------------------------------------------------------------- take and take_along_axis
def take_transpose(g: Array, shape: Shape, indices: Any, axis: int | None, mode: str) -> Array:
    """What was taken twice adds up, at the position that `mode` led to."""
    index = as_array(indices)
    if index.dtype.kind not in "iu":  # an empty list, or booleans
        index = index.astype(np.intp)
    length = math.prod(shape) if axis is None or not shape else shape[axis]
    if mode == "wrap" and length:
        index = index % length
    elif mode == "clip" and length:
        index = np.clip(index, 0, length - 1)
    return scatter(g, shape, index, axis)


def take_along_transpose(g: Array, shape: Shape, indices: Array, axis: int | None) -> Array:
    """An index for every number: its line and its place there are one place in the flat result."""
    if axis is None:
        return scatter(g, shape, indices, None)
    ndim, axis = len(shape), negative_axis(axis, len(shape))
    length, batch = shape[axis], g.shape[: g.ndim - ndim]
    if isinstance(g, np.ndarray) and g.size >= KERNEL_SIZE and g.shape == indices.shape:
        others = [k for k in range(ndim) if k != axis + ndim]
        if all(g.shape[k] == shape[k] for k in others):
            return module_of("take_along").check_and_add_along(
                None, shape, indices, g, axis + ndim
            )[0]
    moved = np.moveaxis(g, axis, -1)
    lines = moved.shape[len(batch) : -1]
    index = np.broadcast_to(np.moveaxis(indices, axis, -1), moved.shape[len(batch) :])
    starts = beside(g).arange(math.prod(lines)).reshape((*lines, 1)) * length
    flat = scatter_add(
        moved.reshape((*batch, -1)),
        (np.where(index < 0, index + length, index) + starts).reshape(-1),
        math.prod(lines) * length,
        -1,
    )
    return np.moveaxis(flat.reshape((*batch, *lines, length)), -1, axis)


linear(
    np.take,
    signature="a, indices, axis=None, out=None, mode='raise'",
    transpose=take_transpose,
    batched=True,
)
linear(np.take_along_axis, transpose=take_along_transpose, batched=True)


# --------------------------------------------------------------------------- parts chosen by a mask
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Array:
    """``np.compress``: the positions are those of the true entries."""
    condition = as_array(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), -1
    axis = positive_axis(axis, a.ndim) - a.ndim
    return into(out, gather(a, np.flatnonzero(condition), axis, True))


composed(np.compress, compress)
composed(
    np.extract,
    lambda condition, arr: gather(
        np.ravel(as_array(arr)), np.flatnonzero(as_array(condition)), -1, True
    ),
)


# ---------------------------------------------------------------------------------- delete, insert
def delete_transpose(g: Array, shape: Shape, obj: Any, axis: int | None) -> Array:
    """What was left goes back to where it was; what was deleted gets nothing."""
    length = math.prod(shape) if axis is None else shape[axis]
    left = np.delete(beside(g).arange(length), obj)
    return scatter(g, shape, left, axis, unique=True)


linear(np.delete, transpose=delete_transpose, batched=True)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """``np.insert``: inserting negative numbers into positions shows what NumPy puts where."""
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    ndim = arr.ndim
    axis = positive_axis(axis, ndim)
    length = arr.shape[axis]
    places = np.arange(length)
    count = len(np.insert(places, obj, -1)) - length
    source = np.insert(places, obj, -1 - np.arange(count)) if count else places
    values = as_array(values)
    if values.dtype != arr.dtype:
        values = values.astype(arr.dtype)
    if count == 1:  # one place, for any number of values
        values = values.reshape((1,) * (ndim - values.ndim) + values.shape)
        if not isinstance(obj, slice) and np.ndim(obj) == 0:
            values = np.moveaxis(values, 0, axis)
        count, start = values.shape[axis], int(np.argmin(source))
        source = np.concatenate([places[:start], -1 - np.arange(count), places[start:]])
    inserted = np.broadcast_to(values, (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    both = np.concatenate([arr, inserted], axis)
    source = np.where(source < 0, length - 1 - source, source)
    return in_order(gather(both, beside(both).asarray(source), axis - ndim, True), arr)


composed(np.insert, insert)


# ------------------------------------------------------------------------------------- index grids
def open_grid(*args: Any) -> tuple[Array, ...]:
    """``np.ix_``: each sequence along an axis of its own; masks become positions."""
    grids = []
    for place, arg in enumerate(args):
        sequence = as_array(arg)
        if sequence.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if sequence.size == 0 and not hasattr(arg, "dtype"):
            sequence = sequence.astype(np.intp)
        if sequence.dtype.kind == "b":
            (sequence,) = sequence.nonzero()
        shape = (1,) * place + (sequence.size,) + (1,) * (len(args) - place - 1)
        grids.append(sequence.reshape(shape))
    return tuple(grids)


composed(np.ix_, open_grid)


# ------------------------------------------------------------------------- functions applied along
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Array:
    """``np.apply_along_axis``: a call for each line, as NumPy does, and a stack of the results."""
    arr = as_array(arr)
    axis = positive_axis(axis, arr.ndim)
    moved = np.moveaxis(arr, axis, -1)
    lead = moved.shape[:-1]
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [func1d(moved[at], *args, **kwargs) for at in np.ndindex(lead)]
    lines = [array_of(y) for y in made]
    dtype = lines[0].dtype  # NumPy's buffer has it, and truncates what does not fit
    lines = [line if line.dtype == dtype else line.astype(dtype) for line in lines]
    inner = lines[0].shape
    out = np.stack(lines).reshape(lead + inner)
    return np.moveaxis(out, range(-len(inner), 0), range(axis, axis + len(inner)))


def array_of(y: Any) -> Array:
    """What a function returned; a list of recorded numbers is an array, as for NumPy."""
    return stacked(y) if isinstance(y, (list, tuple)) and has_recorded(y) else as_array(y)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """``np.apply_over_axes``: one call after another, axes of length one kept."""
    result = as_array(a)
    ndim = result.ndim
    for axis in np.atleast_1d(axes):
        axis = int(axis) + ndim if axis < 0 else int(axis)
        reduced = func(result, axis)
        if reduced.ndim != result.ndim:
            reduced = np.expand_dims(reduced, axis)
            if reduced.ndim != result.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        result = reduced
    return result


composed(np.apply_along_axis, apply_along_axis)
composed(np.apply_over_axes, apply_over_axes)
