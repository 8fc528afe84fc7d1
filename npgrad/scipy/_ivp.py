"""``scipy.integrate.solve_ivp``: SciPy chooses the steps, and they are taken again, recorded.

Explicit methods are taken as they are. For Radau, BDF and LSODA each of their steps is one of Radau
IIA, the method of SciPy's Radau: the values agree to the tolerance asked for. The times of events
are roots of the recorded curve between two steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from ..errors import NoDerivative
from ..graph.modes import no_grad
from ..transforms.forward import jvp
from ._declare import array_of, as_imported, is_recorded, plain, refuse, varies
from ._steps import (
    EXPLICIT,
    IMPLICIT,
    Watched,
    corrected,
    explicit_curve,
    explicit_step,
    implicit_step,
    slope_of,
)

original: Any = as_imported(scipy.integrate)

Array = Any
HALVINGS = 8  # of an implicit step whose curve is not SciPy's to the tolerance


class Piece:
    """The solution in one step: from `start` to `end`, plain or recorded, along `curve`."""

    def __init__(self, start: Any, end: Any, curve: Callable[[Any], Array]) -> None:
        self.start, self.end, self.curve = start, end, curve
        self.span = float(plain(start)), float(plain(end))

    def at(self, t: Any) -> Array:
        """The states at an array of times, as columns."""
        length = self.end - self.start
        share = (t - self.start) / length if self.span[0] != self.span[1] else 0.0 * t
        return self.curve(share)


class Solution:
    """SciPy's ``OdeSolution`` of recorded pieces: called with times, recorded ones too."""

    def __init__(self, ends: Any, pieces: list[Piece], side: str) -> None:
        self.ts, self.interpolants = ends, pieces
        self.n_segments = len(pieces)
        plain_ends = np.asarray(plain(ends))
        self.ascending = bool(plain_ends[-1] >= plain_ends[0])
        self.t_min, self.t_max = min(plain_ends), max(plain_ends)
        self._sorted = plain_ends if self.ascending else plain_ends[::-1]
        self._side: Any = side if self.ascending else ("left" if side == "right" else "right")

    def __call__(self, t: Any) -> Array:
        t = array_of(t)
        flat = np.reshape(t, (-1,))
        where = np.searchsorted(self._sorted, plain(flat), side=self._side) - 1
        where = np.clip(where, 0, self.n_segments - 1)
        if not self.ascending:
            where = self.n_segments - 1 - where
        columns, first = [], 0
        for k, run in itertools.groupby(where):
            after = first + len(list(run))
            columns.append(self.interpolants[k].at(flat[first:after]))
            first = after
        if not columns:
            return self.interpolants[0].at(flat)
        return columns[0][:, 0] if t.ndim == 0 else np.concatenate(columns, axis=1)


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
    """SciPy's ``solve_ivp``, differentiable in `y0`, `args`, all times and what `fun` uses.

    Which steps to take, and which events happen, is SciPy's choice on plain values and counts as
    constant. ``y``, ``sol``, ``t_events`` and ``y_events`` of the result are recorded, ``t`` where
    it depends on something recorded (a terminal event ends it); ``nfev`` and the like are SciPy's.
    The methods RK23, RK45 and DOP853 are differentiated to any order; Radau, BDF and LSODA, and
    the times of events, at most three times. Their Jacobian is npgrad's; `jac` serves SciPy.

    Raises
    ------
    NoDerivative
        For a method that is none of SciPy's, for implicit methods of complex states, and where a
        function of an event touches zero without crossing it.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> def f(y0):
    ...     decay = lambda t, y: -y
    ...     return npgrad.scipy.integrate.solve_ivp(decay, (0.0, 1.0), y0, rtol=1e-8).y[0, -1]
    >>> npgrad.grad(f)(np.array([2.0])).round(6)
    array([0.367879])

    When does a thrown ball land? After 2 v / g.

    >>> def landing(v):
    ...     lands = lambda t, y: y[0]
    ...     lands.terminal, lands.direction = True, -1
    ...     fall = lambda t, y: np.stack([y[1], -9.81 + 0 * y[1]])
    ...     start = np.stack([0.0 * v, v])
    ...     return npgrad.scipy.integrate.solve_ivp(fall, (0.0, 9.0), start, events=lands).t[-1]
    >>> round(float(npgrad.grad(landing)(3.0) * 9.81), 9)
    2.0
    """
    try:
        given = () if args is None else tuple(args)
    except TypeError as error:
        raise TypeError(
            "Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. "
            f"`args=({args},)`)"
        ) from error
    listed = [] if events is None else [events] if callable(events) else list(events)
    values = plain(given)
    watched = Watched(lambda t, y: fun(t, y, *values))
    seen = [Watched(lambda t, y, e=e: e(t, y, *values), e) for e in listed]
    steps = _taken(watched, seen, t_span, y0, method, vectorized, values, options)
    known = is_recorded([y0, t_span, t_eval]) or is_recorded(given)
    if not (known or watched.recorded or any(event.recorded for event in seen)):
        return original.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
    rule = getattr(original, method) if isinstance(method, str) else method
    explicit = issubclass(rule, EXPLICIT) and isinstance(rule.P, np.ndarray)
    explicit = explicit or rule is original.DOP853
    if not explicit and not issubclass(rule, IMPLICIT):
        raise refuse(
            "integrate.solve_ivp", f"with method={rule.__name__}, which is none of SciPy's"
        )
    wanted = None if t_eval is None else _checked(array_of(t_eval), plain(t_span))

    def field(t: Any, y: Any) -> Any:
        if not vectorized:
            return fun(t, y, *given)
        return np.reshape(array_of(fun(t, y[:, None], *given)), (-1,))

    state = array_of(y0)
    state = state if state.dtype.kind in "fc" else state.astype(float)
    if not explicit and state.dtype.kind == "c":
        raise refuse("integrate.solve_ivp", f"of complex states with {rule.__name__}: use RK45")
    times = _ends(steps, t_span, wanted if not explicit else None)
    if explicit:
        states, pieces = _explicit(rule, field, times, state)
        kept = list(range(len(times)))
    else:
        curves = steps.sol if dense_output or listed else None
        near = (options.get("rtol", 1e-3), options.get("atol", 1e-6))
        state = state.astype(float)
        states, pieces, kept = _implicit(field, times, state, steps.sol, curves, plain(near))
        times = [piece.start for piece in pieces] + times[-1:]
    side = "right" if rule in (original.BDF, original.LSODA) else "left"
    if listed:
        times, states = _with_events(steps, listed, times, states, pieces, given)
        kept = [*(k for k in kept if k < len(times) - 1), len(times) - 1]
    steps.sol = Solution(_joined(times), pieces, side) if dense_output else None
    if wanted is None:
        steps.t = _joined([times[i] for i in kept])
        steps.y = np.stack([states[i] for i in kept], axis=1)
    else:
        steps.t, steps.y = _at_times(wanted, times, states, pieces)
    return steps


