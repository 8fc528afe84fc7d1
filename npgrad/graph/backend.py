"""What the graph must know of an array library, and the only place where it asks.

A value is an array of NumPy (or of a library with its protocols), one of its scalars, or a Python
float or complex, which stays what it is because NumPy treats it as weak (NEP 50).
"""

from __future__ import annotations

import array as buffers
import contextlib
import sys
from contextvars import ContextVar
from typing import Any

import numpy as np

from . import modes

Array = Any
Index = Any
Shape = tuple[int, ...]

WHERE, SQUARE, MULTIPLY = np.where, np.square, np.multiply
LIKE: Any = {np.zeros_like: 0, np.ones_like: 1}  # makers of arrays of one number
broadcast_shapes = np.broadcast_shapes
dtype_of: Any = np.dtype
FLOAT = np.dtype(np.float64)
COMPLEX = np.dtype(np.complex128)
SINGLE, HALF = np.dtype(np.float32), np.dtype(np.float16)

# Types that may stand beside a recorded array as they are. Everything else takes the slow door.
NUMBERS = frozenset({float, int, complex, bool})
BOOL = np.bool_
GENERIC = frozenset(
    {
        np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128,
        np.clongdouble, np.bool_, np.int8, np.int16, np.int32, np.int64, np.intp, np.longlong,
        np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong,
    }
)  # fmt: skip
NDARRAY = np.ndarray
PLAIN = NUMBERS | GENERIC | {np.ndarray}
SCALARS = NUMBERS | GENERIC
# of numbers, which NumPy makes arrays of
SEQUENCES = frozenset({range, bytearray, memoryview, buffers.array})

DEVICE_LIBRARIES = frozenset({"cupy"})  # their arrays are made by their own namespace
DEFERRED = "npgrad.graph.deferred"  # the module of device arrays that are not computed yet
# NumPy's functions that take like=
MAKERS = frozenset(
    {
        np.arange, np.array, np.asanyarray, np.asarray, np.ascontiguousarray, np.asfortranarray,
        np.empty, np.eye, np.frombuffer, np.fromfunction, np.fromiter, np.fromstring, np.full,
        np.genfromtxt, np.identity, np.loadtxt, np.ones, np.require, np.tri, np.zeros,
    }
)  # fmt: skip
HOST = GENERIC | NUMBERS | {np.ndarray}  # types of values whose memory the host reads
COPIED_BYTES = 16 * 1024  # plain operands up to this size are copied, larger ones fingerprinted
WHOLE_BYTES = 1 << 20  # fingerprints read everything up to this size
FEW = 8192  # entries up to which a buffer is cheaper to fill than a view to make
SERIAL = 10_000  # entries up to which OpenBLAS computes a dot product in one thread
MUCH_TO_COPY = 2 << 20  # bytes from which a copy is worth several threads
SMALL_BYTES = 4096  # regions up to this size are copied out of a written buffer


# Functions that something else computes just now: products, while a CUDA graph is recorded.
STAND_INS: dict[Any, Any] = {}

# Entries of the arrays of which a rule sees a block (see `blocks`); 0 where it sees them whole.
WHOLE: ContextVar[int] = ContextVar("npgrad_whole", default=0)


def describe(value: Array) -> tuple[Shape, np.dtype[Any]]:
    """Shape and dtype of `value`, Python numbers included."""
    try:
        return value.shape, value.dtype
    except AttributeError:
        return (), COMPLEX if type(value) is complex else FLOAT


def is_scalar(value: Array) -> bool:
    """Whether `value` is a number and not an array: it has no elements to write to."""
    return type(value) in SCALARS or isinstance(value, np.generic)


def is_array(value: Any) -> bool:
    """Whether `value` is an array of NumPy or of a library that speaks its protocols."""
    return isinstance(value, np.ndarray) or hasattr(type(value), "__array_function__")


def is_inexact(dtype: Any) -> bool:
    """Whether values of `dtype` can have a derivative: floating or complex."""
    return dtype.kind in "fc"


def library(value: Array) -> Any:
    """The namespace that makes arrays of the kind of `value` (NumPy, CuPy)."""
    module = type(value).__module__.partition(".")[0]
    if module in DEVICE_LIBRARIES:
        return sys.modules[module]
    return sys.modules[DEFERRED].evaluator().library if type(value).__module__ == DEFERRED else np


def on_device(value: Array) -> bool:
    """Whether `value` is an array of a library whose memory is not the host's."""
    kind = type(value)
    return kind not in HOST and (
        kind.__module__.partition(".")[0] in DEVICE_LIBRARIES or kind.__module__ == DEFERRED
    )


_HERE = contextlib.nullcontext()


def where_it_lives(value: Array) -> Any:
    """A context in which a device's library works on the device of `value`."""
    device = getattr(value, "device", None) if on_device(value) else None
    return device if hasattr(device, "__enter__") else _HERE


