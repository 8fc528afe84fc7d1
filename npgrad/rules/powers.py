"""Powers: right at x = 0 and n = 0 to every order, cheap where the exponent is a number.

The names that a rule may use stand at the top of ``elementwise``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.implementations import one_pass
from npgrad.rules.elementwise import alike, any_of
from npgrad.table import elementwise


def plain_number(x: Any) -> int | float | None:
    """`x` as a Python number if it is a plain real scalar: then a power has a cheaper rule."""
    if type(x) is int or type(x) is float:
        return x
    if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 and x.dtype.kind in "iuf":
        number = x.item()  # a longdouble stays what it is
        return number if isinstance(number, (int, float)) else None
    return None


def integer_power(x: Any, n: int) -> Any:
    """x**n for n >= 1 by squaring: NumPy's pow takes 50 ns for a negative base, a product 0.6."""
    result = None
    while True:
        if n & 1:
            result = x if result is None else result * x
        n >>= 1
        if not n:
            return result
        x = x * x


def power_base(g: Any, x1: Any, x2: Any) -> Any:
    """The derivative n x**(n-1); of x**0 it is 0 at x = 0 too, which makes all orders right."""
    n = x2 if type(x2) is int else plain_number(x2)
    if n == 2:
        return (g + g) * x1
    if n is None:
        # 0 * 0**-1 would be NaN. The exponent is changed at x = n = 0 only: elsewhere the
        # derivative in n of what stands here matters (it is 1/x at n = 0).
        exponent, flat = x2 - 1.0, x2 == 0
        if any_of(flat):
            exponent = np.where(flat & (x1 == 0), 1.0, exponent)
        if alike(x1, exponent, x2, g):  # one buffer: fresh memory costs more than arithmetic
            np.power(x1, exponent, out=exponent)
            np.multiply(exponent, x2, out=exponent)
            return np.multiply(exponent, g, out=exponent)
        return np.power(x1, exponent) * x2 * g
    if n == 1:
        return g
    if n == 0:
        return np.zeros_like(g)
    if n == 0.5:
        return 0.5 * g / np.sqrt(x1)
    if 2 < n <= 64 and n == int(n):
        return integer_power(x1, int(n) - 1) * n * g
    return x1 ** (n - 1) * n * g


def power_exponent(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """The derivative x**n log x; at x = 0 its limit for n > 0, which is 0, and 0 for 0**0 too."""
    base = plain_number(x1)
    if base is not None and base > 0:
        return math.log(base) * g * y
    zero = (x1 == 0) & (x2 >= 0)
    return np.log(np.where(zero, 1.0, x1) if any_of(zero) else x1) * y * g


def powers(g: Any, out: Any, x1: Any, x2: Any, y: Any) -> Any:
    """Both cotangents in one pass, x1**(x2 - 1) as y / x1: where y is normal and x1 positive."""
    kernels = one_pass(g, x1, x2, y, *out)
    return kernels is not None and kernels.powers(g, x1, x2, y, *out)


elementwise(np.power, power_base, power_exponent, risky=True, both=powers)
elementwise(np.float_power, power_base, power_exponent, risky=True, both=powers)
