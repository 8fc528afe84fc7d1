"""Functions that the user gave rules and no protocol reaches: led to the rule, or refused.

Wrapped code finds the rule where a module names the function (`plan`), and here: where a transform
is given the function itself, one whose closure holds it, or hands it on as an argument. A function
in Python that is reached in yet another way, out of a list or with ``wrap=False``, would run on
recorded values, and what it gives might silently not depend on them. So it has a guard meanwhile.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from npgrad.wrapping.guards import guards_of
from npgrad.wrapping.places import content
from npgrad.wrapping.stand_ins import REGISTERED, original_of


def ruled(value: Any) -> Any:
    """The rule's primitive for a function that has one; any other value as it is."""
    if type(value) is functools.partial:
        new = ruled(value.func)
        return value if new is value.func else functools.partial(new, *value.args, **value.keywords)
    if type(value) is types.MethodType:
        new = ruled(value.__func__)
        return value if new is value.__func__ else types.MethodType(new, value.__self__)
    if type(value) is types.FunctionType and id(value) not in REGISTERED:
        return _closing(value)
    return REGISTERED.get(id(value), value)


def _closing(function: types.FunctionType) -> types.FunctionType:
    """`function`, or a copy of it, whose closure holds the rules of functions that have them."""
    cells = [
        cell if (new := REGISTERED.get(id(content(cell)))) is None else types.CellType(new)
        for cell in function.__closure__ or ()
    ]
    if all(new is old for new, old in zip(cells, function.__closure__ or (), strict=True)):
        return function
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    return made


def by_rules(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """A call of `f` with the rules of it, and of the functions among its arguments."""
    args = tuple(map(ruled, args))
    kwargs = {name: ruled(value) for name, value in kwargs.items()}
    return _guarded(ruled(f)), args, kwargs


def bare(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, of which nothing is wrapped."""

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        target, args, kwargs = by_rules(f, args, kwargs)
        return target(*args, **kwargs)

    return call


def _guarded(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, during which functions in Python that have rules refuse recorded arguments."""
    guards = guards_of([original_of(made) for made in REGISTERED.values()])
    if not guards:
        return f

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        key = id(made := object())
        try:
            for guard in guards:
                guard.enter(key)
            return f(*args, **kwargs)
        finally:
            for guard in guards:
                guard.leave(key)
            del made

    return call
