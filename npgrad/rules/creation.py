"""Functions that make arrays from numbers: ranges of numbers, filled arrays, copies by ``like=``.

`linspace` and `geomspace` have rules; the others are made of decided functions. Makers whose
result owes nothing to a recorded number (``np.zeros(n, like=x)``) are in ``decided``. Without
``like=`` NumPy does not dispatch makers, and a recorded value that one of them meets raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph.results import wrapped
from npgrad.rules.indexing import as_array
from npgrad.table import composed, linear, reverse

Array = Any


def writable(made: Array) -> Array:
    """A plain array of a maker called with ``like=``, as a constant that can be written into."""
    return wrapped(made) if type(made) is np.ndarray else made


def in_dtype(a: Array, dtype: Any) -> Array:
    """`a` in another type, where one is asked for."""
    return a if dtype is None or a.dtype == dtype else a.astype(dtype)


# ----------------------------------------------------------------------------- ranges of numbers
def fractions(num: int, endpoint: bool, axis: int, ndim: int, dtype: Any) -> Array:
    """0 at the start and 1 at the stop of a range, laid along `axis` of `ndim` axes."""
    parts = max(num - 1 if endpoint else num, 1)
    t = (np.arange(num) / parts).astype(dtype)
    return t.reshape([num if i == axis % ndim else 1 for i in range(ndim)])


def linspace_start(g: Any, num: Any, endpoint: Any, retstep: Any, axis: Any) -> Array:
    """With y = start (1 - t) + stop t; the step is (stop - start) / parts."""
    return linspace_end(g, num, endpoint, retstep, axis, first=True)


def linspace_stop(g: Any, num: Any, endpoint: Any, retstep: Any, axis: Any) -> Array:
    """The other end of the same line."""
    return linspace_end(g, num, endpoint, retstep, axis, first=False)


def linspace_end(g: Any, num: Any, endpoint: Any, retstep: Any, axis: Any, *, first: bool) -> Array:
    """The cotangent of one end, from those of the samples and of the step."""
    samples, step = g if retstep else (g, None)
    total = None
    if samples is not None:
        t = fractions(num, endpoint, axis, samples.ndim, samples.real.dtype)
        total = np.sum(samples * (1 - t if first else t), axis=axis)
    if step is not None:
        part = step / (num - 1 if endpoint else num)
        part = -part if first else part
        total = part if total is None else total + part
    return total


linear(
    np.linspace,
    transpose={"start": linspace_start, "stop": linspace_stop},
    ignores=("dtype", "device"),
)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """``base ** linspace(...)``; a base that is an array broadcasts with both ends."""
    if np.ndim(base):
        shape = np.broadcast_shapes(np.shape(start), np.shape(stop), np.shape(base))
        start, stop = np.broadcast_to(start, shape), np.broadcast_to(stop, shape)
        base = np.expand_dims(np.broadcast_to(base, shape), axis)
    y = np.power(base, np.linspace(start, stop, num, endpoint=endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


composed(np.logspace, logspace)


def geomspace_share(y: Array, num: int, endpoint: bool, axis: int, first: bool) -> Array:
    """From y = start**(1 - t) stop**t follows dy = y ((1 - t) dstart / start + t dstop / stop)."""
    t = fractions(num, endpoint, axis, y.ndim, y.real.dtype)
    return y * (1 - t if first else t)


def spread_along(x: Array, y: Array, axis: int) -> Array:
    """`x`, an end of the range, broadcast to the shape of `y` with length 1 along `axis`."""
    axis = axis % y.ndim
    return np.expand_dims(np.broadcast_to(x, y.shape[:axis] + y.shape[axis + 1 :]), axis)


def geomspace_start(g: Any, y: Any, start: Any, num: Any, endpoint: Any, axis: Any) -> Array:
    """Summed along the range."""
    return np.sum(g * geomspace_share(y, num, endpoint, axis, True), axis=axis) / start


def geomspace_stop(g: Any, y: Any, stop: Any, num: Any, endpoint: Any, axis: Any) -> Array:
    """Summed along the range."""
    return np.sum(g * geomspace_share(y, num, endpoint, axis, False), axis=axis) / stop


def geomspace_along_start(g: Any, y: Any, start: Any, num: Any, endpoint: Any, axis: Any) -> Array:
    """Spread along the range."""
    return geomspace_share(y, num, endpoint, axis, True) * spread_along(g / start, y, axis)


def geomspace_along_stop(g: Any, y: Any, stop: Any, num: Any, endpoint: Any, axis: Any) -> Array:
    """Spread along the range."""
    return geomspace_share(y, num, endpoint, axis, False) * spread_along(g / stop, y, axis)


reverse(
    np.geomspace,
    {"start": geomspace_start, "stop": geomspace_stop},
    {"start": geomspace_along_start, "stop": geomspace_along_stop},
    ignores=("dtype",),
)


def arange(
    start_or_stop: Any = 0,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    start: Any = None,  # NumPy takes the first argument by this name as well
    device: Any = None,
) -> Array:
    """``start + k step``: the length is an integer, constant where it does not jump."""
    start = start_or_stop if start is None else start
    start, stop = (0, start) if stop is None else (start, stop)
    if any(as_array(bound).dtype.kind == "c" for bound in (start, stop, step)):
        raise NoDerivative("npgrad: np.arange of complex bounds has no derivative rule")
    length = max(int(np.ceil((stop - start) / step)), 0)
    # NumPy's own spacing, which can differ from `step` by rounding.
    y = start + np.arange(length) * ((start + step) - start)
    if dtype is None:  # NumPy promotes Python numbers too: float64 for a float32 and an int
        dtype = np.result_type(*(as_array(v).dtype for v in (start, stop, step)))
    return writable(in_dtype(y, dtype))


composed(np.arange, arange)


# --------------------------------------------------------------------------------- filled arrays
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """A buffer like `a` with every entry written."""
    return filled(np.empty_like(a, dtype=dtype, order=order, shape=shape), fill_value)


def filled(buffer: Array, fill_value: Any) -> Array:
    """`buffer`, every entry written; an integer one takes what the cast gives."""
    if buffer.dtype.kind not in "fc":
        fill_value = as_array(fill_value).astype(buffer.dtype)
    buffer[...] = fill_value
    return buffer


composed(np.full_like, full_like)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
) -> Array:
    """``np.full(shape, x, like=x)``: the number, spread."""
    fill_value = stacked(fill_value)
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    buffer = np.zeros_like(fill_value, dtype=dtype, order=order, shape=shape)
    return writable(filled(buffer, fill_value))


composed(np.full, full)


# -------------------------------------------------------------------------------- copies by like=
def stacked(items: Any) -> Array:
    """Nested lists of numbers and recorded arrays as one array; an array as it is."""
    if isinstance(items, (list, tuple)) and len(items):
        return np.stack([stacked(item) for item in items])
    return as_array(items)


def array(
    object: Any,  # NumPy's name
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
) -> Array:
    """``np.array(x, like=x)``: stacked, cast, copied, with axes in front."""
    a = in_dtype(stacked(object), dtype)
    a = writable(np.copy(a) if copy and a is object else a)
    return a.reshape((1,) * (ndmin - a.ndim) + a.shape) if ndmin > a.ndim else a


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
) -> Array:
    """``np.asarray(x, like=x)``: `x` itself, unless it must be stacked, cast or copied.

    A plain array is copied: written into, it would not show the gradient to its other owners.
    """
    made = in_dtype(stacked(a), dtype)
    return writable(np.copy(made) if made is a and (copy or type(a) is np.ndarray) else made)


def contiguous(a: Any, dtype: Any = None) -> Array:
    """At least one axis; the layout of a recorded array is not the caller's to choose."""
    return np.atleast_1d(asarray(a, dtype))


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Array:
    """As `asarray`: what is required of memory holds for the plain result of `npgrad.value`."""
    return asarray(a, dtype)


def fromiter(iter: Any, dtype: Any, count: int = -1) -> Array:  # NumPy's names
    """The items, stacked."""
    items = list(iter) if count < 0 else [item for item, _ in zip(iter, range(count), strict=False)]
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)}")
    return writable(stacked(items).astype(dtype))


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Array:
    """The function of the index grids, whatever it returns."""
    return function(*np.indices(shape, dtype=dtype), **kwargs)


composed(np.array, array)
composed(np.asarray, asarray)
composed(np.asanyarray, asarray)
composed(np.ascontiguousarray, contiguous)
composed(np.asfortranarray, asarray)
composed(np.require, require)
composed(np.fromiter, fromiter)
composed(np.fromfunction, fromfunction)
