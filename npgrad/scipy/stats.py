"""``scipy.stats``: pdf, logpdf, cdf, logcdf, sf, logsf of often used distributions.

Here are norm, t, beta, gamma, chi2, expon, poisson (``_univariate``), logistic, laplace, cauchy,
uniform, lognorm, gumbel_r, gumbel_l, weibull_min (``_elementary``), dirichlet and
multivariate_normal (``_multivariate``); every other name is SciPy's own. SciPy computes these in
double precision; on recorded float32 arrays the formulas stay in single precision.

>>> import npgrad
>>> npgrad.grad(npgrad.scipy.stats.norm.logpdf)(1.5, loc=1.0, scale=0.5)
np.float64(-2.0)
"""

from __future__ import annotations

from typing import Any

import scipy.stats

from ._declare import as_imported, theirs
from ._elementary import (
    cauchy,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    lognorm,
    uniform,
    weibull_min,
)
from ._multivariate import dirichlet, multivariate_normal
from ._univariate import beta, chi2, expon, gamma, norm, poisson, t

original: Any = as_imported(scipy.stats)

__all__ = [
    "beta",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
    "uniform",
    "weibull_min",
]


def __getattr__(name: str) -> Any:
    return theirs(scipy.stats, name)
