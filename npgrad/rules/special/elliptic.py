"""Legendre's and Carlson's elliptic integrals, Jacobi's functions (DLMF chapters 19 and 22)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.primitives import primitive
from npgrad.rules.special.words import at_end, at_rest, several, smooth
from npgrad.table import reverse


# -------------------------------------------------------------------------------------- complete
def k_slope(m: Any) -> Any:
    """K'(m) = (E - (1-m) K) / (2 m (1-m)), 19.4.1; near m = 0, where that is 0/0, 19.5.1."""
    near = np.abs(m) < 0.5
    small, m = np.where(near, m, 0), np.where(near, 0.5, m)
    far = (sp.ellipe(m) - (1 - m) * sp.ellipk(m)) / (2 * m * (1 - m))
    return np.where(near, math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, small), far)


def e_slope(m: Any) -> Any:
    """E'(m) = (E - K) / (2 m), 19.4.2; near m = 0 by 19.5.2."""
    near = np.abs(m) < 0.5
    small, m = np.where(near, m, 0), np.where(near, 0.5, m)
    far = (sp.ellipe(m) - sp.ellipk(m)) / (2 * m)
    return np.where(near, -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2, small), far)


def km1_slope(p: Any, y: Any) -> Any:
    """The derivative of K(1 - p): 19.4.1 with K as given, so that p near 0 keeps its digits."""
    near = np.abs(1 - p) < 0.5
    small, q = np.where(near, 1 - p, 0), np.where(near, 0.5, p)
    far = (np.where(near, 1, y) - sp.ellipe(1 - q) / q) / (2 * (1 - q))
    return np.where(near, -math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, small), far)


smooth("ellipk", at_end(at_rest(lambda g, x: g * k_slope(x), "x"), "x", 1, math.inf))
smooth("ellipe", lambda g, x: g * e_slope(x))
smooth("ellipkm1", at_end(at_rest(lambda g, x, y: g * km1_slope(x, y), "x"), "x", 0, -math.inf))


