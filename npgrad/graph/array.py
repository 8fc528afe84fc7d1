"""`GradArray`: a handle on a recorded value, and the doors that must not leak one.

A handle is an array and its node. What the node's rules keep are arrays, never handles; a handle
whose root was written to through another handle refreshes itself (see `views`). The operators and
NumPy's protocols are put on the class by `operators`, the methods by `npgrad.methods`; what is
asked of a handle is in `handles`.
"""

from __future__ import annotations

import copy
import importlib
import math
import numbers
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..errors import GradientLost
from . import backend, doors
from .deferred import LAZY
from .doors import OWN, makes_text
from .handles import (
    Flags,
    current,
    export,
    hash_of_number,
    is_public_leaf,
    itself,
    lost,
    memory,
    missing,
    plain,
    recorded,
    rounded,
    stands_alone,
    storage,
)
from .modes import WRAPPED
from .node import Leaf, Node, next_id, recorded_at

if TYPE_CHECKING:
    from .declared import Declared
else:
    Declared = object

_new: Any = object.__new__
_OF_DIGITS = frozenset({"mpmath"})  # takes a float's digits, and makes NaN of one that refuses them

# What Numba is told of a recorded array; `npgrad.compiled` fills it in, loaded when Numba asks.
numba_type: Callable[[Any], Any] | None = None


class GradArray(Declared):
    """An array whose operations are recorded, so that they can be differentiated.

    It behaves as a NumPy array does: operators, indexing, in-place writes and views, methods, and
    every function of NumPy's that dispatches on its protocols. `npgrad.array` makes one; the
    transforms (`npgrad.grad`, `npgrad.vjp`, ...) hand one to the function they differentiate.

    A recorded float never leaves in silence: ``float(x)``, ``np.asarray(x)``, ``plain[0] = x``
    raise `npgrad.errors.GradientLost`; `npgrad.value` is the way out.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = npgrad.array([1.0, 2.0])
    >>> np.sum(np.sin(x) * x).backward()[x]
    array([1.38177329, 0.07700375])
    """

    __slots__ = ("__weakref__", "_array", "_node", "_view")

    # Not `_array` when `_view` is set: ask `current(handle)` first.
    _array: Any
    _node: Node | None
    _view: Any

    def __init__(self, array: Any, node: Node | None) -> None:
        self._array = array
        self._node = node
        self._view = None

    # -- what NumPy users read ------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of array dimensions."""
        return backend.describe(storage(self))[0]

    @shape.setter
    def shape(self, shape: Any) -> None:
        if is_public_leaf(self):
            raise AttributeError("npgrad: the shape of a leaf is fixed; use x = x.reshape(shape)")
        made = self.reshape(shape)
        if made._view is None or self._view is None or made._view.root is not self._view.root:
            raise AttributeError(
                "npgrad: incompatible shape for in-place modification; use reshape"
            )
        self._array, self._node, self._view = made._array, made._node, made._view

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return backend.describe(storage(self))[1]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to step along each axis."""
        return getattr(storage(self), "strides", ())

    @property
    def flags(self) -> Any:
        """Memory layout of the value, and whether it may be written to."""
        return Flags(self)

    @property
    def device(self) -> Any:
        """Where the array lives: ``"cpu"``, or a device."""
        return getattr(storage(self), "device", "cpu")

    @property
    def base(self) -> None:
        """None: the plain buffer underneath is not handed out."""
        return None

    @property
    def data(self) -> Any:
        """The memory of a constant, as NumPy gives it."""
        return memory(self, "data")

    @property
    def _data(self) -> Any:  # numpy.ma asks for it, and for an array where there is none
        if WRAPPED.get():
            return self
        raise AttributeError("_data")

    @property
    def ctypes(self) -> Any:
        """The memory of a constant for ctypes."""
        return memory(self, "ctypes")

    @property
    def _as_parameter_(self) -> Any:  # ctypes asks for it
        if backend.is_scalar(storage(self)):
            if recorded(self):
                raise GradientLost(lost(self, "a call by ctypes"))
            return plain(self).item()
        raise AttributeError("_as_parameter_")  # of an array: as an ndarray, which has none

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError(
                "len() of unsized object: a recorded number, of which torch.tensor and others who "
                "look for a sequence would cut the gradient; npgrad.value(x) cuts it on purpose"
            )
        return shape[0]

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __int__(self) -> int:
        return int(plain(self))

    def __contains__(self, item: Any) -> bool:
        return bool((plain(self) == unwrap(item)).any())

    def __hash__(self) -> int:
        if backend.is_scalar(storage(self)) and not is_public_leaf(self):
            return hash_of_number(self)
        return id(self) >> 4  # by identity, unlike ndarray: a GradArray is the key of a GradStore

    def __repr__(self) -> str:
        value = plain(self)
        text = repr(value)
        if not text.startswith("array("):
            text = f"array({text})" if backend.is_scalar(value) else text
        return "Grad" + text[0].upper() + text[1:]

    def __str__(self) -> str:
        return str(plain(self))

    def __format__(self, spec: str) -> str:
        value = plain(self)
        if spec and self.shape == ():
            return format(value.item() if hasattr(value, "item") else value, spec)
        return format(value, spec)

    def __getattr__(self, name: str) -> Any:
        """Only asked for what is missing: say what a program that counts on it can do."""
        raise AttributeError(missing(self, name))

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    # -- doors --------------------------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if recorded(self):
            if doors.defers(sys._getframe(1)):
                return backend.holding(self)
            if doors.calls_it(sys._getframe(1), "__array__"):
                kept = not copy and (dtype is None or dtype == self.dtype)
                return self if kept else self.astype(self.dtype if dtype is None else dtype)
            raise GradientLost(lost(self, "np.asarray(x), or storing x in a plain array or list,"))
        return export(self, dtype, copy)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, np.ndarray) holds in wrapped code
        if WRAPPED.get():
            frame: Any = sys._getframe(1)
            called = frame.f_globals.get("__name__") == "functools"
            while (asking := frame.f_globals.get("__name__", "")) == "functools" and frame.f_back:
                frame = frame.f_back  # singledispatch asks for whoever called it
            top = asking.partition(".")[0]
            if top in _OF_DIGITS and recorded(self):
                raise GradientLost(
                    f"npgrad: {top} computes with the digits of a number, and would cut its "
                    f"gradient in silence.{recorded_at(current(self)[1])} Instead: the function of "
                    "scipy.special; npgrad.primitive with the derivative; npgrad.value(x)."
                )
            if called and top == "npgrad":  # a transform called the dispatching function itself
                top = ""
            if top == "scipy" and asking.startswith("scipy.sparse."):  # it would compute in C
                return _Number if backend.is_scalar(storage(self)) else GradArray
            if top not in OWN or asking.startswith("numpy.polynomial"):
                held = storage(self)
                if backend.on_device(held):  # a plain one is no ndarray of NumPy's either
                    return GradArray
                return type(held) if backend.is_scalar(held) else backend.NDARRAY
        return _Number if backend.is_scalar(storage(self)) else GradArray

    def __float__(self) -> float:
        if not recorded(self) or (WRAPPED.get() and makes_text(sys._getframe(1))):
            return float(plain(self))
        raise GradientLost(lost(self, "float(x), as math.sin(x) and '%f' % x call it,"))

    def __complex__(self) -> complex:
        if not recorded(self):
            return complex(plain(self))
        raise GradientLost(lost(self, "complex(x), as cmath functions call it,"))

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return round(rounded(self))
        return self.round(digits)

    def __floor__(self) -> int:
        return math.floor(rounded(self))

    def __ceil__(self) -> int:
        return math.ceil(rounded(self))

    def __trunc__(self) -> int:
        return math.trunc(rounded(self))

    @property
    def _numba_type_(self) -> Any:  # Numba asks for it before it compiles for an argument
        if numba_type is None:
            importlib.import_module("npgrad.compiled")
        assert numba_type is not None
        return numba_type(self)

    def _sympy_(self) -> Any:  # SymPy asks for it; it would take x.item() of x without end
        if recorded(self):
            raise GradientLost(lost(self, "a SymPy expression, whose numbers are plain,"))
        return importlib.import_module("sympy").sympify(backend.asarray(plain(self)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not recorded(self):  # a constant: whoever unpickles it gets the plain array
            return itself, (backend.snapshot_any(plain(self)),)
        if not stands_alone(self):
            raise GradientLost(lost(self, "pickling x"))
        return leaf, (backend.snapshot(plain(self)), True)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if stands_alone(self):
            twin = leaf(copy.deepcopy(plain(self)), True)
        else:
            twin = self.copy()
        memo[id(self)] = twin
        return twin


class _Number(GradArray):
    """What a scalar says its class is: np.isscalar holds for numbers, and for arrays does not."""

    __slots__ = ()


numbers.Number.register(_Number)


def handle_of(array: Any, node: Node | None) -> GradArray:
    """A handle; one whose elementwise operations are put off, where the array is a device's."""
    handle = GradArray(array, node)
    if type(array) is not backend.NDARRAY and backend.on_device(array):
        handle._view = LAZY
    return handle


