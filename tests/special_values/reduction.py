"""Kinks, zeros and infinities of the reductions: ties share equally, nothing divides by zero."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

NAN, INF = np.nan, np.inf


def a(*values: object) -> np.ndarray:
    """A float64 array."""
    return np.array(values[0] if len(values) == 1 else values, dtype=np.float64)


W = a(3.0, -2.0)

SPECIAL: list[Special] = [
    # extremes: ties share equally, the shares sum to the cotangent
    Special("max ties", np.max, (a(1, 3, 3, 0, 3),), (a(0, 1 / 3, 1 / 3, 0, 1 / 3),)),
    Special("min ties", np.min, (a(1, 0, 3, 0),), (a(0, 0.5, 0, 0.5),)),
    Special(
        "max ties along an axis, weighed",
        lambda x: np.sum(np.max(x, axis=1) * W),
        (a([[1, 1, 0], [2, 5, 4]]),),
        (a([[1.5, 1.5, 0], [0, -2, 0]]),),
        (np.zeros((2, 3)),),
    ),
    Special("max of equal entries", np.max, (np.full((2, 2), 4.0),), (np.full((2, 2), 0.25),)),
    Special(
        "max ties with initial, which takes its share",
        lambda x: np.max(x, initial=3.0),
        (a(1, 3, 3),),
        (a(0, 1 / 3, 1 / 3),),
    ),
    Special("max below initial", lambda x: np.max(x, initial=9.0), (a(1, 3),), (a(0, 0),)),
    Special(
        "max ties where",
        lambda x: np.max(x, where=[True, False, True], initial=-INF),
        (a(3, 3, 3),),
        (a(0.5, 0, 0.5),),
    ),
    Special("max of nan comes from the nans", np.max, (a(1, NAN, NAN),), (a(0, 0.5, 0.5),)),
    Special("max of infinities", np.max, (a(INF, 1, INF),), (a(0.5, 0, 0.5),)),
    Special("nanmax skips nan and shares", np.nanmax, (a(2, NAN, 2),), (a(0.5, 0, 0.5),)),
    Special("nanmin of nan alone", np.nanmin, (a(NAN, NAN),), (a(0, 0),)),
    Special("ptp of a constant", np.ptp, (a(2, 2),), (a(0, 0),)),
    Special("max of float16 ties", np.max, (np.ones(4, np.float16),), (np.full(4, 0.25),)),
    # products with zeros: the products of the others, to second order
    Special("prod one zero", np.prod, (a(3, 0, 5),), (a(0, 15, 0),), (a(5, 8, 3),)),
    Special("prod two zeros", np.prod, (a(0, 0, 5),), (a(0, 0, 0),), (a(5, 5, 0),)),
    Special("prod three zeros", np.prod, (a(0, 0, 0),), (a(0, 0, 0),), (a(0, 0, 0),)),
    Special(
        "prod a zero in one row only",
        lambda x: np.sum(np.prod(x, axis=1) * W),
        (a([[4, 0, 2], [3, 5, 1]]),),
        (a([[0, 24, 0], [-10, -6, -30]]),),
    ),
    Special(
        "prod that underflows",
        np.prod,
        (a(1e-200, 1e-200, 1e200),),
        (a(1.0, 1.0, 0.0),),
    ),
    Special(
        "prod zero left out by where",
        lambda x: np.prod(x, where=[True, False, True]),
        (a(3, 0, 5),),
        (a(5, 0, 3),),
    ),
    Special("prod of one zero", np.prod, (a([0.0]),), (a([1.0]),), (a([0.0]),)),
    Special("prod of nothing", np.prod, (np.zeros((0,)),), (np.zeros((0,)),)),
    Special("nanprod with zero", np.nanprod, (a(NAN, 0, 5),), (a(0, 5, 0),), (a(0, 1, 1),)),
    Special("prod with an infinity", np.prod, (a(INF, 2, 3),), (a(6, INF, INF),)),
    # rows that are masked away after the reduction: 0 does not meet their infinities
    *[
        Special(
            f"{fun.__name__} of a masked row with infinities",
            lambda x, f=fun: np.where([True, False], f(x, axis=1), 0.0),
            (a([[1, 3], [INF, 0]]),),
            (a([gradient, [0, 0]]),),
        )
        for fun, gradient in (
            (np.prod, [3, 1]),
            (np.var, [-1, 1]),
            (np.std, [-0.5, 0.5]),
            (np.mean, [0.5, 0.5]),
            (np.max, [0, 1]),
            (np.logaddexp.reduce, [1 / (1 + np.e**2), 1 / (1 + np.e**-2)]),
        )
    ],
    Special(
        "cumprod of a masked row with infinities",
        lambda x: np.where([[True], [False]], np.cumprod(x, axis=1), 0.0),
        (a([[2, 3], [INF, 0]]),),
        (a([[4, 2], [0, 0]]),),
    ),
    # sums and means
    Special("sum of nothing", np.sum, (np.zeros((0,)),), (np.zeros((0,)),)),
    Special(
        "sum of nothing, keepdims",
        lambda x: np.sum(x, axis=0, keepdims=True),
        (np.zeros((0, 3)),),
        (np.zeros((0, 3)),),
    ),
    Special("mean of nothing", np.mean, (np.zeros((0, 2)),), (np.zeros((0, 2)),)),
    Special("nansum leaves nan out", np.nansum, (a(1, NAN, 3),), (a(1, 0, 1),)),
    Special("nanmean leaves nan out", np.nanmean, (a(1, NAN, 3),), (a(0.5, 0, 0.5),)),
    Special("nanmean of nan alone", np.nanmean, (a(NAN, NAN),), (a(0, 0),)),
    Special(
        "mean where nothing",
        lambda x: np.sum(np.mean(x, axis=1, where=[[True, True], [False, False]])),
        (a([[1, 2], [3, 4]]),),
        (a([[0.5, 0.5], [0, 0]]),),
    ),
    # spreads
    Special("std of a constant", np.std, (a(2, 2, 2),), (a(0, 0, 0),), (a(0, 0, 0),)),
    Special("std of one element", np.std, (a([-0.83]),), (a([0.0]),), (a([0.0]),)),
    Special(
        "std of a constant row beside another",
        lambda x: np.sum(np.std(x, axis=1)),
        (a([[2, 2], [1, 3]]),),
        (a([[0, 0], [-0.5, 0.5]]),),
    ),
    Special(
        "std of tiny numbers",
        lambda x: np.std(x, ddof=1),
        (1e-30 * a(1, -1, 2, -3),),
        # (x - mean) / ((n - 1) std): mean -1/4, squares of the deviations 14.75
        ((a(1, -1, 2, -3) + 0.25) / (3 * np.sqrt(14.75 / 3)),),
    ),
    Special("var of a constant", np.var, (a(2, 2),), (a(0, 0),), (a(0, 0),)),
    Special(
        "var of complex numbers",
        np.var,
        (np.array([1 + 2j, 3 - 2j]),),
        (np.array([-1 + 2j, 1 - 2j]),),
    ),
    Special("nanstd of one number", np.nanstd, (a(NAN, 2),), (a(0, 0),)),
    Special("nanvar leaves nan out", np.nanvar, (a(1, NAN, 3),), (a(-1, 0, 1),)),
    # the extremes that ufunc.reduce knows by other names
    Special("fmax.reduce skips nan", np.fmax.reduce, (a(NAN, 2, 2),), (a(0, 0.5, 0.5),)),
    Special("fmin.reduce of nan alone", np.fmin.reduce, (a(NAN, NAN),), (a(0, 0),)),
    Special(
        "logaddexp.reduce with -inf",
        np.logaddexp.reduce,
        (a(-INF, 0.0, np.log(3.0)),),
        (a(0, 0.25, 0.75),),
        (a(0, 0, 0),),
    ),
    Special(
        "logaddexp.reduce of -inf alone shares",
        np.logaddexp.reduce,
        (a(-INF, -INF),),
        (a(0.5, 0.5),),
    ),
    Special(
        "logaddexp.reduce with +inf", np.logaddexp.reduce, (a(INF, 1.0, INF),), (a(0.5, 0, 0.5),)
    ),
    Special(
        "logaddexp2.reduce with -inf",
        np.logaddexp2.reduce,
        (a(-INF, 0.0, 1.0),),
        (a(0, 1 / 3, 2 / 3),),
    ),
    Special(
        "logaddexp.reduceat with a masked segment",
        lambda x: np.logaddexp.reduceat(x, [0, 2])[1],
        (a(-INF, -INF, 0.0, np.log(3.0)),),
        (a(0, 0, 0.25, 0.75),),
    ),
    Special(
        "maximum.reduceat ties",
        lambda x: np.maximum.reduceat(x, [0, 2]),
        (a(3, 3, 1, 5, 5),),
        (a(0.5, 0.5, 0, 0.5, 0.5),),
    ),
    Special(
        "multiply.reduceat with zeros",
        lambda x: np.multiply.reduceat(x, [0, 2]),
        (a(0, 4, 2, 0, 3),),
        (a(4, 0, 0, 6, 0),),
        (a(1, 1, 3, 5, 2),),
    ),
    Special("hypot.reduce of one direction", np.hypot.reduce, (a(3, 4, 0),), (a(0.6, 0.8, 0),)),
]
