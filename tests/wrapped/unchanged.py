"""Code as people write it, with nothing of npgrad inside: it makes its own buffers."""

import functools
import math

import numpy as np
from numpy import array, asarray, zeros

CALLS = []


def squares(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2
    return out


def by_name(x):
    x = asarray(x, dtype=float)
    out = zeros(x.shape)
    out[1:] = x[:-1] * 2.0
    return array([out[1], out[2] * x[0], 1.0])


def with_math(x):
    return math.sin(x[0]) * math.exp(x[1]) + math.hypot(x[0], x[2]) + math.log(x[2], 2)


def asks_for_its_type(x):
    if not isinstance(x, np.ndarray):
        raise TypeError("an array is needed")
    table = np.empty((2, 2))
    table[0] = x[:2]
    table[1, :] = np.full(2, x[2])
    return np.linalg.det(table) + np.sum(np.r_[x[0], 2.0, x[1:]] ** 2)


def integer_buffers(x):
    order = np.zeros(3, dtype=int)
    order[:] = np.argsort(np.asarray(x))
    return x[order] * np.arange(3)


class Model:
    """State in an attribute, a cached table, a method and a generator."""

    def __init__(self, n):
        self.weights = np.ones(n)

    @functools.cached_property
    def table(self):
        return np.linspace(1.0, 2.0, 3)

    def predict(self, x):
        state = np.zeros(3)
        for i, part in enumerate(self.parts(x)):
            state[i] += part * self.table[i]
        return state @ self.weights

    def parts(self, x):
        for i in range(3):
            yield x[i] * np.array([1.0, 2.0])[i % 2]


def fails(x):
    buffer = np.zeros(2)
    buffer[0] = x[0]
    raise RuntimeError("in the middle")


def counts(x):
    global CALLS
    CALLS = [*CALLS, len(x)]
    return np.sum(x)
