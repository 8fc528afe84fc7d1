"""What a user's rule can get wrong in silence, and how it is tried.

A rule is a function of its arguments, not of what its function remembers::

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

A rule takes the cotangents of all outputs. Given that of one output alone it may return zeros; then
the function is tried with other numbers, for if that output changes its gradient is lost.

A rule must leave the arguments and the output as they are: other rules keep the same arrays. The
first sweep of each mode is watched.

Each trial is made once for a primitive.
"""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import RuleError
from ..graph import backend, fingerprints
from ..graph.array import GradArray, current
from .calls import Call, is_solid, parts_of
from .reach import in_library, names_in
from .trees import place

Rule = Callable[..., Any]

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
            waiting += [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
            waiting += vars(thing).values()  # a function's own attributes
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


class Trials:
    """What is left to try of one primitive's rules."""

    def __init__(self) -> None:
        self.memory = TRIES
        self.outputs: set[int] = set()  # tried
        self.watching = {"reverse", "forward"}

    def refuse_memory(
        self, rules: Any, which: str, rule: Rule, arrays: Any, record: Call, y: Any
    ) -> None:
        """RuleError if a rule uses what the function remembers of its last call.

        Looked for where it would give a wrong gradient: in a derivative of a derivative, or once
        the function was called again.
        """
        recorded = any(type(arrays[i]) is GradArray for i in record.recorded)
        if not recorded and record.number == rules.calls:
            return
        if not can_remember(rules.given()):
            self.memory = 0
            return
        like = y if which == "reverse" else list(arrays)
        found = _uses_last_call(rule, rules.fun, arrays, record, like, y)
        if found:
            raise RuleError(
                f"npgrad: the {which} rule of {rules.name} gave another result for the same "
                "arguments once the function had been called with others: it uses what the "
                "function remembers of its last call. A rule is called in the backward pass, after "
                "other calls perhaps, and a derivative of it does not see how what is remembered "
                "depends on the arguments. Compute it in the rule, from ans and the arguments."
            )
        self.memory = 0 if found is False else self.memory - 1

    def watch(self, which: str, arrays: Any, y: Any) -> list[Any] | None:
        """Fingerprints of what a rule is given; None once the rules of that mode were watched.

        A rule that is recorded writes into handles of its own.
        """
        given = [*arrays, *(y if isinstance(y, tuple) else (y,))]
        if which not in self.watching or any(type(part) is GradArray for part in given):
            return None
        return [(a, fingerprints.fingerprint(a, False)) for a in given if is_solid(a)]

    def refuse_written(self, rules: Any, which: str, watched: list[Any]) -> None:
        """RuleError if a rule wrote into an argument or into ans."""
        if any(fingerprints.changed(array, digest, False) for array, digest in watched):
            raise RuleError(
                f"npgrad: a {which} rule of {rules.name} wrote into one of its arguments, or into "
                "ans, which other rules and the caller use too. Make a new array (x = x * 2), or "
                "copy it first (x.copy())."
            )
        self.watching.discard(which)

    def refuse_lost_output(
        self, rules: Any, rule: Rule, g: Any, arrays: Any, record: Call, y: Any
    ) -> None:
        """RuleError if a reverse rule ignores the cotangent of an output that was used."""
        for k, part in enumerate(g):
            if part is None or k in self.outputs:
                continue
            if _loses_output(rule, rules.fun, k, arrays, record, y):
                parts, rebuild = record.out
                name = place(rebuild(parts), "ans", record.y[k])
                raise RuleError(
                    f"npgrad: the reverse rule of {rules.name} made zeros of the cotangent of "
                    f"{name}, an output that depends on the arguments and was used: its gradient "
                    "would be lost. Take g of that output into account; npgrad.value of the "
                    "output, where it is used, treats it as a constant."
                )
            self.outputs.add(k)


def _uses_last_call(
    rule: Rule, fun: Callable[..., Any], arrays: Any, record: Call, like: Any, y: Any
) -> bool | None:
    """Whether `rule` gives another result for the same arguments once `fun` had others.

    None if that could not be tried. `like` has the form of what the rule turns into another.
    """
    arrays, y = list(map(_plain, arrays)), _plain(y)
    rng = np.random.default_rng(0)
    several = isinstance(like, (tuple, list))
    parts = [_direction(rng, _plain(part)) for part in (like if several else (like,))]
    g: Any = type(like)(parts) if several else parts[0]
    with _quietly():
        first, again = rule(g, arrays, record, y), rule(g, arrays, record, y)
        if not _same(first, again):
            return None  # it draws random numbers
        for scale in (1.001, 1.0):
            args, kwargs = record.filled([_moved(array, scale) for array in arrays])
            try:
                fun(*args, **kwargs)
            except Exception:  # somebody's function, which may not take such numbers
                continue
            return not _same(first, rule(g, arrays, record, y))
    return None


def _loses_output(
    rule: Rule, fun: Callable[..., Any], k: int, arrays: Any, record: Call, y: Any
) -> bool:
    """Whether `rule` makes zeros of the cotangent of output `k`, which changes with the arrays."""
    arrays, y = list(map(_plain, arrays)), _plain(y)
    if backend.describe(y[k])[1].kind not in "fc":
        return False
    g = [None] * len(y)
    g[k] = _direction(np.random.default_rng(0), y[k])
    with _quietly():
        found = [
            part for part in parts_of(rule(tuple(g), arrays, record, y))[0] if part is not None
        ]
        if any(bool(abs(part).any()) for part in found):
            return False
        step = float(np.finfo(backend.describe(y[k])[1]).eps) ** 0.5

        def output(scale: float) -> Any:
            moved = [array if scale == 1 else _scaled(array, scale) for array in arrays]
            args, kwargs = record.filled(moved)
            return parts_of(fun(*args, **kwargs))[0][record.y[k]]

        try:
            if not _same(y[k], output(1.0)):
                return False  # it draws random numbers
            ahead, behind = abs(output(1 + step) - y[k]), abs(output(1 - step) - y[k])
            return bool(((ahead > 0) & (behind > 0)).any())  # on one side alone: a jump
        except Exception:  # somebody's function, which may not take such numbers
            return False


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings of numbers that nobody asked about."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _plain(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_plain, part))
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
    shape, dtype = backend.describe(array)
    if dtype.kind in "fc" and shape:
        array = array[(slice(None, None, -1),) * len(shape)]
    return _scaled(array, scale)


def _scaled(array: Any, scale: float) -> Any:
    dtype = backend.describe(array)[1]
    return array * dtype.type(scale) if dtype.kind in "fc" else array


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
