"""``scipy.integrate.quad``: QUADPACK chooses the intervals, Gauss and Legendre sum over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from ..errors import NoDerivative
from ..graph.array import GradArray
from ..graph.modes import no_grad
from ._closures import uses_recorded
from ._declare import as_imported, is_recorded, plain, refuse, varies
from ._kinks import at_most, kinks_of, steep

original: Any = as_imported(scipy.integrate)

KINKS = 15  # intervals looked at for kinks in one of QUADPACK's
INSIDE = 1 - 1e-9  # the ends themselves may be singular
LOBATTO = [
    (-INSIDE, 1 / 10), (-math.sqrt(3 / 7), 49 / 90), (0.0, 32 / 45), (math.sqrt(3 / 7), 49 / 90),
    (INSIDE, 1 / 10),
]  # fmt: skip
JUMP = 1e-5  # of the largest value: what is left of a change that is no continuous one
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

    Where the integrand jumps, the place counts: the integral changes as the place moves. A recorded
    place among `points` is differentiated too; a plain one counts as fixed. Over kinks it is
    differentiated at most three times; once in an infinite range, twice where no slope turns.

    Raises
    ------
    NoDerivative
        For a weight function or a complex integrand, for integrands so singular that QUADPACK
        extrapolates or that have an infinite slope inside of the range, and for one that jumps at a
        place that is not among `points`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda c: npgrad.scipy.integrate.quad(lambda x: np.exp(-c * x), 0, np.inf)[0]
    >>> round(float(npgrad.grad(f)(2.0)), 9)
    -0.25
    """
    args = args if isinstance(args, tuple) else (args,)
    if not callable(func) and varies([a, b, *args]):
        raise refuse("integrate.quad", "of a LowLevelCallable: pass the function it was made of")
    if points is not None and varies(points := list(points)):
        return _in_parts(
            func, a, b, points, args=args, full_output=full_output, epsabs=epsabs, epsrel=epsrel,
            limit=limit, weight=weight, complex_func=complex_func,
        )  # fmt: skip
    if varies([weight, wvar, wopts]):
        raise refuse("integrate.quad", "with respect to the parameters of a weight function")
    points, wvar, epsabs, epsrel = plain((points, wvar, epsabs, epsrel))
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
        if weight is None and not complex_func and low != high and uses_recorded(func):
            _refuse_hidden(number, low, high, found[2], points)
        return found if full_output else original.quad(func, a, b, args, **options)
    if weight is not None:
        raise refuse("integrate.quad", "with a weight function")
    if complex_func:
        raise refuse("integrate.quad", "with complex_func: integrate both parts")
    if low == high:
        total = _level(lambda x: func(x, *args), a, b)
        return (total, *found[1:]) if full_output else (total, found[1])
    info = found[2]
    lefts, rights = info["alist"][: info["last"]], info["blist"][: info["last"]]
    with no_grad():
        of_variable = _in_order(number, low, high)
        lefts, rights, kinks = _split_at_kinks(of_variable, lefts, rights, points or ())

    def integrand(x: Any) -> Any:
        return func(x, *args)

    finite = bool(np.isfinite(low) and np.isfinite(high))
    if kinks and finite:
        total = _between_kinks(integrand, a, b, low, high, lefts, rights, kinks)
    else:
        with no_grad():
            ends = _steep_ends(number, lefts, rights) if finite else (False, False)
        total = _sum(integrand, a, b, low, high, lefts, rights, ends)
        total = at_most(total, 1) if kinks else total
    error = abs(float(plain(total)) - found[0])
    allowed = max(epsabs, epsrel * abs(found[0]))
    if not error <= 10 * allowed:
        raise NoDerivative(
            "npgrad: npgrad.scipy.integrate.quad: the integrand is singular, QUADPACK extrapolated "
            f"over its steps (which differ from its result by {error:.1e}) and their derivative "
            "would be wrong. Substitute the singularity away, or pass it as a limit."
        )
    with no_grad():
        _refuse_jumps(of_variable, low, high, lefts, rights, points or ())
    return (total, *found[1:]) if full_output else (total, found[1])


def _refuse_hidden(number: Any, low: float, high: float, info: Any, points: Any) -> None:
    """Raise if a plain integrand jumps: a recorded value of its closure may decide where."""
    lefts, rights = info["alist"][: info["last"]], info["blist"][: info["last"]]
    with no_grad():
        _refuse_jumps(_in_order(number, low, high), low, high, lefts, rights, points or ())


def _steep_ends(f: Any, lefts: Any, rights: Any) -> tuple[bool, bool]:
    """Whether the slope is infinite at the lower and at the upper end of the range."""
    first, last = int(np.argmin(lefts)), int(np.argmax(rights))
    return (
        steep(f, lefts[first], 1e-8 * (rights[first] - lefts[first])),
        steep(f, rights[last], 1e-8 * (lefts[last] - rights[last])),
    )


