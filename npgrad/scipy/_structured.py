"""Structured parts of ``scipy.linalg``: Sylvester and banded equations, Toeplitz, blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..rules.linalg import transposed
from ..table import reverse
from ._declare import array_of, as_imported, finite, operation, stand_in

original: Any = as_imported(scipy.linalg)

Array = Any


# ------------------------------------------------------------------------------------- Sylvester
@operation("scipy.linalg.solve_sylvester")
def _sylvester(a: Array, b: Array, q: Array) -> Array:
    """a x + x b = q, stacks one by one.

    In one dtype: of a real matrix beside a complex one SciPy takes the real Schur form, which is no
    triangle where eigenvalues are complex, and solves another equation.
    """
    dtype = np.result_type(a, b, q)
    a, b, q = (m.astype(dtype) for m in (a, b, q))
    if a.ndim == b.ndim == q.ndim == 2:
        return original.solve_sylvester(a, b, q)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    rows = [np.broadcast_to(m, (*lead, *m.shape[-2:])) for m in (a, b, q)]
    flat = [m.reshape((-1, *m.shape[-2:])) for m in rows]
    found = [original.solve_sylvester(*parts) for parts in zip(*flat, strict=True)]
    return np.stack(found).reshape(rows[2].shape)


def _back(g: Array, a: Array, b: Array) -> Array:
    """The cotangent of q: a Sylvester equation with both matrices transposed."""
    return _sylvester(transposed(a), transposed(b), g)


reverse(
    _sylvester,
    {
        "a": lambda g, a, b, y: -(_back(g, a, b) @ transposed(y)),
        "b": lambda g, a, b, y: -(transposed(y) @ _back(g, a, b)),
        "q": _back,
    },
    {
        "a": lambda g, a, b, y: _sylvester(a, b, -(g @ y)),
        "b": lambda g, a, b, y: _sylvester(a, b, -(y @ g)),
        "q": lambda g, a, b: _sylvester(a, b, g),
    },
)


@stand_in(original.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """SciPy's ``solve_sylvester``: the x of a x + x b = q."""
    return _sylvester(array_of(a), array_of(b), array_of(q))


# ---------------------------------------------------------------------------------------- banded
@operation("scipy.linalg.solve_banded")
def _banded(ab: Array, b: Array, low: int, up: int) -> Array:
    """Solve with a banded matrix; `b` is a matrix."""
    return original.solve_banded((low, up), ab, b, check_finite=False)


def _shifted(x: Array, k: int) -> Array:
    """Row j of the result is row j - k of `x`, zeros from outside."""
    if k == 0:
        return x
    n = x.shape[0]
    if abs(k) >= n:
        return np.zeros_like(x)
    if k > 0:
        return np.concatenate((np.zeros_like(x[:k]), x[:-k]))
    return np.concatenate((x[-k:], np.zeros_like(x[:-k])))


def _turned(ab: Array, low: int, up: int) -> Array:
    """The transposed matrix in band storage: diagonal k becomes -k, and its entries move by k.

    ``ab[up - k, j]`` is entry (j - k, j); transposed it is entry (j, j - k), in column j - k.
    """
    return np.stack([_shifted(ab[up - k], -k) for k in range(-low, up + 1)])


def _band(z: Array, x: Array, low: int, up: int) -> Array:
    """The band of z x^T: in row up - k, at j, the sum of z[j - k] x[j]."""
    return np.stack([np.sum(_shifted(z, k) * x, axis=1) for k in range(up, -low - 1, -1)])


def _times(ab: Array, x: Array, low: int, up: int) -> Array:
    """The banded matrix times `x`."""
    total = None
    for k in range(-low, up + 1):
        part = _shifted(ab[up - k][:, None] * x, -k)
        total = part if total is None else total + part
    return total


def _banded_right(g: Array, ab: Array, low: int, up: int) -> Array:
    return _banded(_turned(ab, low, up), g, up, low)


