"""The decisions, and the words that declare one (the package's docstring lists the words)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .rule import Function, Rule, Rules

_TABLE: dict[Any, Rule] = {}
_SEEN: dict[Any, Rule] = {}  # what `lookup` sees: `_TABLE`, once the rules are there and whole
_late: list[Callable[[Any], bool]] = []  # loaders asked about a function that nobody decided yet


def _signature(fun: Any, text: str | None) -> inspect.Signature:
    """NumPy's signature of `fun`; `text` states it where an older NumPy has none to show."""
    if text is not None:
        space: dict[str, Any] = {"no_value": np._NoValue}
        exec(f"def f({text}): pass", space)
        return inspect.signature(space["f"])
    return inspect.signature(fun)


def _decide(rule: Rule) -> Rule:
    """Enter `rule`; a second decision for the same function is a mistake in npgrad."""
    if rule.fun in _TABLE:
        raise ValueError(f"{rule.name} is already decided: {_TABLE[rule.fun]!r}")
    _TABLE[rule.fun] = rule
    return rule


def whole() -> None:
    """Say that the rules are all there: no thread meets one before its last option was set."""
    global _SEEN
    _SEEN = _TABLE


def _fill() -> None:
    """Load the rules: not with `import npgrad`, whose time they would double."""
    importlib.import_module("npgrad.rules")


def lookup(fun: Any) -> Rule | None:
    """The decision for `fun`, or None."""
    rule = _SEEN.get(fun)
    return _search(fun) if rule is None else rule


def _search(fun: Any) -> Rule | None:
    """`lookup` of a function that was not met before."""
    _fill()
    if fun not in _TABLE:
        for loader in _late:
            if loader(fun) and fun in _TABLE:  # it may have decided others, and not this one
                break
    return _TABLE.get(fun)


def on_missing(loader: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Register `loader`: asked about an undecided function, it may decide it and return True."""
    _late.append(loader)
    return loader


def all_rules() -> Iterator[Rule]:
    """Every decision, in the order of declaration."""
    _fill()
    return iter(_TABLE.values())


def elementwise(
    ufunc: Any,
    *rules: Function | None,
    forward: tuple[Function | None, ...] | None = None,
    holomorphic: bool = True,
    risky: bool = False,
    in_place: tuple[tuple[Any, str] | None, ...] = (),
    both: Function | None = None,
    shows: tuple[str, ...] = (),
    tame: bool = False,
) -> Rule:
    """Decide a ufunc of one output.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The function. Its inputs are called ``x`` (one) or ``x1, x2, ...``, its output ``y``.
    rules : callable or None
        One for each input, ``rule(g, ...) -> g times the partial derivative``, linear in g. The
        same rule is JVP and VJP (for complex numbers the graph conjugates round it). None: that
        input has no derivative, and a recorded value there raises NoDerivative.
    forward : tuple of callable, optional
        JVP rules, where they differ from the VJP's (functions that are not holomorphic).
    holomorphic : bool
        False: `rules` are adjoints under Re(vdot) as they stand, and `forward` is needed.
    risky : bool
        The partial can be infinite or NaN where the function is finite (``sqrt`` at 0), so that a
        zero cotangent could become ``0 * inf``; the graph then keeps zeros zero.
    in_place : tuple, optional
        For each input, where its rule is one ufunc of g and one kept array: that ufunc and the
        name, ``(np.multiply, "x2")``. A large cotangent that is needed no more is then overwritten.
    both : callable, optional
        ``both(g, out, ...)`` writes the cotangents of both inputs in one pass to the pair of
        arrays `out`; the answer is False, and nothing done, where `rules` must do the work.
    shows : tuple of str
        Inputs that are finite where the output is.
    tame : bool
        Where the output is finite, so is every partial derivative, and everything that a rule
        makes of a finite `g` on the way.
    """
    if ufunc.nin != len(rules):
        raise TypeError(f"{ufunc.__name__} has {ufunc.nin} inputs, {len(rules)} rules were given")
    names = ("x",) if ufunc.nin == 1 else tuple(f"x{i + 1}" for i in range(ufunc.nin))
    rule = _decide(
        Rule(
            "elementwise",
            ufunc,
            signature=lambda: _positional(names),
            vjps=dict(zip(names, rules, strict=True)),
            jvps=dict(zip(names, forward or rules, strict=True)),
            holomorphic=holomorphic,
            batched=True,
            risky=risky,
        )
    )
    rule.in_place = dict(zip(names, in_place, strict=False))
    rule.both = both
    rule.shows, rule.tame = shows, tame
    return rule


def _positional(names: tuple[str, ...]) -> inspect.Signature:
    """A ufunc's inputs."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def linear(
    fun: Any,
    *,
    transpose: Function | Rules,
    forward: Function | Rules | None = None,
    signature: str | None = None,
    ignores: tuple[str, ...] = (),
    batched: bool = False,
    view: bool = False,
) -> Rule:
    """Decide a function that is linear in its first argument (or in the arguments named).

    Parameters
    ----------
    fun : callable
        The NumPy function.
    transpose : callable or dict of callable
        ``transpose(g, ...) -> cotangent``: the transpose, not conjugated (the graph conjugates
        round it for complex numbers). A dict gives one for each array parameter by name; a name
        written ``"*arrays"`` is a parameter that takes a sequence of arrays: its rule gets
        ``shape`` as a tuple of shapes and returns a sequence of cotangents.
    forward : optional
        The JVP, where it is not simply `fun` applied to the tangent (an ``initial=`` or a
        ``constant_values=`` that must not be added again).
    signature : str, optional
        ``"a, axis=None"``: the parameters, where an old NumPy shows none.
    ignores : tuple of str
        Parameters that change no derivative (``dtype``, ``order``, ``casting``). A parameter that
        is neither an array, nor ``out``, nor named by a rule, nor ignored is refused when given.
    batched : bool
        The rules accept a ``g`` with any number of extra leading axes.
    view : bool
        The result may be a view of the argument, as a reshape is.
    """
    return _decide(
        Rule(
            "linear",
            fun,
            signature=lambda: _signature(fun, signature),
            vjps=transpose,
            jvps=forward,
            ignores=ignores,
            batched=batched,
            view=view,
        )
    )


