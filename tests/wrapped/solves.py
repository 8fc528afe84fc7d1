"""A program with a solver whose recorded derivative would not be the root's."""

import ctypes

import numpy as np


def root_of_cube(a):
    """The cube root of `a` by bisection: branches alone move the bracket."""
    low, high = 0.0, 10.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        if middle**3 < a:
            low = middle
        else:
            high = middle
    return (low + high) / 2


class Twice:
    """An object that is called, as compiled functions of C extensions are."""

    def __call__(self, x):
        return 2.0 * ctypes.c_double(x).value


twice = Twice()


def program(x):
    out = np.zeros(2)
    out[0] = root_of_cube(x[0]) * x[1]
    out[1] = twice(x[1]) ** 2
    return np.sum(out)
