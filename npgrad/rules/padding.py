"""``np.pad``: every mode, every form of the widths.

==========================================  ======================================================
constant, empty                             a primitive; the transpose cuts the inner part out
edge, wrap, even reflect and symmetric      a primitive: each border entry is a copy of an inner
                                            one; the transpose folds the border back and adds
linear_ramp, statistics, odd reflections    joined from slices, an axis after the other as in NumPy
a function                                  called on the lines of a padded array, as NumPy does
==========================================  ======================================================

``constant_values`` and ``end_values`` may be recorded when the array is; a plain array with
recorded ones never gets here, because NumPy dispatches on the array alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.implementations import add_at
from npgrad.primitives import primitive
from npgrad.rules.indexing import as_array, in_order
from npgrad.table import composed, linear

Array = Any
Pair = tuple[Any, Any]
Widths = tuple[tuple[int, int], ...]

KEYWORDS = {
    "empty": (),
    "edge": (),
    "wrap": (),
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}


# ------------------------------------------------------------------------------------- primitives
def everywhere(widths: Widths, ndim: int) -> Widths:
    """`widths` for an array with batch axes in front, which are not padded."""
    return ((0, 0),) * (ndim - len(widths)) + widths


@primitive
def pad_constant(array: Array, widths: Widths, values: Any = 0) -> Array:
    """A border of plain constants; they are no part of the linear map."""
    return np.pad(array, everywhere(widths, array.ndim), constant_values=values)


@primitive
def pad_copies(array: Array, widths: Widths, mode: str) -> Array:
    """A border of copies of inner entries."""
    return np.pad(array, everywhere(widths, array.ndim), mode=mode)  # type: ignore[call-overload]


@primitive
def fold_copies(g: Array, widths: Widths, mode: str) -> Array:
    """Transpose of `pad_copies`: what stands in the border is added where it was copied from."""
    for place, (left, right) in enumerate(widths):
        if not left and not right:
            continue
        axis = place - len(widths)
        length = g.shape[axis] - left - right
        after = (slice(None),) * (-1 - axis)
        source = np.pad(np.arange(length), (left, right), mode=mode)  # type: ignore[call-overload]
        inner = g[(..., slice(left, left + length), *after)].copy()
        for border in (slice(0, left), slice(left + length, None)):
            index = source[border]
            part = g[(..., border, *after)]
            if mode == "edge" and index.size:
                inner[(..., slice(index[0], index[0] + 1), *after)] += part.sum(
                    axis=axis, keepdims=True
                )
            elif len(set(index.tolist())) == index.size:
                inner[(..., index, *after)] += part
            else:
                add_at(inner, (..., index, *after), part)
        g = inner
    return g


def crop(g: Array, shape: tuple[int, ...], widths: Widths) -> Array:
    """Transpose of `pad_constant`: the inner part."""
    own = shape[len(shape) - len(widths) :]  # what is padded may have batch axes in front itself
    inner = (slice(left, left + n) for (left, _), n in zip(widths, own, strict=True))
    return g[(..., *inner)]


linear(
    pad_constant,
    transpose=crop,
    forward=lambda g, widths: pad_constant(g, widths),
    ignores=("values",),
    batched=True,
)
linear(
    pad_copies,
    transpose=lambda g, widths, mode: fold_copies(g, widths, mode),
    batched=True,
)
linear(
    fold_copies,
    transpose=lambda g, widths, mode: pad_copies(g, widths, mode),
    batched=True,
)


# -------------------------------------------------------------------------- NumPy's short forms
def int_pairs(values: Any, ndim: int, name: str) -> Widths:
    """Widths or lengths, a pair for each axis, from any of NumPy's forms."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be of integral type.")
    pairs = np.broadcast_to(given, (ndim, 2))
    if given.size and given.min() < 0:
        raise ValueError("index can't contain negative values")
    return tuple((int(before), int(after)) for before, after in pairs)


