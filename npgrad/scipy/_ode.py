"""Ordinary differential equations: the steps of SciPy's solver, taken again on recorded values.

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
import scipy.integrate as original

from ..graph.modes import no_grad
from ._declare import array_of, is_recorded, plain, refuse, varies

Array = Any
Field = Callable[[Any, Any], Any]
EXPLICIT = {"RK23": original.RK23, "RK45": original.RK45, "DOP853": original.DOP853}


class _Watched:
    """The right-hand side on plain values, noticing recorded ones from its closure."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.recorded = False

    def __call__(self, t: Any, y: Any) -> Any:
        slope = self.field(t, y)
        if is_recorded(slope):
            self.recorded = True
            return np.asarray(plain(slope))
        return slope


def _slope(field: Field, t: Any, y: Array) -> Array:
    return array_of(field(t, y))


def _step(method: Any, field: Field, t: Any, y: Array, h: Any, first: Any = None) -> Any:
    """One step of an explicit Runge-Kutta method: the new state and the slopes of its stages."""
    slopes = [_slope(field, t, y) if first is None else first]
    for row, c in zip(method.A[1:], method.C[1:], strict=True):
        parts = [float(w) * k for w, k in zip(row, slopes, strict=False) if w != 0]
        slopes.append(_slope(field, t + float(c) * h, y + h * sum(parts[1:], parts[0])))
    parts = [float(w) * k for w, k in zip(method.B, slopes, strict=True) if w != 0]
    return y + h * sum(parts[1:], parts[0]), slopes


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

    watched = _Watched(lambda s, y: func(*swapped(y, s), *values))
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
            y, _ = _step(original.DOP853, field, start + left * length, y, (right - left) * length)
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


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """SciPy's ``solve_ivp``, differentiable in `y0`, `args` and the closure of `fun`.

    With the explicit methods RK23, RK45 and DOP853; ``y`` of the result is recorded, its other
    entries are SciPy's.

    Raises
    ------
    NoDerivative
        For implicit methods, events, dense output and recorded times.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> def f(y0):
    ...     decay = lambda t, y: -y
    ...     return npgrad.scipy.integrate.solve_ivp(decay, (0.0, 1.0), y0, rtol=1e-8).y[0, -1]
    >>> npgrad.grad(f)(np.array([2.0])).round(6)
    array([0.367879])
    """
    given = () if args is None else args if isinstance(args, (tuple, list)) else (args,)
    values = plain(tuple(given))
    watched = _Watched(lambda t, y: fun(t, y, *values))
    if varies([t_span, t_eval]):
        raise refuse("integrate.solve_ivp", "with respect to times; odeint has one")
    t_span, t_eval = plain(t_span), plain(t_eval)
    state = plain(array_of(y0))
    with no_grad():
        steps = original.solve_ivp(
            watched, t_span, state, method, dense_output=dense_output, events=events,
            vectorized=vectorized, **options,
        )  # fmt: skip
        if is_recorded(y0) or is_recorded(given):
            watched.recorded = True
    if not watched.recorded:
        return original.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized,
            None if args is None else given, **options,
        )  # fmt: skip
    rule = EXPLICIT.get(method, method)
    if rule not in EXPLICIT.values():
        raise refuse("integrate.solve_ivp", f"with method={method!r}: use RK45, RK23 or DOP853")
    if dense_output:
        raise refuse("integrate.solve_ivp", "with dense_output: ask for its times in t_eval")
    if events is not None:
        raise refuse(
            "integrate.solve_ivp",
            "with events: find the time of the event on plain values, and differentiate it with "
            "npgrad.transforms.implicit.root",
        )
    if vectorized:
        raise refuse("integrate.solve_ivp", "with vectorized, which explicit methods do not need")

    def field(t: Any, y: Any) -> Any:
        return fun(t, y, *given)

    ends = steps.t
    wanted = ends if t_eval is None else np.asarray(t_eval)
    direction = 1 if ends[-1] >= ends[0] else -1
    y, first = array_of(y0), None
    found: list[Any] = [y for s in wanted if s == ends[0]] if t_eval is not None else [y]
    for left, right in itertools.pairwise(ends):
        h = float(right - left)
        after, slopes = _step(rule, field, float(left), y, h, first)
        first = _slope(field, float(right), after)
        if t_eval is None:
            found.append(after)
        else:
            inside = [s for s in wanted if 0 < (s - left) * direction <= (right - left) * direction]
            found += [
                after if s == right else _between(rule, field, left, y, [*slopes, first], h, s)
                for s in inside
            ]
        y = after
    steps.t, steps.y = wanted, np.stack(found, axis=-1)
    return steps


def _between(
    rule: Any, field: Field, left: Any, y: Array, slopes: list[Array], h: float, s: Any
) -> Array:
    """The state within a step: by SciPy's interpolant, or for DOP853 by a shorter step."""
    share = float((s - left) / h)
    if rule is original.DOP853:
        return _step(rule, field, float(left), y, share * h, slopes[0])[0]
    powers = share ** np.arange(1, rule.P.shape[1] + 1)
    weights = rule.P @ powers
    parts = [float(w) * k for w, k in zip(weights, slopes, strict=True) if w != 0]
    return y + h * sum(parts[1:], parts[0])


__all__ = ["odeint", "solve_ivp"]
