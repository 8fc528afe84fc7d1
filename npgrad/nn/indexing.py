"""index_select, gather, index_add, scatter_add, narrow, cat: picking and adding along any axis.

Indices may be negative and repeated; one out of range raises IndexError before anything is read or
written. `index_select` and `gather` are what `np.take` and `np.take_along_axis` are in NumPy.
"""

# ruff: noqa: PLW0108 -- the names of a rule's parameters say what it gets

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from npgrad.errors import OutOfRange
from npgrad.graph import backend
from npgrad.graph.array import GradArray
from npgrad.graph.modes import users
from npgrad.graph.regions import getitem
from npgrad.kernels import take_along as kernels
from npgrad.kernels.scatter_add import check_index
from npgrad.nn import _device
from npgrad.nn._declare import (
    as_array,
    as_index,
    as_int,
    axis_of,
    operation,
    prepared,
    shape_of,
    wrong_shape,
)
from npgrad.nn._device import routed
from npgrad.table import linear

Shape = tuple[int, ...]

__all__ = ["cat", "gather", "index_add", "index_select", "narrow", "scatter_add"]

# Entries of an index from which the operation's own kernel checks it, in one pass over memory.
LARGE = 4096


class _Index:
    """An index that nobody writes to, so that it is recorded without a copy.

    A large one is checked (and copied) by the first kernel that reads it, before the operation
    returns: `take` and `add`.
    """

    __slots__ = ("axis", "checked", "given", "length", "shape", "size")

    def __init__(self, given: Any, length: int, axis: int, checked: Any = None) -> None:
        self.given = given
        self.length = length
        self.axis = axis
        self.checked = checked
        self.shape = given.shape
        self.size = given.size

    @property
    def array(self) -> Any:
        """The index, not negative."""
        if self.checked is None:
            self.checked = check_index(self.given, self.length, self.axis)
            self.given = None
        return self.checked

    def take(self, x: Any) -> Any:
        """``np.take_along_axis``."""
        if self.checked is not None:
            return kernels.take_along(x, self.checked, self.axis)
        out, self.checked = kernels.check_and_take_along(x, self.given, self.axis)
        self.given = None
        return out

    def add(self, x: Any, shape: Shape, src: Any) -> Any:
        """`src` added to `x`, or to zeros if that is None."""
        if self.checked is not None:
            return kernels.added_along(x, shape, self.checked, src, self.axis)
        arguments = x, shape, self.given, src, self.axis
        out, self.checked = kernels.check_and_add_along(*arguments)
        self.given = None
        return out


def _one_dtype(x: Any, src: Any) -> tuple[Any, Any]:
    """Both in the dtype of their sum."""
    if x.dtype == src.dtype:
        return x, src
    dtype = np.result_type(x, src)
    return x.astype(dtype, copy=False), src.astype(dtype, copy=False)


def _covered(index: Any, axis: int) -> tuple[slice, ...]:
    """The part of an array that an index which may be shorter in the other axes reaches."""
    return tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape))


@operation("index_select")
def _rows(x: Any, index: Any, axis: int) -> Any:
    return routed(kernels.take_rows, _device.take_rows)(x, index.array, axis)


@operation("index_add")
def _index_add(x: Any, src: Any, index: Any, axis: int) -> Any:
    x, src = _one_dtype(x, src)
    run = routed(kernels.added_rows, _device.added_rows)
    return run(x, x.shape, index.array, src, axis)


@operation("index_select_transposed")
def _rows_into(dy: Any, index: Any, axis: int, extent: Shape) -> Any:
    run = routed(kernels.added_rows, _device.added_rows)
    return run(None, tuple(extent), index.array, dy, axis)


@operation("gather")
def _gather(x: Any, index: Any, axis: int) -> Any:
    part = x[_covered(index, axis)]
    x = x if part.shape == x.shape else part
    return _device.take_along(x, index.array, axis) if backend.on_device(x) else index.take(x)


