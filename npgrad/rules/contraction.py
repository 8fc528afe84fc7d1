"""Products and sums: dot, inner, outer, tensordot, kron, cross, multi_dot.

``einsum`` has its own chapter, as has what broadcasts, `matmul`. The rules are transposes; for
complex numbers the graph conjugates round them, except for vdot, which conjugates an argument
itself: its rules are adjoints under Re(vdot), and not holomorphic.

Speed: no transposed copy is made where BLAS can read the transposed view, and of two orders of a
product the one is taken that leaves the result in its place.

Rules may use ``g``, ``shape`` and NumPy's own parameter names. ``g`` may carry leading batch axes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.indexing import as_array, into, positive_axis
from npgrad.rules.matmul import conj, last
from npgrad.table import bilinear, composed, reverse

Array = Any
Shape = tuple[int, ...]


def ndim_of(value: Any) -> int:
    """Dimensions of an operand that may be a Python number."""
    return getattr(value, "ndim", 0)


# ------------------------------------------------------------------------- tensordot, dot, inner
def tensordot_axes(axes: Any, ndim_a: int, ndim_b: int) -> tuple[list[int], list[int]]:
    """The summed axes of both operands, pair by pair, counted from the front."""
    if not hasattr(axes, "__len__"):
        count = int(axes)
        return list(range(ndim_a - count, ndim_a)), list(range(count))
    first, second = (list(one) if hasattr(one, "__len__") else [one] for one in axes)
    return [axis % ndim_a for axis in first], [axis % ndim_b for axis in second]


def back_through_tensordot(
    g: Array, other: Array, ndim: int, mine: list[int], its: list[int], g_axes: list[int]
) -> Array:
    """Sum g with `other` over the axes that only `other` had, axes put back into their places.

    ``mine`` and ``its`` are the axes that the product summed; ``g_axes``, negative, are where g
    has the free axes of `other`.
    """
    free = [axis for axis in range(other.ndim) if axis not in its]
    kept = [axis for axis in range(ndim) if axis not in mine]
    summed = [mine[i] for i in sorted(range(len(its)), key=its.__getitem__)]
    batched = g.ndim > len(free) + len(kept)
    if not batched and kept and summed and summed[0] < kept[0]:  # leaves no transposed result
        product, have = np.tensordot(other, g, (free, g_axes)), summed + kept
    else:
        product, have = np.tensordot(g, other, (g_axes, free)), kept + summed
    if have == sorted(have):
        return product
    batch = product.ndim - ndim
    return product.transpose((*range(batch), *(batch + have.index(axis) for axis in range(ndim))))


def tensordot_left(g: Array, b: Array, shape: Shape, axes: Any) -> Array:
    """The free axes of b stand at the end of g."""
    mine, its = tensordot_axes(axes, len(shape), b.ndim)
    return back_through_tensordot(g, b, len(shape), mine, its, list(last(b.ndim - len(its))))


def tensordot_right(g: Array, a: Array, shape: Shape, axes: Any) -> Array:
    """The free axes of a stand before those of b."""
    its, mine = tensordot_axes(axes, a.ndim, len(shape))
    stop = -(len(shape) - len(mine))
    return back_through_tensordot(
        g, a, len(shape), mine, its, list(range(stop - a.ndim + len(its), stop))
    )


bilinear(np.tensordot, tensordot_left, tensordot_right, batched=True)
composed(np.linalg.tensordot)


def dot_left(g: Array, b: Any, shape: Shape) -> Array:
    """``np.dot`` sums the last axis of a with the last but one of b."""
    if not shape or not ndim_of(b):
        return g * b
    if b.ndim == 1:
        return g * b if g.ndim == 0 else g[..., None] * b
    if b.ndim == 2 and len(shape) <= 2:
        return g @ b.swapaxes(0, 1)
    return tensordot_left(g, b, shape, ((len(shape) - 1,), (b.ndim - 2,)))


def dot_right(g: Array, a: Any, shape: Shape) -> Array:
    """See `dot_left`."""
    if not shape or not ndim_of(a):
        return g * a
    if a.ndim == 1 and len(shape) == 1:
        return g * a if g.ndim == 0 else g[..., None] * a
    if a.ndim == 2 and len(shape) <= 2:
        return g @ a if len(shape) == 1 else a.swapaxes(0, 1) @ g
    return tensordot_right(g, a, shape, ((a.ndim - 1,), (max(len(shape) - 2, 0),)))


def inner_left(g: Array, b: Any, shape: Shape) -> Array:
    """``np.inner`` sums both last axes."""
    if not shape or not ndim_of(b):
        return g * b
    if b.ndim == 1:
        return g * b if g.ndim == 0 else g[..., None] * b
    if b.ndim == 2 and len(shape) <= 2:
        return g @ b
    return tensordot_left(g, b, shape, ((len(shape) - 1,), (b.ndim - 1,)))


def inner_right(g: Array, a: Any, shape: Shape) -> Array:
    """See `inner_left`."""
    if not shape or not ndim_of(a):
        return g * a
    if a.ndim == 1:
        return g * a if g.ndim == 0 else g[..., None] * a
    if a.ndim == 2 and len(shape) == 1:
        return g @ a
    if a.ndim == 2 and len(shape) == 2:
        return g.swapaxes(-1, -2) @ a
    return tensordot_right(g, a, shape, ((a.ndim - 1,), (len(shape) - 1,)))


bilinear(np.dot, dot_left, dot_right, signature="a, b, out=None", batched=True)
bilinear(np.inner, inner_left, inner_right, signature="a, b, /", batched=True)

# vdot(a, b) = sum(conj(a) b), both flattened: <g, dy> = Re(conj(g) conj(da) b) + Re(conj(g a) db).
reverse(
    np.vdot,
    {
        "a": lambda g, b, shape: (conj(g)[..., None] * np.ravel(b)).reshape(g.shape + shape),
        "b": lambda g, a, shape: (g[..., None] * np.ravel(a)).reshape(g.shape + shape),
    },
    {
        "a": lambda g, b, shape: (
            conj(g).reshape((*g.shape[: g.ndim - len(shape)], -1)) @ np.ravel(b)
        ),
        "b": lambda g, a, shape: (
            g.reshape((*g.shape[: g.ndim - len(shape)], -1)) @ conj(np.ravel(a))
        ),
    },
    signature="a, b, /",
    holomorphic=False,
    batched=True,
    product=True,
)


# --------------------------------------------------------------------------------- outer and kron
bilinear(
    np.outer,
    lambda g, b, shape: (g @ np.ravel(b)).reshape(g.shape[:-2] + shape),
    lambda g, a, shape: (np.ravel(a) @ g).reshape(g.shape[:-2] + shape),
    signature="a, b, out=None",
    batched=True,
)


def linalg_outer(x1: Any, x2: Any, /) -> Array:
    """``np.linalg.outer``: vectors only."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x1.ndim} and x2.ndim={x2.ndim}."
        )
    return np.outer(x1, x2)


