"""The operators of `GradArray`, put on the class from one list.

An operator goes straight from Python to the record: half the cost of NumPy's protocols, which are
in `protocols`.
"""

from __future__ import annotations

import numbers
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import table
from . import backend, modes, placing
from .array import GradArray, current
from .general import General
from .protocols import PYTHON, array_function, array_ufunc, content, operand
from .record import call, compiled, decided, elementwise, product
from .regions import augmented, getitem, setitem
from .results import strip
from .stale import entry_equal, found_equal
from .written_out import plainly, written

_MODE = modes.MODE.get
_frame = sys._getframe
PLAIN = backend.PLAIN
Method = Callable[..., Any]

# operator name, ufunc and symbol
BINARY = (
    ("add", "add", "+"),
    ("sub", "subtract", "-"),
    ("mul", "multiply", "*"),
    ("truediv", "divide", "/"),
    ("pow", "power", "**"),
    ("mod", "remainder", "%"),
)
OVERWRITING = "+-*/"  # may write the result over an operand that is nobody's
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
    ("neg", "negative", operator.neg, "-a"),
    ("pos", "positive", operator.pos, "+a"),
    ("abs", "absolute", operator.abs, "abs(a)"),
)
COMPARE = (
    ("lt", operator.lt),
    ("le", operator.le),
    ("gt", operator.gt),
    ("ge", operator.ge),
    ("eq", operator.eq),
    ("ne", operator.ne),
)


def _goes_first(other: Any) -> bool:
    """Whether `other`, such as a sparse matrix, computes with arrays itself, as ndarray asks it."""
    kind = type(other)
    if kind is GradArray or kind in PLAIN or hasattr(kind, "__array_ufunc__"):
        return False
    return bool(getattr(other, "__array_priority__", 0) > 0)  # a number's is under zero


def _beside(name: str, x1: Any, x2: Any) -> Any:
    """The operator with a sparse matrix of SciPy's; NotImplemented if neither operand is one."""
    for kind in (type(x1), type(x2)):
        if hasattr(kind, "tocsr") and backend.sparse is not None:
            return backend.sparse(name, x1, x2)
    return NotImplemented


def _repeats(number: Any, items: Any) -> bool:
    """Whether a product would repeat the sequence `items` a recorded number of times."""
    return type(items) in (list, tuple) and type(number) is GradArray and not number.shape


def _answers(value: Any, name: str) -> bool:
    """Whether `value` is no number and no array, and has the reflected method `name` for both."""
    kind = type(value)
    if kind is GradArray or kind in PLAIN or not hasattr(kind, name):
        return False
    array = hasattr(kind, "__array__") or hasattr(kind, "__array_priority__")
    return not (array or isinstance(value, numbers.Number))


def _left_to(x1: Any, x2: Any, name: str) -> bool:
    """Whether ``x1 op x2`` is the method `name` of `x2`, as it is of NumPy's numbers."""
    if type(x1) is not GradArray or not _answers(x2, name):
        return False
    if x1.shape:
        raise TypeError(
            f"npgrad: a recorded array meets a {type(x2).__qualname__}; NumPy would make an array "
            "of objects, which is not recorded. Write it entry by entry: [a * b for a in x]."
        )
    return True


def _asked(ufunc: Any, name: str, reflected: bool, x1: Any, x2: Any) -> Any:
    """NumPy's ufunc, where the other operand has that protocol and no operator of its own."""
    kind = type(x1 if reflected else x2)
    own = f"__{name}__" if reflected else f"__r{name}__"
    if getattr(kind, "__array_ufunc__", None) is None or hasattr(kind, own):
        return NotImplemented
    return ufunc(x1, x2)


def _make_slowly(
    name: str, ufunc: Any, python: Callable[[Any, Any], Any], reflected: bool
) -> Method:
    """The operator for every case: lists, foreign arrays, modes, inputs without a rule."""

    def slowly(x1: Any, x2: Any, frame: Any) -> Any:
        if _goes_first(x1) or _goes_first(x2):
            return _beside(name, x1, x2)
        given = x1, x2
        held = content(x1), content(x2)
        if held[0] is not x1 or held[1] is not x2:
            return python(*held)
        if python is operator.mul and (_repeats(x1, x2) or _repeats(x2, x1)):
            return python(strip(x1), strip(x2))  # NumPy's own error
        x1, x2 = operand(x1), operand(x2)
        if not reflected and _left_to(x1, x2, f"__r{name}__"):
            return NotImplemented
        if x1 is NotImplemented or x2 is NotImplemented:
            return _asked(ufunc, name, reflected, *given)
        a, first = current(x1) if type(x1) is GradArray else (x1, None)
        b, second = current(x2) if type(x2) is GradArray else (x2, None)
        try:
            result = python(a, b)
        except TypeError:
            placing.refuse_mixed(table.function_name(ufunc), (a, b))
            raise
        return plainly(ufunc, result, a, b, first, second, frame)

    return slowly


def _make_binary(name: str, ufunc: Any, python: Any, symbol: str, reflected: bool) -> Method:
    """The method for ``self op other`` (or, reflected, ``other op self``).

    Its text is compiled when it is first called; it then takes its own place on the class.
    """
    full = f"__{'r' if reflected else ''}{name}__"

    def method(self: GradArray, other: Any) -> Any:
        slowly = _make_slowly(name, ufunc, python, reflected)
        made = written(
            ufunc,
            compiled(decided(ufunc)),
            slowly,
            name=full,
            arguments="x2, x1" if reflected else "x1, x2",
            compute=f"a {symbol} b",
            overwrites=symbol in OVERWRITING,
        )
        _put(full, made)
        x1, x2 = (other, self) if reflected else (self, other)
        return slowly(x1, x2, _frame(1))  # the text would name this line as the user's

    method.__name__ = full
    return method


