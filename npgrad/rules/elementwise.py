"""Ufuncs of one output that are smooth where they are defined.

Here live arithmetic, exponentials and logarithms, trigonometric and hyperbolic functions; powers
have a chapter of their own. Functions made of pieces (absolute, maximum, where, ...) are in
``piecewise``, those that are not holomorphic (conjugate, angle, ...) in ``complex``, ufuncs of
several outputs in ``multi_output``.

A rule is ``rule(g, ...) -> g times the partial derivative``; it is linear in ``g`` and serves as
VJP and as JVP. What it names it gets, and nothing else is kept until backward:

* ``g`` -- the cotangent or tangent, always first; ``y`` -- the output;
* ``x``, or ``x1``, ``x2`` -- the inputs of a ufunc; other functions have NumPy's own names;
* ``shape``, ``dtype`` -- of the argument that the rule differentiates.

No rule mentions broadcasting or conjugation: the graph sums the axes that broadcasting added, takes
the real part for a real input, and conjugates round a rule for complex outputs. Numbers in a rule
are Python's, so that float32 stays float32.

``risky=True`` stands where a partial derivative can be infinite or NaN at some argument: the graph
then keeps a zero cotangent zero, so that a branch masked away does not poison the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.conform import unbroadcast
from npgrad.graph.deferred import Deferred
from npgrad.graph.deferring import named
from npgrad.implementations import one_pass
from npgrad.primitives import primitive
from npgrad.table import elementwise, reverse, same

FEW = 4096  # elements below which a fresh buffer costs less than to use one again
LN2 = math.log(2.0)
LN10 = math.log(10.0)


def zero(g: Any) -> Any:
    """No change to first order, at any point."""
    return np.zeros_like(g)


def any_of(mask: Any) -> bool:
    """Whether a mask may hold anywhere: most often not, which saves a pass over large arrays.

    On a device the answer would be waited for: there it may.
    """
    return backend.on_device(mask) or bool(np.count_nonzero(mask))


def alike(first: Any, *others: Any) -> bool:
    """Whether all are large plain arrays of one shape and dtype: buffers are then used again."""
    return (
        type(first) is np.ndarray
        and first.size >= FEW
        and all(
            type(x) is np.ndarray and x.shape == first.shape and x.dtype == first.dtype
            for x in others
        )
    )


# ------------------------------------------------------------------------------------ arithmetic
elementwise(np.add, same, same, shows=("x1", "x2"), tame=True)
elementwise(np.subtract, same, lambda g: -g, shows=("x1", "x2"), tame=True)
elementwise(
    np.multiply,
    lambda g, x2: g * x2,
    lambda g, x1: g * x1,
    risky=True,
    in_place=((np.multiply, "x2"), (np.multiply, "x1")),
    shows=("x1", "x2"),
    tame=True,
)


def divisor(g: Any, x2: Any, y: Any, shape: Any) -> Any:
    """-g y / x2; where x2 was broadcast, a cotangent is summed first, in one pass if it can be."""
    if getattr(y, "size", 0) > FEW and shape != y.shape and len(shape) == y.ndim:
        batch = g.ndim - y.ndim
        if g.shape[batch:] == y.shape:  # a tangent has the shape of x2
            rows = shape == (*y.shape[:-1], 1) and not batch and y.dtype.kind == "f"
            if rows and type(g) is np.ndarray:
                return np.vecdot(g, y)[..., None] / -x2
            return unbroadcast(g * y, shape, batch) / -x2
    kernels = one_pass(g, y, x2) if getattr(y, "size", 0) > FEW else None
    return -g * y / x2 if kernels is None else kernels.divisor(g, y, x2)


def quotient(g: Any, out: Any, x2: Any, y: Any) -> Any:
    """Both cotangents of a quotient in one pass, if it can be done."""
    kernels = one_pass(g, y, x2, *out)
    return kernels is not None and kernels.quotient(g, y, x2, *out)


elementwise(
    np.divide,
    lambda g, x2: g / x2,
    divisor,
    risky=True,
    in_place=((np.divide, "x2"), None),
    both=quotient,
    shows=("x1",),  # an infinite divisor gives a finite 0
    tame=True,
)
elementwise(np.negative, lambda g: -g, shows=("x",), tame=True)
elementwise(np.positive, same, shows=("x",), tame=True)
# 2 * g takes longer where g is small
elementwise(np.square, lambda g, x: (g + g) * x, risky=True, shows=("x",), tame=True)
elementwise(np.reciprocal, lambda g, y: -g * y * y, risky=True)
elementwise(np.sqrt, lambda g, y: 0.5 * g / y, risky=True, shows=("x",))
elementwise(np.cbrt, lambda g, y: g / (3 * y * y), risky=True)


def remainder_divisor(g: Any, x1: Any, x2: Any) -> Any:
    """x1 % x2 = x1 - x2 * floor(x1 / x2), and the floor is locally constant."""
    return -g * np.floor_divide(x1, x2)


def fmod_divisor(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """The quotient is recovered from the exact remainder: x1 / x2 may round up to an integer."""
    return -g * np.rint((x1 - y) / x2)


def scale_by_power(g: Any, x2: Any) -> Any:
    """Multiplying by 2**x2 is linear; the exponent is an integer."""
    return np.ldexp(g, x2)


elementwise(np.remainder, same, remainder_divisor, risky=True)
elementwise(np.fmod, same, fmod_divisor, risky=True)
elementwise(np.ldexp, scale_by_power, None)
elementwise(np.nextafter, same, zero)  # one unit in the last place further on


# ------------------------------------------------------------------- exponentials and logarithms
elementwise(np.exp, lambda g, y: g * y, risky=True, in_place=((np.multiply, "y"),), tame=True)
elementwise(np.exp2, lambda g, y: LN2 * g * y, risky=True)
elementwise(np.expm1, lambda g, x: g * np.exp(x), risky=True)  # y + 1 is 0 from x = -37 down
elementwise(
    np.log, lambda g, x: g / x, risky=True, in_place=((np.divide, "x"),), shows=("x",), tame=True
)
elementwise(np.log2, lambda g, x: g / (LN2 * x), risky=True)
elementwise(np.log10, lambda g, x: g / (LN10 * x), risky=True)
elementwise(np.log1p, lambda g, x: g / (1 + x), risky=True, shows=("x",), tame=True)


def level(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both with as many axes: what lets a function of two arrays take batches of tangents."""
    missing = getattr(x2, "ndim", 0) - getattr(x1, "ndim", 0)
    if missing > 0:
        x1 = np.reshape(x1, (1,) * missing + np.shape(x1))
    elif missing < 0:
        x2 = np.reshape(x2, (1,) * -missing + np.shape(x2))
    return x1, x2


