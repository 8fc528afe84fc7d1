"""Samples of the smooth ufuncs of one output: real, complex, broadcast, 0-d, empty, strided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.core import Arrays, Sample

Args = Callable[[np.random.Generator], Arrays]
SHAPE = (3, 4)


def between(low: float, high: float, *shape: int) -> Args:
    """One array, uniform in an interval."""
    return lambda rng: (rng.uniform(low, high, size=shape or SHAPE),)


def either_sign(low: float, high: float, *shape: int) -> Args:
    """One array of moduli in an interval, of either sign."""

    def args(rng: np.random.Generator) -> Arrays:
        shape_ = shape or SHAPE
        return (rng.uniform(low, high, size=shape_) * rng.choice([-1.0, 1.0], size=shape_),)

    return args


def disc(low: float, high: float, *shape: int) -> Args:
    """One complex array of moduli in an interval, away from both axes."""

    def args(rng: np.random.Generator) -> Arrays:
        shape_ = shape or SHAPE
        angle = rng.uniform(0.2, np.pi / 2 - 0.2, size=shape_)
        angle = angle + np.pi / 2 * rng.integers(0, 4, size=shape_)
        return (rng.uniform(low, high, size=shape_) * np.exp(1j * angle),)

    return args


def both(*parts: Args) -> Args:
    """The arrays of several makers side by side."""
    return lambda rng: tuple(x for part in parts for x in part(rng))


# name: (real domain, complex domain or None)
ONE: dict[str, tuple[Args, Args | None]] = {
    "negative": (either_sign(0.3, 2), disc(0.3, 2)),
    "positive": (either_sign(0.3, 2), disc(0.3, 2)),
    "square": (either_sign(0.3, 2), disc(0.3, 2)),
    "reciprocal": (either_sign(0.5, 2), disc(0.5, 2)),
    "sqrt": (between(0.3, 3), disc(0.3, 3)),
    "cbrt": (either_sign(0.3, 3), None),
    "exp": (either_sign(0.1, 2), disc(0.1, 2)),
    "exp2": (either_sign(0.1, 2), disc(0.1, 2)),
    "expm1": (either_sign(0.1, 2), disc(0.1, 2)),
    "log": (between(0.3, 3), disc(0.3, 3)),
    "log2": (between(0.3, 3), disc(0.3, 3)),
    "log10": (between(0.3, 3), disc(0.3, 3)),
    "log1p": (between(-0.6, 3), disc(0.1, 0.8)),
    "sin": (either_sign(0.1, 3), disc(0.1, 2)),
    "cos": (either_sign(0.1, 3), disc(0.1, 2)),
    "tan": (either_sign(0.1, 1.2), disc(0.1, 1.2)),
    "arcsin": (either_sign(0.1, 0.8), disc(0.3, 2)),
    "arccos": (either_sign(0.1, 0.8), disc(0.3, 2)),
    "arctan": (either_sign(0.1, 3), disc(0.3, 2)),
    "sinh": (either_sign(0.1, 2), disc(0.1, 2)),
    "cosh": (either_sign(0.1, 2), disc(0.1, 2)),
    "tanh": (either_sign(0.1, 2), disc(0.1, 1.2)),
    "arcsinh": (either_sign(0.1, 3), disc(0.3, 2)),
    "arccosh": (between(1.3, 3), disc(0.3, 2)),
    "arctanh": (either_sign(0.1, 0.7), disc(0.3, 2)),
    "deg2rad": (either_sign(10, 200), None),
    "radians": (either_sign(10, 200), None),
    "rad2deg": (either_sign(0.1, 3), None),
    "degrees": (either_sign(0.1, 3), None),
}
TWO: dict[str, tuple[Args, Args | None]] = {
    "add": (both(either_sign(0.3, 2), either_sign(0.3, 2)), both(disc(0.3, 2), disc(0.3, 2))),
    "subtract": (both(either_sign(0.3, 2), either_sign(0.3, 2)), both(disc(0.3, 2), disc(0.3, 2))),
    "multiply": (both(either_sign(0.3, 2), either_sign(0.3, 2)), both(disc(0.3, 2), disc(0.3, 2))),
    "divide": (both(either_sign(0.3, 2), either_sign(0.5, 2)), both(disc(0.3, 2), disc(0.5, 2))),
    "power": (both(between(0.4, 2), either_sign(0.3, 2)), both(disc(0.4, 1.5), disc(0.3, 1.5))),
    "logaddexp": (both(either_sign(0.1, 3), either_sign(0.1, 3)), None),
    "logaddexp2": (both(either_sign(0.1, 3), either_sign(0.1, 3)), None),
    "hypot": (both(either_sign(0.3, 2), either_sign(0.3, 2)), None),
    "arctan2": (both(either_sign(0.3, 2), either_sign(0.3, 2)), None),
}


def quotient_inside(rng: np.random.Generator) -> Arrays:
    """x1 / x2 away from whole numbers, each of either sign."""
    x2 = rng.uniform(0.7, 1.5, size=SHAPE) * rng.choice([-1.0, 1.0], size=SHAPE)
    quotient = rng.integers(-4, 5, size=SHAPE) + rng.uniform(0.2, 0.8, size=SHAPE)
    return x2 * quotient, x2


def fixed(value: Any, *shape: int) -> Callable[..., Any]:
    """x -> x**value, positive arguments of any shape."""
    return lambda x: x**value


SAMPLES: list[Sample] = []
for name, (real, complex_) in (ONE | TWO).items():
    ufunc = getattr(np, name)
    # A linear function of one argument has second differences of rounding alone, which pass too.
    SAMPLES.append(Sample(f"np.{name}", ufunc, real))
    if complex_ is not None:
        SAMPLES.append(Sample(f"np.{name} complex", ufunc, complex_, batched=False))

SAMPLES += [
    Sample("np.remainder", np.remainder, quotient_inside),
    Sample("np.fmod", np.fmod, quotient_inside),
    Sample("np.float_power", np.float_power, TWO["power"][0], dtypes=("float64",)),
    Sample(
        "np.float_power complex",
        np.float_power,
        TWO["power"][1] or TWO["power"][0],
        dtypes=(),
        batched=False,
    ),
    Sample("np.ldexp", lambda x: np.ldexp(x, np.array([-2, 0, 1, 3])), either_sign(0.3, 2)),
    Sample("np.ldexp scalar exponent", lambda x: np.ldexp(x, 3), either_sign(0.3, 2)),
]

# -- powers: Python exponents have rules of their own ------------------------------------------
for n in (0, 1, 2, 3, 4, 7, -1, -2, 0.5, 1.5, -0.5, 3.0, 2.0, 100):
    SAMPLES.append(Sample(f"x ** {n}", fixed(n), between(0.6, 1.4)))
    SAMPLES.append(Sample(f"x ** {n} complex", fixed(n), disc(0.6, 1.4), batched=False))
SAMPLES += [
    Sample("x ** 3 negative base", lambda x: x**3, either_sign(0.3, 2)),
    Sample("x ** -3 negative base", lambda x: x**-3, either_sign(0.5, 2)),
    Sample("x ** np.float64", lambda x: x ** np.float64(2.5), between(0.3, 2), dtypes=("float64",)),
    Sample("x ** 0-d array", lambda x: x ** np.array(3.0), either_sign(0.3, 2)),
    Sample(
        "x ** integer array",
        lambda x: x ** np.array([0, 1, 2, 3]),
        either_sign(0.3, 2),
        dtypes=("float64",),
    ),
    Sample(
        "x ** float array", lambda x: x ** np.array([0.0, 1.0, 2.0, -1.5], x.dtype), between(0.3, 2)
    ),
    Sample("2 ** x", lambda x: 2**x, either_sign(0.3, 2)),
    Sample("2.5 ** x complex", lambda x: 2.5**x, disc(0.3, 2), batched=False),
    Sample(
        "array ** x", lambda x: np.array([0.5, 1.0, 2.0, 3.0], x.dtype) ** x, either_sign(0.3, 2)
    ),
    Sample(
        "np.power integer base",
        lambda x: np.power(np.array([1, 2, 3, 4]), x),
        either_sign(0.3, 2),
        dtypes=("float64",),
    ),
    Sample(
        "np.float_power 3", lambda x: np.float_power(x, 3), either_sign(0.3, 2), dtypes=("float64",)
    ),
    Sample("x ** x", lambda x: x**x, between(0.3, 2)),
]

# -- operators, scalars, broadcasting, layouts -------------------------------------------------
SAMPLES += [
    Sample(
        "operators reflected",
        lambda x: 2.0 + (3.0 - x) * 0.5 / (1.0 + x * x) - 1 / x,
        either_sign(0.3, 2),
    ),
    Sample("unary operators", lambda x: -x + (+x) * abs(x), either_sign(0.3, 2)),
    Sample(
        "remainder by 0.7",
        lambda x: x % 0.7,
        lambda rng: (0.7 * (rng.integers(-4, 4, SHAPE) + rng.uniform(0.2, 0.8, SHAPE)),),
    ),
    Sample("remainder of 5.0", lambda x: 5.0 % x, between(1.1, 1.15)),
    Sample(
        "broadcast rows and columns",
        lambda x, y: x * y + x / y,
        both(either_sign(0.5, 2, 3, 1), either_sign(0.5, 2, 1, 4)),
    ),
    Sample(
        "broadcast 0-d",
        lambda x, y: x * y - y / x,
        both(either_sign(0.5, 2, 3, 4), either_sign(0.5, 2, 1)),
    ),
    Sample(
        "0-d arrays",
        lambda x, y: np.exp(x) * np.arctan2(x, y),
        lambda rng: (np.array(0.7), np.array(-1.2)),
    ),
    Sample(
        "empty", lambda x, y: np.hypot(x, y) * x, lambda rng: (np.zeros((0, 3)), np.zeros((1, 3)))
    ),
    Sample("reversed", lambda x: np.exp(x[::-1]) * x, either_sign(0.3, 2)),
    Sample("transposed", lambda x: np.sin(x.T) / (2 + x.T), either_sign(0.3, 2)),
    Sample("shared operand", lambda x: np.multiply(x, x) / np.add(x, x), either_sign(0.3, 2)),
    Sample("large and even", lambda x: np.tanh(x) * np.exp(-x * x), either_sign(0.1, 2, 40, 30)),
    Sample(
        "mixed precision",
        lambda x: x * np.linspace(0.5, 2, 4),
        either_sign(0.3, 2),
        dtypes=("float64",),
    ),
    Sample(
        "real times complex",
        lambda x, z: x * z + np.exp(z) / x,
        both(either_sign(0.5, 2), disc(0.3, 1)),
        batched=False,
    ),
    Sample("real to complex", lambda x: np.exp(1j * x) * x, either_sign(0.3, 2), batched=False),
    Sample(
        "np.arctan2 one constant",
        lambda x: np.arctan2(x, -1.5) + np.arctan2(0.5, x),
        either_sign(0.3, 2),
    ),
    Sample(
        "np.logaddexp one constant",
        lambda x: np.logaddexp(x, 0.5) - np.logaddexp(0.0, -x),
        either_sign(0.3, 2),
    ),
]
