"""``scipy.spatial.distance``: cdist, pdist and distances of two vectors; other names are SciPy's.

Where two points meet, a distance that has a kink there has gradient 0, as a norm has. Metrics:
euclidean, sqeuclidean, cityblock, chebyshev, minkowski, cosine, correlation, seuclidean,
mahalanobis, canberra, braycurtis. SciPy computes in double precision; recorded float32 arrays stay
in single.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance

from ...table import reverse
from .._declare import array_of, as_imported, operation, plain, refuse, stand_in, theirs

original: Any = as_imported(scipy.spatial.distance)

Array = Any

__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine",
    "euclidean", "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip


# ------------------------------------------------------------------------- Euclidean, by products
@operation("scipy.spatial.distance.cdist")
def _euclidean(xa: Array, xb: Array, squared: bool) -> Array:
    metric = "sqeuclidean" if squared else "euclidean"
    return original.cdist(xa, xb, metric).astype(np.result_type(xa.dtype, xb.dtype))


def _weights(g: Array, y: Array, squared: bool) -> Array:
    """What multiplies the difference of two points: 2 g, or g / y and 0 where they meet."""
    if squared:
        return 2 * g
    meet = y == 0
    return np.where(meet, 0, g / np.where(meet, 1, y))


def _centred(xa: Array, xb: Array) -> tuple[Array, Array]:
    """Both moved to the middle, or points far from the origin would lose their differences."""
    if 0 in xb.shape:
        return xa, xb
    middle = np.mean(plain(xb), axis=0)
    return xa - middle, xb - middle


def _first(g: Array, xa: Array, xb: Array, y: Array, squared: bool) -> Array:
    """The sum over b of w (a - b), without an array of all differences."""
    w = _weights(g, y, squared)
    xa, xb = _centred(xa, xb)
    return np.sum(w, axis=1)[:, None] * xa - w @ xb


def _second(g: Array, xa: Array, xb: Array, y: Array, squared: bool) -> Array:
    return _first(g.T, xb, xa, y.T, squared)


def _push_first(g: Array, xa: Array, xb: Array, y: Array, squared: bool) -> Array:
    """w (a - b) . da."""
    xa, xb = _centred(xa, xb)
    along = np.sum(g * xa, axis=1)[:, None] - g @ xb.T
    return along * _weights(np.ones_like(y), y, squared)


def _push_second(g: Array, xa: Array, xb: Array, y: Array, squared: bool) -> Array:
    return _push_first(g, xb, xa, y.T, squared).T


reverse(_euclidean, {"xa": _first, "xb": _second}, {"xa": _push_first, "xb": _push_second})


# ----------------------------------------------------------------------------- by all differences
def _apart(xa: Array, xb: Array) -> Array:
    return xa[:, None, :] - xb[None, :, :]


def _total(terms: Array, w: Any) -> Array:
    """The sum over the coordinates, with weights if there are."""
    return np.sum(terms if w is None else w * terms, axis=-1)


def _rooted(total: Array, p: Any = None) -> Array:
    """The square root, or p-th one, with gradient 0 at 0; of NaN it is NaN."""
    none = total == 0
    some = np.where(none, 1, total)
    return np.where(none, 0, np.sqrt(some) if p is None else some ** (1 / p))


def _straight(xa: Array, xb: Array, w: Any = None) -> Array:
    return _euclidean(xa, xb, False) if w is None else _rooted(_total(_apart(xa, xb) ** 2, w))


def _squared(xa: Array, xb: Array, w: Any = None) -> Array:
    return _euclidean(xa, xb, True) if w is None else _total(_apart(xa, xb) ** 2, w)


def _city(xa: Array, xb: Array, w: Any = None) -> Array:
    return _total(np.abs(_apart(xa, xb)), w)


def _largest(xa: Array, xb: Array, w: Any = None) -> Array:
    """Of the coordinates whose weight is not 0: how large it is does not matter."""
    size = np.abs(_apart(xa, xb))
    return np.max(size if w is None else np.where(plain(w) > 0, size, 0), axis=-1)


def _minkowski(xa: Array, xb: Array, p: Any = 2, w: Any = None) -> Array:
    if p == np.inf:
        return _largest(xa, xb, w)
    return _rooted(_total(np.abs(_apart(xa, xb)) ** p, w), p)


def _cosine(xa: Array, xb: Array, w: Any = None) -> Array:
    heavy = xb if w is None else w * xb
    own = [_total(x * x, w) for x in (xa, xb)]
    y = 1 - (xa @ heavy.T) / np.sqrt(own[0][:, None] * own[1])
    off = plain(y)
    return y + (np.clip(off, 0, 2) - off)  # SciPy cuts what rounding adds


def _correlation(xa: Array, xb: Array, w: Any = None, centered: Any = True) -> Array:
    if centered:
        share = None if w is None else w / np.sum(w)
        means = [_total(x, share)[:, None] for x in (xa, xb)]
        if w is None:
            means = [mean / xa.shape[1] for mean in means]
        xa, xb = xa - means[0], xb - means[1]
    return _cosine(xa, xb, w)


def _standardized(xa: Array, xb: Array, V: Any = None) -> Array:
    if V is None:
        V = np.var(np.concatenate((xa, xb)), axis=0, ddof=1)
    return _rooted(np.sum(_apart(xa, xb) ** 2 / array_of(V), axis=-1))


def _inverse_covariance(x: Array) -> Array:
    """As SciPy's default for mahalanobis; NumPy's covariance is in double precision."""
    return np.linalg.inv(np.cov(x.T)).T.astype(x.dtype)


def _mahalanobis(xa: Array, xb: Array, VI: Any = None) -> Array:
    if VI is None:
        VI = _inverse_covariance(np.concatenate((xa, xb)))
    apart = _apart(xa, xb)
    return _rooted(np.sum((apart @ array_of(VI)) * apart, axis=-1))


def _canberra(xa: Array, xb: Array, w: Any = None) -> Array:
    size = np.abs(xa)[:, None, :] + np.abs(xb)[None, :, :]
    none = size == 0
    return _total(np.where(none, 0, np.abs(_apart(xa, xb)) / np.where(none, 1, size)), w)


def _braycurtis(xa: Array, xb: Array, w: Any = None) -> Array:
    both = np.abs(xa[:, None, :] + xb[None, :, :])
    return _total(np.abs(_apart(xa, xb)), w) / _total(both, w)


METRICS: dict[str, Callable[..., Array]] = {
    "euclidean": _straight,
    "sqeuclidean": _squared,
    "cityblock": _city,
    "chebyshev": _largest,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "seuclidean": _standardized,
    "mahalanobis": _mahalanobis,
    "canberra": _canberra,
    "braycurtis": _braycurtis,
}


SHORT: dict[str, Any] = getattr(original, "_METRIC_ALIAS", {})  # "l2", "euclid", ...


def _computed(xa: Array, xb: Array, metric: Any, out: Any, keywords: dict[str, Any]) -> Array:
    if out is not None:
        raise refuse("spatial.distance", "with out=")
    name = metric.lower() if isinstance(metric, str) else getattr(metric, "__name__", "a function")
    name = getattr(SHORT.get(name), "canonical_name", name)
    if name not in METRICS:
        raise refuse("spatial.distance", f"for the metric {name!r}")
    keywords = {key: value for key, value in keywords.items() if value is not None}
    if "w" in keywords:
        w = array_of(keywords["w"])
        # SciPy looks at the weights, and says what is wrong with them
        with np.errstate(all="ignore"):
            getattr(original, name)(*np.ones((2, xa.shape[1])), w=plain(w))
        keywords["w"] = w.astype(np.result_type(w, xa)) if w.dtype.kind != "f" else w
    return METRICS[name](xa, xb, **keywords)


@stand_in(original.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """SciPy's ``cdist``: the distance of each row of `XA` to each of `XB`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> cdist = npgrad.scipy.spatial.distance.cdist
    >>> npgrad.grad(lambda x: cdist(x, np.zeros((1, 2))).sum())(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    return _computed(array_of(XA), array_of(XB), metric, out, kwargs)


@stand_in(original.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """SciPy's ``pdist``: the distances of the rows of `X`, as the upper triangle's entries."""
    X = array_of(X)
    if metric == "seuclidean" and kwargs.get("V") is None:
        kwargs["V"] = np.var(X, axis=0, ddof=1)
    if metric == "mahalanobis" and kwargs.get("VI") is None:
        kwargs["VI"] = _inverse_covariance(X)
    return _computed(X, X, metric, out, kwargs)[np.triu_indices(X.shape[0], 1)]


@stand_in(original.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """SciPy's ``squareform``: a matrix of the distances that `pdist` gives, and back."""
    X = array_of(X)
    shaped = original.squareform(plain(X), force, checks)  # its checks, and its messages
    if X.size == 0 or shaped.size == 0:
        return np.zeros_like(X, shape=shaped.shape)
    size = X.shape[0] if X.ndim == 2 else shaped.shape[0]
    upper = np.triu_indices(size, 1)
    if X.ndim == 2:
        return X[upper]
    place = np.zeros((size, size), dtype=int)
    place[upper] = np.arange(1, X.size + 1)
    return np.concatenate((np.zeros_like(X, shape=1), X))[place + place.T]


# What follows the two vectors, where it is not the weights alone
ORDER = {
    "minkowski": ("p", "w"), "seuclidean": ("V",), "mahalanobis": ("VI",),
    "correlation": ("w", "centered"),
}  # fmt: skip


def _far_from_one(name: str, u: Array, v: Array) -> Any:
    """The size of a difference whose square is no number, for what grows in proportion to it."""
    if name not in ("euclidean", "minkowski", "seuclidean") or u.shape != v.shape or not u.size:
        return None
    size = np.max(np.abs(plain(u) - plain(v)))
    limits = np.finfo(size.dtype) if size.dtype.kind == "f" else np.finfo(float)
    middling = float(limits.tiny) ** 0.45 < size < float(limits.max) ** 0.45
    return None if middling or not 0 < size < np.inf else size


def _pair(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A distance of two vectors by `cdist`."""

    def body(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.update(zip(ORDER.get(name, ("w",)), args, strict=False))
        u, v = array_of(u), array_of(v)
        if u.ndim != 1 or v.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        if name == "canberra":  # of two vectors SciPy leaves out what is NaN
            with np.errstate(all="ignore"):
                term = np.abs(plain(u) - plain(v)) / (np.abs(plain(u)) + np.abs(plain(v)))
            u, v = (np.where(np.isnan(term), 0, x) for x in (u, v))
        size = _far_from_one(name, u, v)
        if size is not None:  # of two vectors SciPy's norm does not overflow, nor vanish
            return size * _computed(u[None] / size, v[None] / size, name, None, kwargs)[0, 0]
        return _computed(u[None], v[None], name, None, kwargs)[0, 0]

    body.__name__ = name
    body.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    body.__doc__ = f"SciPy's ``{name}``, the distance of two vectors."
    return stand_in(original)(body)


(
    euclidean, sqeuclidean, cityblock, chebyshev, minkowski, cosine, correlation, seuclidean,
    mahalanobis, canberra, braycurtis,
) = [_pair(name, getattr(original, name)) for name in METRICS]  # fmt: skip


def __getattr__(name: str) -> Any:
    return theirs(scipy.spatial.distance, name)
