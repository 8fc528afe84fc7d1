"""Functions that change their first argument: copyto, put, place, ``ufunc.at`` and their kin.

Each is made of the graph's two writes, at an index and under a mask. A plain first argument with a
recorded value is refused with the remedy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from npgrad.errors import InPlaceError
from npgrad.graph.array import GradArray, unwrap
from npgrad.graph.refusals import plain_out, user_frame
from npgrad.graph.regions import add_at, copyto, may_repeat, setitem
from npgrad.graph.views import view_of
from npgrad.table import function_name, ufunc_methods, writes


def target(handle: Any, name: str) -> GradArray:
    """`handle`, if it is one; a plain array cannot take a recorded value."""
    if type(handle) is not GradArray:
        raise InPlaceError(plain_out(name, user_frame()))
    return handle


def put_values(values: Any, count: int) -> Any:
    """`values` flattened, and repeated or cut to `count`; None where there is nothing to write."""
    flat = np.ravel(values) if type(values) is GradArray else np.asarray(values).ravel()
    have = flat.shape[0]
    if have == count:
        return flat if count else None
    return flat[np.arange(count) % have] if have else None


def copyto_body(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src`, broadcast, where the mask is true."""
    handle = target(dst, "np.copyto")
    have = src.dtype if hasattr(src, "dtype") else np.asarray(unwrap(src)).dtype
    if type(src) not in (int, float, complex, bool) and not np.can_cast(
        have,
        handle.dtype,
        casting,  # type: ignore[arg-type]
    ):
        raise TypeError(
            f"Cannot cast array data from {have!r} to {handle.dtype!r} according to the rule "
            f"{casting!r}"
        )
    copyto(handle, src, where, user_frame())


def first_outside(numbers: Any, size: int) -> tuple[Any, int]:
    """The first of the indices `numbers` that `size` entries do not have, and where it stands."""
    outside = np.flatnonzero((numbers < -size) | (numbers >= size))
    return (numbers[outside[0]], int(outside[0])) if outside.size else (None, numbers.size)


def put_body(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``a.flat[ind] = v``."""
    handle = target(a, "np.put")
    numbers = np.asarray(ind).ravel()
    if numbers.size == 0:
        return
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    shape, size = handle.shape, handle.size
    values = put_values(v, numbers.size)
    if values is None:
        return
    frame, outside = user_frame(), None
    if mode == "raise":
        outside, count = first_outside(numbers, size)
        if outside is not None:  # NumPy writes what comes before it, but for a copy of its own
            count = count if handle.flags.c_contiguous else 0
            numbers, values = numbers[:count], values[:count]
        numbers = np.where(numbers < 0, numbers + size, numbers)
    elif mode == "wrap":
        numbers = np.mod(numbers, size)
    else:
        numbers = np.clip(numbers, 0, size - 1)
    if numbers.size:
        setitem(handle, np.unravel_index(numbers, shape), values, frame)
    if outside is not None:
        raise IndexError(f"index {outside} is out of bounds for axis 0 with size {size}")


def place_body(arr: Any, mask: Any, vals: Any) -> None:
    """The first entries of `vals` where `mask` is true, repeated as needed."""
    handle = target(arr, "np.place")
    mask = np.asarray(unwrap(mask), bool).reshape(handle.shape)
    count = int(mask.sum())
    if count:
        values = put_values(vals, count)
        if values is None:
            raise ValueError("Cannot insert from an empty array!")
        setitem(handle, mask, values, user_frame())


def putmask_body(a: Any, mask: Any, values: Any) -> None:
    """``a.flat[n] = values[n]`` where the mask is true, values repeated."""
    handle = target(a, "np.putmask")
    mask = np.asarray(unwrap(mask), bool).reshape(handle.shape)
    flat = put_values(values, handle.size)
    if flat is not None and mask.any():
        setitem(handle, mask, flat[np.flatnonzero(mask)], user_frame())


def put_along_axis_body(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """The inverse of take_along_axis."""
    handle = target(arr, "np.put_along_axis")
    indices = np.asarray(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        setitem(handle, np.unravel_index(indices % handle.size, handle.shape), values, user_frame())
        return
    axis = normalize_axis_index(axis, handle.ndim)
    grid = []
    for position in range(handle.ndim):
        if position == axis:
            grid.append(indices)
        else:
            extent = [1] * handle.ndim
            extent[position] = handle.shape[position]
            grid.append(np.arange(handle.shape[position]).reshape(extent))
    setitem(handle, tuple(grid), values, user_frame())


def fill_diagonal_body(a: Any, val: Any, wrap: bool = False) -> None:
    """Write the main diagonal."""
    handle = target(a, "np.fill_diagonal")
    if handle.ndim < 2:
        raise ValueError("array must be at least 2-d")
    marks = np.zeros(handle.shape, bool)
    np.fill_diagonal(marks, True, wrap)
    numbers = np.flatnonzero(marks)
    values = put_values(val, numbers.size)
    if values is not None:
        setitem(handle, np.unravel_index(numbers, handle.shape), values, user_frame())


def at_body(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """``ufunc.at``: every repeated index counts, one after the other."""
    handle = target(a, f"{function_name(ufunc)}.at")
    if ufunc is np.add or ufunc is np.subtract:
        add_at(handle, indices, b if ufunc is np.add else np.negative(b), user_frame())
        return
    if type(b) is GradArray and view_of(b).root is view_of(handle).root:
        b = b.copy()  # NumPy reads it before it writes
    index = tuple(indices) if type(indices) is tuple else (indices,)
    for part, chosen in rounds(handle, index):
        old = handle[part]
        if ufunc.nin == 1:
            new = ufunc(old)
        else:
            operand = b if chosen is None else _chosen(b, chosen)
            new = ufunc(old, operand)
        setitem(handle, part, new, user_frame())


def rounds(handle: GradArray, index: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """`index` as a sequence of indices without repeats: first occurrences, second ones, ..."""
    index = tuple(np.asarray(i) if isinstance(i, list) else i for i in index)
    if not may_repeat(index):
        return [(index, None)]
    shape = handle.shape
    numbers = np.arange(handle.size).reshape(shape)[index]
    flat = numbers.ravel()
    order = np.argsort(flat, kind="stable")
    starts = np.r_[True, flat[order][1:] != flat[order][:-1]]
    begin = np.maximum.accumulate(np.where(starts, np.arange(flat.size), 0))
    turn = np.empty(flat.size, int)
    turn[order] = np.arange(flat.size) - begin
    result = []
    for k in range(int(turn.max(initial=-1)) + 1):
        picked = np.flatnonzero(turn == k)
        place = np.unravel_index(flat[picked], shape)
        result.append((place, (picked, numbers.shape)))
    return result


def _chosen(b: Any, chosen: tuple[Any, Any]) -> Any:
    picked, shape = chosen
    wide = (
        np.broadcast_to(b, shape) if type(b) is GradArray else np.broadcast_to(np.asarray(b), shape)
    )
    return np.ravel(wide)[picked]


writes(np.copyto, copyto_body)
writes(np.put, put_body)
writes(np.place, place_body)
writes(np.putmask, putmask_body)
writes(np.put_along_axis, put_along_axis_body)
writes(np.fill_diagonal, fill_diagonal_body)
ufunc_methods["at"] = at_body
