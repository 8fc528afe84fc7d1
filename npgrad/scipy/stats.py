"""``scipy.stats``: pdf, logpdf, cdf, logcdf, sf, logsf of often used distributions.

Here are norm, t, beta, gamma, chi2, expon, poisson (``_univariate``), dirichlet and
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
from ._multivariate import dirichlet, multivariate_normal
from ._univariate import beta, chi2, expon, gamma, norm, poisson, t

original: Any = as_imported(scipy.stats)

__all__ = [
    "beta",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
]


def __getattr__(name: str) -> Any:
    return theirs(scipy.stats, name)
