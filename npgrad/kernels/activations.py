"""Elementwise activations and their backwards, each one pass over memory.

Each backward is ``g`` times the derivative, from x or from y, whichever is cheaper. The references
hold for any array library that answers NumPy's functions; NumPy has no erf, so it stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels.vector_math import erf as _erf
from npgrad.kernels.vector_math import exp as _exp
from npgrad.kernels.vector_math import gelu_erf_slope as _gelu_erf_slope
from npgrad.kernels.vector_math import log1p as _log1p
from npgrad.kernels.vector_math import sigmoid as _sigmoid

__all__ = [
    "erf",
    "erf_grad",
    "gelu",
    "gelu_erf",
    "gelu_erf_grad",
    "gelu_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "references",
    "relu",
    "relu_grad",
    "sigmoid",
    "sigmoid_grad",
    "silu",
    "silu_grad",
    "softplus",
    "softplus_grad",
]

# gelu's tanh form: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) = x sigmoid(x (A + B x**2))
GELU_A = 2 * float(np.sqrt(2 / np.pi))
GELU_B = 0.044715 * GELU_A
ROOT_HALF = float(np.sqrt(0.5))
DENSITY = float(1 / np.sqrt(2 * np.pi))  # of the standard normal distribution, at 0
TWO_OVER_ROOT_PI = float(2 / np.sqrt(np.pi))

# erf(x) / x - 1 in x**2 up to 1, e**(x**2) erfc(x) in (x - 3) / (x + 3) from 1 to 6: vector_math
_NEAR = (
    5.960685338520971e-11, -1.137495573607015e-09, 1.466032872274226e-08, -1.6350396222864617e-07,
    1.64610084778027e-06, -1.4925595772180906e-05, 0.0001205533113295582, -0.0008548326981425542,
    0.005223977624828431, -0.026866170645077875, 0.11283791670954885, -0.3761263890318375,
    0.1283791670955126,
)  # fmt: skip
_FAR = (
    -3.085383170517642e-08, 1.235413062777433e-06, 2.0137711660860004e-06, -7.99472073448926e-06,
    -1.2842800707400694e-05, 6.406056854726033e-05, 4.525375131640308e-05, -0.000597062331417299,
    0.0007077465148787014, 0.004269136350438993, -0.024392499320726086, 0.07166583719760487,
    -0.15011593650075045, 0.24560380171233376, -0.32623356004303733, 0.17900115118138996,
)  # fmt: skip


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    """The polynomial, highest coefficient first."""
    total = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        total = total * x + c
    return total


# -- references ------------------------------------------------------------------------------------


def relu_reference(x: Array) -> Array:
    """``max(x, 0)``."""
    return np.maximum(x, 0)


def relu_grad_reference(g: Array, y: Array) -> Array:
    """Zero at 0."""
    return np.where(y <= 0, np.zeros_like(g), g)


def leaky_relu_reference(x: Array, slope: float) -> Array:
    """``x`` where positive, ``slope x`` elsewhere."""
    return np.where(x > 0, x, slope * x)


def leaky_relu_grad_reference(g: Array, x: Array, slope: float) -> Array:
    """The slope counts at 0 as well."""
    return np.where(x > 0, g, slope * g)


def sigmoid_reference(x: Array) -> Array:
    """``1 / (1 + exp(-x))`` without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, np.ones_like(e)) / (1 + e)


def sigmoid_grad_reference(g: Array, y: Array) -> Array:
    """``g y (1 - y)``."""
    return g * (y * (1 - y))


def silu_reference(x: Array) -> Array:
    """``x sigmoid(x)``."""
    return x * sigmoid_reference(x)


def silu_grad_reference(g: Array, x: Array) -> Array:
    """``g (s + x s (1 - s))``."""
    s = sigmoid_reference(x)
    return g * (s + x * s * (1 - s))


def gelu_reference(x: Array) -> Array:
    """The tanh form."""
    return x * sigmoid_reference(x * (GELU_A + GELU_B * x * x))


def gelu_grad_reference(g: Array, x: Array) -> Array:
    """Of the tanh form."""
    z = x * x
    s = sigmoid_reference(x * (GELU_A + GELU_B * z))
    return g * (s + x * s * (1 - s) * (GELU_A + 3 * GELU_B * z))


