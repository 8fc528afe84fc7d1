"""Arithmetic and sums of a sparse matrix with recorded entries."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as original

from .._declare import array_of, is_recorded
from ._parts import dense, is_sparse, kind_of, lacks, product, summing


def _entrywise(name: str) -> Any:
    def method(self: Any) -> Any:
        return self._map(getattr(np, name))

    method.__name__ = name
    method.__doc__ = f"``np.{name}`` of each entry."
    return method


class Arithmetic:
    """Operators and reductions, for triplets `_rows`, `_cols`, `_data`."""

    _kind: type
    _data: Any
    _rows: Any
    _cols: Any
    _shape: tuple[int, ...]
    format: Any
    toarray: Any
    copy: Any
    tocoo: Any
    tocsr: Any
    asformat: Any
    _settled: Any
    _with: Any
    _of: Any
    sum_duplicates: Any
    _new: Any

    def _map(self, function: Callable[[Any], Any]) -> Any:
        """A function that is 0 at 0, of each entry."""
        self._settled()
        if self.format == "coo":
            self.sum_duplicates()
        return self._with(function(self._data))

    def __neg__(self) -> Any:
        return self._map(operator.neg)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._map(np.abs)

    def conjugate(self, copy: bool = True) -> Any:
        """Each entry's conjugate."""
        return self._map(np.conj)

    conj = conjugate
    sqrt, sin, tan, sinh, tanh = (_entrywise(n) for n in ("sqrt", "sin", "tan", "sinh", "tanh"))
    arcsin, arctan, arcsinh = (_entrywise(n) for n in ("arcsin", "arctan", "arcsinh"))
    arctanh, expm1, log1p = (_entrywise(n) for n in ("arctanh", "expm1", "log1p"))
    sign, floor, ceil, rint, trunc = (
        _entrywise(n) for n in ["sign", "floor", "ceil", "rint", "trunc"]
    )

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Each entry's power."""
        if np.ndim(n) or n <= 0:
            raise NotImplementedError("input is not a positive scalar")
        made = self._map(lambda data: data**n)
        return made if dtype is None else made.astype(dtype)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Rows for columns."""
        self._settled()
        turned = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        kind = kind_of(self._kind, turned)
        return self._new(kind, self._data, self._cols, self._rows, self._shape[::-1])

    def __add__(self, other: Any) -> Any:
        if not is_sparse(other):
            if np.ndim(other) == 0 and not is_recorded(other) and other == 0:
                return self.copy()
            if np.ndim(other) == 0:
                raise NotImplementedError(
                    "adding a nonzero scalar to a sparse array is not supported"
                )
            return self.toarray() + other
        other = self._of(other)
        if other.shape != self._shape:
            raise ValueError("inconsistent shapes")
        self._settled()
        data = np.concatenate([self._data, other._data])
        rows = np.concatenate([self._rows, other._rows])
        cols = np.concatenate([self._cols, other._cols])
        return self._new(self._compressed(), data, rows, cols, self._shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-self._of(other) if is_sparse(other) else -array_of(other))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _compressed(self) -> type:
        return kind_of(self._kind, "csc" if self.format == "csc" else "csr")

    def multiply(self, other: Any) -> Any:
        """Entry times entry."""
        self._settled()
        if is_sparse(other):
            return self._meeting(self._of(other))
        other = array_of(other)
        if other.ndim == 0 or other.size == 1:
            return self._with(self._data * other.reshape(()))
        wide = np.broadcast_to(other, self._shape)
        made = self._with(self._data * wide[self._rows, self._cols])
        return made.tocoo()

    def _meeting(self, other: Any) -> Any:
        """The entries that both matrices have, multiplied."""
        if self._shape != other._shape:
            raise lacks("multiply by a sparse matrix of another shape", "A.toarray() * B.toarray()")
        kind, width = self._compressed(), self._shape[1]
        left, right = (m.asformat(kind.__name__[:3]) for m in (self, other))
        one, two = (m._rows * width + m._cols for m in (left, right))
        both, first, second = np.intersect1d(one, two, assume_unique=True, return_indices=True)
        data = left._data[first] * right._data[second]
        return self._new(kind, data, both // width, both % width, self._shape)

    def __mul__(self, other: Any) -> Any:
        entries = issubclass(self._kind, original.sparray) or np.ndim(dense(other)) == 0
        return self.multiply(other) if entries else self @ other

    def __rmul__(self, other: Any) -> Any:
        entries = issubclass(self._kind, original.sparray) or np.ndim(dense(other)) == 0
        return self.multiply(other) if entries else self.__rmatmul__(other)

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(other):
            raise lacks("division by a sparse matrix", "A.toarray() / B.toarray()")
        return self.multiply(1 / array_of(other))

    def __pow__(self, n: Any) -> Any:
        if issubclass(self._kind, original.sparray):
            return self.power(n)
        if type(n) is not int or n < 1:
            raise lacks("this power")
        return functools.reduce(operator.matmul, [self] * n)

    def __matmul__(self, other: Any) -> Any:
        self._settled()
        if is_sparse(other):
            return self._times(self._of(other))
        x = array_of(other)
        if x.ndim not in (1, 2):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if x.shape[0] != self._shape[1]:
            raise ValueError(f"dimension mismatch: {self._shape} @ {x.shape}")
        values = self._data if x.ndim == 1 else self._data[:, None]
        return product(values * x[self._cols], summing(self._rows, self._shape[0]))

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._of(other) @ self
        x = array_of(other)
        return self.transpose() @ x if x.ndim == 1 else (self.transpose() @ x.T).T

    def dot(self, other: Any) -> Any:
        """The product with a number, an array or a sparse matrix."""
        return self * other if np.ndim(dense(other)) == 0 else self @ other

    def _times(self, other: Any) -> Any:
        """The product with a sparse matrix: each entry meets the other's row."""
        if self._shape[1] != other._shape[0]:
            raise ValueError(f"dimension mismatch: {self._shape} @ {other._shape}")
        other = other.tocsr()
        starts = other.indptr
        counts = np.diff(starts)[self._cols]
        left = np.repeat(np.arange(len(self._cols)), counts)
        begin = np.repeat(starts[self._cols] - np.cumsum(counts) + counts, counts)
        right = begin + np.arange(len(left))
        data = self._data[left] * other._data[right]
        shape = (self._shape[0], other._shape[1])
        return self._new(self._compressed(), data, self._rows[left], other._cols[right], shape)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all entries, of columns (0) or of rows (1)."""
        self._settled()
        if out is not None:
            raise lacks("sum(out=...)", "A.sum(axis)")
        data = self._data if dtype is None else self._data.astype(dtype)
        if axis is None or axis in ((0, 1), (1, 0)):
            return np.sum(data)
        if not issubclass(self._kind, original.sparray):
            raise lacks("sum along an axis, a np.matrix,", "A @ np.ones(n), A.T @ np.ones(m)")
        place = self._cols if axis in (0, -2) else self._rows
        return product(data, summing(place, self._shape[1 if axis in (0, -2) else 0]))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean of all entries, of columns or of rows."""
        m, n = self._shape
        count = m * n if axis is None else (m if axis in (0, -2) else n)
        return self.sum(axis, dtype, out) / count

    def diagonal(self, k: int = 0) -> Any:
        """The diagonal `k`."""
        m, n = self._settled()._shape
        length = max(min(m + min(k, 0), n - max(k, 0)), 0)
        on = np.flatnonzero(self._cols - self._rows == k)
        return product(self._data[on], summing(self._rows[on] + min(k, 0), length))

    def trace(self, offset: int = 0) -> Any:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))
