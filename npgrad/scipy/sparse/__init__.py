"""``scipy.sparse``: a sparse matrix times a recorded dense array; other names are SciPy's.

``A @ x`` of a sparse A asks A first, which would take x for a plain array, and so raises; here is
`matmul` for it, with the sparse matrix on either side. The matrix itself is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as original

from ...table import linear
from .._declare import array_of, is_recorded, operation, theirs

Array = Any

__all__ = ["matmul"]


def __getattr__(name: str) -> Any:
    return theirs(original, name)


class _Constant:
    """A sparse matrix as a parameter that no rule differentiates.

    One of our own, which nobody changes before the backward pass: the copy that `matmul` makes of
    the caller's takes about as long as the product with one vector.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix


@operation("scipy.sparse.matmul")
def _product(x: Array, sparse: _Constant) -> Array:
    """sparse @ x for x of one or two axes, in the precision of both."""
    return np.asarray(sparse.matrix @ x)


def _product_back(g: Array, sparse: _Constant) -> Array:
    return _product(g, _Constant(sparse.matrix.T))


linear(_product, transpose=_product_back)


def matmul(A: Any, B: Any) -> Any:
    """``A @ B`` where one of the two is a sparse matrix and the other dense, recorded or not.

    Parameters
    ----------
    A, B : sparse matrix or array, array_like
        The dense one has one or two axes.

    Examples
    --------
    >>> import numpy as np, npgrad, scipy.sparse
    >>> D = scipy.sparse.csr_array(np.array([[2.0, 0.0], [0.0, 3.0]]))
    >>> npgrad.grad(lambda x: npgrad.scipy.sparse.matmul(D, x).sum())(np.ones(2))
    array([2., 3.])
    """
    if not (is_recorded(A) or is_recorded(B)):
        return A @ B
    if original.issparse(A):
        return _product(array_of(B), _Constant(A.copy()))
    if not original.issparse(B):
        return np.matmul(array_of(A), array_of(B))
    dense = array_of(A)
    return _product(dense.T, _Constant(B.T.copy())).T
