"""SciPy's special functions: every differentiable ufunc of ``scipy.special``, in chapters.

Nothing here imports SciPy. The chapters do, and they are imported when the graph first asks about a
ufunc that nobody decided while ``scipy.special`` is loaded: that is, when a user's
``scipy.special.f(x)`` arrives.

========================  =======================================================================
``gamma``                 gamma, beta, psi, zeta, binomials, Pochhammer
``error``                 erf, its relatives and inverses, the normal distribution, Fresnel, Voigt
``exponential``           exponential, sine and logarithmic integrals, dilogarithm, Lambert W
``bessel``                Bessel, Hankel, Kelvin, Struve, Airy and their integrals
``hypergeometric``        pFq, Wright's function, parabolic cylinder functions
``elliptic``              Legendre's and Carlson's integrals, Jacobi's functions, the AGM
``orthogonal``            orthogonal polynomials, Legendre, Mathieu and spheroidal functions
``distribution``          distribution functions and their inverses
``shapes``                what derives distribution functions by their parameters
``elementary``            xlogy, expit, boxcox and other compositions of elementary functions
========================  =======================================================================

A formula's source is the DLMF (https://dlmf.nist.gov) unless it says otherwise. Parameters that
have no usable formula for their derivative (the order of a Bessel function, the degrees of freedom
of a noncentral F distribution) have no rule: recorded there, a value raises NoDerivative. What a
rule calls is itself decided here, so every order works.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from npgrad.table import on_missing

CHAPTERS = (
    "gamma",
    "error",
    "exponential",
    "bessel",
    "hypergeometric",
    "elliptic",
    "orthogonal",
    "distribution",
    "elementary",
)


@on_missing
def load(fun: Any) -> bool:
    """Decide all of ``scipy.special`` when a ufunc turns up that may be from there."""
    if not isinstance(fun, np.ufunc) or "scipy.special" not in sys.modules:
        return False
    if f"{__name__}.{CHAPTERS[-1]}" in sys.modules:  # decided already, and `fun` is not among them
        return False
    for chapter in CHAPTERS:
        importlib.import_module(f"{__name__}.{chapter}")
    return True
