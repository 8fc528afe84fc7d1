"""How a stand-in is made, and what several chapters share.

Two ways: `stand_in` runs SciPy's own function on plain arguments and a body in NumPy's words on
recorded ones; `operation` makes SciPy's computation one node with a rule of its own (a word of the
table decides it). The bodies take SciPy's arguments; what changes no number (``overwrite_a``,
``workers``) they accept and leave.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import NoDerivative
from ..graph.array import GradArray, recorded
from ..graph.modes import WRAPPED
from ..graph.stacking import stacked
from ..primitives import primitive

__all__ = [
    "array_of",
    "as_imported",
    "finite",
    "is_recorded",
    "operation",
    "plain",
    "quietly",
    "refuse",
    "stand_in",
    "varies",
]

F = TypeVar("F", bound=Callable[..., Any])


def is_recorded(value: Any) -> bool:
    """Whether `value` is, or holds in nested lists, tuples and dicts, a GradArray."""
    kind = type(value)
    if kind is GradArray:
        return True
    if kind is list or kind is tuple:
        return any(map(is_recorded, value))
    return kind is dict and any(map(is_recorded, value.values()))


def varies(value: Any) -> bool:
    """Whether a derivative could flow into `value`: one of its GradArrays is no constant.

    In wrapped code ``np.array([0.0, 1.0])`` is a GradArray too, so that recorded values can be
    written into it; as an argument that has no derivative it is as good as plain numbers.
    """
    kind = type(value)
    if kind is GradArray:
        return recorded(value)
    if kind is list or kind is tuple:
        return any(map(varies, value))
    return kind is dict and any(map(varies, value.values()))


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's `function` as npgrad calls it: where SciPy is wrapped, its makers give plain arrays.

    Functions that it is given, an integrand for one, are the user's, and record.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not WRAPPED.get() or any(map(callable, (*args, *kwargs.values()))):
            return function(*args, **kwargs)
        token = WRAPPED.set(False)
        try:
            return function(*args, **kwargs)
        finally:
            WRAPPED.reset(token)

    return call


def quietly(call: Callable[[], Any]) -> Any:
    """What `call` gives while makers are NumPy's own, if SciPy's code is wrapped too."""
    token = WRAPPED.set(False)
    try:
        return call()
    finally:
        WRAPPED.reset(token)


def _is_function(value: Any) -> bool:
    """Whether `value` is a function, or one of scipy.fft's, which are objects."""
    return isinstance(value, types.FunctionType) or type(value).__name__ == "_Function"


class _AsImported:
    """A chapter of SciPy as it was imported: wrapped code may put stand-ins under its names."""

    def __init__(self, chapter: Any) -> None:
        self._chapter = chapter
        self._names = {
            name: _quiet(value) if _is_function(value) else value
            for name, value in vars(chapter).items()
        }

    def __getattr__(self, name: str) -> Any:
        return self._names[name] if name in self._names else getattr(self._chapter, name)


as_imported = _AsImported


def stand_in(original: Callable[..., Any]) -> Callable[[F], F]:
    """Make a body the stand-in of SciPy's `original`, which still serves plain arguments."""
    original = _quiet(original)

    def make(body: F) -> F:
        @functools.wraps(body)
        def run(*args: Any, **kwargs: Any) -> Any:
            if any(map(is_recorded, args)) or (kwargs and is_recorded(kwargs)):
                return body(*args, **kwargs)
            return original(*args, **kwargs)

        return run  # type: ignore[return-value]

    return make


def operation(name: str) -> Callable[[F], F]:
    """Make a function a primitive that messages call `name`, such as ``scipy.linalg.expm``."""
    module, _, short = name.rpartition(".")

    def make(function: F) -> F:
        made = primitive(function)
        made.__name__ = made.__qualname__ = short
        made.__module__ = module
        return made

    return make


def array_of(value: Any) -> Any:
    """`value` as an array: recorded as it is, a list of recorded values stacked."""
    if type(value) is GradArray:
        return value
    if isinstance(value, (list, tuple)) and is_recorded(value):
        return stacked(value)
    return np.asarray(value)


def finite(wanted: bool, *arrays: Any) -> None:
    """Raise SciPy's ValueError for an infinity or a NaN, if `wanted` (its ``check_finite``)."""
    if wanted and not all(bool(np.all(np.isfinite(array))) for array in arrays):
        raise ValueError("array must not contain infs or NaNs")


def plain(value: Any) -> Any:
    """The numbers of `value` without its history: for branches, shifts and masks."""
    from ..transforms.values import value as cut

    return cut(value)


def theirs(module: Any, name: str) -> Any:
    """A name of SciPy's module; none of the module system's own, such as ``__path__``."""
    if name.startswith("__"):
        raise AttributeError(f"module of npgrad.scipy has no attribute {name!r}")
    return getattr(module, name)


def refuse(name: str, what: str) -> NoDerivative:
    """The error for a form of a function that has no rule here."""
    return NoDerivative(
        f"npgrad: npgrad.scipy.{name} has no derivative {what}. Give it npgrad.value of the "
        "recorded argument to treat that as a constant."
    )
