"""Objects of wrapped packages that NumPy converts by their ``__array__``, beside plain arrays.

``matrix @ array`` of an object that has no operator of its own ends in C code of ndarray, which
takes nothing but a plain array from ``__array__``. While a wrapped call runs the class has an
``__array_ufunc__``: NumPy asks it, and it hands on what ``__array__`` gives, recorded or not.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.wrapping.makers import MAKERS
from npgrad.wrapping.places import Place

_NAME = "__array_ufunc__"


def _converted(value: Any) -> Any:
    if getattr(type(value), _NAME, None) is not _hand_on:
        return value
    return MAKERS["asarray"](value) if ACTIVE.get() else np.asarray(value)


def _hand_on(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The ufunc of what the objects among `inputs` are converted to."""
    return getattr(ufunc, method)(*map(_converted, inputs), **kwargs)


def _set(kind: type, value: Any) -> None:
    if value is not None:
        setattr(kind, _NAME, value)
    elif _NAME in vars(kind):
        delattr(kind, _NAME)


def conversions_of(kind: type) -> Iterator[Place]:
    """What a class needs during a wrapped call, if NumPy converts its instances.

    A class that says more about itself (an ``__array_ufunc__``, a priority over arrays), or of
    which a subclass does, has ways of its own to meet them.
    """
    if not _says_more(kind) and type(vars(kind).get("__array__")) is types.FunctionType:
        yield functools.partial(_set, kind), None, _hand_on


def _says_more(kind: type) -> bool:
    own = any(hasattr(kind, name) for name in (_NAME, "__array_priority__"))
    return own or any(map(_says_more, type.__subclasses__(kind)))
