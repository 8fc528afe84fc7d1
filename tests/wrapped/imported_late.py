"""Imported inside of a function, while it is wrapped."""

import numpy as np

TABLE = np.array([1.0, 2.0, 3.0])


def fill(x):
    buffer = np.zeros(3)
    buffer[:] = x * TABLE
    return np.sum(buffer**2)
