"""The same names, met in rarer ways: in partials, nested classes, imports inside of a function."""

from __future__ import annotations

import collections
import functools
import math
from typing import Any

import numpy as np
from numpy import c_, exp, ndarray, r_
from numpy.lib.stride_tricks import as_strided
from numpy.polynomial import Polynomial

Pair = collections.namedtuple("Pair", "first second")
three = functools.partial(np.zeros, 3)


class Outer:
    class Inner:
        make = staticmethod(np.zeros)


@functools.singledispatch
def doubled(x: Any) -> Any:
    """What is no array."""
    return 0.0 * x


@doubled.register(np.ndarray)
def _(x: Any) -> Any:
    return 2 * x


@doubled.register(float)
def _(x: Any) -> Any:
    return 3 * x


def dispatches(x):
    return np.sum(doubled(x) ** 2) + doubled(x[0])


def asks_for_an_array(x):  # the module keeps np.ndarray, and nothing else
    assert type(x) is ndarray
    return np.float64(x[0]) * np.sum(np.float32(x) ** 0.0 * np.float64(x))


def partials(x):
    buffer = three()
    buffer[:] = x**2
    return np.sum(buffer * x)


def nested_classes(x):
    buffer = Outer.Inner.make(3)
    buffer[1:] = x[:-1]
    return np.sum(buffer * x)


def sequences(x):
    last = collections.deque(maxlen=2)
    for value in x:
        last.append(value * x[0])
    return np.prod(np.array(last)) + np.sum(np.asarray(Pair(x[0], x[1] ** 2)))


def joined_by_name(x):
    return np.sum(r_[x[0] : x[1] : 3j, 5] ** 2) + np.sum(c_[x, x * x])


def lists_by_keyword(x):
    return np.sum(a=[x[0], x[1] ** 2]) + np.abs(np.fft.fft([x[0], x[1]])[1])


def lists_to_ufuncs(x):
    made = np.sqrt((x[0], x[1])) * exp([x[1], 1.0]) + np.add(1.0, [v * v for v in x[:2]])
    return np.sum(made) + np.multiply.reduce([x[0], x[1], x[2]]) + np.maximum.reduce([x, x * x])[2]


def lists_put(x):
    buffer = np.zeros(3)
    np.put(buffer, [0, 2], [x[0], x[1]])
    return buffer @ x


def remainders(x):
    parts = [math.modf(v)[0] * v for v in (x[0], x[1])]
    mantissa, exponent = math.frexp(x[2])
    steps = [math.remainder(v, w) for v in (x[1], -x[1]) for w in (0.3, -0.7)]
    return sum(parts) + mantissa * 2.0**exponent + math.remainder(5.0, x[0]) + steps[1] * sum(steps)


def numbered(x):
    return sum(value * (place[0] + 1) for place, value in np.ndenumerate(x * x))


def imports_numpy(x):
    import math as m

    import numpy
    import numpy.linalg as la
    from numpy import zeros as make

    buffer = make(2)
    buffer[0] = m.sin(x[0])
    return la.norm(numpy.array([buffer[0], x[1]])) + numpy.linalg.norm([x[1], x[2]])


def makes_text(x):
    assert "%.1f %s" % (x[0], x[1]) and b"%f" % x[0]
    return x[0] * x[1]


class Cell:
    """What NumPy takes for an array, and is none."""

    def __init__(self, held):
        self.held = np.asarray(held, float)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.held, dtype=dtype, copy=copy)


def converts(x):
    buffer = np.zeros(3)
    buffer[:] = Cell(np.ones(3))
    return np.sum(np.asarray(Cell(x)) ** 2 * np.array(Cell(x), ndmin=2)) + buffer @ x


times = np.frompyfunc(lambda a, b: a * b + math.sin(a), 2, 1)
halves = np.vectorize(lambda v: (v.sum(), v * v[0]), signature="(n)->(),(n)")


def by_elements(x):
    return np.sum(times(x, x[::-1]))


def by_rows(x):
    total, parts = halves(np.outer(x, x))
    mixed = np.vectorize(lambda v, m: v @ m, signature="(n),(n,k)->(k)")
    return total @ x + np.sum(parts) + np.sum(mixed(x.reshape(3, 1), x.reshape(1, 3)[:, :2]) ** 2)


def polynomial_by_name(x):
    return Polynomial(x)(0.3) * Polynomial([x[0], 1.0]).deriv()(x[1])


class Reading:
    def __init__(self, x):
        self.x = x

    def __float__(self):
        return float(self.x[2]) ** 2


class Holds:  # a decorator's object: no name leads to the function that it holds
    def __init__(self, f):
        self.f = f

    def __call__(self, z):
        return self.f(z)


TABLE = {}


def entered(f):
    TABLE[f.__name__] = f


@Holds
def as_complex(z):
    return complex(z) * 2


@entered
def as_float(z):
    return float(z) * 5


def held_functions(x):
    return float(Reading(x)) + as_complex(x[0]).real * TABLE["as_float"](x[1])


def strided(x):
    frames = as_strided(x, shape=(2, 2), strides=(x.strides[0], x.strides[0]), writeable=False)
    turned = np.asfortranarray(np.outer(x, x))
    step = turned.strides[0]
    return np.sum(frames**2) + np.sum(as_strided(turned, (2, 3), (step, 2 * step)) * x)


PROGRAMS = [
    dispatches, asks_for_an_array, partials, nested_classes, sequences, joined_by_name,
    lists_by_keyword, lists_to_ufuncs, lists_put, remainders, numbered, imports_numpy, makes_text,
    converts, strided, held_functions, by_elements, by_rows, polynomial_by_name,
]  # fmt: skip