def agm_first(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """agm(a, b) = (pi/2) / R_F(0, a^2, b^2), 19.8.5 and 19.25.1; R_F's derivative is 19.18.1.

    In Carlson's integrals nothing cancels when one argument is much smaller than the other, at
    second order either; agm(a, 0) = 0 for every a.
    """
    none = x2 == 0
    ratio = np.square(np.where(none, 1, x2) / x1)
    slope = 2 / (3 * math.pi) * np.square(y / x1) * sp.elliprd(0, ratio, 1)
    return g * np.where(none, 0, slope)


def agm_second(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """The same with the arguments exchanged: the mean is symmetric."""
    return agm_first(g, x2, x1, y)


smooth("agm", at_end(agm_first, "x1", 0, math.inf), at_end(agm_second, "x2", 0, math.inf))


# ------------------------------------------------------------------------------------ incomplete
# The derivatives by m as Carlson integrals: the differences of E and F in 19.4.6 and 19.4.4 cancel
# for small m, small phi and m near 1.
def sine_moment(phi: Any, m: Any, cubed: bool) -> Any:
    """The integral of sin^2 / root from 0 to phi, root^2 = 1 - m sin^2, or of sin^2 / root^3.

    With t + 1/sin^2(phi) for 1/sin^2 it is sin^3(phi) R_D / 3 within half a period, 19.25.13;
    a whole one, of length pi, has twice that of pi/2.
    """
    periods = np.rint(phi / math.pi)
    rest = phi - math.pi * periods
    sine, cosine = np.sin(rest), np.cos(rest)
    square, root = cosine * cosine, 1 - m * (sine * sine)
    part = sp.elliprd(square, 1, root) if cubed else sp.elliprd(square, root, 1)
    turned = periods != 0
    complement = np.where(turned, 1 - m, 1)
    whole = sp.elliprd(0, 1, complement) if cubed else sp.elliprd(0, complement, 1)
    return sine * sine * sine * part / 3 + np.where(turned, 2 / 3 * periods * whole, 0)


def e_phi_m(phi: Any, m: Any) -> Any:
    """dE(phi, m)/dm, under the integral 19.2.5."""
    return -0.5 * sine_moment(phi, m, False)


def f_phi_m(phi: Any, m: Any) -> Any:
    """dF(phi, m)/dm, under the integral 19.2.4."""
    return 0.5 * sine_moment(phi, m, True)


smooth(
    "ellipeinc",  # the integrand of 19.2.5
    lambda g, x1, x2: g * np.sqrt(1 - x2 * np.square(np.sin(x1))),
    lambda g, x1, x2: g * e_phi_m(x1, x2),
)
smooth(
    "ellipkinc",  # the integrand of 19.2.4
    lambda g, x1, x2: g / np.sqrt(1 - x2 * np.square(np.sin(x1))),
    lambda g, x1, x2: g * f_phi_m(x1, x2),
)


def jacobi_u(m: Any, y: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Of sn, cn, dn and am: cn dn, -sn dn, -m sn cn and dn, 22.13.1 and 22.16.3."""
    s, c, d, _ = y
    return c * d, -s * d, -m * s * c, d


def jacobi_m(m: Any, y: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Through the amplitude: u = F(am, m) is held, so d am/dm = -dn dF/dm."""
    s, c, d, amplitude = y
    turn = -f_phi_m(amplitude, m) * d
    return c * turn, -s * turn, -(0.5 * s * s + m * s * c * turn) / d, turn


several("ellipj", "u, m", u=jacobi_u, m=jacobi_m)


# --------------------------------------------------------------------------------------- Carlson
@primitive
def carlson_integral(x1: Any, x2: Any, x3: Any, x4: Any, powers: tuple[float, ...]) -> Any:
    """The integral over t > 0 of (t+x1)^-a (t+x2)^-b (t+x3)^-c (t+x4)^-d for `powers` (a, b, c, d).

    Every partial derivative is one of the same family, so coinciding arguments need no care, unlike
    in the partial fractions of 19.18. With t = exp(v) the integrand is analytic for |Im v| < pi
    minus the largest argument, so the trapezoidal rule of step h errs by exp(-2 pi^2 / h): below
    1e-17 for h = 1/2 and positive arguments, for h = 1/4 and right half-planes.
    """
    arguments = [item if hasattr(item, "dtype") else np.asarray(item) for item in (x1, x2, x3, x4)]
    dtype = np.result_type(*arguments)
    wide = [item.astype(np.result_type(dtype, np.float64)) for item in arguments]
    shape = np.broadcast_shapes(*(item.shape for item in wide))
    used = [np.abs(item) for item, power in zip(wide, powers, strict=True) if power > 0]
    sized = [item[(item > 0) & (item < np.inf)] for item in used]  # no NaN either
    low = min((float(np.min(item)) for item in sized if item.size), default=1.0)
    high = max((float(np.max(item)) for item in sized if item.size), default=1.0)
    # At the lower end the integrand falls as exp(v), or exp(v/2) where an argument is 0.
    below = 80 if any(np.any(item == 0) for item in used) else 40
    above = 40 / min(sum(powers) - 1, 1.5)
    step = 0.25 if dtype.kind == "c" else 0.5
    nodes = np.exp(np.arange(math.log(low) - below, math.log(high) + above, step))
    chunk = max(1, 100_000 // max(1, math.prod(shape)))  # nodes at once: about a megabyte
    total = np.zeros(shape, np.result_type(*wide))
    for first in range(0, len(nodes), chunk):
        t = nodes[first : first + chunk].reshape((-1,) + (1,) * len(shape))
        term: Any = t * step
        for item, power in zip(wide, powers, strict=True):
            if power:
                term = term * (t + item) ** -power
        total = total + term.sum(axis=0)
    for item, power in zip(wide, powers, strict=True):
        if power >= 1 and np.any(item == 0):
            total = np.where(item == 0, np.inf, total)
    return total.astype(dtype)[()]


def carlson_change(place: int) -> Any:
    """The rule for one argument: its power rises by one."""

    def rule(g: Any, x1: Any, x2: Any, x3: Any, x4: Any, powers: tuple[float, ...]) -> Any:
        if powers[place] == 0:
            return np.zeros_like(g)
        raised = (*powers[:place], powers[place] + 1, *powers[place + 1 :])
        return -powers[place] * g * carlson_integral(x1, x2, x3, x4, raised)

    return rule


CARLSON_RULES = {f"x{i + 1}": carlson_change(i) for i in range(4)}
reverse(carlson_integral, CARLSON_RULES, CARLSON_RULES)


def rf_slope(x: Any, y: Any, z: Any) -> Any:
    """-R_D(y, z, x)/6 by the first argument, 19.18.1."""
    return -sp.elliprd(y, z, x) / 6


def rd_slope(x: Any, y: Any, z: Any) -> Any:
    """By the first argument of 19.16.5, under the integral."""
    return -0.75 * carlson_integral(x, y, z, 0.0, (1.5, 0.5, 1.5, 0.0))


def rg_slope(x: Any, y: Any, z: Any) -> Any:
    """(R_F - x R_D(y, z, x)/3)/4, 19.23.7, as one integral, whose integrand has the factor t."""
    return 0.125 * carlson_integral(x, y, z, 0.0, (1.5, 0.5, 0.5, -1.0))


def positive(p: Any) -> Any:
    """Whether the integral has no pole: elsewhere SciPy gives Cauchy's principal value."""
    return np.real(p) > 0 if np.ndim(p) or hasattr(p, "dtype") else p > 0


def rc_first(g: Any, x1: Any, x2: Any) -> Any:
    """By x; a principal value obeys R_x = (R - x^(-1/2)) / (2 (y - x)), from 19.18(i)."""
    right = positive(x2)
    y = np.where(right, x2, 1)
    negative = np.where(right, -1, x2)
    closed = (sp.elliprc(x1, negative) - 1 / np.sqrt(x1)) / (2 * (negative - x1))
    return g * np.where(
        right, -0.25 * carlson_integral(x1, y, 0.0, 0.0, (1.5, 1.0, 0.0, 0.0)), closed
    )


def rc_second(g: Any, x1: Any, x2: Any) -> Any:
    """By y; a principal value obeys R_y = (sqrt(x)/y - R) / (2 (y - x)), from 19.18(i)."""
    right = positive(x2)
    y = np.where(right, x2, 1)
    negative = np.where(right, -1, x2)
    closed = (np.sqrt(x1) / negative - sp.elliprc(x1, negative)) / (2 * (negative - x1))
    return g * np.where(
        right, -0.5 * carlson_integral(x1, y, 0.0, 0.0, (0.5, 2.0, 0.0, 0.0)), closed
    )


def rj_fractions(x: Any, y: Any, z: Any, p: Any) -> Any:
    """dR_J/dx by partial fractions of 19.16.2: holds for a principal value (p < 0) as well."""
    return -(sp.elliprd(y, z, x) - sp.elliprj(x, y, z, p)) / (2 * (p - x))


def rj_moment(x: Any, y: Any, z: Any, p: Any) -> Any:
    """The product x dR_J/dx, 0 at x = 0 though the derivative is infinite there."""
    none = x == 0
    return np.where(none, 0, x * rj_fractions(np.where(none, 1, x), y, z, p))


def rj_slope(x: Any, y: Any, z: Any, p: Any) -> Any:
    """By the first argument of R_J, 19.16.2."""
    right = positive(p)
    plain = carlson_integral(x, y, z, np.where(right, p, 1), (1.5, 0.5, 0.5, 1.0))
    return np.where(right, -0.75 * plain, rj_fractions(x, y, z, np.where(right, -1, p)))


def rj_last(g: Any, x1: Any, x2: Any, x3: Any, x4: Any, y: Any) -> Any:
    """By p; a principal value from homogeneity of degree -3/2, 19.18.6."""
    right = positive(x4)
    plain = -1.5 * carlson_integral(x1, x2, x3, np.where(right, x4, 1), (0.5, 0.5, 0.5, 2.0))
    p = np.where(right, -1, x4)
    rest = rj_moment(x1, x2, x3, p) + rj_moment(x2, x1, x3, p) + rj_moment(x3, x2, x1, p)
    return g * np.where(right, plain, (-1.5 * sp.elliprj(x1, x2, x3, p) - rest) / p)


smooth("elliprc", rc_first, rc_second)
smooth(
    "elliprf",
    lambda g, x1, x2, x3: g * rf_slope(x1, x2, x3),
    lambda g, x1, x2, x3: g * rf_slope(x2, x1, x3),
    lambda g, x1, x2, x3: g * rf_slope(x3, x1, x2),
)
smooth(
    "elliprd",
    lambda g, x1, x2, x3: g * rd_slope(x1, x2, x3),
    lambda g, x1, x2, x3: g * rd_slope(x2, x1, x3),
    lambda g, x1, x2, x3: -2.25 * g * carlson_integral(x1, x2, x3, 0.0, (0.5, 0.5, 2.5, 0.0)),
)
smooth(
    "elliprg",
    lambda g, x1, x2, x3: g * rg_slope(x1, x2, x3),
    lambda g, x1, x2, x3: g * rg_slope(x2, x1, x3),
    lambda g, x1, x2, x3: g * rg_slope(x3, x1, x2),
)
smooth(
    "elliprj",
    lambda g, x1, x2, x3, x4: g * rj_slope(x1, x2, x3, x4),
    lambda g, x1, x2, x3, x4: g * rj_slope(x2, x1, x3, x4),
    lambda g, x1, x2, x3, x4: g * rj_slope(x3, x2, x1, x4),
    rj_last,
)
