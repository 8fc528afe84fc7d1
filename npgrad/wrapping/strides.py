"""``as_strided`` of recorded arrays: windows of any strides, gathered out of the array's memory."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph import ownership
from npgrad.graph.array import GradArray
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.views import Root, View, view_of

_strided = np.lib.stride_tricks.as_strided


@functools.wraps(_strided)
def as_strided(x: Any, shape: Any = None, strides: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``as_strided`` of a recorded array: its elements, gathered, and so read-only.

    The strides lead through the whole memory of which `x` is a view. A write there while the
    windows live is refused, since NumPy's would see it.
    """
    if not ACTIVE.get() or type(x) is not GradArray:
        return _strided(x, shape, strides, *args, **kwargs)
    view = view_of(x)
    root, held = view.root, view.peek()
    shape = held.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    steps = held.strides if strides is None else tuple(strides)
    made = _flat(root)[_places(root.array, held, shape, steps)]
    made.setflags(write=False)
    living = [window for window in root.windows if window() is not None]
    root.windows = (*living, weakref.ref(view_of(made).root))
    return made


def _flat(root: Root) -> GradArray:
    """A handle of a root's memory, element after element."""
    whole = GradArray(root.array, root.node)
    whole._view = View(root, None, None, ())
    flat: GradArray = (whole if root.array.flags.c_contiguous else whole.T).reshape(-1)
    return flat


def _places(memory: Any, held: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Where in `memory`, counted by elements, the windows of `held` have theirs."""
    shares = held is memory or ownership.is_view(held, memory)
    if not memory.flags.forc or held.dtype != memory.dtype or not shares:
        raise NoDerivative(
            "npgrad: as_strided of a recorded array that is a part of complex numbers, or whose "
            "memory has gaps; x.copy() has none"
        )
    size = memory.itemsize
    first = held.ctypes.data - memory.ctypes.data
    if len(shape) != len(strides) or any(step % size for step in (first, *strides)):
        raise NoDerivative(
            f"npgrad: as_strided of a recorded array with strides {strides}; each is to be a "
            f"multiple of its {size} bytes, and there is to be one for each axis of {shape}"
        )
    places = np.full(shape, first // size)
    for axis, (count, step) in enumerate(zip(shape, strides, strict=True)):
        along = np.arange(count) * (step // size)
        places += along.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    if places.size and not 0 <= places.min() <= places.max() < memory.size:
        raise NoDerivative(
            f"npgrad: as_strided with shape {shape} and strides {strides} leaves the memory of the "
            f"recorded array ({memory.size} elements from its first); sliding_window_view and "
            "indices do not"
        )
    return places
