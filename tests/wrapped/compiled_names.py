"""Functions of Numba in a module that is wrapped while they are recorded."""

from __future__ import annotations

import numba
import numpy as np
from numpy import cross


def plainly(v):
    return float(v) * 2.0  # for it `float` is among what is replaced here


@numba.njit
def halved(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return float(total) / 2


@numba.njit
def area(a, b):
    c = cross(a, b)
    return np.sqrt(c[0] ** 2 + c[1] ** 2 + c[2] ** 2)