def share(x1: Any, x2: Any) -> Any:
    """The weight of x1 in logaddexp(x1, x2)."""
    return logistic_share(*level(x1, x2))


@primitive
def logistic_share(x1: Any, x2: Any) -> Any:
    """exp(x1) / (exp(x1) + exp(x2)); one half each at a tie.

    Written as exp(min(d, 0)) / (1 + exp(-|d|)) with d = x1 - x2: no overflow, and both tails are
    accurate. Two infinities of the same sign are a tie.
    """
    with np.errstate(invalid="ignore", under="ignore"):
        d = np.subtract(x1, x2)
        if any_of(np.isnan(d)):
            d = np.where(x1 == x2, 0, d)
        return np.exp(np.minimum(d, 0)) / (1 + np.exp(-np.abs(d)))


def share_change(g: Any, x1: Any, x2: Any) -> Any:
    """The logistic function's derivative p (1 - p), with 1 - p computed as the other share."""
    return g * share(x1, x2) * share(x2, x1)


def share_change_other(g: Any, x1: Any, x2: Any) -> Any:
    """What one gains the other loses."""
    return -share_change(g, x1, x2)


SHARE_RULES = {"x1": share_change, "x2": share_change_other}
reverse(logistic_share, SHARE_RULES, SHARE_RULES, batched=True)
elementwise(
    np.logaddexp,
    lambda g, x1, x2: g * share(x1, x2),
    lambda g, x1, x2: g * share(x2, x1),
    risky=True,
)
elementwise(
    np.logaddexp2,
    lambda g, x1, x2: g * share(LN2 * x1, LN2 * x2),
    lambda g, x1, x2: g * share(LN2 * x2, LN2 * x1),
    risky=True,
)


