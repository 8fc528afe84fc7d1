"""How an operation of this package is made and what it does first with its arrays.

An operation is a `primitive` (recorded as one node) over a kernel of `npgrad.kernels`. Its backward
is a *fused* function: on plain arrays a kernel, on recorded ones (a gradient that is differentiated
again) the same formula in NumPy's words, which the table knows to any order.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from npgrad.errors import (
    DTypeMismatch,
    GradientLost,
    NoDerivative,
    NotDifferentiable,
    OutOfRange,
    ShapeMismatch,
)
from npgrad.graph import backend
from npgrad.graph.array import GradArray, current, recorded
from npgrad.graph.modes import users
from npgrad.primitives import primitive

__all__ = [
    "as_array",
    "as_index",
    "as_int",
    "as_number",
    "axis_of",
    "check_real",
    "dtype_of",
    "fused",
    "here",
    "operation",
    "prepared",
    "shape_of",
    "wrong_shape",
]

F = TypeVar("F", bound=Callable[..., Any])


def here(y: Any) -> Any:
    """`y`, the result of a ufunc or an operator, recorded where the user is.

    Those take the frame that called them, without a look at whose it is.
    """
    if type(y) is GradArray and y._node is not None:
        frame = users(sys._getframe(1))
        y._node.code, y._node.lasti = frame.f_code, frame.f_lasti
    return y


def operation(name: str) -> Callable[[F], F]:
    """Make a function a primitive that people know as ``npgrad.nn.<name>``."""

    def make(function: F) -> F:
        made = primitive(function)
        made.__name__ = made.__qualname__ = name
        made.__module__ = "npgrad.nn"
        return made

    return make


def fused(kernel: Callable[..., Any], formula: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` for plain arrays, `formula` as soon as one of them is recorded."""

    def run(*args: Any) -> Any:
        for value in args:
            if type(value) is GradArray:
                return formula(*args)
        return kernel(*args)

    # the names that a rule asks for
    run.__signature__ = inspect.signature(formula)  # type: ignore[attr-defined]
    return run


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of an array, a recorded one, a list or a number."""
    dtype: np.dtype[Any] = as_array(x).dtype
    return dtype


def as_array(x: Any) -> Any:
    """`x` as an array, or as the recorded or foreign one that it is.

    ``*`` multiplies matrices as such, and some functions of a masked array drop its mask.
    """
    if type(x) is np.ndarray or type(x) is GradArray:
        return x
    if isinstance(x, np.ndarray):
        if hasattr(type(x), "filled"):
            raise NotDifferentiable("npgrad.nn takes no masked array; use x.filled(...)")
        return np.asarray(x) if isinstance(x, np.matrix) else x
    dtype = getattr(x, "dtype", None)
    if x is None or not (dtype is None or isinstance(dtype, np.dtype)):
        raise TypeError(
            f"npgrad.nn takes arrays of NumPy's kind, not {type(x).__name__}: {x!r:.60}"
        )
    return np.asarray(x) if dtype is None else x


def as_index(index: Any, name: str, what: str = "index") -> Any:
    """An index as an array of integers; one on a device as it is."""
    if type(index) is GradArray and index.dtype.kind not in "iu":
        raise GradientLost(
            f"npgrad.nn.{name}: {what} is a recorded array of {index.dtype}; integers have no"
            f" gradient, and npgrad.value({what}).astype(int) is none that is lost"
        )
    found = index if backend.on_device(index) else np.asarray(index)
    if found.dtype.kind not in "iu" and found.size:
        raise OutOfRange(f"npgrad.nn.{name}: {what} is of integers, not of {found.dtype}")
    return found


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, a recorded one, a list or a number."""
    shape: tuple[int, ...] = as_array(x).shape
    return shape


def prepared(*arrays: Any) -> tuple[list[Any], np.dtype[Any] | None]:
    """The arrays to compute with, and the dtype to which the result must return (or None).

    float16 is computed in float32; integers and booleans in float64; lists become arrays.
    """
    found = [as_array(x) for x in arrays]
    dtype = found[0].dtype
    for x in found:
        if x.dtype.kind not in "biufc":
            raise NotDifferentiable(f"npgrad.nn computes with numbers, not with dtype {x.dtype}")
        if x.dtype != dtype:
            dtype = np.result_type(dtype, x.dtype)
    if dtype.kind in "biu":
        return [x.astype(np.float64) for x in found], None
    if dtype == np.float16:
        return [x.astype(np.float32) for x in found], dtype
    return found, None


def check_real(name: str, x: Any) -> None:
    """Refuse complex numbers, of which a function of an order or a variance is another one."""
    if (dtype := dtype_of(x)).kind == "c":
        raise DTypeMismatch(
            f"npgrad.nn.{name} is a function of real numbers, not of {dtype}: apply it to"
            " np.real(x) and np.imag(x), or say in NumPy's functions what it should be"
        )


def as_number(value: Any, name: str, what: str) -> Any:
    """A parameter such as `eps` as a Python number, which changes no dtype."""
    if type(value) is GradArray and recorded(value):
        raise NoDerivative(
            f"npgrad.nn.{name} has no derivative with respect to {what}: npgrad.value({what}) makes"
            " it a constant; its formula in NumPy's functions has one"
        )
    value = current(value)[0] if type(value) is GradArray else value
    found = np.asarray(value)
    if found.shape != () or found.dtype.kind not in "fiub":
        raise TypeError(
            f"npgrad.nn.{name}: {what} is one real number, not {value!r}; an array of them is"
            " written with np.where and the operators"
        )
    return float(found)


def as_int(value: Any, name: str, what: str) -> int:
    """A parameter that is a whole number, of Python's or of NumPy's."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
        raise TypeError(f"npgrad.nn.{name}: {what} is one int, not {value!r}")
    return operator.index(value)


def axis_of(x: Any, axis: int, name: str) -> int:
    """`axis` counted from the front."""
    ndim = len(shape_of(x))
    axis = as_int(axis, name, "axis")
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim, f"npgrad.nn.{name}")
    return axis % ndim


def wrong_shape(name: str, what: str, got: Any, wanted: str) -> ShapeMismatch:
    """The error that names the array whose shape is wrong, and what it should be."""
    return ShapeMismatch(f"npgrad.nn.{name}: {what} has shape {tuple(got)}, expected {wanted}")
