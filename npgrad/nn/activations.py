"""Elementwise operations: activations, and NumPy under another name.

relu, leaky_relu, sigmoid, silu (swish), gelu, gelu_erf, erf and softplus have kernels; clamp,
affine, recip, sqr, scale, cast and pick are NumPy's functions.

Kinks: the gradient of relu at 0 is 0, of leaky_relu the slope; clamp passes it at its bounds.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.kernels import activation_references as formulas
from npgrad.kernels import activations as kernels
from npgrad.kernels._zeros import zeros_kept
from npgrad.nn._declare import as_number, check_real, fused, here, operation, prepared
from npgrad.table import pointwise, reverse

__all__ = [
    "affine",
    "cast",
    "clamp",
    "erf",
    "gelu",
    "gelu_erf",
    "leaky_relu",
    "pick",
    "recip",
    "relu",
    "scale",
    "sigmoid",
    "silu",
    "softplus",
    "sqr",
    "swish",
]


@operation("relu")
def _relu(x: Any) -> Any:
    return kernels.relu(x)


@operation("leaky_relu")
def _leaky_relu(x: Any, slope: float) -> Any:
    return kernels.leaky_relu(x, slope)


@operation("sigmoid")
def _sigmoid(x: Any) -> Any:
    return kernels.sigmoid(x)


@operation("silu")
def _silu(x: Any) -> Any:
    return kernels.silu(x)


@operation("gelu")
def _gelu(x: Any) -> Any:
    return kernels.gelu(x)


@operation("erf")
def _erf(x: Any) -> Any:
    return kernels.erf(x)


@operation("gelu_erf")
def _gelu_erf(x: Any) -> Any:
    return kernels.gelu_erf(x)


@operation("normal_cdf")
def _normal_cdf(x: Any) -> Any:
    return kernels.normal_cdf(x)


@operation("softplus")
def _softplus(x: Any) -> Any:
    return kernels.softplus(x)


# -- backwards: kernels, and the formulas that hold for recorded arrays ----------------------------


def _silu_formula(g: Any, x: Any) -> Any:
    x = formulas.bounded(x, formulas.SILU_FAR)
    s = _sigmoid(x)
    return g * (s + x * s * (1 - s))


def _gelu_formula(g: Any, x: Any) -> Any:
    x = formulas.bounded(x, formulas.GELU_FAR)
    z = x * x
    s = _sigmoid(x * (formulas.GELU_A + formulas.GELU_B * z))
    return g * (s + x * s * (1 - s) * (formulas.GELU_A + 3 * formulas.GELU_B * z))


def _gelu_erf_formula(g: Any, x: Any) -> Any:
    x = formulas.bounded(x, formulas.GELU_ERF_FAR)
    return g * (_normal_cdf(x) + formulas.normal_cdf_grad_reference(x, x))


def _softplus_formula(g: Any, x: Any) -> Any:
    return g * _sigmoid(x)


def _asked_for(formula: Any) -> Any:
    """`formula` for recorded arrays, with cotangents of zero kept zero."""

    def run(g: Any, kept: Any) -> Any:
        return zeros_kept(g, formula(g, kept))

    run.__signature__ = inspect.signature(formula)  # type: ignore[attr-defined]
    return run


_relu_grad = fused(kernels.relu_grad, formulas.relu_grad_reference)
_leaky_relu_grad = fused(kernels.leaky_relu_grad, formulas.leaky_relu_grad_reference)
_sigmoid_grad = fused(kernels.sigmoid_grad, _asked_for(formulas.sigmoid_grad_reference))
_silu_grad = fused(kernels.silu_grad, _asked_for(_silu_formula))
_gelu_grad = fused(kernels.gelu_grad, _asked_for(_gelu_formula))
_erf_grad = fused(kernels.erf_grad, _asked_for(formulas.erf_grad_reference))
_gelu_erf_grad = fused(kernels.gelu_erf_grad, _asked_for(_gelu_erf_formula))
_softplus_grad = fused(kernels.softplus_grad, _asked_for(_softplus_formula))


def _decide(function: Any, rule: Any) -> None:
    """An elementwise rule is VJP and JVP at once, and takes cotangents with leading axes."""
    pointwise(reverse(function, rule, forward=rule, batched=True))


_decide(_relu, _relu_grad)
_decide(_leaky_relu, _leaky_relu_grad)
_decide(_sigmoid, _sigmoid_grad)
_decide(_silu, _silu_grad)
_decide(_gelu, _gelu_grad)
_decide(_erf, _erf_grad)
_decide(_normal_cdf, formulas.normal_cdf_grad_reference)
_decide(_gelu_erf, _gelu_erf_grad)
_decide(_softplus, _softplus_grad)


# -- public ----------------------------------------------------------------------------------------


def _applied(function: Any, x: Any, *parameters: Any, name: str = "") -> Any:
    """`function` of `x` in a floating dtype, back in float16 where it came from there."""
    check_real(name or function.__name__, x)
    (x,), dtype = prepared(x)
    y = function(x, *parameters)
    return y if dtype is None else y.astype(dtype)


def relu(x: Any) -> Any:
    """``max(x, 0)``; its gradient at 0 is 0.

    References
    ----------
    V. Nair, G. E. Hinton (2010), Rectified linear units improve restricted Boltzmann machines.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    return _applied(_relu, x)


