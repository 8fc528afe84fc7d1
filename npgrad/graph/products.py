"""The rules of products where a zero meets an infinity: such terms are left out of the sums.

What elementwise rules get by masking, ``0 * inf -> 0``, cannot be seen in a sum of products any
more. So a product that is not finite is computed again without its infinite factors, and kept
wherever those met zeros alone; which entries these are is counted by the same rule on masks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import backend
from .array import unwrap

HALF = 0.5  # counts are integers, of Fourier transforms with an error of rounding


def _counting(mask: Any, like: Any) -> Any:
    """`mask` as numbers of the real type of `like`, which rules take in its place."""
    return mask.astype(backend.describe(like)[1].char.lower())


def _finite_part(value: Any) -> Any:
    odd = backend.not_finite(unwrap(value))
    return backend.where(odd, 0, value) if bool(odd.any()) else value


def without_zeros(
    back: Any, g: Any, kept: tuple[Any, ...], parent: Any, factors: Sequence[int], *, either: bool
) -> Any:
    """``back(g, kept, parent)``, in which a zero of `g` times an infinity or NaN is zero.

    `back` is linear in `g` and in each of the arrays ``kept[i]`` for i in `factors`, and takes no
    differences. With `either`, a zero of a factor times an infinite entry of `g` is zero as well:
    `g` is a tangent, and the reverse sweep would have met a cotangent of zero there.
    """
    value = back(g, kept, parent)
    if value is None or backend.finite(unwrap(value)):
        return value
    factors = [i for i in factors if kept[i] is not None]
    move = unwrap(g)
    arrays = {i: unwrap(kept[i]) for i in factors}
    odd = {i: backend.not_finite(array) for i, array in arrays.items()}

    def counted(tangent: Any, chosen: dict[int, Any]) -> Any:
        given = list(kept)
        for i, array in arrays.items():
            given[i] = _counting(chosen[i], array)
        return back(_counting(tangent, move), tuple(given), parent)

    used = {i: (array != 0) | (not either) for i, array in arrays.items()}
    met: Any = 0.0
    for i in factors:
        met = met + counted(move != 0, {**used, i: odd[i]})
    if either:
        met = met + counted(backend.not_finite(move), used)
    rest = list(kept)
    for i in factors:
        rest[i] = _finite_part(kept[i])
    clean = back(_finite_part(g) if either else g, tuple(rest), parent)
    if (
        len(factors) == 1
        and backend.describe(value)[1].kind == "f"
        and (not either or backend.finite(move))
    ):
        (i,) = factors
        signs = backend.signs(arrays[i], odd[i])  # infinities of one sign add up to one
        net = back(backend.signs(move, move != 0), (*kept[:i], signs, *kept[i + 1 :]), parent)
        value = backend.where(abs(net) > met - HALF, net * math.inf, value)
    return backend.where(met < HALF, clean, value)
