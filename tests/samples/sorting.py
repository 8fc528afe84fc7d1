"""Samples of sorting, selecting and set operations, medians and quantiles by every method."""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.rules.sorting import fetch, put
from tests.samples.core import Arrays, Sample
from tests.samples.reduction import apart, complex_, holes, normal

METHODS = [
    *["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf"],
    *["closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased"],
    "normal_unbiased",
]
CONTINUOUS = ["linear", *METHODS[8:]]


def with_q(*shape: int) -> Any:
    """Data, and probabilities between two of its order statistics."""

    def args(rng: np.random.Generator) -> Arrays:
        # one of (k + 0.3) / 12: no whole place among 5 or 6 elements for any method
        q = (rng.permutation(9)[: int(np.prod(shape))] + 1.3) / 12
        return (*apart(5, 3)(rng), q.reshape(shape))

    return args


def doubled(rng: np.random.Generator) -> Arrays:
    """Few numbers, apart; the calls repeat them."""
    return apart(4)(rng)


def split(p: Any, k: int) -> Any:
    """What `numpy.partition` promises at place k: the order within both sides is an accident."""
    below, above = np.sum(p[..., :k] ** 2, axis=-1), np.sum(p[..., k + 1 :] ** 3, axis=-1)
    return np.stack([below, p[..., k], above])


