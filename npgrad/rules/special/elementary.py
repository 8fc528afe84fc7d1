"""Compositions of elementary functions: xlogy, expit, boxcox, huber, functions in degrees.

Their definitions are SciPy's; the derivatives are those of DLMF 4.2 (powers, exponentials and
logarithms), 4.20 (circular functions) and the chain rule.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.elementwise import LN2, LN10
from npgrad.rules.powers import power_base, power_exponent
from npgrad.rules.special.words import exponential_moment, polynomial, select, smooth, steps

DEGREE = math.pi / 180

# ------------------------------------------------------------------- exponentials and logarithms
smooth("exp2", lambda g, y: LN2 * g * y)
smooth("exp10", lambda g, y: LN10 * g * y)
smooth("expm1", lambda g, x: g * np.exp(x))
smooth("log1p", lambda g, x: g / (1 + x))
smooth("cbrt", lambda g, y: g / (3 * y * y))
smooth("cosm1", lambda g, x: -g * np.sin(x))
smooth("powm1", power_base, lambda g, x1, x2, y: power_exponent(g, x1, x2, y + 1))
smooth("expit", lambda g, x, y: g * y * sp.expit(-x))
smooth("log_expit", lambda g, x: g * sp.expit(-x))
smooth("logit", lambda g, x: g / (x * (1 - x)))


# --------------------------------------------------------------------------------------- entropy
def xlogy_first(g: Any, x1: Any, x2: Any) -> Any:
    """log(y); 0 where x = y = 0, where the function is 0 along the whole axis x = 0."""
    return g * np.log(np.where((x1 == 0) & (x2 == 0), 1, x2))


def xlogy_second(g: Any, x1: Any, x2: Any) -> Any:
    """The quotient x / y; 0 where x = y = 0."""
    return g * x1 / np.where((x1 == 0) & (x2 == 0), 1, x2)


smooth("xlogy", xlogy_first, xlogy_second)
smooth(
    "xlog1py",
    lambda g, x1, x2: g * np.log1p(np.where((x1 == 0) & (x2 == -1), 0, x2)),
    lambda g, x1, x2: g * x1 / (1 + np.where((x1 == 0) & (x2 == -1), 0, x2)),
)
smooth("entr", lambda g, x: -g * (np.log(x) + 1))


def quotient(x: Any, y: Any) -> Any:
    """The quotient x / y, 0 where both are 0; NaN off the domain, where SciPy has infinities."""
    none = (x == 0) & (y == 0)
    off = (x < 0) | (y < 0)
    ratio = x / np.where(none, 1, y)
    return np.where(off, np.nan, ratio) if np.any(off) else ratio


smooth(
    "rel_entr",
    lambda g, x1, x2: g * (np.log(quotient(x1, x2)) + 1),
    lambda g, x1, x2: -g * quotient(x1, x2),
)
smooth(
    "kl_div",
    lambda g, x1, x2: g * np.log(quotient(x1, x2)),
    lambda g, x1, x2: g * (1 - quotient(x1, x2)),
)


# ---------------------------------------------------------------------------------------- losses
def huber_width(g: Any, x1: Any, x2: Any) -> Any:
    """|r| - delta outside, 0 inside."""
    size = np.abs(x2)
    return g * np.where(size <= x1, 0, size - width(x1))


def huber_residual(g: Any, x1: Any, x2: Any) -> Any:
    """The residual, cut at +-delta."""
    return g * np.where(np.abs(x2) <= x1, x2, width(x1) * np.sign(x2))


def width(x: Any) -> Any:
    """A width; NaN for a negative one, where SciPy's value is infinite."""
    return np.where(x < 0, np.nan, x)


def pseudo_huber_parts(x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """The width, the hypotenuse and their difference without cancellation; kept off 0, 0."""
    delta = width(np.where((x1 == 0) & (x2 == 0), 1, x1))
    long = np.sqrt(delta * delta + x2 * x2)
    return delta, long, x2 * (x2 / (long + delta))


def pseudo_huber_width(g: Any, x1: Any, x2: Any) -> Any:
    """With h = sqrt(delta^2 + r^2): 2 (h - delta) - r^2 / h = (h - delta)^2 / h."""
    _, long, excess = pseudo_huber_parts(x1, x2)
    return g * excess * (excess / long)


def pseudo_huber_residual(g: Any, x1: Any, x2: Any) -> Any:
    """The product delta r / sqrt(delta^2 + r^2)."""
    delta, long, _ = pseudo_huber_parts(x1, x2)
    return g * x2 * (delta / long)


smooth("huber", huber_width, huber_residual)
smooth("pseudo_huber", pseudo_huber_width, pseudo_huber_residual)

# ---------------------------------------------------------------------------------------- boxcox
# (x^p - 1)/p, its derivative in p written with L = log x as L^2 times the integral of s exp(p L s):
# no singular point at p = 0.
RATIO_SERIES = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(26)]


def boxcox_power(log: Any, power: Any) -> Any:
    """The derivative of boxcox in the power, from the logarithm of x; at x = 0 that of -1/p."""
    edge = np.isneginf(log) & (power > 0)
    log = np.where(edge, 0, log)
    bottom = 1 / np.square(np.where(edge, power, 1))
    return np.where(edge, bottom, log * log * exponential_moment(power * log, 1))


def log1p_ratio_slope(u: Any) -> Any:
    """The derivative of log(1+u)/u, -1/2 at 0."""
    return select(
        np.abs(u) < 0.2,
        lambda w: polynomial(w, RATIO_SERIES),
        lambda w: (w / (1 + w) - np.log1p(w)) / (w * w),
        u,
    )


smooth(
    "boxcox",
    lambda g, x1, x2: g * np.power(x1, x2 - 1),
    lambda g, x1, x2: g * boxcox_power(np.log(x1), x2),
)
smooth(
    "boxcox1p",
    lambda g, x1, x2: g * np.power(1 + x1, x2 - 1),
    lambda g, x1, x2: g * boxcox_power(np.log1p(x1), x2),
)
smooth(
    "inv_boxcox",
    lambda g, x2, y: g * np.power(y, 1 - x2),
    lambda g, x1, x2, y: g * y * x1 * x1 * log1p_ratio_slope(x2 * x1),
)
smooth(
    "inv_boxcox1p",  # y + 1 without cancellation
    lambda g, x1, x2: g * np.power(sp.inv_boxcox(x1, x2), 1 - x2),
    lambda g, x1, x2: g * sp.inv_boxcox(x1, x2) * x1 * x1 * log1p_ratio_slope(x2 * x1),
)

# --------------------------------------------------------------------------------------- degrees
smooth("sindg", lambda g, x: DEGREE * g * sp.cosdg(x))
smooth("cosdg", lambda g, x: -DEGREE * g * sp.sindg(x))
smooth("tandg", lambda g, y: DEGREE * g * (1 + y * y))
smooth("cotdg", lambda g, y: -DEGREE * g * (1 + y * y))
smooth(
    "radian",
    lambda g: DEGREE * g,
    lambda g: DEGREE / 60 * g,
    lambda g: DEGREE / 3600 * g,
)
steps("round", "a rounded number is constant between two halves")
