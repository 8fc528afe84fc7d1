"""The error function, its relatives and inverses, and the normal distribution (DLMF chapter 7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import at_rest, polynomial, several, smooth

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO = math.sqrt(2)
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# (2m+1) (1/2)_m: what differentiating x^(-2m-1) makes of the asymptotic series 7.12.1. At x = 10
# its terms fall to 1e-17 by m = 12, and beyond 10 the closed forms lose 2 x^2 ulps to cancellation.
TAIL = [(2 * m + 1) * math.prod(0.5 + j for j in range(m)) for m in range(14)]


def faddeeva_tail(z: Any) -> tuple[Any, Any]:
    """Where |z| > 10, and w'(z) there without the cancellation of 7.10.2: -i/sqrt(pi) z^-2 (...).

    Below the real axis w(z) = 2 exp(-z^2) - w(-z), 7.4.3.
    """
    far = np.abs(z) > 10
    z = np.where(far, z, 10)
    inverse = 1 / z
    square = inverse * inverse
    tail = -1j / ROOT_PI * square * polynomial(square, TAIL)
    low = np.imag(z) < 0
    below = np.where(low, z, 0)
    return far, tail - np.where(low, 4 * z * np.exp(-below * below), 0)


def wofz_slope(z: Any, y: Any) -> Any:
    """w' = 2i/sqrt(pi) - 2 z w, 7.10.2."""
    far, tail = faddeeva_tail(z)
    return np.where(far, tail, 2j / ROOT_PI - 2 * z * y)


def erfcx_slope(x: Any, y: Any, dtype: Any) -> Any:
    """2 x erfcx(x) - 2/sqrt(pi), 7.10.1 with the scaling; its asymptotic series for large x."""
    if dtype.kind == "c":
        return 1j * wofz_slope(1j * x, y)  # erfcx(x) = w(ix)
    far = x > 10
    square = 1 / np.where(far, x, 10) ** 2
    signs = [c if m % 2 else -c for m, c in enumerate(TAIL)]
    plain = 2 * x * y - 2 / ROOT_PI
    return np.where(far, square * polynomial(square, signs) / ROOT_PI, plain)


def dawsn_slope(x: Any, y: Any, dtype: Any) -> Any:
    """1 - 2 x F(x), 7.5.1 and 7.10(i); its asymptotic series for large |x|.

    F = (i sqrt(pi)/2) (exp(-x^2) - w(x)); F is odd, so the upper half-plane serves the lower one.
    """
    plain = 1 - 2 * x * y
    if dtype.kind == "c":
        upper = np.where(np.imag(x) < 0, -x, x)
        far, tail = faddeeva_tail(upper)
        away = np.where(far, upper, 0)
        turn = -2 * away * np.exp(-away * away) - tail
        return np.where(far, 0.5j * ROOT_PI * turn, plain)
    far = np.abs(x) > 10
    square = 1 / np.where(far, x, 10) ** 2
    return np.where(far, -0.5 * square * polynomial(square, TAIL), plain)


def mills(x: Any) -> Any:
    """The normal density over the distribution function: phi/Phi, accurate in both tails."""
    return math.sqrt(2 / math.pi) / sp.erfcx(-x / ROOT_TWO)


# The integrand of 7.2.1; erfi(x) is -i erf(ix). Inverses: one over the slope.
smooth("erf", lambda g, x: 2 / ROOT_PI * g * np.exp(-x * x))
smooth("erfc", lambda g, x: -2 / ROOT_PI * g * np.exp(-x * x))
smooth("erfi", lambda g, x: 2 / ROOT_PI * g * np.exp(x * x))
smooth("erfcx", lambda g, x, y, dtype: g * erfcx_slope(x, y, dtype))
smooth("dawsn", lambda g, x, y, dtype: g * dawsn_slope(x, y, dtype))
smooth("wofz", lambda g, x, y: g * wofz_slope(x, y))
smooth("erfinv", lambda g, y: ROOT_PI / 2 * g * np.exp(y * y))  # 7.17(i)
smooth("erfcinv", lambda g, y: -ROOT_PI / 2 * g * np.exp(y * y))
# The normal distribution function is erfc(-x / sqrt(2)) / 2, 7.20.1; its derivative is the density.
smooth("ndtr", lambda g, x: g * np.exp(-0.5 * x * x) / ROOT_TWO_PI)
smooth("log_ndtr", lambda g, x: g * mills(x))
smooth("ndtri", lambda g, y: ROOT_TWO_PI * g * np.exp(0.5 * y * y))
smooth("ndtri_exp", lambda g, y: g / mills(y))  # the inverse of log_ndtr


