"""Samples of the statistics: covariances, correlations, histograms, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.core import Arrays, Sample
from tests.samples.reduction import complex_, normal

EDGES = [-2.0, -0.5, 0.1, 0.8, 2.5]
ONLY = ("float64",)  # NumPy's result is float64 whatever goes in


def two(*shapes: tuple[int, ...]) -> Any:
    """Normal arrays of several shapes."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


def weighed(*shape: int) -> Any:
    """Normal numbers and a positive weight for each of the last axis."""
    return lambda rng: (rng.normal(size=shape), rng.uniform(0.5, 1.5, size=shape[-1:]))


def sample_of(n: int) -> Any:
    """Numbers that stay inside of their bins of EDGES, and weights."""

    def args(rng: np.random.Generator) -> Arrays:
        middle = np.array([-1.0, -0.2, 0.5, 1.6])[np.arange(n) % 4]
        return middle + rng.uniform(-0.1, 0.1, size=n), rng.uniform(0.5, 1.5, size=n)

    return args


def grid(n: int) -> Any:
    """Two coordinates inside of their bins, and weights."""

    def args(rng: np.random.Generator) -> Arrays:
        x, w = sample_of(n)(rng)
        return x, x[::-1].copy() * 0.9, w

    return args


SAMPLES: list[Sample] = [
    Sample("np.cov", np.cov, normal(3, 5)),
    Sample("np.cov of a vector", np.cov, normal(5)),
    Sample("np.cov y", np.cov, two((2, 5), (1, 5))),
    Sample("np.cov two vectors", np.cov, two((5,), (5,))),
    Sample("np.cov rowvar", lambda m, y: np.cov(m, y, rowvar=False), two((5, 2), (5, 2))),
    Sample("np.cov bias", lambda m: np.cov(m, bias=True), normal(2, 4)),
    Sample("np.cov ddof", lambda m: np.cov(m, ddof=2), normal(2, 4)),
    Sample("np.cov fweights", lambda m: np.cov(m, fweights=[1, 2, 1, 3]), normal(2, 4)),
    Sample("np.cov aweights", lambda m, w: np.cov(m, aweights=w), weighed(2, 4)),
    Sample("np.cov aweights ddof 0", lambda m, w: np.cov(m, aweights=w, ddof=0), weighed(2, 4)),
    Sample(
        "np.cov both weights",
        lambda m, w: np.cov(m, fweights=[1, 2, 1, 3], aweights=w),
        weighed(2, 4),
    ),
    Sample("np.cov dtype", lambda m: np.cov(m, dtype=np.float64), normal(2, 4)),
    Sample("np.cov complex", np.cov, complex_(2, 4)),
    Sample("np.corrcoef", np.corrcoef, normal(3, 5)),
    Sample("np.corrcoef y", np.corrcoef, two((5,), (5,))),
    Sample("np.corrcoef rowvar", lambda x: np.corrcoef(x, rowvar=False), normal(5, 3)),
    Sample("np.corrcoef complex", np.corrcoef, complex_(2, 4)),
    # counts and histograms
    Sample("np.bincount", lambda w: np.bincount([0, 3, 1, 3], w), normal(4)),
    Sample(
        "np.bincount minlength", lambda w: np.bincount([0, 1, 0], weights=w, minlength=5), normal(3)
    ),
    Sample("np.histogram weights", lambda a, w: np.histogram(a, EDGES, weights=w), sample_of(6)),
    Sample(
        "np.histogram weights density",
        lambda a, w: np.histogram(a, EDGES, weights=w * w, density=True),
        sample_of(6),
    ),
    Sample(
        "np.histogram density of moving edges",
        lambda a: np.histogram(a, bins=4, density=True),
        lambda rng: sample_of(8)(rng)[:1],
    ),
    Sample(
        "np.histogram range", lambda a, w: np.histogram(a, 3, (-2.0, 2.0), weights=w), sample_of(5)
    ),
    Sample(
        "np.histogram complex weights",
        lambda w: np.histogram([0.0, 0.2, 0.9], 2, (0.0, 1.0), weights=w)[0],
        complex_(3),
    ),
    Sample(
        "np.histogram recorded edges",
        lambda e: np.histogram([0.1, 0.4, 0.6, 1.4], e, density=True),
        lambda rng: (np.array([0.0, 0.5, 1.0, 2.0]) + 0.05 * rng.normal(size=4),),
        dtypes=ONLY,
    ),
    Sample(
        "np.histogram_bin_edges",
        lambda a: np.histogram_bin_edges(a, 4),
        lambda rng: sample_of(6)(rng)[:1],
    ),
    Sample(
        "np.histogram_bin_edges auto",
        lambda a: np.histogram_bin_edges(a, "sturges"),
        lambda rng: sample_of(9)(rng)[:1],
    ),
    Sample(
        "np.histogram2d",
        lambda x, y, w: np.histogram2d(x, y, bins=[EDGES, EDGES], weights=w),
        grid(7),
    ),
    Sample(
        "np.histogram2d moving edges density",
        lambda x, y, w: np.histogram2d(x, y, bins=3, density=True, weights=w),
        grid(7),
        dtypes=ONLY,
    ),
    Sample(
        "np.histogramdd",
        lambda x, y, w: np.histogramdd(
            np.stack([x, y, x], axis=1), bins=(2, 3, EDGES), weights=w, density=True
        ),
        grid(7),
        dtypes=ONLY,
    ),
    Sample(
        "np.histogramdd range",
        lambda w: np.histogramdd(
            [[0.1, 0.6, 0.9], [0.2, 0.3, 0.8]], bins=2, range=[(0, 1), (0, 1)], weights=w
        )[0],
        normal(3),
    ),
]
