"""Reductions that add: sum, mean, var, std and their nan versions, average, ptp.

Names a rule may use: ``g`` the cotangent or tangent, ``y`` the result, ``shape`` of the argument,
and NumPy's parameters ``a, axis, keepdims, where, initial, ddof, correction, mean``. The products
are in ``product``, the extremes in ``extreme``, the medians in ``sorting``, and what
``ufunc.reduce`` does in ``ufunc_methods``.

A nan version is the plain function with ``where=`` not nan; one rule serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from npgrad.graph import backend
from npgrad.rules.reduced import (
    axes_of,
    extent,
    given,
    into,
    keep_zeros,
    options,
    over,
    reduced_axes,
    restore,
    selecting,
    share,
    spread,
    sum_to,
)
from npgrad.table import composed, linear, reverse

NoValue = np._NoValue


# ------------------------------------------------------------------------------------------ sum
def sum_transpose(g: Any, shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent of every element that was added is `g`."""
    if axis is None and where is NoValue and keepdims is NoValue and not g.ndim:
        return backend.broadcast(g, shape)
    g = spread(g, shape, axis, keepdims)
    return np.where(where, g, 0) if selecting(where) else g


def sum_forward(g: Any, shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The sum of the tangents, without ``initial``."""
    axis = axes_of(g, axis, len(shape))
    g = np.where(where, g, 0) if selecting(where) else g
    return np.sum(g, axis=axis, **options(keepdims=keepdims))


linear(
    np.sum,
    transpose=sum_transpose,
    forward=sum_forward,
    ignores=("dtype", "initial"),
    batched=True,
).shows = ("a",)


def known(a: Any, where: Any) -> Any:
    """Where `a` is not nan, as far as `where` selects it."""
    mask = ~np.isnan(a)
    return mask & where if selecting(where) else mask


reverse(
    np.nansum,
    lambda g, a, axis, keepdims, where: sum_transpose(g, a.shape, axis, keepdims, known(a, where)),
    lambda g, a, axis, keepdims, where: sum_forward(g, a.shape, axis, keepdims, known(a, where)),
    ignores=("dtype", "initial"),
    batched=True,
)


# ----------------------------------------------------------------------------------------- mean
def mean_transpose(g: Any, shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """`g` over the number of elements that were averaged."""
    if axis is None and where is NoValue and keepdims is NoValue and not g.ndim:
        return backend.broadcast(over(g, math.prod(shape)), shape)
    if not selecting(where):
        return spread(over(g, extent(shape, axis)), shape, axis, keepdims)
    chosen = np.broadcast_to(where, shape)
    g = spread(g, shape, axis, keepdims) * share(chosen, axis, g.dtype)
    return np.where(chosen, g, 0)


def mean_forward(g: Any, shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The mean of the tangents; 0 where nothing is averaged."""
    along = axes_of(g, axis, len(shape))
    if not selecting(where):
        return np.mean(g, axis=along, **options(keepdims=keepdims))
    g = np.where(where, g * share(np.broadcast_to(where, shape), axis, g.dtype), 0)
    return np.sum(g, axis=along, **options(keepdims=keepdims))


linear(
    np.mean, transpose=mean_transpose, forward=mean_forward, ignores=("dtype",), batched=True
).shows = ("a",)
reverse(
    np.nanmean,
    lambda g, a, axis, keepdims, where: mean_transpose(g, a.shape, axis, keepdims, known(a, where)),
    lambda g, a, axis, keepdims, where: mean_forward(g, a.shape, axis, keepdims, known(a, where)),
    ignores=("dtype",),
    batched=True,
)


# ------------------------------------------------------------------------------------ var, std
def deviation(a: Any, axis: Any, where: Any, mean: Any) -> Any:
    """`a` minus its mean; 0 where `where` leaves an element out."""
    if not selecting(where):
        return a - (mean if given(mean) else np.mean(a, axis=axis, keepdims=True))
    if not given(mean):
        total = np.sum(np.where(where, a, 0), axis=axis, keepdims=True)
        mean = total * share(np.broadcast_to(where, a.shape), axis, real_type(a.dtype))
    return np.where(where, a - mean, 0)


def real_type(dtype: Any) -> Any:
    """The dtype of the real part of a number of `dtype`."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def twice_per_freedom(a: Any, axis: Any, where: Any, lost: Any) -> Any:
    """2 / (n - ddof); nan where NumPy divides nothing by nothing."""
    if not selecting(where):
        n = extent(a.shape, axis) - lost
        return 2.0 / n if n > 0 else float("nan")
    n = np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=True) - lost
    return np.where(n > 0, 2.0 / np.where(n > 0, n, 1), np.nan).astype(real_type(a.dtype))


def inner(a: Any, b: Any) -> Any:
    """The real part of conj(a) b; plainly a b for real numbers."""
    return np.real(np.conj(a) * b) if a.dtype.kind == "c" else a * b


def times(fresh: Any, weight: Any) -> Any:
    """The product, written over `fresh` where that is a plain array that nobody else has."""
    plain = type(fresh) is np.ndarray and (
        type(weight) is np.ndarray or isinstance(weight, np.generic)
    )
    if plain and fresh.dtype == weight.dtype and weight.ndim <= fresh.ndim:
        return np.multiply(fresh, weight, out=fresh)
    return fresh * weight


def per_spread(g: Any, y: Any) -> Any:
    """`g` / (2 y), the derivative of the root of the variance; 0 where nothing is spread."""
    still = y == 0
    if not still.any():
        return g / (2.0 * y)
    return np.where(still, 0, g / np.where(still, 1, 2.0 * y))


class Spread(NamedTuple):
    """The arguments of var and std, by NumPy's names."""

    a: Any
    axis: Any
    keepdims: Any
    where: Any
    ddof: Any
    correction: Any
    mean: Any

    def weights(self) -> tuple[Any, Any]:
        """The deviations from the mean, and 2 / (n - ddof)."""
        lost = self.correction if given(self.correction) else self.ddof
        return (
            deviation(self.a, self.axis, self.where, self.mean),
            twice_per_freedom(self.a, self.axis, self.where, lost),
        )


def decide_spread(fun: Any, *, root: bool, nan: bool) -> None:
    """Decide var, std or a nan version: sum |a - mean|^2 / (n - ddof), or its root.

    The gradient is 2 (a - mean) / (n - ddof): through the mean itself nothing flows, because the
    deviations from it add up to 0. A ``mean=`` that was given may be off, and has its own rule.
    """

    def vjp(g: Any, y: Any, of: Spread) -> Any:
        away, weight = of.weights()
        each = restore(per_spread(g, y) if root else g, of.a.shape, of.axis, of.keepdims)
        g = restore(g, of.a.shape, of.axis, of.keepdims)
        return keep_zeros(g, times(away, each * weight), y)

    def jvp(g: Any, y: Any, of: Spread) -> Any:
        g = np.where(of.where, g, 0) if selecting(of.where) else g
        away, weight = of.weights()
        moved = keep_zeros(g, inner(away, g) * weight, y)
        axes = axes_of(g, of.axis, of.a.ndim)
        moved = np.sum(moved, axis=axes, **options(keepdims=of.keepdims))
        return keep_zeros(moved, per_spread(moved, y), y) if root else moved

    # a step of the mean is a step of every element the other way
    def vjp_mean(g: Any, y: Any, of: Spread) -> Any:
        return -sum_to(vjp(g, y, of), np.shape(of.mean))

    def jvp_mean(g: Any, y: Any, of: Spread) -> Any:
        shape = np.shape(of.mean)
        batch = g.shape[: g.ndim - len(shape)]
        g = -g.reshape((*batch, *(1,) * (of.a.ndim - len(shape)), *shape))
        return jvp(np.broadcast_to(g, batch + of.a.shape), y, of)

    def rule(of: Callable[[Any, Any, Spread], Any]) -> Any:
        return lambda g, y, a, axis, keepdims, where, ddof, correction, mean: of(
            g,
            y,
            Spread(a, axis, keepdims, known(a, where) if nan else where, ddof, correction, mean),
        )

    reverse(
        fun,
        {"a": rule(vjp), "mean": rule(vjp_mean)},
        {"a": rule(jvp), "mean": rule(jvp_mean)},
        ignores=("dtype",),
        holomorphic=False,
        batched=True,
    )


decide_spread(np.var, root=False, nan=False)
decide_spread(np.std, root=True, nan=False)
decide_spread(np.nanvar, root=False, nan=True)
decide_spread(np.nanstd, root=True, nan=True)


# ------------------------------------------------------------------------------- average and ptp
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NoValue,
) -> Any:
    """NumPy's formulas, operation for operation, so that the values are NumPy's too."""
    a = as_array(a)
    kept = options(keepdims=keepdims)
    if weights is None:
        mean = np.mean(a, axis=axis, **kept)
        total: Any = np.ones_like(mean) * (a.size / mean.size) if returned else None
    else:
        weights = spread_weights(as_array(weights), a, axis)
        dtype = np.result_type(a.dtype, weights.dtype)
        if a.dtype.kind in "biu":
            dtype = np.result_type(a.dtype, weights.dtype, "f8")
        total = np.sum(weights, axis=axis, dtype=dtype, **kept)
        if np.any(total == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighed = a * weights
        weighed = weighed if weighed.dtype == dtype else weighed.astype(dtype)
        mean = np.sum(weighed, axis=axis, **kept) / total
    if not returned:
        return mean
    return mean, total if total.shape == mean.shape else np.broadcast_to(total, mean.shape).copy()


def as_array(x: Any) -> Any:
    """`x` itself if it is an array of any kind, else NumPy's array of it."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def spread_weights(weights: Any, a: Any, axis: Any) -> Any:
    """`weights` laid along the axes of `a` that they belong to."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = reduced_axes(axis, a.ndim)
    if weights.shape != tuple(a.shape[ax] for ax in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    ordered = np.transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))
    return ordered.reshape(tuple(n if ax in axes else 1 for ax, n in enumerate(a.shape)))


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue) -> Any:
    """The largest less the smallest."""
    kept = options(keepdims=keepdims)
    return into(out, np.subtract(np.max(a, axis=axis, **kept), np.min(a, axis=axis, **kept)))


composed(np.average, average)
composed(np.ptp, ptp)
