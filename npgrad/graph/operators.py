"""Operators and NumPy's two protocols, put on `GradArray` from one list.

An operator goes straight from Python to the record (half the cost of going through the protocol);
``np.f(x)`` and operators of foreign arrays arrive in ``__array_ufunc__`` and
``__array_function__``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from .. import table
from ..errors import InPlaceError, NoDerivative
from . import backend, modes
from .array import GradArray, current, unwrap
from .node import Node
from .op import General
from .record import assign, at, call, compiled, elementwise, general, plain_out, protect, strip
from .regions import augmented, copyto, getitem, setitem
from .stacking import has_recorded, stacked

_MODE = modes.MODE.get
_frame = sys._getframe
PLAIN = backend.PLAIN
SIMPLE = PLAIN | {GradArray}  # what the everyday path of an operator takes
Method = Callable[..., Any]

# operator name, ufunc, function that Python's operator calls
BINARY = (
    ("add", "add", operator.add),
    ("sub", "subtract", operator.sub),
    ("mul", "multiply", operator.mul),
    ("truediv", "divide", operator.truediv),
    ("pow", "power", operator.pow),
    ("mod", "remainder", operator.mod),
    ("floordiv", "floor_divide", operator.floordiv),
    ("matmul", "matmul", operator.matmul),
    ("divmod", "divmod", divmod),
    ("and", "bitwise_and", operator.and_),
    ("or", "bitwise_or", operator.or_),
    ("xor", "bitwise_xor", operator.xor),
    ("lshift", "left_shift", operator.lshift),
    ("rshift", "right_shift", operator.rshift),
)
UNARY = (
    ("neg", "negative", operator.neg),
    ("pos", "positive", operator.pos),
    ("abs", "absolute", operator.abs),
    ("invert", "invert", operator.invert),
)
COMPARE = (
    ("lt", operator.lt),
    ("le", operator.le),
    ("gt", operator.gt),
    ("ge", operator.ge),
    ("eq", operator.eq),
    ("ne", operator.ne),
)


def operand(value: Any) -> Any:
    """`value` as the other operand of an operator; NotImplemented leaves it to the other side."""
    kind = type(value)
    if kind is GradArray or kind in PLAIN:
        return value
    if kind is list or kind is tuple:
        return stacked(value) if has_recorded(value) else backend.asarray(value)
    if backend.foreign(value):
        return NotImplemented
    return value


def _make_binary(ufunc: Any, python: Callable[[Any, Any], Any], reflected: bool) -> Method:
    """The method for ``self op other`` (or, reflected, ``other op self``)."""
    op: Any = None
    one: Any = None
    two: Any = None
    other_bit = 1 if reflected else 2

    def method(self: GradArray, other: Any) -> Any:
        nonlocal op, one, two
        if self._view is not None:
            self._view.refresh(self)
        a, parent = self._array, self._node
        kind = type(other)
        if kind is GradArray:
            if other._view is not None:
                other._view.refresh(other)
            b, second = other._array, other._node
        elif kind in PLAIN:
            b, second = other, None
        else:
            b = operand(other)
            if b is NotImplemented:
                return NotImplemented
            if type(b) is GradArray:
                return method(self, b)
            second = None
        result = python(b, a) if reflected else python(a, b)
        if op is None:
            op = compiled(_decided(ufunc))
            one, two = op.variants[2 if reflected else 1], op.variants[3]
        frame = _frame(1)
        if _MODE() is not None or parent is None or op.missing or kind not in SIMPLE:
            if reflected:
                return elementwise(op, result, (b, a), (second, parent), frame)
            return elementwise(op, result, (a, b), (parent, second), frame)
        if second is None:
            variant, parents = one, (parent,)
            if variant.code & other_bit and kind not in backend.SCALARS:
                guards: list[Any] = []
                b = protect(b, guards)
                if guards:
                    kept = variant.pack((b, a) if reflected else (a, b), result)
                    return _node(variant.guarded, result, parents, (*kept, *guards), frame)
        else:
            variant, parents = two, (second, parent) if reflected else (parent, second)
        code = variant.code
        if code == other_bit:
            kept = (b,)
        elif code == 0:
            kept = ()
        else:
            kept = variant.pack((b, a) if reflected else (a, b), result)
        try:
            shape, dtype = result.shape, result.dtype
        except AttributeError:
            shape, dtype = backend.describe(result)
        return GradArray(
            result, Node(variant, parents, kept, shape, dtype, frame.f_code, frame.f_lasti)
        )

    return method


def _node(op: Any, result: Any, parents: Any, kept: Any, frame: Any) -> GradArray:
    shape, dtype = backend.describe(result)
    return GradArray(
        result, Node(op, parents, kept, shape, dtype, frame.f_code, frame.f_lasti)
    )


def _make_unary(ufunc: Any, python: Callable[[Any], Any]) -> Method:
    def method(self: GradArray) -> Any:
        array, node = current(self)
        op = _OPS.get(ufunc) or compiled(_decided(ufunc))
        return elementwise(op, python(array), (array,), (node,), _frame(1))

    return method


def _make_indirect(ufunc: Any, reflected: bool) -> Method:
    """An operator whose ufunc is not decided as elementwise: matmul, divmod, floor_divide."""
    rule: table.Rule | None = None

    def method(self: GradArray, other: Any) -> Any:
        nonlocal rule
        kind = type(other)
        if kind is not GradArray and kind not in PLAIN:
            other = operand(other)
            if other is NotImplemented:
                return NotImplemented
        if rule is None:
            rule = _decided(ufunc)
        pair = (other, self) if reflected else (self, other)
        if type(rule.compiled) is General:
            return general(rule.compiled, pair, {}, _frame(1))
        return call(rule, pair, {}, _frame(1))

    return method


def _make_in_place(name: str, ufunc: Any) -> Method:
    def method(self: GradArray, other: Any) -> Any:
        frame = _frame(1)
        made = getattr(GradArray, f"__{name}__")(self, other)
        return augmented(self, made, frame, f"x {name}= y")

    return method


def _make_compare(python: Callable[[Any, Any], Any]) -> Method:
    def method(self: GradArray, other: Any) -> Any:
        return python(current(self)[0], strip(other))

    return method


def _decided(fun: Any) -> table.Rule:
    rule = table.lookup(fun)
    if rule is None:
        name = table.function_name(fun)
        raise NoDerivative(
            f"npgrad: nothing is decided for {name}; it was not called. "
            f"To treat its argument as a constant: {name}(npgrad.value(x))."
        )
    return rule


def _power(self: GradArray, exponent: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    return _plain_power(self, exponent)


_OPS: dict[Any, Any] = {}  # ufunc -> compiled operation, for those whose inputs all have rules


def array_ufunc(self: GradArray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's protocol for ufuncs."""
    op = _OPS.get(ufunc)
    if op is not None and not kwargs and method == "__call__" and _MODE() is None:
        if type(op) is General:
            return general(op, inputs, kwargs, _frame(1))
        if len(inputs) == 1:
            if self._view is not None:
                self._view.refresh(self)
            array, node = self._array, self._node
            result = ufunc(array)
            if node is None:
                return GradArray(result, None)
            variant = op.variants[1]
            code = variant.code
            if code == 1:
                kept: tuple[Any, ...] = (array,)
            elif code == 2:
                kept = (result,)
            else:
                kept = variant.pack((array,), result)
            frame = _frame(1)
            shape, dtype = result.shape, result.dtype
            return GradArray(
                result, Node(variant, (node,), kept, shape, dtype, frame.f_code, frame.f_lasti)
            )
        values, parents = [], []
        for value in inputs:
            kind = type(value)
            if kind is GradArray:
                if value._view is not None:
                    value._view.refresh(value)
                values.append(value._array)
                parents.append(value._node)
            elif kind in PLAIN:
                values.append(value)
                parents.append(None)
            else:
                return _any_ufunc(ufunc, method, inputs, kwargs, _frame(1))
        return elementwise(op, ufunc(*values), values, parents, _frame(1))
    return _any_ufunc(ufunc, method, inputs, kwargs, _frame(1))


