"""Special points of `npgrad.rules.indexing`: positions that repeat, wrap, clip or are empty."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

WEIGHTS = np.array([10.0, 20.0, 30.0])

SPECIAL = [
    Special(
        "np.take of one entry twice",
        lambda x: np.sum(np.take(x, [1, 1, 0]) * WEIGHTS),
        (np.array([1.0, 2.0]),),
        (np.array([30.0, 30.0]),),
    ),
    Special(
        "np.take clip",
        lambda x: np.sum(np.take(x, [7, -9, 1], mode="clip") * WEIGHTS),
        (np.array([1.0, 2.0, 3.0]),),
        (np.array([20.0, 30.0, 10.0]),),
    ),
    Special(
        "np.take wrap",
        lambda x: np.sum(np.take(x, [7, -9, 1], mode="wrap") * WEIGHTS),
        (np.array([1.0, 2.0, 3.0]),),
        (np.array([20.0, 40.0, 0.0]),),
    ),
    Special(
        "np.take beside infinity",
        lambda x: np.sum(np.take(x, [0, 0]) ** 2),
        (np.array([3.0, np.inf]),),
        (np.array([12.0, 0.0]),),
        (np.array([4.0, 0.0]),),
    ),
    Special(
        "np.take of nothing",
        lambda x: np.sum(np.take(x, [], axis=0)),
        (np.array([1.0, 2.0]),),
        (np.array([0.0, 0.0]),),
    ),
    Special(
        "np.take_along_axis of one entry twice",
        lambda x: np.sum(
            np.take_along_axis(x, np.array([[0, 0, 1], [2, 2, 2]]), axis=1)
            * np.array([[0.25, 0.5, 0.75], [1.0, 2.0, 4.0]])
        ),
        (np.ones((2, 3)),),
        (np.array([[0.75, 0.75, 0.0], [0.0, 0.0, 7.0]]),),
    ),
    Special(
        "np.take_along_axis counted from the end",
        lambda x: np.sum(np.take_along_axis(x, np.array([-1, 2]), axis=0) * np.array([1.0, 10.0])),
        (np.ones(3),),
        (np.array([0.0, 0.0, 11.0]),),
    ),
    Special(
        "np.compress of nothing",
        lambda x: np.sum(np.compress([False, False], x)),
        (np.array([1.0, 2.0]),),
        (np.array([0.0, 0.0]),),
    ),
    Special(
        "np.delete of all",
        lambda x: np.sum(np.delete(x, [0, 1])),
        (np.array([1.0, np.nan]),),
        (np.array([0.0, 0.0]),),
    ),
    Special(
        "np.delete of an infinity",
        lambda x: np.sum(np.delete(x, 1) ** 2),
        (np.array([3.0, np.inf, 2.0]),),
        (np.array([6.0, 0.0, 4.0]),),
        (np.array([2.0, 0.0, 2.0]),),
    ),
    Special(
        "np.insert of one value in two places",
        lambda x, v: np.sum(np.insert(x, [0, 2], v) * np.array([1.0, 10.0, 100.0, 1000.0])),
        (np.array([1.0, 2.0]), np.array(5.0)),
        (np.array([10.0, 100.0]), np.array(1001.0)),
    ),
    Special(
        "np.insert twice in one place",
        lambda x, v: np.sum(np.insert(x, [1, 1], v) * np.array([1.0, 10.0, 100.0, 1000.0])),
        (np.array([1.0, 2.0]), np.array([5.0, 6.0])),
        (np.array([1.0, 1000.0]), np.array([10.0, 100.0])),
    ),
]
