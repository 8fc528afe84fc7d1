"""Distributions whose formulas are elementary functions, in the words of `_univariate`.

Each is written so that its tails keep their digits, and none has a 0 * inf at a point where its
derivative is a number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from ._univariate import HALF_LOG_2PI, Distribution

Array = Any
INFINITE = (-np.inf, np.inf)
POSITIVE = (0.0, np.inf)


# ------------------------------------------------------------------------------------- two sides
def _laplace_tail(x: Array) -> Array:
    """``exp(-|x|) / 2``, whose derivative at 0 is that of the left side."""
    return 0.5 * np.exp(np.where(x > 0, -x, x))


def _laplace_cdf(x: Array) -> Array:
    tail = _laplace_tail(x)
    return np.where(x > 0, 1 - tail, tail)


def _laplace_logcdf(x: Array) -> Array:
    return np.where(x > 0, np.log1p(-_laplace_tail(x)), x - math.log(2))


logistic = Distribution(
    "logistic",
    (),
    INFINITE,
    logpdf=lambda x: sp.log_expit(x) + sp.log_expit(-x),
    cdf=sp.expit,
    sf=lambda x: sp.expit(-x),
    logcdf=sp.log_expit,
    logsf=lambda x: sp.log_expit(-x),
)
laplace = Distribution(
    "laplace",
    (),
    INFINITE,
    logpdf=lambda x: -np.abs(x) - math.log(2),
    cdf=_laplace_cdf,
    sf=lambda x: _laplace_cdf(-x),
    logcdf=_laplace_logcdf,
    logsf=lambda x: _laplace_logcdf(-x),
)
cauchy = Distribution(
    "cauchy",
    (),
    INFINITE,
    logpdf=lambda x: -2 * np.log(np.hypot(1, x)) - math.log(math.pi),
    cdf=lambda x: np.arctan2(1, -x) / math.pi,
    sf=lambda x: np.arctan2(1, x) / math.pi,
)
uniform = Distribution(
    "uniform",
    (),
    (0.0, 1.0),
    logpdf=lambda x: 0 * x,
    cdf=lambda x: 1 * x,
    sf=lambda x: 1 - x,
    logsf=lambda x: np.log1p(-x),
)


def _log_of_rest(t: Array) -> Array:
    """``log(1 - exp(-t))`` to all digits: near 0 and far out (Maechler, log1mexp, 2012)."""
    return np.where(t > math.log(2), np.log1p(-np.exp(-t)), np.log(-np.expm1(-t)))


# -------------------------------------------------------------------------- of logs, of extremes
def _of_log(at_zero: float) -> Any:
    """A function of ``log(x) / s`` and what it is at 0, where that is infinite."""

    def make(formula: Any) -> Any:
        def of(x: Array, s: Array) -> Array:
            none = x == 0
            x = np.where(none, 1, x)
            made = formula(np.log(x) / s, x, s)
            return np.where(none, at_zero, made) if np.any(none) else made

        return of

    return make


lognorm = Distribution(
    "lognorm",
    ("s",),
    POSITIVE,
    logpdf=_of_log(-np.inf)(lambda u, x, s: -0.5 * u * u - HALF_LOG_2PI - np.log(s) - np.log(x)),
    cdf=_of_log(0.0)(lambda u, x, s: sp.ndtr(u)),
    sf=_of_log(1.0)(lambda u, x, s: sp.ndtr(-u)),
    logcdf=_of_log(-np.inf)(lambda u, x, s: sp.log_ndtr(u)),
    logsf=_of_log(0.0)(lambda u, x, s: sp.log_ndtr(-u)),
)
gumbel_r = Distribution(
    "gumbel_r",
    (),
    INFINITE,
    logpdf=lambda x: -x - np.exp(-x),
    cdf=lambda x: np.exp(-np.exp(-x)),
    sf=lambda x: -np.expm1(-np.exp(-x)),
    logcdf=lambda x: -np.exp(-x),
    logsf=lambda x: _log_of_rest(np.exp(-x)),
)
gumbel_l = Distribution(
    "gumbel_l",
    (),
    INFINITE,
    logpdf=lambda x: x - np.exp(x),
    cdf=lambda x: -np.expm1(-np.exp(x)),
    sf=lambda x: np.exp(-np.exp(x)),
    logcdf=lambda x: _log_of_rest(np.exp(x)),
    logsf=lambda x: -np.exp(x),
)
weibull_min = Distribution(
    "weibull_min",
    ("c",),
    POSITIVE,
    logpdf=lambda x, c: np.log(c) + sp.xlogy(c - 1, x) - x**c,
    cdf=lambda x, c: -np.expm1(-(x**c)),
    sf=lambda x, c: np.exp(-(x**c)),
    logcdf=lambda x, c: _log_of_rest(x**c),
    logsf=lambda x, c: -(x**c),
)