def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    """``x`` where it is positive, ``slope * x`` elsewhere; its gradient at 0 is the slope.

    The slope is one number, a learned one too; ``np.where(x > 0, x, slope * x)`` takes an array.

    References
    ----------
    A. L. Maas, A. Y. Hannun, A. Y. Ng (2013), Rectifier nonlinearities improve neural network
    acoustic models.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.leaky_relu(np.array([-1.0, 2.0]), 0.1)
    array([-0.1,  2. ])
    """
    if type(slope) is GradArray and slope.shape == ():
        check_real("leaky_relu", x)
        (x,), dtype = prepared(x)
        y = np.where(here(x > 0), x, here(slope.astype(x.dtype) * x))
        return y if dtype is None else y.astype(dtype)
    return _applied(_leaky_relu, x, as_number(slope, "leaky_relu", "slope"))


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, without overflow and accurate in both tails.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.sigmoid(np.array([0.0, 1000.0]))
    array([0.5, 1. ])
    """
    return _applied(_sigmoid, x)


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, also called swish.

    References
    ----------
    S. Elfwing, E. Uchibe, K. Doya (2018), arXiv:1702.03118; as swish P. Ramachandran, B. Zoph,
    Q. V. Le (2017), arXiv:1710.05941.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.silu(np.array([0.0, 1000.0]))
    array([   0., 1000.])
    """
    return _applied(_silu, x)


def swish(x: Any) -> Any:
    """``x * sigmoid(x)``: `silu` by its other name.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.swish(np.array([0.0, 1000.0]))
    array([   0., 1000.])
    """
    return _applied(_silu, x, name="swish")


def gelu(x: Any) -> Any:
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``: the tanh form of gelu.

    References
    ----------
    D. Hendrycks, K. Gimpel (2016), Gaussian error linear units, arXiv:1606.08415, section 2.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.gelu(np.array([0.0, 1.0])).round(4)
    array([0.    , 0.8412])
    """
    return _applied(_gelu, x)


def gelu_erf(x: Any) -> Any:
    """``x * Phi(x)`` with the normal distribution function: the exact form of `gelu`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.gelu_erf(np.array([0.0, 1.0])).round(4)
    array([0.    , 0.8413])
    """
    return _applied(_gelu_erf, x)


def erf(x: Any) -> Any:
    """The error function ``2 / sqrt(pi) * integral from 0 to x of exp(-t**2)``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 7.2.1; its derivative is 7.10.1.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.erf(np.array([0.0, 1.0])).round(6)
    array([0.      , 0.842701])
    """
    return _applied(_erf, x)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, without overflow.

    References
    ----------
    C. Dugas et al. (2000), Incorporating second-order functional knowledge for better option
    pricing.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.softplus(np.array([0.0, 1000.0])).round(4)
    array([6.931e-01, 1.000e+03])
    """
    return _applied(_softplus, x)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """``np.clip(x, min, max)``; either bound may be missing, the gradient passes at both.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.clamp(np.array([-3.0, 0.5, 3.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    return np.clip(x, min, max)


def affine(x: Any, mul: Any, add: Any) -> Any:
    """``x * mul + add``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.affine(np.array([1.0, 2.0]), 3.0, 7.0)
    array([10., 13.])
    """
    return here(np.add(here(np.multiply(x, mul)), add))


def recip(x: Any) -> Any:
    """``1 / x``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.recip(np.array([1.0, 4.0]))
    array([1.  , 0.25])
    """
    return here(np.divide(1, x))


def sqr(x: Any) -> Any:
    """``x * x``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.sqr(np.array([-2.0, 3.0]))
    array([4., 9.])
    """
    return here(np.square(x))


def scale(x: Any, factor: Any) -> Any:
    """``x * factor``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.scale(np.array([1.0, 2.0]), 3.0)
    array([3., 6.])
    """
    return here(np.multiply(x, factor))


def cast(x: Any, dtype: Any) -> Any:
    """`x` in another dtype; its gradient comes back in the dtype of `x`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.cast(np.float32([1.0]), np.float64).dtype
    dtype('float64')
    """
    return x.astype(dtype) if hasattr(x, "astype") else np.asarray(x).astype(dtype)


def pick(mask: Any, a: Any, b: Any) -> Any:
    """``np.where(mask, a, b)``: either branch may be a number.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.pick(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    return np.where(mask, a, b)