composed(np.linalg.outer, linalg_outer)


def kron_part(g: Array, other: Any, shape: Shape, own: int) -> Array:
    """Axes of g come in pairs, one of each factor: those of `other` are summed with it."""
    its = getattr(other, "shape", ())
    ndim = max(len(shape), len(its))
    if not shape or not its:
        return g * other
    mine = (1,) * (ndim - len(shape)) + shape
    padded = (1,) * (ndim - len(its)) + its
    batch = g.shape[: g.ndim - ndim]
    pairs = zip(mine, padded, strict=True) if own == 0 else zip(padded, mine, strict=True)
    apart = g.reshape(batch + tuple(extent for pair in pairs for extent in pair))
    summed = [-2 * ndim + 2 * axis + 1 - own for axis in range(ndim)]
    part = np.tensordot(apart, other.reshape(padded), (summed, list(range(ndim))))
    return part.reshape(batch + shape)


bilinear(
    np.kron,
    lambda g, b, shape: kron_part(g, b, shape, 0),
    lambda g, a, shape: kron_part(g, a, shape, 1),
    batched=True,
)


# ------------------------------------------------------------------------------------------ cross
@primitive
def cross_last(a: Array, b: Array) -> Array:
    """Cross products of vectors of three in the last axes."""
    return np.cross(a, b)