def _taken(
    watched: Watched, events: list[Watched], t_span: Any, y0: Any, method: Any, vectorized: bool,
    values: Any, options: dict[str, Any],
) -> Any:  # fmt: skip
    """SciPy's solution on plain values, with its curve."""
    options = {key: value if callable(value) else plain(value) for key, value in options.items()}
    jac = options.get("jac")
    if callable(jac):
        options["jac"] = lambda t, y: plain(jac(t, y, *values))
    with no_grad():
        return original.solve_ivp(
            watched, plain(t_span), plain(array_of(y0)), method, dense_output=True,
            events=events or None, vectorized=vectorized, **options,
        )  # fmt: skip


def _checked(t_eval: Array, t_span: Any) -> Array:
    """`t_eval`, if SciPy would take it."""
    times, (t0, tf) = plain(t_eval), map(float, t_span)
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    if np.any(times < min(t0, tf)) or np.any(times > max(t0, tf)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    steps = np.diff(times)
    if (tf > t0 and np.any(steps <= 0)) or (tf < t0 and np.any(steps >= 0)):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval


def _ends(steps: Any, t_span: Any, wanted: Any) -> list[Any]:
    """The ends of the steps, recorded where `t_span` is: as shares of it.

    The times that are `wanted` of an implicit method are ends too.
    """
    curves = steps.sol.interpolants
    ends = np.array([curve.t_old for curve in curves[:1]] + [curve.t for curve in curves])
    if not curves:
        ends = np.asarray(steps.t[:1], dtype=float)
    if wanted is not None:
        inside = plain(wanted)
        inside = inside[(inside > min(ends)) & (inside < max(ends))]
        backward = len(ends) > 1 and ends[-1] < ends[0]
        ends = np.unique(np.concatenate((ends, inside)))
        ends = ends[::-1] if backward else ends
    if not varies(t_span):
        return [float(end) for end in ends]
    t0, tf = (array_of(end) for end in t_span)
    low, high = float(plain(t0)), float(plain(tf))
    shares = (ends - low) / (high - low) if high != low else np.linspace(0, 1, len(ends))
    return [t0 + float(share) * (tf - t0) for share in shares]


def _explicit(rule: Any, field: Any, times: list[Any], y: Array) -> tuple[list[Array], list[Piece]]:
    """The states at the ends of the steps, and the pieces between them."""
    states, pieces, first = [y], [], None
    for left, right in itertools.pairwise(times):
        h = right - left
        after, slopes = explicit_step(rule, field, left, y, h, first)
        first = slope_of(field, right, after)
        known = (rule, field, left, y, h, after, [*slopes, first])
        pieces.append(Piece(left, right, Lazily(explicit_curve, *known)))
        states.append(after)
        y = after
    return states, pieces


class Lazily:
    """A curve that is made when it is first asked for: most are never."""

    def __init__(self, make: Any, *known: Any) -> None:
        self.make, self.known = make, known
        self.made: Any = None

    def __call__(self, share: Any) -> Array:
        if self.made is None:
            self.made = self.make(*self.known)
        return self.made(share)


def _implicit(
    field: Any, times: list[Any], y: Array, near: Any, curves: Any, tolerances: Any
) -> tuple[list[Array], list[Piece], list[int]]:
    """The same, and which ends are SciPy's.

    Where the curve matters a step is halved until it is SciPy's to the tolerance.
    """
    states, pieces, kept = [y], [], [0]
    for left, right in itertools.pairwise(times):
        waiting = [(left, right, 0)]
        while waiting:
            start, end, depth = waiting.pop()
            after, curve = implicit_step(field, start, y, end - start, near)
            piece = Piece(start, end, curve)
            if curves is not None and depth < HALVINGS and _apart(piece, curves, tolerances):
                middle = start + 0.5 * (end - start)
                waiting += [(middle, end, depth + 1), (start, middle, depth + 1)]
                continue
            pieces.append(piece)
            y = after
            states.append(y)
        kept.append(len(pieces))
    return states, pieces, kept


def _apart(piece: Piece, curves: Any, tolerances: Any) -> bool:
    """Whether a piece leaves SciPy's curve between its ends by more than the tolerance."""
    at = np.linspace(*piece.span, 5)
    theirs = curves(at)
    off = plain(piece.at(at)) - theirs
    straight = off[:, :1] + np.linspace(0, 1, 5) * (off[:, -1:] - off[:, :1])
    rtol, atol = (np.reshape(value, (-1, 1)) for value in tolerances)
    return bool(np.any(np.abs(off - straight) > atol + rtol * np.abs(theirs)))


# ------------------------------------------------------------------------------------ the result
def _with_events(
    steps: Any, events: list[Any], times: list[Any], states: list[Array], pieces: list[Piece],
    given: Any,
) -> tuple[list[Any], list[Array]]:  # fmt: skip
    """The events of the result recorded; the times and states, which a terminal event ends."""
    happened = [
        [_when(event, _piece_at(pieces, te), te, given) for te in found]
        for event, found in zip(events, steps.t_events, strict=True)
    ]
    steps.t_events = [_joined([te for te, _ in found]) for found in happened]
    steps.y_events = [
        np.stack([y for _, y in found]) if found else theirs
        for found, theirs in zip(happened, steps.y_events, strict=True)
    ]
    if steps.status != 1:
        return times, states
    begin = float(plain(times[0]))
    te, y = max(itertools.chain(*happened), key=lambda found: abs(float(plain(found[0])) - begin))
    reached = pieces.index(_piece_at(pieces, float(plain(te)))) + 1
    del pieces[reached:]  # halves of the last step, after the event
    return [*times[:reached], te], [*states[:reached], y]


def _at_times(
    wanted: Any, times: list[Any], states: list[Array], pieces: list[Piece]
) -> tuple[Any, Array]:
    """The states at the times asked for, up to the last of `times`."""
    plain_times, moving = plain(wanted), varies(wanted) or varies(times)
    sign = -1 if pieces and pieces[-1].span[1] < pieces[0].span[0] else 1
    reach = [sign * piece.span[1] for piece in pieces[:-1]] + [sign * float(plain(times[-1]))]
    stops = np.searchsorted(sign * plain_times, reach, side="right")
    columns, count = [], 0
    for k, (piece, stop) in enumerate(zip(pieces, stops, strict=False)):
        part, count = slice(count, int(stop)), int(stop)
        here = plain_times[part]
        known = dict(zip(piece.span, states[k : k + 2], strict=True))
        if k == len(pieces) - 1 and float(plain(times[-1])) != piece.span[1]:
            del known[piece.span[1]]  # a terminal event is before the end of the step
        if moving or not any(t in known for t in here):
            columns += [piece.at(wanted[part])] if len(here) else []
            continue
        between = [t not in known for t in here]
        curve: Any = piece.at(here[between]) if any(between) else None
        places = np.cumsum(between) - 1
        for i, t in enumerate(here):
            columns.append(known[t][:, None] if t in known else curve[:, places[i] : places[i] + 1])
    if not columns:
        return plain_times[:0], np.zeros((states[0].shape[0], 0))
    return wanted[:count], np.concatenate(columns, axis=1)


def _joined(times: list[Any]) -> Array:
    """An array of times, recorded if one of them is."""
    return array_of(times) if is_recorded(times) else np.asarray(times, dtype=float)


def _piece_at(pieces: list[Piece], t: float) -> Piece:
    """The first piece that reaches `t`."""
    backward = pieces[-1].span[1] < pieces[0].span[0]
    reached = [p for p in pieces if (p.span[1] <= t if backward else p.span[1] >= t)]
    return reached[0] if reached else pieces[-1]


def _when(event: Any, piece: Piece, te: float, given: Any) -> tuple[Any, Array]:
    """The time of an event and the state then, by the implicit function theorem on the curve."""

    def value(t: Any) -> Any:
        at = np.reshape(array_of(t), (1,))
        found = array_of(event(at[0], piece.at(at)[:, 0], *given))
        return np.reshape(found, ())

    slope = float(plain(jvp(value, (float(te),), (1.0,))[1]))
    if slope == 0:
        raise NoDerivative(
            f"npgrad: npgrad.scipy.integrate.solve_ivp: the function of an event touches zero at "
            f"t = {te:.6g} without crossing it: that time has no derivative."
        )
    root = float(te)
    for _ in range(3):  # the root of this curve, which is SciPy's to the tolerance
        root -= float(plain(value(root))) / slope
    t = corrected(value, root, lambda left: left / slope)
    return t, piece.at(np.reshape(array_of(t), (1,)))[:, 0]


__all__ = ["solve_ivp"]
