"""One-dimensional distributions: how one is put together, and the list of them.

A distribution is its formulas for ``loc = 0, scale = 1``, written in ufuncs that the table knows;
`Distribution` adds location, scale, support and SciPy's answers outside of it. A point outside of
the support has a zero gradient; where SciPy's value is NaN, so is the gradient.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats

from ..errors import NoDerivative
from ..rules.special.distribution import t_density
from ..rules.special.shapes import t_log_density
from ._declare import array_of, as_imported, is_recorded, plain, refuse, varies
from ._tails import log_betainc, log_gammainc, log_gammaincc, log_of, log_stdtr

original: Any = as_imported(scipy.stats)

Array = Any
Formula = Callable[..., Array]

# What each method gives below the support and above it.
OUTSIDE = {
    "pdf": (0.0, 0.0),
    "pmf": (0.0, 0.0),
    "logpdf": (-np.inf, -np.inf),
    "logpmf": (-np.inf, -np.inf),
    "cdf": (0.0, 1.0),
    "logcdf": (-np.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -np.inf),
}


def own_method(theirs: Any, name: str) -> Any:
    """A method of SciPy's distribution, also while wrapped code finds a stand-in on the object."""
    written = getattr(type(theirs), name, None)
    return (
        written.__get__(theirs)
        if isinstance(written, types.FunctionType)
        else getattr(theirs, name)
    )


def without_rule(theirs: Any, name: str, methods: tuple[str, ...]) -> Any:
    """SciPy's method, that refuses recorded arguments and says which methods take them."""
    if not callable(theirs):
        return theirs

    @functools.wraps(theirs)
    def run(*args: Any, **kwargs: Any) -> Any:
        if varies([args, kwargs]):
            raise NoDerivative(
                f"npgrad: npgrad.scipy.{name}.{theirs.__name__} has no derivative here; "
                f"{', '.join(sorted(methods))} have. A quantile is differentiated by "
                "npgrad.transforms.implicit.root of cdf, or as the inverse function of "
                "scipy.special (ndtri, gammaincinv, betaincinv, ...); npgrad.value of the "
                "arguments treats them as constants."
            )
        if is_recorded([args, kwargs]):  # constants of wrapped code
            args, kwargs = plain(args), plain(kwargs)
        return theirs(*args, **kwargs)

    return run


def frozen(mine: Any, method: str, methods: tuple[str, ...]) -> Any:
    """A method of SciPy's frozen distribution, refused where a parameter is recorded."""
    given = [mine.args, mine.kwds]
    if not varies(given):
        theirs = mine.distribution.theirs(*plain(mine.args), **plain(mine.kwds))
        return without_rule(getattr(theirs, method), f"stats.{mine.distribution.name}", methods)
    bound = without_rule(
        own_method(mine.distribution.theirs, method), f"stats.{mine.distribution.name}", methods
    )
    return lambda *args, **kwargs: bound(*args, *mine.args, **kwargs, **mine.kwds)


