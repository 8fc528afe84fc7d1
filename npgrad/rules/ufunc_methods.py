"""What ``ufunc.reduce``, ``accumulate``, ``reduceat`` and ``outer`` do with recorded arrays.

Sums, products, extremes and logaddexp have rules of their own, with NumPy's values bit for bit;
every other ufunc of two inputs is folded by slices, in NumPy's order: one call for each entry
along the axis, vectorised over the others. Ufuncs that compare give plain booleans that way.

The graph calls the four functions here with at least one recorded array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.primitives import primitive
from npgrad.rules.extreme import (
    fmax_accumulate,
    fmax_reduce,
    fmin_accumulate,
    fmin_reduce,
    maximum_accumulate,
    minimum_accumulate,
)
from npgrad.rules.indexing import as_array, in_memory, iterated
from npgrad.rules.product import others, plain_range
from npgrad.rules.reduced import (
    axes_of,
    given,
    kept_shape,
    options,
    reduced_axes,
    restore,
    selecting,
)
from npgrad.table import linear, reverse, ufunc_methods

NoValue = np._NoValue
LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


# --------------------------------------------------------------------------------------- logaddexp
def decide_logsum(ufunc: np.ufunc, power: Callable[[Any], Any]) -> tuple[Any, Any]:
    """``reduce`` and contiguous ``reduceat`` of logaddexp (or logaddexp2): softmax weights."""

    @primitive
    def reduce(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return ufunc.reduce(a, axis=axis, keepdims=keepdims, initial=initial, where=where)

    @primitive
    def segments(a: Any, starts: Any) -> Any:
        return ufunc.reduceat(a, starts, axis=0)

    def weights(a: Any, top: Any, tied: Callable[[Any], Any]) -> Any:
        """exp(a - y); of an infinite y the elements that equal it share."""
        infinite = np.isinf(top)
        if not np.any(infinite):
            return power(a - top)
        same = (a == top) & infinite
        finite = power(np.where(infinite, 0, a - np.where(infinite, 0, top)))
        return np.where(infinite, (same / tied(same)).astype(a.dtype), finite)

    def softmax(a: Any, y: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        top = restore(y, a.shape, axis, keepdims)

        def tied(same: Any) -> Any:
            same = same & where if selecting(where) else same
            count = np.sum(same, axis=axis, keepdims=True)
            if given(initial):
                count = count + (top == initial)
            return np.maximum(count, 1)

        share = weights(a, top, tied)
        return np.where(where, share, 0) if selecting(where) else share

    def vjp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        return restore(g, a.shape, axis, keepdims) * softmax(a, y, axis, keepdims, initial, where)

    def jvp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
        g = np.where(where, g, 0) if selecting(where) else g
        moved = g * softmax(a, y, axis, keepdims, initial, where)
        return np.sum(moved, axis=axes_of(g, axis, a.ndim), keepdims=keepdims)

    def softmax_in_segments(a: Any, y: Any, starts: Any) -> Any:
        lengths = lengths_of(starts, a.shape[0])
        return weights(
            a,
            np.repeat(y, lengths, axis=0),
            lambda same: np.maximum(
                np.repeat(np.add.reduceat(same, starts, axis=0, dtype=int), lengths, axis=0), 1
            ),
        )

    reverse(reduce, vjp, jvp, batched=True).name = f"np.{ufunc.__name__}.reduce"
    reverse(
        segments,
        lambda g, y, a, starts: (
            np.repeat(g, lengths_of(starts, a.shape[0]), axis=0) * softmax_in_segments(a, y, starts)
        ),
        lambda g, y, a, starts: sum_segments(g * softmax_in_segments(a, y, starts), starts),
    ).name = f"np.{ufunc.__name__}.reduceat"
    return reduce, segments


def lengths_of(starts: Any, n: int) -> Any:
    """The lengths of contiguous segments of `n` entries."""
    return np.diff(np.append(starts, n))


@primitive
def sum_segments(a: Any, starts: Any) -> Any:
    """The sums of contiguous segments along the first axis; `starts` rise from 0."""
    return np.add.reduceat(a, starts, axis=0)


linear(
    sum_segments,
    transpose=lambda g, shape, starts: np.repeat(g, lengths_of(starts, shape[0]), axis=0),
)


def decide_extreme_segments(ufunc: np.ufunc) -> Any:
    """``reduceat`` of maximum and its kind over contiguous segments; ties share equally."""

    @primitive
    def segments(a: Any, starts: Any) -> Any:
        return ufunc.reduceat(a, starts, axis=0)

    def shares(a: Any, y: Any, starts: Any, dtype: Any) -> Any:
        lengths = lengths_of(starts, a.shape[0])
        top = np.repeat(y, lengths, axis=0)
        tied = (a == top) | (np.isnan(a) & np.isnan(top))
        count = np.repeat(np.add.reduceat(tied, starts, axis=0, dtype=int), lengths, axis=0)
        return np.where(tied, 1.0 / np.maximum(count, 1), 0).astype(dtype)

    reverse(
        segments,
        lambda g, y, a, starts: (
            np.repeat(g, lengths_of(starts, a.shape[0]), axis=0) * shares(a, y, starts, g.dtype)
        ),
        lambda g, y, a, starts: sum_segments(g * shares(a, y, starts, g.dtype), starts),
    ).name = f"np.{ufunc.__name__}.reduceat"
    return segments


@primitive
def multiply_segments(a: Any, starts: Any) -> Any:
    """The products of contiguous segments along the first axis."""
    return np.multiply.reduceat(a, starts, axis=0)


def other_factors(y: Any, a: Any, starts: Any) -> Any:
    """For each entry the product of the others in its segment."""
    if plain_range(y):
        return np.repeat(y, lengths_of(starts, a.shape[0]), axis=0) / a
    ends = [*starts[1:].tolist(), a.shape[0]]
    return np.concatenate([others(a[s:e]) for s, e in zip(starts.tolist(), ends, strict=True)])


reverse(
    multiply_segments,
    lambda g, y, a, starts: (
        np.repeat(g, lengths_of(starts, a.shape[0]), axis=0) * other_factors(y, a, starts)
    ),
    lambda g, y, a, starts: sum_segments(g * other_factors(y, a, starts), starts),
)
logaddexp_reduce, logaddexp_segments = decide_logsum(np.logaddexp, np.exp)
logaddexp2_reduce, logaddexp2_segments = decide_logsum(np.logaddexp2, np.exp2)

REDUCE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}
REDUCE_POSITIONALLY = {
    np.fmax: fmax_reduce,
    np.fmin: fmin_reduce,
    np.logaddexp: logaddexp_reduce,
    np.logaddexp2: logaddexp2_reduce,
}
NOTHING = {np.fmax: -math.inf, np.fmin: math.inf, np.logaddexp: -math.inf, np.logaddexp2: -math.inf}
ACCUMULATE = {
    np.maximum: maximum_accumulate,
    np.minimum: minimum_accumulate,
    np.fmax: fmax_accumulate,
    np.fmin: fmin_accumulate,
}
SEGMENTS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: sum_segments,
    np.multiply: multiply_segments,
    np.logaddexp: logaddexp_segments,
    np.logaddexp2: logaddexp2_segments,
    **{u: decide_extreme_segments(u) for u in (np.maximum, np.minimum, np.fmax, np.fmin)},
}


# ------------------------------------------------------------------------------------ the methods
def prepared(ufunc: np.ufunc, x: Any, dtype: Any) -> Any:
    """`x` as an array of the dtype that the method computes in."""
    x = as_array(x)
    if ufunc.nin != 2:
        raise ValueError("reduce only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError("reduce only supported for functions returning a single value")
    if ufunc in LOGICAL:
        return x != 0  # nan is true, as in NumPy
    if dtype is None:
        ufunc.resolve_dtypes((x.dtype, x.dtype, None), reduction=True)  # NumPy's TypeError, if any
    elif x.dtype != dtype and ufunc not in (np.add, np.multiply):  # whose functions take a dtype
        x = x.astype(dtype)
    return x


def ufunc_reduce(
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NoValue,
    where: Any = True,
) -> Any:
    """``ufunc.reduce(x, ...)``, recorded."""
    x = prepared(ufunc, x, dtype)
    if ufunc in LOGICAL:
        return ufunc.reduce(
            x, axis=axis, keepdims=keepdims, where=where, **options(initial=initial)
        )
    if ufunc in REDUCE:
        extra = options(initial=initial)
        if where is not True:
            extra["where"] = where
        if keepdims:
            extra["keepdims"] = True
        if dtype is not None and ufunc in (np.add, np.multiply):
            extra["dtype"] = dtype
        return REDUCE[ufunc](x, axis=axis, **extra)
    if ufunc in REDUCE_POSITIONALLY:
        if isinstance(initial, GradArray):
            made = REDUCE_POSITIONALLY[ufunc](x, axis, keepdims, NOTHING[ufunc], where)
            return ufunc(made, initial.astype(made.dtype))
        return REDUCE_POSITIONALLY[ufunc](x, axis, keepdims, initial, where)
    return fold(ufunc, x, axis, keepdims, initial, where)


def fold(ufunc: np.ufunc, x: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """The left fold by slices."""
    axes = reduced_axes(axis, x.ndim)
    if len(axes) > 1 and ufunc.identity is None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified"
        )
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    line = laid_out(x, axes, rest)
    mask = None
    if where is not True:
        mask = laid_out(np.broadcast_to(as_array(where), x.shape), axes, rest)
    start = 0
    zeros = np.zeros_like(line, shape=(1, *line.shape[1:]))[0]  # CuPy overlooks a shape of ()
    if given(initial):
        y = zeros + initial
    elif ufunc.identity is not None:  # NumPy begins with it, so that hypot of one is its size
        y = zeros + ufunc.identity
    elif mask is not None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    elif not len(line):
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    else:
        y, start = line[0], 1
    for i in range(start, len(line)):
        step = ufunc(y, line[i])
        y = step if mask is None else np.where(mask[i], step, y)
    return y.reshape(kept_shape(x.shape, axes)) if keepdims else y


def laid_out(x: Any, axes: tuple[int, ...], rest: tuple[int, ...]) -> Any:
    """`x` with the reduced axes flattened in front; a 0-d array as one entry."""
    if x.ndim == 0:
        return x.reshape(1)
    shape = tuple(x.shape[a] for a in rest)
    return np.transpose(x, axes + rest).reshape((math.prod(x.shape[a] for a in axes), *shape))


def one_axis(x: Any, axis: Any) -> int:
    """The axis of an accumulate or a reduceat."""
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = axis
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError(axis, x.ndim)
    return int(axis)


def ufunc_accumulate(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """``ufunc.accumulate(x, ...)``, recorded."""
    x = prepared(ufunc, x, dtype)
    axis = one_axis(x, axis)
    if ufunc in LOGICAL:
        return ufunc.accumulate(x, axis=axis)
    if ufunc is np.add:
        return np.cumsum(x, axis=axis, dtype=dtype)
    if ufunc is np.multiply:
        return np.cumprod(x, axis=axis, dtype=dtype)
    if not x.shape[axis]:
        return x
    if ufunc in ACCUMULATE:
        if axis in (-1, x.ndim - 1):
            return ACCUMULATE[ufunc](x)
        return np.moveaxis(ACCUMULATE[ufunc](np.moveaxis(x, axis, -1)), -1, axis)
    line = np.moveaxis(x, axis, 0)
    steps = [line[0]]
    for i in range(1, len(line)):
        steps.append(ufunc(steps[-1], line[i]))
    return in_memory(np.stack(steps, axis=axis), iterated(x.shape, x.strides))


def ufunc_reduceat(ufunc: np.ufunc, x: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """``ufunc.reduceat(x, indices, ...)``, recorded: segments gathered, then reduced in a row.

    A segment runs up to the next index; where that is not larger, it is the one entry.
    """
    x = prepared(ufunc, x, dtype)
    x = x if dtype is None or x.dtype == dtype or ufunc in LOGICAL else x.astype(dtype)
    axis = one_axis(x, axis)
    if ufunc in LOGICAL:
        return ufunc.reduceat(x, indices, axis=axis)
    indices, n = np.asarray(indices), x.shape[axis]
    outside = indices[(indices < 0) | (indices >= n)]
    if outside.size:
        raise IndexError(f"index {outside[0]} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    ends = np.append(indices[1:], n)
    lengths = np.where(ends > indices, ends - indices, 1)
    starts = np.cumsum(lengths) - lengths
    line = np.moveaxis(x, axis, 0)
    if not indices.size:
        return np.moveaxis(line[:0], 0, axis)
    if np.all(ends > indices):  # rising: the segments lie side by side already
        line = line[int(indices[0]) :] if indices[0] else line
    else:
        segment = np.repeat(np.arange(indices.size), lengths)
        line = np.take(line, np.arange(segment.size) - (starts - indices)[segment], axis=0)
    if ufunc in SEGMENTS:
        y = SEGMENTS[ufunc](line, starts)
    else:
        y = np.stack(
            [
                ufunc_reduce(ufunc, line[int(s) : int(s + m)])
                for s, m in zip(starts, lengths, strict=True)
            ]
        )
    strides = list(x.strides)
    strides[axis] = 0  # which the iterator does not follow
    return in_memory(np.moveaxis(y, 0, axis), iterated(x.shape, strides))


def ufunc_outer(ufunc: np.ufunc, a: Any, b: Any, **keywords: Any) -> Any:
    """``ufunc.outer(a, b)``: `a` gets an axis for each one of `b`, then they broadcast."""
    a = as_array(a)
    return ufunc(a.reshape(a.shape + (1,) * np.ndim(b)), b, **keywords)


ufunc_methods.update(
    reduce=ufunc_reduce,
    accumulate=ufunc_accumulate,
    reduceat=ufunc_reduceat,
    outer=ufunc_outer,
)