# --------------------------------------------------------------------------------- trigonometric
def sine_change(g: Any, x: Any) -> Any:
    """The product g cos(x), by a kernel for large float64, which NumPy takes to libm one by one."""
    if getattr(x, "size", 0) > FEW and x.dtype == np.float64:
        kernels = one_pass(g, x)
        made = None if kernels is None else kernels.times_cos(g, x)
        if made is not None:
            return made
    return g * np.cos(x)


def cosine_change(g: Any, x: Any) -> Any:
    """-g sin(x), likewise."""
    if getattr(x, "size", 0) > FEW and x.dtype == np.float64:
        kernels = one_pass(g, x)
        made = None if kernels is None else kernels.times_minus_sin(g, x)
        if made is not None:
            return made
    return -(np.sin(x) * g)


elementwise(np.sin, sine_change, risky=True, shows=("x",), tame=True)
elementwise(np.cos, cosine_change, risky=True, shows=("x",), tame=True)
elementwise(np.tan, lambda g, y: g * (1 + y * y), risky=True)
for name in ("deg2rad", "radians"):
    elementwise(getattr(np, name), lambda g: math.pi / 180 * g)
for name in ("rad2deg", "degrees"):
    elementwise(getattr(np, name), lambda g: 180 / math.pi * g)


# For complex numbers the derivative is written in the output where the input alone would leave the
# side of the branch cut open: arcsin' = 1 / cos(arcsin z) is right on both sides.
# For real ones (1 - x)(1 + x) does not cancel near 1, as 1 - x*x does.
def arcsin_change(g: Any, x: Any, y: Any, dtype: Any) -> Any:
    """1 / sqrt(1 - x^2), DLMF 4.24.7."""
    return g / (np.cos(y) if dtype.kind == "c" else np.sqrt((1 - x) * (1 + x)))


def arccos_change(g: Any, x: Any, y: Any, dtype: Any) -> Any:
    """-1 / sqrt(1 - x^2), DLMF 4.24.8."""
    return -g / (np.sin(y) if dtype.kind == "c" else np.sqrt((1 - x) * (1 + x)))


# Sums of squares between these neither lost digits to underflow nor overflowed.
SAFE = {np.dtype(f): (np.finfo(f).tiny / np.finfo(f).eps, np.finfo(f).max) for f in ("f4", "f8")}


def turning(x1: Any, x2: Any) -> Any:
    """x2 / (x1^2 + x2^2), the derivative of arctan2(x1, x2) by x1."""
    return angle_slope(*level(x1, x2))


@primitive
def angle_slope(x1: Any, x2: Any) -> Any:
    """x2 / (x1^2 + x2^2); 0 at the origin, where no direction is right.

    The squares are formed as they are unless one of the sums over- or underflows: hypot takes 14 ns
    an element, five times as long as all the rest.
    """
    with np.errstate(all="ignore"):
        square = np.add(x1 * x1, x2 * x2)
        small, large = SAFE.get(square.dtype, (1, 1))
        if (
            type(square) is np.ndarray
            and np.minimum.reduce(square, axis=None, initial=large) > small
            and np.maximum.reduce(square, axis=None, initial=small) < large
        ):
            return np.divide(x2, square, out=square)
        size = np.maximum(np.abs(x1), np.abs(x2))
        size = np.where(size == 0, 1, size)
        x1, x2 = x1 / size, x2 / size
        square = x1 * x1 + x2 * x2
        return x2 / np.where(square == 0, 1, square) / size


