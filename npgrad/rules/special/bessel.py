"""Bessel, Hankel, Kelvin, Struve and Airy functions and their integrals (DLMF chapters 9-11).

An order has no rule: its derivative (10.15, 10.38) is not among SciPy's functions.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import (
    Slope,
    at_end,
    at_rest,
    polynomial,
    select,
    several,
    smooth,
)
from npgrad.table import reverse


def between(name: str, left: float, right: float) -> Slope:
    """``left * f(v-1, z) + right * f(v+1, z)``: 10.6.1 and 10.29.1 for each family."""
    fun = getattr(sp, name)

    def rule(g: Any, x1: Any, x2: Any) -> Any:
        return g * (left * fun(x1 - 1, x2) + right * fun(x1 + 1, x2))

    return rule


for name in ("jv", "hankel1", "hankel2"):
    smooth(name, None, between(name, 0.5, -0.5))  # 10.6.1
for name in ("yv", "yn"):
    smooth(name, None, at_end(between(name, 0.5, -0.5), "x2", 0, math.inf))
smooth("iv", None, between("iv", 0.5, 0.5))  # 10.29.1
smooth("kv", None, between("kv", -0.5, -0.5))  # 10.29.1, of exp(v pi i) K_v
smooth("kn", None, lambda g, x1, x2: -0.5 * g * (sp.kv(x1 - 1, x2) + sp.kv(x1 + 1, x2)))

# Orders 0 and 1: 10.6.3 and 10.29.3; of order 1 by 10.6.1 and 10.29.1, which do not divide by x.
smooth("j0", lambda g, x: -g * sp.j1(x))
smooth("j1", lambda g, x: 0.5 * g * (sp.j0(x) - sp.jv(2, x)))
smooth("y0", lambda g, x: -g * sp.y1(x))
smooth("y1", at_end(lambda g, x: 0.5 * g * (sp.y0(x) - sp.yv(2, x)), "x", 0, math.inf))
smooth("i0", lambda g, x: g * sp.i1(x))
smooth("i1", lambda g, x: 0.5 * g * (sp.i0(x) + sp.iv(2, x)))
smooth("k0", lambda g, x: -g * sp.k1(x))
smooth("k1", lambda g, x: -0.5 * g * (sp.k0(x) + sp.kv(2, x)))
# The next four by the product rule: times exp(-|x|), and times exp(x).
smooth("i0e", lambda g, x, y: g * (sp.i1e(x) - np.sign(x) * y))
smooth(
    "i1e",
    at_rest(lambda g, x, y: g * (0.5 * (sp.i0e(x) + sp.ive(2, x)) - np.sign(x) * y), "x"),
)
smooth("k0e", at_end(lambda g, x, y: g * (y - sp.k1e(x)), "x", 0, -math.inf))
smooth(
    "k1e",
    at_end(
        at_rest(lambda g, x, y: g * (y - 0.5 * (sp.k0e(x) + sp.kve(2, x))), "x"), "x", 0, -math.inf
    ),
)

# ------------------------------------------------------------------------------- scaled functions
smooth(
    "kve",  # times exp(z): 10.29.1 and the product rule
    None,
    at_end(
        lambda g, x1, x2, y: g * (y - 0.5 * (sp.kve(x1 - 1, x2) + sp.kve(x1 + 1, x2))),
        "x2",
        0,
        -math.inf,
    ),
)
smooth(
    "hankel1e",  # times exp(-iz): 10.6.1 and the product rule
    None,
    lambda g, x1, x2, y: g * (0.5 * (sp.hankel1e(x1 - 1, x2) - sp.hankel1e(x1 + 1, x2)) - 1j * y),
)
smooth(
    "hankel2e",  # times exp(iz): likewise
    None,
    lambda g, x1, x2, y: g * (0.5 * (sp.hankel2e(x1 - 1, x2) - sp.hankel2e(x1 + 1, x2)) + 1j * y),
)


def ive_slope(v: Any, z: Any) -> Any:
    """What 10.29.1 gives; the scale exp(-|Re z|) comes on top."""
    return 0.5 * (sp.ive(v - 1, z) + sp.ive(v + 1, z))


def ive_tangent(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """By 10.29.1; not holomorphic: -|Re z| moves with the real part of the tangent."""
    return ive_slope(x1, x2) * g - np.sign(np.real(x2)) * y * np.real(g)


def ive_cotangent(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """The adjoint of `ive_tangent`."""
    outer = np.sign(np.real(x2)) * np.real(np.conjugate(y) * g)
    return np.conjugate(ive_slope(x1, x2)) * g - outer


smooth("ive", None, ive_cotangent, forward=(None, ive_tangent), holomorphic=False)


def imaginary_scale(name: str) -> tuple[Slope, Slope]:
    """VJP and JVP of a function scaled by exp(-|Im z|), by 10.6.1; for real z the scale is 1."""
    fun = getattr(sp, name)

    def slope(v: Any, z: Any) -> Any:
        return 0.5 * (fun(v - 1, z) - fun(v + 1, z))

    def cotangent(g: Any, x1: Any, x2: Any, y: Any, dtype: Any) -> Any:
        if dtype.kind != "c":
            return slope(x1, x2) * g
        outer = np.sign(np.imag(x2)) * np.real(np.conjugate(y) * g)
        return np.conjugate(slope(x1, x2)) * g - 1j * outer

    def tangent(g: Any, x1: Any, x2: Any, y: Any, dtype: Any) -> Any:
        if dtype.kind != "c":
            return slope(x1, x2) * g
        return slope(x1, x2) * g - np.sign(np.imag(x2)) * y * np.imag(g)

    return cotangent, tangent


for name in ("jve", "yve"):  # 10.6.1
    pull, push = imaginary_scale(name)
    smooth(name, None, pull, forward=(None, push), holomorphic=False)

# ---------------------------------------------------------------------------------------- Kelvin
# ber x + i bei x = J_0(x exp(3 pi i / 4)), 10.61.1; through J the derivatives have no 1/x at 0.
TURN = cmath.exp(0.75j * math.pi)


def kelvin_curve(x: Any) -> Any:
    """(ber + i bei)''(x): minus i times J_0''."""
    w = TURN * x
    return -0.5j * (sp.jv(2, w) - sp.jv(0, w))


def kelvin_slopes(x: Any, y: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Be, Ke and their derivatives; x^2 w'' + x w' = i x^2 w, 10.61.3, for Ke."""
    return y[2], y[3], kelvin_curve(x), 1j * y[1] - y[3] / x


