"""layer_norm, rms_norm, group_norm, batch_norm.

Statistics are part of the function, never constants: derivatives of any order are right. Each is
one node whose backward gives all cotangents in one pass over x; `eps` stands inside of the root.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.array import GradArray, storage
from npgrad.kernels import batch_norm as batch_kernels
from npgrad.kernels import group_norm as group_kernels
from npgrad.kernels import layer_norm as layer_kernels
from npgrad.kernels import rms_norm as rms_kernels
from npgrad.kernels._moments import normalised
from npgrad.nn import _device
from npgrad.nn._declare import (
    as_number,
    axis_of,
    check_real,
    fused,
    operation,
    prepared,
    shape_of,
    wrong_shape,
)
from npgrad.nn._device import routed
from npgrad.nn._geometry import one_of
from npgrad.primitives import beside
from npgrad.table import reverse

__all__ = ["batch_norm", "group_norm", "layer_norm", "rms_norm"]


# -- primitives: x, weight and bias are one sequence, so that one rule gives all three -------------


@operation("layer_norm")
def _layer_norm(arrays: Any, eps: float) -> Any:
    x, weight, bias = arrays
    return routed(layer_kernels.layer_norm, _device.layer_norm)(x, weight, bias, eps)


@operation("rms_norm")
def _rms_norm(arrays: Any, eps: float) -> Any:
    x, weight = arrays
    return routed(rms_kernels.rms_norm, _device.rms_norm)(x, weight, eps)


@operation("group_norm")
def _group_norm(arrays: Any, groups: int, eps: float) -> Any:
    x, weight, bias = arrays
    return routed(group_kernels.group_norm, _device.group_norm)(x, groups, weight, bias, eps)


@operation("batch_norm")
def _batch_norm(arrays: Any, eps: float) -> Any:
    x, weight, bias = arrays
    return routed(batch_kernels.batch_norm, _device.batch_norm)(x, weight, bias, eps)


_layer_grad = fused(
    routed(layer_kernels.layer_norm_grad, _device.layer_norm_grad),
    layer_kernels.layer_norm_grad_reference,
)
_rms_grad = fused(
    routed(rms_kernels.rms_norm_grad, _device.rms_norm_grad), rms_kernels.rms_norm_grad_reference
)
_group_grad = fused(
    routed(group_kernels.group_norm_grad, _device.group_norm_grad),
    group_kernels.group_norm_grad_reference,
)
_batch_grad = fused(
    routed(batch_kernels.batch_norm_grad, _device.batch_norm_grad),
    batch_kernels.batch_norm_grad_reference,
)


def _pushed(t: Any, x: Any, eps: float, axes: Any) -> tuple[Any, Any]:
    """``xhat`` over `axes`, and its tangent for the tangent `t` of x."""
    xhat, r = normalised(x, axes, eps)
    t = t * r
    change = t - np.mean(t, axis=axes, keepdims=True)
    return xhat, change - xhat * np.mean(change * xhat, axis=axes, keepdims=True)


def _layer_push(g: Any, arrays: Any, eps: float) -> Any:
    xhat, change = _pushed(g[0], arrays[0], eps, -1)
    return change * arrays[1] + xhat * g[1] + g[2]


def _rms_push(g: Any, arrays: Any, eps: float) -> Any:
    (t, u), (x, weight) = g, arrays
    xhat, r = normalised(x, -1, eps, centred=False)
    t = t * r
    change = t - xhat * np.mean(xhat * t, axis=-1, keepdims=True)
    return change * weight + xhat * u


def _by_channel(weight: Any, ndim: int) -> Any:
    return np.reshape(weight, (-1,) + (1,) * (ndim - 2))


def _group_push(g: Any, arrays: Any, groups: int, eps: float) -> Any:
    x, weight, _ = arrays
    rows = (x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    xhat, change = _pushed(np.reshape(g[0], rows), np.reshape(x, rows), eps, -1)
    xhat, change = np.reshape(xhat, x.shape), np.reshape(change, x.shape)
    weight, u, v = (_by_channel(w, x.ndim) for w in (weight, g[1], g[2]))
    return change * weight + xhat * u + v


def _batch_push(g: Any, arrays: Any, eps: float) -> Any:
    x = arrays[0]
    xhat, change = _pushed(g[0], x, eps, (0, *range(2, x.ndim)))
    weight, u, v = (_by_channel(w, x.ndim) for w in (arrays[1], g[1], g[2]))
    return change * weight + xhat * u + v


reverse(
    _layer_norm,
    {"*arrays": lambda g, arrays, eps: _layer_grad(g, arrays[0], arrays[1], eps)},
    forward={"*arrays": _layer_push},
)
reverse(
    _rms_norm,
    {"*arrays": lambda g, arrays, eps: _rms_grad(g, arrays[0], arrays[1], eps)},
    forward={"*arrays": _rms_push},
)
reverse(
    _group_norm,
    {"*arrays": lambda g, arrays, groups, eps: _group_grad(g, arrays[0], groups, arrays[1], eps)},
    forward={"*arrays": _group_push},
)
reverse(
    _batch_norm,
    {"*arrays": lambda g, arrays, eps: _batch_grad(g, arrays[0], arrays[1], eps)},
    forward={"*arrays": _batch_push},
)


# -- public ----------------------------------------------------------------------------------------


def _filled(name: str, x: Any, weight: Any, bias: Any, wanted: tuple[int, ...], where: str) -> Any:
    """x, weight and bias in one dtype; a missing weight is ones, a missing bias zeros."""
    check_real(name, x)
    dtype = x.dtype if hasattr(x, "dtype") and x.dtype.kind == "f" else np.float64
    given = [x]
    for what, value, fill in (("weight", weight, 1), ("bias", bias, 0)):
        if value is None:
            with backend.where_it_lives(storage(x) if type(x) is GradArray else x):
                given.append(beside(x).full(wanted, fill, dtype))
            continue
        if shape_of(value) != wanted:
            raise wrong_shape(name, what, shape_of(value), f"{wanted}, {where}")
        check_real(name, value)
        given.append(value)
    return prepared(*given)


def _normalised_axes(name: str, x: Any, weight: Any, axis: int) -> tuple[int, tuple[int, ...]]:
    """The axis in front and the shape that is normalised: that of `weight`, or one axis."""
    shape = shape_of(x)
    if not shape:
        raise wrong_shape(name, "x", shape, "at least one axis")
    axis = axis_of(x, axis, name)
    count = max(1, len(shape_of(weight))) if weight is not None else 1
    if count > 1 and axis != len(shape) - 1:
        wanted = f"one axis, as axis={axis} is not the last"
        raise wrong_shape(name, "weight", shape_of(weight), wanted)
    if count > 1:
        return axis, shape[max(0, len(shape) - count) :]
    if shape[axis] == 0:
        raise wrong_shape(name, "x", shape, f"entries along axis {axis}")
    return axis, (shape[axis],)


def _on_rows(arrays: Any, axis: int, wanted: tuple[int, ...], run: Any) -> Any:
    """`run` with the normalised part of x as its last axis."""
    x, *parameters = arrays
    shape = x.shape
    last = axis == len(shape) - 1
    if len(wanted) > 1:
        width = int(np.prod(wanted))
        rows = np.reshape(x, (*shape[: len(shape) - len(wanted)], width))
        return np.reshape(run((rows, *(np.reshape(p, (width,)) for p in parameters))), shape)
    y = run((x if last else np.moveaxis(x, axis, -1), *parameters))
    return y if last else np.moveaxis(y, -1, axis)


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, axis: int = -1
) -> Any:
    """``weight * (x - mean) / sqrt(var + eps) + bias``, mean and variance over the last axis.

    Parameters
    ----------
    x : array_like
        Any leading shape.
    weight, bias : array_like, optional
        Of the shape of the last axis; with more dimensions, that many last axes are normalised
        together.
    eps : float
        Added to the variance, inside of the root.
    axis : int
        Another axis than the last.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    J. L. Ba, J. R. Kiros, G. E. Hinton (2016), Layer normalization, arXiv:1607.06450.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), 0.0)
    array([[-1.,  1.]])
    """
    eps = as_number(eps, "layer_norm", "eps")
    axis, wanted = _normalised_axes("layer_norm", x, weight, axis)
    where = f"the normalised axes of x {shape_of(x)}"
    arrays, dtype = _filled("layer_norm", x, weight, bias, wanted, where)
    y = _on_rows(arrays, axis, wanted, lambda some: _layer_norm(some, eps))
    return y if dtype is None else y.astype(dtype)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-5, *, axis: int = -1) -> Any:
    """``weight * x / sqrt(mean(x**2) + eps)``, the mean over the last axis.

    Parameters
    ----------
    x, weight, eps, axis
        As for `layer_norm`.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    B. Zhang, R. Sennrich (2019), Root mean square layer normalization, arXiv:1910.07467.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.rms_norm(np.array([3.0, 4.0]), np.ones(2), 0.0).round(4)
    array([0.8485, 1.1314])
    """
    eps = as_number(eps, "rms_norm", "eps")
    axis, wanted = _normalised_axes("rms_norm", x, weight, axis)
    where = f"the normalised axes of x {shape_of(x)}"
    (x, weight, _), dtype = _filled("rms_norm", x, weight, None, wanted, where)
    y = _on_rows((x, weight), axis, wanted, lambda some: _rms_norm(some, eps))
    return y if dtype is None else y.astype(dtype)


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Each group of channels of each image normalised, then weight and bias by channel.

    Parameters
    ----------
    x : array_like
        (n, channels, ...).
    groups : int
        A divisor of the number of channels.
    weight, bias : array_like, optional
        (channels,).
    eps : float
        Added to the variance, inside of the root.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    Y. Wu, K. He (2018), Group normalization, arXiv:1803.08494.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    eps = as_number(eps, "group_norm", "eps")
    groups, shape = one_of(groups, "group_norm", "groups", 1), shape_of(x)
    if len(shape) < 2 or shape[1] % groups or 0 in shape[1:]:
        wanted = f"(n, channels, ...) with channels divisible by {groups} groups, not empty images"
        raise wrong_shape("group_norm", "x", shape, wanted)
    where = f"the channels of x {shape}"
    arrays, dtype = _filled("group_norm", x, weight, bias, (shape[1],), where)
    y = _group_norm(tuple(arrays), groups, eps)
    return y if dtype is None else y.astype(dtype)


def batch_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Each channel normalised over all other axes, then weight and bias by channel.

    Parameters
    ----------
    x : array_like
        (n, channels, ...); the variance is the biased one, of this batch.
    weight, bias, eps
        As for `group_norm`.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    S. Ioffe, C. Szegedy (2015), Batch normalization, arXiv:1502.03167, algorithm 1.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.batch_norm(np.array([[1.0, 10.0], [3.0, 30.0]]), eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    eps = as_number(eps, "batch_norm", "eps")
    shape = shape_of(x)
    if len(shape) < 2 or not np.prod(shape):
        raise wrong_shape("batch_norm", "x", shape, "(n, channels, ...), not empty")
    where = f"the channels of x {shape}"
    arrays, dtype = _filled("batch_norm", x, weight, bias, (shape[1],), where)
    y = _batch_norm(tuple(arrays), eps)
    return y if dtype is None else y.astype(dtype)
