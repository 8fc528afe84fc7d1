"""What a convolution or a window may be given: pairs, padding, sizes that fit, and its errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from npgrad.kernels import conv2d as kernels
from npgrad.kernels.conv2d import Geometry
from npgrad.nn._declare import shape_of, wrong_shape

__all__ = [
    "check_bias",
    "geometry_of",
    "geometry_of_cotangent",
    "one_of",
    "pair_of",
    "shape_given",
    "sides_of",
]

Shape = tuple[int, ...]


def pair_of(value: Any, name: str, what: str, least: int) -> tuple[int, int]:
    """An int or a pair of ints, each at least `least`."""
    given = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    pair = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
    if len(pair) != 2 or any(not _is_int(v) or v < least for v in pair):
        raise ValueError(
            f"npgrad.nn.{name}: {what} is an int or a pair of ints >= {least}: {value!r}"
        )
    return int(pair[0]), int(pair[1])


def one_of(value: Any, name: str, what: str, least: int) -> int:
    """An int of at least `least`."""
    if not _is_int(value) or value < least:
        raise ValueError(f"npgrad.nn.{name}: {what} is an int >= {least}: {value!r}")
    return int(value)


def shape_given(shape: Any, name: str) -> Shape:
    """A shape that is a parameter."""
    if not isinstance(shape, (tuple, list, np.ndarray)) or not all(map(_is_int, shape)):
        raise TypeError(f"npgrad.nn.{name}: shape is a tuple of ints, not {shape!r}")
    return tuple(int(n) for n in shape)


def _is_int(value: Any) -> bool:
    """Whether `value` is a whole number of an integer type."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def sides_of(
    padding: Any, name: str, extent: Shape, filters: Shape, stride: Any, dilation: Any
) -> tuple[int, int, int, int]:
    """Padding as (top, bottom, left, right)."""
    if isinstance(padding, str):
        if padding == "valid":
            return 0, 0, 0, 0
        if padding != "same":
            raise ValueError(
                f"npgrad.nn.{name}: padding is numbers, 'same' or 'valid': {padding!r}"
            )
        sides: list[int] = []
        for n, k, s, d in zip(extent[-2:], filters[-2:], stride, dilation, strict=True):
            total = max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
            sides += [total // 2, total - total // 2]
        return sides[0], sides[1], sides[2], sides[3]
    if isinstance(padding, (int, np.integer)):
        padding = (padding, padding)
    if not isinstance(padding, (tuple, list, np.ndarray)) or len(padding) != 2:
        raise ValueError(
            f"npgrad.nn.{name}: padding is an int, a pair, or a pair of pairs: {padding!r}"
        )
    vertical = pair_of(padding[0], name, "padding", 0)
    horizontal = pair_of(padding[1], name, "padding", 0)
    return (*vertical, *horizontal)


def geometry_of(
    name: str,
    x: Shape,
    w: Shape,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> tuple[Geometry, tuple[int, int]]:
    """The checked geometry of a convolution and the size of its output."""
    if type(stride) is type(padding) is type(dilation) is type(groups) is int:
        return _of_numbers(name, x, w, stride, padding, dilation, groups)
    return _checked(name, x, w, stride, padding, dilation, groups)


def _checked(
    name: str,
    x: Shape,
    w: Shape,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> tuple[Geometry, tuple[int, int]]:
    """See `geometry_of`."""
    if len(w) != 4:
        raise wrong_shape(name, "w", w, "(out, channels / groups, height, width)")
    if len(x) < 3:
        raise wrong_shape(name, "x", x, "(..., channels, height, width)")
    groups = one_of(groups, name, "groups", 1)
    if 0 in w:
        raise wrong_shape(name, "w", w, "at least one filter, channel, row and column")
    if w[0] % groups:
        raise wrong_shape(name, "w", w, f"a number of filters divisible by {groups} groups")
    if x[-3] != w[1] * groups:
        wanted = f"(..., {w[1] * groups}, height, width): w {w} in {groups} groups"
        raise wrong_shape(name, "x", x, wanted)
    stride, dilation = pair_of(stride, name, "stride", 1), pair_of(dilation, name, "dilation", 1)
    sides = sides_of(padding, name, x, w, stride, dilation)
    geometry = Geometry(stride, *sides, dilation, groups)
    size = kernels.out_size((1, *x[-3:]), w, geometry)
    if min(size) < 1:
        wanted = f"an extent that a filter of {w} with dilation {dilation} fits into"
        raise wrong_shape(name, "x", x, wanted)
    return geometry, size


_of_numbers = functools.lru_cache(1024)(_checked)  # a layer is called again: 30 calls for one


def geometry_of_cotangent(
    name: str, g: Any, x: Shape, w: Shape, options: tuple[Any, ...]
) -> Geometry:
    """The geometry of the convolution that `g` is a cotangent of; `g` has its output's shape."""
    geometry, size = geometry_of(name, x, w, *options)
    output = (*x[:-3], w[0], *size)
    if shape_of(g) != output:
        raise wrong_shape(name, "g", shape_of(g), f"{output}, that of the output")
    return geometry


def check_bias(name: str, b: Any, out: int) -> None:
    """A bias has one number for each output channel."""
    if b is not None and shape_of(b) != (out,):
        raise wrong_shape(name, "b", shape_of(b), f"({out},), one for each output channel")
