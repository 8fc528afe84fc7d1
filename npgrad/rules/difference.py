"""Differences and what is made of them: diff, ediff1d, gradient, trapezoid.

`numpy.gradient` and `numpy.trapezoid` are differentiated by the spacing too, so their bodies are
NumPy's formulas on recorded arrays, operation for operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.indexing import as_array, in_memory, iterated
from npgrad.rules.reduced import given
from npgrad.rules.scan import along, from_end
from npgrad.table import composed, linear

NoValue = np._NoValue


# ------------------------------------------------------------------------------------------ diff
def length_of(part: Any, axis: int) -> int:
    """How much of `axis` a ``prepend`` or ``append`` takes: a number is one row."""
    if not given(part):
        return 0
    shape = np.shape(part)
    return shape[axis] if shape else 1


def undo_diff(g: Any, n: int, axis: int, length: int) -> Any:
    """The transpose of n differences of an array with `length` entries along `axis`."""
    if length <= n:
        return np.zeros_like(g, shape=resized(g.shape, axis, length))
    for _ in range(n):
        g = undo_one(g, axis)
    return g


def undo_one(g: Any, axis: int) -> Any:
    """``(-g0, g0 - g1, ..., g_last)``: the transpose of one difference."""
    first, last = along(axis, slice(None, 1)), along(axis, slice(-1, None))
    before, behind = g[along(axis, slice(None, -1))], g[along(axis, slice(1, None))]
    if type(g) is not np.ndarray:
        return np.concatenate((-g[first], before - behind, g[last]), axis=axis)
    out = np.empty(resized(g.shape, axis, g.shape[axis] + 1), g.dtype)
    np.negative(g[first], out=out[first])
    np.subtract(before, behind, out=out[along(axis, slice(1, -1))])
    out[last] = g[last]
    return out


def resized(shape: Any, axis: int, length: int) -> tuple[int, ...]:
    """`shape` with `length` along the negative `axis`."""
    at = len(shape) + axis
    return (*shape[:at], length, *shape[at + 1 :])


def diff_parts(g: Any, a: Any, n: int, axis: Any, prepend: Any, append: Any) -> list[Any]:
    """The cotangents of what was in front, of the array, and of what came behind."""
    axis = from_end(axis, len(a))
    before, after = length_of(prepend, axis), length_of(append, axis)
    length = a[axis]
    whole = undo_diff(g, n, axis, before + length + after)
    if not before and not after:
        return [None, whole, None]
    ends = (0, before, before + length, before + length + after)
    return [whole[along(axis, slice(ends[i], ends[i + 1]))] for i in range(3)]


def diff_tangent(g: Any, a: Any, n: int, axis: Any, prepend: Any, append: Any, part: int) -> Any:
    """The differences of a tangent of one part, with zeros for the others."""
    axis = from_end(axis, len(a))
    lengths = (length_of(prepend, axis), a[axis], length_of(append, axis))
    pieces = [np.zeros_like(g, shape=resized(a, axis, length)) for length in lengths]
    pieces[part] = np.broadcast_to(g, resized(a, axis, lengths[part]))
    return np.diff(np.concatenate(pieces, axis=axis), n=n, axis=axis)


@primitive
def differences(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = NoValue, append: Any = NoValue
) -> Any:
    """`numpy.diff` for n > 0."""
    ends = {"prepend": prepend, "append": append}  # CuPy does not know NumPy's sign for "not given"
    return np.diff(a, n, axis, **{k: v for k, v in ends.items() if v is not NoValue})


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NoValue, append: Any = NoValue) -> Any:
    """`numpy.diff`: no differences are the array itself, not a copy of it."""
    return as_array(a) if type(n) is int and n == 0 else differences(a, n, axis, prepend, append)


composed(np.diff, diff)
linear(
    differences,
    transpose={
        "a": lambda g, shape, n, axis, prepend, append: diff_parts(
            g, shape, n, axis, prepend, append
        )[1],
        "prepend": lambda g, a, n, axis, prepend, append: diff_parts(
            g, np.shape(a), n, axis, prepend, append
        )[0],
        "append": lambda g, a, n, axis, prepend, append: diff_parts(
            g, np.shape(a), n, axis, prepend, append
        )[2],
    },
    forward={
        "a": lambda g, shape, n, axis, prepend, append: diff_tangent(
            g, shape, n, axis, prepend, append, 1
        ),
        "prepend": lambda g, a, n, axis, prepend, append: diff_tangent(
            g, np.shape(a), n, axis, prepend, append, 0
        ),
        "append": lambda g, a, n, axis, prepend, append: diff_tangent(
            g, np.shape(a), n, axis, prepend, append, 2
        ),
    },
)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of the flattened array, with ends that must fit its dtype."""
    ary = np.ravel(as_array(ary))
    parts = [ary[1:] - ary[:-1]]
    for name, end, at in (("to_begin", to_begin, 0), ("to_end", to_end, 2)):
        if end is None:
            continue
        end = as_array(end)
        if not np.can_cast(end.dtype, ary.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        parts.insert(at, np.ravel(end).astype(ary.dtype))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


composed(np.ediff1d, ediff1d)


# -------------------------------------------------------------------------------------- gradient
def spacings(varargs: Any, shape: Any, axes: Any) -> list[Any]:
    """The step along each axis: a number, or the distances between its coordinates."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return list(varargs) * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    steps: list[Any] = []
    for axis, spacing in zip(axes, varargs, strict=True):
        if np.ndim(spacing) == 0:  # a Python number stays one: it leaves float32 alone
            steps.append(spacing)
            continue
        spacing = as_array(spacing)
        if spacing.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if spacing.shape[0] != shape[axis]:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
        distances = np.diff(spacing.astype(np.float64) if spacing.dtype.kind in "iu" else spacing)
        # NumPy takes equal distances for one number; recorded ones stay apart, since each of them
        # has a derivative of its own.
        plain = type(distances) is np.ndarray
        equal = plain and distances.size > 0 and bool(np.all(distances == distances[0]))
        steps.append(distances[0] if equal else distances)
    return steps


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """NumPy's formulas on slices, joined: second order inside, `edge_order` at both ends."""
    f = as_array(f)
    if f.dtype.kind in "iub":
        f = f.astype(np.float64)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(int(ax) % f.ndim for ax in axes)
    steps = spacings(varargs, f.shape, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    results = tuple(
        along_axis(f, ax, step, edge_order) for ax, step in zip(axes, steps, strict=True)
    )
    return results[0] if len(results) == 1 else results


def along_axis(f: Any, axis: int, step: Any, edge_order: int) -> Any:
    """The derivative of `f` along one axis."""
    n, axis = f.shape[axis], axis - f.ndim
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def at(start: int | None, stop: int | None) -> Any:
        return f[along(axis, slice(start, stop))]

    uniform = np.ndim(step) == 0
    if uniform:
        inside = (at(2, None) - at(None, -2)) / (2.0 * step)
    else:
        h1, h2 = step[:-1], step[1:]
        a = -(h2) / (h1 * (h1 + h2))
        b = (h2 - h1) / (h1 * h2)
        c = h1 / (h2 * (h1 + h2))
        shape = (-1,) + (1,) * (-axis - 1)
        a, b, c = a.reshape(shape), b.reshape(shape), c.reshape(shape)
        inside = a * at(None, -2) + b * at(1, -1) + c * at(2, None)
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / (step if uniform else step[0])
        last = (at(-1, None) - at(-2, -1)) / (step if uniform else step[-1])
    else:
        if uniform:
            a, b, c = -1.5 / step, 2.0 / step, -0.5 / step
        else:
            h1, h2 = step[0], step[1]
            a = -(2.0 * h1 + h2) / (h1 * (h1 + h2))
            b = (h1 + h2) / (h1 * h2)
            c = -h1 / (h2 * (h1 + h2))
        first = a * at(0, 1) + b * at(1, 2) + c * at(2, 3)
        if uniform:
            a, b, c = 0.5 / step, -2.0 / step, 1.5 / step
        else:
            h1, h2 = step[-2], step[-1]
            a = (h2) / (h1 * (h1 + h2))
            b = -(h2 + h1) / (h1 * h2)
            c = (2.0 * h2 + h1) / (h2 * (h1 + h2))
        last = a * at(-3, -2) + b * at(-2, -1) + c * at(-1, None)
    joined = in_memory(
        np.concatenate((first, inside, last), axis=axis), iterated(f.shape, f.strides)
    )
    return joined if joined.dtype == f.dtype else joined.astype(f.dtype)


composed(np.gradient, gradient)


# ------------------------------------------------------------------------------------- trapezoid
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The sum of (distance times mean height), as NumPy writes it."""
    y = as_array(y)
    axis = from_end(axis, y.ndim)
    if x is None:
        step = dx
    else:
        x = as_array(x)
        if x.ndim == 1:
            step = np.diff(x).reshape((-1,) + (1,) * (-axis - 1))
        else:
            step = np.diff(x, axis=axis)
    pairs = y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]
    return np.sum(step * pairs / 2.0, axis=axis)


for name in ("trapezoid", "trapz"):  # trapz left with NumPy 2.4
    if name in vars(np):
        composed(vars(np)[name], trapezoid)
