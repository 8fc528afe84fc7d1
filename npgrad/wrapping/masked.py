"""``numpy.ma`` in wrapped code: masked arrays with recorded values.

``np.ma.array`` of a recorded array is an object that stands for a masked array (`subclasses`). A
function that meets nothing that hides entries, and has no domain to hide some itself, is NumPy's of
the same name, where there is one; else the Python code of ``numpy.ma`` runs on such objects.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph.array import GradArray, plain, unwrap
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded
from npgrad.wrapping.lists import constant, vector
from npgrad.wrapping.makers import MAKERS
from npgrad.wrapping.subclasses import (
    DIVISIONS,
    OF_MASKED,
    elements,
    hides,
    holds_elements,
    made,
    of_ndarray,
    original_type,
    real,
    viewed,
)

_CONVERTERS = ("array", "asarray", "asanyarray")
_FRESH = ("zeros", "ones", "empty")
_AS_THEY_ARE = ("getmask", "getmaskarray", "isMaskedArray", "isMA", "isarray", "is_masked")
# Functions that mask entries of an argument, by its position, and change no value.
_COMPARED = "equal not_equal greater greater_equal less less_equal inside outside invalid values"
_MASKING = {"masked_where": 1, **{f"masked_{name}": 0 for name in _COMPARED.split()}}


def _met(function: Any, body: Any) -> Any:
    """`function` of ``numpy.ma``; `body` in its place where nothing is hidden."""
    ufunc = getattr(function, "f", None)  # of one that masks what lies outside of a domain
    own = ufunc is not None or function in (np.ma.power, np.ma.median)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if not has_recorded(given) and not any(map(_holds, given)):
            return function(*args, **kwargs)
        if own or any(map(hides, given)):
            if ufunc in DIVISIONS and ufunc is not np.power:
                return _divided(ufunc, *args, **kwargs)
            if function is np.ma.power:
                return _powered(*args, **kwargs)
            return function(*map(_masked, args), **{k: _masked(v) for k, v in kwargs.items()})
        bare = [_bare(a) for a in args]
        return body(*bare, **{k: _bare(v) for k, v in kwargs.items()})

    return call


def _making(function: Any, body: Any) -> Any:
    """A function that gives its argument with a mask, or a buffer."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        recorded = has_recorded(given) or any(map(_holds, given))
        return body(*args, **kwargs) if recorded and ACTIVE.get() else function(*args, **kwargs)

    return call


def _holds(value: Any) -> bool:
    """Whether an object that stands for a masked array is, or lies in, `value`."""
    lists = type(value) in (list, tuple)
    return any(map(_holds, value)) if lists else holds_elements(value)


def _masked(value: Any) -> Any:
    if type(value) in (list, tuple) and any(map(_holds, value)):
        return type(value)(map(_masked, value))
    value = vector(value)
    return viewed(value, np.ma.MaskedArray) if type(value) is GradArray else value


def _bare(value: Any) -> Any:
    """The elements of a masked array that hides nothing."""
    if type(value) in (list, tuple) and _holds(value):
        return type(value)(map(_bare, value))
    if not isinstance(value, np.ma.MaskedArray):
        return value
    return elements(value) if holds_elements(value) else value.data


# The parameters behind the data, of np.ma.array and of the class.
_PARAMETERS = (("dtype", "copy", "order", "mask", "fill_value"), ("mask", "dtype", "copy"))


