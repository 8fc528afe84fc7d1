"""Cotangents of maximum, clip and divide, each in one pass over memory.

    larger(g, x1, x2)     g where x1 > x2, half of it at a tie, 0 elsewhere
    inside(g, x, lo, hi)  g where lo <= x <= hi, 0 elsewhere
    divisor(g, y, x)      -g y / x
    divided, quotient     both cotangents of a maximum, of a quotient, the second written over g

NumPy needs two to five passes, each through fresh memory. A million float64: 1.1 ms a kernel, 3.6
for the masks of a maximum, 1.6 for the quotient. All arrays are contiguous, of one shape and one
dtype, float32 or float64; the NumPy spellings stand beside the rules as `*_reference` here.
"""

from __future__ import annotations

import numpy as np

from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = [
    "divided",
    "divisor",
    "divisor_reference",
    "inside",
    "inside_reference",
    "larger",
    "larger_reference",
    "powers",
    "powers_reference",
    "quotient",
]


def larger_reference(g: Array, x1: Array, x2: Array) -> Array:
    """`g` to the larger of two, half of it at a tie, by NumPy."""
    return np.where(x1 > x2, g, np.where(x1 == x2, 0.5 * g, 0))


def inside_reference(g: Array, x: Array, low: float, high: float) -> Array:
    """`g` between the bounds, the bounds included, by NumPy."""
    return np.where((x >= low) & (x <= high), g, 0)


def divisor_reference(g: Array, y: Array, x: Array) -> Array:
    """The derivative of a quotient `y` by its divisor `x`, by NumPy."""
    return -g * y / x


@njit()
def _larger(start, stop, g, x1, x2, out):  # type: ignore[no-untyped-def]
    """Entries ``start <= i < stop``."""
    for i in range(start, stop):
        whole = g[i]  # loads apart from the choice, so that the loop is vectorised
        half = 0.5 * whole
        a = x1[i]
        b = x2[i]
        rest = half if a == b else 0.0
        out[i] = whole if a > b else rest


@njit()
def _divided(start, stop, g, x1, x2, out):  # type: ignore[no-untyped-def]
    """`_larger` into `out`, the other part over `g`: an operand that is NaN gives neither any."""
    for i in range(start, stop):
        whole = g[i]
        half = 0.5 * whole
        a = x1[i]
        b = x2[i]
        rest = half if a == b else 0.0
        out[i] = whole if a > b else rest
        g[i] = whole if a < b else rest


@njit()
def _inside(start, stop, g, x, low, high, out):  # type: ignore[no-untyped-def]
    """Entries ``start <= i < stop``."""
    for i in range(start, stop):
        whole = g[i]
        value = x[i]
        out[i] = whole if (value >= low) & (value <= high) else 0.0


@njit()
def _divisor(start, stop, g, y, x, out):  # type: ignore[no-untyped-def]
    """Entries ``start <= i < stop``."""
    for i in range(start, stop):
        out[i] = -g[i] * y[i] / x[i]


@njit()
def _quotient(start, stop, g, y, x, out):  # type: ignore[no-untyped-def]
    """``g / x`` into `out`, ``-g y / x`` over `g`."""
    for i in range(start, stop):
        whole = g[i]
        divisor = x[i]
        out[i] = whole / divisor
        g[i] = -whole * y[i] / divisor


def larger(g: Array, x1: Array, x2: Array) -> Array:
    """See `larger_reference`."""
    out = np.empty_like(g)
    spread(_larger, g.size, 1.0, *(a.reshape(-1) for a in (g, x1, x2, out)))
    return out


def inside(g: Array, x: Array, low: float, high: float) -> Array:
    """See `inside_reference`; the bounds are taken in the dtype of `x`, as NumPy takes them."""
    out = np.empty_like(g)
    bounds = x.dtype.type(low), x.dtype.type(high)
    spread(_inside, g.size, 1.0, g.reshape(-1), x.reshape(-1), *bounds, out.reshape(-1))
    return out


def divisor(g: Array, y: Array, x: Array) -> Array:
    """See `divisor_reference`."""
    out = np.empty_like(g)
    spread(_divisor, g.size, 1.0, *(a.reshape(-1) for a in (g, y, x, out)))
    return out


def powers_reference(g: Array, x1: Array, x2: Array, y: Array) -> tuple[Array, Array]:
    """The derivatives of ``y = x1**x2`` for positive x1, by NumPy."""
    return y / x1 * x2 * g, np.log(x1) * y * g


@njit()
def _powers(start, stop, g, x1, x2, y, log):  # type: ignore[no-untyped-def]
    """The first over `g`, the second over `log`, the logarithm of x1."""
    for i in range(start, stop):
        whole = g[i]
        power = y[i]
        g[i] = power / x1[i] * x2[i] * whole
        log[i] = log[i] * power * whole


def powers(g: Array, x1: Array, x2: Array, y: Array) -> tuple[Array, Array]:
    """See `powers_reference`; written over `g` and over NumPy's logarithm, which is vectorised."""
    log = np.log(x1)
    spread(_powers, g.size, 1.6, *(a.reshape(-1) for a in (g, x1, x2, y, log)))
    return g, log


def divided(g: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
    """The parts of x1 and x2 by `larger_reference`, the second in the memory of `g`."""
    out = np.empty_like(g)
    spread(_divided, g.size, 1.4, *(a.reshape(-1) for a in (g, x1, x2, out)))
    return out, g


def quotient(g: Array, y: Array, x: Array) -> tuple[Array, Array]:
    """``g / x`` and `divisor_reference`, the second in the memory of `g`."""
    out = np.empty_like(g)
    spread(_quotient, g.size, 1.4, *(a.reshape(-1) for a in (g, y, x, out)))
    return out, g
