"""max_pool2d and avg_pool2d: the largest entry, the mean, of windows of the last two axes.

Entries that tie for a maximum share its cotangent equally, as in `np.max`; so do the NaNs of a
window whose maximum is NaN. The mean divides by the window's full size, padding included.
"""

# ruff: noqa: PLW0108 -- the names of a rule's parameters say what it gets

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.kernels import max_pool2d as max_kernels
from npgrad.kernels import pool2d as kernels
from npgrad.kernels.pool2d import Window
from npgrad.nn._declare import check_real, operation, prepared, shape_of, wrong_shape
from npgrad.nn._geometry import pair_of
from npgrad.table import linear, reverse
from npgrad.transforms.values import value

__all__ = ["avg_pool2d", "max_pool2d"]

Shape = tuple[int, ...]


# -- primitives ------------------------------------------------------------------------------------


@operation("max_pool2d")
def _max_pool_places(x: Any, window: Window) -> Any:
    """The maxima, and what the backward wants to know of their places."""
    return max_kernels.max_pool2d_places(x, window)


def _max_pool(x: Any, window: Window) -> Any:
    return _max_pool_places(x, window)[0]


@operation("avg_pool2d")
def _avg_pool(x: Any, window: Window) -> Any:
    return kernels.avg_pool2d(x, window)


@operation("avg_pool2d_grad")
def _avg_grad(dy: Any, window: Window, extent: Shape) -> Any:
    return kernels.avg_pool2d_grad(dy, window, extent)


@operation("windows")
def _windowed(x: Any, window: Window) -> Any:
    return kernels.windowed(x, window, 0.0)


@operation("windows_transposed")
def _unwindowed(dy: Any, window: Window, extent: Shape) -> Any:
    return kernels.unwindowed(dy, window, extent)


def _shares(x: Any, y: Any, window: Window) -> Any:
    """What part of its window's cotangent each place gets: 1 / ties, or 0."""
    x, y = (value(v) if type(v) is GradArray else v for v in (x, y))
    ties = max_kernels.ties_reference(x, y, window)
    return ties / np.sum(ties, axis=0).astype(y.dtype)


def _max_grad(g: Any, x: Any, y: Any, window: Window) -> Any:
    """`g` and `y` are pairs: of the maxima, and of their places, which are integers."""
    g, (y, places) = g[0], y
    if GradArray in (type(g), type(x), type(y)):
        return _unwindowed(_shares(x, y, window).astype(g.dtype) * g, window, x.shape)
    return max_kernels.max_pool2d_grad(g, x, y, window, places)


def _max_push(g: Any, x: Any, y: Any, window: Window) -> Any:
    return np.sum(_shares(x, y[0], window).astype(g.dtype) * _windowed(g, window), axis=0), None


reverse(
    _max_pool_places,
    _max_grad,
    forward=_max_push,
)
linear(_avg_pool, transpose=lambda g, window, shape: _avg_grad(g, window, shape))
linear(_avg_grad, transpose=lambda g, window: _avg_pool(g, window), ignores=("extent",))
linear(_windowed, transpose=lambda g, window, shape: _unwindowed(g, window, shape))
linear(_unwindowed, transpose=lambda g, window: _windowed(g, window), ignores=("extent",))


# -- public ----------------------------------------------------------------------------------------


def _pooled(function: Any, name: str, x: Any, size: Any, stride: Any, padding: Any) -> Any:
    if name == "max_pool2d":
        check_real(name, x)
    (x,), dtype = prepared(x)
    size = pair_of(size, name, "size", 1)
    stride = size if stride is None else pair_of(stride, name, "stride", 1)
    window = Window(size, stride, pair_of(padding, name, "padding", 0))
    shape = shape_of(x)
    if len(shape) < 2 or min(kernels.out_size(shape, window)) < 1 or 0 in shape[-2:]:
        wanted = f"(..., height, width) into which a window of {size} fits"
        raise wrong_shape(name, "x", shape, wanted)
    if any(2 * p > k for p, k in zip(window.padding, size, strict=True)):
        raise ValueError(f"npgrad.nn.{name}: padding {window.padding} exceeds half of {size}")
    y = function(x, window)
    return y if dtype is None else y.astype(dtype)


def max_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The largest entry of each window of the last two axes.

    Parameters
    ----------
    x : array_like
        (..., height, width).
    size : int or pair of int
        Of the window, (vertical, horizontal).
    stride : int or pair of int, optional
        From window to window; by default the size.
    padding : int or pair of int
        Entries of -inf around x, at most half of the size.

    Raises
    ------
    ShapeMismatch
        When no window fits.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.max_pool2d(np.arange(16.0).reshape(4, 4), 2)
    array([[ 5.,  7.],
           [13., 15.]])
    """
    return _pooled(_max_pool, "max_pool2d", x, size, stride, padding)


def avg_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The mean of each window of the last two axes, padding counted as zeros.

    Parameters
    ----------
    x, size, stride, padding
        As for `max_pool2d`, with zeros around x.

    Raises
    ------
    ShapeMismatch
        When no window fits.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.avg_pool2d(np.arange(16.0).reshape(4, 4), 2)
    array([[ 2.5,  4.5],
           [10.5, 12.5]])
    """
    return _pooled(_avg_pool, "avg_pool2d", x, size, stride, padding)