def erf_reference(x: Array) -> Array:
    """The error function, to 1.1 ulp of float64."""
    wide = x.astype(np.float64)
    a = np.abs(wide)
    near = np.minimum(a, 1)
    near = near + near * _horner(_NEAR, near * near)
    far = np.clip(a, 1, 6)
    far = 1 - np.exp(-far * far) * _horner(_FAR, (far - 3) / (far + 3))
    return np.copysign(np.where(a > 1, far, near), wide).astype(x.dtype)


def erf_grad_reference(g: Array, x: Array) -> Array:
    """``g 2 / sqrt(pi) exp(-x**2)``."""
    return g * (TWO_OVER_ROOT_PI * np.exp(-(x * x)))


def gelu_erf_reference(x: Array) -> Array:
    """``x Phi(x)``."""
    return 0.5 * x * (1 + erf_reference(x * ROOT_HALF))


def gelu_erf_grad_reference(g: Array, x: Array) -> Array:
    """``g (Phi(x) + x phi(x))``."""
    density = DENSITY * np.exp(-0.5 * x * x)
    return g * (0.5 * (1 + erf_reference(x * ROOT_HALF)) + x * density)


def softplus_reference(x: Array) -> Array:
    """``log(1 + exp(x))`` without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softplus_grad_reference(g: Array, x: Array) -> Array:
    """``g sigmoid(x)``."""
    return g * sigmoid_reference(x)


# -- kernels ---------------------------------------------------------------------------------------

# Each kernel cuts its range out first: an index that starts at 0 is never negative, as LLVM sees,
# and 1e6 float32 take 0.29 ms instead of the 0.50 ms of gathers and scatters.
_fast = njit(fastmath={"contract", "nsz"})


@_fast
def _relu(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    zero = x.dtype.type(0)
    for i in range(x.size):
        y[i] = zero if x[i] < zero else x[i]


@_fast
def _relu_grad(start, stop, g, y, out):  # type: ignore[no-untyped-def]
    g, y, out = g[start:stop], y[start:stop], out[start:stop]
    zero = y.dtype.type(0)
    for i in range(g.size):
        out[i] = zero if y[i] <= zero else g[i]


@_fast
def _leaky_relu(start, stop, slope, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    a = x.dtype.type(slope)
    zero = x.dtype.type(0)
    for i in range(x.size):
        v = x[i]
        y[i] = v if v > zero else a * v


@_fast
def _leaky_relu_grad(start, stop, slope, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    a = x.dtype.type(slope)
    zero = x.dtype.type(0)
    for i in range(g.size):
        v = g[i]
        out[i] = v if x[i] > zero else a * v


@_fast
def _sigmoid_forward(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _sigmoid(x[i])


@_fast
def _sigmoid_grad(start, stop, g, y, out):  # type: ignore[no-untyped-def]
    g, y, out = g[start:stop], y[start:stop], out[start:stop]
    one = y.dtype.type(1)
    for i in range(g.size):
        out[i] = g[i] * (y[i] * (one - y[i]))


@_fast
def _silu(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = x[i] * _sigmoid(x[i])


@_fast
def _silu_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    one = x.dtype.type(1)
    for i in range(g.size):
        v = x[i]
        s = _sigmoid(v)
        out[i] = g[i] * (s + v * s * (one - s))


@_fast
def _gelu(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    a = x.dtype.type(GELU_A)
    b = x.dtype.type(GELU_B)
    for i in range(x.size):
        v = x[i]
        y[i] = v * _sigmoid(v * (a + b * v * v))


@_fast
def _gelu_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    one = x.dtype.type(1)
    a = x.dtype.type(GELU_A)
    b = x.dtype.type(GELU_B)
    b3 = x.dtype.type(3 * GELU_B)
    for i in range(g.size):
        v = x[i]
        z = v * v
        s = _sigmoid(v * (a + b * z))
        out[i] = g[i] * (s + v * s * (one - s) * (a + b3 * z))


@_fast
def _erf_forward(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _erf(x[i])


@_fast
def _erf_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    scale = x.dtype.type(TWO_OVER_ROOT_PI)
    for i in range(g.size):
        out[i] = g[i] * (scale * _exp(-(x[i] * x[i])))


@_fast
def _gelu_erf(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    one = x.dtype.type(1)
    half = x.dtype.type(0.5)
    root = x.dtype.type(ROOT_HALF)
    for i in range(x.size):
        v = x[i]
        y[i] = half * v * (one + _erf(v * root))


@_fast
def _gelu_erf_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    for i in range(g.size):
        out[i] = g[i] * _gelu_erf_slope(x[i])


@_fast
def _softplus(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    zero = x.dtype.type(0)
    for i in range(x.size):
        v = x[i]
        y[i] = (zero if v < zero else v) + _log1p(_exp(-abs(v)))


@_fast
def _softplus_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    for i in range(g.size):
        out[i] = g[i] * _sigmoid(x[i])


# -- launchers -------------------------------------------------------------------------------------


def references() -> dict[str, tuple[Callable[..., Array], Callable[..., Array]]]:
    """Every launcher here by name, with its reference: for the tests."""
    space = globals()
    names = [name for name in __all__ if f"{name}_reference" in space]
    return {name: (space[name], space[f"{name}_reference"]) for name in names}


def _forward(kernel: Any, reference: Any, x: Array, cost: float, *parameters: float) -> Array:
    """One array in, one out."""
    if not usable(x):
        return reference(x, *parameters)
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty(x.shape, x.dtype)
    spread(kernel, flat.size, cost, *parameters, flat, out.reshape(-1))
    return out


def _backward(
    kernel: Any, reference: Any, g: Array, kept: Array, cost: float, *parameters: float
) -> Array:
    """The cotangent and what was kept in, a cotangent out."""
    if not usable(kept, g) or g.shape != kept.shape:
        return reference(g, kept, *parameters)
    flat = np.ascontiguousarray(kept).reshape(-1)
    out = np.empty(kept.shape, kept.dtype)
    given = np.ascontiguousarray(g).reshape(-1)
    spread(kernel, flat.size, cost, *parameters, given, flat, out.reshape(-1))
    return out


def relu(x: Array) -> Array:
    """``max(x, 0)``."""
    return _forward(_relu, relu_reference, x, 0.4)


def relu_grad(g: Array, y: Array) -> Array:
    """From the output."""
    return _backward(_relu_grad, relu_grad_reference, g, y, 0.5)


def leaky_relu(x: Array, slope: float) -> Array:
    """``x`` where positive, ``slope x`` elsewhere."""
    return _forward(_leaky_relu, leaky_relu_reference, x, 0.4, slope)


def leaky_relu_grad(g: Array, x: Array, slope: float) -> Array:
    """From the input."""
    return _backward(_leaky_relu_grad, leaky_relu_grad_reference, g, x, 0.5, slope)


def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``."""
    return _forward(_sigmoid_forward, sigmoid_reference, x, 0.7)