def made(
    result: Any, op: Any, parents: tuple[Node | None, ...], kept: tuple[Any, ...], frame: Any
) -> GradArray:
    """The handle of an array or a NumPy scalar, with its node: no constructor is called."""
    node = _new(Node)
    node.id = next_id()
    node.op, node.parents, node.kept = op, parents, kept
    try:
        node.shape, node.dtype = result.shape, result.dtype
    except AttributeError:  # a Python number, of an array of objects
        node.shape, node.dtype = backend.describe(result)
    node.code, node.lasti = frame.f_code, frame.f_lasti
    handle: GradArray = _new(GradArray)
    handle._array, handle._node, handle._view = result, node, None
    return handle


def unwrap(value: Any) -> Any:
    """The array of a handle; anything else as it is."""
    return plain(value) if type(value) is GradArray else value


def leaf(array: Any, public: bool = False, origin: Node | None = None) -> GradArray:
    """A new leaf holding `array`; `origin` is the outer node that it stands for, if any."""
    shape, dtype = backend.describe(array)
    op = Leaf(public)
    parents = () if origin is None else (origin,)
    handle = handle_of(array, Node(op, parents, (), shape, dtype, None, 0))
    op.handle = ref(handle)
    return handle


def fresh_leaf(array: Any, given: Any) -> GradArray:
    """`leaf` for an array of NumPy's that is a transform's copy of `given`, written out."""
    op = _new(Leaf)
    op.given, op.held, op.own, op.open, op.public = given, array, False, True, False
    node = _new(Node)
    node.id = next_id()
    node.op, node.parents, node.kept = op, (), ()
    node.shape, node.dtype = array.shape, array.dtype
    node.code, node.lasti = None, 0
    handle: GradArray = _new(GradArray)
    handle._array, handle._node, handle._view = array, node, None
    op.handle = ref(handle)
    return handle


__all__ = [  # with what is asked of a handle (`handles`), for those who import both
    "GradArray",
    "current",
    "export",
    "fresh_leaf",
    "handle_of",
    "is_public_leaf",
    "leaf",
    "lost",
    "made",
    "plain",
    "recorded",
    "storage",
    "unwrap",
]
