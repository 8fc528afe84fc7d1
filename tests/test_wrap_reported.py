"""Faults of wrapped code that users reported, each with what is right."""

from __future__ import annotations

import collections
import json
import re
import statistics
import struct
import sys
import types
import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import npgrad
from npgrad.errors import GradientLost
from npgrad.wrapping.holders import attributes_of
from tests.test_wrap_subclasses import differences
from tests.wrapped import asks_is

X = np.array([0.3, 0.7, 0.1])
Pair = collections.namedtuple("Pair", "a b")


class Sequence:
    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


class Convertible:
    def __init__(self, *values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values)


class Channel:
    kind = float

    def __init__(self, convert=float):
        self.convert = convert


CHANNEL, TABLE = Channel(), {"real": float, "complex": complex}


def diagonal(x):
    z = np.zeros((2, 2))
    np.fill_diagonal(z, [x[0], x[1]])
    return np.sum(z**2)


def buffers(x):
    b = np.zeros(2)
    b += Pair(x[0], x[1])
    b[:] = b * Pair(x[1], x[2])
    b += collections.deque([x[0], x[1]])
    b[:] = collections.deque([b[1], x[1] * b[0]])
    b += Sequence(x[0], x[1])
    b[0:2] = Sequence(b[0] ** 2, b[1])
    b += Convertible(x[0], x[1])
    b[:] = Convertible(x[1], x[2]) + b
    c = np.zeros(2)
    c.flat = [x[1], x[2]]
    return np.sum(b * b) + np.sum(c * b)


