"""``const_graph``: a function whose graph does not depend on values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`fun` with its first arguments given; it is recorded at each call, which is always right."""
    return functools.partial(fun, *args, **kwargs)
