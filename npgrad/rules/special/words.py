"""How the chapters of ``special`` declare a rule, and helpers that several of them share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.primitives import primitive
from npgrad.table import elementwise, flat, refused, reverse

Slope = Callable[..., Any]
Slopes = Callable[..., tuple[Any, ...]]
RULED_OUT = "its derivative has no closed form"


def ufunc(name: str) -> Any:
    """The ufunc ``scipy.special.<name>``, or a private one; None in a SciPy that lacks it."""
    found = getattr(sp, name, None)
    if not isinstance(found, np.ufunc):
        found = getattr(getattr(sp, "_ufuncs", None), name, None)
    return found if isinstance(found, np.ufunc) else None


def smooth(
    name: str,
    *rules: Slope | None,
    forward: tuple[Slope | None, ...] | None = None,
    holomorphic: bool = True,
) -> None:
    """Decide a ufunc of one output; `rules` as for `npgrad.table.elementwise`."""
    fun = ufunc(name)
    if fun is not None:
        elementwise(fun, *rules, forward=forward, holomorphic=holomorphic, risky=True)


def _named(function: Callable[..., Any], slopes: Slopes) -> Callable[..., Any]:
    """`function` with the parameters of `slopes` after ``g``."""
    parameters = inspect.signature(slopes).parameters.values()
    g = inspect.Parameter("g", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    function.__signature__ = inspect.Signature([g, *parameters])  # type: ignore[attr-defined]
    return function


def _cotangent(slopes: Slopes) -> Callable[..., Any]:
    """The VJP: sum over the outputs of cotangent times slope."""

    def rule(g: tuple[Any, ...], *named: Any) -> Any:
        total = None
        for part, slope in zip(g, slopes(*named), strict=True):
            if part is not None:
                total = part * slope if total is None else total + part * slope
        return total

    return _named(rule, slopes)


def _tangent(slopes: Slopes) -> Callable[..., Any]:
    """The JVP: the tangent times each output's slope."""

    def rule(g: Any, *named: Any) -> tuple[Any, ...]:
        return tuple(g * slope for slope in slopes(*named))

    return _named(rule, slopes)


def several(name: str, signature: str, **slopes: Slopes) -> None:
    """Decide a ufunc of several outputs.

    `signature` names its inputs; ``slopes[input](...)`` gives the derivatives of all outputs, and
    asks for inputs and for ``y``, the outputs, by name.
    """
    fun = ufunc(name)
    if fun is not None:
        reverse(
            fun,
            {key: _cotangent(slope) for key, slope in slopes.items()},
            {key: _tangent(slope) for key, slope in slopes.items()},
            signature=signature,
            ignores=tuple(signature.split(", ")),  # what no slope names acts through the outputs
        ).name = f"scipy.special.{name}"


def at_end(rule: Slope, name: str, place: float, slope: float) -> Slope:
    """`rule`, with this slope where the input `name` is at an end of the domain, `place`.

    There the formula is inf - inf or 0 / 0, of which the limit is known.
    """
    return _with(rule, name, lambda x: x == place, slope)


def at_rest(rule: Slope, *names: str) -> Slope:
    """`rule`, with slope 0 where an input is infinite: the value has a limit there."""
    for name in names:
        rule = _with(rule, name, np.isinf, 0.0)
    return rule


def _with(rule: Slope, name: str, which: Callable[[Any], Any], slope: float) -> Slope:
    """`rule`, that is not asked about `which` of an input, where the slope is given."""
    signature = inspect.signature(rule)
    place = list(signature.parameters).index(name)

    def changed(g: Any, *named: Any) -> Any:
        there = which(named[place - 1])
        if not np.any(there):
            return rule(g, *named)
        named = (*named[: place - 1], np.where(there, 0.5, named[place - 1]), *named[place:])
        return np.where(there, g * slope if slope else 0, rule(g, *named))

    changed.__signature__ = signature  # type: ignore[attr-defined]
    return changed


def refuse(names: str, reason: str) -> None:
    """Refuse ufuncs that have no usable derivative in any argument."""
    for name in names.split():
        fun = ufunc(name)
        if fun is not None:
            refused(fun, reason)


def steps(name: str, reason: str) -> None:
    """Decide a piecewise constant ufunc."""
    fun = ufunc(name)
    if fun is not None:
        flat(fun, reason)


def polynomial(x: Any, coefficients: list[float]) -> Any:
    """c[0] + c[1] x + c[2] x^2 + ... by Horner's rule."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def select(near: Any, close: Callable[[Any], Any], far: Callable[[Any], Any], x: Any) -> Any:
    """``close(x)`` where `near` holds and ``far(x)`` elsewhere, each kept off the other's points.

    Where it does not apply, ``close`` sees 0 and ``far`` sees 1.
    """
    return np.where(near, close(np.where(near, x, 0)), far(np.where(near, 1, x)))


@primitive
def exponential_moment(t: Any, n: int) -> Any:
    """The integral of s^n exp(t s) for s from 0 to 1: entire in t; n = 0 is ``exprel``.

    Integration by parts gives t M_n = exp(t) - n M_(n-1), which is stable for |t| > n; below, the
    power series sum of t^k / (k! (k+n+1)).
    """
    t = t if hasattr(t, "dtype") else np.asarray(t)
    wide = t.astype(np.result_type(t.dtype, np.float64))
    near = np.abs(wide) < n + 1
    away = np.where(near, 1, wide)
    far = np.expm1(away) / away
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, n + 1):
            far = (np.exp(away) - k * far) / away
    series = [1 / (math.factorial(k) * (k + n + 1)) for k in range(3 * n + 28)]
    return np.where(near, polynomial(np.where(near, wide, 0), series), far).astype(t.dtype)


def exponential_moment_change(g: Any, t: Any, n: int) -> Any:
    """Differentiation under the integral sign."""
    return g * exponential_moment(t, n + 1)


reverse(exponential_moment, exponential_moment_change, exponential_moment_change, batched=True)
