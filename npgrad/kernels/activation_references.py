"""Elementwise activations and their backwards in NumPy's words: the specification of the kernels.

They hold for any array library that answers NumPy's functions, and for recorded arrays, which are
differentiated again. NumPy has no erf, so it stands here.
"""

from __future__ import annotations

import numpy as np

from npgrad.kernels._arrays import Array

__all__ = [
    "DENSITY",
    "GELU_A",
    "GELU_B",
    "TWO_OVER_ROOT_PI",
    "erf_grad_reference",
    "erf_reference",
    "gelu_erf_grad_reference",
    "gelu_erf_reference",
    "gelu_grad_reference",
    "gelu_reference",
    "leaky_relu_grad_reference",
    "leaky_relu_reference",
    "normal_cdf_grad_reference",
    "normal_cdf_reference",
    "relu_grad_reference",
    "relu_reference",
    "sigmoid_grad_reference",
    "sigmoid_reference",
    "silu_grad_reference",
    "silu_reference",
    "softplus_grad_reference",
    "softplus_reference",
]

# gelu's tanh form: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) = x sigmoid(x (A + B x**2))
GELU_A = 2 * float(np.sqrt(2 / np.pi))
GELU_B = 0.044715 * GELU_A
ROOT_TWO = float(np.sqrt(2))
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
# e**(a**2 / 2) Phi(-a) (1 + sqrt(2) a) in (a - 6) / (a + 6) up to 40
_TAIL = (
    2.4717005803231345e-10, 2.9600083396489008e-09, 3.79502599908667e-09, -2.536067841154232e-08,
    -2.705219684567335e-08, 1.9977834599842152e-07, -2.496410594031447e-08, -1.4624390488700694e-06,
    2.818329582583495e-06, 6.043277185662129e-06, -3.95410017297197e-05, 6.194513338260266e-05,
    0.0001638581598217783, -0.0013036569234067751, 0.004571429507773791, -0.011399844515240065,
    0.022398208683184116, -0.03581897714352668, 0.04647063914636897, -0.04636447320660514,
    0.02774168962788739, 0.012465016640197472, -0.06921426268054653, 0.6144500235976215,
)  # fmt: skip


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    """The polynomial, highest coefficient first."""
    total = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        total = total * x + c
    return total


# Beyond these the slopes are 0 and 1 in float64, and a factor that overflows must not meet the 0.
GELU_FAR, SILU_FAR, GELU_ERF_FAR = 30.0, 800.0, 40.0


def bounded(x: Array, far: float) -> Array:
    """`x` between -far and far; by ufuncs that devices have."""
    return np.minimum(np.maximum(x, -far), far)


def relu_reference(x: Array) -> Array:
    """``max(x, 0)``."""
    return np.maximum(x, 0)


def relu_grad_reference(g: Array, y: Array) -> Array:
    """Zero at 0."""
    return np.where(y <= 0, np.zeros_like(g), g)


def leaky_relu_reference(x: Array, slope: float) -> Array:
    """``x`` where positive, ``slope x`` elsewhere."""
    y = np.where(x > 0, x, slope * x)
    return y if np.ndim(x) else y[()]  # a number, as from NumPy's ufuncs


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
    x = bounded(x, SILU_FAR)
    s = sigmoid_reference(x)
    return g * (s + x * s * (1 - s))


def gelu_reference(x: Array) -> Array:
    """The tanh form."""
    return x * sigmoid_reference(x * (GELU_A + GELU_B * x * x))


def gelu_grad_reference(g: Array, x: Array) -> Array:
    """Of the tanh form."""
    x = bounded(x, GELU_FAR)
    z = x * x
    s = sigmoid_reference(x * (GELU_A + GELU_B * z))
    return g * (s + x * s * (1 - s) * (GELU_A + 3 * GELU_B * z))


def erf_reference(x: Array) -> Array:
    """The error function, to 1.1 ulp of float64."""
    x = x if hasattr(x, "dtype") else np.float64(x)
    wide = x.astype(np.float64)
    a = np.abs(wide)
    near = np.minimum(a, 1)
    near = near + near * _horner(_NEAR, near * near)
    far = np.clip(a, 1, 6)
    far = 1 - np.exp(-far * far) * _horner(_FAR, (far - 3) / (far + 3))
    return np.copysign(np.where(a > 1, far, near), wide).astype(x.dtype.newbyteorder("="))


def erf_grad_reference(g: Array, x: Array) -> Array:
    """``g 2 / sqrt(pi) exp(-x**2)``."""
    return g * (TWO_OVER_ROOT_PI * np.exp(-(x * x)))


def normal_cdf_reference(x: Array) -> Array:
    """Phi(x), in its lower tail to the last digits as well: see ``vector_normal.py``."""
    x = x if hasattr(x, "dtype") else np.float64(x)
    wide = x.astype(np.float64)
    a = np.minimum(np.abs(wide), 40)
    near = a.astype(np.float32).astype(np.float64)  # its square is exact
    rest = 0.5 * (a - near) * (a + near)
    e = np.exp(-0.5 * near * near)
    e = e - e * (rest * (1 - rest * (0.5 - rest / 6)))
    tail = e * _horner(_TAIL, (a - 6) / (a + 6)) / (1 + ROOT_TWO * a)
    return np.where(wide < 0, tail, 1 - tail).astype(x.dtype.newbyteorder("="))


def normal_cdf_grad_reference(g: Array, x: Array) -> Array:
    """``g phi(x)``."""
    return g * (DENSITY * np.exp(-0.5 * x * x))


def gelu_erf_reference(x: Array) -> Array:
    """``x Phi(x)``."""
    return x * normal_cdf_reference(x)


def gelu_erf_grad_reference(g: Array, x: Array) -> Array:
    """``g (Phi(x) + x phi(x))``."""
    x = bounded(x, GELU_ERF_FAR)
    return g * (normal_cdf_reference(x) + normal_cdf_grad_reference(x, x))


def softplus_reference(x: Array) -> Array:
    """``log(1 + exp(x))`` without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softplus_grad_reference(g: Array, x: Array) -> Array:
    """``g sigmoid(x)``."""
    return g * sigmoid_reference(x)
