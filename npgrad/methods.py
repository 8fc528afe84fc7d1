"""The methods and attributes of ndarray, put on `GradArray`.

Most are NumPy functions of the same name and go through the table; the few that differ from their
function (argument order, in place, views) are written out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import GradientLost, NoDerivative
from .flat import Flat
from .graph import backend, operators
from .graph.array import GradArray, current, lost, recorded, storage
from .graph.modes import WRAPPED, users
from .graph.node import Node, claimed
from .graph.op import Op
from .graph.record import call, decided
from .graph.regions import ALL, fill, getitem, setitem
from .graph.views import view_of
from .primitives import reshape_rows

_frame = sys._getframe

# Methods whose arguments are those of the function of the same name, the array first.
SAME = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "clip",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ravel",
    "repeat",
    "round",
    "searchsorted",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "trace",
    "var",
    "put",
]


def _method(name: str, function: Any) -> Callable[..., Any]:
    def method(self: GradArray, *args: Any, **kwargs: Any) -> Any:
        return call(decided(function), (self, *args), kwargs, _frame(1))

    method.__doc__ = f"As `numpy.{function.__name__}`."
    method.__name__, method.__qualname__ = name, f"GradArray.{name}"  # pint asks by it for units
    return method


def _reshape(self: GradArray, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """The same elements in another shape, a view where NumPy gives one."""
    target = shape[0] if len(shape) == 1 else shape
    if order == "C" and copy is None:
        return reshape_rows(self, target if type(target) is tuple else _as_shape(target))
    kwargs: dict[str, Any] = {"order": order} if copy is None else {"order": order, "copy": copy}
    return call(decided(np.reshape), (self, target), kwargs, _frame(1))


def _as_shape(target: Any) -> tuple[int, ...]:
    return tuple(target) if hasattr(target, "__len__") else (target,)


def _transpose(self: GradArray, *axes: Any) -> Any:
    """Axes permuted, reversed by default; a view."""
    order = axes[0] if len(axes) == 1 else (axes or None)
    return call(decided(np.transpose), (self, order), {}, _frame(1))


def _compress(self: GradArray, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """As `numpy.compress`."""
    return call(decided(np.compress), (condition, self, axis, out), {}, _frame(1))


def _conj(self: GradArray, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.conjugate`; a real array itself, as NumPy's method returns it."""
    if self.dtype.kind != "c" and not args and not kwargs:
        return self
    return call(decided(np.conjugate), (self, *args), kwargs, _frame(1))


def _flatten(self: GradArray, order: str = "C") -> Any:
    """A copy in one dimension."""
    return self.ravel(order).copy()


