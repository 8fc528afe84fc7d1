"""``autograd.numpy.numpy_vjps``: what rules of programs use of it.

autograd's own rules are not here: NumPy's functions have npgrad's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["unbroadcast", "unbroadcast_f"]


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """The sum of `x` over the axes that broadcasting added to an array of this kind.

    Parameters
    ----------
    x : array
        A cotangent of the broadcast shape.
    target_meta : tuple
        Shape, number of axes, dtype, and whether complex: what ``autograd.numpy.metadata`` gives.
    broadcast_idx : int
        Where new axes were put.
    """
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1 and np.shape(x)[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return x if is_complex else np.real(x)


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The rule `f`, its result summed to the shape of `target`.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.compat.autograd.numpy.numpy_vjps import unbroadcast_f
    >>> unbroadcast_f(np.zeros(2), lambda g: g * 2)(np.ones((3, 2)))
    array([6., 6.])
    """
    from . import metadata

    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)
