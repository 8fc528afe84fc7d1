"""Samples of the reductions: sums, means, products, extremes, spreads and their nan versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.core import Arrays, Sample

Args = Callable[[np.random.Generator], Arrays]
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
ROW = np.array([True, False, True, True])


def normal(*shape: int) -> Args:
    """One array of distinct normal numbers."""
    return lambda rng: (rng.normal(size=shape),)


def apart(*shape: int) -> Args:
    """One array whose entries are at least 0.1 apart: no extreme changes hands."""

    def args(rng: np.random.Generator) -> Arrays:
        n = int(np.prod(shape))
        return (((rng.permutation(n) - n / 2.3) * 0.31 + rng.uniform(0, 0.2, n)).reshape(shape),)

    return args


def factors(*shape: int) -> Args:
    """One array of factors of either sign, none near 0."""

    def args(rng: np.random.Generator) -> Arrays:
        return (rng.uniform(0.5, 1.6, size=shape) * rng.choice([-1.0, 1.0], size=shape),)

    return args


def complex_(*shape: int) -> Args:
    """One complex array."""
    return lambda rng: (rng.normal(size=shape) + 1j * rng.normal(size=shape),)


def holes(x: Any) -> Any:
    """`x` with nan where MASK is False: the recorded entries are those that are left."""
    return np.where(MASK, x, np.nan)


FORMS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("axis", {"axis": 0}),
    ("negative axis", {"axis": -1}),
    ("axis tuple keepdims", {"axis": (0, -1), "keepdims": True}),
    ("keepdims", {"keepdims": True}),
    ("no axes", {"axis": ()}),
]


def forms(fun: Callable[..., Any], args: Callable[..., Args], **extra: Any) -> list[Sample]:
    """`fun` with every form of axis and keepdims, on a strided array, on one element and on 0-d."""
    name = f"np.{fun.__name__}"
    found = [
        Sample(f"{name} {form}".rstrip(), lambda a, k=k: fun(a, **k), args(2, 3, 2), **extra)
        for form, k in FORMS
        if not (form == "no axes" and fun.__name__.endswith(("var", "std")))
    ]
    return [
        *found,
        Sample(f"{name} transposed", lambda a: fun(a.T, axis=0), args(3, 4), **extra),
        Sample(f"{name} reversed", lambda a: fun(a[::-1, ::2], axis=1), args(3, 4), **extra),
        Sample(f"{name} method-like", lambda a: fun(a, -1), args(3, 4), **extra),
    ]


def masked(fun: Callable[..., Any], args: Callable[..., Args], **keywords: Any) -> list[Sample]:
    """`fun` with ``where=``: of the array's shape, broadcast, along an axis, with keepdims."""
    name = f"np.{fun.__name__} where"
    return [
        Sample(name, lambda a: fun(a, where=MASK, **keywords), args(3, 4)),
        Sample(f"{name} row", lambda a: fun(a, where=ROW, axis=1, **keywords), args(3, 4)),
        Sample(
            f"{name} keepdims",
            lambda a: fun(a, where=MASK, axis=0, keepdims=True, **keywords),
            args(3, 4),
        ),
    ]


def with_nan(fun: Callable[..., Any], args: Callable[..., Args], **extra: Any) -> list[Sample]:
    """A nan version on holes: whole, along an axis, keepdims, and where there is no nan."""
    name = f"np.{fun.__name__}"
    return [
        Sample(name, lambda a: fun(holes(a)), args(3, 4), **extra),
        Sample(f"{name} axis", lambda a: fun(holes(a), axis=1), args(3, 4), **extra),
        Sample(
            f"{name} keepdims", lambda a: fun(holes(a), axis=-2, keepdims=True), args(3, 4), **extra
        ),
        Sample(f"{name} without nan", lambda a: fun(a, axis=0), args(3, 4), **extra),
    ]


def pair(rng: np.random.Generator) -> Arrays:
    """Data and positive weights of its shape."""
    return rng.normal(size=(3, 4)), rng.uniform(0.3, 1.5, size=(3, 4))


def with_row(rng: np.random.Generator) -> Arrays:
    """Data and positive weights along its last axis."""
    return rng.normal(size=(3, 4)), rng.uniform(0.3, 1.5, size=(4,))


def with_means(rng: np.random.Generator) -> Arrays:
    """Data, and means that are not its own."""
    return rng.normal(size=(3, 4)), rng.normal(size=(3, 1))


