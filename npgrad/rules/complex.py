"""Functions of complex numbers that are not holomorphic, and those that turn complex by value.

For a real function f of z = x + iy the gradient is df/dx + i df/dy, the direction of steepest
ascent, and a VJP is the adjoint of the JVP under Re(vdot). Rules here are adjoints as they stand
(``holomorphic=False``), where they are not linear maps to a real output, which the graph never
conjugates. ``absolute`` and ``sign`` are in ``piecewise``, beside the kink they have at 0.

``np.emath`` makes its input complex when one element needs it and goes on with NumPy's function:
composed, the branch being decided on the whole array as NumPy does.

The names that a rule may use stand at the top of ``elementwise``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.table import composed, linear, reverse


def conjugate_change(g: Any, dtype: Any) -> Any:
    """Conjugation is its own adjoint; nothing happens to real numbers."""
    return np.conjugate(g) if dtype.kind == "c" else g


# Not `elementwise`: the methods ``z.conj()`` and ``z.conjugate()`` arrive as functions do.
reverse(
    np.conjugate,
    conjugate_change,
    conjugate_change,
    signature="x, out=None",
    holomorphic=False,
    batched=True,
).name = "np.conjugate"


def imag_transpose(g: Any, dtype: Any) -> Any:
    """Along the imaginary axis; the imaginary part of a real number does not depend on it."""
    return np.multiply(1j, g) if dtype.kind == "c" else np.zeros_like(g)  # 1j * g may be Python's


linear(np.real, transpose=lambda g: g, batched=True, view=True).shows = ("val",)
linear(np.imag, transpose=imag_transpose, batched=True, view=True)

DEGREES = 180 / math.pi


def inverse(z: Any) -> Any:
    """1 / z, and 0 at 0, where an angle has no direction."""
    none = z == 0
    return np.where(none, 0, 1 / np.where(none, 1, z))


def angle_gradient(g: Any, z: Any, deg: bool, dtype: Any) -> Any:
    """The gradient i z / |z|^2 = i / conj(z): across z. The angle of a real number is 0 or pi."""
    if dtype.kind != "c":
        return np.zeros_like(g)
    return np.multiply(1j, DEGREES * g if deg else g) * inverse(np.conjugate(z))


def angle_tangent(g: Any, z: Any, deg: bool, dtype: Any) -> Any:
    """Im(dz / z)."""
    if dtype.kind != "c":
        return np.zeros_like(g)
    return np.imag((DEGREES * g if deg else g) * inverse(z))


reverse(np.angle, angle_gradient, angle_tangent, holomorphic=False, batched=True)


def real_if_close_body(a: Any, tol: float = 100) -> Any:
    """The real part where all imaginary parts are rounding errors."""
    if a.dtype.kind != "c":
        return np.copy(a) if np.isscalar(a) else a  # an array of no axes
    if tol > 1:
        tol = np.finfo(a.dtype).eps * tol
    return np.real(a) if np.all(np.absolute(np.imag(a)) < tol) else a


composed(np.real_if_close, real_if_close_body)


# ------------------------------------------------------------------------------------------ emath
def to_complex(x: Any) -> Any:
    """`x` in the complex dtype that ``np.emath`` gives it: single for up to 32 bits of float."""
    single = x.dtype.char in "fbhBHF"
    return x.astype(np.complex64 if single else np.complex128)


def as_array(x: Any) -> Any:
    """`x` as it is if it has a dtype, otherwise as an array."""
    return x if hasattr(x, "dtype") else np.asanyarray(x)


def complex_if_negative(x: Any) -> Any:
    """`x`, complex if one of its elements is real and negative."""
    x = as_array(x)
    return to_complex(x) if np.any(np.isreal(x) & (x < 0)) else x


def complex_if_beyond_one(x: Any) -> Any:
    """`x`, complex if one of its elements is real and of modulus above 1."""
    x = as_array(x)
    return to_complex(x) if np.any(np.isreal(x) & (np.absolute(x) > 1)) else x


def after(domain: Callable[[Any], Any], ufunc: Any) -> Callable[[Any], Any]:
    """`ufunc` of the input as `domain` returns it."""

    def body(x: Any) -> Any:
        return ufunc(domain(x))

    return body


def logn_body(n: Any, x: Any) -> Any:
    """log(x) / log(n)."""
    return np.log(complex_if_negative(x)) / np.log(complex_if_negative(n))


def power_body(x: Any, p: Any) -> Any:
    """x**p; an integer exponent becomes a float where it is negative."""
    p = as_array(p)
    if np.any(np.isreal(p) & (p < 0)):
        p = p * 1.0
    return np.power(complex_if_negative(x), p)


for name in ("sqrt", "log", "log2", "log10"):
    composed(getattr(np.emath, name), after(complex_if_negative, getattr(np, name)))
for name in ("arccos", "arcsin", "arctanh"):
    composed(getattr(np.emath, name), after(complex_if_beyond_one, getattr(np, name)))
composed(np.emath.logn, logn_body)
composed(np.emath.power, power_body)
