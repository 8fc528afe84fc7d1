"""Statistics over samples: cov, corrcoef, and the histograms.

Covariances are NumPy's formulas on recorded arrays, differentiable by the data and by ``aweights``.
A histogram is differentiable by its ``weights``, and by the data through the edges that follow the
smallest and the largest of them; which bin a sample falls into is an integer. With ``density`` the
widths couple edges and counts. The number of bins that a named estimator (``bins="auto"``) chooses
is an integer too.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.indexing import as_array, gather, scatter_add
from npgrad.table import composed, constant, linear, reverse


# ------------------------------------------------------------------------------------ covariances
def matrix(x: Any, dtype: Any) -> Any:
    """`x` with at least two axes, in `dtype`."""
    x = x if x.dtype == dtype else x.astype(dtype)
    return x.reshape((1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x


def sample_weights(weights: Any, name: str, count: int) -> Any:
    """`weights` of the observations, checked as NumPy does."""
    weights = as_array(weights)
    weights = weights if weights.dtype == np.float64 else weights.astype(np.float64)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if np.any(weights < 0):
        raise ValueError(f"{name} cannot be negative")
    return weights


def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """NumPy's steps: centre, weigh, multiply, normalise."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = as_array(m)
    y = None if y is None else as_array(y)
    for name, part in (("m", m), ("y", y)):
        if part is not None and part.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(m.dtype, np.float64, *(() if y is None else (y.dtype,)))
    x = matrix(m, dtype)
    if not rowvar and m.ndim != 1:
        x = x.T
    if x.shape[0] == 0:
        return np.zeros_like(x, shape=(0, 0), dtype=np.float64)
    if y is not None:
        y = matrix(y, dtype)
        if not rowvar and y.shape[0] != 1:
            y = y.T
        x = np.concatenate((x, y), axis=0)
    if ddof is None:
        ddof = 0 if bias else 1

    count = x.shape[1]
    weights = None
    if fweights is not None:
        weights = sample_weights(fweights, "fweights", count)
        if not np.all(weights == np.around(weights)):
            raise TypeError("fweights must be integer")
    if aweights is not None:
        aweights = sample_weights(aweights, "aweights", count)
        weights = aweights if weights is None else weights * aweights
    mean, total = np.average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        freedom = count - ddof
    elif ddof == 0:
        freedom = total
    elif aweights is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * np.sum(weights * aweights) / total
    if freedom <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = 0.0
    x = x - mean[:, None]
    right = x.T if weights is None else (x * weights).T
    product = np.dot(x, np.conj(right) if x.dtype.kind == "c" else right)
    return np.squeeze(product * np.true_divide(1, freedom))


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """The covariances over both deviations, clipped to what correlations can be."""
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c  # one variable: 1, or nan
    deviation = np.sqrt(np.real(np.diag(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind != "c":
        return np.clip(c, -1, 1)
    return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)


composed(np.cov, cov)
composed(np.corrcoef, corrcoef)


# --------------------------------------------------------------------------------------- counting
linear(
    np.bincount,
    signature="x, /, weights=None, minlength=0",
    transpose={"weights": lambda g, x: gather(g, as_array(x), -1)},
    ignores=("minlength",),
    forward={"weights": lambda g, y, x: scatter_add(g, as_array(x), y.size, -1)},
    batched=True,
)


@primitive
def bin_count(a: Any, bins: str, range: Any) -> Any:
    """How many bins of equal width a named estimator chooses."""
    return np.intp(np.histogram_bin_edges(a, bins, range).size - 1)


constant(bin_count, "a number of bins is an integer")


def flat_sample(a: Any, weights: Any) -> tuple[Any, Any]:
    """The samples and their weights in a line."""
    a = as_array(a)
    if a.dtype == np.bool_:
        a = a.astype(np.uint8)
    if weights is None:
        return np.ravel(a), None
    weights = as_array(weights)
    if weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    return np.ravel(a), np.ravel(weights)


def outer_edges(a: Any, range: Any) -> tuple[Any, Any]:
    """The first and the last edge: as given, or the smallest and the largest sample."""
    if range is not None:
        first, last = range
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        kind = "supplied"
    elif a.size == 0:
        return 0, 1
    else:
        first, last = np.min(a), np.max(a)
        kind = "autodetected"
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"{kind} range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Edges as given, or equal steps from the first to the last."""
    a, weights = flat_sample(a, weights)
    if not isinstance(bins, str) and np.ndim(bins) == 1:
        edges = as_array(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        count = int(bin_count(a, bins, range))
    elif np.ndim(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError("`bins` must be an integer, a string, or an array") from error
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
    else:
        raise ValueError("`bins` must be 1d, when an array")
    first, last = outer_edges(a, range)
    dtype = np.result_type(*(getattr(x, "dtype", x) for x in (first, last, a)))
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges


def bins_of(a: Any, edges: Any) -> Any:
    """The bin of every sample, -1 outside; the last bin holds its right edge."""
    if not len(edges):
        return np.full(a.shape, -1)
    bins = np.searchsorted(edges, a, side="right") - 1
    last = len(edges) - 2
    bins = np.where(a == edges[-1], last, bins)
    return np.where((bins > last) | ~(a >= edges[0]), -1, bins)


def counted(bins: Any, weights: Any, count: int) -> Any:
    """How many samples each bin has, or their summed weights, in double precision."""
    inside = np.flatnonzero(bins >= 0)
    return np.bincount(bins[inside], None if weights is None else weights[inside], count)


@primitive
def weigh(weights: Any, a: Any, bins: Any, range: Any, found: Any) -> Any:
    """The sums of the weights in each bin, by NumPy; `found` is the bin of each sample."""
    return np.histogram(a, bins, range, weights=weights)[0]


def unweigh(g: Any, found: Any) -> Any:
    """The cotangent of its bin for every weight, 0 outside of them."""
    if not g.size:
        return np.zeros_like(g, shape=found.shape)
    return np.where(found < 0, 0, gather(g, np.maximum(found, 0), -1))


def weigh_forward(g: Any, y: Any, found: Any) -> Any:
    """The sums of the weights' tangents in each bin."""
    inside = np.flatnonzero(found >= 0)
    return scatter_add(gather(g, inside, -1), found[inside], y.size, -1)


def unmoved(g: Any, y: Any, shape: Any) -> Any:
    """Zeros like the sums, one for each tangent of a batch."""
    return np.zeros_like(y, shape=g.shape[: g.ndim - len(shape)] + y.shape)


# which bin a sample is in changes by jumps: nothing flows to the samples from here
reverse(
    weigh,
    {"weights": unweigh, "a": lambda g: None, "bins": lambda g: None},
    {
        "weights": weigh_forward,
        "a": unmoved,
        "bins": unmoved,
    },
    ignores=("range",),
    batched=True,
).name = "np.histogram"


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts (or sums of weights) and edges."""
    a, weights = flat_sample(a, weights)
    edges = np.histogram_bin_edges(a, bins, range, weights)
    found = bins_of(a, edges)
    if weights is None:
        counts = counted(found, None, max(len(edges) - 1, 0))
    else:
        counts = weigh(weights, a, bins, range, found)
    if density:
        width = np.diff(edges)
        width = width if width.dtype == np.float64 else width.astype(np.float64)
        return counts / width / np.sum(counts), edges
    return counts, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts in a grid of bins, and the edges along each axis."""
    if getattr(sample, "ndim", 0) == 2:
        columns = [sample[:, i] for i in builtin_range(sample.shape[1])]
    else:  # a sequence of coordinates
        rows = [np.ravel(as_array(row)) for row in sample]
        columns = rows if np.ndim(sample[0]) else [np.concatenate(rows)]
    dims = len(columns)
    try:
        if len(bins) != dims:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            )
    except TypeError:
        bins = dims * [bins]
    if range is None:
        range = (None,) * dims
    elif len(range) != dims:
        raise ValueError("range argument must have one entry per dimension")
    edges = [
        axis_edges(x, n, limits, i)
        for i, (x, n, limits) in enumerate(zip(columns, bins, range, strict=True))
    ]
    shape = tuple(len(e) - 1 for e in edges)
    place = [bins_of(x, e) for x, e in zip(columns, edges, strict=True)]
    inside = np.all([p >= 0 for p in place], axis=0)
    flat = np.where(inside, np.ravel_multi_index([np.maximum(p, 0) for p in place], shape), -1)
    weights = None if weights is None else as_array(weights)
    counts = counted(flat, weights, int(np.prod(shape))).reshape(shape)
    counts = counts if counts.dtype == np.float64 else counts.astype(np.float64, casting="safe")
    if density:
        total = np.sum(counts)
        for i, e in enumerate(edges):
            counts = counts / np.diff(e).reshape((-1,) + (1,) * (dims - i - 1))
        counts = counts / total
    return counts, edges


builtin_range = range


def axis_edges(x: Any, bins: Any, limits: Any, i: int) -> Any:
    """The edges along axis `i` of a grid of bins."""
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        first, last = outer_edges(x, limits)
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError(f"`bins[{i}]` must be an integer, when a scalar") from error
        return np.linspace(first, last, count + 1)
    edges = as_array(bins)
    if edges.ndim != 1:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    if np.any(edges[:-1] > edges[1:]):
        raise ValueError(f"`bins[{i}]` must be monotonically increasing, when an array")
    return edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """The grid of two coordinates."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        given = len(bins)
    except TypeError:
        given = 1
    if given not in {1, 2}:
        edges = as_array(bins)
        bins = [edges, edges]
    counts, edges = np.histogramdd([as_array(x), as_array(y)], bins, range, density, weights)
    return counts, edges[0], edges[1]


composed(np.histogram_bin_edges, histogram_bin_edges)
composed(np.histogram, histogram)
composed(np.histogramdd, histogramdd)
composed(np.histogram2d, histogram2d)
