"""Discrete cosine and sine transforms: one linear operation, whose transpose is one of them.

Along an axis such a transform is a matrix ``scale * out * M * inner``, with M one of eight in
SciPy's unnormalised form, and ``inner`` and ``out`` the diagonal factors by which ``orthogonalize``
makes it orthogonal. The transpose of M is M itself or that of another type, between two diagonals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ..table import linear
from ._declare import array_of, as_imported, operation, stand_in

__all__ = ["INVERSE", "TURNED", "along_axes", "along_axis", "fitted", "resized"]

original: Any = as_imported(scipy.fft)

Array = Any
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
# The scale of a transform the other way round.
TURNED: dict[Any, Any] = {
    None: "forward",
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}
_HALF, _ROOT, _ROOT_HALF = 0.5, 2.0**0.5, 0.5**0.5


def _ends(size: int, first: float, middle: float, last: float) -> Array:
    """The diagonal of a matrix whose first and last entries are others than those between."""
    diagonal = np.full(size, float(middle))
    diagonal[-1], diagonal[0] = last, first
    return diagonal


def _diagonals(kind: str, type: int, size: int, orthogonal: bool) -> tuple[Array, Array]:
    """What the transpose multiplies by before and after the transform of the inverse type."""
    before, after = np.ones(size), np.ones(size)
    end = 0 if kind == "dct" else -1  # the frequency that is counted once
    if type == 1 and kind == "dct":
        before, after = _ends(size, 1, _HALF, 1), _ends(size, 1, 2, 1)
        if orthogonal:
            before, after = (
                before * _ends(size, _ROOT_HALF, 1, _ROOT_HALF),
                after * _ends(size, _ROOT, 1, _ROOT),
            )
    elif type == 2:
        before[end] = 2 * _ROOT_HALF if orthogonal else 2
    elif type == 3:
        after[end] = _HALF * _ROOT if orthogonal else _HALF
    return before, after


@operation("scipy.fft.dctn")
def _cosines(
    x: Array, kind: str, type: int, axes: tuple[int, ...], norm: Any, orthogonalize: Any
) -> Array:
    """SciPy's ``dctn`` or ``dstn``, as `kind` says; `axes` are counted from the last."""
    transform = original.dctn if kind == "dct" else original.dstn
    return transform(x, type, axes=axes, norm=norm, orthogonalize=orthogonalize)


def _transposed(
    g: Array, kind: str, type: int, axes: tuple[int, ...], norm: Any, orthogonalize: Any
) -> Array:
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    real = np.finfo(g.dtype).dtype
    befores, afters = [], []
    for axis in axes:
        shape = (-1,) + (1,) * (-axis - 1)
        before, after = _diagonals(kind, type, g.shape[axis], orthogonal)
        befores.append(before.astype(real).reshape(shape))
        afters.append(after.astype(real).reshape(shape))
    for before in befores:
        g = g * before
    g = _cosines(g, kind, INVERSE[type], axes, norm, False)
    for after in afters:
        g = g * after
    return g


linear(_cosines, transpose=_transposed, batched=True)


def resized(x: Array, size: int | None, axis: int) -> Array:
    """`x` cut, or filled with zeros, to `size` along an axis counted from the last."""
    if size is None or size == x.shape[axis]:
        return x
    if size < 1:
        raise ValueError(f"invalid number of data points ({size}) specified")
    if size < x.shape[axis]:
        return x[(..., slice(size), *(slice(None),) * (-axis - 1))]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, size - x.shape[axis])
    return np.pad(x, widths)


def fitted(x: Array, s: Any, axes: Any) -> tuple[Array, tuple[int, ...]]:
    """`x` with the sizes `s`, and the axes they are of, counted from the last."""
    s, axes = ((v,) if isinstance(v, (int, np.integer)) else v for v in (s, axes))
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = [int(axis) for axis in axes]
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise ValueError("axes exceeds dimensionality of input")
    axes = [axis % x.ndim - x.ndim for axis in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("all axes must be unique")
    if s is not None:
        if len(s) != len(axes):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        for axis, size in zip(axes, s, strict=True):
            x = resized(x, None if size == -1 else int(size), axis)
    return x, tuple(axes)


def _check(type: int, norm: Any) -> None:
    if type not in INVERSE:
        raise ValueError("invalid type; must be one of (1, 2, 3, 4)")
    if norm not in TURNED:
        raise ValueError(f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'")


def along_axis(name: str) -> Any:
    """``dct``, ``dst`` or the inverse of one."""
    kind, inverse = name[-3:], name.startswith("i")

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        x = array_of(x)
        _check(type, norm)
        x, axes = fitted(x, None if n is None else (n,), (axis,))
        if inverse:
            type, norm = INVERSE[type], TURNED[norm]
        return _cosines(x, kind, type, axes, norm, orthogonalize)

    return transform


def along_axes(name: str) -> Any:
    """``dctn``, ``dstn`` or the inverse of one."""
    kind, inverse = name[-4:-1], name.startswith("i")

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        x = array_of(x)
        _check(type, norm)
        x, axes = fitted(x, s, axes)
        if inverse:
            type, norm = INVERSE[type], TURNED[norm]
        return _cosines(x, kind, type, axes, norm, orthogonalize) if axes else x

    return transform