def bilinear(
    fun: Any,
    left: Function,
    right: Function,
    *,
    signature: str | None = None,
    ignores: tuple[str, ...] = (),
    batched: bool = False,
    sums: bool = True,
) -> Rule:
    """Decide a function linear in each of its first two arguments; `left`, `right` transpose it.

    The rules are transposes, not adjoints: the graph conjugates round them for complex numbers.
    `sums`: the terms are added, none is subtracted (see `product` of `reverse`).
    """
    parameters = _signature(fun, signature)
    first, second = list(parameters.parameters)[:2]
    return _decide(
        Rule(
            "bilinear",
            fun,
            signature=parameters,
            vjps={first: left, second: right},
            ignores=ignores,
            batched=batched,
            risky=sums,
        )
    )


def reverse(
    fun: Any,
    vjp: Function | Rules,
    forward: Function | Rules | None = None,
    *,
    signature: str | None = None,
    ignores: tuple[str, ...] = (),
    holomorphic: bool = True,
    batched: bool = False,
    product: bool = False,
) -> Rule:
    """Decide a function by a VJP for each array argument, and a JVP where one is known.

    Parameters
    ----------
    fun, signature, ignores, batched
        As for `linear`.
    vjp : callable or dict of callable
        ``vjp(g, ...) -> cotangent`` by array parameter. For a function of several outputs ``g``
        and ``y`` are tuples; an entry of ``g`` is None where no cotangent arrived.
    forward : callable or dict of callable, optional
        ``jvp(g, ...) -> tangent of the output`` with ``g`` the tangent of that argument;
        contributions of several arguments are added. Without one the transpose of the VJP serves.
    holomorphic : bool
        True: the VJPs are written as transposes, and the graph conjugates round them when the
        output is complex (never when it is real). False: they are adjoints under Re(vdot) as they
        stand: for a real function of complex z the gradient is du/dx + i du/dy.
    product : bool
        The function is linear in each of its arrays, as those of `bilinear` are. The graph then
        leaves out the terms in which a cotangent of zero meets an infinity, which
        it counts by the rules themselves: they must subtract no terms.
    """
    return _decide(
        Rule(
            "reverse",
            fun,
            signature=lambda: _signature(fun, signature),
            vjps=vjp,
            jvps=forward,
            ignores=ignores,
            holomorphic=holomorphic,
            batched=batched,
            risky=product,
        )
    )


def of_two(rule: Rule, vjp: Rules, forward: Rules, by_rows: bool = False) -> None:
    """Give `rule` shorter rules for calls with two arrays ``x1, x2`` and nothing else.

    `by_rows` says that a matrix x1 gets each row of its cotangent from the same row of `g`.
    """
    rule.pair = Rule(
        rule.kind,
        rule.fun,
        name=rule.name,
        signature=lambda: _signature(rule.fun, "x1, x2, /"),
        vjps=vjp,
        jvps=forward,
        holomorphic=rule.holomorphic,
        batched=rule.batched,
        risky=rule.risky,
    )
    rule.pair.by_rows = by_rows


def pointwise(rule: Rule) -> Rule:
    """Say that `rule`'s function and rules are elementwise and made of ufuncs on any array."""
    rule.pointwise = True
    return rule


def computed_by(fun: Any, run: Function) -> None:
    """Compute `fun`, decided already, by `run`: the same numbers with less Python around them."""
    _TABLE[fun].run = run


def with_recorded(fun: Any, parameter: str, body: Function) -> None:
    """Call `body` where `parameter` of `fun`, which is no array of its rules, is recorded."""
    _TABLE[fun].recorded[parameter] = body


def composed(fun: Any, body: Function | None = None) -> Rule:
    """Decide a function that is differentiated through the functions it is made of.

    Without `body`, NumPy's own Python body runs on the recorded arrays (values are then NumPy's
    bit for bit); otherwise `body`, which takes NumPy's arguments.
    """
    return _decide(Rule("composed", fun, body=body))


def writes(fun: Any, body: Function) -> Rule:
    """Decide a function that changes its first argument; `body` takes NumPy's arguments."""
    return _decide(Rule("writes", fun, body=body))


def constant(fun: Any, reason: str) -> Rule:
    """Decide a function whose result is integer, boolean, a shape or text: returned plain."""
    return _decide(Rule("constant", fun, reason=reason))


def flat(fun: Any, reason: str) -> Rule:
    """Decide an inexact, piecewise constant function: the value is right, the gradient zero."""
    return _decide(Rule("flat", fun, reason=reason))


def fresh(fun: Any, reason: str) -> Rule:
    """Decide a function that makes a new buffer: flat, and not connected to what it was given."""
    rule = flat(fun, reason)
    rule.fresh = True
    return rule


def refused(fun: Any, reason: str) -> Rule:
    """Decide a function that raises NoDerivative when given a recorded array."""
    return _decide(Rule("refused", fun, reason=reason))


# What the graph calls for ``ufunc.reduce`` and the other methods; the rules' chapters fill it in.
ufunc_methods: dict[str, Function] = {}
