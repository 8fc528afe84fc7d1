"""Functions that a library generated as text: what they name lies in a dictionary of their own.

SymPy's `lambdify` gives each function a copy of NumPy's names, `attrs` gives the methods that it
writes their converters. Such a dictionary is no module's; it is met through its functions.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

Space = dict[str, Any]
Generated = tuple[Space, types.CodeType]


def is_module(space: Space) -> bool:
    """Whether `space` is the namespace of an imported module."""
    module = sys.modules.get(space.get("__name__", ""))
    return getattr(module, "__dict__", None) is space


def generated_in(functions: list[types.FunctionType], space: Space) -> list[Generated]:
    """Those of `functions` that look their names up neither in `space` nor in another module."""
    return [
        (function.__globals__, function.__code__)
        for function in functions
        if function.__globals__ is not space and not is_module(function.__globals__)
    ]


LAMBDIFY = "sympy.utilities.lambdify"


def lambdified_count(module: Any) -> Any:
    """How many functions SymPy's `lambdify`, the function of this module, has made."""
    return getattr(module, "_lambdify_generated_counter", 0)


def lambdified() -> Iterator[Generated]:
    """The living functions that `lambdify` made, wherever they are held.

    It gives each a finalizer (which forgets its text), and nothing else leads to all of them.
    """
    if LAMBDIFY in sys.modules:
        for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
            alive = finalizer.peek()
            function = alive[0] if alive is not None else None
            if type(function) is types.FunctionType and function.__code__.co_filename.startswith(
                "<lambdifygenerated"
            ):
                yield function.__globals__, function.__code__
