"""Operators and NumPy's two protocols, put on `GradArray` from one list.

An operator goes straight from Python to the record (half the cost of going through the protocol);
``np.f(x)`` and operators of foreign arrays arrive in ``__array_ufunc__`` and
``__array_function__``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import table
from ..errors import InPlaceError, NoDerivative
from . import backend, modes
from .array import GradArray, current, handle_of, storage, unwrap
from .general import General
from .node import Node, next_id
from .record import (
    assign,
    at,
    call,
    compiled,
    elementwise,
    general,
    plain_out,
    product,
    strip,
    wrapped,
)
from .regions import augmented, copyto, getitem, setitem
from .stacking import has_recorded, stacked
from .stale import found_equal

_MODE = modes.MODE.get
_frame = sys._getframe
_new = object.__new__
PLAIN = backend.PLAIN
Method = Callable[..., Any]

# operator name, ufunc, Python's function and symbol
BINARY = (
    ("add", "add", operator.add, "+"),
    ("sub", "subtract", operator.sub, "-"),
    ("mul", "multiply", operator.mul, "*"),
    ("truediv", "divide", operator.truediv, "/"),
    ("pow", "power", operator.pow, "**"),
    ("mod", "remainder", operator.mod, "%"),
)
INDIRECT = (  # not decided as elementwise
    ("floordiv", "floor_divide"),
    ("matmul", "matmul"),
    ("divmod", "divmod"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("xor", "bitwise_xor"),
    ("lshift", "left_shift"),
    ("rshift", "right_shift"),
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


def _goes_first(other: Any) -> bool:
    """Whether `other`, such as a sparse matrix, computes with arrays itself, as ndarray asks it."""
    kind = type(other)
    return not hasattr(kind, "__array_ufunc__") and getattr(kind, "__array_priority__", 0) > 0


# The text of a binary operator, and of a ufunc of two inputs called by name: Python's function
# calls and loops would cost more than the operation. In it, x1 and x2 stand in NumPy's order;
# `one` and `two` are the variants with x1 or x2 recorded alone, `both` with both.
_BINARY = """
def {name}({arguments}):
    {unpack}
    kind1, kind2 = type(x1), type(x2)
    view = None
    if kind1 is GradArray:
        if x1._view is None:
            a, first = x1._array, x1._node
        else:
            a, first, view = x1._view.operand(x1)
        if kind2 in SCALARS:
            b, second = x2, None
        elif kind2 is GradArray:
            if x2._view is None:
                b, second = x2._array, x2._node
            else:
                b, second, view = x2._view.operand(x2)
        elif kind2 is NDARRAY:
            b, second = x2, None
        else:
            return slowly({slow})
    else:
        if x2._view is None:
            b, second = x2._array, x2._node
        else:
            b, second, view = x2._view.operand(x2)
        if kind1 in SCALARS or kind1 is NDARRAY:
            a, first = x1, None
        else:
            return slowly({slow})
    if mode() is not None:
        return slowly({slow})
    try:
        result = {compute}
    except TypeError:
        refuse_mixed({name!r}, (a, b))
        raise
    if first is None:
        if second is None:
            return handle_of(result, None)
        variant, parents, code = {two}, (second,), {two}.code
        if code & 1 and kind1 not in SCALARS:
            return plainly(ufunc, result, a, b, first, second, frame(1))
    elif second is None:
        variant, parents, code = {one}, (first,), {one}.code
        if code & 2 and kind2 not in SCALARS:
            return plainly(ufunc, result, a, b, first, second, frame(1))
    else:
        variant, parents, code = {both}, (first, second), {both}.code
    if code == 0:
        kept = ()
    elif code == 2:
        kept = (b,)
    elif code == 1:
        kept = (a,)
    elif code == 3:
        kept = (a, b)
    else:
        kept = variant.pack((a, b), result)
    node = new(Node)  # written out: the call of __init__ would take as long as all the rest
    node.id = next_id()
    node.op, node.parents, node.kept = variant, parents, kept
    try:
        node.shape, node.dtype = result.shape, result.dtype
    except AttributeError:
        node.shape, node.dtype = describe(result)
    f = frame(1)
    node.code, node.lasti = f.f_code, f.f_lasti
    handle = new(GradArray)
    handle._array, handle._node, handle._view = result, node, view
    return handle
