"""``scipy.special``: the functions that are no ufuncs. Ufuncs are differentiated as they are.

Here are logsumexp, softmax, log_softmax, polygamma and multigammaln; every other name is SciPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ..table import reverse
from ._declare import array_of, as_imported, operation, plain, refuse, stand_in, theirs, varies

original: Any = as_imported(scipy.special)

Array = Any

__all__ = ["log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax"]


def __getattr__(name: str) -> Any:
    return theirs(scipy.special, name)


# ------------------------------------------------------------------------------------- logsumexp
@operation("scipy.special.logsumexp")
def _logsumexp(a: Array, b: Array, axis: Any, signed: bool) -> Array:
    """log of the sum of b exp(a), of its size if `signed`, with the axes kept."""
    if not signed:
        return original.logsumexp(a, axis=axis, b=b, keepdims=True)
    return original.logsumexp(a, axis=axis, b=b, keepdims=True, return_sign=True)[0]


def _share(a: Array, y: Array) -> Array:
    """exp(a - y), where an infinite y is shared equally by the entries as infinite as it is.

    Where y is NaN (of weights whose sum is negative) so is the share of every entry.
    """
    if np.all(np.isfinite(y)):
        return np.exp(a - y)
    infinite = np.isinf(y)
    tied = (a == y) & infinite
    count = np.maximum(np.sum(tied, axis=_reduced(a, y), keepdims=True), 1)
    finite = np.exp(np.where(infinite, -np.inf, a) - np.where(infinite, 0, y))
    return np.where(infinite, (tied / count).astype(a.dtype), finite)


def _reduced(a: Array, y: Array) -> tuple[int, ...]:
    """The axes that `y` lost of `a`, counted from the end."""
    return tuple(-i for i in range(1, a.ndim + 1) if y.shape[-i] == 1)


def _sign(a: Array, b: Array, y: Array, signed: bool) -> Any:
    """The sign of the sum: locally constant."""
    if not signed or b is None:
        return 1
    axis = _reduced(plain(a), plain(y))
    return original.logsumexp(plain(a), axis=axis, b=plain(b), keepdims=True, return_sign=True)[1]


def _weights(a: Array, b: Array, y: Array, signed: bool) -> Array:
    """The derivative by each entry of a: its share of the sum.

    An entry of weight 0 has none, however far it is above the sum.
    """
    share = _share(a, y)
    if b is not None and np.any(far := (plain(b) == 0) & np.isinf(share)):
        share = _share(np.where(far, -np.inf, a), y)
    return share if b is None else share * b * _sign(a, b, y, signed)


def _times(g: Array, weights: Array) -> Array:
    """The product; 0 where `g` is, also beside a sum that is NaN."""
    if np.all(np.isfinite(weights)):
        return g * weights
    return np.where(g == 0, 0, g * weights)


def _by_weights(g: Array, a: Array, b: Array, y: Array, signed: bool) -> Array:
    """The same by each entry of b."""
    return _times(g, _share(a, y) * _sign(a, b, y, signed))


def _by_entries(g: Array, a: Array, b: Array, y: Array, signed: bool) -> Array:
    return _times(g, _weights(a, b, y, signed))


reverse(
    _logsumexp,
    {"a": _by_entries, "b": _by_weights},
    {
        "a": lambda g, a, b, y, signed: np.sum(
            _by_entries(g, a, b, y, signed), axis=_reduced(a, y), keepdims=True
        ),
        "b": lambda g, a, b, y, signed: np.sum(
            _by_weights(g, a, b, y, signed), axis=_reduced(a, y), keepdims=True
        ),
    },
    ignores=("axis",),
)


@stand_in(original.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """SciPy's ``logsumexp``; entries that are +inf share the gradient of an infinite sum.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(npgrad.scipy.special.logsumexp)(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    a = array_of(a)
    signs = None
    if return_sign:
        if a.dtype.kind == "c":
            raise refuse("special.logsumexp", "of complex numbers with return_sign=True")
        signs = original.logsumexp(
            plain(a), axis=axis, b=None if b is None else plain(b), keepdims=keepdims,
            return_sign=True,
        )[1]  # fmt: skip
    if a.ndim == 0:
        a = np.reshape(a, (1,))
        axis = None
        keepdims = False
    if b is not None:
        a, b = np.broadcast_arrays(a, array_of(b))
    y = _logsumexp(a, b, axis, return_sign)
    if not keepdims:
        axes = range(a.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
        y = np.squeeze(y, axis=tuple(axes))
    return (y, signs) if return_sign else y


# --------------------------------------------------------------------------------------- softmax
@operation("scipy.special.softmax")
def _softmax(x: Array, axis: Any) -> Array:
    return original.softmax(x, axis=axis)


def _softmax_change(g: Array, y: Array, axis: Any) -> Array:
    """diag(y) - y y^T, symmetric: the same in both modes."""
    return y * (g - np.sum(g * y, axis=axis, keepdims=True))


reverse(_softmax, _softmax_change, _softmax_change)


@operation("scipy.special.log_softmax")
def _log_softmax(x: Array, axis: Any) -> Array:
    return original.log_softmax(x, axis=axis)


reverse(
    _log_softmax,
    lambda g, y, axis: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),
    lambda g, y, axis: g - np.sum(np.exp(y) * g, axis=axis, keepdims=True),
)


@stand_in(original.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """SciPy's ``softmax``, over all axes unless `axis` is given."""
    return _softmax(array_of(x), axis)


@stand_in(original.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """SciPy's ``log_softmax``."""
    return _log_softmax(array_of(x), axis)


# ----------------------------------------------------------------------------------------- gamma
@operation("scipy.special.polygamma")
def _polygamma(n: Any, x: Array) -> Array:
    return original.polygamma(n, x)


def _polygamma_change(g: Array, n: Any, x: Array) -> Array:
    """The next order, DLMF 5.15.1."""
    return g * _polygamma(n + 1, x)


reverse(_polygamma, {"x": _polygamma_change}, {"x": _polygamma_change})


@stand_in(original.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """SciPy's ``polygamma``: differentiable in `x`; `n` counts derivatives and has none.

    Examples
    --------
    >>> import npgrad
    >>> round(float(npgrad.grad(lambda x: npgrad.scipy.special.polygamma(0, x))(1.0)), 6)
    1.644934
    """
    if varies(n):
        raise refuse("special.polygamma", "with respect to the order")
    if type(n) is not int:
        n = np.asarray(plain(n))
    return _polygamma(n, array_of(x))


@stand_in(original.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """SciPy's ``multigammaln``: the sum of gammaln(a - j/2) for j below d, DLMF 35.3.4."""
    a = array_of(a)
    if int(d) != d:
        raise ValueError("d should be a positive integer (dimension)")
    if np.any(plain(a) <= 0.5 * (d - 1)):
        raise ValueError(f"condition a ({plain(a)}) > 0.5 * (d-1) ({0.5 * (d - 1)}) not met")
    constant = 0.25 * d * (d - 1) * math.log(math.pi)
    total = original.gammaln(a) + constant
    for j in range(1, int(d)):
        total = total + original.gammaln(a - 0.5 * j)
    return total
