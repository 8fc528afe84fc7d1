"""Median, percentile, quantile and their nan versions, by all thirteen methods.

A quantile lies between two order statistics, ``(1 - gamma) low + gamma high``. The cotangent goes
to the elements that equal them, in equal shares where several do. By ``q`` the slope is that of the
interpolation for the continuous methods (4 to 9 of Hyndman and Fan, Sample quantiles in statistical
packages, 1996) and 0 for those that pick a sample; ``weights`` only decide which sample is picked.

Names a rule may use: ``g``, ``y``, and NumPy's ``a, q, axis, keepdims, method, weights``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.primitives import primitive
from npgrad.rules.extreme import extreme_jvp, extreme_vjp
from npgrad.rules.indexing import as_array, scatter
from npgrad.rules.reduced import back_in_place, in_front, into, keep_zeros, reduced_axes
from npgrad.rules.reduction import known
from npgrad.rules.sorting import fetch, level_ties, places, put
from npgrad.table import composed, reverse

NoValue = np._NoValue

# (alpha, beta): the place among n sorted elements is n q + alpha + q (1 - alpha - beta) - 1
CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0),
    "normal_unbiased": (3.0 / 8.0, 3.0 / 8.0),
}
PICKING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def place(n: Any, q: Any, method: str) -> Any:
    """The place of quantile `q` among `n` sorted elements, between whole numbers."""
    if method == "linear":
        return (n - 1) * q
    if method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    if method == "averaged_inverted_cdf":
        at = n * q - 1.0  # on an element the mean of it and the next, else the next
        below = np.floor(at)
        return below + np.where(at == below, 0.5, 1.0)
    alpha, beta = CONTINUOUS[method]
    return n * q + (alpha + q * (1.0 - alpha - beta)) - 1.0


def ranks(n: Any, q: Any, method: str) -> tuple[Any, Any, Any, Any]:
    """Ranks of the two order statistics, the weight of the second, and its slope in q."""
    at = place(n, q, method)
    last = n - 1
    inside = (at >= 0) & (at <= last)
    at = np.where(at < 0, 0.0, np.where(at > last, last, at))
    low = np.maximum(np.minimum(np.floor(at), last - 1), 0).astype(np.intp)
    high = np.minimum(low + 1, last).astype(np.intp)
    if method not in CONTINUOUS:
        return low, high, at - low, None
    alpha, beta = CONTINUOUS[method]
    return low, high, at - low, np.where(inside, n + 1.0 - alpha - beta, 0.0)


def flat_quantiles(y: Any, a: Any, q: Any, axis: Any) -> tuple[Any, Any]:
    """`y` with a row for each quantile and no kept axes, and the quantiles in a line."""
    q = as_array(q).reshape(-1)
    gone = reduced_axes(axis, a.ndim)
    rest = tuple(n for i, n in enumerate(a.shape) if i not in gone)
    return y.reshape((q.size, *rest)), q


def neighbours(
    y: Any, a: Any, q: Any, axis: Any, method: str, where: Any, both: bool = False
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """For each quantile the two order statistics, the weight of the second, its slope in q.

    Unless `both` are needed, a single quantile that is an element has no second one (None).
    """
    ys, qs = flat_quantiles(y, a, q, axis)
    line = in_front(a, axis, a.shape)
    count: Any = line.shape[0]
    if where is not NoValue:
        count = np.maximum(np.sum(in_front(where, axis, a.shape), axis=0), 1)
    found = [ranks(count, qs[k], method) for k in range(qs.size)]
    here = (np.ndarray, np.generic)
    alone = where is NoValue and not both and qs.size == 1 and is_zero(found[0][2])
    # The median of an odd number: no need to look for it. Unless NumPy (2.0) took the place in the
    # element's type and rounded it: then its result lies beside the element.
    if alone and np.all(np.any(line == ys[0], axis=0)):
        yield ys[0], None, None, None
        return
    if where is NoValue and all(isinstance(low, here) for low, *_ in found):
        needed = {int(rank) for low, high, *_ in found for rank in (low, high)}
        line = np.partition(line, sorted(needed), axis=0)
    else:  # nan last; or ranks that are on another device, as q is
        line = np.sort(line, axis=0)
    for k, (low, high, gamma, slope) in enumerate(found):
        below, above = at_rank(line, low), at_rank(line, high)
        nan = np.isnan(ys[k])
        if np.any(nan):  # because of the nans there, not of the two neighbours
            below, above = np.where(nan, ys[k], below), np.where(nan, ys[k], above)
        yield below, above, gamma, slope


def is_zero(gamma: Any) -> bool:
    """Whether a weight is 0 and stays so: it was not computed from a recorded q."""
    return (type(gamma) is np.ndarray or isinstance(gamma, np.generic)) and not np.any(gamma)


def at_rank(line: Any, rank: Any) -> Any:
    """The entries of sorted lines at a rank, one for all of them or one each."""
    if np.ndim(rank):
        return np.take_along_axis(line, rank[None], axis=0)[0]
    return line[int(rank)] if isinstance(rank, np.generic) else np.take(line, rank, axis=0)


def samples(
    y: Any, a: Any, q: Any, axis: Any, method: str, weights: Any, where: Any
) -> Iterator[tuple[int, Any, Any]]:
    """``(k, value, weight)`` of every order statistic in quantile k; weight None is 1."""
    if weights is not None or method in PICKING:
        yield from ((k, value, None) for k, value in enumerate(flat_quantiles(y, a, q, axis)[0]))
        return
    for k, (below, above, gamma, _) in enumerate(neighbours(y, a, q, axis, method, where)):
        if above is None or is_zero(gamma):
            yield k, below, None
            continue
        gamma = gamma.astype(a.dtype)
        yield k, below, 1 - gamma
        yield k, above, gamma


def quantile_vjp(
    g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, weights: Any, where: Any
) -> Any:
    """To the elements that equal an order statistic of the quantile, by its weight."""
    if not a.size:  # of nothing, NumPy gives one nan whatever the shape of q
        return np.zeros_like(a)
    if at_once(y, q, weights, where):
        return many_vjp(flat_quantiles(g, a, q, axis)[0], a, q, axis, method)
    gs = flat_quantiles(g, a, q, axis)[0]
    total: Any = None
    for k, value, weight in samples(y, a, q, axis, method, weights, where):
        part = gs[k] if weight is None else gs[k] * weight
        part = extreme_vjp(part, value, a, axis, False, NoValue, where)
        total = part if total is None else total + part
    return np.zeros_like(a) if total is None else total


def quantile_jvp(
    g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, weights: Any, where: Any
) -> Any:
    """The tangents of the order statistics, by their weights."""
    if not a.size:
        return np.zeros_like(y)
    if at_once(y, q, weights, where):
        return many_jvp(g, y, a, q, axis, method)
    rows: list[Any] = [None] * as_array(q).size
    for k, value, weight in samples(y, a, q, axis, method, weights, where):
        part = extreme_jvp(g, value, a, axis, False, NoValue, where)
        part = part if weight is None else part * weight
        rows[k] = part if rows[k] is None else rows[k] + part
    return np.stack(rows).reshape(y.shape) if rows else np.zeros_like(y)


# -------------------------------------------------------------------------- many quantiles at once
# Each order statistic costs a comparison with every element; from this many quantiles on it is less
# work to sort once, place all cotangents in the sorted lines, and move them back together.
MANY = 4


def at_once(y: Any, q: Any, weights: Any, where: Any) -> bool:
    """Whether to sort: many quantiles, whose ranks are the same in every line."""
    q = as_array(q)
    if q.size <= MANY or type(q) is not np.ndarray:
        return False
    return weights is None and where is NoValue and not np.isnan(y).any()


def sorted_lines(a: Any, q: Any, axis: Any, method: Any) -> tuple[Any, ...]:
    """The lines of `a` as rows, the order of each, and what `ranks` gives for all of `q`."""
    line = in_front(a, axis, a.shape)
    rows = line.reshape((line.shape[0], -1)).T
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    q = as_array(q).reshape(-1)
    if method in PICKING:  # NumPy says which element it picks
        low = np.quantile(np.arange(1.0 * line.shape[0]), q, method=method).astype(np.intp)
        return ordered, places(order), low, low, np.zeros(q.shape, a.dtype)
    low, high, gamma, _ = ranks(line.shape[0], q, method)
    return ordered, places(order), low, high, gamma.astype(a.dtype)


def many_vjp(g: Any, a: Any, q: Any, axis: Any, method: str) -> Any:
    """All cotangents to their places in the sorted lines, then to where those came from."""
    ordered, place, low, high, gamma = sorted_lines(a, q, axis, method)
    g = g.reshape((low.size, -1)).T
    both = np.concatenate((g * (1 - gamma), g * gamma), axis=1)
    moved = scatter(both, ordered.shape, np.concatenate((low, high)), 1)
    back = put(level_ties(moved, ordered), place).T
    line = in_front(a, axis, a.shape).shape
    return back_in_place(back.reshape(line), axis, a.shape)


def many_jvp(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str) -> Any:
    """The tangents in the order of the elements, read at the quantiles' places."""
    ordered, place, low, high, gamma = sorted_lines(a, q, axis, method)
    line = in_front(g, axis, a.shape)
    moved = level_ties(fetch(line.reshape((line.shape[0], -1)).T, place), ordered)
    below, above = np.take(moved, low, axis=1), np.take(moved, high, axis=1)
    return (below * (1 - gamma) + above * gamma).T.reshape(y.shape)