"""


def _plainly(
    ufunc: Any, result: Any, a: Any, b: Any, first: Any, second: Any, frame: Any
) -> GradArray:
    """A plain array beside a recorded one: it is kept as a copy, or guarded."""
    op = compiled(_decided(ufunc))
    return elementwise(op, result, (a, b), (first, second), frame)


def _operator_text(name: str, symbol: str, reflected: bool) -> str:
    """The source of ``__name__``: `symbol` between x1 and x2."""
    text = _BINARY.replace("{one}", "one").replace("{two}", "two").replace("{both}", "both")
    return text.format(
        name=f"__{'r' if reflected else ''}{name}__",
        arguments="x2, x1" if reflected else "x1, x2",
        unpack="",
        slow="x1, x2, frame(1)",
        compute=f"a {symbol} b",
    )


def _make_slowly(ufunc: Any, python: Callable[[Any, Any], Any], reflected: bool) -> Method:
    """The operator for every case: lists, foreign arrays, modes, inputs without a rule."""

    def slowly(x1: Any, x2: Any, frame: Any) -> Any:
        x1, x2 = operand(x1), operand(x2)
        if x1 is NotImplemented or x2 is NotImplemented:
            return NotImplemented
        a, first = current(x1) if type(x1) is GradArray else (x1, None)
        b, second = current(x2) if type(x2) is GradArray else (x2, None)
        try:
            result = python(a, b)
        except TypeError:
            backend.refuse_mixed(table.function_name(ufunc), (a, b))
            raise
        return _plainly(ufunc, result, a, b, first, second, frame)

    return slowly


def _make_binary(name: str, ufunc: Any, python: Any, symbol: str, reflected: bool) -> Method:
    """The method for ``self op other`` (or, reflected, ``other op self``).

    Its text is compiled when it is first called; it then takes its own place on the class.
    """
    full = f"__{'r' if reflected else ''}{name}__"

    def method(self: GradArray, other: Any) -> Any:
        slowly = _make_slowly(ufunc, python, reflected)
        space = _space(ufunc, compiled(_decided(ufunc)), slowly)
        exec(_operator_text(name, symbol, reflected), space)
        _put(full, space[full])
        x1, x2 = (other, self) if reflected else (self, other)
        return slowly(x1, x2, _frame(1))  # the text would name this line as the user's

    method.__name__ = full
    return method


def _space(ufunc: Any, op: Any, slowly: Method) -> dict[str, Any]:
    """The names that `_BINARY` uses."""
    return {
        "GradArray": GradArray,
        "NDARRAY": backend.NDARRAY,
        "Node": Node,
        "SCALARS": backend.SCALARS,
        "both": op.variants[3],
        "describe": backend.describe,
        "frame": _frame,
        "handle_of": handle_of,
        "mode": _MODE,
        "new": object.__new__,
        "next_id": next_id,
        "one": op.variants[1],
        "plainly": _plainly,
        "slowly": slowly,
        "two": op.variants[2],
        "refuse_mixed": backend.refuse_mixed,
        "ufunc": ufunc,
    }


def _make_call(ufunc: Any, op: Any) -> Method:
    """``ufunc(x1, x2)`` as ``__array_ufunc__`` calls it; the frame is the caller's caller's."""

    def slowly(x1: Any, x2: Any, frame: Any) -> Any:
        return _any_ufunc(ufunc, "__call__", (x1, x2), {}, frame)

    text = _BINARY.replace("{one}", "one").replace("{two}", "two").replace("{both}", "both")
    text = text.format(
        name="call_two",
        arguments="x1, x2",
        unpack="",
        slow="x1, x2, frame(2)",
        compute="ufunc(a, b)",
    ).replace("frame(1)", "frame(2)")
    space = _space(ufunc, op, slowly)
    exec(text, space)
    return space["call_two"]  # type: ignore[no-any-return]


def _one(variant: Any, result: Any, array: Any, node: Node, view: Any, frame: Any) -> GradArray:
    """The handle of ``result = ufunc(array)``."""
    code = variant.code
    if code == 1:
        kept: tuple[Any, ...] = (array,)
    elif code == 2:
        kept = (result,)
    elif code == 0:
        kept = ()
    else:
        kept = variant.pack((array,), result)
    made = _new(Node)
    made.id = next_id()
    made.op, made.parents, made.kept = variant, (node,), kept
    try:
        made.shape, made.dtype = result.shape, result.dtype
    except AttributeError:
        made.shape, made.dtype = backend.describe(result)
    made.code, made.lasti = frame.f_code, frame.f_lasti
    handle = _new(GradArray)
    handle._array, handle._node, handle._view = result, made, view
    return handle


def _make_unary(ufunc: Any, python: Callable[[Any], Any]) -> Method:
    def method(self: GradArray) -> Any:
        view = None
        if self._view is None:
            array, node = self._array, self._node
        else:
            array, node, view = self._view.operand(self)
        op = _OPS.get(ufunc)
        if op is None or node is None or _MODE() is not None:
            array = current(self)[0]
            op = compiled(_decided(ufunc))
            if not op.missing:
                _OPS[ufunc] = op
            return elementwise(op, python(array), (array,), (node,), _frame(1))
        return _one(op.variants[1], python(array), array, node, view, _frame(1))

    return method


def _make_indirect(ufunc: Any, reflected: bool) -> Method:
    """An operator whose ufunc is not decided as elementwise: matmul, divmod, floor_divide."""
    rule: table.Rule | None = None

    def method(self: GradArray, other: Any) -> Any:
        nonlocal rule
        kind = type(other)
        if kind is not GradArray and kind not in PLAIN:
            other = operand(other)
            if other is NotImplemented or _goes_first(other):
                return NotImplemented
        if rule is None:
            rule = _decided(ufunc)
        if type(rule.compiled) is General:
            if reflected:
                return product(rule.compiled, other, self, _frame(1))
            return product(rule.compiled, self, other, _frame(1))
        return call(rule, (other, self) if reflected else (self, other), {}, _frame(1))

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

    def equality(self: GradArray, other: Any) -> Any:
        value = current(self)[0]
        result = python(value, strip(other))
        kind = type(other)
        if (kind is backend.NDARRAY or kind is GradArray) and backend.describe(value)[0] != ():
            equal = result if python is operator.eq else ~result
            if equal.size > 1 and equal.all():
                found_equal(self, other, "x == y")
        return result

    return equality if python in (operator.eq, operator.ne) else method


def _decided(fun: Any) -> table.Rule:
    rule = table.lookup(fun)
    if rule is None:
        name = table.function_name(fun)
        raise NoDerivative(
            f"npgrad: nothing is decided for {name}; it was not called. "
            f"To treat its argument as a constant: {name}(npgrad.value(x))."
        )
    return rule


_CALLS: dict[Any, Method] = {}  # ufunc of two inputs -> `_BINARY` made for it
_OPS: dict[Any, Any] = {}  # ufunc -> compiled operation, for those whose inputs all have rules


def array_ufunc(self: GradArray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's protocol for ufuncs."""
    op = _OPS.get(ufunc)
    if op is not None and not kwargs and method == "__call__" and _MODE() is None:
        if type(op) is General:
            if len(inputs) == 2:
                return product(op, inputs[0], inputs[1], _frame(1))
            return general(op, inputs, kwargs, _frame(1))
        if len(inputs) == 1:
            view = None
            if self._view is None:
                array, node = self._array, self._node
            else:
                array, node, view = self._view.operand(self)
            result = ufunc(array)
            if node is None:
                return handle_of(result, None)
            return _one(op.variants[1], result, array, node, view, _frame(1))
        if len(inputs) == 2:
            two = _CALLS.get(ufunc)
            if two is None:
                two = _CALLS[ufunc] = _make_call(ufunc, op)
            return two(inputs[0], inputs[1])  # quicker than two(*inputs)
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
        try:
            result = ufunc(*values)
        except TypeError:
            backend.refuse_mixed(op.name, values)
            raise
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
    if out is not None and type(out) is not GradArray and any(p is not None for p in parents):
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
    where = unwrap(where)
    result = ufunc(*values, where=where, out=None, **kwargs)  # out=None: NumPy does not warn
    result = backend.asarray(result)
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
        return value.astype(dtype)
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
    if func in backend.MAKERS and backend.on_device(storage(self)) and not has_recorded(args):
        return wrapped(func(*args, like=storage(self), **kwargs))  # called with ``like=self``
    rule = table.lookup(func)
    frame = modes.users(_frame(1))
    return call(_decided(func) if rule is None else rule, args, kwargs, frame)


