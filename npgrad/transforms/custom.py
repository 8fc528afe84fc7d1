"""`primitive`: a function with derivative rules of its own.

The function runs on plain arrays, so it may be anything: an njit function, a C extension, a solver.
Here is which rule serves which argument; `calls` takes a call apart and checks what a rule gave.
Recording and sweeping are the graph's business: a call is recorded as a function of one sequence,
the arrays found in its arguments.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import GradientLost, InPlaceError, NoDerivative, RuleError
from ..graph import backend, modes
from ..graph.array import GradArray
from ..graph.record import call
from ..table import Rule
from .calls import (
    Call,
    Key,
    Place,
    checked,
    is_solid,
    name_argument,
    parts_of,
    same_layout,
    zeros_like,
)
from .grad import vjp
from .trees import is_single

Maker = Callable[..., Callable[[Any], Any] | None]
JvpRule = Callable[..., Any]

SIGNATURE = inspect.signature(lambda arrays, record: None)


class Primitive:
    """What `primitive` returns: call it as the function; `defvjp` and `defjvp` give it rules."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"npgrad: primitive takes a function, not {type(fun).__name__}")
        self.fun = fun
        self._vjps: dict[Key, Maker | None] = {}
        self._jvps: dict[Key, JvpRule | None] = {}
        self._joint_vjp: Callable[..., Any] | None = None
        self._joint_jvp: Callable[..., Any] | None = None
        self._positions = _positions(fun)
        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(self, fun)
        if not hasattr(self, "__name__"):
            self.__name__ = type(fun).__name__

        # The table reads the parameters of plain functions.
        def pull(g: Any, arrays: Any, record: Call, y: Any) -> Any:
            return self._pull(g, arrays, record, y)

        def push(g: Any, arrays: Any, record: Call, y: Any) -> Any:
            return self._push(g, arrays, record, y)

        self._rule = Rule(
            "reverse",
            self._run,
            name=name_of(fun),
            signature=SIGNATURE,
            vjps={"*arrays": pull},
            jvps={"*arrays": push},
            holomorphic=False,
        )

    def __repr__(self) -> str:
        return f"<npgrad primitive {self._rule.name}>"

    def __reduce__(self) -> str:
        return getattr(self, "__qualname__", self.__name__)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # -- declaring ------------------------------------------------------------------------------
    def defvjp(
        self,
        *makers: Maker | None,
        argnums: int | str | Sequence[Key] | None = None,
        **by_name: Maker | None,
    ) -> Primitive:
        """Give reverse rules: ``maker(ans, *args, **kwargs) -> (g -> cotangent)``.

        Parameters
        ----------
        makers : callable or None
            One for each argument from the first on, or for each of `argnums`. `ans` is the output.
            The function returned gets the cotangent of the output, in its structure, and returns
            that of its argument, in the argument's structure and shape. None: no gradient.
        argnums : int, str, or a tuple of them, optional
            The arguments that `makers` are for.
        by_name : callable or None
            The same, by the name of the argument.

        Raises
        ------
        TypeError
            A name that the function has not, or another number of makers than of `argnums`.
        """
        self._declare(self._vjps, makers, argnums, by_name)
        return self

    def defjvp(
        self,
        *rules: JvpRule | None,
        argnums: int | str | Sequence[Key] | None = None,
        **by_name: JvpRule | None,
    ) -> Primitive:
        """Give forward rules: ``rule(g, ans, *args, **kwargs) -> tangent of the output``.

        `g` is the tangent of the rule's argument; contributions of several arguments are added.
        Without a forward rule the transpose of the reverse one serves, if it is written in NumPy.
        Parameters are those of `defvjp`.
        """
        self._declare(self._jvps, rules, argnums, by_name)
        return self

    def defvjp_argnums(self, maker: Callable[..., Any]) -> Primitive:
        """Give one reverse rule for all arguments, for work that they share.

        ``maker(argnums, ans, args, kwargs) -> (g -> cotangents)``, one for each of `argnums`, which
        are the arguments (positions, or names of keywords) that a gradient is wanted for.
        """
        self._joint_vjp = maker
        return self

    def defjvp_argnums(self, rule: Callable[..., Any]) -> Primitive:
        """Give one forward rule: ``rule(argnums, tangents, ans, args, kwargs) -> tangent``."""
        self._joint_jvp = rule
        return self

    def _declare(self, into: dict[Key, Any], rules: Any, argnums: Any, by_name: Any) -> None:
        if argnums is None:
            keys: tuple[Any, ...] = tuple(range(len(rules)))
        else:
            keys = (argnums,) if isinstance(argnums, (int, str)) else tuple(argnums)
            if len(keys) != len(rules):
                raise TypeError(
                    f"npgrad: {self._rule.name}: {len(rules)} rules for {len(keys)} argnums"
                )
        for key, rule in (*zip(keys, rules, strict=True), *by_name.items()):
            if rule is not None and not callable(rule):
                raise TypeError(f"npgrad: a rule is a function or None, not {rule!r}")
            into[self._key(key)] = rule

    def _key(self, key: Key) -> Key:
        """An argument by its position where it has one, else by its name."""
        if isinstance(key, int):
            return key
        if key in self._positions:
            return self._positions[key]
        known = self._known()
        if known is not None and key not in known:
            raise TypeError(
                f"npgrad: {self._rule.name} has no argument {key!r}; it has {', '.join(known)}"
            )
        return key

    def _known(self) -> tuple[str, ...] | None:
        """Every name that may be given by keyword; None if any may."""
        try:
            parameters = inspect.signature(self.fun).parameters
        except (TypeError, ValueError):
            return None
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return None
        return tuple(parameters)

    # -- calling --------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; recorded if an argument is."""
        for value in (*args, *kwargs.values()):
            kind = type(value)
            if kind is GradArray:
                break
            if (
                kind not in backend.PLAIN
                and not is_single(value)
                and any(type(part) is GradArray for part in parts_of(value)[0])
            ):
                break
        else:
            return self._unwrapped(self.fun, *args, **kwargs)
        record = Call(args, kwargs)
        for index in record.recorded:
            self._refuse_missing(record.owners[index])
        made = call(self._rule, (record.arrays, record), {}, sys._getframe(1))
        made = record.joined(made)
        record.arrays = []  # the node keeps what it needs; handles would keep the graph alive
        return made

    def _unwrapped(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call with array makers that are NumPy's own: what is inside takes plain arrays."""
        token = modes.WRAPPED.set(False)
        try:
            return function(*args, **kwargs)
        finally:
            modes.WRAPPED.reset(token)

    def _run(self, arrays: Any, record: Call) -> Any:
        """The function on plain arrays, which it must leave as they are."""
        args, kwargs = record.filled(arrays)
        before = [backend.fingerprint(a, False) if is_solid(a) else None for a in arrays]
        result = self._unwrapped(self.fun, *args, **kwargs)
        for array, digest, key in zip(arrays, before, record.owners, strict=True):
            if digest is not None and backend.fingerprint(array, False) != digest:
                raise InPlaceError(
                    f"npgrad: {self._rule.name} changed its {name_argument(key)} in place; a "
                    "primitive must leave its arguments as they are. Copy it first, and return the "
                    "result."
                )
        outputs = record.split(result)
        several = isinstance(outputs, tuple)
        checked = []
        for part in outputs if several else (outputs,):
            if type(part) is GradArray:
                raise RuleError(
                    f"npgrad: {self._rule.name} returned a recorded array: it uses a recorded "
                    "value that is not among its arguments. Pass it as an argument, or "
                    "npgrad.value of it to treat it as a constant."
                )
            aliased = any(part is a or backend.is_view(part, a) for a in arrays if is_solid(a))
            checked.append(backend.snapshot(part) if aliased else part)
        return tuple(checked) if several else checked[0]

    # -- rules ----------------------------------------------------------------------------------
    def _refuse_missing(self, key: Key) -> None:
        key = self._key(key)
        joint = self._joint_vjp is not None or self._joint_jvp is not None
        if not joint and key not in self._vjps and key not in self._jvps:
            raise NoDerivative(self._missing(key, "derivative", "defvjp"))

    def _missing(self, key: Key, what: str, word: str) -> str:
        return (
            f"npgrad: {self._rule.name} has no {what} with respect to its {name_argument(key)}. "
            f"Give one with {self.__name__}.{word}(...), None there for no gradient, or pass "
            "npgrad.value of the argument to treat it as a constant."
        )

    def _wanted(self, record: Call) -> list[Key]:
        """The recorded arguments, in order."""
        return list(dict.fromkeys(record.owners[index] for index in record.recorded))

    def _pull(self, g: Any, arrays: Any, record: Call, y: Any) -> list[Any]:
        """The cotangent of every array, None where there is none: the graph's VJP."""
        try:
            return self._unwrapped(self._pulled, g, arrays, record, y)
        except GradientLost as error:
            raise self._not_recorded("reverse", error) from error

    def _push(self, g: Any, arrays: Any, record: Call, y: Any) -> Any:
        """The tangent of the output: the graph's JVP."""
        try:
            return self._unwrapped(self._pushed, g, arrays, record, y)
        except GradientLost as error:
            raise self._not_recorded("forward", error) from error

    def _not_recorded(self, which: str, error: Exception) -> NoDerivative:
        return NoDerivative(
            f"npgrad: a {which} rule of {self._rule.name} had to be recorded, for a derivative of "
            "a derivative or to be transposed, and it is not written in NumPy alone. Make the "
            "compiled function that it calls a npgrad.primitive with rules of its own. "
            f"({error})"
        )

    def _pulled(self, g: Any, arrays: Any, record: Call, y: Any) -> list[Any]:
        args, kwargs = record.filled(arrays)
        ans, cotangent = record.joined(y), record.joined(g)
        found: list[Any] = [None] * len(arrays)
        wanted = self._wanted(record)
        results: list[tuple[Key, Any]] = []
        if self._joint_vjp is not None:
            back = self._joint_vjp(tuple(wanted), ans, args, kwargs)
            pulled = tuple(back(cotangent))
            if len(pulled) != len(wanted):
                raise RuleError(
                    f"npgrad: the reverse rule of {self._rule.name} returned {len(pulled)} "
                    f"cotangents for {len(wanted)} arguments"
                )
            self._check_linear(back, cotangent, pulled)
            results = list(zip(wanted, pulled, strict=True))
        else:
            for key in wanted:
                at = self._key(key)
                if at not in self._vjps:
                    raise NoDerivative(self._missing(key, "reverse derivative", "defvjp"))
                maker = self._vjps[at]
                back = maker(ans, *args, **kwargs) if maker is not None else None
                if back is None:
                    continue
                if not callable(back):
                    raise RuleError(
                        f"npgrad: a maker of {self._rule.name}.defvjp returns a function of g, "
                        f"maker(ans, *args) -> (g -> cotangent); the one of {name_argument(key)} "
                        f"returned {type(back).__name__}"
                    )
                pulled = back(cotangent)
                self._check_linear(back, cotangent, pulled)
                results.append((key, pulled))
        for key, pulled in results:
            if pulled is not None:
                self._spread(pulled, key, arrays, record, found)
        return found

    def _spread(self, pulled: Any, key: Key, arrays: Any, record: Call, found: list[Any]) -> None:
        """Check one argument's cotangent, and put its parts in their places in `found`."""
        argument = record.argument(key, arrays)
        parts = same_layout(pulled, argument)
        what = f"the reverse rule of {self._rule.name} for its {name_argument(key)}"
        if parts is None:
            raise RuleError(
                f"npgrad: {what} returned {type(pulled).__name__}; it must have the structure of "
                f"the argument, {type(argument).__name__}"
            )
        places = record.argument(key, list(map(Place, range(len(arrays)))))
        for part, place in zip(parts, parts_of(places)[0], strict=True):
            if type(place) is Place and part is not None:
                found[place.index] = checked(part, arrays[place.index], what, "cotangent")

    def _check_linear(self, back: Callable[[Any], Any], g: Any, result: Any) -> None:
        """Under `npgrad.debug`: a reverse rule is linear in g."""
        mode = modes.MODE.get()
        if mode is None or not mode.checked:
            return
        parts, rebuild = parts_of(g)
        tripled = back(rebuild([-3.0 * p if is_single(p) else p for p in parts]))
        for one, three in zip(parts_of(result)[0], parts_of(tripled)[0], strict=True):
            if one is None or type(one) is GradArray or not is_single(one):
                continue
            error = abs(backend.asarray(three) + 3.0 * backend.asarray(one))
            size = abs(backend.asarray(one))
            if error.size and error.max() > 1e-4 * max(size.max(), 1e-30):
                raise RuleError(
                    f"npgrad: a reverse rule of {self._rule.name} is not linear in g: of -3 g it "
                    f"is not -3 times what it is of g (off by {error.max():.3g})"
                )

    def _pushed(self, g: Any, arrays: Any, record: Call, y: Any) -> Any:
        args, kwargs = record.filled(arrays)
        ans = record.joined(y)
        wanted = self._wanted(record)
        tangents = [record.argument(key, g) for key in wanted]
        if self._joint_jvp is not None:
            total = self._tangent(
                self._joint_jvp(tuple(wanted), tuple(tangents), ans, args, kwargs), ans, record
            )
        elif self._joint_vjp is not None:
            total = self._transposed(wanted, arrays, g, record, y)
        else:
            total = None
            for key, tangent in zip(wanted, tangents, strict=True):
                at = self._key(key)
                if at in self._jvps:
                    rule = self._jvps[at]
                    if rule is None:
                        continue
                    part = self._tangent(rule(tangent, ans, *args, **kwargs), ans, record)
                elif at in self._vjps:
                    part = self._transposed([key], arrays, g, record, y)
                elif _all_zero(tangent):
                    continue
                else:
                    raise NoDerivative(self._missing(key, "forward derivative", "defjvp"))
                total = part if total is None else _added(total, part)
        if total is None:
            single = not isinstance(y, tuple)
            total = zeros_like(y) if single else tuple(map(zeros_like, y))
        return total

    def _tangent(self, tangent: Any, ans: Any, record: Call) -> Any:
        """A tangent that a rule returned, checked, as the graph takes it; None is zero."""
        if tangent is None:
            return None
        what = f"the forward rule of {self._rule.name}"
        parts = same_layout(tangent, ans)
        if parts is None:
            raise RuleError(
                f"npgrad: {what} returned {type(tangent).__name__}; it must have the structure of "
                f"the output, {type(ans).__name__}"
            )
        outputs = parts_of(ans)[0]
        chosen = [
            zeros_like(outputs[i])
            if parts[i] is None
            else checked(parts[i], outputs[i], what, "tangent")
            for i in record.y
        ]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    def _transposed(self, keys: list[Key], arrays: Any, tangents: Any, record: Call, y: Any) -> Any:
        """The forward rule as the transpose of the reverse one, which is linear in g."""
        chosen = [i for i in record.recorded if record.owners[i] in keys]
        single = not isinstance(y, tuple)
        zeros = zeros_like(y) if single else tuple(map(zeros_like, y))

        def pull(g: Any) -> list[Any]:
            found = self._pull(g, arrays, record, y)
            return [zeros_like(arrays[i]) if found[i] is None else found[i] for i in chosen]

        try:
            _, transpose = vjp(pull, zeros)
        except NoDerivative as error:
            raise NoDerivative(
                self._missing(keys[0], "forward derivative", "defjvp")
                + " (Its reverse rule could not be transposed, as one written in NumPy can be.)"
            ) from error
        return transpose([tangents[i] for i in chosen])[0]


def primitive(fun: Callable[..., Any]) -> Primitive:
    """Make `fun` a function with derivative rules of its own.

    Parameters
    ----------
    fun : callable
        Called with plain arrays only: it may be compiled, call a C library, iterate. It must
        not change its arguments. Arguments and results may be nested containers.

    Returns
    -------
    Primitive
        Call it as `fun`. ``p.defvjp(*makers, argnums=None, **by_name)`` and
        ``p.defjvp(*rules, argnums=None, **by_name)`` give it rules.

    Raises
    ------
    NoDerivative
        When called with a recorded argument that has no rule.
    RuleError
        When a rule returns a result of the wrong structure, shape or kind; under `npgrad.debug`
        also if it is not linear in g.

    Notes
    -----
    Rules written in NumPy are differentiated again for higher orders. For complex numbers a reverse
    rule is the adjoint under ``Re(vdot)``: ``lambda g: g * np.conj(derivative)``.

    Examples
    --------
    >>> import math
    >>> import numpy as np, npgrad
    >>> @npgrad.primitive
    ... def gamma(x):
    ...     return np.array([math.gamma(t) for t in x])  # no protocol could look into this
    >>> _ = gamma.defvjp(lambda ans, x: lambda g: g * ans * digamma(x))
    >>> from scipy.special import digamma
    >>> npgrad.grad(lambda x: np.sum(gamma(x)))(np.array([1.0, 3.0]))
    array([-0.57721566,  1.84556867])
    """
    return Primitive(fun)


def _added(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip(a, b, strict=True))
    return a + b


def _all_zero(tangent: Any) -> bool:
    """Whether nothing moves in this direction."""
    return all(
        type(part) is not GradArray and not backend.asarray(part).any()
        for part in parts_of(tangent)[0]
        if is_single(part)
    )


def name_of(fun: Any) -> str:
    """The name of a user's function in messages; it ends in an identifier, as the graph needs."""
    name = getattr(fun, "__name__", type(fun).__name__)
    if not name.isidentifier():
        name = "a_lambda"
    module = getattr(fun, "__module__", None) or ""
    return name if module in ("", "__main__") else f"{module}.{name}"


def _positions(fun: Any) -> dict[str, int]:
    """Where each parameter that can be given by position stands."""
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return {}
    found = {}
    for i, parameter in enumerate(parameters):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found[parameter.name] = i
    return found
