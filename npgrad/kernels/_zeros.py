"""A cotangent of zero stays zero where a function is NaN: the backwards' side of that promise.

A row of attention that is masked whole is NaN, as 0 / 0 is, and is masked away after the softmax:
its cotangent is zero, and NaN times zero would be NaN for all that comes before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.array import GradArray, current
from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit

__all__ = ["asked_for", "plain", "times", "zeros_kept"]


def plain(x: Array) -> Array:
    """The numbers of `x`, recorded or not."""
    return current(x)[0] if type(x) is GradArray else x


def zeros_kept(g: Array, gx: Array, axes: Any = None) -> Array:
    """`gx`, which a rule made of `g`, zero where a cotangent of zero met NaN or an infinity.

    Entry by entry; with `axes`, where all of `g` over them is zero. On a device nobody looks.
    """
    found, given = plain(gx), plain(g)
    if backend.on_device(found) or backend.finite(found):
        return gx
    zero = given == 0 if axes is None else np.all(given == 0, axis=axes, keepdims=True)
    nothing = np.zeros((), backend.describe(found)[1])[()]
    return np.where(zero, nothing, gx) if np.any(zero) else gx


def asked_for(g: Array, xhat: Array, r: Array, axes: Any) -> tuple[Array, Array]:
    """`xhat` and `r` (see `_moments`), zero for rows of NaN whose cotangent is zero."""
    found = plain(r)
    if type(found) is not np.ndarray or np.all((found > 0) & (found < np.inf)):
        return xhat, r
    zero = np.all(plain(g) == 0, axis=axes, keepdims=True)
    nothing = np.zeros((), found.dtype)[()]
    return np.where(zero, nothing, xhat), np.where(zero, nothing, r)


@njit(fastmath={"contract", "nsz"}, forceinline=True)
def times(g, slope):  # type: ignore[no-untyped-def]
    """``g * slope``, zero where g is, whatever the slope."""
    product = g * slope
    return g if g == 0 else product