def _between_kinks(
    f: Any, a: Any, b: Any, low: float, high: float, lefts: Any, rights: Any, kinks: list[float]
) -> Any:
    """The sum of the integrals from kink to kink, whose places are recorded."""
    if low > high:
        return -_between_kinks(f, b, a, high, low, lefts, rights, kinks)
    with no_grad():
        size = max(abs(float(plain(f(float(x))))) for x in 0.5 * (lefts + rights))
        found = kinks_of(f, kinks, high - low, size)
    places = [a, *(kink.place() for kink in found), b]
    ends = [low, *(kink.end for kink in found), high]
    total: Any = 0.0
    for i, (left, right) in enumerate(itertools.pairwise(ends)):
        inside = (lefts >= left) & (rights <= right)
        part = lefts[inside], rights[inside]
        total = total + _sum(f, places[i], places[i + 1], left, right, *part)
    # where the slopes agree, only the third derivative asks where the place is
    return total if found else at_most(total, 2)


def _sum(
    f: Any, a: Any, b: Any, low: float, high: float, lefts: Any, rights: Any,
    steep_ends: tuple[bool, bool] = (False, False),
) -> Any:  # fmt: skip
    """The integral over QUADPACK's intervals, halved; an infinite range is that of (1 - t) / t.

    Towards a steep end by x = u^4, so that a derivative with a singularity is summed right too.
    """
    if low > high:  # QUADPACK is given the limits in order
        return -_sum(f, b, a, high, low, lefts, rights, steep_ends)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    middles = 0.5 * (lefts + rights)
    starts, ends = np.concatenate((lefts, middles)), np.concatenate((middles, rights))
    half = 0.5 * (ends - starts)[:, None]
    points = 0.5 * (starts + ends)[:, None] + half * nodes
    factors = half * weights
    unit = 0.5 * (1 + nodes)
    if steep_ends[0]:
        i = int(np.argmin(starts))
        points[i] = starts[i] + (ends[i] - starts[i]) * unit**4
        factors[i] = (ends[i] - starts[i]) * 2 * unit**3 * weights
    if steep_ends[1]:
        i = int(np.argmax(ends))
        points[i] = ends[i] - (ends[i] - starts[i]) * unit**4
        factors[i] = (ends[i] - starts[i]) * 2 * unit**3 * weights
    points, factors = points.ravel(), factors.ravel()
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


def _level(f: Any, a: Any, b: Any) -> Any:
    """The integral between two limits that are equal: 0, but it changes as they part."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    total: Any = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        total = total + 0.5 * float(weight) * f(a + (b - a) * float(0.5 * (1 + node)))
    return total * (b - a)


def _in_parts(func: Any, a: Any, b: Any, points: list[Any], full_output: int, **more: Any) -> Any:
    """The integrals from place to place, whose limits are differentiated."""
    if full_output:
        raise refuse("integrate.quad", "with full_output and recorded points")
    low, high = sorted((float(plain(a)), float(plain(b))))
    inside = [point for point in points if low < float(plain(point)) < high]
    inside.sort(key=lambda point: float(plain(point)), reverse=float(plain(a)) > float(plain(b)))
    total: Any = 0.0
    error = 0.0
    for left, right in itertools.pairwise([a, *inside, b]):
        part = quad(func, left, right, **more)
        total, error = total + part[0], error + part[1]
    return total, error


def _in_order(number: Any, low: float, high: float) -> Any:
    """The integrand as a function of QUADPACK's variable, on (0, 1) for an infinite range."""
    if np.isfinite(low) and np.isfinite(high):
        return number

    def of_share(t: float) -> float:
        away = (1 - t) / t
        if np.isinf(low) and np.isinf(high):
            y = number(away) + number(-away)
        else:
            y = number(low + away if np.isinf(high) else high - away)
        return float(y) / t**2

    return of_share


def _split_at_kinks(f: Any, lefts: Any, rights: Any, points: Any) -> tuple[Any, Any, list[float]]:
    """QUADPACK's intervals, split where the integrand has a kink; and the kinks.

    It is right about the integral there to the tolerance asked for, but the derivative of the
    integrand jumps at the kink, and a sum across it would be wrong by the width of the interval.
    """
    ends: list[tuple[float, float]] = []
    kinks: list[float] = []
    size = max(_size(f, *pair) for pair in zip(lefts, rights, strict=True))
    for pair in zip(lefts, rights, strict=True):
        waiting = [pair]
        for _ in range(KINKS):
            if not waiting:
                break
            left, right = waiting.pop()
            kink = _kink(f, left, right, size)
            if kink is None:
                ends.append((left, right))
            else:
                waiting += [(left, kink), (kink, right)]
                kinks.append(kink)
        ends += waiting
        end = pair[1]  # which may be a kink too: QUADPACK halves, and a kink at .5 is an end
        fixed = any(abs(point - end) <= 1e-8 * (rights.max() - lefts.min()) for point in points)
        if end < rights.max() and not fixed:
            after = min(r - x for x, r in zip(lefts, rights, strict=True) if x == end)
            if _rough_at(f, end, min(end - pair[0], after), size):
                kinks.append(end)
    pairs = np.array(ends)
    return pairs[:, 0], pairs[:, 1], kinks


