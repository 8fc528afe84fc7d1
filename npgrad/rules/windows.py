"""Pieces of an array, which are views, and windows that slide over it.

Rules may use ``g``, ``shape`` and NumPy's own parameter names; g may carry leading batch axes, so
axes are counted from the end.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.indexing import Axes, as_array, axes_tuple, positive_axis
from npgrad.table import composed, linear

Array = Any
Shape = tuple[int, ...]


# ------------------------------------------------------------------------------ pieces and windows
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """``np.array_split``: slices, which are views."""
    ary = as_array(ary)
    axis = positive_axis(axis, ary.ndim)
    length = ary.shape[axis]
    if np.ndim(indices_or_sections):
        cuts = [0, *indices_or_sections, length]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        size, longer = divmod(length, sections)
        cuts = [i * size + min(i, longer) for i in range(sections + 1)]
    before = (slice(None),) * axis
    return [ary[(*before, slice(a, b))] for a, b in itertools.pairwise(cuts)]


composed(np.array_split, array_split)
composed(np.split)  # checks, then array_split
composed(np.hsplit)
composed(np.vsplit)
composed(np.dsplit)
if hasattr(np, "unstack"):  # NumPy 2.1
    composed(np.unstack)


def trim_zeros(filt: Any, trim: str = "fb", axis: Axes = None) -> Array:
    """``np.trim_zeros``: which zeros go is read from the values, which are then cut out."""
    filt = as_array(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    places = np.nonzero(filt)
    axes = range(filt.ndim) if axis is None else axes_tuple(axis, filt.ndim)
    index = [slice(None)] * filt.ndim
    for one in axes:
        found = places[one]
        start, stop = (int(found.min()), int(found.max()) + 1) if found.size else (0, 0)
        index[one] = slice(start if "f" in trim else None, stop if "b" in trim else None)
    if not places[0].size and trim == "f":  # all of it is in front
        for one in axes:
            index[one] = slice(filt.shape[one], None)
    return filt[tuple(index)]


composed(np.trim_zeros, trim_zeros)


@primitive
def overlap_add(g: Array, axis: int) -> Array:
    """The windows in the last axis of `g` added up where they overlap along `axis`.

    `axis` is negative and counts in the result. The loop runs over the window or over the
    positions, whichever is fewer: at most the square root of ``g.size`` steps.
    """
    windows = np.moveaxis(g, axis - 1, -2)
    count, width = windows.shape[-2:]
    out = np.zeros_like(windows, shape=(*windows.shape[:-2], count + width - 1))
    if width <= count:
        for j in range(width):
            out[..., j : j + count] += windows[..., j]
    else:
        for i in range(count):
            out[..., i : i + width] += windows[..., i, :]
    return np.moveaxis(out, -1, axis)


sliding_window_view = np.lib.stride_tricks.sliding_window_view


def windows_of(g: Array, shape: Shape, axis: int) -> Array:
    """Transpose of `overlap_add`; there are no windows of an array shorter than they are."""
    if 0 in shape:
        return np.zeros_like(g, shape=g.shape[: g.ndim - len(shape) + 1] + shape)
    return sliding_window_view(g, shape[-1], axis=axis)


linear(overlap_add, transpose=windows_of, batched=True)


def unslide(g: Array, shape: Shape, window_shape: Any, axis: Axes) -> Array:
    """Transpose of ``sliding_window_view``: what several windows saw adds up, an axis at a time."""
    count = len(window_shape) if hasattr(window_shape, "__len__") else 1
    ndim = len(shape)
    axes = range(-ndim, 0) if axis is None else axes_tuple(axis, ndim)
    for left, one in enumerate(reversed(axes)):
        g = overlap_add(g, one - (count - 1 - left))
    return g


linear(
    sliding_window_view,
    transpose=unslide,
    ignores=("subok",),  # writeable=True is refused: which of the overlapping writes counts?
    batched=True,
    view=True,
)
