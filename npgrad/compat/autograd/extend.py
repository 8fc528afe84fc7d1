"""``autograd.extend``: functions with rules of their own, in autograd's spelling.

The rules are autograd's: ``maker(ans, *args) -> (g -> cotangent)`` without conjugates. npgrad's own
rules are adjoints, so cotangents are conjugated before and after; real ones are left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import npgrad
from npgrad.graph.array import GradArray
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.table import lookup
from npgrad.transforms.custom import Primitive

from .vspaces import VSpace, conjugated, vspace

__all__ = [
    "Box",
    "VSpace",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "vspace",
]

Function = Callable[..., Any]
Box = GradArray


def primitive(fun: Function) -> Any:
    """A function that is not looked into; give it rules with `defvjp` and `defjvp`."""

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        token = ACTIVE.set(False)  # it works on plain arrays, and makes plain ones
        try:
            return fun(*args, **kwargs)
        finally:
            ACTIVE.reset(token)

    return npgrad.primitive(run)


def notrace_primitive(fun: Function) -> Function:
    """A function that gets plain values and has no derivative."""

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        return fun(*npgrad.value(args), **{k: npgrad.value(v) for k, v in kwargs.items()})

    return run


def _checked(fun: Any) -> Primitive:
    if not isinstance(fun, Primitive):
        raise TypeError(
            f"npgrad: {getattr(fun, '__name__', fun)!r} is not a primitive made with "
            "npgrad.compat.autograd.primitive, and npgrad has no derivative of it."
        )
    return fun


def _has_one(fun: Any) -> bool:
    """Whether npgrad differentiates this function of NumPy's or SciPy's by itself.

    Programs give such functions the rules that autograd lacks (surpyval: the forward one of expit).
    npgrad's own stay.
    """
    while callable(fun) and not isinstance(fun, Primitive):
        rule = lookup(fun)
        if rule is not None:
            return rule.kind not in ("constant", "refused")
        fun = getattr(fun, "__wrapped__", None)
    return False


def _transposed(maker: Function | None) -> Function | None:
    """A maker of autograd's as one of npgrad's."""
    if maker is None:
        return None

    @functools.wraps(maker)
    def made(ans: Any, *args: Any, **kwargs: Any) -> Function:
        back = maker(ans, *args, **kwargs)
        return lambda g: conjugated(back(conjugated(g)))

    return made


def defvjp(fun: Any, *makers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """Reverse rules, one for each argument: ``maker(ans, *args) -> (g -> cotangent)``.

    Examples
    --------
    >>> import math
    >>> from npgrad.compat.autograd import defvjp, grad, primitive
    >>> cube = primitive(lambda x: x * x * x)
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x * x)
    >>> grad(cube)(2.0)
    np.float64(12.0)
    """
    if _has_one(fun):
        return
    _checked(fun).defvjp(
        *map(_transposed, makers), argnums=None if argnums is None else tuple(argnums)
    )


def defvjp_argnum(fun: Any, maker: Function) -> None:
    """One reverse rule for all: ``maker(argnum, ans, args, kwargs) -> (g -> cotangent)``."""
    if _has_one(fun):
        return

    def joint(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        backs = [maker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: tuple(conjugated(back(conjugated(g))) for back in backs)

    _checked(fun).defvjp_argnums(joint)


def defvjp_argnums(fun: Any, maker: Function) -> None:
    """One reverse rule for all at once: ``maker(argnums, ans, args, kwargs) -> (g -> tuple)``."""
    if _has_one(fun):
        return

    def joint(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
        back = maker(argnums, ans, args, kwargs)
        return lambda g: tuple(map(conjugated, back(conjugated(g))))

    _checked(fun).defvjp_argnums(joint)


def _zero(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
    return vspace(ans).zeros()


def _same(fun: Primitive, argnum: int) -> Function:
    """The rule of a function that is linear in an argument: the function itself."""

    def rule(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return fun(*args[:argnum], g, *args[argnum + 1 :], **kwargs)

    return rule


def defjvp(fun: Any, *rules: Function | str | None, argnums: Sequence[int] | None = None) -> None:
    """Forward rules: ``rule(g, ans, *args) -> tangent``, ``"same"`` for a linear argument."""
    if _has_one(fun):
        return
    found = _checked(fun)
    which = tuple(range(len(rules))) if argnums is None else tuple(argnums)
    made: list[Function | None] = []
    for argnum, rule in zip(which, rules, strict=True):
        if isinstance(rule, str):
            if rule != "same":
                raise ValueError(f"a forward rule is a function, None or 'same', not {rule!r}")
            made.append(_same(found, argnum))
        else:
            made.append(_zero if rule is None else rule)
    found.defjvp(*made, argnums=which)


def defjvp_argnum(fun: Any, rule: Function) -> None:
    """One forward rule for all: ``rule(argnum, g, ans, args, kwargs) -> tangent``."""
    if _has_one(fun):
        return

    def joint(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [rule(n, g, ans, args, kwargs) for n, g in zip(argnums, gs, strict=True)]
        return functools.reduce(vspace(ans).add, parts)

    _checked(fun).defjvp_argnums(joint)


def defjvp_argnums(fun: Any, rule: Function) -> None:
    """One forward rule for all at once: ``rule(argnums, gs, ans, args, kwargs) -> tangent``."""
    if _has_one(fun):
        return
    _checked(fun).defjvp_argnums(rule)
