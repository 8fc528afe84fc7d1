"""Functions of npgrad's own that are recorded and differentiated like NumPy's.

`primitive` makes a function dispatch: called with a recorded array it goes through the table,
otherwise it simply runs. Its NumPy body is the specification, and the oracle of any kernel.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import table
from .errors import NoDerivative
from .graph import backend
from .graph.array import GradArray, storage
from .graph.modes import users
from .graph.record import call

F = TypeVar("F", bound=Callable[..., Any])


def beside(x: Any) -> Any:
    """The namespace whose makers (``arange``, ``eye``) make arrays where `x` lives."""
    array = storage(x) if type(x) is GradArray else x
    return backend.library(array) if backend.on_device(array) else np


def _recorded(values: Any) -> bool:
    return any(
        type(value) is GradArray or (type(value) in (list, tuple) and _recorded(value))
        for value in values
    )


def primitive(function: F) -> F:
    """Make `function` dispatch on recorded arrays; decide it with a word of the table.

    The wrapper, not the bare function, is what the table decides.
    """
    rule: table.Rule | None = None

    @functools.wraps(function)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        nonlocal rule
        for value in args:
            kind = type(value)
            if kind is GradArray or ((kind is list or kind is tuple) and _recorded(value)):
                break
        else:
            if not kwargs or not _recorded(kwargs.values()):
                return function(*args, **kwargs)
        if rule is None:
            rule = table.lookup(dispatch)
            if rule is None:
                raise NoDerivative(f"npgrad: nothing is decided for {function.__qualname__}")
        return call(rule, args, kwargs, users(sys._getframe(1)))

    dispatch.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    dispatch._implementation = function  # type: ignore[attr-defined]
    return dispatch  # type: ignore[return-value]


@primitive
def reshape_rows(a: Any, target: tuple[int, ...], copy: bool | None = None) -> Any:
    """``np.reshape`` in order "C"; here, because a method calls it without loading the rules."""
    return np.reshape(a, target) if copy is None else np.reshape(a, target, copy=copy)
