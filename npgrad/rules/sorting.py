"""Sorting and what sorts: sort, partition, sort_complex, unique and the set operations.

Sorting moves elements, so its transpose moves cotangents back. Elements that tie share equally what
arrives at their places: which of them NumPy put first is an accident. Of `numpy.unique` every
element that has the value shares; the positions and counts are plain integers.

The medians and quantiles are in ``quantile``. Names a rule may use: ``g``, ``y``, ``a`` or ``ar``,
and NumPy's parameters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.graph.array import unwrap
from npgrad.implementations import one_pass
from npgrad.primitives import beside, primitive
from npgrad.rules.indexing import gather, scatter_add
from npgrad.table import composed, linear, reverse


# ------------------------------------------------------------------------------- rows and places
def rows(x: Any, axis: Any) -> Any:
    """`x` with the sorted axis last; flattened where there is none."""
    if axis is None:
        return x.reshape(-1)
    return x if axis in (-1, x.ndim - 1) else np.moveaxis(x, axis, -1)


def unrows(x: Any, shape: Any, axis: Any) -> Any:
    """Undo `rows`."""
    if axis is None:
        return x.reshape(shape)
    return x if axis in (-1, x.ndim - 1) else np.moveaxis(x, -1, axis)


def places(order: Any) -> Any:
    """The positions in each row as positions in the flat array; `order` may be overwritten."""
    if order.ndim == 1:
        return order
    lines = order.shape[:-1]
    order += (beside(order).arange(math.prod(lines)) * order.shape[-1]).reshape((*lines, 1))
    return order.reshape(-1)


@primitive
def put(g: Any, place: Any) -> Any:
    """``out[place] = g``, every place once."""
    out = np.empty_like(g, order="C")
    out.reshape(-1)[place] = g.reshape(-1)
    return out


@primitive
def fetch(g: Any, place: Any) -> Any:
    """``g[place]``, every place once, in the shape of `g`."""
    return np.take(g.reshape(-1), place).reshape(g.shape)


linear(put, transpose=lambda g, place: fetch(g, place))
linear(fetch, transpose=lambda g, place: put(g, place))


def level_ties(g: Any, ordered: Any) -> Any:
    """`g`, laid out as `ordered` (sorted rows), with its mean in every run of equal elements."""
    same = ordered[..., 1:] == ordered[..., :-1]
    if not same.any():
        return g
    begins = np.concatenate((np.ones_like(same, shape=(*same.shape[:-1], 1)), ~same), axis=-1)
    run = np.cumsum(begins) - 1  # rows never share a run, since each begins one
    length = np.bincount(run)
    total = scatter_add(g.reshape(-1), run, length.size, -1)
    return gather(total * (1.0 / length).astype(g.dtype), run, -1).reshape(g.shape)


# ------------------------------------------------------------------------------- sort, partition
def sort_vjp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """Every cotangent back to where its element came from."""
    shape = a.shape
    last = axis is not None and axis in (-1, a.ndim - 1)
    kernels = one_pass(a, g, y, operation="sort") if last else None
    if kernels is not None:
        g, y, a = (x.reshape(-1, x.shape[-1]) for x in (g, y, a))
        return kernels.back(g, y, kernels.order(a)).reshape(shape)
    g = level_ties(rows(g, axis), rows(y, axis))
    order = np.argsort(rows(a, axis), axis=-1)
    return unrows(put(g, places(order)), shape, axis)


def sort_jvp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """The tangents in the order of the elements."""
    order = np.argsort(rows(a, axis), axis=-1)
    moved = level_ties(fetch(rows(g, axis), places(order)), rows(y, axis))
    return unrows(moved, y.shape, axis)


reverse(np.sort, sort_vjp, sort_jvp, ignores=("kind", "stable"))


def sort_complex(a: Any) -> Any:
    """Sorted along the last axis, and complex: complex64 only for small integers, as in NumPy."""
    ordered = np.sort(a)
    if ordered.dtype.kind == "c":
        return ordered
    if ordered.dtype.char in "bhBH":
        return ordered.astype("F")
    return ordered.astype("G" if ordered.dtype.char == "g" else "D")


composed(np.sort_complex, sort_complex)


def partition_places(y: Any, a: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Where the sorted elements lie in `y`, where in `a`, and the sorted elements.

    `numpy.argpartition` need not agree with `numpy.partition`, which has vector code of its own, so
    the two are matched by sorting both.
    """
    y, a = rows(y, axis), rows(a, axis)
    in_y, in_a = np.argsort(y, axis=-1), np.argsort(a, axis=-1)
    ordered = np.take_along_axis(y, in_y, axis=-1)
    return places(in_y), places(in_a), ordered


