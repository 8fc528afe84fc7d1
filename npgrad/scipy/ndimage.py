"""``scipy.ndimage``: the linear filters; other names are SciPy's.

A recorded image is continued beyond its border with ``np.pad``, which knows its transpose, and
summed with the weights, shift by shift. An image of integers, whose result SciPy rounds to
integers, is refused where its weights are recorded.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.ndimage

from ..errors import NoDerivative
from ._declare import array_of, as_imported, is_recorded, plain, refuse, stand_in, theirs, varies

original: Any = as_imported(scipy.ndimage)

Array = Any

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "uniform_filter",
]

# SciPy's names of the continuations, and NumPy's.
PAD = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def __getattr__(name: str) -> Any:
    return theirs(scipy.ndimage, name)


def _listed(value: Any, axes: tuple[int, ...]) -> list[Any]:
    """One value for each axis, or one for all."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return [value] * len(axes)
    if len(value) != len(axes):
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(value)


def _axes_of(x: Array, axes: Any) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return tuple(int(axis) % x.ndim for axis in np.atleast_1d(axes))


def _no_output(name: str, output: Any) -> None:
    if output is not None:
        raise refuse(f"ndimage.{name}", "with output=")


def _image(name: str, input: Any) -> Array:
    """The image; one of integers is refused, because SciPy rounds what comes out of it."""
    x = array_of(input)
    if x.dtype.kind not in "fc":
        raise NoDerivative(
            f"npgrad: npgrad.scipy.ndimage.{name} of an image of {x.dtype}: SciPy rounds the "
            "result to that dtype, and a rounded result has no derivative. Give it the image as "
            "floats: image.astype(float)."
        )
    return x


def _padded(x: Array, axis: int, before: int, after: int, mode: str, cval: Any) -> Array:
    if before == after == 0:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    if mode not in PAD:
        raise RuntimeError("boundary mode not supported")
    if PAD[mode] == "constant":
        return np.pad(x, widths, mode="constant", constant_values=cval)
    return np.pad(x, widths, mode=PAD[mode])  # type: ignore[call-overload]


def _reach(size: int, origin: int) -> tuple[int, int]:
    """How far a window of `size` reaches to the left and to the right."""
    left = size // 2 + origin
    if not 0 <= left < size:
        raise ValueError("invalid origin")
    return left, size - 1 - left


def _along(x: Array, w: Array, axis: int, mode: str, cval: Any, origin: int) -> Array:
    """The correlation with the vector `w` along one axis."""
    size = w.shape[0]
    if x.size == 0:
        return x
    whole = _padded(x, axis, *_reach(size, origin), mode, cval)
    n, total = x.shape[axis], None
    for k in range(size):
        part = w[k] * whole[(slice(None),) * axis + (slice(k, k + n),)]
        total = part if total is None else total + part
    return total


def _weights(value: Any, x: Array) -> Array:
    """Weights in the precision of the image; recorded ones as they are."""
    if is_recorded(value):
        return array_of(value)
    value = np.asarray(value)
    return value.astype(np.result_type(x, np.complex64) if value.dtype.kind == "c" else x.dtype)


@stand_in(original.correlate1d)
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """SciPy's ``correlate1d``, of which complex weights are conjugated."""
    return _correlate1d(input, np.conj(array_of(weights)), axis, output, mode, cval, origin)


def _correlate1d(
    input: Any, weights: Any, axis: int, output: Any, mode: str, cval: Any, origin: int
) -> Any:
    """The sum of the products."""
    _no_output("correlate1d", output)
    x = _image("correlate1d", input)
    return _along(x, _weights(weights, x), axis % x.ndim, mode, cval, origin)


@stand_in(original.convolve1d)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """SciPy's ``convolve1d``."""
    weights = array_of(weights)[::-1]
    origin = -origin - (weights.shape[0] % 2 == 0)
    return _correlate1d(input, weights, axis, output, mode, cval, origin)


@stand_in(original.correlate)
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """SciPy's ``correlate``, differentiable in the image and in the weights.

    Complex weights are conjugated.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda x: npgrad.scipy.ndimage.correlate(x, np.array([1.0, 2.0, 4.0]))[0]
    >>> npgrad.grad(f)(np.zeros(3))
    array([3., 4., 0.])
    """
    return _correlate(input, np.conj(array_of(weights)), output, mode, cval, origin, axes)


