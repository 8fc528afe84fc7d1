"""`primitive`: a function with derivative rules of its own.

The function runs on plain arrays, so it may be anything: an njit function, a C extension, a solver.
`user_rules` knows which rule serves which argument; `calls` takes a call apart.
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

import numpy as np

from ..errors import InPlaceError, RuleError
from ..graph import backend, fingerprints, ownership
from ..graph.array import GradArray
from ..graph.record import call
from ..table import Rule
from .calls import (
    Call,
    Key,
    is_solid,
    name_argument,
    parts_of,
)
from .trees import is_single
from .trials import Trials
from .user_rules import JvpRule, Maker, Rules, unwrapped

SIGNATURE = inspect.signature(lambda arrays, record: None)


class Primitive:
    """What `primitive` returns: call it as the function; `defvjp` and `defjvp` give it rules."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"npgrad: primitive takes a function, not {type(fun).__name__}")
        self.fun = fun
        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(self, fun)
        if not hasattr(self, "__name__"):
            self.__name__ = type(fun).__name__
        self.rules = Rules(fun, self.__name__)

        # The table reads the parameters of plain functions.
        def pull(g: Any, arrays: Any, record: Call, y: Any) -> Any:
            return self.rules.pull(g, arrays, record, y)

        def push(g: Any, arrays: Any, record: Call, y: Any) -> Any:
            return self.rules.push(g, arrays, record, y)

        self._rule = Rule(
            "reverse",
            self._run,
            name=self.rules.name,
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
            that of its argument, in the argument's structure and shape; it must not write into
            what it gets. None in place of a maker: no gradient.
        argnums : int, str, or a tuple of them, optional
            The arguments that `makers` are for.
        by_name : callable or None
            The same, by the name of the argument.

        Raises
        ------
        TypeError
            A name or a position that the function has not, or another number of makers than of
            `argnums`.
        """
        self._declare(self.rules.vjps, makers, argnums, by_name)
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
        self._declare(self.rules.jvps, rules, argnums, by_name)
        return self

    def defvjp_argnums(self, maker: Callable[..., Any]) -> Primitive:
        """Give one reverse rule for all arguments, for work that they share.

        ``maker(argnums, ans, args, kwargs) -> (g -> cotangents)``, one for each of `argnums`, which
        are the arguments (positions, or names of keywords) that a gradient is wanted for. A None
        among the cotangents: no gradient of that argument.
        """
        self.rules.joint_vjp, self.rules.trials = maker, Trials()
        return self

    def defjvp_argnums(self, rule: Callable[..., Any]) -> Primitive:
        """Give one forward rule: ``rule(argnums, tangents, ans, args, kwargs) -> tangent``."""
        self.rules.joint_jvp, self.rules.trials = rule, Trials()
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
            into[self.rules.key(key)] = rule
        self.rules.trials = Trials()

    # -- calling --------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result; recorded if an argument is."""
        self.rules.calls += 1
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
            given = [part for value in (*args, *kwargs.values()) for part in parts_of(value)[0]]
            return _apart(unwrapped(self.fun, *args, **kwargs), given)
        record = Call(args, kwargs)
        record.number = self.rules.calls
        for index in record.recorded:
            self.rules.refuse_missing(record.owners[index])
        made = call(self._rule, (record.arrays, record), {}, sys._getframe(1))
        made = record.joined(made)
        record.arrays = []  # the node keeps what it needs; handles would keep the graph alive
        return made

    def _run(self, arrays: Any, record: Call) -> Any:
        """The function on plain arrays, which it must leave as they are."""
        args, kwargs = record.filled(arrays)
        before = [fingerprints.fingerprint(a, False) if is_solid(a) else None for a in arrays]
        result = unwrapped(self.fun, *args, **kwargs)
        for array, digest, key in zip(arrays, before, record.owners, strict=True):
            if digest is not None and fingerprints.changed(array, digest, False):
                raise InPlaceError(
                    f"npgrad: {self._rule.name} changed its {name_argument(key)} in place; a "
                    "primitive must leave its arguments as they are. Copy it first, and return the "
                    "result."
                )
        mine = {id(part) for value in (*args, *kwargs.values()) for part in parts_of(value)[0]}
        new = [part for part in parts_of(result)[0] if id(part) not in mine]  # arguments go through
        self.rules.refuse_hidden(new, record)
        outputs = record.split(result)
        several = isinstance(outputs, tuple)
        for part in outputs if several else (outputs,):
            if type(part) is GradArray:
                raise RuleError(
                    f"npgrad: {self._rule.name} returned a recorded array: it uses a recorded "
                    "value that is not among its arguments. Pass it as an argument, or "
                    "npgrad.value of it to treat it as a constant."
                )
        return _apart(outputs, arrays)


def _apart(result: Any, given: Sequence[Any]) -> Any:
    """`result` with copies of what shares memory with an argument, or with another output.

    A recording does not know that they share it, so a write into one would not reach the other.
    Calls that are not recorded copy too: a function has one meaning.
    """
    parts, rebuild = parts_of(result)
    held = [array for array in given if type(array) is not GradArray and is_solid(array)]
    copied = False
    for i, part in enumerate(parts):
        if type(part) is GradArray or not is_solid(part):
            continue
        if any(_shares(part, array) for array in held):
            parts[i] = part = backend.snapshot(part)
            copied = True
        held.append(part)
    return rebuild(parts) if copied else result


def _shares(part: Any, array: Any) -> bool:
    """Whether two arrays may share memory, by their bounds: at worst a copy too many."""
    if isinstance(part, np.ndarray) and isinstance(array, np.ndarray):
        return np.may_share_memory(part, array)
    return part is array or ownership.is_view(part, array)


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
    NotDifferentiable
        When the output of a recorded call is, or holds, what no gradient can be followed through: a
        generator, a set, a masked, sparse or object array, an object of an unknown class, or text
        alone.
    RuleError
        When a rule returns None or a result of the wrong structure, shape or kind, or writes into
        its g; under `npgrad.debug` also if it is not linear in g.

    Notes
    -----
    An output that is an argument or a view of it is copied: a write into it does not reach the
    argument.

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
