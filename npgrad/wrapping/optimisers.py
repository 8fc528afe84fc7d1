"""SciPy's minimisers in wrapped code, where their objective is recorded.

They compare values and step by numbers of their own. What they return does not depend on what is
recorded as far as a recording can tell: a gradient of 0, in silence, where SciPy's code is wrapped
or asks for no C number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from npgrad.errors import GradientLost
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping.lists import holds_recorded


def comparing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`function`, which refuses an objective with a recorded value."""

    @functools.wraps(function)
    def call(func: Any, *args: Any, **kwargs: Any) -> Any:
        if not WRAPPED.get() or not callable(func):
            return function(func, *args, **kwargs)

        @functools.wraps(func, updated=())
        def objective(*given: Any, **named: Any) -> Any:
            made = func(*given, **named)
            if holds_recorded(made):
                raise GradientLost(
                    f"npgrad: scipy.optimize.{name} takes plain values of its objective, which "
                    "it only compares: the gradient of its result would be lost in silence. "
                    "Instead: give it plain start values and parameters (npgrad.value); for the "
                    "derivative of its result by a parameter there is "
                    "npgrad.transforms.implicit.root (docs/custom_rules.md)."
                )
            return made

        return function(objective, *args, **kwargs)

    return call
