"""``scipy.interpolate``: the cubic spline, its derivatives and integrals; the rest is SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate

from ._declare import array_of, as_imported, is_recorded, plain, refuse, theirs
from .linalg import solve_banded

original: Any = as_imported(scipy.interpolate)

Array = Any

__all__ = ["CubicSpline"]

# What SciPy's polynomials have and recorded ones have not: the way there
INSTEAD = dict.fromkeys(
    ("roots", "solve"),
    "find it with plain values, and npgrad.transforms.implicit.root differentiates it",
)


def __getattr__(name: str) -> Any:
    return theirs(scipy.interpolate, name)


class PiecewisePolynomial:
    """What SciPy calls a ``PPoly``: one polynomial for each interval between two knots.

    Parameters
    ----------
    x, c : array_like
        Knots and coefficients, the highest power first; `c` has the shape (powers, intervals, ...).
    theirs : scipy.interpolate.PPoly
        SciPy's with the plain values of these; it answers for whatever is plain.
    axis : int
        Of the values, where the points come in the result.
    """

    def __init__(self, x: Any, c: Any, theirs: Any, axis: int = 0) -> None:
        self.x, self.c, self.axis = x, c, axis
        self.extrapolate = theirs.extrapolate
        self._plain = theirs
        self._recorded = is_recorded([x, c])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._recorded:
            instead = INSTEAD.get(name)
            raise AttributeError(
                f"npgrad: npgrad.scipy.interpolate.{type(self).__name__} has no {name!r} where its "
                f"knots or values are recorded{f': {instead}' if instead else ''}."
            )
        return getattr(self._plain, name)

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The polynomials' `nu`-th derivative, an antiderivative for a negative one."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            c = c[:-1] * _powers(c, c.shape[0] - 1) if c.shape[0] > 1 else 0 * c
        return PiecewisePolynomial(self.x, c, self._plain.derivative(nu), self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The `nu`-th antiderivative, continuous and 0 at the first knot."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        h = np.reshape(np.diff(self.x), (-1,) + (1,) * (c.ndim - 2))
        for _ in range(nu):
            risen = c / _powers(c, c.shape[0])
            whole: Any = 0
            for part in risen:
                whole = (whole + part) * h
            start = np.concatenate((np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)[:-1]))
            c = np.concatenate((risen, start[None]))
        return PiecewisePolynomial(self.x, c, self._plain.antiderivative(nu), self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, differentiable in both."""
        if not (self._recorded or is_recorded([a, b])):
            return self._plain.integrate(a, b, extrapolate)
        wide = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        if not isinstance(wide, str):
            return whole(b, 0, bool(wide)) - whole(a, 0, bool(wide))
        turns = [np.floor(self._share(array_of(end))) for end in (b, a)]
        period = self.x[-1] - self.x[0]
        ends = [array_of(end) - n * period for end, n in zip((b, a), turns, strict=True)]
        parts = [whole(end, 0, True) for end in ends]
        return parts[0] - parts[1] + (turns[0] - turns[1]) * whole(self.x[-1], 0, True)

    def _share(self, points: Any) -> Any:
        """How many periods the plain value of `points` is behind the first knot."""
        knots = plain(self.x)
        return (plain(points) - knots[0]) / (knots[-1] - knots[0])

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The `nu`-th derivative at `x`."""
        if not (self._recorded or is_recorded(x)):
            return self._plain(x, nu, extrapolate)
        if nu < 0:
            raise ValueError("Order of derivative cannot be negative")
        wide = self.extrapolate if extrapolate is None else extrapolate
        x, knots = array_of(x), plain(self.x)
        if isinstance(wide, str):
            x = x - np.floor(self._share(x)) * (self.x[-1] - self.x[0])
        points = plain(x)
        at = np.clip(np.searchsorted(knots, points, side="right") - 1, 0, len(knots) - 2)
        distance = x - self.x[at]
        ones = (1,) * (self.c.ndim - 2)
        distance = np.reshape(distance, distance.shape + ones)
        total: Any = None
        top = self.c.shape[0] - 1
        for power in range(top, nu - 1, -1):
            part = math.perm(power, nu) * self.c[top - power][at]
            total = part if total is None else total * distance + part
        if total is None:
            total = 0 * self.c[top][at]
        if not wide:
            outside = (points < knots[0]) | (points > knots[-1])
            if np.any(outside):  # as a factor, or the gradient would be 0 there
                factor = np.where(outside, np.nan, 1).astype(total.real.dtype)
                total = total * np.reshape(factor, outside.shape + ones)
        if self.axis % (self.c.ndim - 1) == 0:
            return total
        places = tuple(range(points.ndim))
        goal = self.axis % (self.c.ndim - 1)
        return np.moveaxis(total, places, tuple(goal + i for i in places))


class CubicSpline(PiecewisePolynomial):
    """SciPy's ``CubicSpline``, differentiable in knots, values and the points it is asked at.

    Its derivatives, antiderivatives and integrals are too; roots are refused.

    Parameters
    ----------
    x, y, axis, bc_type, extrapolate
        SciPy's. For "periodic" the last value is the first one: the gradient is that of values
        that stay equal, each with what it contributes.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = np.arange(4.0)
    >>> f = lambda y: npgrad.scipy.interpolate.CubicSpline(x, y)(1.5)
    >>> npgrad.grad(f)(x ** 2) * 16
    array([-1.,  9.,  9., -1.])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        ends = bc_type[0:2] if isinstance(bc_type, (tuple, list)) else ()
        # SciPy checks its arguments
        theirs = original.CubicSpline(
            plain(x), plain(array_of(y)), axis, plain(bc_type), extrapolate
        )
        knots, c = theirs.x, theirs.c
        if is_recorded([x, y]) or is_recorded(list(ends)):
            knots = array_of(x)
            c = _coefficients(knots, np.moveaxis(array_of(y), axis, 0), bc_type)
        super().__init__(knots, c, theirs, axis)


