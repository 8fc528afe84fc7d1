"""Ties in what is sorted: equal elements share equally; the medians of nan."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special
from tests.special_values.reduction import INF, NAN, a

W = a(1.0, 2.0, 4.0, 8.0)

SPECIAL: list[Special] = [
    Special("sort ties", lambda x: np.sum(np.sort(x) * W), (a(3, 1, 3, 1),), (a(6, 1.5, 6, 1.5),)),
    Special(
        "sort ties in rows of their own",
        lambda x: np.sum(np.sort(x, axis=1) * [[1.0, 2.0], [4.0, 8.0]]),
        (a([[5, 5], [5, 1]]),),
        (a([[1.5, 1.5], [8, 4]]),),
    ),
    Special(
        "sort cubed, second order at ties",
        lambda x: np.sum(np.sort(x) ** 3),
        (a(2, 2, -1),),
        (a(12, 12, 3),),
        (a(12, 12, -6),),
    ),
    Special(
        "sort with infinities",
        lambda x: np.sum(np.sort(x) * W[:3]),
        (a(INF, -INF, 0),),
        (a(4, 1, 2),),
    ),
    Special("sort of nothing", np.sort, (np.zeros((0,)),), (np.zeros((0,)),)),
    Special(
        "partition ties",
        lambda x: np.sum(np.partition(x, 0)[:1]),
        (a(1, 1, 5),),
        (a(0.5, 0.5, 0),),
    ),
    Special("median ties, odd", np.median, (a(2, 1, 2, 2, 5),), (a(1 / 3, 0, 1 / 3, 1 / 3, 0),)),
    Special("median ties, even", np.median, (a(2, 2, 3, 1),), (a(0.5, 0.5, 0, 0),)),
    Special("median ties above", np.median, (a(1, 2, 3, 3),), (a(0, 0.5, 0.25, 0.25),)),
    Special(
        "median of nan comes from the nans", np.median, (a(1, NAN, 3, NAN),), (a(0, 0.5, 0, 0.5),)
    ),
    Special("nanmedian leaves nan out", np.nanmedian, (a(1, NAN, 3),), (a(0.5, 0, 0.5),)),
    Special("nanmedian of nan alone", np.nanmedian, (a(NAN, NAN),), (a(0, 0),)),
    Special(
        "nanmedian of rows with different counts",
        lambda x: np.nanmedian(x, axis=1),
        (a([[4, NAN, 1, 2], [NAN, 7, 7, NAN]]),),
        (a([[0, 0, 0, 1], [0, 0.5, 0.5, 0]]),),
    ),
    Special(
        "quantile ties", lambda x: np.quantile(x, 0.5), (a(1, 2, 2, 2, 5),), (a(0, 1, 1, 1, 0) / 3,)
    ),
    Special(
        "quantile between", lambda x: np.quantile(x, 0.4), (a(10, 0, 4, 2),), (a(0, 0, 0.2, 0.8),)
    ),
    Special(
        "quantile of a row with nan",
        lambda x: np.sum(np.quantile(x, 0.25, axis=1)),
        (a([[1, 2, 3, 4, 5], [1, NAN, 3, 4, 5]]),),
        (a([[0, 1, 0, 0, 0], [0, 1, 0, 0, 0]]),),
    ),
    Special(
        "quantile by q at the end is the last slope",
        lambda q: np.quantile(np.array([1.0, 2.0, 5.0]), q),
        (np.array(1.0),),
        (np.array(6.0),),
    ),
    Special(
        "quantile by q on an element is the slope to the next",
        lambda q: np.quantile(np.array([1.0, 2.0, 5.0]), q),
        (np.array(0.5),),
        (np.array(6.0),),
    ),
    Special(
        "quantile by q beyond the last place",
        lambda q: np.quantile(np.array([1.0, 2.0, 5.0]), q, method="weibull"),
        (np.array(0.9),),
        (np.array(0.0),),
    ),
    Special(
        "quantile by q between two elements",
        lambda q: np.quantile(np.array([1.0, 2.0, 5.0, 9.0]), q, method="hazen"),
        (np.array(0.5),),
        (np.array(12.0),),
    ),
    Special(
        "quantile by q of a method that picks",
        lambda q: np.quantile(np.array([1.0, 2.0, 5.0]), q, method="nearest"),
        (np.array(0.4),),
        (np.array(0.0),),
    ),
    Special(
        "unique shares", lambda x: np.sum(np.unique(x) * [1.0, 2.0]), (a(3, 1, 3),), (a(1, 1, 1),)
    ),
    Special("union shares", lambda x: np.sum(np.union1d(x, x[:1])), (a(3, 1),), (a(1, 1),)),
]
