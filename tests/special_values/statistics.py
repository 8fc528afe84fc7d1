"""Statistics at their edges: correlations of 1, edges of equal samples, empty bins."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special
from tests.special_values.reduction import a

SPECIAL: list[Special] = [
    Special("corrcoef of one variable is 1", np.corrcoef, (a(1, 2, 4),), (a(0, 0, 0),)),
    Special(
        "corrcoef's diagonal is 1",
        lambda x: np.corrcoef(x)[0, 0],
        (a([[1, 2, 4], [3, 1, 1]]),),
        (np.zeros((2, 3)),),
    ),
    Special(
        "samples on the edges count to the right, on the last edge to the left",
        lambda w: np.histogram([0.0, 1.0, 2.0, 3.0], [0, 1, 2], weights=w)[0] @ [1.0, 10.0],
        (a(1, 1, 1, 1),),
        (a(1, 10, 10, 0),),
    ),
    Special(
        "edges of equal samples move with them",
        lambda x: np.histogram_bin_edges(x, 2) @ [1.0, 2.0, 4.0],
        (a(2, 2),),
        (a(3.5, 3.5),),
    ),
    Special(
        "weights of samples outside of the range",
        lambda w: np.sum(np.histogram([-1.0, 0.5, 7.0], 2, (0, 1), weights=w)[0]),
        (a(1, 1, 1),),
        (a(0, 1, 0),),
    ),
    Special(
        "bincount of nothing",
        lambda w: 1.0 * np.bincount([], w, minlength=2),  # NumPy's zeros are integers then
        (np.zeros((0,)),),
        (np.zeros((0,)),),
    ),
]
