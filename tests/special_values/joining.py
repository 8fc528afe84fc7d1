"""Special points of `npgrad.rules.joining`: empty, infinite and repeated members."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

SPECIAL = [
    Special(
        "np.concatenate of one member twice",
        lambda x: np.sum(np.concatenate([x, x]) * np.array([1.0, 10.0, 100.0, 1000.0])),
        (np.array([1.0, 2.0]),),
        (np.array([101.0, 1010.0]),),
    ),
    Special(
        "np.concatenate with an empty member",
        lambda x, y: np.sum(np.concatenate([x, y]) ** 2),
        (np.zeros(0), np.array([3.0])),
        (np.zeros(0), np.array([6.0])),
        (np.zeros(0), np.array([2.0])),
    ),
    Special(
        "np.concatenate beside infinity",
        lambda x: np.sum(np.concatenate([x, [np.inf]])[:2] ** 2),
        (np.array([3.0, 0.0]),),
        (np.array([6.0, 0.0]),),
        (np.array([2.0, 2.0]),),
    ),
    Special(
        "np.stack of one member in every place",
        lambda x: np.prod(np.stack([x, x, x])),
        (np.array(0.0),),
        (np.array(0.0),),
        (np.array(0.0),),
    ),
    Special(
        "np.block of a singular matrix",
        lambda x: np.linalg.det(np.block([[x[:1], x[1:2]], [x[2:3], x[3:]]])),
        (np.array([1.0, 2.0, 2.0, 4.0]),),
        (np.array([4.0, -2.0, -2.0, 1.0]),),
    ),
]
