"""Elementwise activations and their backwards, each one pass over memory.

Each backward is ``g`` times the derivative, from x or from y, whichever is cheaper. The references
stand in ``activation_references.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, usable
from npgrad.kernels._compile import njit, wide
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import times, zeros_kept
from npgrad.kernels.activation_references import (
    GELU_A,
    GELU_B,
    GELU_FAR,
    SILU_FAR,
    TWO_OVER_ROOT_PI,
    erf_grad_reference,
    erf_reference,
    gelu_erf_grad_reference,
    gelu_erf_reference,
    gelu_grad_reference,
    gelu_reference,
    leaky_relu_grad_reference,
    leaky_relu_reference,
    normal_cdf_reference,
    relu_grad_reference,
    relu_reference,
    sigmoid_grad_reference,
    sigmoid_reference,
    silu_grad_reference,
    silu_reference,
    softplus_grad_reference,
    softplus_reference,
)
from npgrad.kernels.vector_math import erf as _erf
from npgrad.kernels.vector_math import exp_negative as _exp
from npgrad.kernels.vector_math import log1p as _log1p
from npgrad.kernels.vector_math import sigmoid as _sigmoid
from npgrad.kernels.vector_normal import gelu_erf as _gelu_erf_value
from npgrad.kernels.vector_normal import gelu_erf_slope as _gelu_erf_slope
from npgrad.kernels.vector_normal import normal_cdf as _normal_cdf_value

__all__ = [
    "erf",
    "erf_grad",
    "gelu",
    "gelu_erf",
    "gelu_erf_grad",
    "gelu_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "normal_cdf",
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

# -- kernels ---------------------------------------------------------------------------------------

# Each kernel cuts its range out first: an index that starts at 0 is never negative, as LLVM sees,
# and 1e6 float32 take 0.29 ms instead of the 0.50 ms of gathers and scatters.
_fast = njit(fastmath={"contract", "nsz"})


@njit(forceinline=True)
def _bounded(v, far):  # type: ignore[no-untyped-def]
    """See `bounded` among the references; NaN stays."""
    v = far if v > far else v
    return -far if v < -far else v


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
    wide()
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _sigmoid(x[i])


@_fast
def _sigmoid_grad(start, stop, g, y, out):  # type: ignore[no-untyped-def]
    g, y, out = g[start:stop], y[start:stop], out[start:stop]
    one = y.dtype.type(1)
    for i in range(g.size):
        out[i] = times(g[i], y[i] * (one - y[i]))


@_fast
def _silu(start, stop, x, y):  # type: ignore[no-untyped-def]
    wide()
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = x[i] * _sigmoid(x[i])


@_fast
def _silu_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    wide()
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    one = x.dtype.type(1)
    far = x.dtype.type(SILU_FAR)
    for i in range(g.size):
        v = _bounded(x[i], far)
        s = _sigmoid(v)
        out[i] = times(g[i], s + v * s * (one - s))


@_fast
def _gelu(start, stop, x, y):  # type: ignore[no-untyped-def]
    wide()
    x, y = x[start:stop], y[start:stop]
    a = x.dtype.type(GELU_A)
    b = x.dtype.type(GELU_B)
    for i in range(x.size):
        v = x[i]
        y[i] = v * _sigmoid(v * (a + b * v * v))


@_fast
def _gelu_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    wide()
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    one = x.dtype.type(1)
    far = x.dtype.type(GELU_FAR)
    a = x.dtype.type(GELU_A)
    b = x.dtype.type(GELU_B)
    b3 = x.dtype.type(3 * GELU_B)
    for i in range(g.size):
        v = _bounded(x[i], far)
        z = v * v
        s = _sigmoid(v * (a + b * z))
        out[i] = times(g[i], s + v * s * (one - s) * (a + b3 * z))


@_fast
def _erf_forward(start, stop, x, y):  # type: ignore[no-untyped-def]
    wide()
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _erf(x[i])


@_fast
def _erf_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    wide()
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    scale = x.dtype.type(TWO_OVER_ROOT_PI)
    for i in range(g.size):
        out[i] = times(g[i], scale * _exp(-(x[i] * x[i])))


@_fast
def _normal_cdf(start, stop, x, y):  # type: ignore[no-untyped-def]
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _normal_cdf_value(x[i])


@_fast
def _gelu_erf(start, stop, x, y):  # type: ignore[no-untyped-def]
    wide()
    x, y = x[start:stop], y[start:stop]
    for i in range(x.size):
        y[i] = _gelu_erf_value(x[i])


@_fast
def _gelu_erf_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    wide()
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    for i in range(g.size):
        out[i] = times(g[i], _gelu_erf_slope(x[i]))


@_fast
def _softplus(start, stop, x, y):  # type: ignore[no-untyped-def]
    wide()
    x, y = x[start:stop], y[start:stop]
    zero = x.dtype.type(0)
    for i in range(x.size):
        v = x[i]
        y[i] = (zero if v < zero else v) + _log1p(_exp(-abs(v)))


@_fast
def _softplus_grad(start, stop, g, x, out):  # type: ignore[no-untyped-def]
    wide()
    g, x, out = g[start:stop], x[start:stop], out[start:stop]
    for i in range(g.size):
        out[i] = times(g[i], _sigmoid(x[i]))


# -- launchers -------------------------------------------------------------------------------------


def references() -> dict[str, tuple[Callable[..., Array], Callable[..., Array]]]:
    """Every launcher here by name, with its reference: for the tests."""
    space = globals()
    names = [name for name in __all__ if f"{name}_reference" in space]
    return {name: (space[name], space[f"{name}_reference"]) for name in names}


def _axes(x: Array) -> tuple[int, ...]:
    """The axes of `x` by which it is contiguous when transposed; as they are where none are."""
    plain = tuple(range(x.ndim))
    if x.flags.c_contiguous:
        return plain
    axes = tuple(sorted(plain, key=lambda k: -x.strides[k]))
    return axes if x.transpose(axes).flags.c_contiguous else plain


def _line(x: Array, axes: tuple[int, ...]) -> Array:
    """`x` as one line in the order of `axes`: a view where that can be had."""
    return np.ascontiguousarray(x.transpose(axes)).reshape(-1)


def _like(x: Array, axes: tuple[int, ...]) -> Array:
    """Room for a result that lies as `x` does, as those of NumPy's ufuncs do."""
    return empty(x.shape, x.dtype) if axes == tuple(range(x.ndim)) else np.empty_like(x)


def _forward(kernel: Any, reference: Any, x: Array, cost: float, *parameters: float) -> Array:
    """One array in, one out."""
    if not usable(x):
        return reference(x, *parameters)
    axes = _axes(x)
    out = _like(x, axes)
    spread(kernel, x.size, cost, *parameters, _line(x, axes), _line(out, axes))
    return out


BOUNDED = (relu_grad_reference, leaky_relu_grad_reference)  # slopes are finite at NaN as well


def _backward(
    kernel: Any, reference: Any, g: Array, kept: Array, cost: float, *parameters: float
) -> Array:
    """The cotangent and what was kept in, a cotangent out."""
    if not usable(kept, g) or g.shape != kept.shape:
        made = reference(g, kept, *parameters)
        return made if reference in BOUNDED else zeros_kept(g, made)
    axes = _axes(kept)
    out = _like(kept, axes)
    lines = _line(g, axes), _line(kept, axes), _line(out, axes)
    spread(kernel, kept.size, cost, *parameters, *lines)
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


def normal_cdf(x: Array) -> Array:
    """The normal distribution function Phi."""
    return _forward(_normal_cdf, normal_cdf_reference, x, 1.0)


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