def _add_along(x: Any, shape: Shape, src: Any, index: Any, axis: int) -> Any:
    """`src` added to `x`, or to zeros."""
    if backend.on_device(src):
        return _device.added_along(x, shape, index.array, src, axis)
    return index.add(x, shape, src)


@operation("scatter_add")
def _scatter_add(x: Any, src: Any, index: Any, axis: int) -> Any:
    x, src = _one_dtype(x, src)
    return _add_along(x, x.shape, src, index, axis)


@operation("gather_transposed")
def _gather_into(dy: Any, index: Any, axis: int, extent: Shape) -> Any:
    return _add_along(None, tuple(extent), dy, index, axis)


linear(
    _rows,
    transpose=lambda g, shape, index, axis: _rows_into(g, index, axis, shape),
)
linear(
    _rows_into,
    transpose=lambda g, index, axis: _rows(g, index, axis),
    ignores=("extent",),
)
linear(
    _index_add,
    transpose={"x": lambda g: g, "src": lambda g, index, axis: _rows(g, index, axis)},
)
linear(
    _gather,
    transpose=lambda g, shape, index, axis: _gather_into(g, index, axis, shape),
)
linear(
    _gather_into,
    transpose=lambda g, index, axis: _gather(g, index, axis),
    ignores=("extent",),
)
linear(
    _scatter_add,
    transpose={"x": lambda g: g, "src": lambda g, index, axis: _gather(g, index, axis)},
)


# -- public ----------------------------------------------------------------------------------------


def _checked(index: Any, x: Any, axis: int) -> _Index:
    length = shape_of(x)[axis]
    if backend.on_device(index):
        return _Index(index, length, axis, _device.checked_index(index, length, axis))
    if backend.on_device(x):
        return _Index(index, length, axis, check_index(index, length, axis).astype(np.int64))
    found = _Index(index, length, axis)
    if index.ndim < 2 or index.size < LARGE:
        _ = found.array  # checked at once
    return found


def _one_index(name: str, x: Any, index: Any, axis: int) -> Any:
    """A checked one-dimensional index."""
    index = as_index(index, name)
    if index.ndim != 1:
        raise wrong_shape(name, "index", index.shape, "one dimension")
    return _checked(index, x, axis)


def _full_index(name: str, x: Any, index: Any, axis: int) -> Any:
    """A checked index of the rank of x that does not reach beyond x in the other axes."""
    index, shape = as_index(index, name), shape_of(x)
    short = [k for k in range(len(shape)) if k != axis]
    if index.ndim != len(shape) or any(index.shape[k] > shape[k] for k in short):
        wanted = f"{len(shape)} axes, none but axis {axis} longer than in x {shape}"
        raise wrong_shape(name, "index", index.shape, wanted)
    return _checked(index, x, axis)


def index_select(x: Any, axis: int, index: Any) -> Any:
    """The slices of `x` along `axis` that `index` names: ``np.take(x, index, axis)``.

    Parameters
    ----------
    x : array_like
        The array picked from.
    axis : int
        The axis that `index` counts along.
    index : array_like of int
        One-dimensional; entries may repeat, and negative ones count from the end.

    Raises
    ------
    OutOfRange
        (an IndexError) for an index outside of the axis.
    ShapeMismatch
        When `index` is not one-dimensional.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.index_select(np.array([[1.0, 2.0, 3.0]]), 1, [2, 0, -1])
    array([[3., 1., 3.]])
    """
    axis = axis_of(x, axis, "index_select")
    x = as_array(x)
    return _rows(x, _one_index("index_select", x, index, axis), axis)


def gather(x: Any, axis: int, index: Any) -> Any:
    """``out[.., k, ..] = x[.., index[.., k, ..], ..]`` along `axis`.

    Parameters
    ----------
    x : array_like
        The array picked from.
    axis : int
        The axis that the entries of `index` count along.
    index : array_like of int
        Of the rank of x; the shape of the result. In the other axes it may be shorter than x.

    Raises
    ------
    OutOfRange, ShapeMismatch
        As `index_select` does.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.gather(np.array([[1.0, 2.0], [3.0, 4.0]]), 1, [[1, 1, 0], [0, 0, 1]])
    array([[2., 2., 1.],
           [3., 3., 4.]])
    """
    axis = axis_of(x, axis, "gather")
    x = as_array(x)
    return _gather(x, _full_index("gather", x, index, axis), axis)


