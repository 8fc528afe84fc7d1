"""Subclasses of ndarray, as public packages write them."""

from __future__ import annotations

import numpy as np


class Point(np.ndarray):
    """Made by a view; its attribute is handed on by ``__array_finalize__``."""

    def __new__(cls, coordinates, name="unnamed"):
        made = np.asarray(coordinates).view(cls)
        made.name = name
        return made

    def __array_finalize__(self, obj):
        self.name = getattr(obj, "name", "unnamed")

    def norm(self):
        return np.sqrt((self**2).sum())

    def doubled(self):
        return type(self)(2 * self, "doubled")

    def round(self, decimals=0):
        return type(self)(super().round(decimals).copy())

    @property
    def first(self):
        return self[0]

    @classmethod
    def origin(cls, n):
        return cls(np.zeros(n), "origin")


class Far(Point):
    """A subclass of a subclass, with an operator of its own."""

    def norm(self):
        return 10 * super().norm()

    def __mul__(self, other):
        return 100 * np.asarray(self) * np.asarray(other)


class Quaternion(np.ndarray):
    """Made of a buffer by ndarray's own ``__new__``, whose memory it shares."""

    def __new__(subtype, q):
        q = np.array(q, dtype=float)
        q /= np.linalg.norm(q)
        made = super(Quaternion, subtype).__new__(subtype, q.shape, float, q)  # noqa: UP008
        made.parts = q
        return made

    def __array_finalize__(self, obj):
        if obj is not None:
            self.parts = getattr(obj, "parts", None)

    def sum(self, *args, **kwargs):
        return 3 * super().sum(*args, **kwargs)


class Filled(np.ndarray):
    """Made empty, then written."""

    def __new__(cls, values):
        made = super().__new__(cls, len(values))
        for i, value in enumerate(values):
            made[i] = value
        return made


class Asking(np.ndarray):
    """Has a ``__getattr__``, which Python asks last."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __getattr__(self, name):
        if name == "fourfold":
            return self[0] * 4
        raise AttributeError(name)


class Degrees(np.ndarray):
    """Changes values where NumPy wraps them."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return (array * 180).view(Degrees)


class Strict(np.ndarray):
    """Has a protocol of its own."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*[np.asarray(a) for a in inputs], **kwargs)


GIVEN = Point([3.0, 2.0, 1.0], "given")


def points(x):
    p = Point(x, "p")
    assert isinstance(p, Point) and isinstance(p, np.ndarray) and type(p) is Point
    assert p.name == "p" and p.shape == (3,) and len(p) == 3 and p.dtype == float
    q = p * 2
    assert type(q) is Point and q.name == "p" and p[1:].name == "p"
    doubled = p.doubled()
    assert doubled.name == "doubled" and type(doubled) is Point
    between = GIVEN - p
    assert type(between) is Point and isinstance(Point.origin(2), Point)
    total = q.norm() + doubled.sum() + np.sum(between**2) + p.first * p[1:].sum()
    return total + np.dot(GIVEN, p) + (p @ GIVEN) ** 2 + GIVEN.dot(p) + p.dot(p)


def methods(x):
    p = Point(x, "p")
    parts = np.concatenate([p.reshape(3, 1).ravel(), p.copy(), np.stack([p, p])[0]])
    mean = p.T.mean() * p.max() + np.where(p > 1.5, p, 0.0).sum() + float(p[0]) + sum(p)
    return np.sum(parts**2) + mean + np.sum(p.round(1)) + np.linalg.norm(p) + p.norm()


def far(x):
    p = Far(x, "far")
    return p.norm() + (p * p).sum() + (p + p).norm()


def quaternion(x):
    q = Quaternion(x)
    assert isinstance(q, Quaternion) and q.shape == (3,)
    q *= 2  # the memory is that of q.parts
    return q.sum() + q.parts[0] ** 2 + (q * q)[1]


def filled(x):
    made = Filled([x[0] ** 2, 1.0, x[2]])
    made[1] += x[1] * x[0]
    return np.sum(made**2) + made[0]


def degrees(x):
    return np.sum(np.asarray(Degrees(x) + 1.0))


def strict(x):
    return np.sum(Strict(x) + 1.0)


def asking(x):
    p = Asking(x)
    assert not hasattr(p, "other") and p.dtype == float
    return p.fourfold + np.sum(p.copy().reshape(3, 1).T * 2) + (x + p).sum()
