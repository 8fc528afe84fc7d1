"""What array makers become in wrapped code.

Inside a wrapped call they give GradArrays, constant ones, so that recorded values can be written
into them; a list of recorded values becomes a recorded array, and a recorded array passes through
``np.asarray`` as itself. Integer, boolean, text and object arrays stay plain. Outside of a wrapped
call, and in other threads, they are NumPy's own after one look at a context variable.
"""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import math
import types
from typing import Any

import numpy as np

from npgrad.errors import GradientLost, NoDerivative
from npgrad.graph import backend, ownership
from npgrad.graph.array import GradArray, lost, plain, recorded, storage, unwrap
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded, in_objects, items_of, stacked
from npgrad.graph.views import region
from npgrad.methods import adopted
from npgrad.rules import creation
from npgrad.wrapping.elements import Vectorize, apply_along_axis, frompyfunc
from npgrad.wrapping.lists import Maker, constant, recorded_polynomial, vector
from npgrad.wrapping.structured import Structured, of_rows
from npgrad.wrapping.subclasses import elements, holds_elements

MISSING = object()
SEQUENCES = (list, tuple, collections.deque, collections.UserList)  # with named tuples


def arange(*args: Any, **kwargs: Any) -> Any:
    """``np.arange``; the bounds may be recorded."""
    if not ACTIVE.get() or "like" in kwargs:
        return np.arange(*args, **kwargs)
    if not has_recorded(args) and not has_recorded(tuple(kwargs.values())):
        return constant(np.arange(*args, **kwargs))
    return creation.arange(*args, **kwargs)


def fresh(function: Any) -> Maker:
    """A maker whose arguments hold no recorded number: zeros, eye, zeros_like."""

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
    if function is np.full_like and type(args[0]) is not GradArray:
        return _full_like(*args, **kwargs)
    return _full(*args, **kwargs) if function is np.full else function(*args, **kwargs)


