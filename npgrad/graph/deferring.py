"""Which operations on deferred arrays are put off: those of ufuncs that the evaluator can spell.

The operators and NumPy's two protocols are put on `Deferred` here; what cannot be put off is
computed at once, of arrays that are computed first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.lib.mixins import NDArrayOperatorsMixin

from . import backend
from .deferred import (
    Deferred,
    Shape,
    cast_to,
    evaluator,
    itself,
    lazily,
    put_off,
    settle,
    settled,
)

_RESOLVED: dict[Any, Any] = {}  # (ufunc, kinds of operands) -> (name, operands' dtypes, result's)


def _kind(operand: Any) -> Any:
    """What decides the dtype of a result: a dtype, or the type of a weak number."""
    kind = type(operand)
    if kind is Deferred:
        return operand.dtype.char
    if kind is float or kind is int:
        return kind
    if kind is bool:
        return "?"
    if kind in backend.GENERIC and operand.dtype.char in "fd?":
        return operand.dtype.char
    return None


def _resolve(ufunc: Any, kinds: tuple[Any, ...]) -> Any:
    offered = evaluator()
    name = offered.operations.get(ufunc) if offered is not None else None
    if name is None or None in kinds or ufunc.nout != 1:
        return None
    words = tuple([kind if isinstance(kind, type) else backend.dtype_of(kind) for kind in kinds])
    try:
        *given, made = ufunc.resolve_dtypes((*words, None))
    except TypeError:
        return None
    if made.char not in "fd?" or any(dtype.char not in "fd?" for dtype in given):
        return None
    return name, tuple(given), made


def operation(ufunc: Any, inputs: tuple[Any, ...]) -> Deferred | None:
    """``ufunc(*inputs)``, put off; None where it cannot be."""
    if len(inputs) == 1 and type(inputs[0]) is Deferred:
        (one,) = inputs
        found = _RESOLVED.get((ufunc, one.dtype.char))
        if found is not None:
            return put_off(found[0], ufunc, inputs, one.shape, found[2])
    inputs = tuple([lazily(operand) for operand in inputs])
    kinds = tuple([_kind(operand) for operand in inputs])
    try:
        found = _RESOLVED[ufunc, kinds]
    except KeyError:
        found = _RESOLVED[ufunc, kinds] = _resolve(ufunc, kinds)
    if found is None:
        return None
    name, given, dtype = found
    if len(inputs) == 1 and given[0].char == kinds[0]:
        _RESOLVED[ufunc, kinds[0]] = found
    if name == "power" and type(inputs[1]) in backend.SCALARS and inputs[1] == 2:
        name, ufunc, inputs, given = "square", backend.SQUARE, inputs[:1], given[:1]
    return combined(name, ufunc, inputs, given, dtype)


def named(name: str, function: Callable[[Any], Any], x: Deferred) -> Any:
    """``function(x)``, an elementwise function of one, as a single operation called `name`.

    Where the evaluator has no spelling for that name it is put off as what it is made of.
    """
    if name in evaluator().names:
        return put_off(name, function, (x,), x.shape, x.dtype)
    return function(x)


def combined(
    name: str, apply: Any, inputs: tuple[Any, ...], given: tuple[Any, ...], dtype: Any
) -> Deferred:
    """An operation on `inputs`, brought to the dtypes `given` and to one shape."""
    operands = []
    shape: Shape | None = None
    same = True
    for operand, wanted in zip(inputs, given):  # noqa: B905 -- the ends of every operation
        if type(operand) is Deferred:
            if operand.dtype is not wanted and operand.dtype != wanted:
                operand = put_off("cast", cast_to(wanted), (operand,), operand.shape, wanted)
            if shape is None:
                shape = operand.shape
            elif shape != operand.shape:
                same = False
        else:
            operand = wanted.type(operand)
        operands.append(operand)
    if not same:
        shape = backend.broadcast_shapes(*[o.shape for o in operands if type(o) is Deferred])
        for operand in operands:
            if type(operand) is Deferred and operand.shape != shape:
                settle([operand])
    assert shape is not None
    return put_off(name, apply, tuple(operands), shape, dtype)


def choice(mask: Any, a: Any, b: Any) -> Deferred | None:
    """``where(mask, a, b)``, put off; None where it cannot be."""
    mask, a, b = lazily(mask), lazily(a), lazily(b)
    if type(mask) is not Deferred or mask.dtype.char != "?":
        return None
    kinds = [_kind(a), _kind(b)]
    chars = [kind for kind in kinds if type(kind) is str]
    if None in kinds or not chars or "?" in chars:
        return None
    dtype = backend.dtype_of("d" if "d" in chars else "f")
    return combined("where", backend.WHERE, (mask, a, b), (mask.dtype, dtype, dtype), dtype)


def masked(cotangent: Any, value: Any) -> Any:
    """`value` where `cotangent` is not zero, and zero elsewhere; put off if `value` is."""
    if type(value) is not Deferred or type(cotangent) is not Deferred:
        return backend.masked(settled(cotangent), settled(value))
    if cotangent.shape == value.shape and cotangent.dtype is value.dtype:
        return put_off("masked", backend.masked, (cotangent, value), value.shape, value.dtype)
    given = (cotangent.dtype, value.dtype)
    return combined("masked", backend.masked, (cotangent, value), given, value.dtype)


# -- the class's operators and protocols -----------------------------------------------------------


def _array_ufunc(self: Deferred, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        made = operation(ufunc, inputs)
        if made is not None:
            return made
    if "out" in kwargs:
        raise TypeError("npgrad: an array that is not computed yet cannot be written into")
    return getattr(ufunc, method)(*settled(inputs), **settled(kwargs))


def _array_function(self: Deferred, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if func is backend.WHERE and len(args) == 3 and not kwargs:
        made = choice(*args)
        if made is not None:
            return made
    if func in backend.LIKE and len(args) == 1 and not kwargs and args[0] is self:
        number = self.dtype.type(backend.LIKE[func])
        return put_off("full", itself, (number,), self.shape, self.dtype)
    return func(*settled(args), **settled(kwargs))


def _pow(self: Deferred, other: Any) -> Any:
    if type(other) in (int, float) and other == 2:  # NumPy squares too
        return self * self
    return NDArrayOperatorsMixin.__pow__(self, other)


def _operator(name: str) -> Callable[[Deferred, Any], Any]:
    """The operator of a ufunc of two: the everyday operands are met without NumPy's dispatch."""
    ufunc = backend.ufunc(name)

    def method(self: Deferred, other: Any) -> Any:
        dtype = self.dtype
        if dtype.char != "?":
            kind = type(other)
            if kind is Deferred:
                if other.dtype is dtype and other.shape == self.shape:
                    return put_off(name, ufunc, (self, other), self.shape, dtype)
            elif kind is float or kind is int:
                return put_off(name, ufunc, (self, dtype.type(other)), self.shape, dtype)
        return ufunc(self, other)

    return method


def _reflected(name: str) -> Callable[[Deferred, Any], Any]:
    """The operator with a number, or another library's array, on its left."""
    ufunc = backend.ufunc(name)

    def method(self: Deferred, other: Any) -> Any:
        dtype, kind = self.dtype, type(other)
        if dtype.char != "?" and (kind is float or kind is int):
            return put_off(name, ufunc, (dtype.type(other), self), self.shape, dtype)
        return ufunc(other, self)

    return method


for _word, _name in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "divide"),
):
    setattr(Deferred, f"__{_word}__", _operator(_name))
    setattr(Deferred, f"__r{_word}__", _reflected(_name))

setattr(Deferred, "__pow__", _pow)  # noqa: B010 -- assigned like the others
setattr(Deferred, "__array_ufunc__", _array_ufunc)  # noqa: B010
setattr(Deferred, "__array_function__", _array_function)  # noqa: B010
