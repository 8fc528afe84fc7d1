"""One step of a solver of differential equations on recorded values, and the curve within it.

An explicit Runge-Kutta step is arithmetic on calls of the right-hand side. An implicit one is the
solution of equations: it is found on plain values, and then corrected by Newton steps that are
recorded, with the matrix of the plain solution. The first correction changes nothing but gives the
derivative (the implicit function theorem), each further one is right to one order more
(Christianson 1994, Optimization Methods and Software 3, 311); `limited` refuses the order after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from ..errors import NoDerivative
from ..table import reverse
from ..transforms.jacobian import jacobian
from ._declare import array_of, as_imported, is_recorded, operation, plain

original: Any = as_imported(scipy.integrate)

Array = Any
Field = Callable[[Any, Any], Any]
Curve = Callable[[Any], Array]

ORDERS = 3  # of differentiation through an implicit equation: corrections that are recorded
NAME = "solve_ivp with events or an implicit method (explicit ones have no limit)"
ROUNDS = 20  # of Newton's method on plain values


class Watched:
    """A function of the user's on plain values, noticing recorded ones from its closure."""

    def __init__(self, function: Callable[..., Any], of: Any = None) -> None:
        self.function = function
        self.recorded = False
        for name in ("terminal", "direction"):  # of an event
            if hasattr(of, name):
                setattr(self, name, getattr(of, name))

    def __call__(self, t: Any, y: Any) -> Any:
        found = self.function(t, y)
        if is_recorded(found):
            self.recorded = True
            return np.asarray(plain(found))
        return found


def slope_of(field: Field, t: Any, y: Array) -> Array:
    """The right-hand side, in the shape of the state."""
    slope = array_of(field(t, y))
    return slope if slope.shape == y.shape else np.broadcast_to(slope, y.shape)


def weighted(weights: Any, slopes: list[Array]) -> Array:
    """The sum of the slopes by plain weights, those of weight 0 left out."""
    parts = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w != 0]
    return sum(parts[1:], parts[0])


# ------------------------------------------------------------------------------------- explicit
def explicit_step(
    method: Any, field: Field, t: Any, y: Array, h: Any, first: Any = None
) -> tuple[Array, list[Array]]:
    """The new state and the slopes of the stages, of which `first` may be known."""
    slopes = [slope_of(field, t, y) if first is None else first]
    for row, c in zip(method.A[1:], method.C[1:], strict=True):
        slopes.append(slope_of(field, t + float(c) * h, y + h * weighted(row, slopes)))
    return y + h * weighted(method.B, slopes), slopes


def explicit_curve(
    method: Any, field: Field, t: Any, y: Array, h: Any, after: Array, slopes: list[Array]
) -> Curve:
    """SciPy's interpolant at shares of the step; `slopes` ends with that at the end of it."""
    if not hasattr(method, "A_EXTRA"):
        powers = [h * weighted(column, slopes) for column in method.P.T]
        return polynomial(y, powers)
    slopes = list(slopes)
    for row, c in zip(method.A_EXTRA, method.C_EXTRA, strict=True):
        slopes.append(slope_of(field, t + float(c) * h, y + h * weighted(row, slopes)))
    change, start, end = after - y, h * slopes[0], h * slopes[method.n_stages]
    parts = [change, start - change, 2 * change - end - start]
    parts += [h * weighted(row, slopes) for row in method.D]

    def curve(share: Any) -> Array:
        total: Any = 0
        share = _beside(share, y)
        for i, part in enumerate(reversed(parts)):
            total = (total + part[:, None]) * (share if i % 2 == 0 else 1 - share)
        return y[:, None] + total

    return curve


def _beside(share: Any, y: Array) -> Any:
    """Shares in the precision of the state: float32 stays float32."""
    return share.astype(y.real.dtype)


