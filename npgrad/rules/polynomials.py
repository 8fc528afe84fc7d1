"""Polynomials by their coefficients: ``np.poly*``, ``np.roots``, ``numpy.polynomial``'s two names.

The rest of ``numpy.polynomial`` works by operators where only the points are recorded (``polyval``,
``chebval``, ...); coefficients it converts with ``np.array``, and a recorded one stops at
`GradArray`'s door. ``np.poly1d`` is made of the functions below.
Rules may use ``g``, ``y``, ``shape`` and NumPy's own parameter names.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph import backend
from npgrad.graph.array import unwrap
from npgrad.primitives import beside, primitive
from npgrad.rules.indexing import as_array
from npgrad.table import composed, on_missing, reverse

Array = Any

MANY = 4096  # points from which on powers are made one after the other


# ---------------------------------------------------------------------------------------- polyval
@primitive
def horner(p: Array, x: Array) -> Array:
    """``np.polyval`` of a vector of coefficients."""
    return np.polyval(p, x)


def horner_coefficients(g: Array, x: Array, shape: tuple[int, ...]) -> Array:
    """The coefficient of a power gathers g times that power."""
    if x.size < MANY:
        return np.ravel(g) @ np.vander(np.ravel(x), shape[0])
    sums = []
    for _ in range(shape[0]):  # as NumPy's own loop: a matrix of all powers would not fit a cache
        sums.append(np.sum(g))
        g = g * x
    return np.stack(sums[::-1])


def horner_point(g: Array, p: Array, x: Array) -> Array:
    """Slope of the polynomial; none for a constant."""
    return (
        g * horner(p[:-1] * beside(p).arange(p.shape[0] - 1, 0, -1), x) if p.shape[0] > 1 else g * 0
    )


reverse(
    horner,
    {"p": horner_coefficients, "x": horner_point},
    {"p": lambda g, x: horner(g, x), "x": horner_point},
)


def polyval(p: Any, x: Any) -> Any:
    """``np.polyval``; a polynomial put into a polynomial, or rows of coefficients, by steps."""
    p = as_array(p)
    if isinstance(x, np.poly1d):
        y: Any = 0
    else:
        x = as_array(x)
        if p.ndim == 1 and p.size:
            return horner(p, x)
        y = np.zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y


composed(np.polyval, polyval)


# ----------------------------------------------------------------------- derivatives, integrals
def polyder(p: Any, m: int = 1) -> Array:
    """``np.polyder``."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(m):
        p = p[:-1] * beside(p).arange(len(p) - 1, 0, -1)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """``np.polyint``; the constants `k` may be recorded when p is."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m, float) if k is None else np.atleast_1d(k)
    if len(k) == 1 and m > 1:
        k = k[0] * np.ones(m, float)
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = as_array(p)
    for i in range(m):
        p = np.concatenate((p / np.arange(len(p), 0, -1), k[i : i + 1]))
    return p


composed(np.polyder, polyder)
composed(np.polyint, polyint)


# ------------------------------------------------------------------------------------- arithmetic
def coefficients(p: Any) -> Array:
    """`p` as ``np.poly1d`` reads it: a vector without leading zeros, but never empty."""
    if isinstance(p, np.poly1d):
        p = p.coeffs
    p = np.atleast_1d(as_array(p))
    if p.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    cut = np.trim_zeros(p, "f")
    return cut if cut.size else np.zeros_like(p, shape=1)


def polymul(a1: Any, a2: Any) -> Any:
    """``np.polymul``, which makes a polynomial if it is given one."""
    made = np.convolve(coefficients(a1), coefficients(a2))
    return np.poly1d(made) if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d) else made


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """``np.polydiv``: long division; the length of the remainder is read from its values."""
    if isinstance(u, np.poly1d) or isinstance(v, np.poly1d):
        quotient, rest = polydiv(coefficients(u), coefficients(v))
        return np.poly1d(quotient), np.poly1d(rest)
    u, v = np.atleast_1d(as_array(u)) + 0.0, np.atleast_1d(as_array(v)) + 0.0
    dtype = (u[0] + v[0]).dtype
    m, n = len(u) - 1, len(v) - 1
    scale = 1.0 / v[0]
    rest = u if u.dtype == dtype else u.astype(dtype)
    quotient = []
    for k in range(m - n + 1):
        digit = scale * rest[k]
        quotient.append(digit)
        rest = np.concatenate((rest[:k], rest[k : k + n + 1] - digit * v, rest[k + n + 1 :]))
    q = np.stack(quotient) if quotient else np.zeros_like(rest, shape=1)
    start = 0
    while start < len(rest) - 1 and np.allclose(rest[start], 0, rtol=1e-14):
        start += 1
    return q, rest[start:]


composed(np.polyadd)
composed(np.polysub)
composed(np.polymul, polymul)
composed(np.polydiv, polydiv)


# ------------------------------------------------------------------------------------------ vander
def power_slopes(y: Array, increasing: bool) -> Array:
    """Derivatives of the columns of a Vandermonde matrix from power 1 on, in rising order."""
    rising = y if increasing else y[:, ::-1]
    return rising[:, :-1] * np.cumsum(np.ones_like(rising[:1, 1:]), axis=1)


def vander_vjp(g: Array, y: Array, increasing: bool) -> Array:
    """The powers' slopes, from the powers themselves: right at x = 0."""
    rising = g if increasing else g[:, ::-1]
    return (rising[:, 1:] * power_slopes(y, increasing)).sum(axis=1)


