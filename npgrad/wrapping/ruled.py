"""Functions that the user gave rules and no protocol reaches: led to the rule, or refused.

Wrapped code finds the rule where a module names the function (`plan`), and here: where a transform
is given the function itself, one whose closure holds it, or hands it on as an argument. A function
in Python that is reached in yet another way, out of a list or with ``wrap=False``, would run on
recorded values, and what it gives might silently not depend on them. So while such a rule is
registered, calls are watched.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from npgrad.errors import GradientLost
from npgrad.graph.refusals import at
from npgrad.wrapping.lists import holds_recorded
from npgrad.wrapping.places import content
from npgrad.wrapping.stand_ins import REGISTERED, original_of

_MISSING = object()


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
    return _watched(ruled(f)), args, kwargs


def bare(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, of which nothing is wrapped."""

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        target, args, kwargs = by_rules(f, args, kwargs)
        return target(*args, **kwargs)

    return call


def _watched(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, during which Python tells `_Watch` of each call; not beside a profiler."""
    functions = [original_of(made) for made in REGISTERED.values()]
    codes = {id(f.__code__): f for f in functions if type(f) is types.FunctionType}
    if not codes or sys.getprofile() is not None:
        return f

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        sys.setprofile(_Watch(codes))
        try:
            return f(*args, **kwargs)
        finally:
            sys.setprofile(None)

    return call


class _Watch:
    """What Python tells of calls: a function with a rule is to get plain arrays, from its rule."""

    def __init__(self, codes: dict[int, types.FunctionType]) -> None:
        self._codes = codes

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call" and (function := self._codes.get(id(frame.f_code))) is not None:
            _refuse_recorded(function, frame)


def _refuse_recorded(function: types.FunctionType, frame: types.FrameType) -> None:
    code, given = frame.f_code, frame.f_locals
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if given.get(name, _MISSING) is not content(cell):
            return  # another function that was made of the same code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    if any(holds_recorded(given.get(name)) for name in code.co_varnames[:count]):
        caller = frame.f_back
        raise GradientLost(
            f"npgrad: {function.__qualname__} has a rule, but was called at "
            f"{at(caller if caller is not None else frame)} where the rule does not stand for it: "
            "out of a list or an object, under a name of the call's own, or with wrap=False. "
            "Instead: call it by its name in a module, in wrapped code, or hand it to the function "
            "as an argument; or write npgrad.primitive(function) with its defvjp, and call that."
        )
