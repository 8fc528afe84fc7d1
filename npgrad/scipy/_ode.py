"""``scipy.integrate.odeint``: the steps of an explicit solver, taken again on recorded values.

A Runge-Kutta step is arithmetic on calls of the right-hand side; which steps to take is SciPy's
choice, made on plain values. Step ends are kept as shares of the interval, so that times may be
recorded too. The choice itself counts as constant, as is usual: the result depends on it only to
the solver's tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from ..graph.modes import no_grad
from ._declare import array_of, as_imported, is_recorded, plain, refuse
from ._steps import Field, Watched, explicit_step

original: Any = as_imported(scipy.integrate)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """SciPy's ``odeint``, differentiable in `y0`, `t`, `args` and the closure of `func`.

    Recorded values go through the steps of the explicit method DOP853 at the tolerances given: a
    stiff equation takes many. Of LSODA's settings `h0` and `hmax` are heeded then; those of its
    Jacobian, its orders and its printing have no meaning for that method.

    Raises
    ------
    NoDerivative
        For ``full_output`` and `tcrit`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda k: npgrad.scipy.integrate.odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0])[-1, 0]
    >>> round(float(npgrad.grad(f)(2.0)), 6)
    -0.135335
    """
    args = args if isinstance(args, tuple) else (args,)
    values = plain(args)
    state, times = plain(array_of(y0)), plain(array_of(t))

    def swapped(y: Any, s: Any) -> tuple[Any, Any]:
        return (s, y) if tfirst else (y, s)

    watched = Watched(lambda s, y: func(*swapped(y, s), *values))
    recorded = is_recorded([y0, t]) or is_recorded(args)
    if not recorded:
        with no_grad():
            watched(times[0], np.atleast_1d(np.asarray(state, dtype=float)))
    if not recorded and not watched.recorded:
        return original.odeint(
            func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax,
            hmin, ixpr, mxstep, mxhnil, mxordn, mxords, printmessg, tfirst,
        )  # fmt: skip
    if full_output:
        raise refuse("integrate.odeint", "with full_output")
    if tcrit is not None:
        raise refuse("integrate.odeint", "with tcrit")

    def field(s: Any, y: Any) -> Any:
        return func(*swapped(y, s), *args)

    y, t = np.atleast_1d(array_of(y0)), array_of(t)
    results = [y]
    tolerances = {
        "rtol": 1.49012e-8 if rtol is None else rtol,
        "atol": 1.49012e-8 if atol is None else atol,
        "max_step": hmax or np.inf,
        "first_step": h0 or None,
    }
    here: Any = np.atleast_1d(np.asarray(state, dtype=float))
    for i in range(len(times) - 1):
        with no_grad():
            shares, here = _shares(
                original.DOP853, watched, times[i], times[i + 1], here, tolerances
            )
        start, length = t[i], t[i + 1] - t[i]
        for left, right in itertools.pairwise(shares):
            y, _ = explicit_step(
                original.DOP853, field, start + left * length, y, (right - left) * length
            )
        results.append(y)
    return np.stack(results)


def _shares(
    method: Any, field: Field, start: float, stop: float, y: Any, tolerances: dict[str, Any]
) -> tuple[list[float], Any]:
    """The ends of the solver's steps as shares of the interval, and the state at its end."""
    if start == stop:
        return [0.0, 1.0], y
    first = tolerances["first_step"]
    if first is not None:
        tolerances = {**tolerances, "first_step": min(first, abs(stop - start))}
    solver = method(field, float(start), y, float(stop), **tolerances)
    shares = [0.0]
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"npgrad.scipy.integrate.odeint: {message}")
        shares.append(float((solver.t - start) / (stop - start)))
    shares[-1] = 1.0
    return shares, solver.y


__all__ = ["odeint"]