ANGLE_RULES = {
    "x1": lambda g, x1, x2: -2 * g * turning(x1, x2) * turning(x2, x1),
    "x2": lambda g, x1, x2: g * (np.square(turning(x2, x1)) - np.square(turning(x1, x2))),
}
reverse(angle_slope, ANGLE_RULES, ANGLE_RULES, batched=True)
elementwise(np.arcsin, arcsin_change, risky=True)
elementwise(np.arccos, arccos_change, risky=True)
elementwise(np.arctan, lambda g, x: g / (1 + x * x), risky=True)
elementwise(
    np.arctan2,
    lambda g, x1, x2: g * turning(x1, x2),
    lambda g, x1, x2: -g * turning(x2, x1),
    risky=True,
)


def hypot_size(y: Any) -> Any:
    """The divisor of x / hypot, changed at the kink so that the derivative there is 0."""
    kink = y == 0
    return np.where(kink, 1, y) if any_of(kink) else y


elementwise(
    np.hypot,
    lambda g, x1, y: g * x1 / hypot_size(y),
    lambda g, x2, y: g * x2 / hypot_size(y),
    risky=True,
)


# ------------------------------------------------------------------------------------ hyperbolic
@primitive
def tanh_change(t: Any, x: Any) -> Any:
    """The product t / cosh(x)^2, tanh's derivative: accurate in the tails, where 1 - tanh^2 is 0.

    Squaring the reciprocal, not the hyperbolic cosine, underflows slowly instead of overflowing.
    Sweeps run without floating-point warnings, so an overflow of cosh to inf gives its 0 quietly.
    One buffer serves all steps: fresh memory costs more than arithmetic.
    """
    if type(x) is Deferred:
        return t * named("squared_sech", squared_sech, x)
    slope = np.cosh(x)
    if type(slope) is not np.ndarray or slope.size < FEW:
        return t / slope / slope
    np.reciprocal(slope, out=slope)
    np.multiply(slope, slope, out=slope)
    return np.multiply(slope, t, out=slope) if alike(slope, t) else slope * t


def squared_sech(x: Any) -> Any:
    """1 / cosh(x)^2 as e (2 / (1 + e))^2 with e = exp(-2 |x|).

    A kernel of many operations is bound by arithmetic, and a division of a small number takes a
    slow way there: this one has a single division, of moderate numbers.
    """
    e = np.exp(-2.0 * np.abs(x))
    r = 2.0 / (1.0 + e)
    return e * r * r


TANH_RULES: dict[str, Callable[..., Any]] = {
    "t": lambda g, x: tanh_change(g, x),
    "x": lambda g, t, x: -2 * tanh_change(g * t, x) * np.tanh(x),
}
reverse(tanh_change, TANH_RULES, TANH_RULES, batched=True)


def arcsinh_change(g: Any, x: Any, y: Any, dtype: Any) -> Any:
    """1 / sqrt(1 + x^2), DLMF 4.38.4 (4.37); hypot does not overflow."""
    return g / (np.cosh(y) if dtype.kind == "c" else np.hypot(1, x))


def arccosh_change(g: Any, x: Any, y: Any, dtype: Any) -> Any:
    """1 / sqrt(x^2 - 1), DLMF 4.38.5; two roots, because the square would overflow."""
    return g / np.sinh(y) if dtype.kind == "c" else g / np.sqrt(x - 1) / np.sqrt(x + 1)


elementwise(np.sinh, lambda g, x: g * np.cosh(x), risky=True)
elementwise(np.cosh, lambda g, x: g * np.sinh(x), risky=True)


def tanh_rule(g: Any, x: Any) -> Any:
    """See `tanh_change`; a few plain numbers without its dispatch."""
    if type(x) is np.ndarray and type(g) is np.ndarray and x.size < FEW:
        slope = np.cosh(x)
        return g / slope / slope
    return tanh_change(*level(g, x))


elementwise(np.tanh, tanh_rule, risky=True, tame=True)
elementwise(np.arcsinh, arcsinh_change, risky=True)
elementwise(np.arccosh, arccosh_change, risky=True)
elementwise(np.arctanh, lambda g, x: g / ((1 - x) * (1 + x)), risky=True)
