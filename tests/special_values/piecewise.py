"""Kinks and ties of the functions made of pieces."""

from __future__ import annotations

import math

import numpy as np

from tests.samples.core import Special

INF, NAN, TINY = np.inf, np.nan, 5e-324


def a(*values: float) -> np.ndarray:
    """A float64 array."""
    return np.array(values, dtype=float)


def recorded_bound(x):
    """The value is its own upper bound."""
    return np.clip(x, 0.0, x)


SPECIAL: list[Special] = [
    Special("absolute at 0", np.absolute, (a(-2, 0, 3),), (a(-1, 0, 1),), (a(0, 0, 0),)),
    Special("fabs at 0", np.fabs, (a(-2, -0.0, 3),), (a(-1, 0, 1),), (a(0, 0, 0),)),
    Special("absolute subnormal", np.absolute, (a(TINY, -TINY),), (a(1, -1),)),
    Special("sign", np.sign, (a(-2, 0, 3),), (a(0, 0, 0),), (a(0, 0, 0),)),
    Special("copysign", np.copysign, (a(2, -2, 0), a(-1, -0.0, 1)), (a(-1, 1, 0), a(0, 0, 0))),
    Special("heaviside", np.heaviside, (a(-1, 0, 1), a(0.3, 0.3, 0.3)), (a(0, 0, 0), a(0, 1, 0))),
    # -- ties are shared, NaN passes to nobody -------------------------------------------------
    Special(
        "maximum ties",
        np.maximum,
        (a(2, 5, -1), a(2, 4, -1)),
        (a(0.5, 1, 0.5), a(0.5, 0, 0.5)),
        (a(0, 0, 0), a(0, 0, 0)),
    ),
    Special(
        "minimum ties", np.minimum, (a(2, 5, -1), a(2, 4, -1)), (a(0.5, 0, 0.5), a(0.5, 1, 0.5))
    ),
    Special("fmax ties", np.fmax, (a(2, 5), a(2, 4)), (a(0.5, 1), a(0.5, 0))),
    Special("fmin ties", np.fmin, (a(2, 5), a(2, 4)), (a(0.5, 0), a(0.5, 1))),
    Special("fmax nan", np.fmax, (a(NAN, 3), a(2, NAN)), (a(0, 1), a(1, 0))),
    Special("fmin nan", np.fmin, (a(NAN, 3), a(2, NAN)), (a(0, 1), a(1, 0))),
    Special(
        "maximum subnormal",
        lambda x: np.maximum(x, 0.0),
        (a(TINY, -TINY, 0, 1e-310),),
        (a(1, 0, 0.5, 1),),
    ),
    Special("maximum of itself", lambda x: np.maximum(x, x), (a(3.0),), (a(1),)),
    Special("maximum infinite", np.maximum, (a(INF, -INF), a(INF, 1)), (a(0.5, 0), a(0.5, 1))),
    Special(
        "sqrt of a masked zero", lambda x: np.sqrt(np.maximum(x, 0.0)), (a(-1, 4),), (a(0, 0.25),)
    ),
    Special("abs as maximum", lambda x: np.maximum(x, -x), (a(-2, 0, 2),), (a(-1, 0, 1),)),
    # -- clip: min(max(x, low), high); x passes at its bounds ----------------------------------
    Special(
        "clip at the bounds",
        lambda x: np.clip(x, -1, 2),
        (a(-2, -1, 0, 2, 3),),
        (a(0, 1, 1, 1, 0),),
        (np.zeros(5),),
    ),
    Special("clip by itself", recorded_bound, (np.array(5.0),), (np.array(1.0),)),
    Special(
        "clip bounds",
        lambda x, lo, hi: np.clip(x, lo, hi) * a(2, 3, 5),
        (a(-3, 0.2, 4), a(-1, -1, -1), a(1, 1, 1)),
        (a(0, 3, 0), a(2, 0, 0), a(0, 0, 5)),
    ),
    Special(
        "clip crossed",
        np.clip,
        (a(-3, 0.2, 4), a(1, 1, 1), a(-1, -1, -1)),
        (a(0, 0, 0), a(0, 0, 0), a(1, 1, 1)),
    ),
    Special(
        "clip crossed at the upper bound", np.clip, (a(-1.0), a(1.0), a(-1.0)), (a(0), a(0), a(1))
    ),
    Special(
        "clip equal bounds",
        np.clip,
        (a(0, 1, 2), a(1, 1, 1), a(1, 1, 1)),
        (a(0, 1, 0), a(1, 0, 0), a(0, 0, 1)),
    ),
    Special(
        "clip one bound",
        lambda x: np.clip(x, None, 1.0) + np.clip(x, min=0.0),
        (a(-1, 0, 1, 2),),
        (a(1, 2, 2, 1),),
    ),
    Special(
        "ufunc clip at the bounds",
        lambda x: np._core.umath.clip(x, -1.0, 2.0),
        (a(-2, -1, 0, 2, 3),),
        (a(0, 1, 1, 1, 0),),
    ),
    Special(
        "sqrt of a clipped zero", lambda x: np.sqrt(np.clip(x, 0, None)), (a(-1, 4),), (a(0, 0.25),)
    ),
    # -- where and friends ---------------------------------------------------------------------
    Special(
        "where keeps inf out", lambda x: np.where(x > 0, x, 0.0) ** 0.5, (a(-1, 4),), (a(0, 0.25),)
    ),
    Special(
        "select first condition wins",
        lambda x: np.select([x > 0, x > -2], [x * x, -x], 5.0),
        (a(3, -1, -4),),
        (a(6, -1, 0),),
        (a(2, 0, 0),),
    ),
    Special(
        "piecewise at a seam",
        lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t * t]),
        (a(-1, 0, 2),),
        (a(-1, 0, 4),),
        (a(0, 2, 2),),
    ),
    Special(
        "nan_to_num", np.nan_to_num, (a(NAN, INF, -INF, 2),), (a(0, 0, 0, 1),), (a(0, 0, 0, 0),)
    ),
    # -- sinc: u = pi x, 1 - u^2/6 + u^4/120 ---------------------------------------------------
    Special("sinc at 0", np.sinc, (a(0.0),), (a(0),), (a(-(math.pi**2) / 3),)),
    Special(
        "sinc near 0",
        np.sinc,
        (a(1e-9, 1e-5),),
        (a(-1e-9 * math.pi**2 / 3, -1e-5 * math.pi**2 / 3 * (1 - (1e-5 * math.pi) ** 2 / 10)),),
        (a(-(math.pi**2) / 3, -(math.pi**2) / 3 * (1 - 0.3 * (1e-5 * math.pi) ** 2)),),
    ),
    Special(
        "sinc at whole numbers", np.sinc, (a(1.0, -1.0, 2.0),), (a(-1, 1, 0.5),), (a(2, 2, -0.5),)
    ),
    Special(
        "sinc of an affine zero",
        lambda t: 3 * np.sinc(4 * t - 1) + t,
        (a(0.25),),
        (a(1),),
        (a(-16 * math.pi**2),),
    ),
    Special("i0 at 0", np.i0, (a(0.0),), (a(0),), (a(0.5),)),
]
