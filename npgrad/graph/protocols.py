"""NumPy's two protocols: ``np.f(x)``, and operators of foreign arrays, arrive here."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from .. import table
from ..errors import InPlaceError, NoDerivative
from . import backend, modes, placing
from .array import GradArray, current, storage, unwrap
from .general import General
from .node import claimed
from .record import call, compiled, decided, elementwise, product, unclaimed
from .refusals import at, is_number_or_array, plain_out, refuse_objects
from .regions import copyto
from .results import assign, strip, wrapped
from .stacking import gathered, has_recorded, stacked, unpacked
from .written_out import written

_MODE = modes.MODE.get
_frame = sys._getframe
PLAIN = backend.PLAIN
Method = Callable[..., Any]


def operand(value: Any) -> Any:
    """`value` as the other operand of an operator; NotImplemented leaves it to the other side."""
    kind = type(value)
    if kind is GradArray or (kind in PLAIN and kind is not backend.NDARRAY):
        return value
    if kind is backend.NDARRAY:
        return unpacked(value)
    if kind is list or kind is tuple:
        return stacked(value) if has_recorded(value) else backend.asarray(value)
    if backend.foreign(value):
        return NotImplemented
    value = gathered(value)
    return backend.asarray(value) if type(value) in backend.SEQUENCES else value


# Ufunc name -> what the operator of the same meaning is in Python.
PYTHON = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "remainder": operator.mod,
}


def content(value: Any) -> Any:
    """What an object array of no axes holds, a polynomial for one; any other value as it is.

    NumPy computes with what it holds, and gives that class's result and no array.
    """
    plain = type(value) is backend.NDARRAY
    return value.item() if plain and value.ndim == 0 and value.dtype.kind == "O" else value


def _make_call(ufunc: Any, op: Any) -> Method:
    """``ufunc(x)`` or ``ufunc(x1, x2)`` as `array_ufunc` calls it, the user's frame two below."""
    name = f"call_{ufunc.__name__}"
    if op.nin == 1:

        def slowly_one(x: Any, frame: Any) -> Any:
            return _any_ufunc(ufunc, "__call__", (x,), {}, frame)

        return written(ufunc, op, slowly_one, depth=2, name=name, compute="ufunc(a)")

    def slowly(x1: Any, x2: Any, frame: Any) -> Any:
        return _any_ufunc(ufunc, "__call__", (x1, x2), {}, frame)

    return written(ufunc, op, slowly, depth=2, name=name, arguments="x1, x2", compute="ufunc(a, b)")


OPS: dict[Any, Any] = {}  # ufunc -> compiled operation, for those whose inputs all have rules
_CALLS: dict[Any, Method] = {}  # ufunc of one or two inputs -> `written` for it


def _known(value: Any) -> bool:
    """Whether `value` is recorded, plain, or a number: others may have a protocol of their own."""
    kind = type(value)
    return kind is GradArray or kind in PLAIN