def _any_ufunc(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], frame: Any
) -> Any:
    """`array_ufunc` for every case."""
    values: list[Any] = []
    parents: list[Any] = []
    for value in inputs:
        value = operand(value)
        if value is NotImplemented:
            return NotImplemented
        array, node = current(value) if type(value) is GradArray else (value, None)
        values.append(array)
        parents.append(node)
    if method != "__call__":
        return _ufunc_method(ufunc, method, inputs, kwargs, frame)
    rule = _decided(ufunc)
    if rule.kind in ("bilinear", "reverse"):
        _OPS[ufunc] = compiled(rule)
    if rule.kind != "elementwise":
        return _other_ufunc(rule, inputs, kwargs, frame)
    op = compiled(rule)
    if not op.missing:
        _OPS[ufunc] = op
    if not kwargs:
        return elementwise(op, ufunc(*values), values, parents, frame)
    return _with_keywords(op, ufunc, inputs, values, parents, kwargs, frame)


def _other_ufunc(rule: table.Rule, inputs: Any, kwargs: dict[str, Any], frame: Any) -> Any:
    """A ufunc that is constant, flat, refused, or has several outputs or a signature."""
    out = kwargs.pop("out", None)
    if type(out) is tuple and len(out) == 1:
        (out,) = out
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
    if out is not None and type(out) is not GradArray and any(p is not None for p in parents):
        raise InPlaceError(plain_out(op.name, frame))
    if dtype is not None:
        inputs = tuple([_as_dtype(value, dtype) for value in inputs])
        values = [current(v)[0] if type(v) is GradArray else v for v in inputs]
        parents = [current(v)[1] if type(v) is GradArray else None for v in inputs]
    if where is True:
        made: Any = elementwise(op, ufunc(*values, **kwargs), values, parents, frame)
        return made if out is None else assign(out, made, op.name, frame)
    where = unwrap(where)
    result = ufunc(*values, where=where, **kwargs)
    backend.copyto(result, 0, backend.broadcast(~backend.asarray(where), result.shape))
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
        return value.astype(dtype)  # type: ignore[attr-defined]
    return backend.asarray(value).astype(dtype)