def _full_like(a: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``np.full_like`` of a plain array, filled with a recorded value."""
    made = np.empty_like(a, dtype, *args, **kwargs)
    if not backend.is_inexact(made.dtype):
        raise GradientLost(lost(vector(fill_value), f"an array of {made.dtype}"))
    made = GradArray(made, None)
    made[...] = fill_value
    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **kwargs: Any) -> Any:
    """``np.full`` of a recorded value."""
    value = stacked(fill_value) if type(fill_value) is not GradArray else fill_value
    made = GradArray(np.zeros(shape, value.dtype if dtype is None else dtype, order), None)
    made[...] = value
    return made


def converted(function: Any, copies: bool) -> Maker:
    """A converter: array, asarray, ascontiguousarray."""

    @functools.wraps(function)
    def maker(*args: Any, **kwargs: Any) -> Any:
        return active(*args, **kwargs) if ACTIVE.get() else function(*args, **kwargs)

    def active(a: Any = MISSING, *args: Any, **kwargs: Any) -> Any:
        if a is MISSING:  # np.array takes it by another name
            if "object" not in kwargs:
                return function(*args, **kwargs)  # NumPy says what is missing
            a = kwargs.pop("object")
        kwargs.pop("like", None)  # what is made records in any case
        kind = type(a)
        if kind is GradArray:
            return _converted(function, a, args, kwargs)
        if kind is Structured and not (args or kwargs.keys() - {"copy", "subok"}):
            return a.copy() if copies and kwargs.get("copy", True) is not False else a
        if holds_elements(a):
            if function is np.asanyarray and not (args or kwargs):
                return a
            return _converted(function, elements(a), args, kwargs)
        if kind is list or kind is tuple or isinstance(a, SEQUENCES):
            if has_recorded(a):
                _refuse_objects(args[0] if args else kwargs.get("dtype"))
                if _has_fields(args, kwargs):
                    return of_rows(a, args[0] if args else kwargs["dtype"])
                kwargs.pop("subok", None)  # np.asarray, which copies no more, does not know it
                return _converted(np.asarray if copies else function, stacked(a), args, kwargs)
            return constant(function(a, *args, **kwargs))
        if recorded_polynomial(a):
            return _converted(function, a.coeffs, args, kwargs)
        if type(getattr(kind, "__array__", None)) is types.FunctionType:  # of a wrapped class
            given = inspect.unwrap(kind.__array__)(a)
            if type(given) is GradArray:
                return _converted(function, given, args, kwargs)
        if (items := items_of(a)) is not None and has_recorded(items):
            return _converted(np.asarray if copies else function, stacked(items), args, kwargs)
        made = function(a, *args, **kwargs)
        return constant(made) if copies or made is not a else made

    return maker


def _refuse_objects(dtype: Any) -> None:
    """Raise where lists of recorded values, of any lengths, would become an array of objects."""
    if dtype is not None and np.dtype(dtype).hasobject:
        raise GradientLost(in_objects(np.dtype(dtype)))


def _has_fields(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the type asked for is a structured one."""
    dtype = args[0] if args else kwargs.get("dtype")
    return isinstance(dtype, (list, np.dtype)) and np.dtype(dtype).names is not None


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
    same = made is plain or (ownership.is_view(made, plain) and not backend.is_scalar(plain))
    made = a if same else adopted(a, made.reshape(a.shape))
    return made if made.shape == shape else made.reshape(shape)


class Joined:
    """``np.r_`` and ``np.c_``, which index with what they join."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not ACTIVE.get() or not _indexes_recorded(parts):
            made = self._original[key]
            return constant(made) if ACTIVE.get() else made
        rule = self._original
        axis, least, place = rule.axis, rule.ndmin, rule.trans1d
        if isinstance(parts[0], str):
            axis, least, place = _directive(parts[0], axis, least, place)
            parts = parts[1:]
        if any(isinstance(part, str) for part in parts):
            raise ValueError("special directives must be the first entry.")
        return np.concatenate([_joined_part(part, least, place) for part in parts], axis)


def _indexes_recorded(parts: tuple[Any, ...]) -> bool:
    """Whether an index that makes an array holds a recorded value, in a slice or beside them."""
    return has_recorded(parts) or any(
        isinstance(part, slice) and has_recorded((part.start, part.stop, part.step))
        for part in parts
    )


def _directive(text: str, axis: int, least: int, place: int) -> tuple[int, int, int]:
    """``'axis'``, ``'axis,ndmin'`` or ``'axis,ndmin,trans1d'`` in place of the rule of ``r_``."""
    if text in ("r", "c"):
        raise NoDerivative(
            f"npgrad: np.r_[{text!r}, ...] makes a np.matrix, which is not recorded. Instead: "
            "np.concatenate and reshape."
        )
    try:
        given = [int(number) for number in text.split(",")]
    except ValueError as error:
        raise ValueError(f"unknown special directive {text!r}") from error
    return tuple(given + [axis, least, place][len(given) :])  # type: ignore[return-value]


def _joined_part(part: Any, least: int, place: int) -> Any:
    """One entry of ``r_`` with at least `least` axes, its own first at `place` among them."""
    if isinstance(part, slice):
        part = _stepped(part)
        return part if least == 1 else _padded_shape(part, least, place, part.ndim)
    array = MAKERS["asanyarray"](vector(part))
    return _padded_shape(array, least, place, array.ndim)


def _padded_shape(array: Any, least: int, place: int, own: int) -> Any:
    """`array` with axes of length one before its own, or where NumPy's ``trans1d`` puts them."""
    missing = max(least - array.ndim, 0)
    array = array.reshape((1,) * missing + array.shape)
    if place == -1 or own >= least:
        return array
    shift = least - own
    first = place + shift + 1 if place < 0 else place
    axes = list(range(least))
    return array.transpose(axes[:first] + axes[shift:] + axes[first:shift])


def _stepped(part: slice) -> Any:
    """``start:stop:step``, whose imaginary step is a number of points."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return MAKERS["linspace"](start, part.stop, int(abs(step)))
    return MAKERS["arange"](start, part.stop, step)


def _nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.nditer``, whose elements would be plain."""
    given = op if type(op) in (list, tuple) else (op,)
    for array in given if ACTIVE.get() else ():
        if type(array) is GradArray and recorded(array):
            raise GradientLost(lost(array, "np.nditer(x), for which x.flat would do,"))
    if any(type(array) is GradArray for array in given):
        op = [unwrap(array) for array in given]
    return np.nditer(op, *args, **kwargs)


def _ndenumerate(arr: Any) -> Any:
    """``np.ndenumerate``, whose elements would be plain."""
    if not ACTIVE.get() or type(arr) is not GradArray:
        return np.ndenumerate(arr)
    return zip(np.ndindex(arr.shape), arr.flat, strict=True)


class Grid(Joined):
    """``np.mgrid`` and ``np.ogrid`` with recorded ends."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not ACTIVE.get() or not _indexes_recorded(parts):
            made = self._original[key]
            return constant(made) if ACTIVE.get() else made
        lines = [_stepped(part) for part in parts]
        if type(key) is not tuple:
            return lines[0]
        if self._original.sparse:
            count = len(lines)
            return tuple(
                line.reshape((1,) * i + (-1,) + (1,) * (count - i - 1))
                for i, line in enumerate(lines)
            )
        return np.stack(np.meshgrid(*lines, indexing="ij"))


def _fromiter(iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:  # NumPy's names
    if not ACTIVE.get():
        return np.fromiter(iter, dtype, count, **kwargs)
    items = list(iter) if count < 0 else list(itertools.islice(iter, count))
    if not has_recorded(items):
        return constant(np.fromiter(items, dtype, count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)}")
    return _converted(np.asarray, stacked(items), (dtype,), {})


class _Broadcast:
    """``np.broadcast`` of recorded arrays: a common shape, and tuples of recorded numbers."""

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = arrays
        self.shape = np.broadcast_shapes(*map(np.shape, arrays))
        self.size = math.prod(self.shape)
        self.nd = self.ndim = len(self.shape)
        self.numiter = len(arrays)

    def __iter__(self) -> Any:
        return zip(*[np.broadcast_to(a, self.shape).flat for a in self._arrays], strict=True)


def _broadcast(*args: Any) -> Any:
    arrays = [vector(a) for a in args] if ACTIVE.get() else []
    return _Broadcast(arrays) if has_recorded(arrays) else np.broadcast(*args)


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """``np.piecewise``, whose own buffer would be plain."""
    if not ACTIVE.get():
        return np.piecewise(x, condlist, funclist, *args, **kw)
    x = MAKERS["asanyarray"](x)
    if np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0):
        condlist = [condlist]
    conditions = np.asarray(condlist, dtype=bool)
    missing = len(funclist) - len(conditions)
    if missing == 1:
        conditions = np.concatenate([conditions, ~np.any(conditions, axis=0, keepdims=True)])
    elif missing:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    y = np.zeros_like(x)
    if type(y) is np.ndarray:
        y = constant(y)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            y[condition] = function
        elif (values := x[condition]).size > 0:
            y[condition] = function(values, *args, **kw)
    return y


def _chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    made = MAKERS["asarray"](a, dtype=dtype, order=order)
    if type(made) is not GradArray:
        return np.asarray_chkfinite(made)
    if not np.isfinite(plain(made)).all():
        raise ValueError("array must not contain infs or NaNs")
    return made


def _isscalar(element: Any) -> bool:
    """``np.isscalar``, which takes every recorded array for a number."""
    return (
        backend.is_scalar(storage(element)) if type(element) is GradArray else np.isscalar(element)
    )


def _makers() -> dict[str, Any]:
    makers: dict[str, Any] = {}
    empty = "zeros ones empty eye identity tri zeros_like ones_like empty_like copy"
    makers.update({name: fresh(getattr(np, name)) for name in empty.split()})
    full = ("full", "full_like", "linspace", "logspace", "geomspace")
    makers.update({name: filled(getattr(np, name)) for name in full})
    makers["arange"] = functools.wraps(np.arange)(arange)
    makers["array"] = converted(np.array, True)
    through = ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require")
    makers.update({name: converted(getattr(np, name), False) for name in through})
    makers["isscalar"] = functools.wraps(np.isscalar)(_isscalar)
    makers["vectorize"] = Vectorize
    makers["frompyfunc"] = frompyfunc
    makers["apply_along_axis"] = apply_along_axis
    makers["fromiter"] = functools.wraps(np.fromiter)(_fromiter)
    makers["asarray_chkfinite"] = functools.wraps(np.asarray_chkfinite)(_chkfinite)
    makers["piecewise"] = _piecewise
    makers["nditer"] = _nditer
    makers["broadcast"] = _broadcast
    makers["ndenumerate"] = _ndenumerate
    makers.update(r_=Joined(np.r_), c_=Joined(np.c_))
    makers.update(mgrid=Grid(np.mgrid), ogrid=Grid(np.ogrid))
    return makers


MAKERS = _makers()
