"""``numpy.ma`` in wrapped code: masked arrays with recorded values.

A recorded array is one of which nothing is masked: a function that meets one, and nothing that
hides entries, is NumPy's of the same name, where there is one. Where entries are hidden, the Python
code of ``numpy.ma`` runs, on objects that stand for masked arrays (`subclasses`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph.array import GradArray, plain, unwrap
from npgrad.graph.stacking import has_recorded
from npgrad.wrapping.lists import vector
from npgrad.wrapping.makers import MAKERS
from npgrad.wrapping.subclasses import (
    DIVISIONS,
    OF_MASKED,
    elements,
    hides,
    holds_elements,
    made,
    of_ndarray,
    real,
    viewed,
)

_CONVERTERS = ("array", "asarray", "asanyarray", "masked_array")
_AS_THEY_ARE = ("getmask", "getmaskarray", "isMaskedArray", "isMA", "isarray", "is_masked")
# Functions that mask entries of an argument, by its position, and change no value.
_COMPARED = "equal not_equal greater greater_equal less less_equal inside outside invalid values"
_MASKING = {"masked_where": 1, **{f"masked_{name}": 0 for name in _COMPARED.split()}}


def _met(function: Any, body: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(map(hides, given)):
            if (ufunc := getattr(function, "f", None)) in DIVISIONS:
                return _divided(ufunc, *args, **kwargs)
            return function(*map(_masked, args), **{k: _masked(v) for k, v in kwargs.items()})
        if not has_recorded(given) and not any(map(holds_elements, given)):
            return function(*args, **kwargs)
        bare = [_bare(a) for a in args]
        return body(*bare, **{k: _bare(v) for k, v in kwargs.items()})

    return call


def _masked(value: Any) -> Any:
    if type(value) in (list, tuple) and any(map(hides, value)):
        return type(value)(map(_masked, value))
    value = vector(value)
    return viewed(value, np.ma.MaskedArray) if type(value) is GradArray else value


def _bare(value: Any) -> Any:
    """The elements of a masked array that hides nothing."""
    if not isinstance(value, np.ma.MaskedArray):
        return value
    return elements(value) if holds_elements(value) else value.data


# The parameters behind the data, of np.ma.array and of the class.
_PARAMETERS = (("dtype", "copy", "order", "mask", "fill_value"), ("mask", "dtype", "copy"))


def _converter(name: str) -> Any:
    make = MAKERS["array" if name == "masked_array" else name]

    def body(data: Any, *args: Any, copy: Any = False, **kwargs: Any) -> Any:
        named = dict(zip(_PARAMETERS[name == "masked_array"], args, strict=False))
        kwargs = {**kwargs, **named}
        fill, dtype = kwargs.pop("fill_value", None), kwargs.pop("dtype", None)
        mask, copy = kwargs.pop("mask", np.ma.nomask), kwargs.pop("copy", copy)
        keywords = {"copy": True} if copy and name != "asarray" else {}
        held = MAKERS["asarray"](data, dtype) if not keywords else make(data, dtype, **keywords)
        if not np.any(mask) and fill is None:
            return held
        like = np.ma.array(plain(held), mask=mask, fill_value=fill, **kwargs)
        return made(np.ma.MaskedArray, held, vars(like))

    return body


def _masking(name: str, place: int) -> Any:
    """A function that gives its argument at `place` with a mask."""
    function = getattr(np.ma, name)

    def body(*args: Any, **kwargs: Any) -> Any:
        copy = kwargs.pop("copy", True)
        bare = [plain(a) if type(a) is GradArray else a for a in map(vector, args)]
        like = function(
            *bare, **{k: plain(v) if type(v) is GradArray else v for k, v in kwargs.items()}
        )
        held = vector(args[place])
        return made(np.ma.MaskedArray, held.copy() if copy else held, vars(like))

    return body


# ------------------------------------------------- what MaskedArray's methods, in Python, ask C for
def _of_mask(held: Any, mask: Any) -> Any:
    """`held` with a mask."""
    return made(np.ma.MaskedArray, held, vars(np.ma.array(plain(held), mask=mask)))


def _divided(ufunc: Any, a: Any, b: Any) -> Any:
    """A division: masked where one operand is, or where the divisor is next to nothing."""
    over, under = (elements(v) if holds_elements(v) else np.ma.getdata(v) for v in (a, b))
    mask = np.ma.getmaskarray(a) | np.ma.getmaskarray(b)
    bare = [plain(v) if type(v) is GradArray else v for v in (over, under)]
    mask = mask | np.ma.core._DomainSafeDivide()(*bare)  # type: ignore[attr-defined]
    result = ufunc(over, np.where(mask, 1, under))
    return _of_mask(np.where(mask, over, result), mask)


def _var(
    self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, mean: Any = None,
) -> Any:  # fmt: skip
    data, mask = elements(self), self._mask
    count = np.sum(~mask, axis=axis, keepdims=True)
    if out is not None or mean is not None or np.any(count <= ddof):
        raise NoDerivative("npgrad: var of a masked array with out=, mean= or too few entries")
    middle = np.sum(np.where(mask, 0, data), axis=axis, keepdims=True) / count
    parts = np.where(mask, 0, np.abs(data - middle) ** 2)
    spread = np.sum(parts, axis=axis, dtype=dtype, keepdims=True) / (count - ddof)
    if not keepdims:
        spread = spread.reshape(np.sum(mask, axis=axis).shape)
    return spread if not spread.shape else _of_mask(spread, False)


def _std(self: Any, *args: Any, **kwargs: Any) -> Any:
    spread = _var(self, *args, **kwargs)
    flat = _bare(spread) == 0  # the derivative of no deviation is taken to be 0, as np.std's
    return np.sqrt(np.where(flat, 1, spread)) * ~flat if np.any(flat) else np.sqrt(spread)


def _view(self: Any, *args: Any, **kwargs: Any) -> Any:
    return of_ndarray(self, "view")(*args, **kwargs)


def _flat(self: Any, order: Any = "C") -> Any:
    return _of_mask(elements(self).ravel(order), np.ravel(self._mask, order))


def _compared(name: str) -> Any:
    """A comparison, or `any` and `all`, whose answer is plain."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        bare = [real(a) if holds_elements(a) else unwrap(a) for a in args]
        return getattr(real(self), name)(*bare, **kwargs)

    return call


