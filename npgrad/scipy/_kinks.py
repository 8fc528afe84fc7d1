"""Kinks of an integrand: where they are, and how they move.

The integral over a kink is right to its first derivative if the kink is an end of the intervals.
Further derivatives need the place as a function of what is recorded: it is the root of the
difference between what the two sides extrapolate to.
"""

from __future__ import annotations

from typing import Any

from ..errors import NoDerivative
from ._declare import plain
from ._steps import ORDERS, corrected, limited

BESIDE = 1e-6  # of the range: how far from a kink its sides are looked at
FAR = 30  # times as far, where a slope that grows without bound is smaller
FLAT = 1e-6  # of the size of the slopes: a turn that is none
# distance, and the weights of three values for a parabola's value and slope at distance 0
PARABOLA = ((1, 3.0, 5.0), (2, -3.0, -8.0), (3, 1.0, 3.0))
NAME = "quad of an integrand with a kink"


class Kink:
    """A place where the slope turns.

    Parameters
    ----------
    f : callable
        The integrand.
    end : float
        About where, an end of the intervals.
    length : float
        Of the whole range.
    size : float
        Of the values in it.
    """

    def __init__(self, f: Any, end: float, length: float, size: float) -> None:
        self.f, self.end, self.step = f, end, BESIDE * length
        self.root = end
        self.turn = 0.0
        for _ in range(3):
            turn = self._turn(self.root)
            if not abs(turn) > FLAT * size / length:
                return
            self.root -= float(plain(self._gap(self.root))) / turn
        if abs(self.root - end) < 3 * self.step:
            self.turn = self._turn(self.root)

    def _gap(self, x: Any) -> Any:
        """What the sides extrapolate to, the left one less the right one."""
        total: Any = 0.0
        for distance, weight, _ in PARABOLA:
            away = distance * self.step
            total = total + weight * (self.f(x - away) - self.f(x + away))
        return total

    def _slope(self, x: float, side: int) -> float:
        """The slope on one side."""
        values = [w * float(plain(self.f(x + side * d * self.step))) for d, _, w in PARABOLA]
        return -side * sum(values) / (2 * self.step)

    def _turn(self, x: float) -> float:
        return self._slope(x, -1) - self._slope(x, 1)

    def refuse_steep(self) -> None:
        """Raise if the slope is infinite here: a sum over its derivative would be wrong."""
        for side in (-1, 1):
            if steep(lambda x: plain(self.f(x)), self.root, side * self.step):
                raise NoDerivative(
                    "npgrad: npgrad.scipy.integrate.quad: the slope of the integrand is infinite "
                    f"at {self.root:.6g}, and the derivative of a sum over it would be wrong. Name "
                    "that place, recorded, in points=[...]: the integrals on both sides are then "
                    "differentiated."
                )

    def place(self) -> Any:
        """Where it is, recorded."""
        return corrected(self._gap, self.root, lambda left: left / self.turn, NAME)


def kinks_of(f: Any, ends: list[float], length: float, size: float) -> list[Kink]:
    """The kinks at some of the ends, each once; about others rounding was taken for one."""
    found: list[Kink] = []
    for end in sorted(ends):
        kink = Kink(f, end, length, size)
        if kink.turn == 0:
            continue
        same = found and abs(found[-1].root - kink.root) < kink.step
        if not same:
            kink.refuse_steep()
            found.append(kink)
        elif abs(kink.root - end) < abs(found[-1].root - found[-1].end):
            found[-1] = kink
    return found


def at_most(total: Any, times: int) -> Any:
    """`total`, which can be differentiated `times` times."""
    return limited(total, 0, times, NAME) if times < ORDERS else total


def steep(f: Any, end: float, step: float) -> bool:
    """Whether the slope grows without bound towards `end`; `step` leads away from it."""
    near = abs(float(f(end + 2 * step)) - float(f(end + step)))
    far = abs(float(f(end + 2 * FAR * step)) - float(f(end + FAR * step))) / FAR
    return near > 3 * far
