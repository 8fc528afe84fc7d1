"""``scipy.signal``: convolutions and the linear filter; other names are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from ..table import bilinear, reverse
from ._declare import array_of, as_imported, operation, stand_in, theirs

original: Any = as_imported(scipy.signal)

Array = Any

__all__ = ["convolve", "correlate", "fftconvolve", "lfilter", "lfiltic"]


def __getattr__(name: str) -> Any:
    return theirs(scipy.signal, name)


# ----------------------------------------------------------------------------------- convolution
def _whole(g: Array, n1: tuple[int, ...], n2: tuple[int, ...], mode: str, axes: Any) -> Array:
    """The cotangent of the full convolution along `axes`, of which `mode` takes a part.

    Along the other axes the two are broadcast; "same" takes the middle of these too, as SciPy does.
    """
    if mode == "full":
        return g
    widths = []
    for axis in range(g.ndim):
        size = n1[axis] + n2[axis] - 1 if axis in axes else max(n1[axis], n2[axis])
        if mode == "same":
            before = (size - n1[axis]) // 2
        else:
            before = min(n1[axis], n2[axis]) - 1 if axis in axes else 0
        widths.append((before, size - before - g.shape[axis]))
    return np.pad(g, widths)


@operation("scipy.signal.convolve")
def _convolve(in1: Array, in2: Array, mode: str, method: str) -> Array:
    return original.convolve(in1, in2, mode=mode, method=method)


def _convolve_left(g: Array, in2: Array, mode: str, method: str, shape: Any) -> Array:
    """Correlation with the other one."""
    whole = _whole(g, shape, in2.shape, mode, range(in2.ndim))
    return _convolve(whole, np.flip(in2), "valid", method)


def _convolve_right(g: Array, in1: Array, mode: str, method: str, shape: Any) -> Array:
    whole = _whole(g, in1.shape, shape, mode, range(in1.ndim))
    return _convolve(whole, np.flip(in1), "valid", method)


bilinear(_convolve, _convolve_left, _convolve_right)


@stand_in(original.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """SciPy's ``convolve``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda x: npgrad.scipy.signal.convolve(x, np.array([1.0, 2.0]), mode="valid").sum()
    >>> npgrad.grad(f)(np.zeros(3))
    array([2., 3., 1.])
    """
    in1, in2 = array_of(in1), array_of(in2)
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    return _convolve(in1, in2, mode, method)


@stand_in(original.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """SciPy's ``correlate``: the convolution with the reversed conjugate."""
    return convolve(in1, np.conj(np.flip(array_of(in2))), mode, method)


@operation("scipy.signal.fftconvolve")
def _fftconvolve(in1: Array, in2: Array, mode: str, axes: tuple[int, ...]) -> Array:
    return original.fftconvolve(in1, in2, mode=mode, axes=axes)


def _fft_left(g: Array, in2: Array, mode: str, axes: Any, shape: Any) -> Array:
    """Correlation along `axes`; where the others were broadcast the graph sums."""
    whole = _whole(g, shape, in2.shape, mode, axes)
    return _fftconvolve(whole, np.flip(in2, axis=axes), "valid", axes)


def _fft_right(g: Array, in1: Array, mode: str, axes: Any, shape: Any) -> Array:
    whole = _whole(g, in1.shape, shape, mode, axes)
    return _fftconvolve(whole, np.flip(in1, axis=axes), "valid", axes)


bilinear(_fftconvolve, _fft_left, _fft_right)


