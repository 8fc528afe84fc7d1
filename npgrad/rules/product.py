"""Products: prod and nanprod, without a division where there is a zero.

The derivative by one factor is the product of the others. While the whole product is a normal
number that is y / a, in one pass; where it is zero, subnormal or not finite, the products of the
others are built from products alone, so that zeros are right to every order.

Names a rule may use: ``g``, ``y`` the product, and NumPy's ``a, axis, keepdims, initial, where``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from npgrad.rules.indexing import gather, scatter
from npgrad.rules.reduced import (
    axes_of,
    back_in_place,
    given,
    in_front,
    keep_zeros,
    options,
    restore,
    selecting,
)
from npgrad.rules.reduction import known
from npgrad.table import reverse


def normal(y: Any) -> Any:
    """Where a product is finite and normal, so that dividing by a factor is exact enough."""
    size = np.abs(y)
    return (size >= smallest(y.dtype)) & (size < np.inf)


@functools.cache
def smallest(dtype: Any) -> Any:
    """The smallest normal number."""
    return np.finfo(dtype).tiny


def plain_range(y: Any) -> bool:
    """Whether every product is `normal`."""
    return bool(normal(y).all())


def others(x: Any) -> Any:
    """For each entry along the first axis the product of all other entries; no division.

    Halves are multiplied pairwise, the products of the others of those pairs found, and each
    multiplied by its partner: five passes over the array, whatever its length. Where a long product
    underflowed, that is seen from the products of blocks, and the zeros are written at once.
    """
    n = x.shape[0]
    if n < LONG or type(x) is not np.ndarray:
        return pairwise_others(x)
    size = math.isqrt(n)
    whole = size * (n // size)
    blocks = x[:whole].reshape((n // size, size, *x.shape[1:]))
    products = np.concatenate((np.multiply.reduce(blocks, axis=0), x[whole:]))
    outside = pairwise_others(products)
    if not outside.any() and np.isfinite(products).all():
        return np.zeros(x.shape, x.dtype)
    inside = pairwise_others(blocks)
    inside *= outside[:size]
    rest = inside.reshape((whole, *x.shape[1:]))
    return rest if whole == n else np.concatenate((rest, outside[size:]))


LONG = 4096


def pairwise_others(x: Any) -> Any:
    """`others` by halves alone."""
    n = x.shape[0]
    if n <= 1:
        return np.ones_like(x)
    half = n // 2
    low, high = x[:half], x[half : 2 * half]
    pairs = low * high
    if 2 * half < n:  # an odd one is a pair by itself
        pairs = np.concatenate((pairs, x[2 * half :]))
    rest = pairwise_others(pairs)
    if type(x) is not np.ndarray:
        parts = (rest[:half] * high, rest[:half] * low)
        return np.concatenate((*parts, rest[half:]) if 2 * half < n else parts)
    out = np.empty_like(x)
    np.multiply(rest[:half], high, out=out[:half])
    np.multiply(rest[:half], low, out=out[half : 2 * half])
    out[2 * half :] = rest[half:]
    return out


def cofactors(y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """The derivative of the product by each factor."""
    shape = a.shape
    if selecting(where):
        a = np.where(where, a, 1)
    good = normal(y)
    if good.all():
        rest = restore(y, shape, axis, keepdims) / a
    elif np.ndim(y) == 0 or not good.any():
        rest = back_in_place(scaled(others(in_front(a, axis, shape)), initial), axis, shape)
    else:
        rest = mixed(restore(y, shape, axis, keepdims), a, axis, initial)
    return np.where(where, rest, 0) if selecting(where) else rest


def mixed(y: Any, a: Any, axis: Any, initial: Any) -> Any:
    """Lines with a normal product `y` by division, the others by products."""
    good = normal(y)
    if type(a) is np.ndarray and isinstance(axis, int):
        with np.errstate(all="ignore"):  # the lines that divide by zero are written over
            rest = y / a
        bad = ~np.moveaxis(good, axis, 0)[0]
        exact = scaled(others(np.moveaxis(a, axis, 0)[:, bad]), initial)
        np.moveaxis(rest, axis, 0)[:, bad] = exact
        return rest
    lines = in_front(a, axis, a.shape)
    flat = lines.reshape((lines.shape[0], -1))
    bad = np.flatnonzero(~in_front(good, axis, y.shape)[0])
    rest = y / np.where(good, a, 1)
    exact = scaled(others(gather(flat, bad, -1, True)), initial)
    exact = scatter(exact, flat.shape, bad, -1, unique=True).reshape(lines.shape)
    return np.where(good, rest, back_in_place(exact, axis, a.shape))


def scaled(rest: Any, initial: Any) -> Any:
    """Times the ``initial`` factor, if there is one."""
    return rest * initial if given(initial) else rest


def prod_vjp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """`g` times the product of the other factors."""
    if plain_range(y):  # one pass less: g y is small
        g = restore(g * y, a.shape, axis, keepdims)
        if not selecting(where):
            return g / a
        return np.where(where, g / np.where(where, a, 1), 0)
    g = restore(g, a.shape, axis, keepdims)
    return keep_zeros(g, g * cofactors(y, a, axis, keepdims, initial, where), y)


def prod_jvp(g: Any, y: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """One factor moved at a time, summed."""
    g = np.where(where, g, 0) if selecting(where) else g
    moved = keep_zeros(g, g * cofactors(y, a, axis, keepdims, initial, where), y)
    return np.sum(moved, axis=axes_of(g, axis, a.ndim), **options(keepdims=keepdims))


reverse(np.prod, prod_vjp, prod_jvp, ignores=("dtype",), batched=True)
reverse(
    np.nanprod,
    lambda g, y, a, axis, keepdims, initial, where: prod_vjp(
        g, y, a, axis, keepdims, initial, known(a, where)
    ),
    lambda g, y, a, axis, keepdims, initial, where: prod_jvp(
        g, y, a, axis, keepdims, initial, known(a, where)
    ),
    ignores=("dtype",),
    batched=True,
)