def vander_jvp(g: Array, y: Array, increasing: bool) -> Array:
    """Each column moves by its slope, the column of ones not at all."""
    moved = np.concatenate(
        [np.zeros_like(y[:, :1]), g[:, None] * power_slopes(y, increasing)], axis=1
    )
    return moved if increasing else moved[:, ::-1]


reverse(np.vander, vander_vjp, vander_jvp, ignores=("N",))


# ----------------------------------------------------------------------------------------- polyfit
def weighted(array: Array, w: Array) -> Array:
    """``array *= w``, as in NumPy: in the dtype of `array`, which complex weights do not fit."""
    made = array * w
    backend.check_cast(made.dtype, array.dtype)
    return made if made.dtype == array.dtype else made.astype(array.dtype)


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """``np.polyfit``: least squares on a scaled Vandermonde matrix."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    left, right = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = weighted(left, w[:, None])
        right = weighted(right, w[:, None] if right.ndim == 2 else w)
    scale = np.sqrt((left * left).sum(axis=0))
    left = left / scale
    c, residuals, rank, singular = np.linalg.lstsq(left, right, rcond)
    c = (c.T / scale).T
    if rank != order and not full:
        message = "Polyfit may be poorly conditioned"
        warnings.warn(message, np.exceptions.RankWarning, stacklevel=4)
    if full:
        return c, residuals, rank, singular, rcond
    if not cov:
        return c
    base = np.linalg.inv(np.dot(left.T, left)) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    else:
        if len(x) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(x) - order)
    return (c, base * factor) if y.ndim == 1 else (c, base[:, :, None] * factor)


composed(np.polyfit, polyfit)


# -------------------------------------------------------------------------------- roots and poly
# p(r) = 0 for each root r:  dr = -dp(r) / p'(r), singular where roots coincide.
def slope_at_roots(p: Array, y: Array, moves: Any) -> Array:
    """The derivative of the polynomial at its roots; of roots that coincide none may count.

    A double root is found with an error of the square root of the rounding error.
    """
    slope = np.polyval(np.polyder(p), y)
    roots, size = unwrap(y), np.polyval(np.abs(np.polyder(unwrap(p))), np.abs(unwrap(y)))
    near = np.abs(unwrap(slope)) <= 10 * math.sqrt(np.finfo(roots.dtype).eps) * size
    if (near & (unwrap(moves) != 0)).any():
        raise NoDerivative(
            "npgrad: np.roots has no derivative where roots coincide. Their sums and products are "
            "smooth: write those in the coefficients, as -p[1] / p[0] for the sum of all."
        )
    return np.where(near, 1, slope)


reverse(
    np.roots,
    lambda g, y, p: -(g / slope_at_roots(p, y, g)) @ np.vander(y, p.shape[0]),
    lambda g, y, p: -np.polyval(g, y) / slope_at_roots(p, y, np.any(unwrap(g) != 0)),
)


@primitive
def characteristic(a: Array) -> Array:
    """The characteristic polynomial of a matrix, by its eigenvalues, as ``np.poly`` does."""
    return np.poly(a)


def adjugates(a: Array, y: Array) -> list[Array]:
    """Coefficients of ``adj(t - A)`` in falling powers of t (Faddeev and LeVerrier's recursion)."""
    eye = np.eye(a.shape[0], dtype=a.dtype)
    found = [eye]
    for k in range(1, a.shape[0]):
        found.append(a @ found[-1] + y[k] * eye)
    return found


# d det(t - A) = -tr(adj(t - A) dA): polynomial in A, so repeated eigenvalues do no harm.
reverse(
    characteristic,
    lambda g, y, a: -sum(g[k + 1] * m.swapaxes(0, 1) for k, m in enumerate(adjugates(a, y))),
    lambda g, y, a: np.concatenate(
        [np.zeros_like(y[:1]), -np.stack([np.trace(m @ g) for m in adjugates(a, y)])]
    ),
)


def poly(seq_of_zeros: Any) -> Array:
    """``np.poly``: from roots, a factor after the other; of a square matrix, its characteristic."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        return characteristic(zeros)
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not zeros.size:
        return np.ones_like(zeros, shape=1)[0]  # CuPy overlooks a shape of ()
    kind = np.mintypecode(zeros.dtype.char)  # float16 is too short for NumPy
    zeros = zeros if zeros.dtype.char == kind else zeros.astype(kind)
    a = np.ones_like(zeros, shape=1)
    nothing = np.zeros_like(a)
    for zero in zeros:
        a = np.concatenate((a, nothing)) - zero * np.concatenate((nothing, a))
    if a.dtype.kind == "c" and np.all(np.sort(zeros) == np.sort(zeros.conj())):
        return a.real.copy()
    return a


composed(np.poly, poly)


# ------------------------------------------------------------------------------ numpy.polynomial
def along(points: Array, c: Array, *, tensor: bool) -> Array:
    """``polyval`` of numpy.polynomial: coefficients in rising order along the first axis."""
    c = np.atleast_1d(c)
    if tensor:
        c = c.reshape(c.shape + (1,) * points.ndim)
    value = c[-1] + points * 0
    for i in range(2, len(c) + 1):
        value = c[-i] + value * points
    return value


def inexact(c: Any) -> Array:
    """Coefficients; integers become floats, as in NumPy."""
    c = as_array(c)
    return c + 0.0 if c.dtype.kind in "biu" else c


def polyval2d(x: Any, y: Any, c: Any) -> Array:
    """``polyval2d`` of numpy.polynomial."""
    x, y = as_array(x), as_array(y)
    if x.shape != y.shape:
        raise ValueError("x, y are incompatible")
    return along(y, along(x, inexact(c), tensor=True), tensor=False)


def polygrid2d(x: Any, y: Any, c: Any) -> Array:
    """``polygrid2d`` of numpy.polynomial."""
    return along(as_array(y), along(as_array(x), inexact(c), tensor=True), tensor=True)


@on_missing
def decide_polynomial(fun: Any) -> bool:
    """The two functions of numpy.polynomial that dispatch; it takes 10 ms to import, so not now."""
    bodies = {"polyval2d": polyval2d, "polygrid2d": polygrid2d}
    if getattr(fun, "__module__", None) != "numpy.polynomial.polynomial":
        return False
    body = bodies.get(fun.__name__)
    if body is None:
        return False
    composed(fun, body)
    return True