class Distribution:
    """A distribution of SciPy's; methods given a recorded array use the formulas.

    Parameters
    ----------
    name : str
        SciPy's name of it.
    shapes : tuple of str
        Its shape parameters, all positive.
    support : tuple of float
        Its ends for ``loc = 0, scale = 1``.
    formulas : callable
        By method, ``formula(x, *shapes)``. What is missing follows: pdf from logpdf, the logarithm
        of cdf and sf from these.
    """

    def __init__(
        self, name: str, shapes: tuple[str, ...], support: tuple[float, float], **formulas: Formula
    ) -> None:
        self.name = name
        # Kept now: while wrapped code of SciPy runs, the name in scipy.stats means this stand-in.
        self.theirs = getattr(original, name)
        self.parameters = shapes
        self.shapes = self.theirs.shapes  # one text, or None
        self.support = support
        self.discrete = "logpmf" in formulas
        density = "pmf" if self.discrete else "pdf"
        log_density = formulas["log" + density]
        self.formulas: dict[str, Formula] = {
            density: lambda *args: np.exp(log_density(*args)),
            "logcdf": lambda *args: np.log(formulas["cdf"](*args)),
            "logsf": lambda *args: np.log(formulas["sf"](*args)),
            **formulas,
        }
        self.__doc__ = f"SciPy's ``{name}`` distribution, differentiable in what its rules allow."

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # programs ask isinstance(norm, rv_continuous)
        return type(self.theirs)

    def __repr__(self) -> str:
        return f"<npgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        return Frozen(self, args, kwargs)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        theirs = own_method(self.theirs, method)
        if method.startswith("_"):  # SciPy's own formula of the standard form, which packages call
            return theirs
        if method == "nnlf":
            return lambda theta, x: (
                -np.sum(self.logpdf(x, *theta)) if varies([theta, x]) else theirs(theta, x)
            )
        if method not in self.formulas:
            return without_rule(theirs, f"stats.{self.name}", tuple(self.formulas))

        def run(x: Any, *args: Any, **kwargs: Any) -> Any:
            if is_recorded(x) or is_recorded(args) or is_recorded(kwargs):
                return self._computed(method, x, args, kwargs)
            return theirs(x, *args, **kwargs)

        run.__name__ = method
        run.__doc__ = f"SciPy's ``{self.name}.{method}``."
        return run

    def _parsed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Shapes, loc and scale by name."""
        names = (*self.parameters, "loc") if self.discrete else (*self.parameters, "loc", "scale")
        if len(args) > len(names):
            raise TypeError(f"{self.name} takes {', '.join(names)}; got {len(args)} parameters")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(f"{self.name}: unexpected or repeated argument {name!r}")
            given[name] = value
        missing = [name for name in self.parameters if name not in given]
        if missing:
            raise TypeError(f"{self.name} needs {', '.join(missing)}")
        return given

    def _computed(self, method: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The method on arrays of which one is recorded."""
        given = self._parsed(args, kwargs)
        if self.discrete:
            if varies(x):
                raise refuse(f"stats.{self.name}.{method}", "with respect to the number of events")
            x = plain(x)
        values = _alike([x, *given.values()])
        named = dict(zip(given, values[1:], strict=True))
        x, shapes = values[0], [named[name] for name in self.parameters]
        loc, scale = named.get("loc"), named.get("scale")
        if loc is not None:
            x = x - loc
        valid: Any = True
        if scale is not None:
            valid = scale > 0
            x = x / (scale if np.all(valid) else np.where(valid, scale, 1))
        for shape in shapes:
            valid = valid & ((shape >= 0) if self.discrete else (shape > 0))
        size = None
        if scale is not None and method in ("pdf", "logpdf"):
            size = scale if np.all(valid) else np.where(valid, scale, 1)
        y = self._standard(method, x, shapes, valid, size)
        bad = np.logical_not(valid & (x == x) & (y == y))  # noqa: PLR0124 -- false for NaN
        return _undefined(y, bad, values) if np.any(bad) else y

    def _standard(self, method: str, x: Array, shapes: list[Array], valid: Any, size: Any) -> Array:
        """The formula inside of the support, kept away from what is not; a density over `size`."""
        low, high = self.support
        above = x > high
        inside = np.logical_and(x >= low, x <= high) & valid  # false for NaN
        if self.discrete and method in ("pmf", "logpmf"):
            inside = inside & (x == np.floor(x))
        if np.all(inside):
            return self._scaled(method, x, shapes, size)
        some = 0.5 if high == 1 else 1
        kept = [np.where(valid, shape, 1) for shape in shapes]
        y = self._scaled(method, np.where(inside, x, some), kept, size)
        first, last = OUTSIDE[method]
        return np.where(inside, y, np.where(above, last, first).astype(y.dtype))

    def _scaled(self, method: str, x: Array, shapes: list[Array], size: Any) -> Array:
        y = self.formulas[method](x, *shapes)
        if size is None:
            return y
        return y / size if method == "pdf" else y - np.log(size)


def _undefined(y: Array, bad: Any, values: list[Array]) -> Array:
    """`y` with NaN where `bad`, whose derivative by each of `values` is NaN too, there only."""
    nan = np.where(bad, np.nan, 0).astype(y.dtype)
    for value in values:
        y = y + nan * np.where(bad, value, 1)
    return y


