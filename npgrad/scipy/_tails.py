"""Logarithms of distribution functions far out, where these are too small for a number.

``log(sf)`` is -inf there, and its slope 0/0. Each function here gives the logarithm by the leading
term and what it is multiplied by, a series or a continued fraction, in NumPy's words: it is
differentiated by every parameter. `log_of` takes it where the distribution function is tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from ._declare import plain

Array = Any

TINY = 1e-290  # below that the distribution function loses digits, and then is 0
TERMS = 60  # of the series: the arguments are such that the last ones are below rounding


def log_of(value: Array, tail: Callable[..., Array], *args: Array) -> Array:
    """The logarithm of `value`, by ``tail(*args)`` in double precision where it is tiny."""
    tiny = plain(value) < max(TINY, float(np.finfo(value.dtype).tiny))
    for arg in args:  # at infinity there is no leading term, and SciPy's -inf is right
        tiny = tiny & np.isfinite(plain(arg))
    if not np.any(tiny):
        return np.log(value)
    args = tuple(np.where(tiny, arg, 0.5).astype(np.float64) for arg in args)
    found = np.where(tiny, tail(*args), np.log(np.where(tiny, 1, value)))
    return found.astype(value.dtype)


def log_gammainc(a: Array, x: Array) -> Array:
    """Of P(a, x) for x well below a: x^a exp(-x) / gamma(a+1) times DLMF 8.7.1's series."""
    total: Any = 1.0
    for k in range(TERMS, 0, -1):
        total = 1 + x / (a + k) * total
    return a * np.log(x) - x - sp.gammaln(a + 1) + np.log(total)


def log_gammaincc(a: Array, x: Array) -> Array:
    """Of Q(a, x) for x well above a: the continued fraction DLMF 8.9.2."""
    rest: Any = 0.0
    for k in range(TERMS, 0, -1):
        rest = k * (k - a) / (x + 2 * k + 1 - a - rest)
    return a * np.log(x) - x - sp.gammaln(a) - np.log(x + 1 - a - rest)


def log_betainc(a: Array, b: Array, x: Array, y: Array) -> Array:
    """Of I_x(a, b) with y = 1 - x, for x well below its mean: DLMF 8.17.7 and 8.17.8."""
    total: Any = 1.0
    for k in range(TERMS, 0, -1):
        total = 1 + x * (a + b + k - 1) / (a + k) * total
    return a * np.log(x) + b * np.log(y) - np.log(a) - sp.betaln(a, b) + np.log(total)


def log_stdtr(v: Array, t: Array) -> Array:
    """Of Student's distribution far below 0, at -t: half of I_z(v/2, 1/2), z = v / (v + t^2)."""
    ratio = np.sqrt(v) / t
    z = ratio * ratio / (1 + ratio * ratio)
    total: Any = 1.0
    for k in range(TERMS, 0, -1):
        total = 1 + z * (0.5 * v + k - 0.5) / (0.5 * v + k) * total
    lead = v * np.log(ratio) - 0.5 * (v + 1) * np.log1p(ratio * ratio)
    return lead - np.log(v) - sp.betaln(0.5 * v, 0.5) + np.log(total)
