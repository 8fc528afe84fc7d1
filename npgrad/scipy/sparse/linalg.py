"""``scipy.sparse.linalg``: equations of a sparse matrix; other names are SciPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from ...table import reverse
from .._declare import (
    array_of,
    as_imported,
    is_recorded,
    operation,
    plain,
    quietly,
    refuse,
    theirs,
)
from ._matrix import Sparse, sparse_of
from ._parts import is_sparse

original: Any = as_imported(scipy.sparse.linalg)

Array = Any

__all__ = ["cg", "factorized", "inv", "norm", "splu", "spsolve"]


def __getattr__(name: str) -> Any:
    return theirs(scipy.sparse.linalg, name)


_CSC = scipy.sparse.csc_matrix


class _Equations:
    """Where the entries of a square matrix stand; its factors, once for each set of values."""

    def __init__(self, rows: Array, cols: Array, count: int) -> None:
        self.rows, self.cols, self.count = rows, cols, count
        self._last: tuple[Array, Any] | None = None
        self._turned: _Equations | None = None

    def factors(self, data: Array) -> Any:
        """SuperLU's factors of the matrix with these values."""
        if self._last is None or not np.array_equal(self._last[0], data):
            triplets = (data, (self.rows, self.cols))
            make = functools.partial(_CSC, triplets, shape=(self.count, self.count))
            self._last = data.copy(), original.splu(quietly(make))
        return self._last[1]

    @property
    def turned(self) -> _Equations:
        """Those of the transposed matrix."""
        if self._turned is None:
            self._turned = _Equations(self.cols, self.rows, self.count)
            self._turned._turned = self
        return self._turned


@operation("scipy.sparse.linalg.spsolve")
def _solve(data: Array, b: Array, of: _Equations) -> Array:
    """The x of A x = b; `data` are the entries of A."""
    dtype = np.result_type(data, b)
    if np.iscomplexobj(b) and not np.iscomplexobj(data):
        data = data.astype(dtype)
    return of.factors(data).solve(np.ascontiguousarray(b.astype(dtype)))


def _entries(g: Array, x: Array, of: _Equations) -> Array:
    """g x^T at the entries of the matrix."""
    found = g[of.rows] * x[of.cols]
    return found if found.ndim == 1 else np.sum(found, axis=1)


def _times(data: Array, x: Array, of: _Equations) -> Array:
    made = Sparse(scipy.sparse.coo_array, data, of.rows, of.cols, (of.count, of.count))
    return made @ x


reverse(
    _solve,
    {
        "data": lambda g, data, y, of: -_entries(_solve(data, g, of.turned), y, of),
        "b": lambda g, data, of: _solve(data, g, of.turned),
    },
    {
        "data": lambda g, data, y, of: -_solve(data, _times(g, y, of), of),
        "b": lambda g, data, of: _solve(data, g, of),
    },
)


def _served(*args: Any) -> bool:
    return any(type(a) is Sparse or is_recorded(a) for a in args)


def _equations(A: Any) -> tuple[Any, _Equations]:
    matrix = (sparse_of(A) if is_sparse(A) else _dense(A)).tocsc()
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix must be square (has shape {matrix.shape})")
    return matrix._data, _Equations(matrix._rows, matrix._cols, matrix.shape[0])


def _dense(A: Any) -> Sparse:
    A = array_of(A)
    rows, cols = np.indices(A.shape)
    data = A.reshape(-1)
    return Sparse(scipy.sparse.csc_array, data, rows.ravel(), cols.ravel(), A.shape)


def _solved(data: Any, of: _Equations, b: Any) -> Any:
    if is_sparse(b):
        raise refuse("sparse.linalg.spsolve", "with a sparse right-hand side; b.toarray() records")
    b = array_of(b)
    if b.shape[0] != of.count:
        raise ValueError(f"matrix - rhs dimension mismatch ({of.count}, {b.shape})")
    return _solve(data, b, of)


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """SciPy's ``spsolve``: the x of A x = b, by the entries of `A` and by `b`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> from npgrad.scipy import sparse
    >>> f = lambda d: sparse.linalg.spsolve(sparse.diags(d, format="csc"), np.ones(2)).sum()
    >>> npgrad.grad(f)(np.array([1.0, 2.0]))
    array([-1.  , -0.25])
    """
    if not _served(A, b):
        return original.spsolve(A, b, permc_spec, use_umfpack)
    x = _solved(*_equations(A), b)
    return x.reshape(-1) if x.ndim == 2 and x.shape[1] == 1 else x


class _Factors:
    """What `splu` gives of a matrix with recorded entries, or is asked by recorded right sides."""

    def __init__(self, A: Any, theirs: Any) -> None:
        self._parts = _equations(A)
        self._theirs = theirs
        self.shape = A.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution for one right side or several."""
        data, of = self._parts
        if not _served(data, rhs):
            return self._theirs.solve(rhs, trans)
        if trans == "N":
            return _solved(data, of, rhs)
        return _solved(data if trans == "T" else np.conj(data), of.turned, rhs)

    def __getattr__(self, name: str) -> Any:
        if self._theirs is None:
            raise refuse(f"sparse.linalg.splu(A).{name}", "of recorded entries")
        return getattr(self._theirs, name)


def splu(A: Any, *args: Any, **kwargs: Any) -> Any:
    """SciPy's ``splu``: an object whose `solve` takes recorded right sides."""
    theirs = None if _served(A) else original.splu(A, *args, **kwargs)
    return _Factors(A, theirs)


def factorized(A: Any) -> Callable[[Any], Any]:
    """SciPy's ``factorized``: the function that solves with `A`."""
    return _Factors(A, None if _served(A) else original.splu(A)).solve


def inv(A: Any) -> Any:
    """SciPy's ``inv`` of a sparse matrix."""
    if not _served(A):
        return original.inv(A)
    matrix = sparse_of(A)
    dense = spsolve(matrix, np.eye(matrix.shape[0]))
    rows, cols = np.indices(matrix.shape)
    return Sparse(matrix._kind, dense.reshape(-1), rows.ravel(), cols.ravel(), matrix.shape)


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """SciPy's ``norm`` of a sparse matrix."""
    if not _served(x):
        return original.norm(x, ord, axis)
    return np.linalg.norm(x.toarray(), ord, axis)


def _iterative(name: str) -> Any:
    function = getattr(original, name)

    @functools.wraps(function)
    def call(A: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        if not _served(A, b):
            return function(A, b, *args, **kwargs)
        if not is_sparse(A):
            raise refuse(f"sparse.linalg.{name}", "but of a sparse matrix")
        args, kwargs = plain(args), plain(kwargs)
        bare = A.real_one() if type(A) is Sparse else A
        found, info = function(bare, plain(b), *args, **kwargs)
        x = spsolve(A, b)
        return x + (found - plain(x)), info  # the value that was iterated

    return call


cg = _iterative("cg")
cgs = _iterative("cgs")
bicg = _iterative("bicg")
bicgstab = _iterative("bicgstab")
gmres = _iterative("gmres")
lgmres = _iterative("lgmres")
minres = _iterative("minres")
__all__ += ["bicg", "bicgstab", "cgs", "gmres", "lgmres", "minres"]
