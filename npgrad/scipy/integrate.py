"""``scipy.integrate``: sums over samples, quad, and ordinary differential equations.

SciPy chooses the steps, on plain values; the recorded result is computed once more on those very
steps in NumPy's words, so that both modes and every order work, also for what the integrand or the
right-hand side uses from its closure. Other names are SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from ._declare import array_of, as_imported, is_recorded, stand_in, theirs
from ._ivp import solve_ivp
from ._ode import odeint
from ._quad import quad

original: Any = as_imported(scipy.integrate)

Array = Any

__all__ = ["cumulative_trapezoid", "odeint", "quad", "simpson", "solve_ivp", "trapezoid"]


def __getattr__(name: str) -> Any:
    return theirs(scipy.integrate, name)


@stand_in(original.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """SciPy's ``trapezoid``."""
    return np.trapezoid(array_of(y), None if x is None else array_of(x), dx=dx, axis=axis)


def _steps(x: Any, dx: Any, ndim: int, size: int, axis: int) -> Array:
    """The widths of the intervals, the axis of integration last."""
    if x is None:
        return np.full(size - 1, dx) if not is_recorded(dx) else np.repeat(array_of(dx), size - 1)
    x = array_of(x)
    return np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1))


@stand_in(original.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """SciPy's ``cumulative_trapezoid``."""
    y = np.moveaxis(array_of(y), axis, -1)
    h = dx if x is None else _steps(x, dx, y.ndim, y.shape[-1], axis)
    total = np.cumsum(h * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    if initial is not None:
        if initial != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        total = np.concatenate((np.zeros_like(total[..., :1]), total), axis=-1)
    return np.moveaxis(total, -1, axis)


@stand_in(original.simpson)
def simpson(y: Any, x: Any = None, *, dx: float = 1.0, axis: int = -1) -> Any:
    """SciPy's ``simpson``: for an even number of samples with Cartwright's last interval.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(npgrad.scipy.integrate.simpson)(np.zeros(3)) * 3
    array([1., 4., 1.])
    """
    y = np.moveaxis(array_of(y), axis, -1)
    n = y.shape[-1]
    if n == 1:
        return np.zeros_like(y[..., 0])
    h = None if x is None else _steps(x, dx, y.ndim, n, axis)
    if n == 2:
        return 0.5 * (dx if h is None else h[..., 0]) * (y[..., 0] + y[..., 1])
    last = n - 1 - (n % 2 == 0)
    y0, y1, y2 = y[..., 0 : last - 1 : 2], y[..., 1:last:2], y[..., 2 : last + 1 : 2]
    if h is None:
        total = np.sum(y0 + 4 * y1 + y2, axis=-1) * (dx / 3)
        h0 = h1 = dx
    else:
        h0, h1 = h[..., 0 : last - 1 : 2], h[..., 1:last:2]
        whole = h0 + h1
        middle = whole * whole / (h0 * h1)
        terms = y0 * (2 - h1 / h0) + y1 * middle + y2 * (2 - h0 / h1)
        total = np.sum(whole / 6 * terms, axis=-1)
        h0, h1 = h[..., -2], h[..., -1]
    if n % 2 == 0:
        # the parabola through the last three samples, over the last interval (Cartwright 2017)
        end = (2 * h1 * h1 + 3 * h0 * h1) / (6 * (h0 + h1)) * y[..., -1]
        before = (h1 * h1 + 3 * h0 * h1) / (6 * h0) * y[..., -2]
        total = total + end + before - h1 * h1 * h1 / (6 * h0 * (h0 + h1)) * y[..., -3]
    return total
