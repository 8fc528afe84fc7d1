"""Mean and spread, which every normalisation divides by, also where squares leave the range.

    xhat = (x - mean) r          r = 1 / sqrt(mean((x - mean)**2) + eps)

Squares of float32 beyond 1e19 are infinite, those of numbers below 1e-23 zero (of float64 beyond
1e154 and below 1e-162). There x is measured in another unit, for each row a power of two,

    xhat(x, eps) = xhat(x u, eps u**2)          r(x, eps) = u r(x u, eps u**2)

which rounds nothing. xhat and r do not depend on u, so that derivatives may take it for a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._zeros import plain

__all__ = ["in_range", "normalised", "out_of_range", "statistics"]

# Between these 1 / r, r**2 and sums of a row's squares are far from the ends of either dtype's
# range; kernels leave what is beyond to the reference.
LOW, HIGH = 2.0**-50, 2.0**50
# Means of squares from which they have all their digits.
TINY = {"f": 2.0**-103, "d": 2.0**-970}


def normalised(x: Array, axes: Any, eps: float, centred: bool = True) -> tuple[Array, Array]:
    """``xhat`` and ``r`` over `axes`, about the mean or (not `centred`) about zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved, spread = _spread(x, axes, eps, centred)
    if _representable(spread, eps):
        r = 1 / np.sqrt(spread)
        return moved * r, r
    unit = _unit(x, axes, eps)
    moved, spread = _spread(x * unit, axes, eps * unit * unit, centred)
    r = 1 / np.sqrt(spread)
    return moved * r, r * unit


def _spread(x: Array, axes: Any, eps: Any, centred: bool) -> tuple[Array, Array]:
    """`x` less its mean, and the mean of its squares plus `eps`."""
    if centred:
        x = x - np.mean(x, axis=axes, keepdims=True)
    return x, np.mean(x * x, axis=axes, keepdims=True) + eps


def _representable(spread: Array, eps: float) -> bool:
    """Whether no square was lost; other libraries are not asked, since that waits for a device."""
    spread = plain(spread)
    if type(spread) is not np.ndarray or not spread.size:
        return True
    total = float(np.add.reduce(spread, None))
    if total - total != 0:  # infinite, or NaN
        return False
    low = TINY.get(spread.dtype.char, 0.0)
    return eps >= low or bool(np.minimum.reduce(spread, None) >= low)


def _unit(x: Array, axes: Any, eps: float) -> Array:
    """The power of two that brings the largest entry over `axes` (and eps) near 1."""
    largest = np.max(np.abs(plain(x)), axis=axes, keepdims=True)
    exponent = np.frexp(np.maximum(largest, max(eps, 0.0) ** 0.5))[1]
    most = np.finfo(largest.dtype).maxexp - 2
    return np.ldexp(np.ones_like(largest), -np.clip(exponent, -most, most))


def in_range(r: Array) -> bool:
    """Whether no `r` is beyond LOW and HIGH, or NaN."""
    return bool(np.all((r > LOW) & (r < HIGH)))


@njit(forceinline=True)
def out_of_range(r):  # type: ignore[no-untyped-def]
    """`in_range` of one number, turned round."""
    return not (r > LOW and r < HIGH)


@njit(fastmath={"reassoc", "contract", "nsz"})
def statistics(row, eps):  # type: ignore[no-untyped-def]
    """Mean and r of one row, in two passes."""
    n = row.size
    one = row.dtype.type(1)
    total = row.dtype.type(0)
    for j in range(n):
        total += row[j]
    mean = total / row.dtype.type(n)  # not times 1 / n: of equal entries it is that entry
    square = row.dtype.type(0)
    for j in range(n):
        d = row[j] - mean
        square += d * d
    return mean, one / np.sqrt(square * (one / row.dtype.type(n)) + row.dtype.type(eps))