# <g, da x b> = <b x g, da> and <g, a x db> = <g x a, db>
bilinear(
    cross_last,
    lambda g, b: cross_last(b, g),
    lambda g, a: cross_last(g, a),
    batched=True,
    sums=False,
)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """``np.cross``; vectors of two, deprecated by NumPy, have a third component of zero."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a = a if axisa == -1 else np.moveaxis(a, positive_axis(axisa, a.ndim), -1)
    b = b if axisb == -1 else np.moveaxis(b, positive_axis(axisb, b.ndim), -1)
    lengths = a.shape[-1], b.shape[-1]
    if not {*lengths} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if lengths == (3, 3):
        product = cross_last(a, b)
        return product if axisc == -1 else np.moveaxis(product, -1, axisc)
    warnings.warn(
        "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
        "instead. (deprecated in NumPy 2.0)",
        DeprecationWarning,
        stacklevel=4,
    )
    if lengths == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    third = [np.zeros_like(v[..., :1]) for v in (a, b)]
    a = a if lengths[0] == 3 else np.concatenate([a, third[0]], -1)
    b = b if lengths[1] == 3 else np.concatenate([b, third[1]], -1)
    return np.moveaxis(cross_last(a, b), -1, axisc)


def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """``np.linalg.cross``: vectors of three only."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)


composed(np.cross, cross)
composed(np.linalg.cross, linalg_cross)


# -------------------------------------------------------------------------------------- multi_dot
def chain_order(extents: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each part of a chain of matrices for the fewest multiplications.

    Dynamic programming, as in Cormen et al., Introduction to Algorithms, 15.2; ties go to the
    first split, as in NumPy.
    """
    count = len(extents) - 1
    cost = {(i, i): 0.0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1]
                for k in range(i, j)
            ]
            cost[i, j] = min(costs)
            split[i, j] = i + costs.index(cost[i, j])
    return split


def multi_dot(arrays: Any, *, out: Any = None) -> Array:
    """``np.linalg.multi_dot``: the products that NumPy chooses, each a ``np.dot``."""
    matrices = [as_array(array) for array in arrays]
    if len(matrices) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, final = matrices[0].ndim, matrices[-1].ndim
    if len(matrices) == 2:
        return into(out, np.dot(matrices[0], matrices[1]))
    if first == 1:
        matrices[0] = matrices[0].reshape(1, -1)
    if final == 1:
        matrices[-1] = matrices[-1].reshape(-1, 1)
    for matrix in matrices:
        if matrix.ndim != 2:
            raise np.linalg.LinAlgError(
                f"{matrix.ndim}-dimensional array given. Array must be two-dimensional"
            )
    extents = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    if len(matrices) == 3:  # NumPy decides between two orders, and takes the second at a tie
        n0, n1, n2, n3 = extents
        left_first = n0 * n2 * (n1 + n3) < n1 * n3 * (n0 + n2)
        split = {(0, 2): 1 if left_first else 0, (0, 1): 0, (1, 2): 1}
    else:
        split = chain_order(extents)

    def product(i: int, j: int) -> Array:
        if i == j:
            return matrices[i]
        k = split[i, j]
        return np.dot(product(i, k), product(k + 1, j))

    result = product(0, len(matrices) - 1)
    if first == 1 or final == 1:
        result = result.reshape(result.shape[1 if first == 1 else 0 : 1 if final == 1 else 2])
        result = result if result.shape else result[()]
    return into(out, result)


composed(np.linalg.multi_dot, multi_dot)
