"""Log-softmax and logsumexp of the last axis, and their backwards, one row at a time."""

from __future__ import annotations

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels._arrays import Array, matrix, usable
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread
from npgrad.kernels._zeros import zeros_kept
from npgrad.kernels.softmax import largest, of_rows
from npgrad.kernels.vector_math import exp, exp_negative, log

__all__ = [
    "log_softmax",
    "log_softmax_grad",
    "log_softmax_grad_reference",
    "log_softmax_reference",
    "logsumexp",
    "logsumexp_grad",
    "logsumexp_grad_reference",
    "logsumexp_reference",
]


def _finite_top(x: Array) -> Array:
    """The largest entry of each row; 0 where it is infinite, so that inf - inf is never formed."""
    top = np.max(x, axis=-1, keepdims=True)
    return np.where(np.isfinite(top), top, np.zeros_like(top))


def logsumexp_reference(x: Array) -> Array:
    """``log(sum(exp(x)))``: -inf for a row of -inf, inf for a row that holds inf."""
    top = _finite_top(x)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


def logsumexp_grad_reference(g: Array, x: Array, y: Array) -> Array:
    """``g softmax(x)``; infinite entries share the cotangent equally, as in the limit."""
    y = y[..., None]
    infinite = np.isinf(y)
    ties = x == y
    share = ties / np.maximum(np.sum(ties, axis=-1, keepdims=True), 1).astype(y.dtype)
    inner = np.exp(np.where(infinite, -np.inf, x) - np.where(infinite, 0, y))
    return g[..., None] * np.where(infinite, share.astype(y.dtype), inner)


def log_softmax_reference(x: Array) -> Array:
    """``x - logsumexp(x)``."""
    top = _finite_top(x)
    shifted = x - top
    with np.errstate(divide="ignore", invalid="ignore"):
        return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def log_softmax_grad_reference(g: Array, y: Array) -> Array:
    """The cotangent of x from that of ``y = log_softmax(x)``."""
    return zeros_kept(g, g - np.exp(y) * np.sum(g, axis=-1, keepdims=True), -1)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _logsumexp(start, stop, x, shift, y):  # type: ignore[no-untyped-def]
    """Row by row, the top in `shift` and the logarithm of the shifted sum in `y`."""
    n = x.shape[1]
    for i in range(start, stop):
        row = x[i]
        zero = row.dtype.type(0)
        top = largest(row)
        top = top if abs(top) < np.inf else zero  # so entries above it may come
        total = zero
        for j in range(n):
            total += exp(row[j] - top)
        shift[i] = top
        y[i] = log(total)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _log_softmax(start, stop, x, y):  # type: ignore[no-untyped-def]
    n = x.shape[1]
    for i in range(start, stop):
        row = x[i]
        out = y[i]
        zero = row.dtype.type(0)
        top = largest(row)
        top = top if abs(top) < np.inf else zero
        total = zero
        for j in range(n):
            shifted = row[j] - top
            out[j] = shifted
            total += exp(shifted)
        last = log(total)
        for j in range(n):
            out[j] -= last


@njit(fastmath={"reassoc", "contract", "nsz"})
def _log_softmax_grad(start, stop, g, y, out):  # type: ignore[no-untyped-def]
    n = y.shape[1]
    for i in range(start, stop):
        gi = g[i]
        yi = y[i]
        row = out[i]
        total = yi.dtype.type(0)
        for j in range(n):
            total += gi[j]
        if total == 0 and not gi.any():
            row[:] = 0
            continue
        for j in range(n):
            row[j] = gi[j] - exp_negative(yi[j]) * total


@njit(fastmath={"contract", "nsz"})
def _logsumexp_grad(start, stop, g, x, y, out):  # type: ignore[no-untyped-def]
    """Rows with an infinite y are left to the reference by the launcher."""
    for i in range(start, stop):
        row = x[i]
        to = out[i]
        scale = g[i]
        shift = y[i]
        for j in range(x.shape[1]):
            to[j] = scale * exp_negative(row[j] - shift)


def logsumexp(x: Array) -> Array:
    """``log(sum(exp(x)))`` over the last axis."""
    if not usable(x):
        return logsumexp_reference(x)
    rows = matrix(x, x.shape[-1])
    shift = np.empty(len(rows), x.dtype)
    y = np.empty(len(rows), x.dtype)
    spread(_logsumexp, len(rows), rows.shape[1] * 0.8, rows, shift, y)
    y += shift
    return y.reshape(x.shape[:-1])


def logsumexp_grad(g: Array, x: Array, y: Array) -> Array:
    """The cotangent of x from `g`, that of ``y = logsumexp(x)``."""
    if not usable(x, g, y) or g.shape != y.shape or not np.isfinite(y).all():
        return logsumexp_grad_reference(g, x, y)
    rows = matrix(x, x.shape[-1])
    out = empty(x.shape, x.dtype)
    flat = np.ascontiguousarray(g).reshape(-1)
    cost = rows.shape[1] * 0.8
    spread(
        _logsumexp_grad,
        len(rows),
        cost,
        flat,
        rows,
        np.ascontiguousarray(y).reshape(-1),
        out.reshape(rows.shape),
    )
    return out


def log_softmax(x: Array) -> Array:
    """``x - logsumexp(x)`` over the last axis."""
    if not usable(x):
        return log_softmax_reference(x)
    return of_rows(_log_softmax, 1.0, x)


def log_softmax_grad(g: Array, y: Array) -> Array:
    """The cotangent of x from `g`, that of ``y = log_softmax(x)``."""
    if not usable(y, g) or g.shape != y.shape:
        return log_softmax_grad_reference(g, y)
    return of_rows(_log_softmax_grad, 0.7, g, y)
