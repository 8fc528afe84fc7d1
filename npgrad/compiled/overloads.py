"""Python functions that ``numba.extending.overload`` gives another body in compiled code.

What Python sees under the name may be a mere placeholder; what Numba compiles is a function that
the overload picks by the types of the arguments. That one is recorded.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.graph.array import unwrap
from npgrad.graph.refusals import at, user_frame

_seen = 0  # how many registrations of Numba's were looked at
_pickers: dict[int, tuple[Any, list[Callable[..., Any]]]] = {}  # by identity, the function kept


def pickers_of(value: Any) -> list[Callable[..., Any]]:
    """What was registered for a Python function by others than Numba, the last first.

    Numba's own overloads compute what NumPy and Python do, and ``register_jitable`` compiles the
    very function: these are recorded as they are.
    """
    global _seen
    if not isinstance(value, types.FunctionType):
        return []
    from numba.core.typing.templates import builtin_registry

    registered = builtin_registry.globals
    for function, kind in registered[_seen:]:
        for template in getattr(kind, "templates", ()):
            pick = getattr(template, "_overload_func", None)
            owner = getattr(pick, "__module__", None)  # none of what Numba generates
            if pick is not None and owner is not None and owner.partition(".")[0] != "numba":
                _pickers.setdefault(id(function), (function, []))[1].insert(0, pick)
    _seen = len(registered)
    return _pickers.get(id(value), (None, []))[1]


def overloaded(value: Any, recording: Callable[[Any], Any]) -> Any:
    """What records in place of a function that was overloaded; None for any other.

    `recording` makes a compiled function one that records.
    """
    pickers = pickers_of(value)
    if not pickers:
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        import numba

        kinds = [numba.typeof(_plain(a)) for a in args]
        named = {name: numba.typeof(_plain(a)) for name, a in kwargs.items()}
        for pick in pickers:
            made = pick(*kinds, **named)
            body = made[1] if isinstance(made, tuple) else made
            if body is not None:
                return recording(numba.njit(body))(*args, **kwargs)
        raise GradientLost(
            f"npgrad: {value.__name__} is another function in code that Numba compiles "
            f"(numba.extending.overload), and no overload takes the arguments given at "
            f"{at(user_frame())}. Give the compiled function that calls it a rule, "
            "npgrad.register_vjp; or npgrad.value(x) to cut the gradient on purpose."
        )

    return run


def _plain(value: Any) -> Any:
    """The value of which the type is asked: Numba knows numbers of no axes as scalars."""
    value = unwrap(value)
    if type(value) is tuple:
        return tuple(map(_plain, value))
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