class Frozen:
    """A distribution with its parameters given."""

    def __init__(
        self, distribution: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.distribution = distribution
        self.args = args
        self.kwds = kwargs

    def __getattr__(self, method: str) -> Any:
        if method.startswith("__"):
            raise AttributeError(method)
        if method in self.distribution.formulas:
            bound = getattr(self.distribution, method)
            return lambda x: bound(x, *self.args, **self.kwds)
        return frozen(self, method, tuple(self.distribution.formulas))


def _alike(values: list[Any]) -> list[Any]:
    """The values as arrays, Python numbers in the dtype of the arrays: float32 stays float32."""
    arrays = [v if type(v) in (int, float) else array_of(v) for v in values]
    kinds = [v.dtype for v in arrays if type(v) not in (int, float) and v.dtype.kind in "fc"]
    dtype = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    return [dtype.type(v) if type(v) in (int, float) else v for v in arrays]


# ---------------------------------------------------------------------------------- the formulas
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _t_logcdf(x: Array, df: Array) -> Array:
    """Beyond what a number holds the normal one for infinitely many degrees of freedom."""
    infinite = plain(df) == np.inf
    if not np.any(infinite):
        return log_of(sp.stdtr(df, x), log_stdtr, df, np.abs(x))
    finite = log_of(
        sp.stdtr(np.where(infinite, 1, df), np.where(infinite, 0, x)), log_stdtr,
        np.where(infinite, 1, df), np.abs(np.where(infinite, 1, x)),
    )  # fmt: skip
    return np.where(infinite, sp.log_ndtr(np.where(infinite, x, 0)), finite)


def _poisson_logpmf(x: Array, mu: Array) -> Array:
    return sp.xlogy(x, mu) - sp.gammaln(x + 1) - mu


def _poisson_pmf(x: Array, mu: Array) -> Array:
    """The exponential of the logarithm; at ``mu = 0``, where that is infinite, the power itself.

    There mu^k exp(-mu) / k! has the derivative 1 for k = 1, which exp(-inf) times infinity loses.
    """
    none = mu == 0
    if not np.any(none):
        return np.exp(_poisson_logpmf(x, mu))
    rate = np.where(none, mu, 0)
    power = rate**x * np.exp(-rate) / sp.gamma(x + 1)
    return np.where(none, power, np.exp(_poisson_logpmf(x, np.where(none, 1, mu))))


norm = Distribution(
    "norm",
    (),
    (-np.inf, np.inf),
    logpdf=lambda x: -0.5 * x * x - HALF_LOG_2PI,
    cdf=sp.ndtr,
    sf=lambda x: sp.ndtr(-x),
    logcdf=sp.log_ndtr,
    logsf=lambda x: sp.log_ndtr(-x),
)
t = Distribution(
    "t",
    ("df",),
    (-np.inf, np.inf),
    pdf=lambda x, df: t_density(df, x),
    logpdf=lambda x, df: t_log_density(df, x),
    cdf=lambda x, df: sp.stdtr(df, x),
    sf=lambda x, df: sp.stdtr(df, -x),
    logcdf=_t_logcdf,
    logsf=lambda x, df: _t_logcdf(-x, df),
)
beta = Distribution(
    "beta",
    ("a", "b"),
    (0.0, 1.0),
    logpdf=lambda x, a, b: sp.xlog1py(b - 1, -x) + sp.xlogy(a - 1, x) - sp.betaln(a, b),
    cdf=lambda x, a, b: sp.betainc(a, b, x),
    sf=lambda x, a, b: sp.betaincc(a, b, x),
    logcdf=lambda x, a, b: log_of(sp.betainc(a, b, x), log_betainc, a, b, x, 1 - x),
    logsf=lambda x, a, b: log_of(sp.betaincc(a, b, x), log_betainc, b, a, 1 - x, x),
)
gamma = Distribution(
    "gamma",
    ("a",),
    (0.0, np.inf),
    logpdf=lambda x, a: sp.xlogy(a - 1, x) - x - sp.gammaln(a),
    cdf=lambda x, a: sp.gammainc(a, x),
    sf=lambda x, a: sp.gammaincc(a, x),
    logcdf=lambda x, a: log_of(sp.gammainc(a, x), log_gammainc, a, x),
    logsf=lambda x, a: log_of(sp.gammaincc(a, x), log_gammaincc, a, x),
)
chi2 = Distribution(
    "chi2",
    ("df",),
    (0.0, np.inf),
    logpdf=lambda x, df: (
        sp.xlogy(0.5 * df - 1, x) - 0.5 * x - sp.gammaln(0.5 * df) - 0.5 * math.log(2) * df
    ),
    cdf=lambda x, df: sp.chdtr(df, x),
    sf=lambda x, df: sp.chdtrc(df, x),
    logcdf=lambda x, df: log_of(sp.chdtr(df, x), log_gammainc, 0.5 * df, 0.5 * x),
    logsf=lambda x, df: log_of(sp.chdtrc(df, x), log_gammaincc, 0.5 * df, 0.5 * x),
)
expon = Distribution(
    "expon",
    (),
    (0.0, np.inf),
    logpdf=lambda x: -x,
    cdf=lambda x: -np.expm1(-x),
    sf=lambda x: np.exp(-x),
    logsf=lambda x: -x,
)
poisson = Distribution(
    "poisson",
    ("mu",),
    (0.0, np.inf),
    pmf=_poisson_pmf,
    logpmf=_poisson_logpmf,
    cdf=lambda x, mu: sp.pdtr(np.floor(x), mu),
    sf=lambda x, mu: sp.pdtrc(np.floor(x), mu),
    logcdf=lambda x, mu: log_of(sp.pdtr(np.floor(x), mu), log_gammaincc, np.floor(x) + 1, mu),
    logsf=lambda x, mu: log_of(sp.pdtrc(np.floor(x), mu), log_gammainc, np.floor(x) + 1, mu),
)
