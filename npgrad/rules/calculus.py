"""Interpolation, convolution, correlation.

Polynomials have their own chapter; differences, gradients and integrals by sums are elsewhere.
Rules may use ``g``, ``shape`` and NumPy's own parameter names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.rules.indexing import as_array
from npgrad.table import bilinear, composed, reverse

Array = Any
Shape = tuple[int, ...]


# ----------------------------------------------------------------------- convolve and correlate
def mode_name(mode: Any) -> str:
    """``"full"``, ``"same"`` or ``"valid"``, from any spelling that NumPy takes."""
    return {0: "valid", 1: "same", 2: "full", "v": "valid", "s": "same", "f": "full"}[
        mode[0].lower() if isinstance(mode, str) else int(mode)
    ]


def length_of(shape: Shape) -> int:
    """Entries of a vector; a number is a vector of one."""
    return shape[0] if shape else 1


def embedded(g: Array, start: int, length: int) -> Array:
    """`g` in zeros of `length`: the cotangent of the full result from that of a part of it."""
    return g if len(g) == length else np.pad(g, (start, length - start - len(g)))


def full_convolution(g: Array, n: int, m: int, mode: Any) -> Array:
    """The cotangent of the full convolution of lengths n and m."""
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode_name(mode)]
    return embedded(g, start, n + m - 1)


def full_correlation(g: Array, n: int, m: int, mode: Any) -> Array:
    """The cotangent of the full correlation; NumPy swaps and turns it round when m is longer."""
    middle = (m - 1) // 2 if m <= n else n // 2
    start = {"full": 0, "same": middle, "valid": min(n, m) - 1}[mode_name(mode)]
    return embedded(g, start, n + m - 1)


def convolve_part(g: Array, other: Any, shape: Shape, mode: Any) -> Array:
    """``y_k = sum_i a_i v_(k-i)``: the cotangent of a is ``sum_k g_k v_(k-i)``, and so for v."""
    other = np.atleast_1d(other)
    full = full_convolution(g, length_of(shape), len(other), mode)
    return np.convolve(full, other[::-1], "valid")


bilinear(
    np.convolve,
    lambda g, v, shape, mode: convolve_part(g, v, shape, mode),
    lambda g, a, shape, mode: convolve_part(g, a, shape, mode),
    signature="a, v, mode='full'",
)

# y_k = sum_n a_(n+k) conj(v_n):  a' = sum_k g_k v_(n-k),  v' = sum_k conj(g_k) a_(n+k)
reverse(
    np.correlate,
    {
        "a": lambda g, v, shape, mode: np.convolve(
            full_correlation(g, length_of(shape), len(np.atleast_1d(v)), mode), v, "valid"
        ),
        "v": lambda g, a, shape, mode: np.correlate(
            a, full_correlation(g, len(np.atleast_1d(a)), length_of(shape), mode), "valid"
        ),
    },
    {
        "a": lambda g, v, mode: np.correlate(g, v, mode),
        "v": lambda g, a, mode: np.correlate(a, g, mode),
    },
    signature="a, v, mode='valid'",
    holomorphic=False,
    product=True,
)


# ----------------------------------------------------------------------------------------- interp
def as_double(value: Any, dtype: Any = np.float64, casting: Any = "safe") -> Array:
    """`value` in the precision that ``np.interp`` works in."""
    value = as_array(value)
    return value if value.dtype == dtype else value.astype(dtype, casting=casting)


def one_period(x: Array, xp: Array, fp: Array, period: Any) -> tuple[Array, Array, Array]:
    """Points brought into one period, with a knot of the next one at either end."""
    period = as_double(abs(period))  # of a complex one too, as NumPy takes it
    if isinstance(period, np.ndarray):
        period = period[()]  # a number: points on a device meet no array of the host
    if period == 0:
        raise ValueError("period must be a non-zero value")
    x, xp = x % period, xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    return (
        x,
        np.concatenate((xp[-1:] - period, xp, xp[:1] + period)),
        np.concatenate((fp[-1:], fp, fp[:1])),
    )


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """``np.interp``, by its own formula ``slope * (x - xp[j]) + fp[j]``.

    At a knot the slope is that of the piece to the right; at the last knot, to the left. Outside,
    where NumPy repeats the ends or ``left`` and ``right``, it is zero.
    """
    fp = as_array(fp)
    casting = "safe" if period is None else "unsafe"  # of complex points NumPy then warns
    x, xp = as_double(x, casting=casting), as_double(xp, casting=casting)
    fp = as_double(fp, np.complex128 if fp.dtype.kind == "c" else np.float64, casting)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    if period is not None:
        left = right = None
        x, xp, fp = one_period(x, xp, fp, period)
    left = fp[0] if left is None else as_array(left)
    right = fp[-1] if right is None else as_array(right)
    below, above = x < xp[0], x > xp[-1]
    count = xp.shape[0]
    if count == 1:
        inside: Any = fp[0]
    else:
        j = np.minimum(np.maximum(np.searchsorted(xp, x, "right") - 1, 0), count - 2)
        base = np.where(x == xp[-1], count - 1, j)
        run = xp[1:] - xp[:-1]
        slope = (fp[1:] - fp[:-1]) / np.where(run == 0, 1.0, run)
        offset = np.where(below | above, 0.0, x - xp[base])  # x may be infinite out there
        inside = slope[j] * offset + fp[base]
    return np.where(below, left, np.where(above, right, inside))[()]


composed(np.interp, interp)