def _powers(c: Array, top: int) -> Array:
    """`top`, ..., 2, 1 beside the coefficients `c`, in their precision."""
    return np.arange(top, 0, -1, dtype=c.real.dtype).reshape((-1,) + (1,) * (c.ndim - 1))


def _end(bc: Any) -> tuple[int, Any]:
    """A boundary condition as (order, value); order 0 stands for not-a-knot."""
    if isinstance(bc, str):
        found = {"not-a-knot": (0, 0.0), "clamped": (1, 0.0), "natural": (2, 0.0)}.get(bc)
        if found is None:
            raise refuse("interpolate.CubicSpline", f"with the boundary condition {bc!r}")
        return found
    return int(bc[0]), bc[1]


def _coefficients(x: Array, y: Array, bc_type: Any) -> Array:
    """SciPy's ``c``: a tridiagonal system for the slopes at the knots (de Boor 1978, IV)."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    ends = [(0, 0.0) if bc == "periodic" else _end(bc) for bc in pair]
    (first, v0), (last, v1) = ends
    n = x.shape[0]
    tail = y.shape[1:]
    y = np.reshape(y, (n, -1))
    flat = [np.reshape(np.broadcast_to(array_of(v), tail), (1, -1)) for v in (v0, v1)]
    h = np.diff(x)
    wide = h[:, None]
    slope = np.diff(y, axis=0) / wide
    if pair[0] == "periodic":
        return _hermite(_periodic(h, slope), slope, y, wide, tail)
    if n == 2:
        # not-a-knot with two knots is a straight line at that end, as in SciPy
        if first == 0:
            first, flat[0] = 1, slope[:1]
        if last == 0:
            last, flat[1] = 1, slope[-1:]
    if n == 3 and first == 0 and last == 0:
        # one parabola through three points: its slopes at the knots
        curve = (slope[1:] - slope[:1]) / (x[2] - x[0])
        s = np.concatenate(
            (slope[:1] - curve * h[0], slope[:1] + curve * h[0], slope[1:] + curve * h[1])
        )
        return _hermite(s, slope, y, wide, tail)
    inner = 3 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    d0, u0, b0 = _condition(first, flat[0], h, slope, x, False)
    d1, u1, b1 = _condition(last, flat[1], h[::-1], slope[::-1], x[::-1], True)
    one = np.zeros_like(h[:1])
    bands = np.stack(
        [
            np.concatenate((one, u0, h[:-1])),
            np.concatenate((d0, 2 * (h[:-1] + h[1:]), d1)),
            np.concatenate((h[1:], u1, one)),
        ]
    )
    s = solve_banded((1, 1), bands, np.concatenate((b0, inner, b1)))
    return _hermite(s, slope, y, wide, tail)


def _periodic(h: Array, slope: Array) -> Array:
    """The slopes at the knots of a closed curve: a tridiagonal system with two corners.

    The corners are a matrix of rank one, met by the formula of Sherman and Morrison.
    """
    count = h.shape[0]  # of knots, the last of which is the first one
    if count < 3:
        wide = h[:, None]
        same = np.sum(slope / wide, axis=0, keepdims=True) / np.sum(1 / h)
        return np.repeat(same if count == 2 else 0 * slope[:1], count + 1, axis=0)
    before, below = np.roll(h, 1), np.roll(slope, 1, axis=0)
    right = 3 * (h[:, None] * below + before[:, None] * slope)
    # row i: h[i] s[i-1] + 2 (h[i-1] + h[i]) s[i] + h[i-1] s[i+1] = right[i]
    diagonal = 2 * (before + h)
    corner, other, lead = h[0], before[-1], diagonal[0]
    last = np.arange(count) == count - 1
    first = np.arange(count) == 0
    bands = np.stack(
        [
            np.where(first, 0, np.roll(before, 1)),
            diagonal + np.where(first, lead, 0) + np.where(last, corner * other / lead, 0),
            np.where(last, 0, np.roll(h, -1)),
        ]
    )
    u = (np.where(first, -lead, 0) + np.where(last, other, 0))[:, None]
    solved = solve_banded((1, 1), bands, np.concatenate((right, u), axis=1))
    x, z = solved[:, :-1], solved[:, -1:]
    factor = -corner / lead  # of the last entry in the row of the corners; that of the first is 1
    share = (x[:1] + factor * x[-1:]) / (1 + z[:1] + factor * z[-1:])
    s = x - z * share
    return np.concatenate((s, s[:1]))


def _condition(
    order: int, value: Array, h: Array, slope: Array, x: Array, reversed_: bool
) -> tuple[Array, Array, Array]:
    """The first row of the system: its diagonal, the entry beside it, the right-hand side."""
    zero = np.zeros_like(h[:1])
    if order == 1:
        return zero + 1, zero, value + np.zeros_like(slope[:1])
    if order == 2:
        sign = 0.5 if reversed_ else -0.5
        right = sign * value * h[0] ** 2 + 3 * slope[:1] * h[0]
        return 2 * h[:1], h[:1], right
    span = np.abs(x[2] - x[0])
    right = ((h[0] + 2 * span) * h[1] * slope[:1] + h[0] ** 2 * slope[1:2]) / span
    return h[1:2], np.reshape(span, (1,)), right


def _hermite(s: Array, slope: Array, y: Array, wide: Array, tail: tuple[int, ...]) -> Array:
    """The powers of each interval from values and slopes at its ends."""
    t = (s[:-1] + s[1:] - 2 * slope) / wide
    c = np.stack([t / wide, (slope - s[:-1]) / wide - t, s[:-1], y[:-1]])
    return np.reshape(c, (4, c.shape[1], *tail))