def _lobatto(f: Any, left: float, right: float) -> float:
    """By the rule of Lobatto with five points, which looks at the ends too (DLMF 3.5.40)."""
    half, middle = 0.5 * (right - left), 0.5 * (left + right)
    return half * sum(w * float(f(middle + half * x)) for x, w in LOBATTO)


def _roughness(f: Any, left: float, right: float) -> float:
    """How much halving the interval changes its sum; nothing if that is rounding."""
    middle = 0.5 * (left + right)
    one, two = _lobatto(f, left, middle), _lobatto(f, middle, right)
    change = abs(_lobatto(f, left, right) - one - two)
    return change if change > 16 * np.finfo(float).eps * (abs(one) + abs(two)) else 0.0


def _size(f: Any, left: float, right: float) -> float:
    """How large the integrand is in the interval."""
    half, middle = 0.5 * (right - left), 0.5 * (left + right)
    return max(abs(float(f(middle + half * x))) for x, _ in LOBATTO)


def _rough_at(f: Any, x: float, reach: float, size: float) -> bool:
    """Whether the integrand is not smooth at `x`, looked at so closely that a smooth one is flat.

    Around a place that is not the middle: halves that meet at a kink are exact.
    """
    start, stop = x - 1e-3 * reach, x + 0.6e-3 * reach
    middle = 0.5 * (start + stop)
    halves = _lobatto(f, start, middle) + _lobatto(f, middle, stop)
    change = abs(_lobatto(f, start, stop) - halves)
    return bool(change > 64 * np.finfo(float).eps * size * (stop - start))


def _kink(f: Any, left: float, right: float, size: float) -> float | None:
    """Where the integrand is rough in the interval; None if nowhere, or at an end."""
    start, stop = left, right
    whole: float | None = None
    while stop - start > 1e-11 * (right - left):
        middle = 0.5 * (start + stop)
        one, two = _roughness(f, start, middle), _roughness(f, middle, stop)
        # halves of a smooth interval are rough by 1/256 of it; those that meet at a kink are not.
        # Where a higher derivative jumps in the middle, the symmetric rule does not see it either.
        if whole is None or whole > 2000 * (one + two):
            for x in (middle, 0.5 * (start + middle), 0.5 * (middle + stop)):
                if _rough_at(f, x, stop - start, size):
                    return x
        if one == two == 0:
            if stop - start > 1e-5 * (right - left):
                return None  # smooth, once it is looked at closely
            break
        start, stop = (start, middle) if one > two else (middle, stop)
        whole = max(one, two)
    found = 0.5 * (start + stop)
    away = 1e-9 * (right - left)
    return found if left + away < found < right - away else None


def _refuse_jumps(f: Any, low: float, high: float, lefts: Any, rights: Any, points: Any) -> None:
    """Raise where the integrand jumps inside of the range, but at the places named by the caller.

    In each of QUADPACK's intervals, and at their ends, the pair of points between which the
    integrand changes most is halved, which leaves nothing of a change that is continuous.
    """
    nodes = np.polynomial.legendre.leggauss(POINTS)[0]
    first, last = lefts.min(), rights.max()
    size = 0.0
    for left, right in zip(lefts, rights, strict=True):
        half = 0.5 * (right - left)
        beside = 1e-6 * half  # past the end, where the next interval begins
        inner = [left - beside, *(left + half * (1 + nodes)), right + beside]
        where = [x for x in inner if first < x < last]
        values = [float(f(x)) for x in where]
        size = max(size, float(np.max(np.abs(values))))
        changes = np.abs(np.diff(values))
        k = int(np.argmax(changes))
        x0, x1, y0, y1 = where[k], where[k + 1], values[k], values[k + 1]
        while abs(y1 - y0) > JUMP * size and x0 < (middle := 0.5 * (x0 + x1)) < x1:
            y = float(f(middle))
            x0, x1, y0, y1 = (
                (x0, middle, y0, y) if abs(y - y0) > abs(y1 - y) else (middle, x1, y, y1)
            )
        near = any(abs(point - x0) <= 1e-8 * (last - first) for point in points)
        if abs(y1 - y0) > JUMP * size and not near:
            finite = np.isfinite(low) and np.isfinite(high)
            place = f" at {x0:.6g}" if finite else ""
            raise NoDerivative(
                f"npgrad: npgrad.scipy.integrate.quad: the integrand jumps{place}. If that place "
                "depends on what is differentiated, the integral changes with it, which no "
                "derivative of the integrand shows: name the place, recorded, in points=[...], or "
                "add the integrals on both sides of it. If it is fixed, name it in points=[...] "
                "as a number."
            )
