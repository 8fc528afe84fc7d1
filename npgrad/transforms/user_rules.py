"""The derivative rules that a user gave a function, and how they serve one call of it.

Which rule belongs to which argument, the forward rule where only a reverse one was given, and the
errors of rules that are missing or wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import GradientLost, NoDerivative, NotDifferentiable, NpgradError, RuleError
from ..graph import backend, modes
from ..graph.array import GradArray
from .calls import (
    Call,
    Key,
    Place,
    added,
    all_zero,
    checked,
    guarded,
    hidden,
    name_argument,
    parts_of,
    same_layout,
    writable,
    zeros_like,
)
from .grad import vjp
from .trees import is_single
from .trials import Trials

Maker = Callable[..., Callable[[Any], Any] | None]
JvpRule = Callable[..., Any]


def unwrapped(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call with array makers that are NumPy's own: what is inside takes plain arrays."""
    token = modes.WRAPPED.set(False)
    try:
        return function(*args, **kwargs)
    finally:
        modes.WRAPPED.reset(token)


class Rules:
    """The rules of one function, by the position of the argument (or its name, if it has none)."""

    def __init__(self, fun: Callable[..., Any], label: str) -> None:
        self.fun = fun
        self.name = name_of(fun)
        self.label = label
        self.vjps: dict[Key, Maker | None] = {}
        self.jvps: dict[Key, JvpRule | None] = {}
        self.joint_vjp: Callable[..., Any] | None = None
        self.joint_jvp: Callable[..., Any] | None = None
        self.calls = 0
        self.trials = Trials()
        self._positions = _positions(fun)
        self._most = _most(fun)

    def key(self, key: Key) -> Key:
        """An argument by its position where it has one, else by its name."""
        if isinstance(key, int):
            if self._most is not None and key >= self._most:
                raise TypeError(
                    f"npgrad: {self.name} takes {self._most} arguments by position, and a rule was "
                    f"given for number {key + 1}. One rule for each argument, from the first on; "
                    "argnums=... or the argument's name says which."
                )
            return key
        if key in self._positions:
            return self._positions[key]
        known = self._known()
        if known is not None and key not in known:
            raise TypeError(
                f"npgrad: {self.name} has no argument {key!r}; it has {', '.join(known)}"
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

    def refuse_missing(self, key: Key) -> None:
        """NoDerivative if nothing at all was declared for a recorded argument."""
        key = self.key(key)
        joint = self.joint_vjp is not None or self.joint_jvp is not None
        if not joint and key not in self.vjps and key not in self.jvps:
            raise NoDerivative(self._missing(key, "derivative", "defvjp"))

    def refuse_hidden(self, parts: list[Any], record: Call) -> None:
        """NotDifferentiable if an output could hold values whose gradient would be lost in it."""
        keys = [self.key(key) for key in self._wanted(record)]
        joint = self.joint_vjp is not None or self.joint_jvp is not None
        if not joint and all(self.vjps.get(k) is self.jvps.get(k) is None for k in keys):
            return  # declared to have no gradient
        beside = any(map(is_single, parts))
        for part in parts:
            kind = hidden(part, beside)
            if kind:
                raise NotDifferentiable(
                    f"npgrad: {self.name} returned, or held in what it returned, {kind}, through "
                    "which no gradient can be followed. Return arrays, numbers or containers of "
                    "them (list, tuple, dict, namedtuple, dataclass), such as the .data of a "
                    "matrix; give None in place of the rules for no gradient, or pass npgrad.value "
                    "of the arguments to treat them as constants."
                )

    def _missing(self, key: Key, what: str, word: str) -> str:
        return (
            f"npgrad: {self.name} has no {what} with respect to its {name_argument(key)}. "
            f"Give one with {self.label}.{word}(...), None there for no gradient, or pass "
            "npgrad.value of the argument to treat it as a constant."
        )

    def _wanted(self, record: Call) -> list[Key]:
        """The recorded arguments, in order."""
        return list(dict.fromkeys(record.owners[index] for index in record.recorded))

    def given(self) -> list[Any]:
        """Every rule."""
        return [*self.vjps.values(), *self.jvps.values(), self.joint_vjp, self.joint_jvp]

    def pull(self, g: Any, arrays: Any, record: Call, y: Any) -> list[Any]:
        """The cotangent of every array, None where there is none: the graph's VJP."""
        try:
            rule, trials = self._pulled, self.trials
            if trials.memory:
                unwrapped(trials.refuse_memory, self, "reverse", rule, arrays, record, y)
            if isinstance(y, tuple) and len(trials.outputs) < len(y):
                unwrapped(trials.refuse_lost_output, self, rule, g, arrays, record, y)
            watched = trials.watch("reverse", arrays, y)
            found: list[Any] = unwrapped(self._pulled, g, arrays, record, y)
            if watched is not None:
                trials.refuse_written(self, "reverse", watched)
        except GradientLost as error:
            raise self._not_recorded("reverse", error) from error
        except Exception as error:
            self._refuse_write("reverse", error)
            raise
        return found

    def push(self, g: Any, arrays: Any, record: Call, y: Any) -> Any:
        """The tangent of the output: the graph's JVP."""
        try:
            if self.trials.memory:
                unwrapped(
                    self.trials.refuse_memory, self, "forward", self._pushed, arrays, record, y
                )
            watched = self.trials.watch("forward", arrays, y)
            found = unwrapped(self._pushed, g, arrays, record, y)
            if watched is not None:
                self.trials.refuse_written(self, "forward", watched)
            return found
        except GradientLost as error:
            raise self._not_recorded("forward", error) from error
        except Exception as error:
            self._refuse_write("forward", error)
            raise

    def _refuse_write(self, which: str, error: Exception) -> None:
        """RuleError where NumPy, Numba or Cython met the read-only `g` that the rules are given."""
        text = str(error)
        if not isinstance(error, NpgradError) and ("read-only" in text or "readonly" in text):
            raise RuleError(
                f"npgrad: a {which} rule of {self.name} wrote into read-only memory: a rule must "
                "not write into g, which other branches and the caller use too. Make a new array "
                "(g = g * 2), or copy it first (g.copy()), also for compiled code that takes "
                f"writable memory only. ({error})"
            ) from error

    def _no_result(self, what: str, instead: str) -> RuleError:
        return RuleError(
            f"npgrad: {what} of {self.name} returned None; is a `return` missing? For a zero "
            f"derivative return zeros, or give None in place of the {instead}."
        )

    def _not_recorded(self, which: str, error: Exception) -> NoDerivative:
        return NoDerivative(
            f"npgrad: a {which} rule of {self.name} had to be recorded, for a derivative of "
            "a derivative or to be transposed, and it is not written in NumPy alone. Make the "
            "compiled function that it calls a npgrad.primitive with rules of its own; give "
            "npgrad.wrap(rule) if it fills buffers that it makes. "
            f"({error})"
        )

    def _pulled(self, g: Any, arrays: Any, record: Call, y: Any) -> list[Any]:
        args, kwargs = record.filled(arrays)
        ans = record.joined(y)
        found: list[Any] = [None] * len(arrays)
        wanted = self._wanted(record)
        results: list[tuple[Key, Any]] = []
        if self.joint_vjp is not None:
            back = self.joint_vjp(tuple(wanted), ans, args, kwargs)
            if not callable(back):
                raise RuleError(
                    f"npgrad: the maker of {self.name}.defvjp_argnums returns a function of g, "
                    "maker(argnums, ans, args, kwargs) -> (g -> cotangents); it returned "
                    f"{type(back).__name__}"
                )
            cotangent = guarded(record.joined(g))
            pulled = back(cotangent)
            if pulled is None:
                raise self._no_result("the reverse rule", "cotangent of an argument")
            pulled = tuple(pulled)
            if len(pulled) != len(wanted):
                raise RuleError(
                    f"npgrad: the reverse rule of {self.name} returned {len(pulled)} "
                    f"cotangents for {len(wanted)} arguments"
                )
            self._check_linear(back, cotangent, pulled)
            results = list(zip(wanted, pulled, strict=True))
        else:
            for key in wanted:
                at = self.key(key)
                if at not in self.vjps:
                    raise NoDerivative(self._missing(key, "reverse derivative", "defvjp"))
                maker = self.vjps[at]
                if maker is None:
                    continue
                back = maker(ans, *args, **kwargs)
                if back is None:
                    raise self._no_result(f"the maker for {name_argument(key)}", "maker")
                if not callable(back):
                    raise RuleError(
                        f"npgrad: a maker of {self.name}.defvjp returns a function of g, "
                        f"maker(ans, *args) -> (g -> cotangent); the one of {name_argument(key)} "
                        f"returned {type(back).__name__}"
                    )
                cotangent = guarded(record.joined(g))
                pulled = back(cotangent)
                if pulled is None:
                    raise self._no_result(f"the reverse rule for {name_argument(key)}", "maker")
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
        what = f"the reverse rule of {self.name} for its {name_argument(key)}"
        if parts is None:
            raise RuleError(
                f"npgrad: {what} returned {type(pulled).__name__}; it must have the structure of "
                f"the argument, {type(argument).__name__}"
            )
        places = record.argument(key, list(map(Place, range(len(arrays)))))
        for part, place in zip(parts, parts_of(places)[0], strict=True):
            if type(place) is Place and part is not None:
                part = checked(part, arrays[place.index], what, "cotangent")
                # The sweep adds into arrays that nobody else has, and hands them out as gradients.
                # A rule may have kept this one: a view tells, by who else refers to its base.
                found[place.index] = part.view() if type(part) is backend.NDARRAY else part

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
                    f"npgrad: a reverse rule of {self.name} is not linear in g: of -3 g it "
                    f"is not -3 times what it is of g (off by {error.max():.3g})"
                )

    def _pushed(self, g: Any, arrays: Any, record: Call, y: Any) -> Any:
        args, kwargs = record.filled(arrays)
        ans = record.joined(y)
        wanted = self._wanted(record)
        tangents = [guarded(record.argument(key, g)) for key in wanted]
        if self.joint_jvp is not None:
            total = self._tangent(
                self.joint_jvp(tuple(wanted), tuple(tangents), ans, args, kwargs), ans, record
            )
        elif self.joint_vjp is not None:
            total = self._transposed(wanted, arrays, g, record, y)
        else:
            total = None
            for key, tangent in zip(wanted, tangents, strict=True):
                at = self.key(key)
                if at in self.jvps:
                    rule = self.jvps[at]
                    if rule is None:
                        continue
                    part = self._tangent(rule(tangent, ans, *args, **kwargs), ans, record)
                elif at in self.vjps:
                    part = self._transposed([key], arrays, g, record, y)
                elif all_zero(tangent):
                    continue
                else:
                    raise NoDerivative(self._missing(key, "forward derivative", "defjvp"))
                total = part if total is None else added(total, part)
        if total is None:
            single = not isinstance(y, tuple)
            total = zeros_like(y) if single else tuple(map(zeros_like, y))
        return total

    def _tangent(self, tangent: Any, ans: Any, record: Call) -> Any:
        """A tangent that a rule returned, checked, as the graph takes it."""
        if tangent is None:
            raise self._no_result("the forward rule", "rule")
        what = f"the forward rule of {self.name}"
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
            else writable(checked(parts[i], outputs[i], what, "tangent"))
            for i in record.y
        ]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    def _transposed(self, keys: list[Key], arrays: Any, tangents: Any, record: Call, y: Any) -> Any:
        """The forward rule as the transpose of the reverse one, which is linear in g."""
        chosen = [i for i in record.recorded if record.owners[i] in keys]
        single = not isinstance(y, tuple)
        zeros = zeros_like(y) if single else tuple(map(zeros_like, y))

        def pull(g: Any) -> list[Any]:
            found = self.pull(g, arrays, record, y)
            return [zeros_like(arrays[i]) if found[i] is None else found[i] for i in chosen]

        try:
            _, transpose = vjp(pull, zeros)
        except NoDerivative as error:
            raise NoDerivative(
                self._missing(keys[0], "forward derivative", "defjvp")
                + " (Its reverse rule could not be transposed, as one written in NumPy can be.)"
            ) from error
        return transpose([tangents[i] for i in chosen])[0]


def name_of(fun: Any) -> str:
    """The name of a user's function in messages; it ends in an identifier, as the graph needs."""
    name = getattr(fun, "__name__", type(fun).__name__)
    if not name.isidentifier():
        name = "a_lambda"
    module = getattr(fun, "__module__", None) or ""
    return name if module in ("", "__main__") else f"{module}.{name}"


def _most(fun: Any) -> int | None:
    """How many arguments can be given by position; None if any number, or nobody knows."""
    try:
        kinds = [p.kind for p in inspect.signature(fun).parameters.values()]
    except (TypeError, ValueError):
        return None
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(kind in by_position for kind in kinds)


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
