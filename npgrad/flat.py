"""``x.flat``: iterate, index and assign the elements of a recorded array in C order."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from .graph.array import GradArray
from .graph.modes import WRAPPED
from .graph.regions import ALL, setitem
from .graph.stacking import gathered

_frame = sys._getframe


class Flat:
    """What ``x.flat`` is: an iterator, as NumPy's, that can be indexed."""

    __slots__ = ("_of", "index")

    def __init__(self, of: GradArray) -> None:
        self._of = of
        self.index = 0  # of the element that comes next

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x.flat, np.flatiter) holds in wrapped code
        return np.flatiter if WRAPPED.get() else Flat

    @property
    def base(self) -> GradArray:
        """The array whose elements these are."""
        return self._of

    @property
    def coords(self) -> tuple[int, ...]:
        """Where the element lies that comes next."""
        shape = self._of.shape
        left, found = self.index, []
        for i in range(len(shape)):
            step = math.prod(shape[i + 1 :])
            found.append(left // max(step, 1))
            left -= found[-1] * step
        return tuple(found)

    def __len__(self) -> int:
        return self._of.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        if self.index >= self._of.size:
            raise StopIteration
        element = self._of[self.coords]  # as it is now: it may have been written since
        self.index += 1
        return element

    def __getitem__(self, index: Any) -> Any:
        """A copy, of a slice too: NumPy's flat iterator has no views."""
        self.index = 0  # as NumPy's begins again
        part = np.ravel(self._of)[index]
        return part.copy() if np.ndim(part) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        self.index = 0
        size, shape = self._of.size, self._of.shape
        if not shape:
            np.empty(1)[index]  # NumPy's own complaint about a bad index
            setitem(self._of, ALL, _cycled(value, 1)[0], _frame(1))
            return
        try:
            numbers = np.atleast_1d(np.arange(size)[index])
        except IndexError:  # NumPy writes in order, until it meets an index that is not there
            places = np.asarray(index)
            if places.ndim == 1 and places.dtype.kind in "iu" and size:
                count = int(np.argmax((places < -size) | (places >= size)))
                values = _cycled(value, places.size)
                place = np.unravel_index(places[:count] % size, shape)
                setitem(self._of, place, values[:count] if np.ndim(values) else values, _frame(1))
            raise
        setitem(self._of, np.unravel_index(numbers, shape), _cycled(value, numbers.size), _frame(1))

    def copy(self) -> Any:
        """The elements in one dimension."""
        return np.ravel(self._of).copy()


def _cycled(value: Any, size: int) -> Any:
    """`value` flattened and repeated to `size`, as ``flat[...] = value`` does."""
    value = gathered(value)
    if type(value) is not GradArray:
        value = np.asarray(value)
    flat = np.ravel(value)
    have = flat.shape[0]
    if have in (size, 1):
        return flat if have == size else flat[0]
    return flat[np.arange(size) % have]