def pad_widths(pad_width: Any, ndim: int) -> Widths:
    """``pad_width``, which can also be a dictionary of axes."""
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = pairs or np.zeros((0, 2), int)
    return int_pairs(pad_width, ndim, "pad_width")


def is_plain(values: Any) -> bool:
    """Whether numbers, lists or NumPy's own arrays only: nothing that could be recorded."""
    if isinstance(values, list | tuple):
        return all(is_plain(value) for value in values)
    return isinstance(values, np.ndarray | np.generic | int | float | complex)


def value_pairs(values: Any, ndim: int) -> list[Pair]:
    """Fill values, a pair for each axis, from NumPy's forms with recorded numbers in them."""
    if isinstance(values, list | tuple):
        rows = [as_array(value) for value in values] if not is_nested(values) else None
        if rows is None:
            pairs = [value_pairs(value, 1)[0] for value in values]
            return pairs * ndim if len(pairs) == 1 else pairs
        if len(rows) <= 2 and all(row.ndim == 0 for row in rows):
            return [(rows[0], rows[-1])] * ndim
        values = np.stack(rows)
    values = as_array(values)
    if values.ndim == 0:
        return [(values, values)] * ndim
    spread = np.broadcast_to(values, (ndim, 2))
    return [(spread[i, 0], spread[i, 1]) for i in range(ndim)]


def is_nested(values: Any) -> bool:
    """Whether lists stand in the list."""
    return any(isinstance(value, list | tuple) for value in values)


# ---------------------------------------------------------------------------- axis after axis
def part(array: Array, axis: int, start: int | None, stop: int | None, step: int = 1) -> Array:
    """A slice along one axis."""
    return array[(slice(None),) * axis + (slice(start, stop, step),)]


def along_axes(array: Array, widths: Widths, border: Callable[..., Pair]) -> Array:
    """`array` with ``border(array, axis, left, right)`` joined to both ends, an axis at a time."""
    for axis, (left, right) in enumerate(widths):
        if left or right:
            before, after = border(array, axis, left, right)
            pieces = [before] * bool(left) + [array] + [after] * bool(right)
            array = np.concatenate(pieces, axis)
    return array


def constant_border(values: list[Pair]) -> Callable[..., Pair]:
    """Recorded constants."""

    def border(array: Array, axis: int, left: int, right: int) -> Pair:
        ends = []
        for value, width in zip(values[axis], (left, right), strict=True):
            shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
            value = as_array(value)
            value = value if value.dtype == array.dtype else value.astype(array.dtype)
            ends.append(np.broadcast_to(value, shape))
        return ends[0], ends[1]

    return border


def ramp_border(values: list[Pair]) -> Callable[..., Pair]:
    """Straight lines from the edge to the end values."""

    def border(array: Array, axis: int, left: int, right: int) -> Pair:
        def ramp(end: Any, edge: Array, width: int) -> Array:
            return np.linspace(
                end, edge.squeeze(axis), width, endpoint=False, dtype=array.dtype, axis=axis
            )

        last = array.shape[axis] - 1
        before = ramp(values[axis][0], part(array, axis, 0, 1), left)
        after = ramp(values[axis][1], part(array, axis, last, None), right)
        return before, part(after, axis, None, None, -1)

    return border


def statistic_border(function: Callable[..., Array], lengths: list[Any]) -> Callable[..., Pair]:
    """A statistic of the entries next to the border."""

    def border(array: Array, axis: int, left: int, right: int) -> Pair:
        full = array.shape[axis]
        first, last = (full if n is None else min(n, full) for n in lengths[axis])
        if 0 in (first, last) and function in (np.max, np.min):
            raise ValueError("stat_length of 0 yields no value for padding")
        before = function(part(array, axis, 0, first), axis=axis, keepdims=True)
        after = function(part(array, axis, full - last, None), axis=axis, keepdims=True)

        def widen(value: Array, width: int) -> Array:
            shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
            return np.broadcast_to(value, shape)

        return widen(before, left), widen(after, right)

    return border