_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "any", "all")
OF_MASKED.update({name: _compared(name) for name in _COMPARISONS}, ravel=_flat, flatten=_flat)
DIVISIONS.update(dict.fromkeys((np.true_divide, np.floor_divide, np.remainder, np.fmod), _divided))
OF_MASKED.update(
    {
        "_data": property(elements),
        "data": property(elements),
        "shape": property(lambda self: elements(self).shape),
        "dtype": property(lambda self: elements(self).dtype),
        "view": _view,
        "__str__": lambda self: str(real(self)),
        "__repr__": lambda self: repr(real(self)),
        "compressed": lambda self: elements(self).reshape(-1)[~np.ravel(self._mask)],
        "var": _var,
        "std": _std,
        "__truediv__": lambda self, other: _divided(np.true_divide, self, other),
        "__rtruediv__": lambda self, other: _divided(np.true_divide, other, self),
        "__floordiv__": lambda self, other: _divided(np.floor_divide, self, other),
        "__rfloordiv__": lambda self, other: _divided(np.floor_divide, other, self),
    }
)


def _data(a: Any, subok: bool = True) -> Any:
    return vector(a)


def masked_names() -> dict[str, Any]:
    """What stands for the functions of ``numpy.ma``, by name."""
    names: dict[str, Any] = {}
    for name, function in vars(np.ma).items():
        if name in _CONVERTERS:
            names[name] = _met(function, _converter(name))
        elif name == "getdata":
            names[name] = _met(function, _data)
        elif name in _MASKING:
            names[name] = _met(function, _masking(name, _MASKING[name]))
        elif name not in _AS_THEY_ARE and callable(function) and not isinstance(function, type):
            body = getattr(np, name, None)
            if callable(body) and not isinstance(body, type):
                names[name] = _met(function, body)
    return names
