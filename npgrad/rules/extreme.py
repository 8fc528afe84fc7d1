"""The largest and the smallest: max, min, their nan versions and running versions.

Elements that tie for the extreme share its cotangent equally, and the shares add up to it; an
``initial`` that ties takes its share with it. An extreme that is nan comes from the nans, which
share likewise.

Names a rule may use: ``g``, ``y`` the extremes, and NumPy's ``a, axis, keepdims, initial, where``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.implementations import kernel, large
from npgrad.primitives import beside, primitive
from npgrad.rules.indexing import scatter
from npgrad.rules.piecewise import FEW, WORDS
from npgrad.rules.reduced import axes_of, given, options, restore, selecting
from npgrad.rules.reduction import known
from npgrad.rules.sorting import places
from npgrad.table import reverse


def winners(a: Any, y: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> tuple[Any, Any]:
    """The mask of the elements that are the extreme, and how many are tied (None: one each)."""
    top = restore(y, a.shape, axis, keepdims)
    mask = a == top
    if selecting(where):
        mask = mask & where
    nans = np.isnan(y)
    if nans.any():
        of_nan = np.isnan(a) & restore(nans, a.shape, axis, keepdims)
        mask = mask | (of_nan & where if selecting(where) else of_nan)
    elif not given(initial) and np.count_nonzero(mask) == y.size:
        return mask, None
    count = np.sum(mask, axis=axis, keepdims=True)
    if given(initial):
        count = count + (top == initial)
    return mask, np.maximum(count, 1)


def extreme_vjp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """`g` to the extreme, in equal shares where several elements tie."""
    if large(a) and not selecting(where) and not given(initial):
        moved = in_one_pass(g, y, a, axis)
        if moved is not None:
            return moved
    mask, count = winners(a, y, axis, keepdims, initial, where)
    g = restore(g, a.shape, axis, keepdims)
    if count is None and type(g) is np.ndarray and mask.size > FEW and g.dtype in WORDS:
        # the bits times the mask: np.where mispredicts, and inf * 0 would not be 0
        return np.multiply(g.view(WORDS[g.dtype]), mask).view(g.dtype)
    if count is not None:  # inverted in float64: a float16 cannot count 65520 ties
        g = g * (1.0 / count).astype(g.dtype)
    return np.where(mask, g, 0)


def in_one_pass(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """What the kernel makes of a large array; None where it does not apply."""
    plain = type(g) is np.ndarray or isinstance(g, np.generic)
    if not plain or g.size != np.size(y) or g.dtype != a.dtype or np.isnan(y).any():
        return None
    kernels = kernel("extreme") if axis is None or isinstance(axis, int) else None
    if kernels is None:
        return None
    first, after = (0, a.ndim) if axis is None else (axis % a.ndim, axis % a.ndim + 1)
    outer, inner = math.prod(a.shape[:first]), math.prod(a.shape[after:])
    g, y = (np.ascontiguousarray(x).reshape(outer, inner) for x in (g, y))
    return kernels.share(g, a.reshape(outer, -1, inner), y).reshape(a.shape)


def extreme_jvp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """The tangent of the extreme, the mean over those that tie."""
    mask, count = winners(a, y, axis, keepdims, initial, where)
    g = np.where(mask, g, 0)
    if count is not None:
        g = g * (1.0 / count).astype(g.dtype)
    return np.sum(g, axis=axes_of(g, axis, a.ndim), **options(keepdims=keepdims))


def decide_extreme(fun: Any, *, nan: bool = False) -> None:
    """Decide a reduction to an extreme; one that skips nan gives nothing to them."""
    if not nan:
        reverse(fun, extreme_vjp, extreme_jvp, batched=True)
        return
    reverse(
        fun,
        lambda g, y, a, axis, keepdims, initial, where: extreme_vjp(
            g, y, a, axis, keepdims, initial, known(a, where)
        ),
        lambda g, y, a, axis, keepdims, initial, where: extreme_jvp(
            g, y, a, axis, keepdims, initial, known(a, where)
        ),
        batched=True,
    )


for reduction in dict.fromkeys((np.max, np.amax, np.min, np.amin)):
    decide_extreme(reduction)
decide_extreme(np.nanmax, nan=True)
decide_extreme(np.nanmin, nan=True)


# ------------------------------------------------------------------- what a ufunc's methods need
def _reduce(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduce`` as a function of its own, with NumPy's values."""

    @primitive
    def reduce(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return ufunc.reduce(a, axis=axis, keepdims=keepdims, initial=initial, where=where)

    reduce.__name__ = f"{ufunc.__name__}.reduce"
    return reduce


# np.nanmax warns of slices of nan alone, where np.fmax.reduce does not
fmax_reduce = _reduce(np.fmax)
fmin_reduce = _reduce(np.fmin)
decide_extreme(fmax_reduce, nan=True)
decide_extreme(fmin_reduce, nan=True)


def _accumulate(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate`` along the last axis as a function of its own."""

    @primitive
    def accumulate(a: Any) -> Any:
        return ufunc.accumulate(a, axis=-1)

    accumulate.__name__ = f"{ufunc.__name__}.accumulate"
    return accumulate


def running_winners(a: Any, y: Any) -> tuple[Any, Any, Any]:
    """For every step of a running extreme: first winner, elements tied so far, and the ties.

    A run is a stretch of steps with one value; it begins with its first winner. The count is None
    where no two are tied::

        a      3  1  3  5  5  2
        y      3  3  3  5  5  5
        first  0  0  0  3  3  3
        count  1  1  2  1  2  2
    """
    tied = a == y
    changed = y[..., 1:] != y[..., :-1]
    nan = np.isnan(y)
    if nan.any():
        tied |= np.isnan(a) & nan
        changed &= ~(nan[..., 1:] & nan[..., :-1])
    begins = tied.copy()
    begins[..., 1:] &= changed
    steps = beside(a).arange(begins.shape[-1])
    first = np.maximum.accumulate(np.where(begins, steps, 0), axis=-1)
    if np.count_nonzero(tied) == np.count_nonzero(begins):
        return first, None, tied
    seen = np.cumsum(tied, axis=-1)
    before = np.take_along_axis(seen, first, axis=-1) - 1
    return first, seen - before, tied


def running_vjp(g: Any, y: Any, a: Any) -> Any:
    """The cotangent of a step goes to the winners up to that step, in equal shares."""
    first, count, tied = running_winners(a, y)
    if count is None:
        return scatter_lines(g, first)
    # Within a run, the k-th winner takes part in the steps from its own place on: a suffix sum of
    # the shares, less what belongs to later runs, which begins where the first winner changes.
    shares = g * (1.0 / count).astype(g.dtype)
    suffix = np.flip(np.cumsum(np.flip(shares, -1), axis=-1), -1)
    earlier = np.take_along_axis(suffix, first, axis=-1) - suffix
    whole = np.take_along_axis(scatter_lines(shares, first.copy()), first, axis=-1)
    return np.where(tied, whole - earlier, 0)


def running_jvp(g: Any, y: Any, a: Any) -> Any:
    """The tangent of the winner, the mean over those tied so far."""
    first, count, tied = running_winners(a, y)
    if count is None:
        return np.take_along_axis(g, first, axis=-1)
    moved = np.where(tied, g, 0)
    seen = np.cumsum(moved, axis=-1)
    before = np.take_along_axis(seen - moved, first, axis=-1)
    return (seen - before) * (1.0 / count).astype(g.dtype)


def scatter_lines(g: Any, first: Any) -> Any:
    """Add ``g[..., j]`` at place ``first[..., j]`` of its line; `first` may be overwritten."""
    return scatter(g.reshape(-1), first.shape, places(first), None)


maximum_accumulate = _accumulate(np.maximum)
minimum_accumulate = _accumulate(np.minimum)
fmax_accumulate = _accumulate(np.fmax)
fmin_accumulate = _accumulate(np.fmin)
for running in (maximum_accumulate, minimum_accumulate, fmax_accumulate, fmin_accumulate):
    reverse(running, running_vjp, running_jvp)
