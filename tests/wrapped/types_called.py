"""NumPy's types called as functions, makers of arrays like others, numbers in odd containers.

No function here asks ``is np.float64``: a module that does keeps NumPy's own types.
"""

import math
from collections import abc
from collections.abc import Iterable

import numpy as np
from numpy import double, float32

TABLE = np.array([0.5, 0.25, 2.0])


FUNCTIONS = {"sine": math.sin, "make": np.zeros, 3: "nothing"}


class Backend:
    make = np.zeros
    like = staticmethod(np.zeros_like)
    total = np.sum

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name)


xp = Backend(np)


def holders(x):
    out = FUNCTIONS["make"](3)
    out[0] = FUNCTIONS["sine"](x[0])
    out[1] = xp.array([x[0], x[1]])[1]
    more = xp.make(2)
    more[:] = x[1:]
    other = Backend.make(2) + xp.like(more)
    other += more
    return xp.sum(out * x) * Backend.total([x[0], 2.0]) + np.sum(other)


def calls_types(x, kind=np.float64):
    a = np.float64(x[0]) * np.float64(x) + double(2.5) + kind([x[1], x[2]])[0]
    assert np.float64("1.5") == 1.5 and type(np.float64(2)) == np.float64  # noqa: E721
    assert a.dtype == np.float64 and np.float64 == a.dtype and np.dtype(np.float64) == a.dtype
    assert isinstance(x[0], np.float64) and issubclass(np.float64, np.floating)
    assert {np.float64: 1}[x.dtype.type] == 1 and x.dtype.type in (np.float32, np.float64)
    assert np.zeros(2, np.float32).dtype == np.float32 and float32(1.5).dtype == np.float32
    return np.sum(a) + np.sum(np.complex128(x[0]).real * np.array([x[1]], dtype=np.float64))


def an_array_from_its_class(x):
    out = np.ndarray(3)
    two = np.ndarray(shape=(2, 2), dtype=np.float64)
    assert isinstance(out, np.ndarray) and isinstance(two, np.ndarray)
    out[:], two[:] = x * x, x[:2]
    return np.sum(out) + np.sum(two) * x[2]


def like_others(x):
    out = np.zeros_like(TABLE)
    out[0] = x[0]
    out += np.ones_like(TABLE) * x
    copied = np.copy(TABLE)
    copied[1:] *= x[:2]
    filled, empty = np.full_like(TABLE, x[2]), np.empty_like(TABLE)
    empty[:] = np.full_like(TABLE, 2.0) * x
    assert type(TABLE) == np.ndarray  # noqa: E721
    return np.sum(out * copied) + np.sum(filled * empty)


def rows_of_lists(x):
    a = np.hstack((x, (x[0], x[1])))
    b = np.concatenate([[x[0], 1.0], [2.0, x[2]]]) + np.append([x[0], 2.0, 3.0], x[1])
    c = np.vstack([[x[0], x[1]], (x[2], 1.0)]) + np.column_stack(([x[0], 2.0], x[:2]))
    return np.sum(a) ** 2 + np.sum(b * b) + np.linalg.det(c)


def numbers_and_arrays(x):
    s = np.sum(x)
    assert isinstance(x, Iterable) and isinstance(x, abc.Sized) and hasattr(x, "__len__")
    assert not isinstance(s, Iterable) and not isinstance(s, abc.Sized)
    assert not hasattr(s, "__iter__") and hasattr(s, "shape") and isinstance([s], Iterable)
    assert issubclass(list, Iterable) and issubclass(np.ndarray, abc.Collection)

    class Mine(Iterable):
        def __iter__(self):
            return iter((x[0], s))

    assert isinstance(Mine(), Iterable) and not isinstance(2.0, Mine)
    return sum(Mine()) * s


def nothing_masked(x):
    data = np.ma.atleast_2d(x) * np.ma.asarray([x[0], 1.0, 2.0])
    assert not np.any(np.ma.getmask(data)) and not np.ma.getmaskarray(data).any()
    assert np.ma.masked_array([1.0, 2.0], mask=[True, False]).mean() == 2.0
    return np.ma.sum(data) + np.ma.array(x, mask=False, copy=True)[0] * np.sum(np.ma.getdata(x))


def numbers_of_one_element(x):
    one = np.array(x[0])
    total = math.cos(one) * math.atan2(one, x[2])
    try:
        math.sin(x)
    except TypeError:
        total = total * 2.0
    return total + math.fsum(v * v for v in x) + math.prod(iter(x))


PROGRAMS = [
    nothing_masked,
    holders,
    calls_types,
    an_array_from_its_class,
    like_others,
    rows_of_lists,
    numbers_and_arrays,
    numbers_of_one_element,
]
