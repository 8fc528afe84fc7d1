"""Orthogonal polynomials, Legendre, Mathieu and spheroidal functions (DLMF 14, 18, 28, 30).

Degrees and orders are whole numbers, so they have no rule; shape parameters have none that is
closed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import RULED_OUT, Slopes, refuse, several, smooth


def lower(n: Any) -> tuple[Any, Any]:
    """The degree n - 1 and the factor 1, or 0 and 0 for n = 0: a constant's derivative."""
    if type(n) is int or type(n) is float:
        return (n - 1, 1) if n else (n, 0)
    constant = n == 0
    return np.where(constant, n, n - 1), np.where(constant, 0, 1)


def chebyt(g: Any, x1: Any, x2: Any) -> Any:
    """T_n' = n U_(n-1), 18.9.21."""
    return g * (x1 * sp.eval_chebyu(lower(x1)[0], x2))


def chebyu(g: Any, x1: Any, x2: Any) -> Any:
    """U_n' = 2 C^(2)_(n-1), 18.9.19 with U_n = C^(1)_n (18.7.4)."""
    n, factor = lower(x1)
    return g * (2 * factor * sp.eval_gegenbauer(n, 2, x2))


def chebyc(g: Any, x1: Any, x2: Any) -> Any:
    """C_n(x) = 2 T_n(x/2), 18.1(iii)."""
    return g * (x1 * sp.eval_chebys(lower(x1)[0], x2))


def chebys(g: Any, x1: Any, x2: Any) -> Any:
    """S_n(x) = U_n(x/2), 18.1(iii)."""
    n, factor = lower(x1)
    return g * (factor * sp.eval_gegenbauer(n, 2, 0.5 * x2))


def sh_chebyt(g: Any, x1: Any, x2: Any) -> Any:
    """T*_n(x) = T_n(2x - 1), 18.7.7."""
    return g * (2 * x1 * sp.eval_chebyu(lower(x1)[0], 2 * x2 - 1))


def sh_chebyu(g: Any, x1: Any, x2: Any) -> Any:
    """U*_n(x) = U_n(2x - 1), 18.7.8."""
    n, factor = lower(x1)
    return g * (4 * factor * sp.eval_gegenbauer(n, 2, 2 * x2 - 1))


