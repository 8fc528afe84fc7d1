"""A subclass of ndarray that calls ndarray's methods by its name, as before ``super()``."""

from __future__ import annotations

import numpy as np


class Unbound(np.ndarray):
    """Calls ndarray's methods by its name, as before ``super()``."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __mul__(self, other):
        return 2 * np.ndarray.__mul__(self, other)

    def __getitem__(self, index):
        return np.ndarray.__getitem__(self, index)

    def sum(self, *args):
        return np.ndarray.sum(self, *args) * 3


def unbound(x):
    p = Unbound(x)
    plain = np.ndarray.sum(np.array([1.0, 2.0])) + np.ndarray.mean(x)
    return (p * p)[1] + p.sum() * p[0] + plain
