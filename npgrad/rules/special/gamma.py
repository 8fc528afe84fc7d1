"""The gamma function and its relatives (DLMF chapters 5 and 25)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.primitives import primitive
from npgrad.rules.special.words import RULED_OUT, at_end, refuse, smooth, steps
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


def beside_pole(x: Any) -> Any:
    """Whether x is within 1/4 of a pole of gamma: 0, -1, -2, ..."""
    return (x < 0.25) & (np.abs(x - np.rint(x)) < 0.25)


def over_factor(value: Any, mirrored: Any, x: Any) -> Any:
    """-`value` psi(x) where value = c / gamma(x): finite at the poles of psi, where value is 0.

    ``mirrored(near)`` is c gamma(1-x), asked for beside the poles, where DLMF 5.5.3 gives the
    derivative of 1 / gamma(x) = sin(pi x) gamma(1-x) / pi.
    """
    near = beside_pole(x)
    low, high = np.where(near, x, 0), np.where(near, 1, x)
    turned = math.pi * low
    bracket = np.cos(turned) - np.sin(turned) * sp.psi(1 - low) / math.pi
    return np.where(near, mirrored(near) * bracket, -value * sp.psi(high))


def meeting_poles(a: Any, b: Any, apart: Any) -> tuple[Any, Any, Any, Any]:
    """Where a and b are beside poles, a whole number apart: psi(a) - psi(b); and a, b kept off.

    By reflection, DLMF 5.5.4, of which cot(pi a) - cot(pi b) is left: 0 as it stands, though not
    for its derivative by the distance b - a.
    """
    whole = np.rint(apart)
    both = beside_pole(a) & beside_pole(b) & (apart == whole)
    p, q = np.where(both, a, -0.5), np.where(both, b, -0.5)
    at_poles = p == np.rint(p)
    sines = np.where(at_poles, 1, np.sin(math.pi * p) * np.sin(math.pi * q))
    turn = math.pi * np.cos(math.pi * whole) * np.sin(math.pi * (apart - whole))
    gap = sp.psi(1 - p) - sp.psi(1 - q) - np.where(both, turn, 0) / sines
    return both, gap, np.where(both, 1, a), np.where(both, 1, b)


def psi_gap(value: Any, a: Any, b: Any, apart: Any, mirrored: Any) -> Any:
    """`value` (psi(a) - psi(b)) where value = c gamma(a) / gamma(b) and b = a + `apart`.

    `mirrored` is that of `over_factor` for b.
    """
    both, gap, p, q = meeting_poles(a, b, apart)
    return np.where(both, value * gap, value * sp.psi(p) + over_factor(value, mirrored, q))


def signed_exp(near: Any, *logarithms: Any) -> Any:
    """The product of gamma of each argument, by logarithms; 1 where `near` does not hold."""
    total, sign = 0, 1
    for x in logarithms:
        x = np.where(near, x, 1)
        total, sign = total + sp.gammaln(x), sign * sp.gammasgn(x)
    return sign * np.exp(total)


def beta_first(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """beta(a, b) (psi(a) - psi(a+b)), DLMF 5.12.1."""
    total = x1 + x2
    return g * psi_gap(y, x1, total, x2, lambda near: signed_exp(near, x1, x2, 1 - total))


def betaln_first(g: Any, x1: Any, x2: Any) -> Any:
    """The same over the value."""
    both, gap, p, q = meeting_poles(x1, x1 + x2, x2)
    return g * np.where(both, gap, sp.psi(p) - sp.psi(q))


def binom_upper(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """binom(n, k) (psi(n+1) - psi(n-k+1)), DLMF 5.2.2; poles cancel where binom is 0."""
    n, d = x1 + 1, x1 - x2 + 1
    return g * psi_gap(y, n, d, -x2, lambda near: sp.beta(n, np.where(near, x2 - x1, 1)))


def binom_lower(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """binom(n, k) (psi(n-k+1) - psi(k+1)), DLMF 1.2.6 and 5.2.2."""
    n = x1 + 1
    upper = over_factor(y, lambda near: sp.beta(n, np.where(near, x2 - x1, 1)), n - x2)
    lower = over_factor(y, lambda near: sp.beta(n, np.where(near, -x2, 1)), x2 + 1)
    return g * (lower - upper)


def poch_first(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """The quotient gamma(z + m) / gamma(z), DLMF 5.2.5, by z: a polynomial for a whole m."""
    total = x1 + x2
    return g * psi_gap(y, total, x1, -x2, lambda near: signed_exp(near, total, 1 - x1))


# 5.2.2: psi = gamma'/gamma; of its logarithms psi itself
smooth("gamma", lambda g, x, y: g * y * sp.psi(x))
smooth("gammaln", lambda g, x: g * sp.psi(x))
smooth("loggamma", lambda g, x: g * sp.psi(x))
smooth("rgamma", at_end(lambda g, x: g * rgamma_slope(x), "x", math.inf, 0.0))
smooth("psi", digamma_change)
smooth("_zeta", None, lambda g, x1, x2: -g * x1 * sp.zeta(x1 + 1, x2))  # 25.11.17
smooth("beta", beta_first, lambda g, x1, x2, y: beta_first(g, x2, x1, y))
smooth("betaln", betaln_first, lambda g, x1, x2: betaln_first(g, x2, x1))
smooth("binom", binom_upper, binom_lower)
smooth("poch", poch_first, lambda g, x1, x2, y: g * y * sp.psi(x1 + x2))  # 5.2.5 and 5.2.2
steps("gammasgn", "the sign of gamma is constant between two poles")
refuse("zetac _riemann_zeta", "the derivative of Riemann's zeta is not among SciPy's functions")
refuse("_factorial _stirling2_inexact", RULED_OUT)