def _make_unary(name: str, ufunc: Any, python: Callable[[Any], Any], text: str) -> Method:
    """The method for ``op self``, whose text is compiled when it is first called."""
    full = f"__{name}__"

    def slowly(x: GradArray, frame: Any) -> Any:
        array, node = current(x)
        return elementwise(compiled(decided(ufunc)), python(array), (array,), (node,), frame)

    def method(self: GradArray) -> Any:
        made = written(ufunc, compiled(decided(ufunc)), slowly, name=full, compute=text)
        _put(full, made)
        return slowly(self, _frame(1))

    method.__name__ = full
    return method


def _make_indirect(name: str, ufunc: Any, reflected: bool) -> Method:
    """An operator whose ufunc is not decided as elementwise: matmul, divmod, floor_divide."""
    rule: table.Rule | None = None

    def method(self: GradArray, other: Any) -> Any:
        nonlocal rule
        kind = type(other)
        if kind is not GradArray and kind not in PLAIN:
            if _goes_first(other):
                return _beside(name, *((other, self) if reflected else (self, other)))
            given, other = other, operand(other)
            if other is NotImplemented:
                pair = (given, self) if reflected else (self, given)
                return _asked(ufunc, name, reflected, *pair)
            if not reflected and _left_to(self, other, f"__r{name}__"):
                return NotImplemented
        if rule is None:
            rule = decided(ufunc)
        if type(rule.compiled) is General:
            if reflected:
                return product(rule.compiled, other, self, _frame(1))
            return product(rule.compiled, self, other, _frame(1))
        return call(rule, (other, self) if reflected else (self, other), {}, _frame(1))

    return method


def _make_in_place(name: str, ufunc: Any) -> Method:
    def method(self: GradArray, other: Any) -> Any:
        frame = _frame(1)
        if backend.subclasses is not None and type(other) not in backend.PLAIN:
            other = backend.subclasses.written(other)
        made = getattr(GradArray, f"__{name}__")(self, other)
        return augmented(self, made, frame, f"x {name}= y")

    return method


def _make_compare(python: Callable[[Any, Any], Any]) -> Method:
    def method(self: GradArray, other: Any) -> Any:
        return python(current(self)[0], strip(other))

    said = python is operator.eq

    def equality(self: GradArray, other: Any) -> Any:
        value = current(self)[0]
        result = python(value, strip(other))
        kind = type(other)
        if (kind is backend.NDARRAY or kind is GradArray) and backend.describe(value)[0] != ():
            equal = result if python is operator.eq else ~result
            if equal.size > 1 and equal.all() and found_equal(self, other, "x == y"):
                result = ~result
        elif kind in PLAIN and type(result) is backend.BOOL and bool(result) is said:
            entry_equal(self, other)
        return result

    return equality if python in (operator.eq, operator.ne) else method


def _getitem(self: GradArray, index: Any) -> Any:
    return getitem(self, index, _frame(1))


def _iter(self: GradArray) -> Iterator[Any]:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    frame = _frame(1)  # the generator runs elsewhere
    return (getitem(self, i, frame) for i in range(self.shape[0]))


def _delitem(self: GradArray, index: Any) -> None:
    if not self.shape:
        raise TypeError("'numpy.float64' object doesn't support item deletion")
    raise ValueError("cannot delete array elements")


def _setitem(self: GradArray, index: Any, value: Any) -> None:
    setitem(self, index, value, _frame(1))


def install() -> None:
    """Put the operators and the protocols on the class."""
    for name, ufunc_name, symbol in BINARY:
        ufunc = backend.ufunc(ufunc_name)
        for reflected in (False, True):
            method = _make_binary(name, ufunc, PYTHON[ufunc_name], symbol, reflected)
            _put(method.__name__, method)
        _put(f"__i{name}__", _make_in_place(name, ufunc))
    for name, ufunc_name in INDIRECT:
        ufunc = backend.ufunc(ufunc_name)
        _put(f"__{name}__", _make_indirect(name, ufunc, False))
        _put(f"__r{name}__", _make_indirect(name, ufunc, True))
        if name != "divmod":
            _put(f"__i{name}__", _make_in_place(name, ufunc))
    for name, ufunc_name, python_unary, text in UNARY:
        _put(f"__{name}__", _make_unary(name, backend.ufunc(ufunc_name), python_unary, text))
    _put("__invert__", _invert)
    for name, python_compare in COMPARE:
        _put(f"__{name}__", _make_compare(python_compare))
    _put("__getitem__", _getitem)
    _put("__setitem__", _setitem)
    _put("__delitem__", _delitem)
    _put("__iter__", _iter)
    _put("__array_ufunc__", array_ufunc)
    _put("__array_function__", array_function)
    setattr(GradArray, "__array_priority__", 1000.0)  # noqa: B010 -- declared by ndarray alone


def _invert(self: GradArray) -> Any:
    return call(decided(backend.ufunc("invert")), (self,), {}, _frame(1))


def _put(name: str, method: Method) -> None:
    method.__name__ = name
    method.__qualname__ = f"GradArray.{name}"
    setattr(GradArray, name, method)
