"""Functions in Python that have a rule, guarded while calls record.

Wrong ways to such a function (`ruled`) are not known beforehand. So for the time of a call it has
another ``__code__``, with the same parameters, that refuses recorded arguments and hands plain ones
to a copy of the function. Nothing else is slower for it.
"""

from __future__ import annotations

import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from npgrad.errors import GradientLost
from npgrad.graph.refusals import at
from npgrad.wrapping.lists import holds_recorded
from npgrad.wrapping.rewriting import original_code
from npgrad.wrapping.writes import parameters_of

_MARK = "what guards"  # the constant that stands for the guard in the text of its code
_LOCK = threading.Lock()


def _guarding(code: types.CodeType, guard: Callable[..., Any]) -> types.CodeType:
    """Code with the parameters of `code` that hands them all to `guard`."""
    names = list(parameters_of(code))
    keywords = names.pop() if code.co_flags & inspect.CO_VARKEYWORDS else None
    rest = names.pop() if code.co_flags & inspect.CO_VARARGS else None
    first, only = code.co_posonlyargcount, code.co_argcount
    taken = names[:first] + ["/"] * bool(first) + names[first:only]
    given = names[:only]
    if rest is not None:
        taken, given = [*taken, f"*{rest}"], [*given, f"*{rest}"]
    elif names[only:]:
        taken.append("*")
    taken += names[only:]
    given += [f"{name}={name}" for name in names[only:]]
    if keywords is not None:
        taken, given = [*taken, f"**{keywords}"], [*given, f"**{keywords}"]
    text = f"def made({', '.join(taken)}): return {_MARK!r}.__call__({', '.join(given)})"
    whole = compile(text, code.co_filename, "exec")
    made = next(part for part in whole.co_consts if isinstance(part, types.CodeType))
    return made.replace(
        co_consts=tuple([guard if part == _MARK else part for part in made.co_consts]),
        co_freevars=code.co_freevars,
        co_name=code.co_name,
        co_firstlineno=code.co_firstlineno,
    )


class Guard:
    """One function, guarded while somebody wants it."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.users: set[int] = set()
        self._find()

    def _find(self) -> None:
        function = self.function
        self.old = original_code(function.__code__)
        self.plain = types.FunctionType(
            self.old, function.__globals__, function.__name__, None, function.__closure__
        )
        self.new = _guarding(self.old, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of plain arguments."""
        if any(map(holds_recorded, (*args, *kwargs.values()))):
            raise GradientLost(
                f"npgrad: {self.function.__qualname__} has a rule, but was called at "
                f"{at(sys._getframe(2))} where the rule does not stand for it: "
                "out of a list or an object, under a name of the call's own, or with wrap=False. "
                "Instead: call it by its name in a module, in wrapped code, or hand it to the "
                "function as an argument; or write npgrad.primitive(function) with its defvjp, "
                "and call that."
            )
        return self.plain(*args, **kwargs)

    def enter(self, call: int) -> None:
        """One more call wants it."""
        with _LOCK:
            self.users.add(call)
            if len(self.users) == 1:
                if original_code(self.function.__code__) is not self.old:
                    self._find()  # the program has given it another
                self.function.__code__ = self.new

    def leave(self, call: int) -> None:
        """A call ends."""
        with _LOCK:
            self.users.discard(call)
            if not self.users and self.function.__code__ is self.new:
                self.function.__code__ = self.old


_guards: dict[int, Guard] = {}  # of functions that have rules, which stay


def guards_of(functions: Iterable[Any]) -> list[Guard]:
    """The guards of those that are functions in Python."""
    found = []
    for function in functions:
        if type(function) is types.FunctionType:
            if id(function) not in _guards:
                _guards[id(function)] = Guard(function)
            found.append(_guards[id(function)])
    return found
