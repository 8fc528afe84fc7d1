"""The distributions of several variables: Dirichlet's and the normal one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats

from ..table import reverse
from ._declare import array_of, as_imported, is_recorded, operation, plain, refuse, varies
from ._univariate import frozen, without_rule
from .linalg import solve_triangular

original: Any = as_imported(scipy.stats)

Array = Any


class Multivariate:
    """Shared by both: a call freezes, other names are SciPy's."""

    name: str
    methods: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<npgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenMultivariate:
        return FrozenMultivariate(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        theirs = getattr(getattr(original, self.name), name)
        return without_rule(theirs, f"stats.{self.name}", self.methods)

    @property
    def theirs(self) -> Any:
        """SciPy's."""
        return getattr(original, self.name)


class FrozenMultivariate:
    """A distribution with its parameters given."""

    def __init__(
        self, distribution: Multivariate, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.distribution = distribution
        self.args = args
        self.kwds = kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.distribution.methods:
            bound = getattr(self.distribution, name)
            return lambda *x: bound(*x, *self.args, **self.kwds)
        return frozen(self, name, self.distribution.methods)


class Dirichlet(Multivariate):
    """SciPy's ``dirichlet``: pdf and logpdf differentiable in `x` and `alpha`."""

    name = "dirichlet"
    methods = ("pdf", "logpdf")

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density; the entries of `x` count as independent of one another."""
        # SciPy checks what it is given: x sums to 1, alpha is positive
        value = original.dirichlet.logpdf(plain(x), plain(alpha))
        if not (is_recorded(x) or is_recorded(alpha)):
            return value
        x, alpha = array_of(x), array_of(alpha)
        if x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate((x, 1 - np.sum(x, axis=0, keepdims=True)))
        weights = np.reshape(alpha - 1, (-1, *(1,) * (x.ndim - 1)))
        norm = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
        return np.sum(sp.xlogy(weights, x), axis=0) - norm

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        if not (is_recorded(x) or is_recorded(alpha)):
            return original.dirichlet.pdf(x, alpha)
        return np.exp(self.logpdf(x, alpha))


@operation("scipy.stats.log_pdet")
def _log_pdet(cov: Array, ratio: float, rank: int) -> Array:
    """The logarithm of the product of the `rank` largest eigenvalues of a Hermitian matrix."""
    return np.sum(np.log(np.linalg.eigvalsh(cov)[-rank:])) if rank else np.zeros((), cov.dtype)


def _inverse(cov: Array, ratio: float) -> Array:
    """The pseudo-inverse, singular values below `ratio` times the largest left out."""
    return np.linalg.pinv(cov, rcond=ratio, hermitian=True)


# at constant rank d log pdet = tr(cov^+ d cov)
reverse(
    _log_pdet,
    lambda g, cov, ratio: g * _inverse(cov, ratio),
    lambda g, cov, ratio: np.sum(_inverse(cov, ratio) * g),
    ignores=("rank",),
)


class MultivariateNormal(Multivariate):
    """SciPy's ``multivariate_normal``: differentiable in `x`, `mean` and `cov` (symmetric).

    The distribution function of more than one variable has no derivative here.
    """

    name = "multivariate_normal"
    methods = ("pdf", "logpdf", "cdf", "logcdf", "entropy")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density.

        Examples
        --------
        >>> import numpy as np, npgrad
        >>> f = npgrad.scipy.stats.multivariate_normal.logpdf
        >>> npgrad.grad(f, argnums=1)(np.array([1.0, 2.0]), np.zeros(2), np.eye(2))
        array([1., 2.])
        """
        if not (is_recorded(x) or is_recorded(mean) or is_recorded(cov)):
            return original.multivariate_normal.logpdf(x, mean, cov, allow_singular)
        singular = _rank_is_less(cov)
        allow_singular = allow_singular or singular
        x, mean, cov = _processed(x, mean, cov)
        deviation = x - mean
        if allow_singular:
            distance, log_det, rank = _singular(deviation, cov)
        else:
            factor = np.linalg.cholesky(cov)
            flat = np.reshape(deviation, (-1, mean.shape[0]))
            white = solve_triangular(factor, flat.T, lower=True)
            distance = np.reshape(np.sum(white * white, axis=0), deviation.shape[:-1])
            log_det = 2 * np.sum(np.log(np.diagonal(factor)))
            rank = mean.shape[0]
        y = -0.5 * (rank * math.log(2 * math.pi) + log_det + distance)
        if allow_singular and rank < mean.shape[0]:
            value = original.multivariate_normal.logpdf(
                plain(x), plain(mean), plain(cov), allow_singular=True
            )
            y = np.where(np.reshape(np.isneginf(value), y.shape), -np.inf, y)
        return np.squeeze(y)

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        if not (is_recorded(x) or is_recorded(mean) or is_recorded(cov)):
            return original.multivariate_normal.pdf(x, mean, cov, allow_singular)
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The differential entropy."""
        if not (is_recorded(mean) or is_recorded(cov)):
            return original.multivariate_normal.entropy(mean, cov)
        _, mean, cov = _processed(0.0, mean, cov)
        log_det = 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(cov))))
        return 0.5 * (mean.shape[0] * (1 + math.log(2 * math.pi)) + log_det)

    def cdf(self, x: Any, mean: Any = None, cov: Any = 1, *args: Any, **kwargs: Any) -> Any:
        """The distribution function, differentiable in one dimension."""
        if not varies([x, mean, cov]):
            x, mean, cov = plain([x, mean, cov])
            return original.multivariate_normal.cdf(x, mean, cov, *args, **kwargs)
        return sp.ndtr(self._standardised("cdf", x, mean, cov))

    def logcdf(self, x: Any, mean: Any = None, cov: Any = 1, *args: Any, **kwargs: Any) -> Any:
        """Its logarithm, differentiable in one dimension."""
        if not varies([x, mean, cov]):
            x, mean, cov = plain([x, mean, cov])
            return original.multivariate_normal.logcdf(x, mean, cov, *args, **kwargs)
        return sp.log_ndtr(self._standardised("logcdf", x, mean, cov))

    def _standardised(self, method: str, x: Any, mean: Any, cov: Any) -> Array:
        x, mean, cov = _processed(x, mean, cov)
        if mean.shape[0] != 1:
            raise refuse(f"stats.multivariate_normal.{method}", "for more than one variable")
        return np.squeeze((x - mean)[..., 0] / np.sqrt(cov[0, 0]))


def _rank_is_less(cov: Any) -> bool:
    """Whether `cov` is a Covariance of SciPy's that is singular: it says so itself."""
    return isinstance(cov, original.Covariance) and bool(np.any(cov.rank < cov.shape[-1]))


def _processed(x: Any, mean: Any, cov: Any) -> tuple[Array, Array, Array]:
    """`x` with the variables last, `mean` a vector, `cov` a matrix, as SciPy reads them."""
    x = array_of(x)
    if isinstance(cov, original.Covariance):
        cov = cov.covariance
        mean = None if mean is None else np.broadcast_to(array_of(mean), cov.shape[-1:])
    if cov is None or type(cov) in (int, float):
        cov = np.full((), 1 if cov is None else cov, x.dtype if x.dtype.kind == "f" else float)
    cov = array_of(cov)
    if mean is None:
        dim = 1 if cov.ndim < 2 else cov.shape[0]
        mean = np.zeros(dim, cov.dtype if cov.dtype.kind == "f" else np.float64)
    else:
        mean = np.reshape(array_of(mean), (-1,))
        dim = mean.shape[0]
    if cov.ndim == 0:
        cov = cov * np.eye(dim, dtype=cov.dtype)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if cov.shape != (dim, dim):
        raise ValueError(f"cov has shape {cov.shape}, mean has {dim} entries")
    if x.ndim == 0:
        x = np.reshape(x, (1,))
    elif x.ndim == 1 and dim == 1:
        x = x[:, None]
    return x, mean, cov


def _singular(deviation: Array, cov: Array) -> tuple[Array, Array, int]:
    """Mahalanobis distance, log pseudo-determinant and rank, differentiated at constant rank."""
    values = np.linalg.eigvalsh(plain(cov))
    # SciPy's threshold (_eigvalsh_to_eps): a million rounding errors of the largest eigenvalue
    factor = {"f": 1e3, "d": 1e6}.get(values.dtype.char, 1e6)
    threshold = factor * np.finfo(values.dtype).eps * np.max(np.abs(values))
    rank = int(np.sum(values > threshold))
    ratio = float(threshold / np.max(np.abs(values)))
    distance = np.sum((deviation @ _inverse(cov, ratio)) * deviation, axis=-1)
    return distance, _log_pdet(cov, ratio, rank), rank


dirichlet = Dirichlet()
multivariate_normal = MultivariateNormal()
