"""conv1d, conv2d, conv_transpose2d, and the gradients of conv2d as operations of their own.

Convolution here is what neural networks call so: the filter is not turned round. The three linear
maps

    y  = conv2d(x, w)        gx = conv2d_grad_input(g, w)        gw = conv2d_grad_weight(g, x)

are bilinear and each other's transposes, so derivatives of any order are again these three.
"""

# ruff: noqa: PLW0108 -- the names of a rule's parameters say what it gets

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npgrad.graph.deferred import settled
from npgrad.kernels import conv2d as kernels
from npgrad.kernels.conv2d import Geometry
from npgrad.nn import _device
from npgrad.nn._declare import as_array, operation, prepared, shape_of, wrong_shape
from npgrad.nn._device import routed
from npgrad.nn._geometry import (
    check_bias,
    geometry_of,
    geometry_of_cotangent,
    one_of,
    pair_of,
    shape_given,
    sides_of,
)
from npgrad.table import bilinear, linear, pointwise

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_grad_bias",
    "conv2d_grad_input",
    "conv2d_grad_weight",
    "conv_transpose2d",
]

Pair = int | tuple[int, int]
Padding = int | str | tuple[Any, Any]
Shape = tuple[int, ...]


# -- primitives ------------------------------------------------------------------------------------


@operation("conv2d")
def _convolved(x: Any, w: Any, geometry: Geometry) -> Any:
    return routed(kernels.conv2d, _device.conv2d)(x, w, geometry)


@operation("conv2d_grad_input")
def _grad_input(dy: Any, w: Any, extent: Shape, geometry: Geometry) -> Any:
    run = routed(kernels.conv2d_grad_input, _device.conv2d_grad_input)
    return run(dy, w, extent, geometry)


@operation("conv2d_grad_weight")
def _grad_weight(dy: Any, x: Any, extent: Shape, geometry: Geometry) -> Any:
    run = routed(kernels.conv2d_grad_weight, _device.conv2d_grad_weight)
    return run(dy, x, extent, geometry)


@operation("conv2d_add_bias")
def _add_bias(y: Any, b: Any) -> Any:
    return y + np.reshape(b, (-1, 1, 1))


@operation("conv2d_grad_bias")
def _grad_bias(dy: Any) -> Any:
    return routed(_sum_of_images, _device.conv2d_grad_bias)(dy)


def _sum_of_images(dy: Any) -> Any:
    return np.sum(dy, axis=(0, 2, 3))


bilinear(
    _convolved,
    lambda g, w, shape, geometry: _grad_input(g, w, shape, geometry),
    lambda g, x, shape, geometry: _grad_weight(g, x, shape, geometry),
)
bilinear(
    _grad_input,
    lambda g, w, geometry: _convolved(g, w, geometry),
    lambda g, dy, shape, geometry: _grad_weight(dy, g, shape, geometry),
    ignores=("extent",),
)
bilinear(
    _grad_weight,
    lambda g, x, geometry: _convolved(x, g, geometry),
    lambda g, dy, shape, geometry: _grad_input(dy, g, shape, geometry),
    ignores=("extent",),
)
pointwise(linear(_add_bias, transpose={"y": lambda g: g, "b": lambda g: _grad_bias(settled(g))}))
linear(
    _grad_bias,
    transpose=lambda g, shape: np.broadcast_to(np.reshape(g, (-1, 1, 1)), shape),
)


# -- public ----------------------------------------------------------------------------------------


