"""Samples of the functions made of pieces, away from their kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.core import Arrays, Sample
from tests.samples.elementwise import SHAPE, between, both, disc, either_sign

MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
ROW = np.array([True, False, True, True])
INDEX = np.array([[0, 1, 2, 0], [2, 2, 1, 0], [1, 0, 1, 2]])


def apart(rng: np.random.Generator) -> Arrays:
    """Two arrays that differ by at least 0.2 everywhere."""
    x = rng.normal(size=SHAPE)
    return x, x + rng.uniform(0.2, 1.5, size=SHAPE) * rng.choice([-1.0, 1.0], size=SHAPE)


def complex_apart(rng: np.random.Generator) -> Arrays:
    """Two complex arrays whose real parts differ."""
    x, y = apart(rng)
    return x + 1j * rng.normal(size=SHAPE), y + 1j * rng.normal(size=SHAPE)


def three_apart(rng: np.random.Generator) -> Arrays:
    """A value and two bounds, low < high, that are 0.1 apart; the value falls on every side."""
    low = rng.normal(size=SHAPE)
    high = low + rng.uniform(0.8, 1.5, size=SHAPE)
    side = rng.integers(0, 3, size=SHAPE)
    inside = rng.uniform(0.2, 0.6, size=SHAPE)
    return np.choose(side, [low - inside, low + inside, high + inside]), low, high


def bounds_crossed(rng: np.random.Generator) -> Arrays:
    """As `three_apart` with low > high: the upper bound is the result."""
    x, low, high = three_apart(rng)
    return x, high, low


def with_nan(x: Any) -> Any:
    """`x` where MASK is True, NaN elsewhere."""
    return np.where(MASK, x, np.nan)


def off_halves(rng: np.random.Generator) -> Arrays:
    """Numbers away from whole ones and from halves."""
    return (rng.integers(-3, 4, size=SHAPE) + rng.uniform(0.1, 0.4, size=SHAPE),)


def phases(rng: np.random.Generator) -> Arrays:
    """Phases with jumps that are clearly above or below half a period."""
    steps = rng.choice([-5.0, -1.0, 0.5, 2.0, 4.5, 8.0], size=SHAPE)
    return (np.cumsum(steps + rng.uniform(-0.1, 0.1, size=SHAPE), axis=-1),)


def write_back(x: Any) -> Any:
    """``nan_to_num(copy=False)`` on a buffer of our own."""
    y = with_nan(x) * 2.0
    np.nan_to_num(y, copy=False, nan=3.0)
    return y * y


one = either_sign(0.3, 2)
SAMPLES: list[Sample] = [
    # -- absolute value and sign ---------------------------------------------------------------
    Sample("np.absolute", lambda x: np.absolute(x) * x, one),
    Sample("np.absolute complex", np.absolute, disc(0.5, 2), batched=False),
    Sample("abs complex squared", lambda z: abs(z) ** 2 * z, disc(0.5, 2), batched=False),
    Sample("np.fabs", lambda x: np.fabs(x) * x, one),
    Sample("np.sign", lambda x: np.sign(x) * x, one),
    Sample("np.sign complex", np.sign, disc(0.5, 2), batched=False),
    Sample("np.copysign", lambda x, y: np.copysign(x, y) * x * y, both(one, one)),
    Sample("np.copysign scalar", lambda x: np.copysign(x, -1.0) * x + np.copysign(2.0, x), one),
    Sample("np.heaviside", lambda x, y: np.heaviside(x, y) * x + y, both(one, one)),
    Sample(
        "np.heaviside value at 0",
        lambda y: np.heaviside(np.array([0, 1, -1, 0], y.dtype), y) * y,
        one,
    ),
    Sample("np.nextafter", lambda x, y: np.nextafter(x, y) * y, both(one, one), tol=1e-5),
    # -- larger and smaller --------------------------------------------------------------------
    Sample("np.maximum", lambda x, y: np.maximum(x, y) * x, apart),
    Sample("np.minimum", lambda x, y: np.minimum(x, y) * x, apart),
    Sample("np.fmax", lambda x, y: np.fmax(x, y) * x, apart),
    Sample("np.fmin", lambda x, y: np.fmin(x, y) * x, apart),
    Sample("np.maximum complex", np.maximum, complex_apart, batched=False),
    Sample("np.minimum complex", np.minimum, complex_apart, batched=False),
    Sample("np.fmax complex", np.fmax, complex_apart, batched=False),
    Sample("np.fmin complex", np.fmin, complex_apart, batched=False),
    Sample("np.maximum scalar", lambda x: np.maximum(x, 0.1) * np.minimum(-0.1, x), one),
    Sample(
        "np.maximum broadcast",
        lambda x, y: np.maximum(x, y) * x,
        lambda rng: (rng.normal(size=(3, 1)), rng.normal(size=(1, 4))),
    ),
    Sample(
        "np.maximum large",
        lambda x, y: np.maximum(x, y) * x,
        both(either_sign(0.1, 1, 90, 60), either_sign(1.2, 2, 90, 60)),
        batched=False,
    ),
    Sample(
        "np.fmax with nan", lambda x, y: np.fmax(with_nan(x), y) + np.fmin(y, with_nan(x)), apart
    ),
    # -- clip ----------------------------------------------------------------------------------
    Sample("np.clip", lambda x, a, b: np.clip(x, a, b) * x, three_apart),
    Sample("np.clip crossed bounds", lambda x, a, b: np.clip(x, a, b) * x, bounds_crossed),
    Sample("np.clip min max", lambda x, a, b: np.clip(x, min=a, max=b) * x, three_apart),
    Sample("np.clip a_min a_max", lambda x, a, b: np.clip(x, a_min=a, a_max=b) * x, three_apart),
    Sample("np.clip lower only", lambda x, a: np.clip(x, a, None) * x, apart),
    Sample("np.clip upper only", lambda x, a: np.clip(x, None, a) * x, apart),
    Sample("np.clip max only", lambda x, a: np.clip(x, max=a) * x, apart),
    Sample("np.clip no bounds", lambda x: np.clip(x, None, None) * x, one),
    Sample("np.clip numbers", lambda x: np.clip(x, -1.0, 1.05) * x, one),
    Sample(
        "np.clip recorded bounds alone",
        lambda a, b: np.clip(np.array([-9.0, 0.1, 9.0, 9.0], a.dtype), a, b) * a,
        lambda rng: (rng.uniform(-2, -1, SHAPE), rng.uniform(1, 2, SHAPE)),
    ),
    Sample("method clip", lambda x, a, b: x.clip(a, b) * x, three_apart),
    Sample("method clip keywords", lambda x: x.clip(min=-1.0, max=1.05) * x, one),
    Sample("ufunc clip", lambda x, a, b: np._core.umath.clip(x, a, b) * x, three_apart),
    Sample(
        "np.clip bounds broadcast",
        lambda x, a: np.clip(x, -a, a) * x,
        both(either_sign(0.3, 2), between(1.0, 1.1, 4)),
    ),
    # -- where, select, choose, piecewise ------------------------------------------------------
    Sample("np.where", lambda x, y: np.where(MASK, x * y, y), both(one, one)),
    Sample(
        "np.where broadcast",
        lambda x, y: np.where(ROW, x, y * y),
        both(either_sign(0.3, 2, 3, 1), either_sign(0.3, 2, 1)),
    ),
    Sample(
        "np.where complex",
        lambda x, y: np.where(MASK, x * x, y),
        both(disc(0.3, 2), one),
        batched=False,
    ),
    Sample("np.where number", lambda x: np.where(x > 0, x * x, -1.0) + np.where(x < 0, 2, x), one),
    Sample("np.where one branch", lambda x: np.where(MASK, 0.0, x * x), one),
    Sample("np.where recorded condition", lambda x: np.where(x, x * x, 1.0), one),
    Sample("np.where scalar condition", lambda x, y: np.where(True, x * y, y), both(one, one)),
    Sample(
        "np.where list condition", lambda x: np.where([True, False, True, False], x * x, x), one
    ),
    Sample(
        "np.where large",
        lambda x, y: np.where(x > 0, x * y, y * y),
        both(either_sign(0.1, 1, 90, 60), either_sign(0.2, 2, 90, 60)),
        batched=False,
    ),
    Sample("np.where one argument", lambda x: x[np.where(x > 0)] ** 2, one),
    Sample("np.select", lambda x, y: np.select([x > 1, x < 0], [x * y, y * y], x), both(one, one)),
    Sample("np.select default number", lambda x: np.select([x > 1, x < 0], [x * x, 2.5], 7), one),
    Sample(
        "np.select first wins", lambda x, y: np.select([MASK, ROW], [x * y, y * y]), both(one, one)
    ),
    Sample("np.choose", lambda x, y: np.choose(INDEX, [x * y, y * y, x]), both(one, one)),
    Sample(
        "np.choose wrap",
        lambda x, y: np.choose(INDEX * 2 - 3, [x * y, y, x], mode="wrap"),
        both(one, one),
    ),
    Sample(
        "np.choose clip",
        lambda x, y: np.choose(INDEX * 2 - 2, [x * y, y, x], mode="clip"),
        both(one, one),
    ),
    Sample("np.choose array of choices", lambda x: np.choose(np.array([2, 0, 1, 2]), x * x), one),
    Sample(
        "np.piecewise", lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t * t, np.sin]), one
    ),
    Sample(
        "np.piecewise otherwise",
        lambda x: np.piecewise(x, [x < -1, x > 1], [-1.0, lambda t: t**3, np.cos]),
        one,
    ),
    Sample(
        "np.piecewise arguments",
        lambda x: np.piecewise(
            x, [x < 0, x >= 0], [lambda t, a, b: a * t * t + b, lambda t, a, b: b * t], 3.0, b=2.0
        ),
        one,
    ),
    Sample(
        "np.piecewise scalar",
        lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t * t, np.sin]),
        lambda rng: (np.array(0.7),),
    ),
    # -- replaced and corrected ----------------------------------------------------------------
    Sample("np.nan_to_num", lambda x: np.nan_to_num(with_nan(x)) * x, one),
    Sample(
        "np.nan_to_num keywords",
        lambda x: np.nan_to_num(np.where(ROW, x, np.inf), nan=1.0, posinf=2.0, neginf=3.0) * x,
        one,
    ),
    Sample(
        "np.nan_to_num complex",
        lambda z: np.nan_to_num(with_nan(z)) * z,
        disc(0.3, 2),
        batched=False,
    ),
    Sample("np.nan_to_num in place", write_back, one),
    Sample("np.unwrap", lambda p: np.unwrap(p) ** 2, phases),
    Sample("np.unwrap axis discont", lambda p: np.unwrap(p, discont=4.0, axis=0) ** 2, phases),
    Sample(
        "np.unwrap recorded period",
        lambda p, period: np.unwrap(p, period=period) ** 2,
        lambda rng: (*phases(rng), np.array(6.0)),
        batched=False,
    ),
    # -- flat parts ----------------------------------------------------------------------------
    Sample(
        "rounding is flat",
        lambda x: (
            np.floor(x) * x
            + np.ceil(x)
            + np.trunc(x) * x
            + np.rint(x * 1.0) * x
            + np.floor_divide(x, 1.0) * x
        ),
        lambda rng: (rng.integers(-3, 4, size=SHAPE) + rng.uniform(0.1, 0.4, size=SHAPE),),
    ),
    Sample(
        "np.round decimals",
        lambda x: np.round(x, 1) * x,
        lambda rng: (np.round(rng.normal(size=SHAPE), 1) + rng.uniform(0.01, 0.04, SHAPE),),
    ),
    Sample("np.fix and np.around", lambda x: np.fix(x) * x + np.around(x * 1.0) * x, off_halves),
    Sample("np.spacing", lambda x: np.spacing(x) + x, between(1.1, 1.9)),
    # -- sinc and i0 ---------------------------------------------------------------------------
    Sample("np.sinc", np.sinc, either_sign(0.05, 4, 4, 5), tol=1e-6),
    Sample("np.sinc near 0", np.sinc, either_sign(1e-9, 0.3)),
    Sample("np.sinc at 0", np.sinc, lambda rng: (np.zeros(3),)),
    Sample("np.sinc complex", np.sinc, disc(0.05, 1.5), batched=False),
    Sample("np.i0", np.i0, either_sign(0.1, 12)),
    Sample("np.i0 large", np.i0, either_sign(20, 40)),
    Sample("np.i0 near 0", np.i0, either_sign(0, 0.2)),
]
