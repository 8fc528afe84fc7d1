"""Every member of ndarray and every method of every ufunc: differentiated in all modes, or decided.

The lists are NumPy's own: ``dir(np.ndarray)``, and the ufuncs in ``np`` that take float64. A member
that a newer NumPy adds fails the first test until somebody decides it here.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from tests.harness import (
    check_adjoint,
    check_forward,
    check_forward_over_forward,
    check_forward_over_reverse,
    check_reverse,
    check_reverse_over_forward,
    check_reverse_over_reverse,
    quiet,
)
from tests.samples.core import Sample

CHECKS = (
    *(check_reverse, check_forward, check_adjoint, check_reverse_over_reverse),
    *(check_forward_over_reverse, check_reverse_over_forward, check_forward_over_forward),
)
Call = Callable[..., Any]


def uniform(low: float, high: float, *shapes: tuple[int, ...]) -> Any:
    """Arrays of distinct numbers, of the shapes given."""
    return lambda rng: tuple(rng.uniform(low, high, size=shape) for shape in shapes)


def check(name: str, call: Call, args: Any) -> None:
    """The promises of all modes and orders."""
    sample = Sample(f"method {name}", call, args)
    with quiet():
        for one in CHECKS:
            one(sample)


def changed(write: Call) -> Call:
    """What `write` leaves in a copy of its first argument."""

    def call(a: Any, *rest: Any) -> Any:
        buffer = a * 1.0
        result = write(buffer, *rest)
        return buffer if result is None else result

    return call


def assigned(y: Any, b: Any) -> None:
    """Repeated integers, then a slice that overlaps."""
    y[[0, 2, 0]] = b
    y[1:] *= y[:-1]


def of(name: str, *args: Any, **kwargs: Any) -> Call:
    """``x.name(...)``."""
    return lambda x: getattr(x, name)(*args, **kwargs)


# ------------------------------------------------------------------------------ members of ndarray
LINE, ROWS, SQUARE = ((3,),), ((2, 3),), ((3, 3),)
PAIR = ((3,), (3,))
DIFFERENTIATED: dict[str, tuple[Call, Any]] = {
    "T": (lambda x: x.T, ROWS),
    "mT": (lambda x: x.mT, ((2, 2, 3),)),
    "real": (lambda x: x.real * x, LINE),
    "imag": (lambda x: (x + 1j * x * x).imag, LINE),
    "flat": (lambda x: x.flat[1] * x.flat[::2], ROWS),
    "__abs__": (lambda x: abs(x - 1), LINE),
    "__neg__": (lambda x: -x, LINE),
    "__pos__": (lambda x: +x, LINE),
    "__add__": (lambda x: x + [1.0, 2.0, 3.0], LINE),
    "__radd__": (lambda x: [1.0, 2.0, 3.0] + x, LINE),
    "__sub__": (lambda x, y: x - y, ((3,), (2, 3))),
    "__rsub__": (lambda x: 2.0 - x, LINE),
    "__mul__": (lambda x, y: x * y, ((2, 1), (3,))),
    "__rmul__": (lambda x: 2.0 * x, LINE),
    "__truediv__": (lambda x, y: x / y, PAIR),
    "__rtruediv__": (lambda x: 2.0 / x, LINE),
    "__pow__": (lambda x, y: x**y, PAIR),
    "__rpow__": (lambda x: 2.0**x, LINE),
    "__mod__": (lambda x, y: (x + 3) % y, PAIR),
    "__rmod__": (lambda x: 5.0 % x, LINE),
    "__divmod__": (lambda x, y: divmod(x + 3, y), PAIR),
    "__rdivmod__": (lambda x: divmod(5.0, x), LINE),
    "__matmul__": (lambda x, y: x @ y, ((2, 3), (3, 2))),
    "__rmatmul__": (lambda x: np.ones((2, 2)) @ x, ROWS),
    "__iter__": (lambda x: [row * row for row in x][1], ROWS),
    "__getitem__": (lambda x: x[[0, 0, 2]] * x[-1] * x[x > 0.1] * x[::-1], LINE),
    "__copy__": (lambda x: copy.copy(x) * x, LINE),
    "__deepcopy__": (lambda x: copy.deepcopy(x) * x, LINE),
    "__iadd__": (changed(operator.iadd), PAIR),
    "__isub__": (changed(operator.isub), PAIR),
    "__imul__": (changed(operator.imul), PAIR),
    "__itruediv__": (changed(operator.itruediv), PAIR),
    "__ipow__": (changed(operator.ipow), PAIR),
    "__imod__": (changed(operator.imod), PAIR),
    "__ifloordiv__": (changed(operator.ifloordiv), PAIR),
    "__imatmul__": (changed(operator.imatmul), ((2, 2), (2, 2))),
    "__setitem__": (changed(assigned), PAIR),
    "astype": (lambda x: x.astype(complex) * x, LINE),
    "choose": (lambda x: np.choose([0, 1, 0], [x, x * x]), LINE),
    "clip": (of("clip", 0.7, 1.2), LINE),
    "compress": (of("compress", [True, False, True]), LINE),
    "conj": (lambda x: (x + 2j * x).conj(), LINE),
    "conjugate": (lambda x: (x + 2j * x).conjugate(), LINE),
    "copy": (of("copy"), LINE),
    "cumprod": (of("cumprod", 1), ROWS),
    "cumsum": (of("cumsum", 0), ROWS),
    "diagonal": (of("diagonal", 1), SQUARE),
    "dot": (lambda x, y: x.dot(y), ((2, 3), (3,))),
    "fill": (changed(lambda y, b: y.fill(b[1])), PAIR),
    "flatten": (of("flatten", "F"), ROWS),
    "item": (lambda x: np.stack([x.item(1) * x.item(0)]), LINE),
    "max": (of("max", 1), ROWS),
    "mean": (of("mean", axis=1), ROWS),
    "min": (of("min"), ROWS),
    "partition": (changed(lambda y: y.partition(1)), LINE),
    "prod": (of("prod", 1), ROWS),
    "put": (changed(lambda y, b: y.put([0, 2], b)), ((3,), (2,))),
    "ravel": (of("ravel", "F"), ROWS),
    "repeat": (of("repeat", 2), LINE),
    "reshape": (of("reshape", 3, -1, order="F"), ROWS),
    "sort": (changed(lambda y: y.sort()), LINE),
    "squeeze": (of("squeeze", 1), ((2, 1, 3),)),
    "std": (of("std", 0, ddof=1), ROWS),
    "sum": (of("sum", 0, keepdims=True), ROWS),
    "swapaxes": (of("swapaxes", 0, 1), ROWS),
    "take": (of("take", [0, 0, 1]), LINE),
    "to_device": (of("to_device", "cpu"), LINE),
    "tolist": (lambda x: np.stack(x.tolist()) * x, LINE),
    "trace": (of("trace", 1), SQUARE),
    "transpose": (of("transpose", 1, 2, 0), ((2, 1, 3),)),
    "var": (of("var", 0), ROWS),
    "view": (lambda x: x.view() * x, LINE),
}
FLAT = {  # of a value that no small step changes
    "__floordiv__": lambda x: x // 0.3,
    "__rfloordiv__": lambda x: 5.0 // x,
    "round": lambda x: x.round(1),
}
# Plain answers: booleans, integers, shapes, text. Each is compared with ndarray's own.
PLAIN: dict[str, Call] = {
    **{name: of(name) for name in ("all", "any", "argmax", "argmin", "argsort", "nonzero")},
    **{
        f"__{f.__name__}__": lambda x, f=f: f(x, x[::-1])
        for f in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
    },
    **{
        name: lambda x, name=name: getattr(x, name)
        for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "device")
    },
    "argpartition": of("argpartition", 1),
    "searchsorted": lambda x: np.sort(x).searchsorted([0.5, 1.0]),
    "flags": lambda x: x.flags.c_contiguous,
    "__bool__": lambda x: bool(x[0]),
    "__contains__": lambda x: 1.5 in x,
    "__len__": len,
    "__int__": lambda x: int(x[1]),
    "__str__": str,
    "__format__": lambda x: format(x[0], ".2f"),
}
REFUSED: dict[str, Call] = {
    **{
        f"__{side}{name}__": lambda x, f=f: f(x, 1)
        for name, f in (
            *(("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)),
            *(("lshift", operator.lshift), ("rshift", operator.rshift)),
        )
        for side in ("", "r", "i")
    },
    **{
        name: of(name)
        for name in ("byteswap", "dumps", "tobytes", "__array__", "__reduce__", "__dlpack__")
    },
    **{
        name: lambda x, name=name: getattr(x, name)
        for name in ("data", "ctypes", "__array_interface__", "__array_struct__")
    },
    "__reduce_ex__": of("__reduce_ex__", 4),
    "__dlpack_device__": of("__dlpack_device__"),
    "__setstate__": of("__setstate__", (1,)),
    "__invert__": operator.invert,
    "__float__": lambda x: float(x[0]),
    "__complex__": lambda x: complex(x[0]),
    "__index__": lambda x: operator.index(x[0]),
    "__delitem__": lambda x: operator.delitem(x, 0),
    "dump": of("dump", "/nowhere/x"),
    "tofile": of("tofile", "/nowhere/x"),
    "getfield": of("getfield", float),
    "setfield": of("setfield", 1.0, float),
    "resize": of("resize", (2,)),
}
# What a class has for itself, protocols, and hooks of subclasses.
OTHER = {
    *("__class__", "__class_getitem__", "__delattr__", "__dir__", "__doc__", "__getattribute__"),
    *("__getstate__", "__hash__", "__init__", "__init_subclass__", "__new__", "__repr__"),
    *("__setattr__", "__sizeof__", "__subclasshook__", "__array_finalize__", "__array_wrap__"),
    *("__array_function__", "__array_ufunc__", "__array_priority__", "__array_namespace__"),
    *("base", "setflags", "__buffer__"),
}
GONE = {"itemset", "newbyteorder", "ptp", "tostring", "__array_prepare__"}  # of NumPy 1


def test_every_member_of_ndarray_is_decided() -> None:
    decided = [*DIFFERENTIATED, *FLAT, *PLAIN, *REFUSED, *OTHER]
    assert len(decided) == len(set(decided)), "a member is decided twice"
    missing = set(dir(np.ndarray)) - set(decided) - GONE
    assert not missing, f"members of ndarray that nobody decided: {sorted(missing)}"


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_member(name: str) -> None:
    if not hasattr(np.ndarray, name):
        pytest.skip("this NumPy has no such member")
    call, shapes = DIFFERENTIATED[name]
    check(name, call, uniform(0.55, 1.45, *shapes))


X = np.array([1.5, 0.25, 0.75])


@pytest.mark.parametrize("name", FLAT)
def test_flat_member(name: str) -> None:
    value, pull = npgrad.vjp(FLAT[name], X)
    np.testing.assert_array_equal(value, FLAT[name](X))
    np.testing.assert_array_equal(pull(np.ones(3))[0], np.zeros(3))
    np.testing.assert_array_equal(npgrad.jvp(FLAT[name], (X,), (np.ones(3),))[1], np.zeros(3))


@pytest.mark.parametrize("name", PLAIN)
def test_plain_member(name: str) -> None:
    if not hasattr(np.ndarray, name):
        pytest.skip("this NumPy has no such member")
    answer = PLAIN[name](npgrad.array(X) * 1.0)
    assert not isinstance(answer, npgrad.GradArray)
    np.testing.assert_array_equal(answer, PLAIN[name](X))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_member(name: str) -> None:
    """An error, whether npgrad's own or the one of a plain array of floats."""
    recorded = npgrad.array(X) * 1.0
    with pytest.raises((npgrad.errors.NpgradError, AttributeError, TypeError, ValueError)):
        REFUSED[name](recorded)


