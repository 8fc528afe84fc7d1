"""The order of long arrays sorted by rows, and the cotangent of sorted rows back to their elements.

    order(a)[i] sorts a[i]
    out[i, order[i, k]] = mean of g[i, l] over the l where y[i, l] == y[i, k]

NumPy's argsort of a million float64 in rows of 1000 takes 8 ms, its sort of as many integers 3.
So an element's bits, made an integer that is ordered as the number is, give up their last ones for
the element's place in its row::

    sign, exponent, 42 bits of the fraction | place        (rows of up to 1024)

and NumPy sorts these. Elements that differ in the bits given up alone may stand in the wrong order:
a pass of insertions puts that right, and a row that would need many of them is argsorted.
The second pass takes 2 ms where NumPy's six (a comparison, positions in the flat array, scattering,
...) take 6.
"""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = ["back", "back_reference", "order", "order_reference"]

INSERTIONS = 8  # moves for each element of a row, on average, before it is left to argsort
LAST = np.int64(np.iinfo(np.int64).max)


def order_reference(a: Array) -> Array:
    """The same by NumPy; of equal elements it may name another one first."""
    return np.argsort(a, axis=-1)


@njit()
def _keys(start, stop, bits, a, turn, shift, keep, out):  # type: ignore[no-untyped-def]
    """Rows ``start <= i < stop`` of keys; NaN comes last, whatever its sign.

    The bits of negative numbers fall as the number rises, so all but the sign are turned over.
    """
    n = a.shape[1]
    for i in range(start, stop):
        for k in range(n):
            key = np.int64(bits[i, k])
            key = key ^ (turn if key < 0 else 0)
            key = (key << shift) & keep
            key = LAST & keep if a[i, k] != a[i, k] else key
            out[i, k] = key | k


@njit()
def _settle(start, stop, a, keys, places, unsettled):  # type: ignore[no-untyped-def]
    """The places in the keys, written over them, in an order that sorts each row."""
    n = a.shape[1]
    for i in range(start, stop):
        row = a[i]
        at = keys[i]
        allowed = INSERTIONS * n
        at[0] &= places
        top = row[at[0]]
        for k in range(1, n):
            place = at[k] & places
            value = row[place]
            j = k
            if value < top:
                while j > 0 and row[at[j - 1]] > value:
                    at[j] = at[j - 1]
                    j -= 1
                allowed -= k - j
            else:
                top = value
            at[j] = place
            if allowed < 0:
                unsettled[i] = True
                break


def _sort(start: int, stop: int, keys: Array) -> None:
    """NumPy's own sort, which lets other threads run."""
    keys[start:stop].sort(axis=-1)


def order(a: Array) -> Array:
    """See `order_reference`; `a` is contiguous, of two axes, float32 or float64."""
    rows, n = a.shape
    keys = empty(a.shape, np.int64)
    if not a.size:
        return keys
    places = (1 << max(n - 1, 1).bit_length()) - 1
    if a.dtype.itemsize == 4:
        numbers = a.view(np.int32), a, np.int64(2**31 - 1), np.int64(32)
    else:
        numbers = a.view(np.int64), a, LAST, np.int64(0)
    spread(_keys, rows, n * 1.0, *numbers, np.int64(~places), keys)
    spread(_sort, rows, n * 4.0, keys)
    unsettled = np.zeros(rows, np.bool_)
    spread(_settle, rows, n * 2.0, a, keys, np.int64(places), unsettled)
    for row in np.flatnonzero(unsettled):
        keys[row] = np.argsort(a[row])
    return keys


def back_reference(g: Array, y: Array, order: Array) -> Array:
    """The same by comparing every pair; a NaN equals nothing but itself."""
    out = np.empty_like(g)
    for to, share, ordered, places in zip(out, g, y, order, strict=True):
        for k, place in enumerate(places):
            equal = ordered == ordered[k]
            to[place] = share[equal].mean() if equal.any() else share[k]
    return out


@njit()
def _back(start, stop, g, y, order, out):  # type: ignore[no-untyped-def]
    """Rows ``start <= i < stop``."""
    n = y.shape[1]
    for i in range(start, stop):
        ordered = y[i]
        part = g[i]
        places = order[i]
        to = out[i]
        k = 0
        while k < n:
            end = k + 1
            total = part[k]
            while end < n and ordered[end] == ordered[k]:
                total += part[end]
                end += 1
            share = total / (end - k) if end > k + 1 else total
            for place in range(k, end):
                to[places[place]] = share
            k = end


def back(g: Array, y: Array, order: Array) -> Array:
    """`g` laid out as the sorted rows `y`, at their places; all contiguous, of two axes."""
    out = empty(y.shape, y.dtype)
    rows, n = y.shape
    spread(_back, rows, n * 2.0, g, y, order, out)
    return out
