"""What one row of a table of samples says, and one row of a table of special values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Sample:
    """A call at a smooth point; every promise is checked for it.

    ``call`` gets the arrays of ``args(rng)``, each of which is differentiated; it returns an array
    or a tuple of arrays. ``tol`` is the relative tolerance against differences in float64.
    """

    name: str
    call: Callable[..., Any]
    args: Callable[[np.random.Generator], Arrays]
    order: int = 2
    forward: bool = True
    dtypes: tuple[str, ...] = ("float64", "float32")
    tol: float = 1e-6
    batched: bool = True
    marks: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Special:
    """A kink, a zero or an infinity: the gradients that are promised there.

    ``gradient`` holds one expected array for each argument in ``x`` (None: not promised);
    ``second`` the gradient of the sum of the first gradient's entries, in the same form.
    """

    name: str
    f: Callable[..., Any]
    x: Arrays
    gradient: Arrays
    second: Arrays | None = None