def conv2d(
    x: Any,
    w: Any,
    b: Any = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """Convolve images with filters.

    Parameters
    ----------
    x : array_like
        (..., channels, height, width).
    w : array_like
        (out, channels / groups, filter height, filter width).
    b : array_like, optional
        (out,), added to each output channel.
    stride, dilation : int or pair of int
        (vertical, horizontal).
    padding : int, pair, pair of pairs, "same" or "valid"
        Zeros around the image: both sides alike, or ``((top, bottom), (left, right))``. "same"
        gives an output of ``ceil(extent / stride)``, an odd zero at the bottom and right.
    groups : int
        Output channels of a group see the input channels of that group only.

    Returns
    -------
    array
        (..., out, height, width).

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    V. Dumoulin, F. Visin (2016), A guide to convolution arithmetic, arXiv:1603.07285.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = np.arange(9.0).reshape(1, 1, 3, 3)
    >>> npgrad.nn.conv2d(x, np.ones((1, 1, 2, 2)))[0, 0]
    array([[ 8., 12.],
           [20., 24.]])
    """
    shape, filters = shape_of(x), shape_of(w)
    geometry, size = geometry_of("conv2d", shape, filters, stride, padding, dilation, groups)
    check_bias("conv2d", b, filters[0])
    arrays, dtype = prepared(x, w) if b is None else prepared(x, w, b)
    y = _convolved(_images(arrays[0]), arrays[1], geometry)
    return _finished(y, arrays[2:], (*shape[:-3], filters[0], *size), dtype)


def conv1d(
    x: Any,
    w: Any,
    b: Any = None,
    stride: int = 1,
    padding: int | str | tuple[int, int] = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Any:
    """Convolve sequences with filters: `conv2d` along one axis.

    Parameters
    ----------
    x : array_like
        (..., channels, length).
    w : array_like
        (out, channels / groups, filter length).
    b : array_like, optional
        (out,).
    stride, dilation, groups : int
        As for `conv2d`.
    padding : int, pair, "same" or "valid"
        Zeros on both sides, or (left, right).

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.conv1d(np.array([[1.0, 2.0, 4.0]]), np.array([[[1.0, -1.0]]]))
    array([[-1., -2.]])
    """
    shape, filters = shape_of(x), shape_of(w)
    if len(filters) != 3:
        raise wrong_shape("conv1d", "w", filters, "(out, channels / groups, length)")
    if len(shape) < 2:
        raise wrong_shape("conv1d", "x", shape, "(..., channels, length)")
    groups = one_of(groups, "conv1d", "groups", 1)
    if shape[-2] != filters[1] * groups:
        wanted = f"(..., {filters[1] * groups}, length): w {filters} in {groups} groups"
        raise wrong_shape("conv1d", "x", shape, wanted)
    check_bias("conv1d", b, filters[0])
    stride = one_of(stride, "conv1d", "stride", 1)
    dilation = one_of(dilation, "conv1d", "dilation", 1)
    sides: Any = padding
    room = shape[-1]
    if not isinstance(padding, str):
        sides = ((0, 0), pair_of(padding, "conv1d", "padding", 0))
        room += sum(sides[1])
    if sides != "same" and room < max(0, filters[2] - 1) * dilation + 1:
        wanted = f"an extent that a filter of {filters} with dilation {dilation} fits into"
        raise wrong_shape("conv1d", "x", shape, wanted)
    x, w = (np.expand_dims(as_array(a), -2) for a in (x, w))
    y = conv2d(x, w, b, (1, stride), sides, (1, dilation), groups)
    return np.squeeze(y, axis=-2)


def conv_transpose2d(
    x: Any,
    w: Any,
    b: Any = None,
    stride: Pair = 1,
    padding: Padding = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> Any:
    """The transpose of `conv2d` in its images: from its output's shape back to its input's.

    Parameters
    ----------
    x : array_like
        (..., channels, height, width).
    w : array_like
        (channels, out / groups, filter height, filter width): the filters of the `conv2d` that is
        transposed.
    b : array_like, optional
        (out,).
    stride, padding, groups, dilation
        Of the `conv2d` that is transposed ("same" has no meaning here).
    output_padding : int or pair of int
        Extra rows and columns of the result, which a stride leaves open.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    References
    ----------
    V. Dumoulin, F. Visin (2016), arXiv:1603.07285, chapter 4.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.conv_transpose2d(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 2)))
    array([[[[1., 2., 1.]]]])
    """
    name = "conv_transpose2d"
    shape, filters = shape_of(x), shape_of(w)
    if len(filters) != 4:
        raise wrong_shape(name, "w", filters, "(channels, out / groups, height, width)")
    groups = one_of(groups, name, "groups", 1)
    if len(shape) < 3 or shape[-3] != filters[0] or filters[0] % groups:
        wanted = f"(..., {filters[0]}, height, width), {groups} groups: w is {filters}"
        raise wrong_shape(name, "x", shape, wanted)
    if isinstance(padding, str) and padding == "same":
        raise ValueError(f"npgrad.nn.{name}: padding 'same' has no meaning for a transpose")
    strides, dilations = pair_of(stride, name, "stride", 1), pair_of(dilation, name, "dilation", 1)
    sides = sides_of(padding, name, shape, filters, strides, dilations)
    more = pair_of(output_padding, name, "output_padding", 0)
    size = tuple(
        (n - 1) * s - sides[2 * i] - sides[2 * i + 1] + d * (k - 1) + 1 + extra
        for i, (n, s, d, k, extra) in enumerate(
            zip(shape[-2:], strides, dilations, filters[2:], more, strict=True)
        )
    )
    out = filters[1] * groups
    if any(extra >= max(s, d) for extra, s, d in zip(more, strides, dilations, strict=True)):
        raise ValueError(
            f"npgrad.nn.{name}: output_padding {more} must be below stride or dilation"
        )
    if min(size) < 1:
        raise wrong_shape(name, "x", shape, f"an extent larger than the padding {sides}")
    sides, zeros = _left_open(sides, more, strides)
    geometry = Geometry(strides, *sides, dilations, groups)
    check_bias(name, b, out)
    arrays, dtype = prepared(x, w) if b is None else prepared(x, w, b)
    images = _images(arrays[0])
    seen = (n - extra for n, extra in zip(size, zeros, strict=True))
    y = _grad_input(images, arrays[1], (images.shape[0], out, *seen), geometry)
    if any(zeros):
        y = np.pad(y, ((0, 0), (0, 0), (0, zeros[0]), (0, zeros[1])))
    return _finished(y, arrays[2:], (*shape[:-3], out, *size), dtype)


def _left_open(
    sides: tuple[int, ...], more: Shape, strides: Shape
) -> tuple[tuple[int, int, int, int], list[int]]:
    """Padding, and rows of zeros to append, of a transpose with `more` rows and columns.

    A stride leaves up to one less than itself open; more (a dilation allows it) is padding that is
    not cut off, and what no filter reaches.
    """
    top, bottom, left, right = sides
    beyond = [max(0, extra - s + 1) for extra, s in zip(more, strides, strict=True)]
    kept = min(beyond[0], bottom), min(beyond[1], right)
    return (top, bottom - kept[0], left, right - kept[1]), [beyond[i] - kept[i] for i in (0, 1)]


def conv2d_grad_input(
    g: Any,
    w: Any,
    shape: Shape,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """The cotangent of the images of `conv2d`.

    Parameters
    ----------
    g : array_like
        (..., out, height, width): the cotangent of the output.
    w : array_like
        The filters.
    shape : tuple of int
        The shape of the images, (..., channels, height, width).
    stride, padding, dilation, groups
        Of the `conv2d`.

    Raises
    ------
    ShapeMismatch
        Naming the array whose shape is wrong.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.conv2d_grad_input(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 2)), (1, 1, 1, 3))
    array([[[[1., 2., 1.]]]])
    """
    shape = shape_given(shape, "conv2d_grad_input")
    options = stride, padding, dilation, groups
    geometry = geometry_of_cotangent("conv2d_grad_input", g, shape, shape_of(w), options)
    (g, w), dtype = prepared(g, w)
    g = _images(g)
    gx = _grad_input(g, w, (len(g), *shape[-3:]), geometry)
    gx = gx if len(shape) == 4 else np.reshape(gx, shape)
    return gx if dtype is None else gx.astype(dtype)


def conv2d_grad_weight(
    g: Any,
    x: Any,
    shape: Shape,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """The cotangent of the filters of `conv2d`.

    Parameters
    ----------
    x : array_like
        The images, (..., channels, height, width).
    shape : tuple of int
        The shape of the filters.
    g, stride, padding, dilation, groups
        As for `conv2d_grad_input`.

    Raises
    ------
    ShapeMismatch
        As `conv2d_grad_input` does.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = np.arange(3.0).reshape(1, 1, 1, 3)
    >>> npgrad.nn.conv2d_grad_weight(np.ones((1, 1, 1, 2)), x, (1, 1, 1, 2))
    array([[[[1., 3.]]]])
    """
    shape = shape_given(shape, "conv2d_grad_weight")
    options = stride, padding, dilation, groups
    geometry = geometry_of_cotangent("conv2d_grad_weight", g, shape_of(x), shape, options)
    (g, x), dtype = prepared(g, x)
    gw = _grad_weight(_images(g), _images(x), shape, geometry)
    return gw if dtype is None else gw.astype(dtype)


def conv2d_grad_bias(g: Any) -> Any:
    """The cotangent of the bias of `conv2d`: that of the output summed over images and positions.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.conv2d_grad_bias(np.ones((2, 3, 4, 4)))
    array([32., 32., 32.])
    """
    if len(shape_of(g)) < 3:
        raise wrong_shape("conv2d_grad_bias", "g", shape_of(g), "(..., out, height, width)")
    (g,), dtype = prepared(g)
    gb = _grad_bias(_images(g))
    return gb if dtype is None else gb.astype(dtype)


def _images(x: Any) -> Any:
    """`x` with exactly one axis in front of its channels."""
    return x if x.ndim == 4 else np.reshape(x, (math.prod(x.shape[:-3]), *x.shape[-3:]))


def _finished(y: Any, bias: list[Any], shape: Shape, dtype: Any) -> Any:
    """`y` with its bias, if there is one, in the leading shape and the dtype of the input."""
    for b in bias:
        y = _add_bias(y, b)
    if len(shape) != 4:
        y = np.reshape(y, shape)
    return y if dtype is None else y.astype(dtype)
