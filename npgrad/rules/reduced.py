"""What every rule of a reduction needs: axes put back, counts, masks. No decision lives here.

NumPy removes the reduced axes from a result (unless ``keepdims``); a cotangent gets them back, of
length one, before it meets the array. Extra leading axes of a batched cotangent stay in front.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Shape = tuple[int, ...]


def given(value: Any) -> bool:
    """Whether an optional argument was given: neither NumPy's own "no value" nor None."""
    return value is not np._NoValue and value is not None


def selecting(where: Any) -> bool:
    """Whether a ``where=`` leaves anything out: it was given, and is not simply True."""
    return where is not np._NoValue and where is not True


def options(**values: Any) -> dict[str, Any]:
    """The keywords that were given, to be passed on."""
    return {name: value for name, value in values.items() if value is not np._NoValue}


def reduced_axes(axis: Any, ndim: int) -> Shape:
    """The axes that are reduced, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(int(a) % ndim for a in axes) if ndim else ()  # a 0-d array allows axis 0 and -1


def axes_of(g: Any, axis: Any, ndim: int) -> Any:
    """`axis` of an array of `ndim` axes, for a tangent `g` of it that may have batch axes more."""
    if g.ndim == ndim:
        return axis
    return tuple(a - ndim for a in reduced_axes(axis, ndim))


def kept_shape(shape: Shape, axis: Any) -> Shape:
    """`shape` with the reduced axes of length one, as ``keepdims`` leaves it."""
    if axis is None:
        return (1,) * len(shape)
    kept = list(shape)
    for a in reduced_axes(axis, len(shape)):
        kept[a] = 1
    return tuple(kept)


def extent(shape: Shape, axis: Any) -> int:
    """How many elements make one element of the result."""
    n = 1
    for a in reduced_axes(axis, len(shape)):
        n *= shape[a]
    return n


def restore(g: Any, shape: Shape, axis: Any, keepdims: Any = False) -> Any:
    """`g`, of the shape of a reduction, with the reduced axes of `shape` back as length one.

    A scalar stays one: it broadcasts as it is, and a reshape would cost as much as the product.
    """
    if keepdims is not np._NoValue and keepdims:
        return g
    have = g.shape
    if axis is None:
        return g.reshape(have + (1,) * len(shape)) if have else g
    if type(axis) is int and len(have) + 1 == len(shape):  # the everyday case, in half the time
        if axis < 0:
            axis += len(shape)
        return g.reshape((*shape[:axis], 1, *shape[axis + 1 :]))
    kept = kept_shape(shape, axis)
    batch = len(have) - len(shape) + len(reduced_axes(axis, len(shape)))
    return g.reshape(have[:batch] + kept)


def spread(g: Any, shape: Shape, axis: Any, keepdims: Any = False) -> Any:
    """`g` repeated along the reduced axes: the transpose of a sum."""
    g = restore(g, shape, axis, keepdims)
    if 0 in shape:  # an empty axis would look like one to be summed away
        have = g.shape
        return np.broadcast_to(g, have[: max(len(have) - len(shape), 0)] + shape)
    return g  # the graph repeats it to its input's shape


def sum_to(x: Any, shape: Shape) -> Any:
    """`x` summed over the axes that broadcasting gave an array of `shape`, which stay as one."""
    axes = tuple(a for a in range(-len(shape), 0) if shape[a] == 1 != x.shape[a])
    return np.sum(x, axis=axes, keepdims=True) if axes else x


def over(g: Any, n: int) -> Any:
    """`g` / `n`, where `n` may be more than float16 can hold (65504)."""
    if n == 0:
        return g  # a mean of nothing; its gradient has no elements
    return g / n if n < 60000 else g * (1.0 / n)


def share(mask: Any, axis: Any, dtype: Any) -> Any:
    """1 / (how many are True along `axis`), in `dtype`, with the axes kept; 1 where none is.

    Counted in integers and inverted in float64: float16 counts overflow at 65520 ties.
    """
    count = np.maximum(np.sum(mask, axis=axis, keepdims=True), 1)
    return (1.0 / count).astype(dtype)


def keep_zeros(g: Any, moved: Any, y: Any) -> Any:
    """`moved`, products with `g`: 0 where `g` is, also if `y` is not finite and so 0 met inf.

    A line that was masked away after the reduction must not poison the gradient.
    """
    return moved if np.isfinite(y).all() else np.where(g == 0, 0, moved)


def in_front(x: Any, axis: Any, shape: Shape) -> Any:
    """`x` with the reduced axes flattened into one in front: ``(n, *rest)``."""
    axes = reduced_axes(axis, len(shape))
    if len(axes) == len(shape):
        return x.reshape(-1)
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    moved = x.transpose(axes + rest)
    return moved if len(axes) == 1 else moved.reshape((-1, *moved.shape[len(axes) :]))


def back_in_place(x: Any, axis: Any, shape: Shape) -> Any:
    """Undo `in_front`: `x` of shape ``(n, *rest)`` laid out as `shape` again."""
    axes = reduced_axes(axis, len(shape))
    if len(axes) == len(shape):
        return x.reshape(shape)
    order = axes + tuple(a for a in range(len(shape)) if a not in axes)
    moved = x.reshape(tuple(shape[a] for a in order))
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return moved.transpose(inverse)


def into(out: Any, value: Any) -> Any:
    """`value`, written into ``out=`` where a composed function was given one."""
    if out is None:
        return value
    out[...] = value
    return out