class Cast(Op):
    """``x.astype(dtype)`` and ``x.copy()``: the identity, whose cotangent gets x's dtype back."""

    name = "astype"

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        parent = node.parents[0]
        if parent is not None and walk.wants(parent):
            walk.add(parent, g, g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        return tangents[0]


def adopted(self: GradArray, array: Any) -> GradArray:
    """`array`, which NumPy made of the value of `self`, as a copy that stays connected."""
    return _identity(CAST, self, array, _frame(1))


class Copy(Cast):
    """``x.copy()``."""

    name = "copy"


CAST, COPY = Cast(), Copy()


def _identity(op: Op, self: GradArray, array: Any, frame: Any) -> GradArray:
    node = current(self)[1]
    shape, dtype = backend.describe(array)
    if node is not None:
        frame = users(frame)
        node = Node(op, (node,), (), shape, dtype, frame.f_code, frame.f_lasti)
    return GradArray(array, node)


def _copy(self: GradArray, order: str = "C") -> Any:
    """A copy that stays connected."""
    array = current(self)[0]
    made = array if backend.is_scalar(array) else array.copy(order=order)
    return _identity(COPY, self, made, _frame(1))


def _astype(
    self: GradArray,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """In another type; stays connected for floating and complex types."""
    array = current(self)[0]
    dtype = np.dtype(dtype)
    if not hasattr(array, "astype"):
        array = backend.FLOAT.type(array) if type(array) is float else np.complex128(array)
    if backend.is_scalar(array):
        made = array if not copy and dtype == array.dtype else array.astype(dtype)
    elif casting == "unsafe":  # the default, which other libraries do not name
        made = array.astype(dtype, order, copy=copy)
    else:
        made = array.astype(dtype, order, casting, copy=copy)
    if made is array:
        return self
    if dtype.kind not in "fc":
        if dtype.kind not in "iub" and recorded(self):
            raise GradientLost(lost(self, f"x.astype({dtype})"))
        return made
    return _identity(CAST, self, made, _frame(1))


# What Python's float and complex hold, by the dtypes of fewer digits that NumPy makes them of.
_PYTHONS = {"e": "d", "f": "d", "F": "D"}


def in_double(a: GradArray) -> GradArray:
    """`a` with the digits of the Python numbers that NumPy would make of it."""
    wider = _PYTHONS.get(a.dtype.char)
    if wider is None:
        return a
    made: GradArray = a.astype(wider)
    return made if made.shape else made[()]


def _item(self: GradArray, *index: Any) -> Any:
    """The element as a recorded number, so that its gradient is not lost."""
    self = in_double(self)
    if not index:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return getitem(self, (0,) * self.ndim, _frame(1)) if self.ndim else +self
    where = index[0] if len(index) == 1 else index
    if isinstance(where, int):
        where = tuple(int(i) for i in np.unravel_index(where, self.shape))
    return getitem(self, where, _frame(1))


def _is_integer(self: GradArray) -> bool:
    """Whether a number has no fraction, as `float.is_integer`."""
    return bool(storage(self).is_integer())


def _as_integer_ratio(self: GradArray) -> Any:
    """As `float.as_integer_ratio`: of a recorded number an error, for integers are constants."""
    if recorded(self):
        raise GradientLost(
            lost(
                self, "x.as_integer_ratio(), as statistics.mean(x) calls it where np.mean would do,"
            )
        )
    return storage(self).as_integer_ratio()


def _tolist(self: GradArray) -> Any:
    """Nested lists of recorded numbers; of Python's in plain code, of what outlived its call."""
    value, node = current(self)
    if node is not None and not WRAPPED.get() and not claimed(node):
        return value.tolist()
    self = in_double(self)
    if self.ndim == 0:
        return +self
    return [row.tolist() if self.ndim > 1 else row for row in self]


def _fill(self: GradArray, value: Any) -> None:
    """Write one number everywhere."""
    setitem(self, ALL, value, _frame(1))


def _sort(
    self: GradArray, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort in place."""
    options = {"axis": axis, "kind": kind, "order": order, "stable": stable}
    fill(self, call(decided(np.sort), (self,), options, _frame(1)), _frame(1))


def _partition(
    self: GradArray, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Partition in place."""
    options = {"axis": axis, "kind": kind, "order": order}
    fill(self, call(decided(np.partition), (self, kth), options, _frame(1)), _frame(1))


def is_ndarray(kind: Any) -> bool:
    """Whether `kind` is ndarray or a subclass of it."""
    return isinstance(kind, type) and issubclass(kind, np.ndarray)


def _view(self: GradArray, dtype: Any = None, type: Any = None) -> Any:
    """An alias; between complex and pairs of floats of equal layout a linear view."""
    if backend.subclasses is not None:
        dtype, type = map(backend.subclasses.original_type, (dtype, type))
    if is_ndarray(dtype):
        dtype, type = None, dtype
    if type is not None and not is_ndarray(type):
        raise ValueError("Type must be a sub-type of ndarray type")
    if type is not None and type.__name__ != "ndarray":
        if backend.subclasses is not None and WRAPPED.get() and dtype is None:
            return backend.subclasses.viewed(self, type)
        raise NoDerivative(
            f"npgrad: x.view({type.__name__}): subclasses of ndarray are not recorded. Write what "
            "it does in plain functions; npgrad.value(x).view(...) cuts the gradient."
        )
    if dtype is None or np.dtype(dtype) == self.dtype:
        if backend.is_scalar(storage(self)):
            return self
        return getitem(self, ALL, _frame(1))
    if not recorded(self):
        return storage(self).view(dtype)  # of a constant, as NumPy's
    from .rules.reinterpret import view_as

    return view_as(self, np.dtype(dtype))


def _setflags(self: GradArray, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """``write=False`` makes in-place operations raise, as in NumPy."""
    if write is not None:
        view_of(self).root.locked = not write


def _to_device(self: GradArray, device: Any, /, *, stream: Any = None) -> Any:
    """`self` for ``"cpu"``."""
    if device != "cpu" or not isinstance(storage(self), (np.ndarray, np.generic, float)):
        raise ValueError(f"Unsupported device {device!r}; see npgrad.cuda.to_device")
    return self


def _refuse(name: str, why: str) -> Callable[..., Any]:
    def method(self: GradArray, *args: Any, **kwargs: Any) -> Any:
        raise NoDerivative(f"npgrad: x.{name} is refused: {why}")

    method.__doc__ = f"Refused: {why}."
    return method


def _leave(name: str) -> Callable[..., Any]:
    def method(self: GradArray, *args: Any, **kwargs: Any) -> Any:
        value, node = current(self)
        if node is None or not claimed(node):
            return getattr(value, name)(*args, **kwargs)
        raise GradientLost(lost(self, f"x.{name}()"))

    method.__doc__ = "Refused for recorded arrays: the data would leave the recording."
    return method


def _axis_property(function: Any, *args: Any) -> property:
    def get(self: GradArray) -> Any:
        return call(decided(function), (self, *args), {}, _frame(1))

    get.__doc__ = f"As `numpy.{function.__name__}`."
    return property(get)


def _part(function: Any) -> property:
    """``x.real`` and ``x.imag``, which can be assigned."""

    def get(self: GradArray) -> Any:
        made = call(decided(function), (self,), {}, _frame(1))
        if function is np.imag and self.dtype.kind != "c" and made.shape:
            made.setflags(write=False)  # zeros that are nobody's memory
        return made

    def put(self: GradArray, value: Any) -> None:
        if function is np.imag and self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        part = call(decided(function), (self,), {}, _frame(1))
        setitem(part, ALL, value, _frame(1))

    get.__doc__ = f"As `numpy.{function.__name__}`; assignable."
    return property(get, put)


def _flat_get(self: GradArray) -> Flat:
    """The elements in C order."""
    return Flat(self)


def _flat_set(self: GradArray, value: Any) -> None:
    Flat(self)[:] = value


def install() -> None:
    """Put everything on the class; the rules are loaded by the first call of a method."""
    operators.install()
    cls: Any = GradArray
    for name in SAME:
        setattr(cls, name, _method(name, getattr(np, name)))
    for name, method in (
        ("reshape", _reshape),
        ("transpose", _transpose),
        ("compress", _compress),
        ("conj", _conj),
        ("conjugate", _conj),
        ("flatten", _flatten),
        ("copy", _copy),
        ("astype", _astype),
        ("item", _item),
        ("tolist", _tolist),
        ("is_integer", _is_integer),
        ("as_integer_ratio", _as_integer_ratio),
        ("fill", _fill),
        ("sort", _sort),
        ("partition", _partition),
        ("view", _view),
        ("setflags", _setflags),
        ("to_device", _to_device),
        ("byteswap", _refuse("byteswap", "it changes raw memory")),
        ("getfield", _refuse("getfield", "it reads raw memory")),
        ("setfield", _refuse("setfield", "it changes raw memory")),
        ("choose", _refuse("choose", "an array of choices is integer; use np.choose(index, list)")),
        ("resize", _refuse("resize", "it reallocates in place; use np.resize(x, shape)")),
        ("dump", _leave("dump")),
        ("dumps", _leave("dumps")),
        ("tobytes", _leave("tobytes")),
        ("tofile", _leave("tofile")),
    ):
        method.__name__ = name
        method.__qualname__ = f"GradArray.{name}"
        setattr(cls, name, method)
    cls.T = _axis_property(np.transpose)
    cls.mT = _axis_property(np.matrix_transpose)
    cls.real = _part(np.real)
    cls.imag = _part(np.imag)
    cls.flat = property(_flat_get, _flat_set)


install()
