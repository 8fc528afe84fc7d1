"""A derivative rule is a function of its arguments, not of what its function remembers.

::

    kept = {}
    def cube(x):
        kept["slope"] = 3 * x**2
        return x**3
    rule    lambda ans, x: lambda g: g * kept["slope"]

Rules are called in the backward pass. By then `cube` may have run again with other numbers, and the
slope is theirs; and a derivative of the rule does not see that the slope depends on x. Both would
lose a gradient in silence. So where one of the two may happen, and only if a rule can reach
something that a call could have changed, it is tried: the rule, the function with other numbers,
and the rule once more with the same arguments as before.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..graph import backend
from ..graph.array import GradArray, current
from .calls import Call, parts_of
from .reach import in_library, names_in

TRIES = 3  # calls with other numbers that may fail before a rule is left alone
FIXED = (str, bytes, bool, type(None), type(Ellipsis), types.CodeType, types.BuiltinFunctionType)


def can_remember(rules: Iterable[Any]) -> bool:
    """Whether one of `rules` can reach anything that a call of their function could have changed.

    Functions, modules and classes of libraries, and text cannot be; an array, a number, a dict or
    an object, in a closure or a global variable, may be.
    """
    waiting: list[Any] = list(rules)
    seen: dict[int, Any] = {}
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, FIXED):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):
            if in_library(thing):
                waiting.append(getattr(thing, "__wrapped__", None))
                continue
            known = thing.__globals__
            waiting += [known.get(name) for name in names_in(thing.__code__)]
            waiting += [cell.cell_contents for cell in thing.__closure__ or () if _full(cell)]
        elif isinstance(thing, functools.partial):
            waiting += [thing.func, *thing.args, *thing.keywords.values()]
        elif isinstance(thing, types.MethodType):
            waiting += [thing.__func__, thing.__self__]
        elif isinstance(thing, (types.ModuleType, type)):
            if not in_library(thing):
                return True
        elif not (callable(thing) and in_library(type(thing))):
            return True
        else:  # a primitive, a transform, a function of Numba's, with the function it was made of
            waiting += [getattr(thing, "fun", None), getattr(thing, "__wrapped__", None)]
    return False


def _full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 -- an empty cell raises
    except ValueError:
        return False
    return True


def uses_last_call(
    rule: Callable[..., Any], fun: Callable[..., Any], arrays: Any, record: Call, like: Any, y: Any
) -> bool | None:
    """Whether `rule` gives another result for the same arguments once `fun` had others.

    None if that could not be tried. `like` has the form of what the rule turns into another.
    """
    arrays = [_plain(array) for array in arrays]
    y = tuple(map(_plain, y)) if isinstance(y, tuple) else _plain(y)
    rng = np.random.default_rng(0)
    several = isinstance(like, (tuple, list))
    parts = [_direction(rng, _plain(part)) for part in (like if several else (like,))]
    g: Any = type(like)(parts) if several else parts[0]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, again = rule(g, arrays, record, y), rule(g, arrays, record, y)
        if not _same(first, again):
            return None  # it draws random numbers
        for scale in (1.001, 1.0):
            moved = [_moved(array, scale) for array in arrays]
            args, kwargs = record.filled(moved)
            try:
                fun(*args, **kwargs)
            except Exception:  # somebody's function, which may not take such numbers
                continue
            return not _same(first, rule(g, arrays, record, y))
    return None


def _plain(part: Any) -> Any:
    return current(part)[0] if type(part) is GradArray else part


def _direction(rng: np.random.Generator, like: Any) -> Any:
    """A cotangent or a tangent of `like`."""
    shape, dtype = backend.describe(like)
    if dtype.kind not in "fc":
        return backend.zeros(like, shape, backend.FLOAT)[()]
    entries = rng.uniform(0.5, 1.5, shape).astype(dtype)[()]
    return entries if not backend.on_device(like) else backend.library(like).asarray(entries)


def _moved(array: Any, scale: float) -> Any:
    """Other numbers of the same kind: back to front, so that sums and symmetry stay; and scaled."""
    if backend.describe(array)[1].kind not in "fc":
        return array
    if backend.is_scalar(array) or not array.shape:
        return array * type(array)(scale) if type(array) is not backend.NDARRAY else array * scale
    turned = array[(slice(None, None, -1),) * len(array.shape)]
    return turned * turned.dtype.type(scale)


def _same(one: Any, other: Any) -> bool:
    """Whether two results of a rule are the same but for rounding."""
    pairs = zip(parts_of(one)[0], parts_of(other)[0], strict=True)
    return all(_close(_plain(a), _plain(b)) for a, b in pairs)


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    dtype = backend.describe(one)[1]
    if dtype.kind not in "fc":
        return True
    off = abs(one - other)
    size = abs(one)
    largest = float(size.max()) if getattr(size, "size", 1) else 0.0
    return not bool((off > float(np.finfo(dtype).eps) ** 0.75 * largest).any())