@stand_in(original.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """SciPy's ``fftconvolve``."""
    in1, in2 = array_of(in1), array_of(in2)
    if in1.ndim == in2.ndim == 0:
        return in1 * in2
    if in1.ndim == in2.ndim and 0 in (in1.size, in2.size):
        return np.zeros_like(in1, shape=0)
    if axes is None:
        which = tuple(range(in1.ndim))
    else:
        which = tuple(int(axis) % in1.ndim for axis in np.atleast_1d(axes))
    return _fftconvolve(in1, in2, mode, which)


# ---------------------------------------------------------------------------------------- filter
@operation("scipy.signal.lfilter")
def _lfilter(b: Array, a: Array, x: Array) -> Array:
    """Along the last axis, from rest."""
    return original.lfilter(b, a, x)


def _delayed(x: Array, k: int) -> Array:
    """`x` k steps later, from zero on."""
    if k == 0:
        return x
    k = min(k, x.shape[-1])
    return np.concatenate((np.zeros_like(x[..., :k]), x[..., : x.shape[-1] - k]), axis=-1)


def _through(b: Array, a: Array, g: Array) -> Array:
    """The transposed filter: the same one, backwards in time."""
    return _lfilter(b, a, g[..., ::-1])[..., ::-1]


def _products(u: Array, x: Array, count: int) -> Array:
    """The sums of u[n] x[n - k] for each k."""
    return np.stack([np.sum(u * _delayed(x, k)) for k in range(count)])


def _mixed(c: Array, x: Array) -> Array:
    """The sum of c[k] x[n - k]."""
    total = c[0] * x
    for k in range(1, c.shape[0]):
        total = total + c[k] * _delayed(x, k)
    return total


def _one(a: Array) -> Array:
    return np.ones(1, a.dtype)


# a * y = b * x, both convolutions: so a * dy = db * x + b * dx - da * y
reverse(
    _lfilter,
    {
        "b": lambda g, a, x, shape: _products(_through(_one(a), a, g), x, shape[0]),
        "a": lambda g, a, y, shape: -_products(_through(_one(a), a, g), y, shape[0]),
        "x": lambda g, b, a: _through(b, a, g),
    },
    {
        "b": lambda g, a, x: _lfilter(_one(a), a, _mixed(g, x)),
        "a": lambda g, a, y: -_lfilter(_one(a), a, _mixed(g, y)),
        "x": lambda g, b, a: _lfilter(b, a, g),
    },
)


@stand_in(original.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """SciPy's ``lfilter``, differentiable in both polynomials, the signal and the state `zi`."""
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    x = np.moveaxis(array_of(x), axis, -1)
    y = _lfilter(b, a, x)
    if zi is None:
        return np.moveaxis(y, -1, axis)
    # the state is what the past adds to b * x; SciPy keeps it in units of a[0] = 1
    b, a = b / a[0], a / a[0]
    zi = np.moveaxis(array_of(zi), axis, -1)
    length, order = x.shape[-1], max(a.shape[0], b.shape[0]) - 1
    zi = np.broadcast_to(zi, (*x.shape[:-1], order))
    seen = min(length, order)
    widths = [(0, 0)] * (x.ndim - 1)
    y = y + _lfilter(_one(a), a, np.pad(zi[..., :seen], [*widths, (0, length - seen)]))
    state = []
    for i in range(order):
        total = zi[..., i + length] if i + length < order else np.zeros_like(y[..., 0])
        for k in range(i + 1, order + 1):
            at = length + i - k
            if at >= 0 and k < b.shape[0]:
                total = total + b[k] * x[..., at]
            if at >= 0 and k < a.shape[0]:
                total = total - a[k] * y[..., at]
        state.append(total)
    final = np.stack(state, axis=-1) if state else zi
    return np.moveaxis(y, -1, axis), np.moveaxis(final, -1, axis)


@stand_in(original.lfiltic)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """SciPy's ``lfiltic``: the state of a filter after the outputs `y` and inputs `x`."""
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    if a.shape[0] == 0 or a[0] == 0:
        raise ValueError("First `a` filter coefficient must be non-zero.")
    size = max(a.shape[0], b.shape[0]) - 1
    y = array_of(y)
    x = np.zeros_like(y, shape=0) if x is None else array_of(x)
    past = [_recent(x, size), _recent(y, size)]
    state = []
    for m in range(size):
        forward = np.sum(b[m + 1 :] * past[0][: max(b.shape[0] - 1 - m, 0)])
        back = np.sum(a[m + 1 :] * past[1][: max(a.shape[0] - 1 - m, 0)])
        state.append((forward - back) / a[0])
    return np.stack(state) if state else np.zeros_like(b, shape=0)


def _recent(values: Array, size: int) -> Array:
    """The `size` values that came last, the latest first; zeros where there were fewer."""
    return np.pad(values[:size], (0, size - min(size, values.shape[0])))