def zeros(like: Array, shape: Shape, dtype: Any, layout: Shape | None = None) -> Array:
    """A buffer of zeros in the library of `like`; `layout` permutes C order, outermost first."""
    if type(like) is np.ndarray or type(like) in SCALARS:
        return np.zeros(shape, dtype) if layout is None else _laid_out(np, shape, dtype, layout)
    xp = library(like)
    with where_it_lives(like):
        return xp.zeros(shape, dtype) if layout is None else _laid_out(xp, shape, dtype, layout)


def _laid_out(xp: Any, shape: Shape, dtype: Any, layout: Shape) -> Array:
    inverse = [0] * len(layout)
    for position, axis in enumerate(layout):
        inverse[axis] = position
    return xp.zeros(tuple(shape[axis] for axis in layout), dtype).transpose(inverse)


def empty(shape: Shape, dtype: Any) -> Array:
    """A buffer on the host whose contents are not defined."""
    return np.empty(shape, dtype)


def layout(array: Array) -> Shape | None:
    """The axes of `array` from the widest stride to the narrowest; None for C order."""
    if array.ndim < 2 or array.flags.c_contiguous:
        return None
    strides = array.strides
    return tuple(sorted(range(array.ndim), key=lambda axis: (-abs(strides[axis]), axis)))


def snapshot(array: Array) -> Array:
    """A copy of `array` with its layout."""
    if type(array) is not NDARRAY:
        place = where_it_lives(array) if on_device(array) else _HERE
        with place:  # CuPy copies to its current device
            return array.copy(order="K") if hasattr(array, "flags") else array.copy()
    plain = array.flags.forc or array.dtype.kind not in "fciub"
    return array.copy("K") if plain else spaced(array)


def spaced(array: Array) -> Array:
    """A copy with gaps: of an array that is contiguous in no order, as its copy must not be either.

    NumPy reads a contiguous array in another order (``order="A"``) and by other loops, which round
    otherwise. The order and the signs of the strides stay; an entry lies beside the next one only
    where it did before.
    """
    if not array.size:
        return array.copy("K")
    shape, old, item = array.shape, array.strides, array.itemsize
    if array.ndim == 1 and old[0] > item:  # a column of a matrix, the everyday case
        made = np.empty(2 * shape[0], array.dtype)[::2]
        made[...] = array
        return made
    axes = sorted((a for a in range(array.ndim) if shape[a] > 1), key=lambda a: abs(old[a]))
    step = item if axes and abs(old[axes[0]]) == item else 2 * item
    strides, first = [item] * array.ndim, 0
    for a in axes:
        strides[a] = step if old[a] >= 0 else -step
        first += step * (shape[a] - 1) if old[a] < 0 else 0
        step *= shape[a] + 1
    made = np.ndarray(shape, array.dtype, np.empty(step + item, np.uint8), first, strides)
    np.copyto(made, array)
    return made


def add_into(buffer: Array, value: Array) -> Array:
    """``buffer += value`` in place; `buffer` is owned and of the right shape."""
    buffer += value
    return buffer


def finite(value: Array) -> bool:
    """Whether every entry of `value` is finite: one sum, without a temporary, says so mostly.

    A sum of large finite entries may overflow, so one that is not finite is looked at again. The
    sum of the squares takes half the time of the sum while BLAS computes it in one thread. In
    several it waits for cores that others use: a million float64 on two busy cores took 0.9 ms and
    7 ms of processor time, the sum 0.7 and 0.3.
    """
    total: Any
    if type(value) is np.ndarray:
        few = value.size <= SERIAL and value.dtype.char in "fdFD"
        if few and value.flags.c_contiguous:
            total = np.vdot(value, value)
        else:
            total = np.add.reduce(value, None)
    elif is_scalar(value):
        return bool(value - value == 0)
    else:
        total = value.sum()
    return bool(total - total == 0) or bool(library(value).isfinite(value).all())


def not_finite(value: Array) -> Array:
    """Where `value` is infinite or NaN."""
    return ~library(value).isfinite(value)


def signs(value: Array, mask: Array) -> Array:
    """-1, 0 or 1 as `value` is where `mask` holds; 0 elsewhere, and for NaN."""
    return where(
        mask & ~library(value).isnan(value), library(value).sign(value), value.dtype.type(0)
    )


def all_finite(values: list[Array]) -> bool:
    """Whether every entry of every array is finite; what is on a device is waited for once."""
    there: list[Array] = []
    for value in values:
        if on_device(value):
            there.append(value)
        elif not finite(value):
            return False
    odd: Any = None  # zero, or NaN where a sum was not finite
    for value in there:
        whole = value.sum()
        odd = whole - whole if odd is None else odd + (whole - whole)
    if odd is None or bool(odd == 0):
        return True
    return all(bool(library(value).isfinite(value).all()) for value in there)