FUNCTIONS = {
    "r_": lambda x: np.sum(np.r_[x[0], x[1], [x[2], x[0]]] ** 2),
    "c_": lambda x: np.sum(np.c_[[x[0], x[1]], [x[2], x[0]]] ** 2),
    "polyfit": lambda x: np.sum(np.polyfit([0, 1, 2], [x[0], x[1], x[2]], 1) ** 2),
    "bincount": lambda x: np.sum(np.bincount([0, 1, 0], weights=[x[0], x[1], x[2]]) ** 2),
    "histogram": lambda x: np.sum(np.histogram([0.1, 0.5], 2, weights=[x[0], x[1]])[0] ** 2),
    "select": lambda x: np.sum(np.select([[True, False]], [[x[0], x[1]]], x[2]) ** 2),
    "choose": lambda x: np.sum(np.choose([0, 1], [[x[0], x[1]], [x[2], x[0]]]) ** 2),
    "multi_dot": lambda x: np.linalg.multi_dot([[[x[0], x[1]]], [[x[2]], [x[0]]]])[0, 0],
    "pad": lambda x: np.sum(np.pad([x[0], x[1]], 1, mode="edge") ** 2),
    "resize": lambda x: np.sum(np.resize([x[0], x[1]], 5) ** 2),
    "unique": lambda x: np.sum(np.unique([x[0], x[1], x[0]]) ** 2),
    "extract": lambda x: np.sum(np.extract([True, False], [x[0], x[1]]) ** 2),
    "array_split": lambda x: np.sum(np.array_split([x[0], x[1], x[2]], 2)[0] ** 2),
    "broadcast_arrays": lambda x: np.sum(np.broadcast_arrays([x[0], x[1]], x[2])[0] ** 2),
    "apply_along_axis": lambda x: np.sum(np.apply_along_axis(np.sum, 0, [x[0] * x[1], x[1]])),
    "partition": lambda x: np.partition([x[0], x[1], x[2]], 1)[0] ** 2,
    "i0": lambda x: np.sum(np.i0([x[0], x[1]])),
    "windows": lambda x: np.sum(sliding_window_view([x[0], x[1], x[2]], 2) ** 2),
    "nonzero": lambda x: x[np.nonzero([0.0, x[0]])][0],
    "poly": lambda x: np.sum(np.poly([x[0], x[1]]) ** 2),
    "poly1d": lambda x: np.poly1d([x[0], x[1], 2.0])(x[2]) + np.poly1d((x[0], x[1])).deriv()(0.0),
    "fill_diagonal": diagonal,
    "buffers": buffers,
    "transpose": lambda x: np.sum(x.transpose(np.int64(0)) ** 2),
    "float of an object": lambda x: CHANNEL.convert(x[0]) * x[1] + CHANNEL.kind(x[2]) ** 2,
    "float of a table": lambda x: TABLE["real"](x[0]) * abs(TABLE["complex"](x[1])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name) -> None:
    f = FUNCTIONS[name]
    held = dict(vars(CHANNEL)), dict(TABLE), dict(vars(Channel))
    np.testing.assert_allclose(npgrad.grad(f)(X), differences(f, X), rtol=1e-8, atol=1e-11)
    assert (dict(vars(CHANNEL)), dict(TABLE), dict(vars(Channel))) == held
    assert (CHANNEL.convert, TABLE["complex"]) == (float, complex)
    assert id(CHANNEL.convert) == id(float)


ADD = np.frompyfunc(lambda a, b: a * b + b, 2, 1)


def folded(x):
    made = np.frompyfunc(lambda a, b: a * b + a, 2, 1)
    table = np.stack([x, x**2])
    total = made.reduce(x) + np.sum(made.reduce(table, axis=1) ** 2) + made.reduce([x[0], x[1]])
    total = total + np.sum(made.accumulate(x) ** 2) + np.sum(made.accumulate(table, 1))
    total = total + np.sum(made.outer(x, [1.0, x[1]]) ** 2) + ADD.reduce(x)
    assert made.reduce(np.arange(3)) == made(made(0, 1), 2)
    return total


def test_methods_of_a_ufunc_of_python() -> None:
    np.testing.assert_allclose(npgrad.grad(folded)(X), differences(folded, X), rtol=1e-8)
    with pytest.raises(npgrad.errors.NoDerivative, match="one axis"):
        npgrad.grad(lambda x: np.sum(ADD.reduce(x, keepdims=True)))(X)


def test_what_stands_for_poly1d_is_it() -> None:
    class Mine(np.poly1d):
        pass

    def f(x):
        p, plain = np.poly1d([x[0], 1.0]), np.poly1d([2.0, 1.0])
        assert isinstance(p, np.poly1d) and isinstance(plain, np.poly1d)
        assert not isinstance(1.0, np.poly1d) and type(plain) == np.poly1d  # noqa: E721
        assert isinstance(Mine([1.0]), Mine) and issubclass(Mine, np.poly1d)
        return p(2.0)

    assert npgrad.grad(f)(X).tolist() == [2.0, 0.0, 0.0]


def test_a_package_that_is_not_wrapped_is_named(monkeypatch) -> None:
    other = types.ModuleType("another_package")
    exec("import math\ndef sine(x):\n    return math.sin(x)\n", vars(other))
    monkeypatch.setitem(sys.modules, "another_package", other)
    with pytest.raises(GradientLost, match=r"npgrad\.wrap\(f, also=\('another_package',\)\)"):
        npgrad.grad(lambda x: other.sine(x[0]))(X)
    f = npgrad.wrap(lambda x: other.sine(x[0]), also=("another_package",))
    np.testing.assert_allclose(npgrad.grad(f)(X), [np.cos(X[0]), 0, 0])
    f = npgrad.wrap(lambda x: statistics.fmean(x), also=("statistics",))
    np.testing.assert_allclose(npgrad.grad(f)(X), np.full(3, 1 / 3))


def test_the_line_that_keeps_float_python_s_is_named() -> None:
    with pytest.raises(GradientLost, match=r"isinstance\(v, float\) .* at asks_is\.py:7,"):
        npgrad.grad(asks_is.converts)(X)


@pytest.mark.parametrize("also", [(), ("scipy",)])
@pytest.mark.parametrize("name", ["golden", "fmin", "brute", "minimize", "minimize_scalar"])
def test_minimisers_that_only_compare_are_refused(name, also) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    options = {
        "golden": {},
        "fmin": {"x0": 0.5, "disp": False},
        "brute": {"ranges": ((0, 1),), "finish": None},
        "minimize": {"x0": [0.5], "method": "Nelder-Mead"},
        "minimize_scalar": {"method": "golden"},
    }[name]
    call = getattr(optimize, name)

    def f(x):
        made = call(lambda t: np.sum((t - x[0]) ** 2), **options)
        return np.sum(getattr(made, "x", made))

    with pytest.raises(GradientLost, match=f"scipy.optimize.{name} takes"):
        npgrad.grad(npgrad.wrap(f, also=also))(X)

    def of_constants(x):
        made = call(lambda t: np.sum((t - 0.5) ** 2), **options)
        return np.sum(getattr(made, "x", made)) * x[0]

    gradient = npgrad.grad(npgrad.wrap(of_constants, also=also))(X)
    np.testing.assert_allclose(gradient, [0.5, 0, 0], atol=0.05)


def test_geometry_of_constants_when_scipy_records() -> None:
    """Compiled modules of SciPy keep NumPy's own makers: they take the memory of an array."""
    spatial = pytest.importorskip("scipy.spatial")
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    def f(x):
        corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        hull = spatial.ConvexHull(corners).volume + spatial.Delaunay(points).nsimplex
        return x[0] * (hull + spatial.KDTree(corners).query(np.array([0.1, 0.1]))[1])

    assert npgrad.grad(npgrad.wrap(f, also=("scipy",)))(X).tolist() == [1.5, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_distributions_answer_as_scipys() -> None:
    theirs = pytest.importorskip("scipy.stats")
    ours = npgrad.scipy.stats
    for name in ("norm", "gamma", "beta", "poisson", "logistic", "t"):
        mine, law = getattr(ours, name), getattr(theirs, name)
        assert mine.shapes == law.shapes and isinstance(mine, type(law))
    assert isinstance(ours.norm, theirs.rv_continuous) and isinstance(
        ours.poisson, theirs.rv_discrete
    )
    statistic = npgrad.wrap(lambda x: theirs.anderson(x, "norm").statistic, also=("scipy",))
    x = np.array([0.3, 0.7, 0.1, 1.9, -0.4])
    expected = differences(lambda x: theirs.anderson(x, "norm").statistic, x)
    np.testing.assert_allclose(npgrad.grad(statistic)(x), expected, rtol=1e-6)


def test_data_that_is_written_out_is_explained() -> None:
    for call in (lambda x: json.dumps([float(v) for v in x]), lambda x: struct.pack("d", x[0])):
        with pytest.raises((TypeError, struct.error)) as caught:
            npgrad.grad(call)(X)
        assert "npgrad.value(x).item()" in caught.value.__notes__[0]


def test_a_class_that_cannot_be_changed_is_passed_over() -> None:
    class Mutable:
        make = np.zeros

    found = list(attributes_of(Mutable, frozenset()))
    assert len(found) == 1
    for kind in (re.Pattern, int, np.ndarray):
        assert not list(attributes_of(kind, frozenset()))
    torch = pytest.importorskip("torch")
    f = npgrad.wrap(lambda x: np.sum(x**2), also=("torch",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of what it deprecates
        np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    assert torch.zeros(1).item() == 0


def test_a_draw_into_a_buffer_is_explained() -> None:
    def f(x):
        return np.sum(np.random.default_rng(0).standard_normal(out=np.empty(3)) * x)

    with pytest.raises(ValueError, match="contiguous") as caught:
        npgrad.grad(f)(X)
    assert "rng.standard_normal(n)" in caught.value.__notes__[0]