def test_views_of_a_class() -> None:
    """ndarray itself is what a recorded array stands for; a subclass is refused by its name."""

    class Quantity(np.ndarray):
        pass

    for view in (lambda x: x.view(np.ndarray), lambda x: x.view(type=np.ndarray)):
        np.testing.assert_array_equal(npgrad.grad(lambda x, v=view: np.sum(v(x) * X))(X), X)
    recorded = npgrad.array(X) * 1.0
    for call in (lambda: recorded.view(Quantity), lambda: recorded.view(type=Quantity)):
        with pytest.raises(npgrad.errors.NoDerivative, match="Quantity"):
            call()
    with pytest.raises(ValueError, match="sub-type of ndarray"):
        recorded.view(type=float)


def test_interp_takes_what_numpy_takes() -> None:
    knots, values = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])
    for dtype in (np.complex128, np.longdouble):
        with pytest.raises(TypeError, match="according to the rule 'safe'"):
            npgrad.vjp(lambda x, d=dtype: np.interp(x.astype(d), knots, values), X)


# -------------------------------------------------------------------------------- methods of ufuncs
UFUNCS = {
    f.__name__: f for f in map(np.__dict__.get, sorted(np.__all__)) if isinstance(f, np.ufunc)
}
FLOATS = {name: f for name, f in UFUNCS.items() if any("d" in t.split("->")[0] for t in f.types)}
UNARY = [name for name, f in FLOATS.items() if (f.nin, f.nout) == (1, 1)]
BINARY = [name for name, f in FLOATS.items() if (f.nin, f.nout) == (2, 1) and not f.signature]
# For these, a result is in the domain of a second application where the argument is large.
DOMAIN = {"arccosh": (7.0, 12.0)}
ONCE = {"arccos", "arcsin", "arctanh", "log", "log2", "log10", "log1p", "sqrt"}


