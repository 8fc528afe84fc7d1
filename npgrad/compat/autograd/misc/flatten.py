"""Nested containers of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import make_vjp

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers in nested lists, tuples and dicts as a vector, and the way back.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.compat.autograd.misc import flatten
    >>> vector, back = flatten({"b": 3.0, "a": [1.0, np.array([2.0])]})
    >>> vector
    array([1., 2., 3.])
    >>> float(back(vector)["b"])
    3.0
    """
    back, vector = make_vjp(_flat, value)
    return vector, back


def _flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return _joined([_flat(part) for part in value])
    if isinstance(value, dict):
        return _joined([_flat(value[key]) for key in sorted(value)])
    return np.ravel(value)


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.array([])


def flatten_func(func: Any, example: Any) -> tuple[Any, Any, Any]:
    """`func` from vector to vector, the way back, and `example` as a vector."""
    vector, back = flatten(example)

    def flat(x: Any, *args: Any) -> Any:
        return flatten(func(back(x), *args))[0]

    return flat, back, vector