def sigmoid_grad(g: Array, y: Array) -> Array:
    """From the output."""
    return _backward(_sigmoid_grad, sigmoid_grad_reference, g, y, 0.5)


def silu(x: Array) -> Array:
    """``x sigmoid(x)``."""
    return _forward(_silu, silu_reference, x, 0.7)


def silu_grad(g: Array, x: Array) -> Array:
    """From the input."""
    return _backward(_silu_grad, silu_grad_reference, g, x, 0.9)


def gelu(x: Array) -> Array:
    """``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``."""
    return _forward(_gelu, gelu_reference, x, 0.8)


def gelu_grad(g: Array, x: Array) -> Array:
    """From the input."""
    return _backward(_gelu_grad, gelu_grad_reference, g, x, 1.0)


def erf(x: Array) -> Array:
    """The error function."""
    return _forward(_erf_forward, erf_reference, x, 1.0)


def erf_grad(g: Array, x: Array) -> Array:
    """From the input."""
    return _backward(_erf_grad, erf_grad_reference, g, x, 0.8)


def gelu_erf(x: Array) -> Array:
    """``x Phi(x)``, with the error function."""
    return _forward(_gelu_erf, gelu_erf_reference, x, 1.0)


def gelu_erf_grad(g: Array, x: Array) -> Array:
    """From the input."""
    return _backward(_gelu_erf_grad, gelu_erf_grad_reference, g, x, 1.5)


def softplus(x: Array) -> Array:
    """``log(1 + exp(x))``."""
    return _forward(_softplus, softplus_reference, x, 1.2)


def softplus_grad(g: Array, x: Array) -> Array:
    """From the input."""
    return _backward(_softplus_grad, softplus_grad_reference, g, x, 0.7)