def array_ufunc(self: GradArray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's protocol for ufuncs."""
    if not kwargs and method == "__call__":
        recorder = _CALLS.get(ufunc)
        if recorder is not None:
            if len(inputs) == 1:
                return recorder(self)
            made = recorder(inputs[0], inputs[1])  # quicker than recorder(*inputs)
            return made if made is not NotImplemented else _left(ufunc, method, inputs, kwargs)
        op = OPS.get(ufunc)
        if op is not None and _MODE() is None:
            if type(op) is General:
                if len(inputs) == 2 and _known(inputs[0]) and _known(inputs[1]):
                    return product(op, inputs[0], inputs[1], _frame(1))
            elif op.nin <= 2:
                _CALLS[ufunc] = _make_call(ufunc, op)
    made = _any_ufunc(ufunc, method, inputs, kwargs, _frame(1))
    return made if made is not NotImplemented else _left(ufunc, method, inputs, kwargs)


def _left(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What wrapped code makes of an operand whose class is a subclass of ndarray."""
    if any(map(backend.of_subclass, inputs)):
        return backend.subclasses.through(getattr(ufunc, method), inputs, kwargs)
    return NotImplemented


def _any_ufunc(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], frame: Any
) -> Any:
    """`array_ufunc` for every case."""
    values: list[Any] = []
    parents: list[Any] = []
    operands = inputs if method != "at" else (inputs[0], *inputs[2:])  # the second is an index
    for value in operands:
        value = operand(value)
        if value is NotImplemented:
            return NotImplemented
        array, node = current(value) if type(value) is GradArray else (value, None)
        values.append(array)
        parents.append(node)
    if method != "__call__":
        return _ufunc_method(ufunc, method, inputs, kwargs, frame)
    rule = decided(ufunc)
    if rule.kind in ("bilinear", "reverse"):
        OPS[ufunc] = compiled(rule)
    if rule.kind != "elementwise":
        return _other_ufunc(rule, inputs, kwargs, frame)
    op = compiled(rule)
    if not op.missing:
        OPS[ufunc] = op
    if not kwargs:
        try:
            result = ufunc(*values)
        except TypeError:
            placing.refuse_mixed(op.name, values)
            raise
        if not is_number_or_array(result) and ufunc.__name__ in PYTHON:
            left, right = held = [content(value) for value in inputs]
            if any(map(operator.is_not, held, inputs)):
                return PYTHON[ufunc.__name__](left, right)
        if not is_number_or_array(result) or (
            backend.describe(result)[1].kind == "O" and not all(map(is_number_or_array, values))
        ):
            refuse_objects(op.name, result, modes.users(frame))
        return elementwise(op, result, values, parents, frame)
    return _with_keywords(op, ufunc, inputs, values, parents, kwargs, frame)


def _other_ufunc(rule: table.Rule, inputs: Any, kwargs: dict[str, Any], frame: Any) -> Any:
    """A ufunc that is constant, flat, refused, or has several outputs or a signature."""
    out = kwargs.pop("out", None)
    if type(out) is tuple and len(out) == 1:
        (out,) = out
    if rule.kind == "reverse" and rule.fun.nout == 1 and rule.fun.signature is None:
        where = kwargs.pop("where", True)
        if where is not True:
            made = call(rule, inputs, kwargs, frame)
            out = (
                GradArray(backend.zeros(storage(made), made.shape, made.dtype), None)
                if out is None
                else out
            )
            if type(out) is not GradArray:
                raise InPlaceError(plain_out(rule.name, frame))
            copyto(out, made, unwrap(where), frame, rule.name)
            return out
    if out is None:
        return call(rule, inputs, kwargs, frame)
    if type(out) is not tuple:
        return call(rule, inputs, {**kwargs, "out": out}, frame)
    results = call(rule, inputs, kwargs, frame)
    return tuple(
        made if place is None else assign(place, made, rule.name, frame)
        for place, made in zip(out, results, strict=True)
    )


def _with_keywords(
    op: Any,
    ufunc: Any,
    inputs: tuple[Any, ...],
    values: list[Any],
    parents: list[Any],
    kwargs: dict[str, Any],
    frame: Any,
) -> Any:
    """``out=``, ``where=``, ``dtype=`` of an elementwise ufunc."""
    out = kwargs.pop("out", None)
    if type(out) is tuple:
        (out,) = out
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    if kwargs.get("sig") is not None or kwargs.get("signature") is not None:
        raise NoDerivative(f"npgrad: {op.name} with signature= is not recorded (at {at(frame)})")
    plainly_out = out is not None and type(out) is not GradArray
    if plainly_out and any(p is not None and claimed(p) for p in parents):
        raise InPlaceError(plain_out(op.name, frame))
    if dtype is not None:
        backend.check_dtype(ufunc, values, dtype, kwargs.get("casting", "same_kind"))
        inputs = tuple([_as_dtype(value, dtype) for value in inputs])
        values = [current(v)[0] if type(v) is GradArray else v for v in inputs]
        parents = [current(v)[1] if type(v) is GradArray else None for v in inputs]
    if where is True:
        made: Any = elementwise(op, ufunc(*values, **kwargs), values, parents, frame)
        if type(out) is GradArray and made.shape != out.shape:
            made = backend.widened(made, out.shape)
        return made if out is None else assign(out, made, op.name, frame)
    where = backend.mask(unwrap(where))
    result = ufunc(*values, where=where, out=None, **kwargs)  # out=None: NumPy does not warn
    result = backend.asarray(result)
    backend.copyto(result, 0, backend.broadcast(~where, result.shape))
    made = elementwise(op, result, values, parents, frame)
    if out is None:
        out = GradArray(backend.zeros(result, result.shape, result.dtype), None)
    if type(out) is not GradArray:
        backend.copyto(out, result, where)
        return out
    copyto(out, made, where, frame, op.name)
    return out


def _as_dtype(value: Any, dtype: Any) -> Any:
    if type(value) is GradArray:
        return value.astype(dtype)
    return backend.asarray(value).astype(dtype)


def _ufunc_method(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], frame: Any
) -> Any:
    """``np.add.reduce``, ``.accumulate``, ``.reduceat``, ``.outer``, ``.at``."""
    table.lookup(ufunc)  # loads what knows the methods, of Numba's functions too
    body = table.ufunc_methods.get(method)
    if body is None:
        raise NoDerivative(f"npgrad: {table.function_name(ufunc)}.{method} is not recorded")
    out = kwargs.pop("out", None)
    if type(out) is tuple:
        (out,) = out
    if method == "at" and type(inputs[0]) is not GradArray:
        if unclaimed(inputs, {}):
            return ufunc.at(*map(strip, inputs))
        raise InPlaceError(plain_out(f"{table.function_name(ufunc)}.at", frame))
    made = body(ufunc, *inputs, **kwargs)
    return made if out is None else assign(out, made, table.function_name(ufunc), frame)


def array_function(
    self: GradArray, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """NumPy's protocol for everything that is not a ufunc."""
    for kind in types:
        if kind is not GradArray and backend.foreign_type(kind):
            if issubclass(kind, backend.NDARRAY):
                return backend.subclasses.through(func, args, kwargs)
            return NotImplemented
    if func in backend.MAKERS and backend.on_device(storage(self)) and not has_recorded(args):
        return wrapped(func(*args, like=storage(self), **kwargs))  # called with ``like=self``
    rule = table.lookup(func)
    frame = modes.users(_frame(1))
    return call(decided(func) if rule is None else rule, args, kwargs, frame)