# SciPy's berp, beip, kerp and keip are the derivatives; theirs are Kelvin's equation, 10.61.3.
smooth("ber", lambda g, x: g * sp.berp(x))
smooth("bei", lambda g, x: g * sp.beip(x))
smooth("berp", lambda g, x: g * np.real(kelvin_curve(x)))
smooth("beip", lambda g, x: g * np.imag(kelvin_curve(x)))
smooth("ker", lambda g, x: g * sp.kerp(x))
smooth("kei", lambda g, x: g * sp.keip(x))
smooth("kerp", lambda g, x, y: -g * (sp.kei(x) + y / x))
smooth("keip", at_end(lambda g, x, y: g * (sp.ker(x) - y / x), "x", 0, math.inf))
several("kelvin", "x", x=kelvin_slopes)


# ---------------------------------------------------------------------------------------- Struve
def struve_extra(v: Any, x: Any) -> Any:
    """(x/2)^v / (sqrt(pi) gamma(v + 3/2)), the inhomogeneous term of 11.4.23 to 11.4.26."""
    return np.power(0.5 * x, v) * (sp.rgamma(v + 1.5) / math.sqrt(math.pi))


smooth(
    "struve",  # 11.4.24
    None,
    lambda g, x1, x2: (
        0.5 * g * (sp.struve(x1 - 1, x2) - sp.struve(x1 + 1, x2) + struve_extra(x1, x2))
    ),
)
smooth(
    "modstruve",  # 11.4.26
    None,
    lambda g, x1, x2: (
        0.5 * g * (sp.modstruve(x1 - 1, x2) + sp.modstruve(x1 + 1, x2) + struve_extra(x1, x2))
    ),
)


# ------------------------------------------------------------------------------------- integrals
BESSEL_TAIL = [1 / math.factorial(k + 1) ** 2 for k in range(14)]
STRUVE_TAIL = [2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(12)]


