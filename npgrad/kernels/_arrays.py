"""What every launcher asks of its arrays: may a kernel take them, and as which matrix."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from npgrad.kernels._compile import available

__all__ = ["SMALL", "Array", "chunk_count", "matrix", "usable"]

# NumPy's arrays; in a reference also recorded ones and those of other libraries.
Array: TypeAlias = Any

FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))  # of the machine's byte order

# Elements from which a kernel is taken. A kernel call costs 2 us, so it would win from a few
# hundred on; but the first of a process loads Numba (0.5 s), and small programs should not pay it.
SMALL = 4096


def usable(*arrays: Any, small: int = SMALL) -> bool:
    """Whether a kernel may take `arrays`: NumPy's own, all float32 or all float64, and enough."""
    first = arrays[0]
    if type(first) is not np.ndarray or first.size < small or first.dtype not in FLOATS:
        return False
    for array in arrays[1:]:
        if type(array) is not np.ndarray or array.dtype != first.dtype:
            return False
    return available()


def matrix(x: Array, width: int) -> Array:
    """`x` as a contiguous matrix with rows of `width`."""
    return np.ascontiguousarray(x).reshape(-1, width)


def chunk_count(rows: int, size: int) -> int:
    """Parts in which sums over `rows` are taken: by the shape alone, so that the order is definite.

    At least 64 rows and 2**18 elements a part: the partial sums then cost under 5 % of the traffic.
    """
    return max(1, min(64, size >> 18, rows >> 6))