def slopes(y: Any, a: Any, q: Any, axis: Any, method: str, where: Any) -> Any:
    """The derivative of every quantile by its q, a row for each."""
    found = neighbours(y, a, q, axis, method, where, both=True)
    gaps = [(high - low, slope) for low, high, _, slope in found]
    return np.stack([gap * slope.astype(gap.dtype) for gap, slope in gaps])


def quantile_vjp_q(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, where: Any) -> Any:
    """Of ``q``: the slope of the interpolation; a method that picks a sample has none."""
    q = as_array(q)
    if method not in CONTINUOUS or not (q.size and a.size):
        return np.zeros_like(q)
    slope = slopes(y, a, q, axis, method, where)
    g = flat_quantiles(g, a, q, axis)[0]
    moved = keep_zeros(g, g * slope, slope)
    return np.sum(moved.reshape((q.size, -1)), axis=1).reshape(q.shape)


def quantile_jvp_q(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, where: Any) -> Any:
    """Of ``q``: the slope of the interpolation."""
    if method not in CONTINUOUS or not (g.size and a.size):
        return np.zeros_like(y)
    slope = slopes(y, a, q, axis, method, where)
    g = g.reshape((-1,) + (1,) * (slope.ndim - 1))
    return keep_zeros(g, slope * g, slope).reshape(y.shape)


