"""``scipy.integrate.quad``: QUADPACK chooses the intervals, Gauss and Legendre sum over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as original

from ..errors import NoDerivative
from ..graph.array import GradArray
from ..graph.modes import no_grad
from ._declare import is_recorded, plain, refuse

POINTS = 16  # of each half of QUADPACK's intervals, which it found smooth enough for 21


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """SciPy's ``quad``; differentiable in the limits, `args` and the closure of `func`.

    Raises
    ------
    NoDerivative
        For a weight function or a complex integrand, and for integrands so singular that QUADPACK
        extrapolates.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda c: npgrad.scipy.integrate.quad(lambda x: np.exp(-c * x), 0, np.inf)[0]
    >>> round(float(npgrad.grad(f)(2.0)), 9)
    -0.25
    """
    args = args if isinstance(args, tuple) else (args,)
    options = {
        "epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points, "weight": weight,
        "wvar": wvar, "wopts": wopts, "maxp1": maxp1, "limlst": limlst,
        "complex_func": complex_func,
    }  # fmt: skip
    recorded = is_recorded(args) or is_recorded([a, b])
    values = plain(args)

    def number(x: float) -> Any:
        nonlocal recorded
        y = func(x, *values)
        if type(y) is GradArray:
            recorded = True
            return plain(y)
        return y

    low, high = (float(plain(limit)) for limit in (a, b))
    with no_grad():
        found = original.quad(number, low, high, full_output=1, **options)
    if not recorded:
        return found if full_output else original.quad(func, a, b, args, **options)
    if weight is not None:
        raise refuse("integrate.quad", "with a weight function")
    if complex_func:
        raise refuse("integrate.quad", "with complex_func: integrate both parts")
    info = found[2]
    lefts, rights = info["alist"][: info["last"]], info["blist"][: info["last"]]
    total = _sum(lambda x: func(x, *args), a, b, low, high, lefts, rights)
    error = abs(float(plain(total)) - found[0])
    allowed = max(epsabs, epsrel * abs(found[0]))
    if not error <= 10 * allowed:
        raise NoDerivative(
            "npgrad: npgrad.scipy.integrate.quad: the integrand is singular, QUADPACK extrapolated "
            f"over its steps (which differ from its result by {error:.1e}) and their derivative "
            "would be wrong. Substitute the singularity away, or pass it as a limit."
        )
    return (total, *found[1:]) if full_output else (total, found[1])


def _sum(f: Any, a: Any, b: Any, low: float, high: float, lefts: Any, rights: Any) -> Any:
    """The integral over QUADPACK's intervals, halved; an infinite range is that of (1 - t) / t."""
    if low > high:  # QUADPACK is given the limits in order
        return -_sum(f, b, a, high, low, lefts, rights)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    middles = 0.5 * (lefts + rights)
    starts, ends = np.concatenate((lefts, middles)), np.concatenate((middles, rights))
    half = 0.5 * (ends - starts)[:, None]
    points = (0.5 * (starts + ends)[:, None] + half * nodes).ravel()
    factors = (half * weights).ravel()
    total: Any = 0.0
    if np.isfinite(low) and np.isfinite(high):
        for point, factor in zip(points, factors, strict=True):
            share = (point - low) / (high - low) if high != low else 0.0
            total = total + factor * f(a + (b - a) * float(share))
        return total / (high - low) * (b - a) if high != low else total
    for point, factor in zip(points, factors, strict=True):
        away, slope = (1 - point) / point, factor / point**2
        if np.isinf(low) and np.isinf(high):
            total = total + slope * (f(float(away)) + f(float(-away)))
        elif np.isinf(high):
            total = total + slope * f(a + float(away))
        else:
            total = total + slope * f(b - float(away))
    return total