reverse(
    _banded,
    {
        "ab": lambda g, ab, y, low, up: -_band(_banded_right(g, ab, low, up), y, low, up),
        "b": _banded_right,
    },
    {
        "ab": lambda g, ab, y, low, up: -_banded(ab, _times(g, y, low, up), low, up),
        "b": lambda g, ab, low, up: _banded(ab, g, low, up),
    },
)


@stand_in(original.solve_banded)
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """SciPy's ``solve_banded``; corners of the storage that are not read get zero gradient.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda ab: np.sum(npgrad.scipy.linalg.solve_banded((0, 1), ab, np.ones(2)))
    >>> npgrad.grad(f)(np.array([[9.0, 0.0], [1.0, 1.0]])) + 0.0
    array([[ 0., -1.],
           [-1., -1.]])
    """
    low, up = (int(count) for count in l_and_u)
    ab, b = array_of(ab), array_of(b)
    finite(check_finite, ab, b)
    if ab.ndim != 2 or b.ndim > 2:
        if b.ndim == 1:
            raise ValueError("solve_banded: a stack of matrices needs b of at least two axes")
        lead = np.broadcast_shapes(ab.shape[:-2], b.shape[:-2])
        ab = np.broadcast_to(ab, (*lead, *ab.shape[-2:])).reshape((-1, *ab.shape[-2:]))
        b = np.broadcast_to(b, (*lead, *b.shape[-2:])).reshape((-1, *b.shape[-2:]))
        found = np.stack([_banded(ab[i], b[i], low, up) for i in range(ab.shape[0])])
        return found.reshape((*lead, *b.shape[-2:]))
    if b.ndim == 1:
        return _banded(ab, b[:, None], low, up)[:, 0]
    return _banded(ab, b, low, up)


@stand_in(original.solveh_banded)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """SciPy's ``solveh_banded``: of the band that is stored, the other one is its conjugate."""
    ab = array_of(ab)
    count, size = ab.shape[-2] - 1, ab.shape[-1]
    stored, other = [], []  # by distance from the diagonal, moved to where the other band has them
    for k in range(count + 1):
        row = ab[..., k if lower else count - k, :]
        lead, kept = [(0, 0)] * (row.ndim - 1), max(size - k, 0)
        part = row[..., :kept] if lower else row[..., size - kept :]
        stored.append(np.pad(part, [*lead, (0, size - kept) if lower else (size - kept, 0)]))
        other.append(
            np.conj(np.pad(part, [*lead, (size - kept, 0) if lower else (0, size - kept)]))
        )
    up, low = (other, stored) if lower else (stored, other)
    full = np.stack([*up[:0:-1], stored[0], *low[1:]], axis=-2)
    return solve_banded((count, count), full, b, check_finite=check_finite)


# ------------------------------------------------------------------------------ special matrices
@stand_in(original.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """SciPy's ``toeplitz``: first column `c`, first row `r` (its first entry is not read)."""
    c = np.atleast_1d(array_of(c))
    r = np.conj(c) if r is None else np.atleast_1d(array_of(r))
    n, m = c.shape[-1], r.shape[-1]
    lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = np.broadcast_to(c, (*lead, n)), np.broadcast_to(r, (*lead, m))
    values = np.concatenate((c[..., ::-1], r[..., 1:]), axis=-1)
    return values[..., n - 1 - np.arange(n)[:, None] + np.arange(m)]


@stand_in(original.block_diag)
def block_diag(*arrs: Any) -> Any:
    """SciPy's ``block_diag``."""
    parts = [np.atleast_2d(array_of(a)) for a in arrs]
    lead = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    columns = sum(part.shape[-1] for part in parts)
    rows, start = [], 0
    for part in parts:
        stop = start + part.shape[-1]
        widths = [(0, 0)] * (part.ndim - 1) + [(start, columns - stop)]
        padded = np.pad(part, widths)
        rows.append(np.broadcast_to(padded, (*lead, *padded.shape[-2:])))
        start = stop
    return np.concatenate(rows, axis=-2)
