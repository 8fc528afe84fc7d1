"""Functions of plain arrays without the Python around them in NumPy: the same C loop, same bits.

``np.sum(x)`` of ten numbers takes 1.6 us, of which ``np.add.reduce`` 0.6; a recording calls them so
often that it shows. Anything but an axis goes to NumPy's own function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.rules import extreme, product, reduction, shape
from npgrad.table import computed_by

DECIDED_IN = (extreme, product, reduction, shape)  # loaded first: what they decide is computed here

SAME_SUM = frozenset({np.dtype(np.float32), np.dtype(np.float64)})  # summed in their own dtype


def reducer(ufunc: np.ufunc, function: Any) -> Callable[..., Any]:
    """``function(a, axis)`` by the reduction of `ufunc` that it ends in."""
    whole = function._implementation

    def run(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or type(a) is not np.ndarray:
            return whole(a, axis, *args, **kwargs)
        return ufunc.reduce(a, axis)

    return run


def mean(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``np.mean``: for these two dtypes a sum in the same dtype, divided by the count."""
    if args or kwargs or type(a) is not np.ndarray or a.dtype not in SAME_SUM or not a.size:
        return np.mean._implementation(a, axis, *args, **kwargs)  # type: ignore[attr-defined]
    total = np.add.reduce(a, axis)
    count = a.size // total.size
    if type(total) is not np.ndarray:
        return total.dtype.type(total / count)
    return np.divide(total, count, out=total)


def transpose(a: Any, axes: Any = None) -> Any:
    """``np.transpose``: the method of an array."""
    if type(a) is np.ndarray:
        return a.transpose(axes)
    return np.transpose._implementation(a, axes)  # type: ignore[attr-defined]


computed_by(np.transpose, transpose)
computed_by(np.sum, reducer(np.add, np.sum))
computed_by(np.prod, reducer(np.multiply, np.prod))
computed_by(np.max, reducer(np.maximum, np.max))
computed_by(np.min, reducer(np.minimum, np.min))
computed_by(np.mean, mean)
