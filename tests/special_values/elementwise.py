"""Zeros, infinities and tails of the smooth ufuncs: what the gradient is there, by mathematics."""

from __future__ import annotations

import math

import numpy as np

from tests.samples.core import Special

INF = np.inf


def a(*values: float) -> np.ndarray:
    """A float64 array."""
    return np.array(values, dtype=float)


def sech_squared(x: float) -> float:
    """4 q / (1 + q)^2 with q = exp(-2|x|)."""
    q = math.exp(-2 * abs(x))
    return 4 * q / (1 + q) ** 2


def sigmoid(x: float) -> float:
    """Without overflow."""
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


SPECIAL: list[Special] = [
    # -- powers at zero: x**0 is 1 for every x -------------------------------------------------
    Special("x**0 at 0", lambda x: x**0, (a(0.0, 3.0),), (a(0, 0),), (a(0, 0),)),
    Special("x**0.0 at 0", lambda x: x**0.0, (a(0.0, 3.0),), (a(0, 0),), (a(0, 0),)),
    Special("x**1 at 0", lambda x: x**1, (a(0.0),), (a(1),), (a(0),)),
    Special("x**2 at 0", lambda x: x**2, (a(0.0),), (a(0),), (a(2),)),
    Special("x**3 at 0", lambda x: x**3, (a(0.0),), (a(0),), (a(0),)),
    Special(
        "x**float array at 0",
        lambda x: x ** a(0, 1, 2, 3),
        (np.zeros(4),),
        (a(0, 1, 0, 0),),
        (a(0, 0, 2, 0),),
    ),
    Special(
        "x**integer array at 0",
        lambda x: x ** np.array([0, 1, 2, 3]),
        (np.zeros(4),),
        (a(0, 1, 0, 0),),
        (a(0, 0, 2, 0),),
    ),
    Special(
        "x**unsigned array at 0",
        lambda x: x ** np.array([0, 1, 2], np.uint8),
        (np.zeros(3),),
        (a(0, 1, 0),),
        (a(0, 0, 2),),
    ),
    Special("x**1.5 at 0", lambda x: x**1.5, (a(0.0),), (a(0),)),
    Special("x**0.5 at 0", lambda x: x**0.5, (a(0.0),), (a(INF),)),
    Special("x**2 negative", lambda x: np.power(x, 2.0), (a(-3.0),), (a(-6),), (a(2),)),
    Special(
        "x**array negative base",
        lambda x: x ** a(2, 3, -1),
        (a(-2.0, -2.0, -2.0),),
        (a(-4, 12, -0.25),),
        (a(2, -12, -0.25),),
    ),
    # d/dp b**p = b**p log b, whose limit at b = 0 is 0 for p > 0; all orders agree for p = 2
    Special(
        "b**p at b = 0",
        lambda b, p: b**p,
        (a(0.0, 0.0), a(2.0, 3.0)),
        (a(0, 0), a(0, 0)),
        (a(2, 0), a(0, 0)),
    ),
    Special("0.0**p", lambda p: 0.0**p, (a(2.0, 0.0),), (a(0, 0),), (a(0, 0),)),
    # d2/dx dp of x**p at p = 0 is 1/x, and d2/dp2 is log(x)^2
    Special(
        "x**p at p = 0",
        lambda x, p: x**p,
        (a(2.0), a(0.0)),
        (a(0), a(math.log(2))),
        (a(0.5), a(0.5 + math.log(2) ** 2)),
    ),
    Special("float_power at 0", lambda x: np.float_power(x, 2), (a(0.0),), (a(0),), (a(2),)),
    Special("complex power at 0", lambda z: (z**2).real, (np.array([0j]),), (np.array([0j]),)),
    # -- singular points: infinite where the derivative is ---------------------------------------
    Special("sqrt at 0", np.sqrt, (a(0.0, 4.0),), (a(INF, 0.25),)),
    Special("cbrt at 0", np.cbrt, (a(0.0, -8.0),), (a(INF, 1 / 12),)),
    Special("log at 0", np.log, (a(0.0),), (a(INF),)),
    Special("log1p near 0", np.log1p, (a(0.0, 1e-20),), (a(1, 1),), (a(-1, -1),)),
    Special("arcsin at the ends", np.arcsin, (a(-1.0, 1.0),), (a(INF, INF),)),
    Special(
        "arcsin beside the end",
        np.arcsin,
        (a(1 - 2.0**-40),),
        (a(1 / math.sqrt(2.0**-40 * (2 - 2.0**-40))),),
    ),
    Special("arccosh huge", np.arccosh, (a(1e200),), (a(1e-200),)),
    Special("arcsinh huge", np.arcsinh, (a(1e200, -1e200),), (a(1e-200, 1e-200),)),
    Special("reciprocal at infinity", lambda x: 1 / x, (a(INF, -INF),), (a(0, 0),)),
    # -- masked branches: a zero cotangent stays zero --------------------------------------------
    Special(
        "where sqrt",
        lambda x: np.where(x > 0, np.sqrt(x), 0.0),
        (a(-1, 0, 4),),
        (a(0, 0, 0.25),),
        (a(0, 0, -0.25 / 8),),
    ),
    Special(
        "where log",
        lambda x: np.where(x > 0, np.log(x), x),
        (a(-1, 0, 4),),
        (a(1, 1, 0.25),),
        (a(0, 0, -1 / 16),),
    ),
    Special(
        "where divide",
        lambda x: np.where(x != 0, 1 / x, 0.0),
        (a(0, 2),),
        (a(0, -0.25),),
        (a(0, 0.25),),
    ),
    Special(
        "where exp exp",
        lambda x: np.where(x < 9, 3 * x, np.exp(np.exp(x))),
        (a(8.0),),
        (a(3),),
        (a(0),),
    ),
    Special("where x exp x", lambda x: np.where(x < 100, x * np.exp(x), x), (a(1000.0),), (a(1),)),
    Special("where power", lambda x: np.where(x > 0, x**0.25, 0.0), (a(0, 1),), (a(0, 0.25),)),
    Special(
        "where nan",
        lambda x: np.where(np.isnan(x), 0, x * x + np.sin(x)),
        (a(np.nan, 0),),
        (a(0, 1),),
        (a(0, 2),),
    ),
    Special(
        "where arcsin",
        lambda x: np.where(abs(x) < 1, np.arcsin(x), 0),
        (a(1, 2, 0),),
        (a(0, 0, 1),),
    ),
    # -- tails -----------------------------------------------------------------------------------
    Special(
        "tanh tails",
        lambda x: np.tanh(x) * 1e30,
        (a(19.5, -22.0, 30.0),),
        (1e30 * a(*map(sech_squared, (19.5, -22.0, 30.0))),),
        (-2e30 * a(*(sech_squared(x) * math.tanh(x) for x in (19.5, -22, 30))),),
    ),
    Special("tanh far out", np.tanh, (a(400.0, -800.0, INF),), (a(0, 0, 0),), (a(0, 0, 0),)),
    Special("tanh at 0", np.tanh, (a(0.0),), (a(1),), (a(0),)),
    Special(
        "expm1 tail",
        lambda x: np.expm1(x) * 1e18,
        (a(-43.0),),
        (1e18 * a(math.exp(-43)),),
        (1e18 * a(math.exp(-43)),),
    ),
    Special("arctan2 at the origin", np.arctan2, (a(0.0), a(0.0)), (a(0), a(0))),
    Special(
        "arctan2 tiny and huge",
        lambda y, x: np.arctan2(y, x) * 1e-200,
        (a(1e-200), a(1e-200)),
        (a(0.5), a(-0.5)),
    ),
    Special("hypot at the origin", np.hypot, (a(0.0, 3.0), a(0.0, 4.0)), (a(0, 0.6), a(0, 0.8))),
    Special("hypot huge", np.hypot, (a(3e300), a(4e300)), (a(0.6), a(0.8)), (a(0), a(0))),
    Special(
        "hypot squared at the origin",
        lambda x, y: np.hypot(x, y) ** 2,
        (a(0.0), a(0.0)),
        (a(0), a(0)),
    ),
    # -- logaddexp -------------------------------------------------------------------------------
    Special("logaddexp ties", np.logaddexp, (a(1.0), a(1.0)), (a(0.5), a(0.5)), (a(0), a(0))),
    Special(
        "logaddexp +inf",
        np.logaddexp,
        (a(INF, 3.0), a(3.0, INF)),
        (a(1, 0), a(0, 1)),
        (a(0, 0), a(0, 0)),
    ),
    Special(
        "logaddexp -inf",
        np.logaddexp,
        (a(-INF, 2.0), a(3.0, -INF)),
        (a(0, 1), a(1, 0)),
        (a(0, 0), a(0, 0)),
    ),
    Special(
        "logaddexp both infinite",
        np.logaddexp,
        (a(-INF, INF), a(-INF, INF)),
        (a(0.5, 0.5), a(0.5, 0.5)),
    ),
    Special(
        "logaddexp2 both infinite",
        np.logaddexp2,
        (a(-INF, INF), a(-INF, INF)),
        (a(0.5, 0.5), a(0.5, 0.5)),
    ),
    Special(
        "log-sigmoid",
        lambda x: -np.logaddexp(0.0, -x),
        (a(0.0, 30.0, -800.0, 800.0),),
        (a(0.5, sigmoid(-30), 1, 0),),
        (a(-0.25, -sigmoid(-30) * sigmoid(30), 0, 0),),
    ),
    Special(
        "softplus tail",
        lambda x: 1e13 * np.logaddexp(0.0, x),
        (a(-30.0),),
        (1e13 * a(sigmoid(-30)),),
        (1e13 * a(sigmoid(-30) * sigmoid(30)),),
    ),
    Special(
        "logaddexp with a masked prefix",
        lambda x: np.logaddexp.accumulate(x)[3],
        (a(-INF, -INF, 1, 2),),
        (a(0, 0, 1 / (1 + math.e), math.e / (1 + math.e)),),
    ),
    # -- remainders ------------------------------------------------------------------------------
    Special(
        "fmod whose quotient rounds up", np.fmod, (a(1.0), a(0.1)), (a(1), a(-9)), (a(0), a(0))
    ),
    Special(
        "remainder of signs",
        np.remainder,
        (a(-7.5, 7.5), a(2.0, -2.0)),
        (a(1, 1), a(4, 4)),
        (a(0, 0), a(0, 0)),
    ),
]
