"""``x.view(dtype)`` between complex numbers and pairs of floats: the same memory, read otherwise.

The pair of a complex number is its real and imaginary part, so the map is linear over the reals,
and its adjoint under Re(vdot) is the reinterpretation back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.primitives import primitive
from npgrad.table import linear

PAIRS = {"F": "f", "D": "d", "G": "g"}  # complex type -> the type of its parts


@primitive
def reinterpreted(x: Any, kind: str) -> Any:
    """`x` as an array of the type with character `kind`; the last axis doubles or halves."""
    return x.view(np.dtype(kind))


@primitive
def gathered(g: Any, kind: str) -> Any:
    """`reinterpreted`, of a copy that is contiguous."""
    return g.copy(order="C").view(np.dtype(kind))


def back(g: Any, kind: str, dtype: Any) -> Any:
    """The cotangent in the argument's own type."""
    return gathered(g, dtype.char)


for function, view in ((reinterpreted, True), (gathered, False)):
    rule = linear(function, transpose=back, forward=lambda g, kind: gathered(g, kind), view=view)
    rule.holomorphic = False  # an adjoint as it stands


def view_as(x: Any, dtype: np.dtype[Any]) -> Any:
    """``x.view(dtype)``, refused unless one type is the pairs of the other."""
    have, want = x.dtype.char, dtype.char
    if PAIRS.get(have) != want and PAIRS.get(want) != have:
        raise NoDerivative(
            f"npgrad: x.view({dtype}) of {x.dtype} reads raw memory, which has no derivative; only "
            "views between a complex type and its pairs of floats have one. x.astype converts."
        )
    return reinterpreted(x, want)
