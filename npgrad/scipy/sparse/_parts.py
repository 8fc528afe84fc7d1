"""What sparse matrices with recorded entries are computed with: sums of terms by their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as original

from ...errors import NoDerivative
from ...table import linear
from .._declare import operation, plain, quietly

Array = Any


class Constant:
    """A sparse matrix as a parameter that no rule differentiates.

    One of our own, which nobody changes before the backward pass: the copy that `matmul` makes of
    the caller's takes about as long as the product with one vector.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix


@operation("scipy.sparse.matmul")
def product(x: Array, sparse: Constant) -> Array:
    """sparse @ x for x of one or two axes, in the precision of both."""
    return np.asarray(quietly(lambda: sparse.matrix @ x))


def _product_back(g: Array, sparse: Constant) -> Array:
    return product(g, Constant(sparse.matrix.T))


linear(product, transpose=_product_back)


def summing(place: Array, count: int) -> Constant:
    """The sums of terms by their place, ``0 <= place < count``: a matrix of ones."""
    ones = np.ones(len(place), np.int8)  # the terms' own precision
    at = np.arange(len(place))
    shape = (count, len(place))
    return Constant(quietly(lambda: original.csr_array((ones, (place, at)), shape=shape)))


def is_sparse(value: Any) -> bool:
    """Whether `value` is a sparse matrix, of SciPy's or with recorded entries."""
    return hasattr(type(value), "tocsr")


def kind_of(like: type, form: str) -> type:
    """SciPy's class of the format `form`: an array's where `like` is one's, else a matrix's."""
    family = "array" if issubclass(like, original.sparray) else "matrix"
    return getattr(original, f"{form}_{family}")  # type: ignore[no-any-return]


def lacks(name: str, instead: str = "A.toarray()") -> NoDerivative:
    """The error for what is not computed of recorded entries."""
    return NoDerivative(
        f"npgrad: {name} of a sparse matrix with recorded entries; {instead} records"
    )


def dense(value: Any) -> Any:
    """`value`, or an array of two axes in place of a sparse matrix."""
    return np.empty((0, 0)) if is_sparse(value) else plain(value)


def ordered(data: Any, rows: Array, cols: Array, shape: Any, turned: bool) -> Any:
    """Triplets by rows (or columns), one for each place."""
    major, minor = (cols, rows) if turned else (rows, cols)
    order = np.lexsort((minor, major))
    key = (major * (shape[0] if turned else shape[1]) + minor)[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    if first.all():
        sorted_already = bool(np.all(order == np.arange(len(order))))
        return (data if sorted_already else data[order]), rows[order], cols[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(first) - 1
    kept = order[first]
    return product(data, summing(place, len(kept))), rows[kept], cols[kept]
