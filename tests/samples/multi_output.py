"""Samples of the ufuncs of several outputs, away from their jumps."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Arrays, Sample
from tests.samples.elementwise import quotient_inside


def off_grid(rng: np.random.Generator) -> Arrays:
    """Numbers between whole ones, of either sign."""
    return (rng.integers(-3, 4, size=(3, 4)) + rng.uniform(0.2, 0.8, size=(3, 4)),)


def within_octave(rng: np.random.Generator) -> Arrays:
    """Numbers of either sign away from the powers of two."""
    octave = 2.0 ** rng.integers(-3, 4, size=(3, 4))
    return (octave * rng.uniform(1.1, 1.9, size=(3, 4)) * rng.choice([-1.0, 1.0], size=(3, 4)),)


def fractional(x: np.ndarray) -> np.ndarray:
    fraction, whole = np.modf(x)
    return fraction * fraction + whole * x


def mantissa(x: np.ndarray) -> np.ndarray:
    m, e = np.frexp(x)
    return m * m * 2.0**e


def parts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    q, r = divmod(x, y)
    return q * x + r * r * y


SAMPLES: list[Sample] = [
    Sample("np.modf", np.modf, off_grid),
    Sample("np.modf used", fractional, off_grid),
    Sample("np.modf whole part alone", lambda x: np.modf(x)[1] * x, off_grid),
    Sample("np.frexp", lambda x: np.frexp(x)[0] ** 2, within_octave),
    Sample("np.frexp used", mantissa, within_octave, dtypes=("float64",)),
    Sample("np.divmod", np.divmod, quotient_inside),
    Sample("divmod operator", parts, quotient_inside),
    Sample(
        "divmod reflected",
        lambda x: divmod(7.0, x)[1] * x,
        lambda rng: (rng.uniform(1.1, 1.12, size=3),),
    ),
    Sample("np.divmod quotient alone", lambda x, y: np.divmod(x, y)[0] * x, quotient_inside),
    Sample(
        "np.divmod broadcast",
        lambda x, y: np.divmod(x, y)[1],
        lambda rng: (rng.uniform(2.1, 2.4, size=(3, 1)), np.array([1.5, -2.6, 0.9])),
    ),
]
