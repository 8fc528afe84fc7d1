"""What array makers become in wrapped code.

Inside a wrapped call they give GradArrays, constant ones, so that recorded values can be written
into them; a list of recorded values becomes a recorded array, and a recorded array passes through
``np.asarray`` as itself. Integer, boolean, text and object arrays stay plain. Outside of a wrapped
call, and in other threads, they are NumPy's own after one look at a context variable.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.graph import backend
from npgrad.graph.array import GradArray, lost, unwrap
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.graph.views import region
from npgrad.methods import adopted

Maker = Callable[..., Any]


def constant(made: Any) -> Any:
    """`made` as a constant GradArray if it is a floating or complex array."""
    if type(made) is np.ndarray and backend.is_inexact(made.dtype):
        return GradArray(made, None)
    return made


def arange(*args: Any, **kwargs: Any) -> Any:
    """``np.arange``; the bounds may be recorded."""
    if not ACTIVE.get() or "like" in kwargs:
        return np.arange(*args, **kwargs)
    if not has_recorded(args) and not has_recorded(tuple(kwargs.values())):
        return constant(np.arange(*args, **kwargs))
    dtype = kwargs.pop("dtype", None)
    named = [kwargs[name] for name in ("start", "stop", "step") if name in kwargs]
    start, step, bounds = 0.0, 1.0, (*args, *named)
    if len(bounds) > 1:
        start, step = bounds[0], bounds[2] if len(bounds) > 2 else 1.0
    count = np.arange(*[unwrap(bound) for bound in bounds]).size
    made = start + np.arange(count) * ((start + step) - start)  # NumPy's own arithmetic
    return made if dtype is None else made.astype(dtype)


def fresh(function: Any) -> Maker:
    """A maker whose arguments hold no array: zeros, eye, arange."""

    @functools.wraps(function)
    def maker(*args: Any, **kwargs: Any) -> Any:
        if not ACTIVE.get() or "like" in kwargs:
            return function(*args, **kwargs)
        return constant(function(*args, **kwargs))

    return maker


def filled(function: Any) -> Maker:
    """A maker whose arguments may be recorded: full, linspace, logspace, geomspace."""

    @functools.wraps(function)
    def maker(*args: Any, **kwargs: Any) -> Any:
        if not ACTIVE.get():
            return function(*args, **kwargs)
        kwargs.pop("like", None)  # what is made records in any case
        if has_recorded(args) or has_recorded(tuple(kwargs.values())):
            return _recorded_fill(function, args, kwargs)
        return constant(function(*args, **kwargs))

    return maker


def _recorded_fill(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _full(*args, **kwargs) if function is np.full else function(*args, **kwargs)


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **kwargs: Any) -> Any:
    """``np.full`` of a recorded value."""
    value = stacked(fill_value) if type(fill_value) is not GradArray else fill_value
    made = GradArray(np.zeros(shape, value.dtype if dtype is None else dtype, order), None)
    made[...] = value
    return made


def converted(function: Any, copies: bool) -> Maker:
    """A converter: array, asarray, ascontiguousarray."""

    @functools.wraps(function)
    def maker(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not ACTIVE.get():
            return function(a, *args, **kwargs)
        kwargs.pop("like", None)  # what is made records in any case
        kind = type(a)
        if kind is GradArray:
            return _converted(function, a, args, kwargs)
        if kind is list or kind is tuple:
            if has_recorded(a):
                return _converted(np.asarray if copies else function, stacked(a), args, kwargs)
            return constant(function(a, *args, **kwargs))
        made = function(a, *args, **kwargs)
        return constant(made) if copies or made is not a else made

    return maker


def _converted(function: Any, a: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A recorded array through ``np.array`` and its kin: itself, or a copy where NumPy copies."""
    plain = region(a)[0]
    least = kwargs.pop("ndmin", 0)
    made = function(plain, *args, **kwargs)
    if not backend.is_inexact(made.dtype):
        if made.dtype.kind not in "iub":
            raise GradientLost(lost(a, f"an array of {made.dtype}"))
        return made
    shape = (1,) * (least - made.ndim) + made.shape
    same = made is plain or (backend.is_view(made, plain) and not backend.is_scalar(plain))
    made = a if same else adopted(a, made.reshape(a.shape))
    return made if made.shape == shape else made.reshape(shape)


class Joined:
    """``np.r_`` and ``np.c_``, which index with what they join."""

    def __init__(self, original: Any, columns: bool) -> None:
        self._original = original
        self._columns = columns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not ACTIVE.get() or not has_recorded(parts):
            made = self._original[key]
            return constant(made) if ACTIVE.get() else made
        arrays = [
            self._original[part] if isinstance(part, slice) else np.atleast_1d(_array(part))
            for part in parts
            if not isinstance(part, str)
        ]
        return np.column_stack(arrays) if self._columns else np.concatenate(arrays)


def _array(part: Any) -> Any:
    return stacked(part) if isinstance(part, (list, tuple)) and has_recorded(part) else part


def _makers() -> dict[str, Any]:
    makers: dict[str, Any] = {}
    empty = ["zeros", "ones", "empty", "eye", "identity", "fromiter", "tri"]
    makers.update({name: fresh(getattr(np, name)) for name in empty})
    full = ("full", "linspace", "logspace", "geomspace")
    makers.update({name: filled(getattr(np, name)) for name in full})
    makers["arange"] = functools.wraps(np.arange)(arange)
    makers["array"] = converted(np.array, True)
    through = ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require")
    makers.update({name: converted(getattr(np, name), False) for name in through})
    makers["r_"] = Joined(np.r_, False)
    makers["c_"] = Joined(np.c_, True)
    return makers


def _recording_math() -> types.ModuleType:
    """The `math` module with NumPy's functions for recorded arguments."""
    made = types.ModuleType("math", math.__doc__)
    made.__dict__.update(math.__dict__)
    renamed = {
        "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2",
        "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh", "pow": "power",
        "fmod": "fmod", "degrees": "degrees", "radians": "radians", "fabs": "fabs",
        "copysign": "copysign", "hypot": "hypot", "ldexp": "ldexp",
    }  # fmt: skip
    same = """sin cos tan sinh cosh tanh exp exp2 expm1 log1p log2 log10 sqrt cbrt isnan isinf
    isfinite"""
    renamed.update({name: name for name in same.split()})
    for name, ufunc in renamed.items():
        if hasattr(math, name):
            made.__dict__[name] = _dispatched(getattr(math, name), getattr(np, ufunc))
    made.__dict__["log"] = _dispatched(math.log, _log)
    made.__dict__["fsum"] = _dispatched(math.fsum, np.sum)
    made.__dict__["prod"] = _dispatched(math.prod, np.prod)
    return made


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _dispatched(function: Any, ufunc: Any) -> Maker:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        for value in args:
            if type(value) is GradArray or (type(value) in (list, tuple) and has_recorded(value)):
                return ufunc(*args)
        return function(*args)

    return call


MAKERS = _makers()
MATH = _recording_math()


def recording_numpy() -> types.ModuleType:
    """The numpy module with other makers; every other name is NumPy's own object."""
    made = types.ModuleType("numpy", np.__doc__)
    made.__dict__.update(np.__dict__)
    made.__dict__.update(MAKERS)
    made.__dict__["__getattr__"] = functools.partial(getattr, np)
    return made


__all__ = ["ACTIVE", "MAKERS", "MATH", "recording_numpy"]