@pytest.mark.parametrize("name", UNARY)
def test_at_of_one_argument(name: str) -> None:
    """Applied again and again to a repeated index, in the place of the old value."""
    index = [0, 2] if name in ONCE else [0, 2, 0]
    low, high = DOMAIN.get(name, (0.15, 0.8))
    check(f"{name}.at", changed(lambda y: FLOATS[name].at(y, index)), uniform(low, high, (3,)))


@pytest.mark.parametrize("name", BINARY)
def test_at_of_two_arguments(name: str) -> None:
    ufunc = FLOATS[name]
    if name == "ldexp":
        exponents = np.array([1, 2, -1])
        check(name, changed(lambda y: ufunc.at(y, [0, 2, 0], exponents)), uniform(0.5, 1.5, (3,)))
        return
    args = uniform(0.6, 1.9, (3,), (3,))
    check(f"{name}.at", changed(lambda y, b: ufunc.at(y, [0, 2, 0], b)), args)


ELEMENTS = np.array([[0, 1, 2], [1, 2, 0]])
INDICES = {
    "an open grid": (np.arange(4)[:, None], np.arange(3)),
    "a number and a row": (0, np.arange(3)),
    "a slice and a row": (slice(0, 2), np.array([0, 2, 2])),
    "a slice": slice(1, 3),
    "lists": ([0, 1, 0], [1, 1, 1]),
    "an ellipsis": (..., 0),
    "a new axis": (None, 0),
    "a mask": np.array([[True, False, False]] * 4),
    "a mask and a number": (np.array([True, False, True, False]), 1),
    "a number": 2,
    "a matrix": np.array([[0, 1], [1, 0]]),
    "finite elements": (ELEMENTS[:, :, None], ELEMENTS[:, None, :]),
    "nothing": (np.zeros((0, 1), int), np.arange(3)),
}


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum"])
@pytest.mark.parametrize("kind", INDICES)
def test_at_takes_every_index(kind: str, name: str) -> None:
    """The second argument of ``at`` is an index, with all that an index may be."""
    index = INDICES[kind]
    make = uniform(0.6, 1.9, (4, 3), np.ones((4, 3))[index].shape)
    check(f"{name}.at {kind}", changed(lambda y, b: FLOATS[name].at(y, index, b)), make)
    check(f"sin.at {kind}", changed(lambda y: np.sin.at(y, index)), uniform(0.6, 1.9, (4, 3)))


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
@pytest.mark.parametrize("name", BINARY)
def test_method_of_a_ufunc(name: str, method: str) -> None:
    """What NumPy computes is differentiated, or plain where it is true or false."""
    ufunc = FLOATS[name]
    call: Call
    if method == "outer":
        call = ufunc.outer if name != "ldexp" else lambda a: ufunc.outer(a, np.array([1, -2]))
    elif method == "reduceat":
        call = lambda a: ufunc.reduceat(a, [0, 2])
    else:
        call = getattr(ufunc, method)
    shapes = ((2,), (3,)) if method == "outer" and name != "ldexp" else ((4,),)
    make = uniform(0.6, 1.9, *shapes)
    args = make(np.random.default_rng(0))
    try:
        with quiet():
            plain = call(*args)
    except TypeError:  # no loop of this method for floats, and so no recording either
        with pytest.raises((TypeError, NotImplementedError)):
            call(*(npgrad.array(x) * 1.0 for x in args))
        return
    if plain.dtype == bool:
        made = call(*(npgrad.array(x) * 1.0 for x in args))
        assert type(made) is type(plain)
        np.testing.assert_array_equal(made, plain)
    elif name in {"power", "float_power", "arctan2"} and method in {"reduce", "reduceat"}:
        pass  # NumPy's own loops misfold these on some processors: samples fold them by hand
    else:
        check(f"{name}.{method}", call, make)
