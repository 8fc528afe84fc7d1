"""Samples of the scans and differences: cumsum .. cumulative_prod, diff, gradient, trapezoid."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.core import Arrays, Sample
from tests.samples.reduction import MASK, apart, complex_, factors, holes, normal

SCANS = [(np.cumsum, normal), (np.cumprod, factors)]
NAN_SCANS = [(np.nancumsum, normal), (np.nancumprod, factors)]


def spaced(rng: np.random.Generator) -> Arrays:
    """Values on a grid, and the increasing coordinates of its last axis."""
    return rng.normal(size=(3, 5)), np.cumsum(rng.uniform(0.5, 1.5, size=5))


def spaced_twice(rng: np.random.Generator) -> Arrays:
    """Values on a grid, and increasing coordinates of both axes."""
    return (
        rng.normal(size=(4, 5)),
        np.cumsum(rng.uniform(0.5, 1.5, size=4)),
        np.cumsum(rng.uniform(0.5, 1.5, size=5)),
    )


def with_ends(rng: np.random.Generator) -> Arrays:
    """A matrix, and what is put in front of it and behind it."""
    return rng.normal(size=(2, 4)), rng.normal(size=(2, 1)), rng.normal(size=(2, 2))


def with_numbers(rng: np.random.Generator) -> Arrays:
    """A matrix and two numbers."""
    return rng.normal(size=(2, 4)), rng.normal(size=()), rng.normal(size=())


def with_step(*shape: int) -> Any:
    """Values and one positive step."""
    return lambda rng: (rng.normal(size=shape), np.asarray(rng.uniform(0.5, 1.5)))


SAMPLES: list[Sample] = [
    *[
        sample
        for fun, args in SCANS
        for name in [f"np.{fun.__name__}"]
        for sample in (
            Sample(name, fun, args(2, 3)),
            Sample(f"{name} axis", lambda a, f=fun: f(a, axis=0), args(3, 2)),
            Sample(f"{name} negative axis", lambda a, f=fun: f(a, axis=-2), args(2, 4, 2)),
            Sample(f"{name} positional axis", lambda a, f=fun: f(a, 1), args(2, 7)),
            Sample(f"{name} 0-d", lambda a, f=fun: f(a) * f(a), args()),
            Sample(f"{name} one entry", lambda a, f=fun: f(a, axis=0), args(1, 3)),
            Sample(f"{name} transposed", lambda a, f=fun: f(a.T, axis=0), args(2, 3)),
            Sample(f"{name} reversed", lambda a, f=fun: f(a[::-1], axis=0), args(4)),
            Sample(f"{name} complex", lambda a, f=fun: f(a, axis=1), complex_(2, 3)),
            Sample(f"{name} dtype", lambda a, f=fun: f(a, dtype=np.float64), args(4)),
            Sample(f"{name} out", lambda a, f=fun: f(a, 0, out=np.zeros_like(a)) ** 2, args(2, 3)),
        )
    ],
    *[
        sample
        for fun, args in NAN_SCANS
        for name in [f"np.{fun.__name__}"]
        for sample in (
            Sample(name, lambda a, f=fun: f(holes(a)), args(3, 4)),
            Sample(f"{name} axis", lambda a, f=fun: f(holes(a), axis=1), args(3, 4)),
            Sample(f"{name} without nan", lambda a, f=fun: f(a, axis=0), args(3, 4)),
        )
    ],
    Sample("np.cumprod one zero", lambda a: np.cumprod(a * [1.0, 1.0, 0.0, 1.0, 1.0]), factors(5)),
    Sample(
        "np.cumprod zeros along an axis",
        lambda a: np.cumprod(a * MASK, axis=1),
        factors(3, 4),
    ),
    *(
        [
            Sample("np.cumulative_sum", np.cumulative_sum, normal(4)),
            Sample("np.cumulative_sum axis", lambda x: np.cumulative_sum(x, axis=0), normal(3, 2)),
            Sample(
                "np.cumulative_sum initial",
                lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
                normal(2, 3),
            ),
            Sample("np.cumulative_prod", np.cumulative_prod, factors(4)),
            Sample(
                "np.cumulative_prod initial",
                lambda x: np.cumulative_prod(x, axis=-2, include_initial=True),
                factors(3, 2),
            ),
            Sample(
                "np.cumulative_prod initial and zero",
                lambda x: np.cumulative_prod(x * [1.0, 0.0, 1.0], include_initial=True),
                factors(3),
            ),
        ]
        if hasattr(np, "cumulative_sum")
        else []
    ),
    # running extremes, folds without a rule of their own
    *[
        Sample(
            f"np.{ufunc.__name__}.accumulate {what}",
            lambda a, u=ufunc, k=axis: u.accumulate(a, axis=k),
            apart(3, 5),
        )
        for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)
        for what, axis in (("axis 0", 0), ("last axis", -1))
    ],
    Sample(
        "np.fmax.accumulate holes",
        lambda a: np.fmax.accumulate(holes(a), axis=1)[:, 1:],
        apart(3, 4),
    ),
    # differences
    Sample("np.diff", np.diff, normal(5)),
    Sample("np.diff n", lambda a: np.diff(a, n=3, axis=0), normal(6, 2)),
    Sample("np.diff n 0", lambda a: np.diff(a * a, n=0), normal(3)),
    Sample("np.diff axis", lambda a: np.diff(a, axis=-2), normal(2, 3, 2)),
    Sample("np.diff positional", lambda a: np.diff(a, 2, 0), normal(4, 2)),
    Sample("np.diff prepend append", lambda a, p, q: np.diff(a, prepend=p, append=q), with_ends),
    Sample(
        "np.diff prepend append n",
        lambda a, p, q: np.diff(a, n=2, axis=1, prepend=p, append=q),
        with_ends,
    ),
    Sample(
        "np.diff numbers", lambda a, p, q: np.diff(a, axis=0, prepend=p, append=q), with_numbers
    ),
    Sample("np.diff plain ends", lambda a: np.diff(a, prepend=0.0, append=[[1.0]]), normal(1, 4)),
    Sample(
        "np.diff of plain",
        lambda p: np.diff([[1.0, 2.0], [4.0, 8.0]], prepend=p),
        normal(2, 2),
        dtypes=("float64",),
    ),
    Sample("np.diff complex", lambda a: np.diff(a * a), complex_(4)),
    Sample("np.diff transposed", lambda a: np.diff(a.T, axis=0), normal(2, 4)),
    Sample("np.ediff1d", np.ediff1d, normal(2, 3)),
    Sample(
        "np.ediff1d ends",
        lambda a, p, q: np.ediff1d(a, to_end=q, to_begin=p),
        with_ends,
    ),
    Sample("np.ediff1d plain ends", lambda a: np.ediff1d(a, to_begin=-1, to_end=[2, 3]), normal(4)),
    Sample("np.gradient", np.gradient, normal(5)),
    Sample("np.gradient two axes", np.gradient, normal(3, 4)),
    Sample("np.gradient short", np.gradient, normal(2)),
    Sample("np.gradient axis", lambda f: np.gradient(f, axis=1), normal(3, 4)),
    Sample("np.gradient axes", lambda f: np.gradient(f, 0.5, 2.0, axis=(1, 0)), normal(3, 4)),
    Sample("np.gradient edge_order 2", lambda f: np.gradient(f, 0.5, edge_order=2), normal(5)),
    Sample("np.gradient step", np.gradient, with_step(4)),
    Sample(
        "np.gradient step edge_order 2",
        lambda f, h: np.gradient(f, h, edge_order=2),
        with_step(3, 4),
    ),
    Sample("np.gradient coordinates", lambda f, x: np.gradient(f, x, axis=1), spaced),
    Sample("np.gradient coordinates of both axes", np.gradient, spaced_twice),
    Sample(
        "np.gradient coordinates edge_order 2",
        lambda f, x: np.gradient(f, x, axis=-1, edge_order=2),
        spaced,
    ),
    Sample(
        "np.gradient plain coordinates",
        lambda f: np.gradient(f, [0.0, 1.0, 3.0, 4.5], axis=0),
        normal(4, 2),
        dtypes=("float64",),
    ),
    Sample(
        "np.gradient equal coordinates",
        lambda f: np.gradient(f, np.arange(4.0), 2.0),
        normal(4, 3),
        dtypes=("float64",),
    ),
    Sample("np.gradient complex", np.gradient, complex_(4)),
    Sample("np.trapezoid", np.trapezoid, normal(5)),
    Sample("np.trapezoid dx axis", lambda y: np.trapezoid(y, dx=0.3, axis=0), normal(4, 2)),
    Sample("np.trapezoid x", np.trapezoid, spaced),
    Sample(
        "np.trapezoid x of y's shape",
        lambda y, x: np.trapezoid(y, x, axis=0),
        lambda rng: (rng.normal(size=(4, 2)), rng.normal(size=(4, 2))),
    ),
    Sample("np.trapezoid traced dx", lambda y, h: np.trapezoid(y, dx=h), with_step(2, 4)),
    Sample("np.trapezoid complex", lambda y: np.trapezoid(y * y), complex_(4)),
]
