"""The error function, its relatives and inverses, and the normal distribution (DLMF chapter 7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import polynomial, several, smooth

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO = math.sqrt(2)
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# (2m+1) (1/2)_m: what differentiating x^(-2m-1) makes of the asymptotic series 7.12.1. At x = 10
# its terms fall to 1e-17 by m = 12, and beyond 10 the closed forms lose 2 x^2 ulps to cancellation.
TAIL = [(2 * m + 1) * math.prod(0.5 + j for j in range(m)) for m in range(14)]


def erfcx_slope(x: Any, y: Any, dtype: Any) -> Any:
    """2 x erfcx(x) - 2/sqrt(pi), 7.10.1 with the scaling; its asymptotic series for large x."""
    plain = 2 * x * y - 2 / ROOT_PI
    if dtype.kind == "c":
        return plain
    far = x > 10
    square = 1 / np.where(far, x, 10) ** 2
    signs = [c if m % 2 else -c for m, c in enumerate(TAIL)]
    return np.where(far, square * polynomial(square, signs) / ROOT_PI, plain)


def dawsn_slope(x: Any, y: Any, dtype: Any) -> Any:
    """1 - 2 x F(x), 7.5.1 and 7.10(i); its asymptotic series for large |x|."""
    plain = 1 - 2 * x * y
    if dtype.kind == "c":
        return plain
    far = np.abs(x) > 10
    square = 1 / np.where(far, x, 10) ** 2
    return np.where(far, -0.5 * square * polynomial(square, TAIL), plain)


def mills(x: Any) -> Any:
    """The normal density over the distribution function: phi/Phi, accurate in both tails."""
    return math.sqrt(2 / math.pi) / sp.erfcx(-x / ROOT_TWO)


smooth("erf", lambda g, x: 2 / ROOT_PI * g * np.exp(-x * x))  # 7.2.1
smooth("erfc", lambda g, x: -2 / ROOT_PI * g * np.exp(-x * x))
smooth("erfi", lambda g, x: 2 / ROOT_PI * g * np.exp(x * x))
smooth("erfcx", lambda g, x, y, dtype: g * erfcx_slope(x, y, dtype))
smooth("dawsn", lambda g, x, y, dtype: g * dawsn_slope(x, y, dtype))
smooth("wofz", lambda g, x, y: g * (2j / ROOT_PI - 2 * x * y))  # 7.10.2
smooth("erfinv", lambda g, y: ROOT_PI / 2 * g * np.exp(y * y))  # 7.17(i)
smooth("erfcinv", lambda g, y: -ROOT_PI / 2 * g * np.exp(y * y))
smooth("ndtr", lambda g, x: g * np.exp(-0.5 * x * x) / ROOT_TWO_PI)
smooth("log_ndtr", lambda g, x: g * mills(x))
smooth("ndtri", lambda g, y: ROOT_TWO_PI * g * np.exp(0.5 * y * y))
smooth("ndtri_exp", lambda g, y: g / mills(y))  # the inverse of log_ndtr


def fresnel_slopes(z: Any) -> tuple[Any, Any]:
    """The integrands, 7.2.7 and 7.2.8."""
    angle = 0.5 * math.pi * z * z
    return np.sin(angle), np.cos(angle)


def modfresnel_slopes(sign: int) -> Any:
    """F(x) = integral from x of exp(+-it^2); K(x) = F(x) exp(-+i(x^2 + pi/4)) / sqrt(pi)."""

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


def voigt_parts(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any, Any]:
    """z, w(z), w'(z) and the norm of the Voigt profile Re w(z) / (sigma sqrt(2 pi)), 7.19."""
    z = (x + 1j * gamma) / (sigma * ROOT_TWO)
    w = sp.wofz(z)
    return z, w, 2j / ROOT_PI - 2 * z * w, sigma * ROOT_TWO_PI


def voigt_x(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """Along the real axis of z."""
    _, _, slope, norm = voigt_parts(x1, x2, x3)
    return g * np.real(slope) / (x2 * ROOT_TWO * norm)


def voigt_sigma(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """By the width that scales z and the norm."""
    z, w, slope, norm = voigt_parts(x1, x2, x3)
    return -g * np.real(w + slope * z) / (norm * x2)


def voigt_gamma(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """Along the imaginary axis of z."""
    _, _, slope, norm = voigt_parts(x1, x2, x3)
    return -g * np.imag(slope) / (x2 * ROOT_TWO * norm)


smooth("voigt_profile", voigt_x, voigt_sigma, voigt_gamma)
