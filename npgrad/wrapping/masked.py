"""``numpy.ma`` in wrapped code: a recorded array is one of which nothing is masked.

A function that meets a recorded argument is NumPy's of the same name, where there is one; a mask
that hides something is refused. What meets none is ``numpy.ma``'s own.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph.stacking import has_recorded
from npgrad.wrapping.lists import vector
from npgrad.wrapping.makers import MAKERS

_CONVERTERS = ("array", "asarray", "asanyarray")
_AS_THEY_ARE = ("getmask", "getmaskarray", "isMaskedArray", "isMA", "isarray", "is_masked")


def _met(function: Any, body: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_recorded(args) and not has_recorded(tuple(kwargs.values())):
            return function(*args, **kwargs)
        if any(isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a) for a in args):
            raise NoDerivative(f"npgrad: np.ma.{function.__name__} of masked and recorded arrays")
        plain = [a.data if isinstance(a, np.ma.MaskedArray) else a for a in args]
        return body(*plain, **kwargs)

    return call


def _converter(name: str) -> Any:
    make = MAKERS[name]

    def body(data: Any, dtype: Any = None, **kwargs: Any) -> Any:
        kwargs.pop("fill_value", None)
        if np.any(kwargs.pop("mask", False)):
            raise NoDerivative(
                f"npgrad: np.ma.{name} would mask parts of a recorded array; use np.where"
            )
        return make(data, dtype, **kwargs)

    return body


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
        elif name not in _AS_THEY_ARE and callable(function) and not isinstance(function, type):
            body = getattr(np, name, None)
            if callable(body) and not isinstance(body, type):
                names[name] = _met(function, body)
    return names
