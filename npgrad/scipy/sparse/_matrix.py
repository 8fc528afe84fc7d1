"""A sparse matrix whose entries are recorded: triplets of row, column and value.

SciPy's own classes hand their values to compiled code. What stands for one of them here keeps the
values as a GradArray, and computes with gathers, products and sums by rows, all recorded.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as original

from ...errors import GradientLost
from ...graph import doors
from ...graph.array import GradArray
from .._declare import array_of, is_recorded, plain, quietly, varies
from ._arithmetic import Arithmetic
from ._parts import is_sparse, kind_of, lacks, ordered, product, summing

Array = Any


class Sparse(Arithmetic):
    """What stands for a sparse matrix of the class `kind` with recorded entries."""

    __array_priority__ = 10.1  # SciPy's: an array to the left asks this object first
    _filled: dict[tuple[int, int], Any]

    def __init__(self, kind: type, data: Any, rows: Array, cols: Array, shape: Any) -> None:
        form = kind.__name__[:3]
        rows, cols = (np.asarray(plain(i), dtype=np.int64) for i in (rows, cols))
        if form != "coo":
            data, rows, cols = ordered(data, rows, cols, shape, form == "csc")
        self._kind, self._data, self._rows, self._cols = kind, data, rows, cols
        self._shape = tuple(map(operator.index, shape))
        self._filled = {}  # entries written one by one, not yet among the others

    # ------------------------------------------------------------------------------ what it is
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self._shape

    @property
    def format(self) -> str:
        """SciPy's three letters."""
        return self._kind.__name__[:3]

    @property
    def data(self) -> Any:
        """The entries, in the order that the format keeps them."""
        if self.format in ("lil", "dok", "dia", "bsr"):
            raise lacks(f"`data` in the format {self.format}", "A.tocsr().data")
        return self._settled()._data

    @data.setter
    def data(self, value: Any) -> None:
        value = array_of(value)
        if np.shape(value) != self._settled()._rows.shape:
            raise ValueError("npgrad: the data of a sparse matrix keep their number")
        self._data = value

    dtype = property(lambda self: self._data.dtype)
    ndim = property(lambda self: 2)
    nnz = property(lambda self: len(self._settled()._rows))
    size = nnz
    row = property(lambda self: self._places("coo")[0])
    col = property(lambda self: self._places("coo")[1])
    coords = property(lambda self: self._places("coo"))
    indices = property(lambda self: self._places("csr", "csc")[self.format == "csr"])
    T = property(lambda self: self.transpose())
    H = property(lambda self: self.transpose().conj())
    real = property(lambda self: self._with(np.real(self._settled()._data)))
    imag = property(lambda self: self._with(np.imag(self._settled()._data)))

    @property
    def indptr(self) -> Array:
        """Where each row, or column, begins among the entries."""
        major = self._places("csr", "csc")[self.format == "csc"]
        count = self._shape[self.format == "csc"]
        return np.concatenate(([0], np.cumsum(np.bincount(major, minlength=count))))

    def _places(self, *forms: str) -> tuple[Array, Array]:
        if self.format not in forms:
            raise AttributeError(f"a matrix of the format {self.format} has no such attribute")
        return self._settled()._rows, self._cols

    def _new(self, kind: type, data: Any, rows: Array, cols: Array, shape: Any) -> Sparse:
        return Sparse(kind, data, rows, cols, shape)

    @staticmethod
    def _of(matrix: Any) -> Sparse:
        return sparse_of(matrix)

    def _settled(self) -> Sparse:
        """Put what was written one by one among the entries."""
        if self._filled:
            written, self._filled = self._filled, {}
            places, values = np.array(list(written)), list(written.values())
            self._replace(places[:, 0], places[:, 1], array_of(values))
        return self

    def _replace(self, rows: Array, cols: Array, values: Any) -> None:
        """Put entries in place of those at the same places."""
        width = self._shape[1]
        kept = np.flatnonzero(~np.isin(self._rows * width + self._cols, rows * width + cols))
        data = np.concatenate([self._data[kept], values])
        rows = np.concatenate([self._rows[kept], rows])
        cols = np.concatenate([self._cols[kept], cols])
        new = Sparse(self._kind, data, rows, cols, self._shape)
        self._data, self._rows, self._cols = new._data, new._rows, new._cols

    def _with(self, data: Any, kind: type | None = None) -> Sparse:
        """The same places with other values."""
        self._settled()
        return Sparse(kind or self._kind, data, self._rows, self._cols, self._shape)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._kind, name):
            raise AttributeError(f"{self._kind.__name__!r} object has no attribute {name!r}")
        if name.startswith("_"):  # SciPy's own code asks
            raise GradientLost(doors.shut(None, f"{name} of a matrix", sys._getframe(1)))
        raise lacks(name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise GradientLost(
            "npgrad: a sparse matrix with recorded entries would become an array of objects. "
            "Instead: A.toarray(), and for a function of it A.power(n), abs(A), A.multiply(B)."
        )

    def __repr__(self) -> str:
        return f"<recorded {self._kind.__name__} of shape {self._shape}, {self.nnz} entries>"

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz()")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    __hash__ = None  # type: ignore[assignment]

    # --------------------------------------------------------------------------- other formats
    def asformat(self, format: str | None, copy: bool = False) -> Sparse:
        """The same matrix in another format."""
        self._settled()
        if self.format in ("dok", "lil") and not varies(
            self._data
        ):  # a buffer that nothing was written to
            return self.real_one().asformat(format, copy)  # type: ignore[no-any-return]
        if format is None or format == self.format:
            return self._with(self._data) if copy else self
        return self._with(self._data, kind_of(self._kind, format))

    def tocsr(self, copy: bool = False) -> Sparse:
        """By rows."""
        return self.asformat("csr", copy)

    def tocsc(self, copy: bool = False) -> Sparse:
        """By columns."""
        return self.asformat("csc", copy)

    def tocoo(self, copy: bool = False) -> Sparse:
        """As triplets."""
        return self.asformat("coo", copy)

    def tolil(self, copy: bool = False) -> Sparse:
        """As lists of rows."""
        return self.asformat("lil", copy)

    def todok(self, copy: bool = False) -> Sparse:
        """As a table."""
        return self.asformat("dok", copy)

    def todia(self, copy: bool = False) -> Sparse:
        """By diagonals."""
        return self.asformat("dia", copy)

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Sparse:
        """By blocks."""
        return self.asformat("bsr", copy)

    def copy(self) -> Sparse:
        """A matrix that can be written to on its own."""
        self._settled()
        return self._with(np.copy(self._data))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Sparse:
        return self.copy()

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Sparse:
        """In another precision."""
        return self._with(self._settled()._data.astype(dtype))

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The dense matrix."""
        if out is not None:
            raise lacks("toarray(out=...)", "A.toarray()")
        self._settled()
        m, n = self._shape
        summed = product(self._data, summing(self._rows * n + self._cols, m * n))
        return summed.reshape(m, n)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        """The dense matrix, of an array's class."""
        if not issubclass(self._kind, original.sparray):
            raise lacks("todense, which makes a np.matrix,")
        return self.toarray(order, out)

    def sum_duplicates(self) -> None:
        """One entry for each place."""
        data, rows, cols = self._settled()._data, self._rows, self._cols
        turned = self.format != "csr"  # as SciPy orders triplets
        self._data, self._rows, self._cols = ordered(data, rows, cols, self._shape, turned)

    def sort_indices(self) -> None:
        """The entries are in order as they are."""

    def eliminate_zeros(self) -> None:
        """Entries that are zero stay: their derivatives are not."""

    def count_nonzero(self, axis: Any = None) -> Any:
        """How many entries are not zero."""
        return self.real_one().count_nonzero(axis)

    def getnnz(self, axis: Any = None) -> Any:
        """How many entries there are."""
        return self.real_one().getnnz(axis)

    def nonzero(self) -> Any:
        """Where entries are not zero."""
        return self.real_one().nonzero()

    def real_one(self) -> Any:
        """SciPy's matrix of the plain values."""
        self._settled()
        triplets = (plain(self._data), (self._rows, self._cols))
        kind = kind_of(self._kind, "coo")
        make = functools.partial(kind, triplets, shape=self._shape)
        return quietly(lambda: make().asformat(self.format))

    # -------------------------------------------------------------------------------- indexing
    def __getitem__(self, index: Any) -> Any:
        i, j = _numbers(index, self._shape)
        if i is not None:
            if (i, j) in self._filled:
                return self._filled[i, j]
            at = np.flatnonzero((self._rows == i) & (self._cols == j))
            return np.sum(self._data[at])
        return structural(lambda m: m.tocsr()[plain(index)], self, kind=self._kind)

    def __setitem__(self, index: Any, value: Any) -> None:
        i, j = _numbers(index, self._shape)
        if i is not None and not is_sparse(value):
            value = array_of(value).reshape(())
            self._filled[i, j] = (
                value[()] if type(value) is GradArray else GradArray(value[()], None)
            )
            return
        self._settled()
        m, n = self._shape
        rows = np.broadcast_to(np.arange(m)[:, None], (m, n))[plain(index)]
        cols = np.broadcast_to(np.arange(n), (m, n))[plain(index)]
        value = value.toarray() if is_sparse(value) else array_of(value)
        values = np.broadcast_to(value, rows.shape).reshape(-1)
        self._replace(rows.reshape(-1), cols.reshape(-1), values)

    def getrow(self, i: int) -> Any:
        """One row, as a matrix."""
        return self[[i]]

    def getcol(self, j: int) -> Any:
        """One column, as a matrix."""
        return self[:, [j]]

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Write the diagonal `k`."""
        m, n = self._settled()._shape
        length = min(m + min(k, 0), n - max(k, 0))
        value = array_of(values)
        if value.ndim:
            value = value[:length]
            length = len(value)
        at = np.arange(length)
        self._replace(at - min(k, 0), at + max(k, 0), np.broadcast_to(value, (length,)))

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """The same entries in another shape."""
        shape = shape[0] if len(shape) == 1 else shape
        return structural(lambda m: m.reshape(shape, order=order), self, kind=self._kind)


def _numbers(index: Any, shape: Any) -> tuple[Any, Any]:
    """An index of two whole numbers, not negative; twice None if it is another."""
    numbers = type(index) is tuple and len(index) == 2
    if not numbers or not all(
        isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in index
    ):
        return None, None
    for i, n in zip(index, shape, strict=True):
        if not -n <= i < n:
            raise IndexError(f"index ({i}) out of range")
    return int(index[0]) % shape[0], int(index[1]) % shape[1]


def sparse_of(matrix: Any) -> Sparse:
    """A sparse matrix as one of ours: itself, or a constant."""
    if type(matrix) is Sparse:
        return matrix._settled()
    triplets = quietly(matrix.tocoo)
    if triplets.ndim != 2:
        raise lacks("a sparse array of one axis", "two axes, A.reshape(1, -1),")
    data = GradArray(triplets.data.copy(), None)
    return Sparse(type(matrix), data, triplets.row, triplets.col, matrix.shape)


def structural(function: Callable[..., Any], *args: Any, kind: type | None = None) -> Any:
    """A function of SciPy's that moves entries and computes nothing with them.

    It is given the numbers of the entries in their place, and gives back where each went.
    """
    held: list[Any] = []
    count = 0

    def numbered(value: Any) -> Any:
        nonlocal count
        if type(value) in (list, tuple) and (is_recorded(value) or any(map(_holds_sparse, value))):
            if not any(map(_holds_sparse, value)) and all(np.ndim(plain(v)) == 0 for v in value):
                return numbered(array_of(value))
            return type(value)(map(numbered, value))
        if is_sparse(value):
            mine = sparse_of(value)
            if mine.format == "coo":
                mine = mine.tocsr()
            form, data = mine.format, mine._data
            at = np.arange(count + 1.0, count + 1 + len(data))
            make = kind_of(mine._kind, "coo")
            made = make((at, (mine._rows, mine._cols)), shape=mine.shape)
            held.append(data)
            count += len(data)
            return made.asformat(form)
        if type(value) is GradArray or (isinstance(value, np.ndarray) and value.dtype.kind in "fc"):
            at = np.arange(count + 1.0, count + 1 + value.size).reshape(value.shape)
            held.append(value.reshape(-1))
            count += value.size
            return at
        return value

    moved = quietly(lambda: function(*map(numbered, args)))
    data = np.concatenate(held)
    if np.ndim(moved) == 0 and not original.issparse(moved):
        return data[int(moved) - 1] if moved else 0.0 * data[0]
    if not original.issparse(moved):  # a dense part
        raise lacks("this index", "A.toarray()[...]")
    if moved.ndim != 2:
        raise lacks("a row or column of one axis", "A.toarray()[i]")
    made = moved.tocoo()
    given = type(moved) if kind is None else kind
    taken = data[made.data.astype(np.int64) - 1]
    return Sparse(given, taken, made.row, made.col, moved.shape)


def _holds_sparse(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_holds_sparse, value))
    return is_sparse(value)