def polynomial(y: Array, powers: list[Array]) -> Curve:
    """y + powers[0] x + powers[1] x^2 + ... at an array of x, the states as columns."""

    def curve(share: Any) -> Array:
        total: Any = 0
        share = _beside(share, y)
        for part in reversed(powers):
            total = (total + part[:, None]) * share
        return y[:, None] + total

    return curve


# ------------------------------------------------------------------------------------- implicit
# Radau IIA with three stages, order 5 (Hairer and Wanner 1996, IV.5): collocation at these points
NODES = np.array([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
POWERS = NODES[:, None] ** np.arange(4)
WEIGHTS = POWERS[:, 1:] / np.arange(1, 4) @ np.linalg.inv(POWERS[:, :3])
TO_POWERS = np.linalg.inv(POWERS[:, 1:])


def implicit_step(
    field: Field, t: Any, y: Array, h: Any, guess: Callable[[Array], Array]
) -> tuple[Array, Curve]:
    """The new state and the curve of collocation; ``guess(times)`` gives states to begin with."""
    n = y.shape[0]

    def residual_of(t: Any, y: Array, h: Any) -> Callable[[Array], Array]:
        def residual(z: Array) -> Array:
            stages = np.reshape(z, (3, n))
            slopes = [slope_of(field, t + float(c) * h, y + stages[i]) for i, c in enumerate(NODES)]
            return z - np.reshape(h * (WEIGHTS @ np.stack(slopes)), (3 * n,))

        return residual

    start, state, length = float(plain(t)), plain(y), float(plain(h))
    z = (guess(start + NODES * length) - state[:, None]).T.reshape(-1)
    z, inverse = solved(residual_of(start, state, length), z, start)
    z = corrected(residual_of(t, y, h), z, lambda left: inverse @ left)
    stages = np.reshape(z, (3, n))
    return y + stages[2], polynomial(y, list(TO_POWERS @ stages))


def solved(residual: Callable[[Array], Array], z: Array, t: float) -> tuple[Array, Array]:
    """A root on plain values by Newton's method, and the inverse of the matrix there."""
    last, inverse = np.inf, None
    for count in range(ROUNDS):
        if count % 5 == 0:
            inverse = np.linalg.inv(plain(jacobian(residual)(z)))
        change = inverse @ plain(residual(z))
        size = float(np.max(np.abs(change), initial=0.0))
        z = z - change
        if count and not size < 0.25 * last:  # what is left is rounding, or no convergence
            break
        last = size
    if not last <= 1e-8 * (1e-300 + float(np.max(np.abs(z), initial=0.0))):
        raise NoDerivative(
            f"npgrad: npgrad.scipy.integrate.solve_ivp: the equations of an implicit step at "
            f"t = {t:.6g} were not solved. Smaller steps (rtol, atol, max_step) may help."
        )
    return z, inverse


def corrected(
    residual: Callable[[Any], Any], z: Any, divide: Callable[[Any], Any], name: str = NAME
) -> Any:
    """A plain root `z`, corrected so that it is differentiated as a function of what is recorded.

    ``divide`` divides by the plain derivative of the residual there.
    """
    for count in range(ORDERS):
        z = z - divide(residual(z))
        if count == 0:
            z = limited(z, 0, ORDERS, name)
    return z


@operation("scipy.integrate.limited")
def limited(z: Array, order: int, orders: int, name: str) -> Array:
    """`z` and its derivatives by itself, which are counted."""
    if order == 0:
        return z
    return np.ones_like(z) if order == 1 else np.zeros_like(z)


def _limited_change(g: Array, z: Array, order: int, orders: int, name: str) -> Array:
    if order == orders:
        raise NoDerivative(
            f"npgrad: npgrad.scipy.integrate: {name} is differentiated at most {orders} times."
        )
    return g * limited(z, order + 1, orders, name)


reverse(limited, {"z": _limited_change}, {"z": _limited_change})

EXPLICIT = original.RK45.__mro__[1]  # what SciPy derives RK23, RK45 and DOP853 from
IMPLICIT = (original.Radau, original.BDF, original.LSODA)
