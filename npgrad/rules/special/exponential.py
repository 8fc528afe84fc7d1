"""Exponential, sine and cosine integrals, dilogarithm, Lambert W (DLMF chapters 4, 6, 8, 25)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import exponential_moment, polynomial, select, several, smooth

LOG_SERIES = [(-1) ** k / (k + 1) for k in range(26)]  # log(1+w)/w; 0.2^26 is 7e-19


def log1p_ratio(w: Any) -> Any:
    """log(1+w)/w, 1 at w = 0: analytic there, to every order."""
    return select(
        np.abs(w) < 0.2, lambda u: polynomial(u, LOG_SERIES), lambda u: np.log1p(u) / u, w
    )


def sinh_ratio(x: Any, dtype: Any) -> Any:
    """sinh(x)/x, without a singular point."""
    if dtype.kind == "c":
        return np.sinc(1j / math.pi * x)
    return 0.5 * (exponential_moment(x, 0) + exponential_moment(-x, 0))


def expn_slope(n: Any, x: Any) -> Any:
    """-E_(n-1)(x), 8.19.13; E_0(x) = exp(-x)/x by 8.19.2."""
    bottom = n == 0
    low = np.where(bottom, x, 1)
    above = sp.expn(np.where(bottom, 1, n) - 1, x)
    return -np.where(bottom, np.exp(-low) * (1 + 1 / low) / low, above)


smooth("exp1", lambda g, x: -g * np.exp(-x) / x)  # 6.2.1
smooth("expi", lambda g, x: g * np.exp(x) / x)  # 6.2.5
smooth("expn", None, lambda g, x1, x2: g * expn_slope(x1, x2))
smooth("exprel", lambda g, x: g * exponential_moment(x, 1))  # (exp(x) - 1)/x under its integral
smooth("spence", lambda g, x: -g * log1p_ratio(x - 1))  # 25.12.2; Li2(1 - z)
smooth("wrightomega", lambda g, y: g * y / (1 + y))  # w + log w = z, with 4.13.1
smooth(
    "_lambertw",  # 4.13.4: W' = exp(-W) / (1 + W), which holds at z = 0 too
    lambda g, y: g * np.exp(-y) / (1 + y),
    None,
    None,
)


def shichi_slopes(z: Any, dtype: Any) -> tuple[Any, Any]:
    """The integrands, 6.2(ii)."""
    return sinh_ratio(z, dtype), np.cosh(z) / z


several("shichi", "z", z=shichi_slopes)


def sici_slopes(z: Any, dtype: Any) -> tuple[Any, Any]:
    """The integrands, 6.2(ii); both settle at the ends of the real axis."""
    far = np.isinf(z) & (dtype.kind != "c")
    z = np.where(far, 1, z) if np.any(far) else z
    return np.where(far, 0, np.sinc(z / math.pi)), np.where(far, 0, np.cos(z) / z)


several("sici", "z", z=sici_slopes)
