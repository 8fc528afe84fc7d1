"""Into a recording and out of it: `array`, `value`, `stop_gradient`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import GradientLost, NotDifferentiable
from ..graph import backend
from ..graph.array import GradArray, current, leaf, recorded
from ..graph.node import alive
from ..graph.stacking import has_recorded
from .trees import flatten, is_single


def array(x: Any, dtype: Any = None) -> GradArray:
    """Make a leaf: a recorded array that gradients are taken with respect to.

    Parameters
    ----------
    x : array_like
        Real or complex numbers; they are copied. Integers become float64.
    dtype : dtype, optional
        A floating or complex type.

    Returns
    -------
    GradArray

    Raises
    ------
    GradientLost
        `x` holds recorded values: ``np.copy(x)`` copies and stays connected, ``np.stack`` makes an
        array of a list of them.
    NotDifferentiable
        `x` is not numeric, or `dtype` is not floating or complex.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = npgrad.array([1.0, 2.0])
    >>> np.sum(x ** 3).backward()[x]
    array([ 3., 12.])
    """
    if type(x) is GradArray and not recorded(x):  # a constant, made in wrapped code
        x = current(x)[0]
    if type(x) is GradArray or (isinstance(x, (list, tuple)) and has_recorded(x)):
        raise GradientLost(
            "npgrad: npgrad.array makes a new leaf and would cut the gradient of the recorded "
            "values it was given. np.copy(x) copies a recorded array, np.stack([...]) makes an "
            "array of a list of them, npgrad.value(x) cuts on purpose."
        )
    if isinstance(x, np.ma.MaskedArray):
        raise NotDifferentiable("npgrad: a masked array has no gradient; use x.filled(...)")
    if backend.is_array(x) and not isinstance(x, np.ndarray):
        made = backend.snapshot(x) if dtype is None else x.astype(dtype)
    else:
        made = np.array(x, dtype=dtype)
        if made.dtype.kind in "iub" and dtype is None:
            made = made.astype(np.float64)
    if made.dtype.kind not in "fc":
        raise NotDifferentiable(
            f"npgrad: npgrad.array of {made.dtype}: only floating and complex arrays have a "
            "gradient"
        )
    return leaf(made, True)


def value(x: Any) -> Any:
    """The plain array of `x`: the gradient is cut, on purpose.

    Parameters
    ----------
    x : GradArray, array_like, or nested container
        Plain values pass through; containers come back with plain values inside.

    Returns
    -------
    ndarray, number or container
        A copy: changing it changes nothing that was recorded.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.value(npgrad.array([1.0, 2.0]) * 2)
    array([2., 4.])
    """
    if type(x) is GradArray:
        return backend.snapshot_any(current(x)[0])
    if is_single(x) or isinstance(x, (str, bytes)) or x is None:
        return x
    parts, rebuild = flatten(x)
    return rebuild([value(p) if type(p) is GradArray else p for p in parts])


def stop_gradient(x: Any) -> Any:
    """`x` as a constant GradArray: the gradient through it is zero.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(lambda x: x * npgrad.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    if type(x) is GradArray:
        return GradArray(backend.snapshot_any(current(x)[0]), None)
    if is_single(x) or isinstance(x, (str, bytes)) or x is None:
        return x
    parts, rebuild = flatten(x)
    return rebuild([stop_gradient(p) if type(p) is GradArray else p for p in parts])


def settled(x: Any) -> Any:
    """`x` with plain arrays for what no gradient can be asked of any more."""
    if type(x) is GradArray:
        node = current(x)[1]
        return x if node is not None and alive(node) else value(x)
    if is_single(x) or isinstance(x, (str, bytes)) or x is None:
        return x
    parts, rebuild = flatten(x)
    return rebuild([settled(p) if type(p) is GradArray else p for p in parts])
