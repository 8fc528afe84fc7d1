"""Ways in which people write NumPy code: names, classes, checks of type, lists, decorators."""

import cmath
import contextlib
import dataclasses
import functools
import math
import numbers
from math import atan2, sqrt
from math import log as ln

import numpy as np
import numpy.linalg as la
from numpy import zeros as z
from scipy.linalg import solve

SCALE = np.array([1.0, 2.0, 3.0])


def floats(x):
    a, b = float(x[0]), float(np.sum(x))
    return a * b + sum(map(float, x)) ** 2


def reads_float_as_a_type(x):
    assert isinstance(2.0, float) and not isinstance(2, float)
    assert np.zeros(2, dtype=float).dtype == float and np.dtype(float) == np.float64
    assert {float: 1}[float] == 1 and float in (int, float)
    kind = float
    assert kind == float  # noqa: E721 -- people write it
    assert issubclass(np.float64, float) and float("1.5") == 1.5 and float.fromhex("0x1p1") == 2.0
    return np.sum(x.astype(float) ** 2) * float(3)


def types_of_arrays(x):
    assert isinstance(x, np.ndarray) and type(x) is np.ndarray and not isinstance(x, float)
    s = x[0]
    assert isinstance(s, float) and isinstance(s, np.floating) and isinstance(s, np.generic)
    assert isinstance(s, numbers.Number) and isinstance(s, numbers.Real) and np.isscalar(s)
    assert not isinstance(s, np.ndarray) and not np.isscalar(x) and type(s) is np.float64
    assert not isinstance(x, (list, tuple, dict, str))
    return np.sum(x) * s


def mathematics(x):
    a = math.sqrt(x[0]) + math.fsum([x[0], x[1]]) + math.atan2(x[0], x[1]) + math.pow(x[0], 2)
    b = math.gamma(x[2]) + math.erf(x[0]) + math.dist([x[0], x[1]], [1.0, x[2]])
    return a * b + math.hypot(x[0], x[1], x[2]) + abs(cmath.exp(1j * x[0]) * x[1])


def mathematics_by_name(x):
    return sqrt(x[0]) * atan2(x[1], x[2]) + ln(x[2], 2) + ln(x[0]) + sqrt(2.0)


def lists(x):
    total = np.sum([x[0], x[1] ** 2]) + np.mean([x[0], 3.0]) + max([x[0], x[2]])
    total += np.dot([x[0], x[1]], [1.0, x[2]]) + la.norm([x[0], x[2]]) + np.prod((x[0], x[1]))
    return total + np.max([x[0], x[1]]) + np.cross([x[0], 0, 1.0], [1, x[1], x[2]])[2]


def reshapes(x):
    y = x * 2.0
    y.shape = (3, 1)
    y[1, 0] *= x[0]
    z = np.outer(x, x)
    row = z[1]
    z[0, 0] = 3.0
    z.shape = -1
    row[0] = x[2]
    z[4] = x[1]
    return (y @ np.ones((1, 2))).ravel() @ np.arange(6.0) + np.sum(z**2)


def makers(x):
    table = np.array([[x[0], 1.0], [2.0, x[1]]])
    buffer = z((2, 2))
    buffer[0, 1] = x[2]
    filled = np.full((2, 2), x[0]) + np.eye(2) + np.diagflat([x[0], x[1]])
    made = np.fromiter((v * v for v in x), dtype=float)
    grid = np.mgrid[0:2, 0:2] * x[0]
    columns = np.c_[x, np.arange(3.0)]
    return np.sum((table + buffer) @ filled) + np.sum(made) + np.sum(grid) + np.sum(columns**2)


def random(x):
    noise = np.random.default_rng(0).normal(size=3)
    assert type(noise) is np.ndarray
    return np.sum(x * noise) + np.random.RandomState(1).rand() * x[0]


@np.vectorize
def ramp(t, slope=2.0):
    return slope * t if t > 1 else t**3


def vectorized(x):
    scaled = np.vectorize(lambda t, k: k * t**2, excluded=["k"])(x, k=3.0)
    cubed = np.frompyfunc(lambda t: t**3, 1, 1)(x)
    return np.sum(ramp(x) * scaled) + np.sum(cubed)


def out_buffers(x):
    buffer = np.empty(3)
    np.multiply(x, 2.0, out=buffer)
    np.add(buffer, x, buffer)
    np.cumsum(buffer, out=buffer)
    return buffer @ SCALE


def makes_closures(make=np.zeros, xp=np):
    def fill(x):
        buffer = make(3)
        buffer[1] = x[0] * x[1]
        return xp.asarray(buffer) + xp.array([x[2], 0.0, 1.0])

    return fill


closure = makes_closures()


def defaults(x, make=np.empty, *, xp=np):
    buffer = make(2)
    buffer[0] = x[0]
    buffer[1] = x[1]
    return xp.sum(xp.asarray(buffer) ** 2)


def traced(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        held = np.zeros(1)
        held[0] = function(*args, **kwargs)
        return held[0]

    return inner


@traced
@traced
def decorated(x):
    return x[0] * x[1] * x[2]


@dataclasses.dataclass
class Base:
    gain: float = 2.0

    @property
    def weights(self):
        return np.array([self.gain, 1.0, 0.5])

    @classmethod
    def of(cls, x):
        made = cls(float(x[0]))
        return made(x)

    @staticmethod
    def square(x):
        buffer = np.zeros(3)
        buffer[:] = x * x
        return buffer

    def __call__(self, x):
        return np.sum(self.weights * self.square(x))


def recursive(x, depth=3):
    if depth == 0:
        return np.array([x[0], x[1], x[2]])
    buffer = np.zeros(3)
    buffer[depth - 1] = x[depth - 1]
    return buffer * recursive(x, depth - 1) + x


def generated(x):
    def parts():
        for i in range(3):
            part = np.zeros(2)
            part[0] = x[i]
            yield part

    return sum(part @ np.array([2.0, 1.0]) for part in parts())


@functools.lru_cache
def table_of(n):
    return np.linspace(0.0, 1.0, n) + 1.0


@functools.lru_cache
def cached(t):
    return t * t


def caches(x):
    return np.sum(table_of(3) * x) + cached(x[0]) + cached(x[0])


@contextlib.contextmanager
def scope():
    yield np.ones(3)


def contexts(x):
    with scope() as ones:
        ones[0] = x[1]
        return ones @ x


def solves(x):
    return np.sum(solve(np.array([[x[0], 1.0], [0.0, x[1]]]), x[:2]))


def imports_inside(x):
    from tests.wrapped import imported_late

    return imported_late.fill(x)


exec("def executed(x):\n    b = np.zeros(3)\n    b[0] = x[2] ** 2\n    return np.sum(b)")
PROGRAMS = [
    floats, reads_float_as_a_type, types_of_arrays, mathematics, mathematics_by_name, lists,
    makers, reshapes, random, vectorized,
    out_buffers, closure, defaults, decorated, Base(), Base.of, Base().square, recursive, generated,
    caches, contexts, solves, imports_inside, executed,  # noqa: F821
]  # fmt: skip