def fresnel_slopes(z: Any) -> tuple[Any, Any]:
    """The integrands, 7.2.7 and 7.2.8."""
    angle = 0.5 * math.pi * z * z
    return np.sin(angle), np.cos(angle)


def modfresnel_slopes(sign: int) -> Any:
    """F(x) = integral from x of exp(+-it^2); K(x) = F(x) exp(-+i(x^2 + pi/4)) / sqrt(pi).

    M. Abramowitz and I. Stegun (1964), 7.3; the integrand, and the product rule.
    """

    def slopes(x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
        corner = complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / ROOT_PI
        return -np.exp(sign * 1j * x * x), -2j * sign * x * y[1] - corner

    return slopes


several("fresnel", "z", z=fresnel_slopes)
several("modfresnelp", "x", x=modfresnel_slopes(1))
several("modfresnelm", "x", x=modfresnel_slopes(-1))

smooth(
    "owens_t",  # D. B. Owen (1956), Ann. Math. Statist. 27, 1075: the defining integral
    lambda g, x1, x2: -0.5 / ROOT_TWO_PI * g * np.exp(-0.5 * x1 * x1) * sp.erf(x1 * x2 / ROOT_TWO),
    lambda g, x1, x2: g * np.exp(-0.5 * x1 * x1 * (1 + x2 * x2)) / (2 * math.pi * (1 + x2 * x2)),
)


# The same for the third derivative of the diffusion below: (2m+1)(2m+2) (1/2)_m.
CURVE = [c * (2 * m + 2) for m, c in enumerate(TAIL)]


def voigt_slopes(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """First and second derivative by x of w(z) / (sigma sqrt(2 pi)), z = u / (sigma sqrt(2)), 7.19.

    The Voigt profile is the real part and u = x + i gamma. For |z| > 10 by the series 7.12.1 in
    1/u, which holds for sigma = 0 too: Cauchy's distribution.
    """
    u = x + 1j * gamma
    far = (np.abs(u) > 10 * ROOT_TWO * sigma) & (sigma >= 0) & (gamma >= 0)
    width = np.where(far, 1, ROOT_TWO * sigma)
    z = u / width
    w = sp.wofz(z)
    slope = 2j / ROOT_PI - 2 * z * w
    first = slope / (ROOT_PI * width * width)
    second = -2 * (w + z * slope) / (ROOT_PI * width * width * width)
    inverse = 1 / np.where(far, u, 1)
    square = inverse * inverse
    ratio = np.where(far, 2 * sigma * sigma, 0) * square
    tail = -1j / math.pi * square
    return (
        np.where(far, tail * polynomial(ratio, TAIL), first),
        np.where(far, -inverse * tail * polynomial(ratio, CURVE), second),
    )


def voigt_sigma(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """A normal distribution of variance sigma^2 spreads by the diffusion equation, 7.19(i)."""
    return g * x2 * np.real(voigt_slopes(x1, x2, x3)[1])


smooth(
    "voigt_profile",
    *(
        at_rest(rule, "x1", "x2", "x3")
        for rule in (
            lambda g, x1, x2, x3: g * np.real(voigt_slopes(x1, x2, x3)[0]),
            voigt_sigma,
            lambda g, x1, x2, x3: -g * np.imag(voigt_slopes(x1, x2, x3)[0]),
        )
    ),
)