def _correlate(
    input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    """The sum of the products."""
    _no_output("correlate", output)
    x = _image("correlate", input)
    w = _weights(weights, x)
    which = _axes_of(x, axes)
    if w.ndim != len(which):
        raise RuntimeError("filter weights array has incorrect shape.")
    if x.size == 0:
        return x
    whole = x
    details = zip(which, w.shape, _listed(mode, which), _listed(origin, which), strict=True)
    for axis, size, kind, shift in details:
        whole = _padded(whole, axis, *_reach(size, shift), kind, cval)
    total = None
    for index in itertools.product(*map(range, w.shape)):
        window = [slice(None)] * x.ndim
        for axis, k in zip(which, index, strict=True):
            window[axis] = slice(k, k + x.shape[axis])
        part = w[index] * whole[tuple(window)]
        total = part if total is None else total + part
    return total


@stand_in(original.convolve)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """SciPy's ``convolve``: the correlation with reversed weights."""
    w = array_of(weights)
    shifts = _listed(origin, tuple(range(w.ndim)))
    turned = [-s - (n % 2 == 0) for s, n in zip(shifts, w.shape, strict=True)]
    return _correlate(input, np.flip(w), output, mode, cval, turned, axes)


@stand_in(original.uniform_filter)
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """SciPy's ``uniform_filter``: the mean over a window."""
    _no_output("uniform_filter", output)
    x = _image("uniform_filter", input)
    which = _axes_of(x, axes)
    lists = [_listed(value, which) for value in (size, mode, origin)]
    for axis, count, kind, shift in zip(which, *lists, strict=True):
        if count > 1:
            x = _along(x, np.full(count, 1 / count, x.dtype), axis, kind, cval, shift)
    return x


def _gaussian(sigma: Any, order: int, radius: int) -> Array:
    """The weights of SciPy's one-dimensional Gaussian filter, or of its derivative."""
    if order < 0:
        raise ValueError("order must be non-negative")
    if varies(sigma):
        x = np.arange(-radius, radius + 1)
        bell = np.exp(-0.5 * (x / sigma) ** 2)
        return _hermite(x, sigma, order) * bell / np.sum(bell)
    point = np.zeros(2 * radius + 1)
    point[radius] = 1
    sigma = plain(sigma)
    response = original.gaussian_filter1d(point, sigma, order=order, mode="constant", radius=radius)
    return response[::-1]


def _hermite(x: Array, sigma: Any, order: int) -> Any:
    """The polynomial before the `order`-th derivative of exp(-x^2 / (2 sigma^2)), mirrored.

    q' - q x / sigma^2 follows q; SciPy correlates with the mirrored one, of the other sign if odd.
    """
    powers: list[Any] = [1.0]  # the coefficients of q
    for _ in range(order):
        after: list[Any] = [k * c for k, c in enumerate(powers)][1:]
        after += [0.0] * (len(powers) + 1 - len(after))
        for k, c in enumerate(powers):
            after[k + 1] = after[k + 1] - c / sigma**2
        powers = after
    return sum(c * (-1.0 * x) ** k for k, c in enumerate(powers))


@stand_in(original.gaussian_filter)
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """SciPy's ``gaussian_filter``, differentiable in the image and in `sigma`.

    How many weights there are (``truncate * sigma``, rounded) counts as constant.
    """
    _no_output("gaussian_filter", output)
    x = _image("gaussian_filter", input)
    which = _axes_of(x, axes)
    sigmas = [sigma] * len(which) if np.ndim(sigma) == 0 else [sigma[i] for i in range(len(which))]
    lists = [_listed(value, which) for value in (order, mode, radius)]
    for axis, width, degree, kind, reach in zip(which, sigmas, *lists, strict=True):
        if width <= 1e-15:
            continue
        count = int(truncate * width + 0.5) if reach is None else int(reach)
        w = _gaussian(width, degree, count)
        x = _along(x, w if is_recorded(w) else _weights(w, x), axis, kind, cval, 0)
    return x