def _converter(name: str) -> Any:
    def body(data: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = {**kwargs, **dict(zip(_PARAMETERS[name == "masked_array"], args, strict=False))}
        dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
        data = vector(data)
        held = elements(data) if holds_elements(data) else data
        held = MAKERS["array" if copy else "asarray"](held, dtype)
        if type(held) is not GradArray:  # of whole numbers
            return np.ma.array(held, **kwargs)
        like = np.ma.array(_real(data), **{k: _real(v) for k, v in kwargs.items()})
        return made(np.ma.MaskedArray, held, vars(like))

    return body


def _real(value: Any) -> Any:
    return real(value) if holds_elements(value) else unwrap(value)


def _masking(name: str, place: int) -> Any:
    """A function that gives its argument at `place` with a mask."""
    function = getattr(np.ma, name)

    def body(*args: Any, **kwargs: Any) -> Any:
        copy = kwargs.pop("copy", True)
        args = tuple(map(vector, args))
        like = function(*map(_real, args), **{k: _real(v) for k, v in kwargs.items()})
        held = _bare_of(args[place])
        return made(np.ma.MaskedArray, held.copy() if copy else held, vars(like))

    return body


def _bare_of(value: Any) -> Any:
    """The elements of `value`, whatever is hidden; recorded, if its mask is."""
    if holds_elements(value):
        return elements(value)
    return value if type(value) is GradArray else constant(np.array(np.ma.getdata(value)))


def _fresh(name: str) -> Any:
    """``np.ma.zeros`` and its kin: a buffer without a mask, which records."""
    function, make = getattr(np.ma, name), MAKERS[name]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        held = make(*args, **kwargs) if ACTIVE.get() else None
        if type(held) is not GradArray:
            return function(*args, **kwargs)
        return viewed(held, np.ma.MaskedArray)

    return call


class _MaskedKind(type):
    """The class of what stands for ``np.ma.MaskedArray``: a class, of which there are instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Masked:  # somebody's subclass
            return type.__call__(cls, *args, **kwargs)
        return _MASKED_ARRAY(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Masked:
            return isinstance(instance, np.ma.MaskedArray)
        return type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        inherits = type.__subclasscheck__
        if cls is Masked:
            return issubclass(original_type(subclass), np.ma.MaskedArray)
        return inherits(cls, subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls is Masked and other is np.ma.MaskedArray)

    def __hash__(cls) -> int:
        return hash(np.ma.MaskedArray) if cls is Masked else type.__hash__(cls)


class Masked(np.ma.MaskedArray, metaclass=_MaskedKind):
    """``np.ma.MaskedArray``, which may be given recorded values."""


Masked.__name__ = Masked.__qualname__ = "MaskedArray"
_MASKED_ARRAY = _making(np.ma.MaskedArray, _converter("masked_array"))


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


def _powered(a: Any, b: Any, third: Any = None) -> Any:
    """``np.ma.power``: masked where one operand is, or where the power is no number."""
    if third is not None:
        raise np.ma.MaskError("3-argument power not supported.")
    base, exponent = (elements(v) if holds_elements(v) else np.ma.getdata(v) for v in (a, b))
    mask = np.ma.getmaskarray(a) | np.ma.getmaskarray(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        mask = mask | ~np.isfinite(np.power(unwrap(base), unwrap(exponent)))
    result = np.power(np.where(mask, 1, base), exponent)
    return _of_mask(np.where(mask, base, result), mask)


def _written(self: Any, ufunc: Any, other: Any) -> Any:
    result = _divided(ufunc, self, other)
    elements(self)[...] = elements(result)
    self._mask = result._mask
    return self


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
DIVISIONS[np.power] = _powered
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
        "__pow__": _powered,
        "__rpow__": lambda self, other: _powered(other, self),
        "__itruediv__": lambda self, other: _written(self, np.true_divide, other),
        "__ifloordiv__": lambda self, other: _written(self, np.floor_divide, other),
        "__truediv__": lambda self, other: _divided(np.true_divide, self, other),
        "__rtruediv__": lambda self, other: _divided(np.true_divide, other, self),
        "__floordiv__": lambda self, other: _divided(np.floor_divide, self, other),
        "__rfloordiv__": lambda self, other: _divided(np.floor_divide, other, self),
    }
)


# ------------------------------------------------ functions that convert what they are given
def _parts(a: Any) -> tuple[Any, Any]:
    """The elements of `a`, and where it hides them."""
    a = vector(a)
    return (elements(a) if holds_elements(a) else np.ma.getdata(a)), np.ma.getmaskarray(a)


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **kwargs: Any
) -> Any:
    keepdims = kwargs.get("keepdims") is True
    data, mask = _parts(a)
    if weights is None:
        share: Any = np.ones(data.shape)
    else:
        share, hidden = _parts(weights)
        if share.shape != data.shape:
            if axis is None or share.ndim != 1:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            shape = [1] * data.ndim
            shape[axis] = -1
            share, hidden = share.reshape(shape), hidden.reshape(shape)
        mask = mask | hidden
    share = np.where(mask, 0.0, share)
    total = np.sum(share, axis=axis, keepdims=keepdims)
    none = np.asarray(unwrap(total) == 0)
    made = np.sum(np.where(mask, 0.0, data) * share, axis=axis, keepdims=keepdims)
    made = made / np.where(none, 1.0, total)
    if none.any():
        made = _of_mask(made, none) if made.shape else np.ma.masked
    elif made.shape:
        made = _of_mask(made, False)
    return (made, total) if returned else made


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        plain: Any = np.ma.where
        return plain(_real(condition), *map(_real, choices))
    taken, hidden = _parts(condition)
    (x, x_mask), (y, y_mask) = map(_parts, choices)
    taken = unwrap(taken)
    mask = np.where(taken, x_mask, y_mask) | hidden
    return _of_mask(np.where(taken, x, y), mask)


def _median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    data, mask = _parts(a)
    if out is not None or keepdims or (axis is not None and data.ndim > 1):
        raise NoDerivative("npgrad: np.ma.median along an axis; of a.compressed() it records")
    return np.median(data.reshape(-1)[~mask.reshape(-1)])


def _clip(a: Any, *args: Any, **kwargs: Any) -> Any:
    data, mask = _parts(a)
    return _of_mask(np.clip(data, *map(_bare, args), **kwargs), mask)


def _joining(name: str) -> Any:
    join = getattr(np, name)

    def body(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        parts = [_parts(a) for a in arrays]
        mask = join([mask for _, mask in parts], *args, **kwargs)
        return _of_mask(join([data for data, _ in parts], *args, **kwargs), mask)

    return body


_OWN = {"average": _average, "where": _where, "median": _median, "clip": _clip}
_OWN.update({name: _joining(name) for name in ("stack", "vstack", "hstack", "dstack")})


def _data(a: Any, subok: bool = True) -> Any:
    return vector(a)


def masked_names() -> dict[str, Any]:
    """What stands for the functions of ``numpy.ma``, by name."""
    names: dict[str, Any] = {}
    for name, function in vars(np.ma).items():
        if name in ("masked_array", "MaskedArray"):
            names[name] = Masked
        elif name in _CONVERTERS:
            names[name] = _making(function, _converter(name))
        elif name in _FRESH:
            names[name] = _fresh(name)
        elif name == "getdata":
            names[name] = _met(function, _data)
        elif name in _OWN:
            names[name] = _making(function, _OWN[name])
        elif name in _MASKING:
            names[name] = _making(function, _masking(name, _MASKING[name]))
        elif name not in _AS_THEY_ARE and callable(function) and not isinstance(function, type):
            body = getattr(np, name, None)
            if callable(body) and not isinstance(body, type):
                names[name] = _met(function, body)
    return names
