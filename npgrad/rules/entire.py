"""Entire functions that NumPy writes by cases: sinc and i0, with derivatives of every order.

Each derivative is a primitive of its own, accurate everywhere: a power series near 0, where the
formulas by cases cancel, and what they say elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.table import reverse


# ------------------------------------------------------------------------------------------- sinc
@primitive
def sinc_derivative(x: Any, order: int) -> Any:
    """The derivative of ``np.sinc`` of any order, accurate everywhere.

    With u = pi x and s = sin(u) / u, differentiating u s = sin(u) gives
    u s_n = sin(u + n pi / 2) - n s_(n-1), which is stable for |u| > n (and s_1 loses 6 / u^2 ulps,
    1e-14 from 0.3 on). Below, the power series
    sum over 2m >= n of (-1)^m u^(2m-n) / ((2m-n)! (2m+1)), from DLMF 4.19.1.
    """
    x = x if hasattr(x, "dtype") else np.asarray(x)
    u = math.pi * x.astype(np.result_type(x.dtype, np.float64))
    border = order + 0.5 if order > 1 else 0.3
    near = np.abs(u) < border
    away = np.where(near, border, u)
    circle = np.sin(away), np.cos(away)
    far = circle[0] / away
    for n in range(1, order + 1):
        turned = circle[n % 2] if n % 4 < 2 else -circle[n % 2]
        far = (turned - n * far) / away
    close = u[near]
    series: Any = 0
    for m in reversed(range((order + 1) // 2, 3 * order + 12)):  # 1e-17 at the border
        power = 2 * m - order
        coefficient = (-1) ** m / (math.factorial(power) * (2 * m + 1))
        series = series * close * close + coefficient
    series = series * close if order % 2 else series
    if isinstance(far, np.generic):
        far = np.asarray(far)
    far[near] = series
    return (math.pi**order * far).astype(x.dtype)[()]


def sinc_derivative_change(g: Any, x: Any, order: int) -> Any:
    """The next order."""
    return g * sinc_derivative(x, order + 1)


reverse(sinc_derivative, sinc_derivative_change, sinc_derivative_change, batched=True)
reverse(
    np.sinc,
    lambda g, x: g * sinc_derivative(x, 1),
    lambda g, x: g * sinc_derivative(x, 1),
    batched=True,
)


# --------------------------------------------------------------------------------------------- i0
@primitive
def bessel_quotient(x: Any, order: int) -> Any:
    """I_n(x) / x^n for n = `order`: entire and even in x.

    The power series (DLMF 10.25.2), whose terms are all positive, up to |x| = 25; the asymptotic
    expansion (DLMF 10.40.1) beyond, whose smallest term is below 1e-21 there.
    """
    x = x if hasattr(x, "dtype") else np.asarray(x)
    size = np.abs(x.astype(np.result_type(x.dtype, np.float64)))
    near = size < 25
    quarter = np.where(near, size, 0) ** 2 / 4
    term = np.full_like(size, 1 / (2**order * math.factorial(order)))
    series = term.copy()
    m = 0
    while np.any(term > 1e-20 * series):
        m += 1
        term *= quarter / (m * (m + order))
        series += term
    far = np.where(near, 25, size)
    term = np.ones_like(size)
    expansion = term.copy()
    for j in range(1, 36):
        term *= ((2 * j - 1) ** 2 - 4 * order**2) / (8 * j) / far
        expansion += term
    with np.errstate(over="ignore"):
        expansion *= np.exp(far) / np.sqrt(2 * math.pi * far) / far**order
    return np.where(near, series, expansion).astype(x.dtype)


def bessel_quotient_change(g: Any, x: Any, order: int) -> Any:
    """The next quotient times x, DLMF 10.29.4."""
    return g * x * bessel_quotient(x, order + 1)


def i0_change(g: Any, x: Any) -> Any:
    """I_1(x), DLMF 10.29.3."""
    return g * x * bessel_quotient(x, 1)


reverse(bessel_quotient, bessel_quotient_change, bessel_quotient_change, batched=True)
reverse(np.i0, i0_change, i0_change, batched=True)