SAMPLES: list[Sample] = [
    # sums and means
    *forms(np.sum, normal),
    *masked(np.sum, normal),
    Sample("np.sum initial", lambda a: np.sum(a * a, axis=0, initial=2.5), normal(3, 4)),
    Sample("np.sum complex", lambda a: np.sum(a * a, axis=1), complex_(2, 3)),
    Sample("np.sum dtype", lambda a: np.sum(a, axis=0, dtype=np.float64), normal(2, 3)),
    Sample("np.sum 0-d", lambda a: np.sum(a) * np.sum(a, axis=0), normal()),
    Sample("np.sum out", lambda a: np.sum(a, axis=0, out=np.zeros_like(a[0])), normal(2, 3)),
    *forms(np.mean, normal),
    *masked(np.mean, normal),
    Sample("np.mean complex", lambda a: np.mean(a * a, axis=0), complex_(2, 3)),
    Sample("np.mean dtype", lambda a: np.mean(a, axis=0, dtype=np.float64), normal(2, 3)),
    Sample("np.mean 0-d", lambda a: np.mean(a) ** 2, normal()),
    *with_nan(np.nansum, normal),
    Sample("np.nansum initial", lambda a: np.nansum(holes(a), axis=0, initial=1.5), normal(3, 4)),
    Sample("np.nansum where", lambda a: np.nansum(holes(a), axis=0, where=ROW), normal(3, 4)),
    *with_nan(np.nanmean, normal),
    Sample("np.nanmean where", lambda a: np.nanmean(holes(a), axis=1, where=ROW), normal(3, 4)),
    # products
    *forms(np.prod, factors),
    *masked(np.prod, factors),
    Sample("np.prod initial", lambda a: np.prod(a, axis=0, initial=2.5), factors(3, 4)),
    Sample("np.prod complex", lambda a: np.prod(a, axis=1), complex_(2, 3)),
    Sample("np.prod 0-d", lambda a: np.prod(a) ** 2, factors()),
    Sample("np.prod one zero", lambda a: np.prod(a * [1.0, 0.0, 1.0]), factors(3)),
    Sample(
        "np.prod zeros in an odd number along an axis",
        lambda a: np.prod(a * np.array([[0.0], [1.0], [0.0], [1.0], [1.0]]), axis=0),
        factors(5, 2),
    ),
    Sample(
        "np.prod zero and initial and where",
        lambda a: np.prod(a * (np.arange(12.0).reshape(3, 4) != 2), axis=1, initial=1.5, where=ROW),
        factors(3, 4),
    ),
    Sample(
        "np.prod zeros in some lines of two axes",
        lambda a: np.prod(a * np.array([[1.0], [0.0], [2.0]]), axis=(0, 2)),
        factors(2, 3, 2),
    ),
    Sample(
        "np.prod zero in some lines, initial",
        lambda a: np.prod(a * (np.arange(12.0).reshape(3, 4) != 2), axis=0, initial=1.5),
        factors(3, 4),
    ),
    Sample(
        "np.prod of thousands and a zero",  # long enough for blocks
        lambda a, b: np.prod(np.concatenate((np.tile(1 + a / 1000, 1100), b))),
        lambda rng: (rng.normal(size=4), np.zeros(1)),
        dtypes=("float64",),
    ),
    Sample(
        "np.prod of thousands that underflows",
        lambda a: np.prod(np.tile(a / 10, 1100)) + np.sum(a),
        factors(4),
        dtypes=("float64",),
    ),
    *with_nan(np.nanprod, factors),
    Sample("np.nanprod where", lambda a: np.nanprod(holes(a), axis=0, where=ROW), factors(3, 4)),
    # extremes
    *[
        sample
        for fun in (np.max, np.min, np.ptp)
        for sample in forms(fun, apart)
        if fun is not np.ptp or "method" not in sample.name
    ],
    *[
        sample
        for fun, initial in ((np.max, -9.0), (np.min, 9.0))
        for sample in masked(fun, apart, initial=initial)
    ],
    Sample("np.amax axis", lambda a: np.amax(a, axis=1), apart(3, 4)),
    Sample("np.amin axis", lambda a: np.amin(a, axis=1), apart(3, 4)),
    Sample("np.max initial above some", lambda a: np.max(a, axis=0, initial=0.5), apart(3, 4)),
    Sample("np.min initial below some", lambda a: np.min(a, axis=0, initial=-0.5), apart(3, 4)),
    Sample("np.max complex", lambda a: np.max(a, axis=1), complex_(2, 3)),
    Sample("np.max of many", lambda a: np.max(a) + np.min(a), apart(5, 8)),
    Sample("np.max 0-d", lambda a: np.max(a) * np.min(a), normal()),
    *with_nan(np.nanmax, apart),
    *with_nan(np.nanmin, apart),
    Sample(
        "np.nanmax where initial",
        lambda a: np.nanmax(holes(a), axis=0, where=ROW, initial=-9.0),
        apart(3, 4),
    ),
    *[
        Sample(
            f"np.{fun.__name__} out",
            lambda a, f=fun: f(a, axis=0, out=np.zeros_like(a[0])) ** 2,
            apart(3, 4),
        )
        for fun in (np.mean, np.max, np.ptp, np.var, np.nanmax, np.median, np.nanmedian)
    ],
    Sample("np.add.reduce dtype", lambda a: np.add.reduce(a, dtype=np.float64), normal(3)),
    Sample("np.multiply.reduce dtype", lambda a: np.multiply.reduce(a, 0, np.float64), normal(3)),
    Sample("np.add.accumulate dtype", lambda a: np.add.accumulate(a, dtype=np.float64), normal(3)),
    Sample("np.maximum.reduce dtype", lambda a: np.maximum.reduce(a, dtype="f8"), apart(3)),
    # spreads
    *[
        sample
        for fun in (np.var, np.std)
        for sample in (
            *forms(fun, normal),
            *masked(fun, normal),
            Sample(f"np.{fun.__name__} ddof", lambda a, f=fun: f(a, axis=1, ddof=1), normal(3, 4)),
            Sample(
                f"np.{fun.__name__} correction",
                lambda a, f=fun: f(a, axis=0, correction=1.5),
                normal(3, 4),
            ),
            Sample(
                f"np.{fun.__name__} where ddof",
                lambda a, f=fun: f(a, axis=1, where=ROW, ddof=1),
                normal(3, 4),
            ),
            Sample(f"np.{fun.__name__} complex", lambda a, f=fun: f(a, axis=1), complex_(2, 3)),
            Sample(
                f"np.{fun.__name__} mean",
                lambda a, m, f=fun: f(a, axis=1, mean=m, keepdims=True),
                with_means,
            ),
            Sample(
                f"np.{fun.__name__} its own mean",
                lambda a, f=fun: f(a, axis=1, mean=np.mean(a, axis=1, keepdims=True)),
                normal(3, 4),
            ),
            Sample(f"np.{fun.__name__} dtype", lambda a, f=fun: f(a, dtype=np.float64), normal(3)),
        )
    ],
    *with_nan(np.nanvar, normal),
    *with_nan(np.nanstd, normal),
    *[
        Sample(
            f"np.{fun.__name__} mean",
            lambda a, m, f=fun: f(holes(a), axis=1, mean=m, keepdims=True),
            with_means,
            batched=False,  # one argument alone: NumPy does not dispatch on ``mean=`` here
        )
        for fun in (np.nanvar, np.nanstd)
    ],
    Sample("np.nanvar ddof", lambda a: np.nanvar(holes(a), axis=1, ddof=1), normal(3, 4)),
    Sample("np.nanstd where", lambda a: np.nanstd(holes(a), axis=1, where=ROW), normal(3, 4)),
    # averages
    Sample("np.average", np.average, normal(3, 4)),
    Sample("np.average keepdims", lambda a: np.average(a, axis=1, keepdims=True), normal(3, 4)),
    Sample("np.average weights", lambda a, w: np.average(a, weights=w), pair),
    Sample("np.average weights axis", lambda a, w: np.average(a, axis=0, weights=w), pair),
    Sample(
        "np.average weights returned",
        lambda a, w: np.average(a, axis=1, weights=w, returned=True, keepdims=True),
        pair,
    ),
    Sample("np.average row of weights", lambda a, w: np.average(a, -1, w), with_row),
    Sample(
        "np.average row of weights returned",
        lambda a, w: np.average(a, axis=1, weights=w, returned=True),
        with_row,
    ),
    Sample(
        "np.average weights of a plain array",
        lambda w: np.average([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]], axis=1, weights=w * w),
        normal(2, 3),
        dtypes=("float64",),
    ),
    Sample(
        "np.average weights along two axes",
        lambda a, w: np.average(a, axis=(2, 0), weights=w),
        lambda rng: (rng.normal(size=(2, 3, 4)), rng.uniform(0.3, 1.5, size=(4, 2))),
    ),
]
