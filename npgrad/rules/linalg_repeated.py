"""Repeated eigenvalues and singular values: what is left of 0 / 0.

Vectors of one value turn at a rate of 1 / 0. In a function that does not depend on how they are
chosen this rate is not needed, or meets a zero, and what is left of 0 / 0 is

* in a function of the values alone (no cotangent of the vectors): nothing; the gradient is right
  where the function is symmetric in the values, and a sub-gradient at a kink like ``w[0]``;
* in a function of the space that the vectors span: zero;
* in a function of matrices, ``(v * f(w)) @ v.T``: f'(w), which `tied` recovers, since it is the
  ratio of what reaches the values to what reaches the vectors;
* elsewhere the two outputs do not determine the gradient, and NoDerivative is raised.

That serves first derivatives in reverse mode. Forward mode and higher orders need more than the
outputs tell, so they raise NoDerivative where the repeated values would matter.

Values and vectors have to come from one call of the decomposition. Here lives how close values
have to be, and the rates at which vectors turn; the rules that use them are in ``linalg_spectral``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.primitives import primitive
from npgrad.rules.linalg import adjoint, diagonal_mask, largest, main_diagonal, real
from npgrad.table import reverse

Array = Any

ADVICE = (
    " Use functions without a decomposition (inv, solve, slogdet, matrix_power), only the values "
    "(eigvalsh, svdvals), or move the argument by a little (1e-6 of its size)."
)
UNDETERMINED = (
    "{}: values are equal to rounding, and what reaches values and vectors there does not "
    "determine the gradient." + ADVICE
)
UNDETERMINED_FORWARD = (
    "{} in forward mode: values are equal to rounding, and the tangent mixes their vectors."
    + ADVICE
)


@primitive
def first_order(a: Array) -> Array:
    """`a`, which is right at repeated values but whose own derivative would not be."""
    return a


def no_second_order(g: Array) -> Array:
    """Refused: eigenvectors of equal values have no second derivative that this one implies."""
    raise NoDerivative(
        "a second derivative through eigenvalues or singular values that are equal to rounding: "
        "values and vectors do not determine it." + ADVICE
    )


reverse(first_order, no_second_order, no_second_order)


def closeness(w: Array) -> float:
    """What counts as equal, in units of the largest value: a backward stable solver's error."""
    return float(4 * w.shape[-1] * np.finfo(w.dtype).eps)


def repeated(w: Array) -> bool:
    """Whether neighbours among sorted real values are equal to rounding, anywhere in the stack."""
    if w.shape[-1] < 2:
        return False
    largest = np.maximum(np.abs(w[..., :1]), np.abs(w[..., -1:]))
    return bool(np.any(np.abs(w[..., 1:] - w[..., :-1]) <= closeness(w) * largest))


def close_pairs(w: Array, gap: Array) -> Array:
    """Which pairs of different places hold equal values."""
    top = largest(np.abs(w), -1)[..., None]
    return (np.abs(gap) <= closeness(w) * top) & ~diagonal_mask(w.shape[-1], w)


def gaps(w: Array) -> Array:
    """w_j - w_i."""
    return w[..., None, :] - w[..., :, None]


def over_gaps(a: Array, gap: Array, without: Array) -> Array:
    """The quotient a / gap, zero in the places `without`."""
    return np.where(without, 0, a / np.where(without, 1, gap))


def rotation_cotangent(c: Array, gw: Array | None, w: Array, ties: bool, name: str) -> Array:
    """The off-diagonal cotangent of V^H dA V from c = V^H gV: half of (c - c^H) over the gaps."""
    gap, skew = gaps(w), 0.5 * (c - adjoint(c))
    one = diagonal_mask(w.shape[-1], w)
    if not ties:
        return over_gaps(skew, gap, one)
    close = close_pairs(w, gap)
    # Equal values, if their vectors carry the same weight as well: f(w_j) - f(w_i) is rounding.
    # (Eigenvalues that are zero to rounding, with f(w) = w, are far apart in units of their own.)
    size = np.sqrt(np.sum(np.abs(c) ** 2, axis=-2))
    noise = 4 * closeness(w) * (size[..., None, :] + size[..., :, None])
    flat = close & ((np.abs(skew) <= noise) | (gap == 0))
    cotangent = over_gaps(skew, gap, one | flat)
    if gw is None:
        return cotangent
    h = 0.5 * (c + adjoint(c))
    return cotangent + np.where(flat, tied(h, gw, close, flat, noise, name), 0)


def tied(h: Array, gw: Array, close: Array, flat: Array, noise: Array, name: str) -> Array:
    """The cotangent between vectors of equal values, in a function of matrices V f(w) V^H.

    Its cotangent G, seen from the vectors, reaches the values as gw_i = f'(w) G_ii and the vectors
    as h = 2 f(w) G; so gw_i / h_ii = f' / 2f turns h into f'(w) G. Something that depends on the
    values alone (log det beside a quadratic form) adds the same to every gw_i: then three equal
    values are needed to tell, and the slope of gw over h is taken.
    """
    block = (close | diagonal_mask(h.shape[-1], h)).astype(gw.dtype)
    hd, gd = real(main_diagonal(h))[..., None, :], gw[..., None, :]
    count = np.sum(block, axis=-1, keepdims=True)
    allowed = 10 * float(np.finfo(gw.dtype).eps) ** 0.5
    limit = allowed * np.max(block * np.abs(gd), axis=-1, keepdims=True)

    def fit(x: Array, y: Array) -> tuple[Array, Array]:
        """Least squares of y over x in each block, and whether it is exact."""
        squares = np.sum(block * x * x, axis=-1, keepdims=True)
        least = (allowed * np.max(np.abs(hd), axis=-1, keepdims=True)) ** 2
        dependent = squares > np.maximum(least, np.max(noise, axis=-1, keepdims=True) ** 2)
        slope = np.sum(block * x * y, axis=-1, keepdims=True) / np.where(dependent, squares, 1)
        slope = np.where(dependent, slope, 0)
        return slope, np.max(block * np.abs(y - slope * x), axis=-1, keepdims=True) <= limit

    def centred(x: Array) -> Array:
        return x - np.sum(block * x, axis=-1, keepdims=True) / count

    ratio, proportional = fit(hd, gd)
    slope, affine = fit(centred(hd), centred(gd))
    affine = affine & ((count > 2) | (slope == 0))
    if np.any(flat & ~proportional & ~affine):
        raise NoDerivative(UNDETERMINED.format(name))
    return np.where(proportional, ratio, slope) * h


def rotation_rate(p: Array, w: Array, ties: bool, name: str) -> Array:
    """What `rotation_cotangent` transposes: the rate V^H dV from the off-diagonal of p."""
    gap, one = gaps(w), diagonal_mask(w.shape[-1], w)
    if ties:
        close = close_pairs(w, gap)
        top = largest(np.abs(p), (-2, -1))
        if np.any(close & (np.abs(p) > closeness(w) * top)):
            raise NoDerivative(UNDETERMINED_FORWARD.format(name))
        one = one | close
    return over_gaps(p, gap, one)