# ---------------------------------------------------------------------------------- the decisions
# ``overwrite_input`` lets NumPy sort the array in place. A recorded value never changes, so each
# function is decided as one without that parameter (what it leaves behind is undefined anyway).
def decide_quantile(fun: Any, *, percent: bool, nan: bool) -> None:
    """Decide one of the four functions of ``(a, q)``."""

    @primitive
    def apart(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
        given = {} if weights is None else {"weights": weights}
        return fun(a, q, axis=axis, method=method, keepdims=keepdims, **given)

    def prepared(a: Any, q: Any) -> tuple[Any, Any]:
        q = as_array(q)
        return (np.true_divide(q, 100) if percent else q), (known(a, NoValue) if nan else NoValue)

    def vjp(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, weights: Any) -> Any:
        q, where = prepared(a, q)
        return quantile_vjp(g, y, a, q, axis, method, weights, where)

    def jvp(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str, weights: Any) -> Any:
        q, where = prepared(a, q)
        return quantile_jvp(g, y, a, q, axis, method, weights, where)

    def vjp_q(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str) -> Any:
        q, where = prepared(a, q)
        back = quantile_vjp_q(g, y, a, q, axis, method, where)
        return back / 100 if percent else back

    def jvp_q(g: Any, y: Any, a: Any, q: Any, axis: Any, method: str) -> Any:
        q, where = prepared(a, q)
        return quantile_jvp_q(g / 100 if percent else g, y, a, q, axis, method, where)

    def body(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        keepdims = keepdims is not NoValue and bool(keepdims)
        return into(out, apart(as_array(a), q, axis, method, keepdims, weights))

    reverse(
        apart,
        {"a": vjp, "q": vjp_q, "weights": lambda g, shape, dtype: np.zeros(shape, dtype)},
        {"a": jvp, "q": jvp_q, "weights": lambda g, y: np.zeros_like(y)},
        ignores=("keepdims",),
    ).name = f"np.{fun.__name__}"
    composed(fun, body)


def decide_median(fun: Any, *, nan: bool) -> None:
    """Decide the median, or the one that skips nan: the quantile at 1/2."""

    @primitive
    def apart(a: Any, axis: Any, keepdims: bool) -> Any:
        return fun(a, axis=axis, keepdims=keepdims)

    def vjp(g: Any, y: Any, a: Any, axis: Any) -> Any:
        return quantile_vjp(
            g, y, a, 0.5, axis, "linear", None, known(a, NoValue) if nan else NoValue
        )

    def jvp(g: Any, y: Any, a: Any, axis: Any) -> Any:
        return quantile_jvp(
            g, y, a, 0.5, axis, "linear", None, known(a, NoValue) if nan else NoValue
        )

    def body(
        a: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        keepdims: Any = False,
    ) -> Any:
        return into(out, apart(as_array(a), axis, keepdims is not NoValue and bool(keepdims)))

    reverse(apart, vjp, jvp, ignores=("keepdims",)).name = f"np.{fun.__name__}"
    composed(fun, body)


decide_quantile(np.quantile, percent=False, nan=False)
decide_quantile(np.percentile, percent=True, nan=False)
decide_quantile(np.nanquantile, percent=False, nan=True)
decide_quantile(np.nanpercentile, percent=True, nan=True)
decide_median(np.median, nan=False)
decide_median(np.nanmedian, nan=True)