def _ufunc_method(
    ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], frame: Any
) -> Any:
    """``np.add.reduce``, ``.accumulate``, ``.reduceat``, ``.outer``, ``.at``."""
    body = table.ufunc_methods.get(method)
    if body is None:
        raise NoDerivative(f"npgrad: {table.function_name(ufunc)}.{method} is not recorded")
    out = kwargs.pop("out", None)
    if type(out) is tuple:
        (out,) = out
    if method == "at" and type(inputs[0]) is not GradArray:
        raise InPlaceError(plain_out(f"{table.function_name(ufunc)}.at", frame))
    made = body(ufunc, *inputs, **kwargs)
    return made if out is None else assign(out, made, table.function_name(ufunc), frame)


def array_function(
    self: GradArray, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """NumPy's protocol for everything that is not a ufunc."""
    for kind in types:
        if kind is not GradArray and backend.foreign_type(kind):
            return NotImplemented
    rule = table.lookup(func)
    return call(_decided(func) if rule is None else rule, args, kwargs, _frame(1))


def _getitem(self: GradArray, index: Any) -> Any:
    return getitem(self, index, _frame(1))


def _setitem(self: GradArray, index: Any, value: Any) -> None:
    setitem(self, index, value, _frame(1))


def install() -> None:
    """Put the operators and the protocols on the class."""
    global _plain_power
    indirect = {"floordiv", "matmul", "divmod", "and", "or", "xor", "lshift", "rshift"}
    for name, ufunc_name, python in BINARY:
        ufunc = backend.ufunc(ufunc_name)
        for prefix, reflected in (("", False), ("r", True)):
            method = (
                _make_indirect(ufunc, reflected)
                if name in indirect
                else _make_binary(ufunc, python, reflected)
            )
            _put(f"__{prefix}{name}__", method)
        if name != "divmod":
            _put(f"__i{name}__", _make_in_place(name, ufunc))
    _plain_power = GradArray.__pow__  # type: ignore[attr-defined]
    for name, ufunc_name, python_unary in UNARY:
        _put(f"__{name}__", _make_unary_for(name, ufunc_name, python_unary))
    for name, python_compare in COMPARE:
        _put(f"__{name}__", _make_compare(python_compare))
    _put("__getitem__", _getitem)
    _put("__setitem__", _setitem)
    _put("__array_ufunc__", array_ufunc)
    _put("__array_function__", array_function)
    GradArray.__array_priority__ = 1000.0  # type: ignore[attr-defined]


_plain_power: Any = None


def _make_unary_for(name: str, ufunc_name: str, python: Any) -> Method:
    ufunc = backend.ufunc(ufunc_name)
    if name == "invert":

        def invert(self: GradArray) -> Any:
            return call(_decided(ufunc), (self,), {}, _frame(1))

        return invert
    return _make_unary(ufunc, python)


def _put(name: str, method: Method) -> None:
    method.__name__ = name
    method.__qualname__ = f"GradArray.{name}"
    setattr(GradArray, name, method)


install()