def _getitem(self: GradArray, index: Any) -> Any:
    return getitem(self, index, _frame(1))


def _iter(self: GradArray) -> Iterator[Any]:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    frame = _frame(1)  # the generator runs elsewhere
    return (getitem(self, i, frame) for i in range(self.shape[0]))


def _setitem(self: GradArray, index: Any, value: Any) -> None:
    setitem(self, index, value, _frame(1))


def install() -> None:
    """Put the operators and the protocols on the class."""
    for name, ufunc_name, python, symbol in BINARY:
        ufunc = backend.ufunc(ufunc_name)
        for reflected in (False, True):
            method = _make_binary(name, ufunc, python, symbol, reflected)
            _put(method.__name__, method)
        _put(f"__i{name}__", _make_in_place(name, ufunc))
    for name, ufunc_name in INDIRECT:
        ufunc = backend.ufunc(ufunc_name)
        _put(f"__{name}__", _make_indirect(ufunc, False))
        _put(f"__r{name}__", _make_indirect(ufunc, True))
        if name != "divmod":
            _put(f"__i{name}__", _make_in_place(name, ufunc))
    for name, ufunc_name, python_unary in UNARY:
        _put(f"__{name}__", _make_unary_for(name, ufunc_name, python_unary))
    for name, python_compare in COMPARE:
        _put(f"__{name}__", _make_compare(python_compare))
    _put("__getitem__", _getitem)
    _put("__setitem__", _setitem)
    _put("__iter__", _iter)
    _put("__array_ufunc__", array_ufunc)
    _put("__array_function__", array_function)
    setattr(GradArray, "__array_priority__", 1000.0)  # noqa: B010 -- declared by ndarray alone


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