def gegenbauer(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """18.9.19."""
    n, factor = lower(x1)
    return g * (2 * factor * x2 * sp.eval_gegenbauer(n, x2 + 1, x3))


def jacobi(g: Any, x1: Any, x2: Any, x3: Any, x4: Any) -> Any:
    """18.9.15."""
    n, factor = lower(x1)
    return g * (0.5 * factor * (x1 + x2 + x3 + 1) * sp.eval_jacobi(n, x2 + 1, x3 + 1, x4))


def sh_jacobi(g: Any, x1: Any, x2: Any, x3: Any, x4: Any) -> Any:
    """G_n(p, q, x) = P_n^(p-q, q-1)(2x - 1) / binom(2n + p - 1, n), then 18.9.15."""
    n, factor = lower(x1)
    scale = factor * (x1 + x2) / sp.binom(2 * x1 + x2 - 1, x1)
    return g * (scale * sp.eval_jacobi(n, x2 - x3 + 1, x3, 2 * x4 - 1))


def legendre(g: Any, x1: Any, x2: Any) -> Any:
    """P_n = P_n^(0, 0), 18.7.9 and 18.9.15."""
    n, factor = lower(x1)
    return g * (0.5 * factor * (x1 + 1) * sp.eval_jacobi(n, 1, 1, x2))


def sh_legendre(g: Any, x1: Any, x2: Any) -> Any:
    """P*_n(x) = P_n(2x - 1), 18.7.10."""
    n, factor = lower(x1)
    return g * (factor * (x1 + 1) * sp.eval_jacobi(n, 1, 1, 2 * x2 - 1))


def laguerre(g: Any, x1: Any, x2: Any) -> Any:
    """18.9.23."""
    n, factor = lower(x1)
    return -g * (factor * sp.eval_genlaguerre(n, 1, x2))


def genlaguerre(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """18.9.23."""
    n, factor = lower(x1)
    return -g * (factor * sp.eval_genlaguerre(n, x2 + 1, x3))


def hermite(g: Any, x1: Any, x2: Any) -> Any:
    """H_n' = 2 n H_(n-1), 18.9.25."""
    return g * (2 * x1 * sp.eval_hermite(lower(x1)[0], x2))


def hermitenorm(g: Any, x1: Any, x2: Any) -> Any:
    """He_n' = n He_(n-1), 18.9.27."""
    return g * (x1 * sp.eval_hermitenorm(lower(x1)[0], x2))


smooth("eval_chebyt", None, chebyt)
smooth("eval_chebyu", None, chebyu)
smooth("eval_chebyc", None, chebyc)
smooth("eval_chebys", None, chebys)
smooth("eval_sh_chebyt", None, sh_chebyt)
smooth("eval_sh_chebyu", None, sh_chebyu)
smooth("eval_gegenbauer", None, None, gegenbauer)
smooth("eval_jacobi", None, None, None, jacobi)
smooth("eval_sh_jacobi", None, None, None, sh_jacobi)
smooth("eval_legendre", None, legendre)
smooth("eval_sh_legendre", None, sh_legendre)
smooth("eval_laguerre", None, laguerre)
smooth("eval_genlaguerre", None, None, genlaguerre)
smooth("eval_hermite", None, hermite)
smooth("eval_hermitenorm", None, hermitenorm)


def lpmv_change(g: Any, x1: Any, x2: Any, x3: Any, y: Any) -> Any:
    """(x^2 - 1) P' = v x P_v - (v + m) P_(v-1), 14.10.5."""
    return g * (x2 * x3 * y - (x2 + x1) * sp.lpmv(x1, x2 - 1, x3)) / (x3 * x3 - 1)


smooth("lpmv", None, None, lpmv_change)


# --------------------------------------------------------------------------------------- Mathieu
def angular(value: Any) -> Slopes:
    """Of w'' = -(a - 2q cos 2x) w, 28.2.1; x in degrees, the second output by radians."""
    degree = math.pi / 180

    def slopes(m: Any, q: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
        stiffness = value(m, q) - 2 * q * np.cos(2 * degree * x)
        return degree * y[1], -degree * stiffness * y[0]

    return slopes


def radial(value: Any) -> Slopes:
    """Of w'' = (a - 2q cosh 2x) w, 28.20.1."""

    def slopes(m: Any, q: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
        return y[1], (value(m, q) - 2 * q * np.cosh(2 * x)) * y[0]

    return slopes


def odd_value(m: Any, q: Any) -> Any:
    """The characteristic value b_m(q); of order 0, where the function is 0 throughout, none."""
    none = m == 0
    return np.where(none, 0, sp.mathieu_b(np.where(none, 1, m), q))


several("mathieu_cem", "m, q, x", x=angular(sp.mathieu_a))
several("mathieu_sem", "m, q, x", x=angular(odd_value))
for kind in "12":
    several(f"mathieu_modcem{kind}", "m, q, x", x=radial(sp.mathieu_a))
    several(f"mathieu_modsem{kind}", "m, q, x", x=radial(sp.mathieu_b))


# ------------------------------------------------------------------------------------- spheroidal
def curvature(m: Any, c: Any, cv: Any, x: Any, y: tuple[Any, Any], sign: int) -> Any:
    """The curvature from (1-x^2) w'' - 2x w' + (cv -+ c^2 x^2 - m^2/(1-x^2)) w = 0, 30.2.1."""
    gap = 1 - x * x
    return (2 * x * y[1] - (cv - sign * c * c * x * x - m * m / gap) * y[0]) / gap


def oblate_radial(m: Any, c: Any, cv: Any, x: Any, y: tuple[Any, Any]) -> Any:
    """The same with x -> ix."""
    gap = 1 + x * x
    return (-2 * x * y[1] + (cv - c * c * x * x - m * m / gap) * y[0]) / gap


def spheroidal(value: Any, curve: Any) -> tuple[Slopes, Slopes]:
    """Slopes of a function without and with its characteristic value among the arguments."""

    def implied(m: Any, n: Any, c: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
        return y[1], curve(m, c, value(m, n, c), x, y)

    def given(m: Any, c: Any, cv: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
        return y[1], curve(m, c, cv, x, y)

    return implied, given


def prolate(m: Any, c: Any, cv: Any, x: Any, y: tuple[Any, Any]) -> Any:
    """Angular and radial alike."""
    return curvature(m, c, cv, x, y, 1)


def oblate(m: Any, c: Any, cv: Any, x: Any, y: tuple[Any, Any]) -> Any:
    """Angular, c -> ic."""
    return curvature(m, c, cv, x, y, -1)


for family, value, curve in (
    ("pro_ang1", sp.pro_cv, prolate),
    ("pro_rad1", sp.pro_cv, prolate),
    ("pro_rad2", sp.pro_cv, prolate),
    ("obl_ang1", sp.obl_cv, oblate),
    ("obl_rad1", sp.obl_cv, oblate_radial),
    ("obl_rad2", sp.obl_cv, oblate_radial),
):
    implied, given = spheroidal(value, curve)
    # 30.2.1, which the radial functions of 30.11 obey too
    several(family, "m, n, c, x", x=implied)
    several(f"{family}_cv", "m, n, c, cv, x", x=given)

refuse("mathieu_a mathieu_b pro_cv obl_cv", f"a characteristic value: {RULED_OUT}")