def i0_tail(x: Any) -> Any:
    """(I_0(x) - 1)/x, by the series 10.25.2 near 0."""
    near = np.abs(x) < 1
    return select(
        near,
        lambda u: 0.25 * u * polynomial(0.25 * u * u, BESSEL_TAIL),
        lambda u: (sp.i0(u) - 1) / u,
        x,
    )


def j0_tail(x: Any) -> Any:
    """(1 - J_0(x))/x, by the series 10.2.2 near 0."""
    near = np.abs(x) < 1
    return select(
        near,
        lambda u: 0.25 * u * polynomial(-0.25 * u * u, BESSEL_TAIL),
        lambda u: (1 - sp.j0(u)) / u,
        x,
    )


def struve_ratio(x: Any) -> Any:
    """H_0(x)/x, by the series 11.2.1 near 0."""
    near = np.abs(x) < 1
    return select(near, lambda u: polynomial(u * u, STRUVE_TAIL), lambda u: sp.struve(0, u) / u, x)


# The integrands of 10.43(i) and 10.22(i), of S. Zhang and J. Jin (1996), chapter 5, and of 11.7(i).
several("iti0k0", "x", x=lambda x: (sp.i0(x), sp.k0(x)))
several("itj0y0", "x", x=lambda x: (sp.j0(x), sp.y0(x)))
several("it2i0k0", "x", x=lambda x: (i0_tail(x), -sp.k0(x) / x))
several("it2j0y0", "x", x=lambda x: (j0_tail(x), -sp.y0(x) / x))
smooth("itstruve0", lambda g, x: g * sp.struve(0, x))
smooth("it2struve0", lambda g, x: -g * struve_ratio(x))
smooth("itmodstruve0", lambda g, x: g * sp.modstruve(0, x))
smooth(
    "besselpoly",  # 10.6.1 under the integral: d/da of J_nu(2 a x) x^lambda
    lambda g, x1, x2, x3: (
        g * (sp.besselpoly(x1, x2 + 1, x3 - 1) - sp.besselpoly(x1, x2 + 1, x3 + 1))
    ),
    None,
    None,
)


# ------------------------------------------------------------------------------------------ Airy
def airy_slopes(z: Any, y: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """The equation w'' = z w, 9.2.1."""
    return y[1], z * y[0], y[3], z * y[2]


def itairy_slopes(x: Any) -> tuple[Any, Any, Any, Any]:
    """The integrands, 9.10: of Ai and Bi, at x and at -x."""
    forth, back = sp.airy(x), sp.airy(-x)
    return forth[0], forth[2], back[0], back[2]


def airye_parts(z: Any, y: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The holomorphic slopes, sqrt(z), and the sign of the scale of Bi.

    The scales are exp(zeta) for Ai and exp(-|Re zeta|) for Bi with zeta = (2/3) z sqrt(z), 9.7(i);
    for real z < 0 the second one is 1.
    """
    if dtype.kind == "c":
        root = np.sqrt(z)
        sign = np.sign(np.real(z * root))
    else:
        root = np.sqrt(np.where(z > 0, z, 0))
        sign = 1
    slopes = (y[1] + root * y[0], z * y[0] + root * y[1], y[3], z * y[2])
    return slopes, root, sign


def airye_tangent(g: Any, z: Any, y: Any, dtype: Any) -> tuple[Any, Any, Any, Any]:
    """The second scale moves with Re(sqrt(z) dz) only."""
    slopes, root, sign = airye_parts(z, y, dtype)
    shrink = sign * np.real(root * g)
    return (
        slopes[0] * g,
        slopes[1] * g,
        slopes[2] * g - y[2] * shrink,
        slopes[3] * g - y[3] * shrink,
    )


def airye_cotangent(g: Any, z: Any, y: Any, dtype: Any) -> Any:
    """The adjoint of `airye_tangent`."""
    slopes, root, sign = airye_parts(z, y, dtype)
    total = 0
    for i, part in enumerate(g):
        if part is not None:
            total = total + np.conjugate(slopes[i]) * part
            if i > 1:
                shrink = sign * np.real(np.conjugate(y[i]) * part)
                total = total - np.conjugate(root) * shrink
    return total


several("airy", "z", z=airy_slopes)
several("itairy", "x", x=itairy_slopes)
reverse(
    sp.airye, airye_cotangent, airye_tangent, signature="z", holomorphic=False, batched=True
).name = "scipy.special.airye"
