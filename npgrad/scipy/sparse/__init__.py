"""``scipy.sparse`` with recorded values: products, and matrices whose entries are recorded.

``A @ x`` of a sparse `A` and a recorded `x` records; so does `matmul`, which says it in words. A
matrix that is made of recorded values (``coo_matrix((data, (i, j)))``, ``diags``, ``A * k``) keeps
them recorded in products, sums, transposes, indexing, `toarray` and `linalg.spsolve`. Names without
a stand-in are SciPy's.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as original

from .._declare import array_of, is_recorded, theirs
from ._makers import FUNCTIONS, KINDS
from ._matrix import Sparse as Sparse
from ._matrix import sparse_of as sparse_of
from ._parts import Constant, lacks, product

__all__ = ["matmul", *KINDS, *FUNCTIONS]  # noqa: PLE0604 -- they are names
globals().update(KINDS, **FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return importlib.import_module(f"{__name__}.linalg")
    return theirs(original, name)


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
    if type(A) is Sparse or type(B) is Sparse or not (is_recorded(A) or is_recorded(B)):
        return A @ B
    if original.issparse(A):
        return product(array_of(B), Constant(A.copy()))
    if not original.issparse(B):
        return np.matmul(array_of(A), array_of(B))
    dense = array_of(A)
    return product(dense.T, Constant(B.T.copy())).T


def beside(name: str, a: Any, b: Any) -> Any:
    """The operator `name` of two operands, one of them a sparse matrix of SciPy's.

    The other one is recorded. NotImplemented for what has no meaning of sparse matrices.
    """
    if type(a) is Sparse or type(b) is Sparse:
        return NotImplemented  # its own operator answers
    if name == "mul":
        matrix = a if original.issparse(a) else b
        number = np.ndim(b if matrix is a else a) == 0
        name = "mul" if number or isinstance(matrix, original.sparray) else "matmul"
    if name == "matmul":
        return matmul(a, b)
    left = original.issparse(a)
    method = f"__{name}__" if left else f"__r{name}__"
    mine, other = (sparse_of(a), b) if left else (sparse_of(b), a)
    function = getattr(Sparse, method, None)
    return NotImplemented if function is None else function(mine, other)


def becoming(matrix: Any) -> Sparse:
    """A sparse matrix of SciPy's that a recorded value is written into: one of ours from now on."""
    mine = sparse_of(matrix)
    try:
        matrix.__class__ = Sparse
    except TypeError as error:  # the layout of SciPy's object is another
        kind = type(matrix).__name__
        raise lacks(f"writing a recorded value into a {kind}", "a lil_matrix") from error
    vars(matrix).clear()
    vars(matrix).update(vars(mine))
    return matrix  # type: ignore[no-any-return]