SAMPLES: list[Sample] = [
    Sample("np.sort", np.sort, apart(3, 4)),
    Sample("np.sort axis", lambda a: np.sort(a, axis=0), apart(4, 3)),
    Sample("np.sort middle axis", lambda a: np.sort(a, axis=1), apart(2, 4, 2)),
    Sample("np.sort flattened", lambda a: np.sort(a, axis=None), apart(2, 3)),
    Sample("np.sort kind", lambda a: np.sort(a, -1, "mergesort"), apart(5)),
    Sample("np.sort stable", lambda a: np.sort(a, stable=True), apart(5)),
    Sample("np.sort complex", np.sort, complex_(2, 4)),
    Sample("np.sort transposed", lambda a: np.sort(a.T), apart(3, 2)),
    Sample("np.sort reversed", lambda a: np.sort(a[::-1, ::2]), apart(2, 5)),
    Sample("np.sort cubed", lambda a: np.sort(a) ** 3, apart(4)),
    Sample(
        "np.sort_complex", lambda a: np.real(np.sort_complex(a)), apart(2, 4), dtypes=("float64",)
    ),
    Sample("np.sort_complex complex", np.sort_complex, complex_(4)),
    Sample("np.partition", lambda a: split(np.partition(a, 2), 2), apart(2, 6)),
    Sample("np.partition axis", lambda a: split(np.partition(a, (1, 3), axis=0).T, 3), apart(6, 2)),
    Sample(
        "np.partition flattened", lambda a: split(np.partition(a, -2, axis=None), 6), apart(2, 4)
    ),
    Sample(
        "np.partition kind", lambda a: split(np.partition(a, 1, -1, "introselect"), 1), apart(5)
    ),
    Sample("np.partition of many", lambda a: split(np.partition(a, 20), 20), apart(2, 40)),
    # medians
    *[
        sample
        for fun in (np.median, np.nanmedian)
        for name in [f"np.{fun.__name__}"]
        for sample in (
            Sample(f"{name} odd", fun, apart(5)),
            Sample(f"{name} even", fun, apart(2, 3)),
            Sample(f"{name} axis even", lambda a, f=fun: f(a, axis=1), apart(3, 4)),
            Sample(f"{name} axis odd", lambda a, f=fun: f(a, axis=0), apart(3, 4)),
            Sample(
                f"{name} axis tuple keepdims",
                lambda a, f=fun: f(a, axis=(0, -1), keepdims=True),
                apart(2, 3, 2),
            ),
            Sample(f"{name} keepdims", lambda a, f=fun: f(a, keepdims=True), apart(2, 3)),
            Sample(
                f"{name} overwrite_input", lambda a, f=fun: f(a * 1.0, -1, None, True), apart(2, 4)
            ),
            Sample(f"{name} 0-d", lambda a, f=fun: f(a) ** 2, apart()),
            Sample(f"{name} transposed", lambda a, f=fun: f(a.T, axis=0), apart(2, 4)),
        )
    ],
    Sample("np.nanmedian holes", lambda a: np.nanmedian(holes(a)), apart(3, 4)),
    Sample("np.nanmedian holes axis", lambda a: np.nanmedian(holes(a), axis=1), apart(3, 4)),
    Sample("np.nanmedian holes other axis", lambda a: np.nanmedian(holes(a), axis=0), apart(3, 4)),
    # quantiles: every method, both names, with and without nan
    *[
        sample
        for method in METHODS
        for sample in (
            Sample(
                f"np.quantile {method}",
                lambda a, m=method: np.quantile(a, [0.13, 0.42, 0.77], axis=0, method=m),
                apart(5, 3),
            ),
            Sample(
                f"np.percentile {method}",
                lambda a, m=method: np.percentile(a, 37.0, method=m),
                apart(2, 3),
            ),
            Sample(
                f"np.nanquantile {method}",
                lambda a, m=method: np.nanquantile(holes(a), [0.33, 0.58], axis=1, method=m),
                apart(3, 4),
            ),
            Sample(
                f"np.nanpercentile {method}",
                lambda a, m=method: np.nanpercentile(holes(a), 37.0, axis=1, method=m),
                apart(3, 4),
            ),
        )
    ],
    *[
        sample
        for method in CONTINUOUS
        for sample in (
            Sample(
                f"np.quantile by q {method}",
                lambda a, q, m=method: np.quantile(a, q, axis=0, method=m),
                with_q(2),
            ),
            Sample(
                f"np.nanquantile by q {method}",
                lambda a, q, m=method: np.nanquantile(
                    np.where(np.arange(15).reshape(5, 3) == 4, np.nan, a), q, axis=0, method=m
                ),
                with_q(),
            ),
        )
    ],
    Sample("np.percentile by q", lambda a, q: np.percentile(a, 100 * q), with_q(3)),
    Sample("np.nanpercentile by q", lambda a, q: np.nanpercentile(a, 100 * q, axis=1), with_q()),
    Sample(
        "np.quantile by q of a plain array",
        lambda a, q: np.quantile([3.0, 1.0, 4.0], q) * np.sum(a),
        with_q(),
        dtypes=("float64",),
    ),
    Sample("np.quantile scalar", lambda a: np.quantile(a, 0.4), apart(2, 3)),
    Sample("np.quantile the ends", lambda a: np.quantile(a, [0.0, 1.0], axis=0), apart(4, 2)),
    Sample(
        "np.quantile keepdims",
        lambda a: np.quantile(a, [0.2, 0.7], axis=(0, 2), keepdims=True),
        apart(2, 3, 2),
    ),
    Sample("np.quantile matrix of q", lambda a: np.quantile(a, [[0.2, 0.7], [0.4, 0.9]]), apart(7)),
    Sample(
        "np.quantile overwrite_input", lambda a: np.quantile(a * 1.0, 0.3, 0, None, True), apart(5)
    ),
    Sample(
        "np.percentile out",
        lambda a: np.percentile(a, 30.0, axis=0, out=np.zeros_like(a[0])) ** 2,
        apart(4, 2),
    ),
    *[
        Sample(
            f"np.quantile six at once {method}",
            lambda a, m=method: np.quantile(
                a, [0.07, 0.31, 0.44, 0.58, 0.83, 0.97], axis=(0, 2), method=m
            ),
            apart(2, 3, 3),
        )
        for method in METHODS
    ],
    Sample(
        "np.percentile five at once of a repeated array",
        lambda a: np.percentile(np.concatenate((a, a)), [5.0, 30.0, 50.0, 64.0, 95.0], axis=0),
        apart(3, 2),
    ),
    Sample("np.quantile many", lambda a: np.quantile(a, np.linspace(0.01, 0.99, 12)), apart(9)),
    Sample("np.quantile even median", lambda a: np.quantile(a, 0.5, axis=-1), apart(3, 4)),
    Sample("np.quantile of one", lambda a: np.quantile(a, 0.3), apart(1)),
    Sample(
        "np.quantile weights",
        lambda a: np.quantile(
            a, [0.3, 0.8], axis=0, method="inverted_cdf", weights=[1.0, 2.0, 0.5, 1.5, 1.0]
        ),
        apart(5, 2),
    ),
    Sample(
        "np.percentile traced weights",
        lambda a, w: np.percentile(a, 45.0, method="inverted_cdf", weights=w),
        lambda rng: (*apart(5)(rng), np.array([1.0, 2.0, 0.5, 1.5, 1.1])),
    ),
    Sample(
        "np.nanquantile weights",
        lambda a: np.nanquantile(
            holes(a), 0.6, axis=1, method="inverted_cdf", weights=np.full((3, 4), 0.5)
        ),
        apart(3, 4),
    ),
    # the permutations that sort's rules are made of, met by second order alone
    Sample("npgrad put", lambda g: put(g, np.array([2, 0, 3, 1])), normal(2, 2)),
    Sample("npgrad fetch", lambda g: fetch(g, np.array([2, 0, 3, 1])), normal(4)),
    # unique and sets
    Sample("np.unique", np.unique, apart(5)),
    Sample("np.unique repeated", lambda a: np.unique(np.concatenate((a, a[:3]))), doubled),
    Sample("np.unique of a matrix", lambda a: np.unique(a[[[0, 1], [0, 2]]]), doubled),
    Sample(
        "np.unique outputs",
        lambda a: np.unique(a[[1, 1, 0]], True, return_inverse=True, return_counts=True),
        doubled,
    ),
    Sample("np.unique axis", lambda a: np.unique(a[[1, 0, 1]], axis=0), apart(2, 3)),
    Sample("np.unique last axis", lambda a: np.unique(a[:, [1, 0, 1]], axis=-1), apart(2, 3)),
    Sample("np.unique axis of a vector", lambda a: np.unique(a[[1, 0, 1]], axis=0), doubled),
    Sample("np.unique equal_nan", lambda a: np.unique(a, equal_nan=False), doubled),
    Sample("np.unique complex", lambda a: np.unique(a[[0, 1, 1]]), complex_(3)),
    Sample("np.unique_values", lambda a: np.sort(np.unique_values(a[[0, 1, 1]])), doubled),
    Sample("np.unique_values complex", lambda a: np.unique_values(a[[0, 1, 1]]), complex_(3)),
    Sample("np.unique_counts", lambda a: np.unique_counts(a[[2, 1, 1]]).values, doubled),
    Sample("np.unique_inverse", lambda a: np.unique_inverse(a[[2, 1, 1]])[0], doubled),
    Sample("np.unique_all", lambda a: np.unique_all(a[[2, 1, 1]]).values, doubled),
    Sample("np.union1d", lambda a: np.union1d(a[:3], a[2:]), doubled),
    Sample(
        "np.union1d of two", np.union1d, lambda rng: (apart(3)(rng)[0], 0.04 + apart(2)(rng)[0])
    ),
    Sample("np.setxor1d", lambda a: np.setxor1d(a[:3], a[2:]), doubled),
    Sample("np.setxor1d assume_unique", lambda a: np.setxor1d(a[:3], a[2:], True), doubled),
    Sample("np.setdiff1d", lambda a: np.setdiff1d(a, a[1:2]), doubled),
    Sample("np.setdiff1d assume_unique", lambda a: np.setdiff1d(a, [7.0], True), doubled),
]