def odd_reflection(array: Array, widths: Widths, symmetric: bool) -> Array:
    """Reflections through the point at the edge: ``2 * edge - mirrored``, as often as needed."""
    for axis, (left, right) in enumerate(widths):
        period = array.shape[axis]
        if period == 1:  # NumPy repeats a single entry, whatever the type of reflection
            array = pad_copies(array, everywhere_but(axis, left, right, array.ndim), "edge")
            continue
        skip = 0 if symmetric else 1  # the edge itself is mirrored too
        while left or right:
            usable = period - skip
            chunk = (
                array.shape[axis] // period * period
                if symmetric
                else ((array.shape[axis] - 1) // usable * usable)
            )
            size = array.shape[axis]
            pieces = [array]
            if left:
                width = min(chunk, left)
                mirrored = part(array, axis, skip, skip + width)
                mirrored = part(mirrored, axis, None, None, -1)
                grown = 2 * part(array, axis, 0, 1) - mirrored
                pieces.insert(0, grown)
                left -= width
            if right:
                # NumPy mirrors the left border that it has just made too, when it is wide enough:
                # within `chunk` entries of the right end there are only older ones.
                width = min(chunk, right)
                stop = size - skip
                mirrored = part(array, axis, stop - width, stop)
                mirrored = part(mirrored, axis, None, None, -1)
                pieces.append(2 * part(array, axis, size - 1, None) - mirrored)
                right -= width
            array = np.concatenate(pieces, axis)
    return array


def everywhere_but(axis: int, left: int, right: int, ndim: int) -> Widths:
    """Widths of one axis alone."""
    return tuple((left, right) if i == axis else (0, 0) for i in range(ndim))


# --------------------------------------------------------------------------------------- np.pad
STATISTICS: dict[str, Callable[..., Array]] = {
    "maximum": np.max,
    "minimum": np.min,
    "mean": np.mean,
    "median": np.median,
}


def by_function(array: Array, widths: Widths, function: Any, keywords: dict[str, Any]) -> Array:
    """The user's function writes into the lines of a padded array."""
    padded = pad_constant(array, widths)
    for axis in range(padded.ndim):
        lines = np.moveaxis(padded, axis, -1)
        for at in np.ndindex(lines.shape[:-1]):
            function(lines[(*at, ...)], np.array(widths[axis]), axis, keywords)
    return padded


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """``np.pad``."""
    array = as_array(array)
    widths = pad_widths(pad_width, array.ndim)
    if not widths:
        return np.copy(array)
    if callable(mode):
        return by_function(array, widths, mode, kwargs)
    if mode not in KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    unsupported = set(kwargs) - set(KEYWORDS[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    if mode == "empty":
        return pad_constant(array, widths)
    if mode == "constant":
        values = kwargs.get("constant_values", 0)
        if is_plain(values):
            return pad_constant(array, widths, values)
        made = along_axes(array, widths, constant_border(value_pairs(values, array.ndim)))
        return in_order(made, array)
    if array.size == 0:
        for axis, width in enumerate(widths):
            if array.shape[axis] == 0 and any(width):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
        return pad_constant(array, widths)
    if mode == "linear_ramp":
        ends = value_pairs(kwargs.get("end_values", 0), array.ndim)
        return in_order(along_axes(array, widths, ramp_border(ends)), array)
    if mode in STATISTICS:
        length = kwargs.get("stat_length")
        lengths: Any = [(None, None)] * array.ndim
        if length is not None:
            lengths = int_pairs(length, array.ndim, "stat_length")
        made = along_axes(array, widths, statistic_border(STATISTICS[mode], lengths))
        return in_order(made, array)
    if kwargs.get("reflect_type", "even") == "odd":
        return odd_reflection(array, widths, mode == "symmetric")
    return pad_copies(array, widths, mode)


composed(np.pad, pad)
