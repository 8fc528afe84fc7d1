"""`Rule`: one decision of the table, and what a rule function asks for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Function = Callable[..., Any]
Rules = Mapping[str, Function | None]


class Rule:
    """One decision of the table; see the declaring words for what each field means."""

    __slots__ = (
        "_arrays",
        "_jvps",
        "_resolved",
        "_signature",
        "_vjps",
        "batched",
        "body",
        "both",
        "by_entry",
        "by_rows",
        "compiled",
        "fresh",
        "fun",
        "holomorphic",
        "ignores",
        "in_place",
        "kind",
        "name",
        "pair",
        "pointwise",
        "reason",
        "recorded",
        "risky",
        "run",
        "shows",
        "tame",
        "verdict",
        "view",
    )

    def __init__(
        self,
        kind: str,
        fun: Any,
        *,
        name: str | None = None,
        signature: inspect.Signature | Callable[[], inspect.Signature] | None = None,
        vjps: Function | Rules | None = None,
        jvps: Function | Rules | None = None,
        body: Function | None = None,
        reason: str = "",
        ignores: tuple[str, ...] = (),
        holomorphic: bool = True,
        batched: bool = False,
        view: bool = False,
        risky: bool = False,
    ) -> None:
        self.kind = kind
        self.fun = fun
        self.name = name or function_name(fun)
        self._signature: Any = signature
        self._vjps: Any = vjps
        self._jvps: Any = jvps
        self._arrays: tuple[str, ...] = ()
        self._resolved = False
        self.body = body
        self.reason = reason
        self.ignores = ignores
        self.holomorphic = holomorphic
        self.batched = batched
        self.view = view
        self.risky = risky
        self.in_place: dict[str, tuple[Any, str] | None] = {}
        self.both: Function | None = None  # see `elementwise`
        self.run: Function | None = None  # see `computed_by`
        self.recorded: dict[str, Function] = {}  # see `with_recorded`
        self.verdict: bool | None = None  # the answer that says that two arrays are equal
        self.pair: Rule | None = None  # see `of_two`
        self.pointwise = False  # of one array elementwise, though no ufunc: see `pointwise`
        self.by_rows = False  # a matrix x1 gets its cotangent row by row of g
        self.by_entry = False  # entry by entry, as ufuncs are: see `graph.blocks`
        self.shows: tuple[str, ...] = ()  # inputs, finite where the output is: `graph.certain`
        self.tame = False  # where the output is finite, so are the partial derivatives
        self.fresh = False  # makes a new buffer: constant whatever it was given
        self.compiled: Any = None  # filled by the graph on first use

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def _resolve(self) -> None:
        """Read signatures when they are first asked for: reading all takes as long as importing."""
        if self._resolved:
            return
        if callable(self._signature):
            self._signature = self._signature()
        self._vjps = _by_name(self._vjps, self._signature)
        self._jvps = _by_name(self._jvps, self._signature)
        self._arrays = tuple(dict.fromkeys((*self._vjps, *self._jvps)))
        self._resolved = True
        _check(self)

    @property
    def signature(self) -> inspect.Signature | None:
        """The parameters, in NumPy's order; None for what is not differentiated by a rule."""
        self._resolve()
        return self._signature  # type: ignore[no-any-return]

    @property
    def vjps(self) -> dict[str, Function | None]:
        """VJP rules by array parameter."""
        self._resolve()
        return self._vjps  # type: ignore[no-any-return]

    @vjps.setter
    def vjps(self, rules: Rules) -> None:
        self._resolve()
        self._vjps = dict(rules)

    @property
    def jvps(self) -> dict[str, Function | None]:
        """JVP rules by array parameter."""
        self._resolve()
        return self._jvps  # type: ignore[no-any-return]

    @jvps.setter
    def jvps(self, rules: Rules) -> None:
        self._resolve()
        self._jvps = dict(rules)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The array parameters, a sequence of arrays with a star in front."""
        self._resolve()
        return self._arrays


def same(g: Any) -> Any:
    """The rule of an input with a partial derivative of one: the cotangent itself."""
    return g


def function_name(fun: Any) -> str:
    """The name people use for `fun`: ``np.sum``, ``np.linalg.norm``, ``scipy.special.erf``."""
    name = getattr(fun, "__name__", repr(fun))
    if isinstance(fun, np.ufunc):
        if getattr(np, name, None) is fun:
            return f"np.{name}"
        special = sys.modules.get("scipy.special")
        return f"scipy.special.{name}" if getattr(special, name, None) is fun else name
    module = getattr(fun, "__module__", None) or "numpy"
    module = "np" + module[len("numpy") :] if module.split(".")[0] == "numpy" else module
    return f"{module}.{name}"


def rule_parameters(function: Function) -> tuple[str, ...]:
    """The names that a rule function asks for, ``g`` left out."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 0x0C:  # *args or **kwargs
        names = tuple(inspect.signature(function).parameters)
    else:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not names or names[0] != "g":
        raise TypeError(f"a rule takes g first, got {names} ({function!r})")
    return names[1:]


def _check(rule: Rule) -> None:
    """Every name that a rule function asks for must exist in NumPy's signature."""
    parameters = rule.signature.parameters if rule.signature else {}
    known = {"y", "shape", "dtype", *parameters}
    for function in (*rule.vjps.values(), *rule.jvps.values()):
        unknown = set(rule_parameters(function)) - known if function is not None else set()
        if unknown:
            raise TypeError(f"a rule of {rule.name} asks for unknown names {sorted(unknown)}")
    for name in rule.arrays:
        if name.lstrip("*") not in parameters:
            raise TypeError(f"{rule.name} has no parameter {name!r}")


def _by_name(given: Any, signature: inspect.Signature | None) -> dict[str, Any]:
    """Rules by array parameter; one function alone belongs to the first parameter."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    assert signature is not None
    return {next(iter(signature.parameters)): given}