def index_add(x: Any, axis: int, index: Any, src: Any) -> Any:
    """A copy of `x` with ``out[.., index[k], ..] += src[.., k, ..]`` along `axis`.

    Parameters
    ----------
    x : array_like
        The array added to.
    axis : int
        The axis that `index` counts along.
    index : array_like of int
        One-dimensional; repeated entries add up, in a definite order.
    src : array_like
        Of the shape of x, but as long as `index` along `axis` (or what broadcasts to that).

    Raises
    ------
    OutOfRange, ShapeMismatch
        As `index_select` does; for `src` too.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.index_add(np.zeros(3), 0, [2, 0, 2], np.array([1.0, 2.0, 4.0]))
    array([2., 0., 5.])
    """
    axis = axis_of(x, axis, "index_add")
    index = _one_index("index_add", x, index, axis)
    shape = shape_of(x)
    wanted = (*shape[:axis], index.size, *shape[axis + 1 :])
    return _added(_index_add, "index_add", x, src, index, axis, wanted)


def scatter_add(x: Any, axis: int, index: Any, src: Any) -> Any:
    """A copy of `x` with ``out[.., index[.., k, ..], ..] += src[.., k, ..]`` along `axis`.

    Parameters
    ----------
    x : array_like
        The array added to.
    axis : int
        The axis that the entries of `index` count along.
    index : array_like of int
        Of the rank of x; repeated entries add up, in a definite order. In the other axes it may
        be shorter.
    src : array_like
        Of the shape of `index` (or what broadcasts to that).

    Raises
    ------
    OutOfRange, ShapeMismatch
        As `index_add` does.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.scatter_add(np.zeros((1, 3)), 1, [[2, 0, 2]], np.array([[1.0, 2.0, 4.0]]))
    array([[2., 0., 5.]])
    """
    axis = axis_of(x, axis, "scatter_add")
    index = _full_index("scatter_add", x, index, axis)
    return _added(_scatter_add, "scatter_add", x, src, index, axis, index.shape)


def _added(
    function: Any, name: str, x: Any, src: Any, index: Any, axis: int, wanted: tuple[int, ...]
) -> Any:
    """Check and spread `src`, compute in a floating dtype."""
    (x, src), dtype = prepared(x, src)
    if src.shape != wanted:
        try:
            src = np.broadcast_to(src, wanted)
        except ValueError:
            raise wrong_shape(name, "src", src.shape, f"{wanted}") from None
    out = function(x, src, index, axis)
    return out if dtype is None else out.astype(dtype)


def narrow(x: Any, axis: int, start: int, length: int) -> Any:
    """The slice ``start <= i < start + length`` of `x` along `axis`; a view.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int
        The axis that is cut.
    start, length : int
        A negative start counts from the end.

    Raises
    ------
    OutOfRange
        (an IndexError) when it does not lie inside of the axis.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.narrow(np.arange(5.0), axis=0, start=1, length=3)
    array([1., 2., 3.])
    """
    axis = axis_of(x, axis, "narrow")
    start, length = as_int(start, "narrow", "start"), as_int(length, "narrow", "length")
    x = as_array(x)
    extent = x.shape[axis]
    first = start + extent if start < 0 else start
    if first < 0 or length < 0 or first + length > extent:
        raise OutOfRange(
            f"npgrad.nn.narrow: start {start} and length {length} leave axis {axis} (size {extent})"
        )
    part = (slice(None),) * axis + (slice(first, first + length),)
    return getitem(x, part, users(sys._getframe(1))) if type(x) is GradArray else x[part]


def cat(arrays: Any, axis: int = 0) -> Any:
    """``np.concatenate(arrays, axis)``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.cat([np.array([1.0, 2.0]), np.array([3.0])])
    array([1., 2., 3.])
    """
    return np.concatenate(arrays, axis=axis)
