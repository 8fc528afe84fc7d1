"""Samples of `npgrad.rules.calculus` and `npgrad.rules.polynomials`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.core import Sample
from tests.samples.shape import normal, waves

KNOTS = np.array([-1.0, 0.0, 0.5, 2.0])
VALUES = np.array([1.0, -2.0, 0.5, 3.0])
BETWEEN = np.array([-0.7, 0.2, 1.3, 0.3, 1.9])
AROUND = np.array([-3.0, -0.5, 0.25, 2.5, 7.0])


def knots(rng: np.random.Generator) -> Any:
    """Points between knots, knots and values."""
    return BETWEEN, KNOTS, rng.normal(size=4)


def outside(rng: np.random.Generator) -> Any:
    """Points of which some lie outside of the knots, knots and values."""
    return AROUND, KNOTS, rng.normal(size=4)


def complex_values(rng: np.random.Generator) -> Any:
    """Points, and complex values."""
    return BETWEEN, rng.normal(size=4) + 1j * rng.normal(size=4)


def far_apart(rng: np.random.Generator) -> Any:
    """Coefficients of a polynomial with separate real roots."""
    return (np.poly([-2.0, -0.5, 1.0, 2.5]) * 1.5 + 0.0,)


def sizes(a: int, v: int) -> Any:
    """Two vectors."""
    return normal((a,), (v,))


INTERPOLATIONS = [
    Sample("np.interp", np.interp, knots),
    Sample("np.interp outside", np.interp, outside),
    Sample(
        "np.interp left right",
        lambda x, xp, fp: np.interp(x, xp, fp, left=-9.0, right=9.0),
        outside,
    ),
    Sample(
        "np.interp recorded left right",
        lambda x, ends: np.interp(x, KNOTS, VALUES, ends[0], ends[1]),
        lambda rng: (AROUND, rng.normal(size=2)),
    ),
    Sample(
        "np.interp period",
        lambda x, xp, fp: np.interp(x, xp, fp, period=4.0),
        lambda rng: (AROUND, np.array([0.1, 5.3, 1.7, -1.1]), rng.normal(size=4)),
    ),
    Sample(
        "np.interp recorded period",
        lambda x, p: np.interp(x, KNOTS, VALUES, period=p),
        lambda rng: (AROUND, np.array(-3.3)),
    ),
    Sample("np.interp points only", lambda x: np.interp(x, KNOTS, VALUES), lambda rng: (BETWEEN,)),
    Sample("np.interp values only", lambda fp: np.interp([[0.1, 5.0]], KNOTS, fp), normal((4,))),
    Sample("np.interp knots only", lambda xp: np.interp(0.1, xp, VALUES), lambda rng: (KNOTS,)),
    Sample("np.interp one knot", lambda fp: np.interp([0.0, 1.0, 2.0], [1.0], fp), normal((1,))),
    Sample(
        "np.interp one point",
        lambda x, fp: np.interp(x, KNOTS, fp),
        lambda rng: (np.array(1.2), rng.normal(size=4)),
    ),
    Sample("np.interp complex", lambda x, fp: np.interp(x, KNOTS, fp), complex_values),
]

CONVOLUTIONS = [
    *(
        Sample(
            f"np.{function.__name__} {mode} {a} {v}",
            lambda x, y, function=function, mode=mode: function(x, y, mode),
            sizes(a, v),
        )
        for function in (np.convolve, np.correlate)
        for mode in ("full", "same", "valid")
        for a, v in ((5, 3), (5, 2), (4, 2), (3, 3), (2, 5), (3, 6), (4, 6), (1, 3), (4, 1))
    ),
    Sample("np.convolve default", np.convolve, sizes(3, 2)),
    Sample("np.convolve mode=", lambda a, v: np.convolve(a, v, mode="same"), sizes(4, 3)),
    Sample("np.convolve plain", lambda a: np.convolve(a, [1.0, -2.0]), normal((3,))),
    Sample("np.convolve number", np.convolve, normal((3,), ())),
    Sample("np.convolve complex", np.convolve, waves((3,), (2,))),
    Sample("np.correlate default", np.correlate, sizes(4, 2)),
    Sample("np.correlate plain", lambda v: np.correlate([1.0, 2.0, -1.0], v, "same"), normal((2,))),
    *(
        Sample(
            f"np.correlate complex {mode} {a} {v}",
            lambda a, v, mode=mode: np.correlate(a, v, mode=mode),
            waves((a,), (v,)),
        )
        for mode in ("full", "same", "valid")
        for a, v in ((4, 3), (2, 4))
    ),
]

POLYNOMIALS = [
    Sample("np.polyval", np.polyval, normal((4,), (3,))),
    Sample("np.polyval number", np.polyval, normal((3,), ())),
    Sample("np.polyval matrix", np.polyval, normal((3,), (2, 2))),
    Sample("np.polyval constant", np.polyval, normal((1,), (3,))),
    Sample("np.polyval plain points", lambda p: np.polyval(p, [0.0, 1.0, 2.0]), normal((3,))),
    Sample("np.polyval plain polynomial", lambda x: np.polyval([1.0, 0.0, -2.0], x), normal((3,))),
    Sample("np.polyval rows", np.polyval, normal((3, 2), (2,))),
    Sample("np.polyval complex", np.polyval, waves((3,), (2,))),
    Sample("np.polyval many", np.polyval, normal((3,), (4100,)), batched=False),
    Sample("np.polyder", np.polyder, normal((4,))),
    Sample("np.polyder m", lambda p: np.polyder(p, m=2), normal((4,))),
    Sample("np.polyder none", lambda p: np.polyder(p, 0) * 1.0, normal((3,))),
    Sample("np.polyint", np.polyint, normal((3,))),
    Sample("np.polyint m", lambda p, k: np.polyint(p, m=2, k=k), normal((3,), (2,))),
    Sample("np.polyint one constant", lambda p, k: np.polyint(p, 3, k), normal((3,), ())),
    Sample("np.polyint plain constants", lambda p: np.polyint(p, 2, [1.0, 2.0]), normal((2,))),
    Sample("np.polyadd", np.polyadd, normal((2,), (4,))),
    Sample("np.polyadd equal", lambda a: np.polyadd(a, [1.0, 2.0]), normal((2,))),
    Sample("np.polysub", np.polysub, normal((4,), (2,))),
    Sample("np.polysub equal", np.polysub, normal((3,), (3,))),
    Sample("np.polymul", np.polymul, normal((3,), (2,))),
    Sample("np.polymul leading zero", lambda a: np.polymul([0.0, 1.0, 2.0], a), normal((2,))),
    # In float32 the rounding of a random remainder decides how long it is.
    Sample("np.polydiv", np.polydiv, normal((5,), (3,)), dtypes=("float64",)),
    Sample("np.polydiv short", lambda u, v: np.polydiv(u, v)[1], normal((2,), (3,))),
    Sample(
        "np.polydiv plain", lambda u: np.polydiv(u, [2.0, 1.0]), normal((4,)), dtypes=("float64",)
    ),
    Sample(
        "np.polyfit", lambda x, y: np.polyfit(x, y, 2), lambda rng: (BETWEEN, rng.normal(size=5))
    ),
    Sample(
        "np.polyfit weights",
        lambda x, y, w: np.polyfit(x, y, deg=1, w=w),
        lambda rng: (BETWEEN, rng.normal(size=5), rng.uniform(0.5, 2.0, 5)),
    ),
    Sample(
        "np.polyfit columns",
        lambda y, w: np.polyfit(BETWEEN, y, 1, rcond=1e-12, w=w),
        lambda rng: (rng.normal(size=(5, 2)), rng.uniform(0.5, 2.0, 5)),
    ),
    Sample(
        "np.polyfit full",
        lambda y: np.polyfit(BETWEEN, y, 1, full=True)[:2],
        normal((5,)),
    ),
    Sample(
        "np.polyfit cov",
        lambda x, y: np.polyfit(x, y, 1, cov=True),
        lambda rng: (BETWEEN, rng.normal(size=5)),
    ),
    Sample(
        "np.polyfit cov unscaled",
        lambda x, y: np.polyfit(x, y, 1, cov="unscaled"),
        lambda rng: (BETWEEN, rng.normal(size=(5, 2))),
    ),
    Sample("np.roots", np.roots, far_apart, dtypes=("float64",)),
    Sample(
        "np.roots complex",
        np.roots,
        lambda rng: (np.poly([1 + 1j, -1 + 0.5j, 2.0 - 1j]),),
        dtypes=("float64",),
    ),
    Sample(
        "np.roots of a real polynomial, complex",
        np.roots,
        lambda rng: (np.array([1.0, 0.5, 2.0, -1.0]),),
        dtypes=("float64",),
    ),
    Sample("np.poly", np.poly, normal((4,))),
    Sample("np.poly complex", np.poly, waves((3,))),
    Sample("np.poly matrix", np.poly, normal((3, 3)), dtypes=("float64",)),
    Sample(
        "numpy.polynomial polyval",
        lambda x, c: np.polynomial.polynomial.polyval(x, [1.0, 0.5, 2.0]) * c,
        normal((3,), (3,)),
    ),
]
if hasattr(np.polynomial.polynomial.polyval2d, "_implementation"):  # dispatches
    POLYNOMIALS += [
        Sample(
            "polyval2d",
            np.polynomial.polynomial.polyval2d,
            normal((3,), (3,), (2, 3)),
        ),
        Sample(
            "polygrid2d",
            np.polynomial.polynomial.polygrid2d,
            normal((2,), (3,), (2, 3)),
        ),
    ]

SAMPLES = [*INTERPOLATIONS, *CONVOLUTIONS, *POLYNOMIALS]
