"""Zeros and ties of the scans: no division, running extremes share what was tied so far."""

from __future__ import annotations

import math

import numpy as np

from tests.samples.core import Special
from tests.special_values.reduction import INF, NAN, a

W = a(1.0, 2.0, 3.0, 4.0)


def cumprod_gradient(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The gradient of sum(w cumprod(x)), by the definition."""
    g = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i, len(x)):
            g[i] += w[j] * np.prod(np.delete(x[: j + 1], i))
    return g


def cumprod_second(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The row sums of the matrix of second derivatives, by the definition."""
    g = np.zeros(len(x))
    for j in range(len(x)):
        for i in range(j + 1):
            for k in range(j + 1):
                if i != k:
                    g[k] += w[j] * np.prod(np.delete(x[: j + 1], [i, k]))
    return g


def cumprod_row(*x: float) -> Special:
    """One point of the weighed running product."""
    at = a(*x)
    w = W[: len(x)]
    return Special(
        f"cumprod of {x}",
        lambda x: np.sum(np.cumprod(x) * w),
        (at,),
        (cumprod_gradient(at, w),),
        (cumprod_second(at, w),),
    )


SPECIAL: list[Special] = [
    cumprod_row(3, 0, 5, 2),
    cumprod_row(0, 7, 2),
    cumprod_row(4, 6, 0),
    cumprod_row(2, 0, 0, 5),
    cumprod_row(0, 0, 0),
    cumprod_row(1e-200, 1e-200, 1e200, 2),
    Special(
        "cumprod along axis 0 with a zero",
        lambda x: np.sum(np.cumprod(x, axis=0) * [[1.0, 2.0], [3.0, 4.0]]),
        (a([[0, 2], [5, 3]]),),
        (a([[16, 14], [0, 8]]),),
    ),
    Special(
        "nancumprod with zero and nan",
        lambda x: np.nancumprod(x)[-1],
        (a(2, NAN, 0, 3),),
        (a(0, 0, 6, 0),),
        (a(3, 0, 5, 2),),
    ),
    Special("nancumsum leaves nan out", np.nancumsum, (a(1, NAN, 2),), (a(3, 0, 1),)),
    Special("cumsum of nothing", np.cumsum, (np.zeros((0,)),), (np.zeros((0,)),)),
    Special("cumprod of nothing", np.cumprod, (np.zeros((0,)),), (np.zeros((0,)),)),
    # running extremes: step j is shared by the winners up to j
    Special(
        "maximum.accumulate ties",
        lambda x: np.sum(np.maximum.accumulate(x) * [1.0, 2.0, 4.0, 8.0, 16.0]),
        (a(3, 1, 3, 3, 5),),
        # steps 0 and 1 to the first, step 2 to two, step 3 to three
        (a(1 + 2 + 2 + 8 / 3, 0, 2 + 8 / 3, 8 / 3, 16),),
    ),
    Special(
        "minimum.accumulate ties of two rows",
        lambda x: np.sum(np.minimum.accumulate(x, axis=1) * [1.0, 2.0, 4.0]),
        (a([[2, 2, 1], [5, 5, 6]]),),
        (a([[2, 1, 4], [4, 3, 0]]),),
    ),
    Special(
        "fmax.accumulate begins after the nans",
        lambda x: np.sum(np.fmax.accumulate(x)[1:]),
        (a(NAN, 2, 1),),
        (a(0, 2, 0),),
    ),
    Special(
        "logaddexp.accumulate with a masked prefix",
        lambda x: np.logaddexp.accumulate(x)[3],
        (a(-INF, -INF, 1.0, 2.0),),
        (a(0, 0, 1 / (1 + math.e), math.e / (1 + math.e)),),
    ),
    # differences of too little
    Special("diff of one", lambda x: np.sum(np.diff(x)), (a([2.0]),), (a([0.0]),)),
    Special("diff taken too often", lambda x: np.sum(np.diff(x, n=3)), (a(2, 3),), (a(0, 0),)),
    Special("trapezoid of one point", np.trapezoid, (a([2.0]),), (a([0.0]),)),
    Special(
        "gradient at equal coordinates depends on each of them",
        lambda x: np.gradient(np.array([0.0, 1.0, 4.0]), x)[1],
        (a(0, 1, 2),),
        # f1 (1/h1 - 1/h2) + f2 h1 / (h2 (h1 + h2)) with f0 = 0, at h1 = h2 = 1
        (a(0, 2, -2),),
    ),
]
