"""The gamma function and its relatives (DLMF chapters 5 and 25)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.primitives import primitive
from npgrad.rules.special.words import RULED_OUT, refuse, smooth, steps
from npgrad.table import reverse

# Bernoulli numbers B_2, B_4, ..., B_30 (DLMF 24.2, table 24.2.1).
BERNOULLI = [
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
    8553103 / 6,
    -23749461029 / 870,
    8615841276005 / 14322,
]


@primitive
def complex_polygamma(z: Any, n: int) -> Any:
    """The n-th derivative of psi at complex z, n >= 1; SciPy has real arguments only.

    Up to Re z >= 15 + n by the recurrence psi_n(z) = psi_n(z+1) - (-1)^n n! z^(-n-1) (DLMF 5.15.5),
    then by the asymptotic series (DLMF 5.15.8, differentiated): relative error below 1e-14.
    """
    wide = z.astype(np.complex128)
    total = np.zeros_like(wide)
    sign = (-1) ** (n + 1)
    while True:
        low = wide.real < 15 + n
        if not np.any(low):
            break
        total = total + np.where(low, sign * math.factorial(n) * wide ** (-n - 1), 0)
        wide = np.where(low, wide + 1, wide)
    total = total + sign * math.factorial(n - 1) * wide**-n
    total = total + sign * 0.5 * math.factorial(n) * wide ** (-n - 1)
    for k, number in enumerate(BERNOULLI, start=1):
        ratio = math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        total = total + sign * number * ratio * wide ** (-2 * k - n)
    return total.astype(z.dtype)


def complex_polygamma_change(g: Any, z: Any, n: int) -> Any:
    """The next order."""
    return g * complex_polygamma(z, n + 1)


reverse(complex_polygamma, complex_polygamma_change, complex_polygamma_change, batched=True)


def digamma_change(g: Any, x: Any, dtype: Any) -> Any:
    """The trigamma function: psi'(x) = zeta(2, x), DLMF 25.11.12."""
    return g * (complex_polygamma(x, 1) if dtype.kind == "c" else sp.zeta(2, x))


def rgamma_slope(x: Any) -> Any:
    """The derivative of 1 / gamma: entire, with psi only where it has no pole.

    On the left by reflection, DLMF 5.5.3: 1/gamma(x) = sin(pi x) gamma(1-x) / pi.
    """
    left = np.real(x) < 0.5
    low, high = np.where(left, x, 0), np.where(left, 1, x)
    mirror = sp.gamma(1 - low)
    turned = math.pi * low
    reflected = mirror * (np.cos(turned) - np.sin(turned) * sp.psi(1 - low) / math.pi)
    return np.where(left, reflected, -sp.rgamma(high) * sp.psi(high))


def over_factor(value: Any, others: Any, x: Any) -> Any:
    """-`value` psi(x) where value = others / gamma(x): finite at the poles of psi.

    `others` is asked for only where x is left of 1/2, so that it need not be finite elsewhere.
    """
    left = x < 0.5
    return np.where(
        left, others() * rgamma_slope(np.where(left, x, 0)), -value * sp.psi(np.where(left, 1, x))
    )


def binom_upper(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """binom(n, k) (psi(n+1) - psi(n-k+1)), DLMF 5.2.2; poles cancel where binom is 0."""
    rest = over_factor(y, lambda: sp.gamma(x1 + 1) * sp.rgamma(x2 + 1), x1 - x2 + 1)
    return g * (y * sp.psi(x1 + 1) + rest)


def binom_lower(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """binom(n, k) (psi(n-k+1) - psi(k+1))."""
    n, k, d = x1 + 1, x2 + 1, x1 - x2 + 1
    upper = over_factor(y, lambda: sp.gamma(n) * sp.rgamma(k), d)
    lower = over_factor(y, lambda: sp.gamma(n) * sp.rgamma(d), k)
    return g * (lower - upper)


smooth("gamma", lambda g, x, y: g * y * sp.psi(x))  # 5.2.2
smooth("gammaln", lambda g, x: g * sp.psi(x))
smooth("loggamma", lambda g, x: g * sp.psi(x))
smooth("rgamma", lambda g, x: g * rgamma_slope(x))
smooth("psi", digamma_change)
smooth("_zeta", None, lambda g, x1, x2: -g * x1 * sp.zeta(x1 + 1, x2))  # 25.11.17
smooth(
    "beta",  # 5.12.1
    lambda g, x1, x2, y: g * y * (sp.psi(x1) - sp.psi(x1 + x2)),
    lambda g, x1, x2, y: g * y * (sp.psi(x2) - sp.psi(x1 + x2)),
)
smooth(
    "betaln",
    lambda g, x1, x2: g * (sp.psi(x1) - sp.psi(x1 + x2)),
    lambda g, x1, x2: g * (sp.psi(x2) - sp.psi(x1 + x2)),
)
smooth("binom", binom_upper, binom_lower)
smooth(
    "poch",  # 5.2.5: gamma(z + m) / gamma(z)
    lambda g, x1, x2, y: g * y * (sp.psi(x1 + x2) - sp.psi(x1)),
    lambda g, x1, x2, y: g * y * sp.psi(x1 + x2),
)
steps("gammasgn", "the sign of gamma is constant between two poles")
refuse("zetac _riemann_zeta", "the derivative of Riemann's zeta is not among SciPy's functions")
refuse("_factorial _stirling2_inexact", RULED_OUT)
