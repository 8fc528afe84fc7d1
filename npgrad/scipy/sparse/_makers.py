"""What makes sparse matrices: SciPy's classes and functions, given recorded values too."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as original

from ...for_class import ForClass
from ...graph.array import GradArray
from ...graph.modes import WRAPPED
from .._declare import array_of, is_recorded, plain, quietly, varies
from ._matrix import Sparse, sparse_of, structural
from ._parts import is_sparse, kind_of


def _holds(value: Any) -> bool:
    """Whether a recorded value, or a sparse matrix with recorded entries, lies in `value`."""
    if type(value) in (list, tuple):
        return any(map(_holds, value))
    return type(value) is Sparse or varies(value)


def _bare(value: Any) -> Any:
    """Constant GradArrays, which wrapped code makes, as the plain arrays that SciPy keeps."""
    if type(value) is GradArray:
        return plain(value)
    return type(value)(map(_bare, value)) if type(value) in (list, tuple) else value


class Kind(ForClass):
    """A class of sparse matrices: called with recorded values it makes a matrix that records."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind)
        self.__doc__ = kind.__doc__
        self.__name__ = self.__qualname__ = kind.__name__
        self.__module__ = kind.__module__

    def __call__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **kwargs: Any
    ) -> Any:
        if self.original.__name__[:3] in ("dok", "lil") and WRAPPED.get() and not is_sparse(arg1):
            return _table(self.original, arg1, shape, dtype)
        if not _holds(arg1):
            bare = _bare(arg1) if is_recorded(arg1) else arg1
            make = functools.partial(self.original, bare, shape, dtype, copy, **kwargs)
            return quietly(make)
        made = _made(self.original, arg1, shape)
        return made if dtype is None else made.astype(dtype)

    def __repr__(self) -> str:
        return repr(self.original)


def _table(kind: type, arg1: Any, shape: Any, dtype: Any) -> Any:
    """A matrix that is filled entry by entry, in wrapped code: it records.

    An instance of SciPy's class could not become one of ours later, as `becoming` makes of others.
    """
    made = quietly(lambda: kind(plain(arg1), shape=shape, dtype=dtype))
    triplets = quietly(made.tocoo)
    if made.dtype.kind not in "fc" or triplets.ndim != 2:
        return made
    if _holds(arg1):
        return _made(kind, arg1, shape)
    data = GradArray(triplets.data, None)
    return Sparse(kind, data, triplets.row, triplets.col, made.shape)


def _made(kind: type, arg1: Any, shape: Any) -> Sparse:
    """A matrix of a dense or a sparse one, of triplets, of compressed rows or of diagonals."""
    form = kind.__name__[:3]
    if is_sparse(arg1):
        mine = sparse_of(arg1)
        return Sparse(kind, np.copy(mine._data), mine._rows, mine._cols, mine.shape)
    if type(arg1) is tuple and len(arg1) == 2 and form == "dia":
        offsets = plain(arg1[1])

        def diagonals(data: Any) -> Any:
            return kind((data, offsets), shape=shape)

        return structural(diagonals, array_of(arg1[0]), kind=kind)  # type: ignore[no-any-return]
    if type(arg1) is tuple and len(arg1) == 2 and not is_recorded(arg1[1]):
        data, (rows, cols) = array_of(arg1[0]), arg1[1]
        if shape is None:
            shape = (np.max(rows) + 1, np.max(cols) + 1)
        return Sparse(kind, data, rows, cols, shape)
    if type(arg1) is tuple and len(arg1) == 3:
        indices, begins = plain(arg1[1]), plain(arg1[2])

        def compressed(data: Any) -> Any:
            return kind((data, indices, begins), shape=shape)

        return structural(compressed, array_of(arg1[0]), kind=kind)  # type: ignore[no-any-return]
    dense = np.atleast_2d(array_of(arg1))
    rows, cols = np.indices(dense.shape)
    return Sparse(kind, dense.reshape(-1), rows.reshape(-1), cols.reshape(-1), dense.shape)


def _moving(name: str) -> Any:
    """A function of SciPy's that puts entries, or whole matrices, into a new one."""
    function = getattr(original, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(_holds, (*args, *kwargs.values()))):
            bare = {k: _bare(v) if is_recorded(v) else v for k, v in kwargs.items()}
            return function(*[_bare(a) if is_recorded(a) else a for a in args], **bare)
        kwargs = {k: v for k, v in kwargs.items() if k != "dtype"}
        first, *others = args
        if name in _OF_DIAGONALS:
            first = _numbers(first)
        return structural(lambda *given: function(*given, **kwargs), first, *others)

    return call


_OF_DIAGONALS = ("diags", "diags_array", "spdiags")


def _numbers(diagonals: Any) -> Any:
    """Diagonals as arrays of floats, each or all of them."""
    if isinstance(diagonals, (list, tuple)):
        parts = [array_of(part) for part in diagonals]
        return [p if type(p) is GradArray else np.asarray(p, float) for p in parts]
    made = array_of(diagonals)
    return made if type(made) is GradArray else np.asarray(made, float)


def _kron(A: Any, B: Any, format: Any = None) -> Any:
    """``kron(A, B)``: each entry of `A` times the matrix `B`."""
    if not (_holds(A) or _holds(B)):
        return original.kron(A, B, format=format)
    left, right = (
        sparse_of(m) if is_sparse(m) else _made(original.coo_array, m, None) for m in (A, B)
    )
    m, n = right.shape
    data = (left._data[:, None] * right._data).reshape(-1)
    rows = (left._rows[:, None] * m + right._rows).reshape(-1)
    cols = (left._cols[:, None] * n + right._cols).reshape(-1)
    kind = kind_of(left._kind, format or "coo")
    return Sparse(kind, data, rows, cols, (left.shape[0] * m, left.shape[1] * n))


KINDS = {
    f"{form}_{family}": Kind(getattr(original, f"{form}_{family}"))
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for family in ("array", "matrix")
}
_MOVING = """
    diags diags_array spdiags hstack vstack bmat block_array block_diag tril triu
"""
FUNCTIONS = {name: _moving(name) for name in _MOVING.split() if hasattr(original, name)}
FUNCTIONS["kron"] = functools.wraps(original.kron)(_kron)