def partition_vjp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """Every cotangent back to where its element came from."""
    in_y, in_a, ordered = partition_places(y, a, axis)
    g = level_ties(fetch(rows(g, axis), in_y), ordered)
    return unrows(put(g, in_a), a.shape, axis)


def partition_jvp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """Every tangent to where its element went."""
    in_y, in_a, ordered = partition_places(y, a, axis)
    g = level_ties(fetch(rows(g, axis), in_a), ordered)
    return unrows(put(g, in_y), y.shape, axis)


reverse(np.partition, partition_vjp, partition_jvp, ignores=("kth", "kind"))


# ------------------------------------------------------------------------------------ unique, sets
def members(ar: Any, y: Any, axis: Any, equal_nan: bool) -> tuple[Any, Any]:
    """For every element (or slice along `axis`) the place of its value in `y`, and the counts."""
    if axis is not None and ar.ndim > 1:
        # slices are compared whole, by NumPy itself; its values are sorted
        found = np.unique(
            ar, return_inverse=True, return_counts=True, axis=axis, equal_nan=equal_nan
        )
        return found[1].reshape(-1), found[2]
    # Sorted, and counted by runs: a tenth of the time of looking each element up in `y`.
    flat = unwrap(ar).reshape(-1)
    order = np.argsort(flat)
    ordered = flat[order]
    run = np.zeros_like(order)
    np.cumsum(ordered[1:] != ordered[:-1], out=run[1:])
    run = np.minimum(run, y.size - 1)  # of NaN, which are last, there may be one in `y`
    inverse = np.empty_like(order)
    inverse[order] = np.argsort(unwrap(y))[run]  # unique_values of complex numbers come unsorted
    return inverse, np.bincount(inverse, minlength=y.size)


def first_output(g: Any) -> Any:
    """Of several outputs only the values have a derivative."""
    return g[0] if isinstance(g, tuple) else g


def unique_vjp(g: Any, y: Any, ar: Any, axis: Any, equal_nan: bool) -> Any:
    """Every element gets an equal share of the cotangent of its value."""
    g, y = first_output(g), first_output(y)
    inverse, count = members(ar, y, axis, equal_nan)
    weight = (1.0 / np.maximum(count, 1)).astype(g.dtype)
    if axis is None or ar.ndim < 2:
        return gather(g * weight, inverse, -1).reshape(ar.shape)
    at = int(axis) % ar.ndim - ar.ndim
    return gather(g * weight.reshape((-1,) + (1,) * (-at - 1)), inverse, at)


def unique_jvp(g: Any, y: Any, ar: Any, axis: Any, equal_nan: bool) -> Any:
    """The mean tangent of the elements that have the value."""
    values = first_output(y)
    inverse, count = members(ar, values, axis, equal_nan)
    weight = (1.0 / np.maximum(count, 1)).astype(g.dtype)
    if axis is None or ar.ndim < 2:
        moved = scatter_add(g.reshape(-1), inverse, values.size, -1) * weight
    else:
        at = int(axis) % ar.ndim - ar.ndim
        moved = scatter_add(g, inverse, values.shape[at], at)
        moved = moved * weight.reshape((-1,) + (1,) * (-at - 1))
    return (moved,) + (None,) * (len(y) - 1) if isinstance(y, tuple) else moved


reverse(
    np.unique,
    unique_vjp,
    unique_jvp,
    ignores=("return_index", "return_inverse", "return_counts", "sorted"),
)
for unique in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values):
    reverse(
        unique,
        lambda g, y, x: unique_vjp(g, y, x, None, False),
        lambda g, y, x: unique_jvp(g, y, x, None, False),
    )


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Values that are in one of the two only."""
    if not assume_unique:
        ar1, ar2 = np.unique(ar1), np.unique(ar2)
    both = np.concatenate((ar1, ar2), axis=None)
    if both.size == 0:
        return both
    both = np.sort(both)
    edge = beside(both).ones(1, bool)
    flag = np.concatenate((edge, both[1:] != both[:-1], edge))
    return both[flag[1:] & flag[:-1]]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Values of the first that are not in the second."""
    ar1 = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return ar1[np.isin(ar1, ar2, assume_unique=assume_unique, invert=True)]


composed(np.union1d, lambda ar1, ar2: np.unique(np.concatenate((ar1, ar2), axis=None)))
composed(np.setxor1d, setxor1d)
composed(np.setdiff1d, setdiff1d)
