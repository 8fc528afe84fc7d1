"""Running sums and products along an axis: cumsum, cumprod, the cumulative_* and nan versions.

The transpose of a running sum is a running sum from the other end. A running product without
zeros is differentiated through one of those; with zeros, by the recurrence it satisfies, solved
by doubling, so that there is no division and every order is right.

Differences and what is made of them are in ``difference``, running extremes in ``extreme``.
Names a rule may use: ``g``, ``y``, ``shape``, and NumPy's ``a`` or ``x, axis, include_initial``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.rules.product import plain_range
from npgrad.rules.reduced import keep_zeros
from npgrad.table import linear, reverse

ALL = slice(None)


def along(axis: int, index: slice) -> tuple[Any, ...]:
    """`index` applied to `axis`, counted from the end; whatever comes before stays whole."""
    return (..., index, *(ALL,) * (-axis - 1))


def from_end(axis: Any, ndim: int) -> int:
    """`axis` counted from the end, so that leading batch axes do not move it."""
    return -1 if axis is None or ndim == 0 else int(axis) % ndim - ndim


# ------------------------------------------------------------------------------------------ sums
def cumsum_transpose(g: Any, shape: Any, axis: Any) -> Any:
    """Every element counts in its own running sum and in all later ones: a sum from the end."""
    flat = axis is None or not shape
    axis = from_end(axis, len(shape))
    turned = along(axis, slice(None, None, -1))
    target = g.shape[:-1] + shape if flat else g.shape
    if type(g) is not np.ndarray:
        return np.cumsum(g[turned], axis=axis)[turned].reshape(target)
    out = np.empty(target, g.dtype)  # written backwards, and not a view of something turned
    np.add.accumulate(g[turned], axis, None, (out.reshape(g.shape) if flat else out)[turned])
    return out


def cumsum_forward(g: Any, shape: Any, axis: Any) -> Any:
    """The running sums of the tangents."""
    if axis is None or not shape:
        return np.cumsum(g.reshape((*g.shape[: g.ndim - len(shape)], -1)), axis=-1)
    return np.cumsum(g, axis=from_end(axis, len(shape)))


linear(
    np.cumsum,
    transpose=cumsum_transpose,
    forward=cumsum_forward,
    ignores=("dtype",),
    batched=True,
)
reverse(
    np.nancumsum,
    lambda g, a, axis: np.where(np.isnan(a), 0, cumsum_transpose(g, a.shape, axis)),
    lambda g, a, axis: cumsum_forward(np.where(np.isnan(a), 0, g), a.shape, axis),
    ignores=("dtype",),
    batched=True,
)


# -------------------------------------------------------------------------------------- products
def recurrence(factors: Any, terms: Any) -> Any:
    """``r[i] = terms[i] + factors[i] * r[i - 1]`` along the first axis.

    By doubling: after each step every entry accounts for twice as many of those before it
    (W. D. Hillis and G. L. Steele, Data parallel algorithms, 1986).
    """
    step, n = 1, terms.shape[0]
    while step < n:
        ahead = terms[step:] + factors[step:] * terms[:-step]
        terms = np.concatenate((terms[:step], ahead))
        factors = np.concatenate((factors[:step], factors[step:] * factors[:-step]))
        step *= 2
    return terms


def line(x: Any, axis: Any) -> Any:
    """`x` with the axis of the scan in front, flattened where there is none."""
    return x.reshape(-1) if axis is None or x.ndim == 0 else np.moveaxis(x, axis, 0)


def unline(x: Any, shape: Any, axis: Any) -> Any:
    """Undo `line`."""
    return x.reshape(shape) if axis is None or not shape else np.moveaxis(x, 0, axis)


def one_before(y: Any) -> Any:
    """The running product before each step."""
    return np.concatenate((np.ones_like(y[:1]), y[:-1]))


def cumprod_vjp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """The sum over all later steps of `g` times the product of the other factors."""
    if plain_range(y):
        return cumsum_transpose(g * y, a.shape, axis) / a
    x, y, g = line(a, axis), line(y, axis), line(g, axis)
    # r[i] = g[i] + a[i + 1] r[i + 1], and a[i] meets the product before it
    factors = np.concatenate((x[1:], x[:1]))[::-1]
    r = recurrence(factors, g[::-1])[::-1]
    moved = keep_zeros(np.any(g != 0, axis=0), r * one_before(y), y)
    return unline(moved, a.shape, axis)


def cumprod_jvp(g: Any, y: Any, a: Any, axis: Any) -> Any:
    """The tangent of the running product: ẏ[i] = a[i] ẏ[i - 1] + ȧ[i] y[i - 1]."""
    if plain_range(y):
        return y * np.cumsum(g / a, axis=axis)
    x, g = line(a, axis), line(g, axis)
    moved = recurrence(x, g * one_before(line(y, axis)))
    return unline(keep_zeros(np.any(g != 0, axis=0), moved, y), y.shape, axis)


reverse(np.cumprod, cumprod_vjp, cumprod_jvp, ignores=("dtype",))


def without_nan(a: Any) -> Any:
    """`a` with 1 for nan, as nancumprod reads it."""
    return np.where(np.isnan(a), 1, a)


reverse(
    np.nancumprod,
    lambda g, y, a, axis: np.where(np.isnan(a), 0, cumprod_vjp(g, y, without_nan(a), axis)),
    lambda g, y, a, axis: cumprod_jvp(np.where(np.isnan(a), 0, g), y, without_nan(a), axis),
    ignores=("dtype",),
)


# ------------------------------------------------------------------- the array-API names (2.1 on)
def steps(g: Any, shape: Any, axis: Any, include_initial: bool) -> Any:
    """`g` without the initial value in front, which does not depend on the array."""
    return g[along(from_end(axis, len(shape)), slice(1, None))] if include_initial else g


if hasattr(np, "cumulative_sum"):
    linear(
        np.cumulative_sum,
        transpose=lambda g, shape, axis, include_initial: cumsum_transpose(
            steps(g, shape, axis, include_initial), shape, axis
        ),
        forward=lambda g, shape, axis, include_initial: np.cumulative_sum(
            g, axis=from_end(axis, len(shape)), include_initial=include_initial
        ),
        ignores=("dtype",),
        batched=True,
    )

    def cumulative_prod_jvp(g: Any, y: Any, x: Any, axis: Any, include_initial: bool) -> Any:
        """As cumprod's; the initial 1 in front stays."""
        moved = cumprod_jvp(g, steps(y, x.shape, axis, include_initial), x, axis)
        if not include_initial:
            return moved
        first = along(from_end(axis, x.ndim), slice(0, 1))
        return np.concatenate(
            (np.zeros_like(y[first], dtype=moved.dtype), moved), axis=from_end(axis, x.ndim)
        )

    reverse(
        np.cumulative_prod,
        lambda g, y, x, axis, include_initial: cumprod_vjp(
            steps(g, x.shape, axis, include_initial),
            steps(y, x.shape, axis, include_initial),
            x,
            axis,
        ),
        cumulative_prod_jvp,
        ignores=("dtype",),
    )
