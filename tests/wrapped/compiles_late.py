"""Numba compiles these at their first call, which is in wrapped code."""

import math

import numpy as np
from numba import njit, vectorize
from numpy import zeros


@njit
def filled(n):
    buffer = zeros(n)
    for i in range(n):
        buffer[i] = float(i) + math.sin(i) + np.sum(np.ones(2))
    return buffer


@njit
def total(n):
    return np.linalg.norm(filled(n)) + np.array([1.0, 2.0])[1]


@vectorize
def wave(a):
    return math.sin(a) + float(a)


def makes(module=np):
    @njit
    def ones(n):
        return module.ones(n).sum()

    return ones


ones = makes()


def program(x):
    buffer = np.zeros(2)
    buffer[0] = x[0] * total(3)
    buffer[1] = float(x[1]) * wave(2.0) * ones(2)
    return np.sum(buffer)