def bounds(values: Array) -> tuple[int, int]:
    """The least and the greatest of integers; what is on a device is waited for once."""
    if on_device(values):
        low, high = library(values).stack((values.min(), values.max())).tolist()
        return low, high
    return int(values.min()), int(values.max())


def total(value: Array) -> Array:
    """The sum of all entries; dispatches."""
    return np.add.reduce(value, None) if type(value) is np.ndarray else value.sum()


VDOT: Any = getattr(np.vdot, "_implementation", np.vdot)  # of plain arrays


def sum_rows(value: np.ndarray[Any, Any]) -> Array:
    """The sum along the first axis."""
    return np.add.reduce(value, 0)


def broadcast(value: Array, shape: Shape) -> Array:
    """`value` repeated to `shape`: a view, or for few elements a buffer."""
    number = type(value) in GENERIC
    if number or type(value) is np.ndarray:
        size = 1
        for extent in shape:
            size *= extent
        if size <= FEW:  # a tenth of the cost of broadcast_to
            made = np.empty(shape, value.dtype)
            if number:
                made.fill(value)
            else:
                made[...] = value
            return made
    return np.broadcast_to(value, shape)


class _Quiet:
    """`numpy.errstate` that ignores everything, in a fifth of its time (0.9 us, once a sweep)."""

    __slots__ = ("token",)
    state: Any = getattr(getattr(np, "_core").umath, "_extobj_contextvar", None)  # noqa: B009
    ignoring: Any = None

    def __enter__(self) -> None:
        self.token = self.state.set(self.ignoring)

    def __exit__(self, *error: object) -> None:
        self.state.reset(self.token)


if _Quiet.state is not None:
    with np.errstate(all="ignore"):
        _Quiet.ignoring = _Quiet.state.get()


def quiet() -> Any:
    """A context without floating-point warnings: what a rule divides by zero is masked later."""
    return np.errstate(all="ignore") if _Quiet.ignoring is None else _Quiet()


def masked(cotangent: Array, value: Array) -> Array:
    """`value` where `cotangent` is not zero, and zero elsewhere."""
    zero = cotangent == 0
    made = np.where(zero, np.zeros((), describe(value)[1])[()], value)
    return made[()] if is_scalar(value) else made


def ones_of(value: Array) -> Array:
    """Ones like `value`."""
    shape, dtype = describe(value)
    return np.ones(shape, dtype)[()] if is_scalar(value) else np.ones_like(value)


def flattened(cotangent: Array, slope: Array, value: Array) -> Array:
    """`value`, and zero where a slope of zero met an infinite cotangent."""
    flat = (slope == 0) & np.isinf(cotangent)
    made = np.where(flat, np.zeros((), describe(value)[1])[()], value)
    return made[()] if is_scalar(value) else made


def asarray(value: Any) -> Array:
    """`value`, a list or a number, as an array; arrays of any library as they are."""
    return value if is_array(value) and not isinstance(value, np.generic) else np.asarray(value)


def mask(where: Any) -> Array:
    """``where=`` as an array; of numbers and lists NumPy asks what is true, of arrays booleans."""
    return where if is_array(where) else np.asarray(where, dtype=bool)


def add_at(buffer: Array, index: Index, value: Array) -> None:
    """``buffer[index] += value``, repeated indices adding up, in the order that is fastest."""
    scatter(buffer, index, value)


def add_exactly(buffer: Array, index: Index, value: Array) -> None:
    """`add_at` with the bits of ``np.add.at``."""
    scatter(buffer, index, value, True)


def add_one_by_one(buffer: Array, index: Index, value: Array, exact: bool = True) -> None:
    """``np.add.at`` itself."""
    library(buffer).add.at(buffer, index, value)


def _not_scattered(*arguments: Any) -> Any:
    """None: no kernel is known yet."""
    return None


def _copied(value: Array) -> Array:
    return value.copy()


def _picked(value: Array, index: Array) -> Any:
    return value[index]


# Replaced by the accelerated ones when the rules are loaded.
scatter: Any = add_one_by_one
scatter_outer: Any = None
scattered: Any = _not_scattered
picked: Any = _picked
copied: Any = _copied


def snapshot_any(value: Array) -> Array:
    """A copy of an array; a scalar as it is."""
    if is_scalar(value):
        return value
    if type(value) is NDARRAY:
        return value.copy() if value.nbytes < MUCH_TO_COPY else copied(value)
    with where_it_lives(value) if on_device(value) else _HERE:
        return value.copy()


def where(mask: Array, a: Array, b: Array) -> Array:
    """Choose by `mask`; dispatches, so that recorded arrays are recorded."""
    return a.copy() if mask is True else np.where(mask, a, b)  # CuPy's takes no bool


def copyto(target: Array, value: Array, mask: Array) -> None:
    """Write `value` where `mask` is true; dispatches."""
    if mask is True:
        target[...] = value
    else:
        np.copyto(target, value, where=mask, casting="unsafe")


def positions(array: Array) -> Array:
    """The number of every entry of `array`."""
    return library(array).arange(array.size).reshape(array.shape)


def last_occurrences(numbers: Array, count: int) -> Array:
    """Where `numbers`, all below `count`, holds the last of equal entries, in C order."""
    flat = numbers.reshape(-1)
    if type(flat) is NDARRAY and count <= 16 * flat.size:  # NumPy writes them in this order
        turn, order = np.empty(count, np.intp), np.arange(flat.size)
        turn[flat] = order
        return (turn[flat] == order).reshape(numbers.shape)
    last = library(numbers).zeros(flat.size, bool)
    _, first_of_reversed = np.unique(flat[::-1], return_index=True)
    last[flat.size - 1 - first_of_reversed] = True
    return last.reshape(numbers.shape)


def check_cast(source: Any, target: Any) -> None:
    """Raise NumPy's error unless ``same_kind`` casting allows the assignment."""
    if not np.can_cast(source, target, "same_kind"):
        raise TypeError(
            f"Cannot cast output from {source!r} to {target!r} with casting rule 'same_kind'"
        )


def check_dtype(ufunc: Any, values: list[Any], dtype: Any, casting: str) -> None:
    """Raise NumPy's own error if `ufunc` cannot compute in `dtype`."""
    nothing = [np.empty(0, v.dtype) if hasattr(v, "dtype") else v for v in values]
    ufunc(*nothing, dtype=dtype, casting=casting)


def widened(made: Array, shape: Shape) -> Array:
    """`made` repeated for an ``out=`` of `shape`; as it is where NumPy would refuse it too."""
    have = made.shape
    fits = len(have) <= len(shape) and all(
        n in (1, m) for n, m in zip(have[::-1], shape[::-1], strict=False)
    )
    return np.broadcast_to(made, shape).copy() if fits else made


def stack(parts: list[Array]) -> Array:
    """Arrays of one shape along a new first axis; dispatches."""
    return np.stack(parts)


def ufunc(name: str) -> Any:
    """NumPy's ufunc of that name."""
    return getattr(np, name)


# What stands for recorded instances of subclasses of ndarray, in wrapped code alone:
# `npgrad.wrapping.subclasses`, once it is loaded.
subclasses: Any = None


def holding(value: Any) -> Any:
    """An array of no axes with one object, which is how NumPy says that something is no array."""
    made = np.empty(1, object)
    made[0] = value
    return made.reshape(())


# Serves an operator beside a sparse matrix of SciPy's: `npgrad.scipy.sparse.beside`, loaded on use.
sparse: Any = None


def foreign_type(kind: type) -> bool:
    """Whether arrays of `kind` have a protocol of their own that takes precedence over ours."""
    if kind is np.ndarray or kind.__module__.partition(".")[0] in DEVICE_LIBRARIES:
        return False
    if issubclass(kind, np.ndarray):
        if subclasses is not None and modes.WRAPPED.get() and not issubclass(kind, np.matrix):
            return True
        raise TypeError(
            f"npgrad: a recorded array meets {kind.__module__}.{kind.__name__}, a subclass of "
            f"ndarray whose own rules npgrad does not know; pass np.asarray(m) of the "
            f"{kind.__name__} m, a plain array"
        )
    return hasattr(kind, "__array_ufunc__")


def of_subclass(value: Any) -> bool:
    """Whether `value` is a plain instance of a subclass of ndarray, which wrapped code takes."""
    kind = type(value)
    return issubclass(kind, np.ndarray) and kind is not np.ndarray and foreign_type(kind)


def foreign(value: Any) -> bool:
    """Whether `value` should have the first say in an operation with a recorded array."""
    kind = type(value)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        raise TypeError("npgrad: a recorded array meets an array of Python objects")
    return foreign_type(kind)


def ones_like(node: Any, like: Array) -> Array:
    """A cotangent of ones for the value of `node`, where `like` lives."""
    if on_device(like):
        with where_it_lives(like):
            return library(like).ones(node.shape, node.dtype)
    if node.shape == ():
        return node.dtype.type(1)
    return np.ones(node.shape, node.dtype)


def has_nan(value: Array) -> bool:
    """Whether `value` holds a NaN."""
    return bool(library(value).isnan(value).any())


def sized(number: Any) -> Array:
    """A Python number as NumPy's functions see it: a scalar with a shape and a dtype."""
    return np.asarray(number)[()]


def repeats(array: Array) -> bool:
    """Whether `array` shows the same memory several times, as a broadcast does."""
    return 0 in getattr(array, "strides", ())
