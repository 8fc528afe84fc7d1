"""Samples of SciPy's special functions: one call of each ufunc, complex where SciPy has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import ufunc
from tests.samples.core import Sample
from tests.samples.elementwise import Args, between, both, disc, either_sign

N = 5  # entries of each array: SciPy's functions are slow, and elementwise


def span(*limits: float) -> Args:
    """One array for each pair of limits."""
    return both(
        *(between(low, high, N) for low, high in zip(limits[::2], limits[1::2], strict=True))
    )


def signed(low: float, high: float) -> Args:
    """One array of either sign."""
    return either_sign(low, high, N)


def spread(low: float, high: float) -> Args:
    """One complex array."""
    return disc(low, high, N)


def right(low: float, high: float) -> Args:
    """One complex array in the right half-plane."""

    def args(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        (z,) = disc(low, high, N)(rng)
        return (np.abs(z.real) + 1j * z.imag,)

    return args


def three(args: Args) -> Args:
    """Three arrays."""
    return both(args, args, args)


def fixed(name: str, *before: Any, after: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """The ufunc with constants before and after the recorded arguments."""
    fun = getattr(sp, name)
    return lambda *x: fun(*before, *x, *after)


# Every argument recorded: (name, real domain, complex domain or None).
WHOLE: list[tuple[str, Args, Args | None]] = [
    # gamma
    ("gamma", span(1.2, 3), spread(0.5, 2)),
    ("gammaln", span(1.6, 4), None),
    ("loggamma", span(1.6, 4), spread(0.5, 2)),
    ("rgamma", signed(0.2, 2.8), spread(0.3, 2)),
    ("digamma", span(0.4, 3), spread(0.5, 3)),
    ("psi", span(-0.8, -0.2), None),
    ("beta", span(0.6, 2, 0.6, 2), None),
    ("betaln", span(0.6, 2, 0.6, 2), None),
    ("binom", span(4.2, 6, 1.2, 2.8), None),
    ("poch", span(1.1, 2, 1.1, 3), None),
    # error; SciPy's values of modfresnelp and modfresnelm at x < 0 are wrong
    ("erf", signed(0.1, 2), spread(0.2, 1.5)),
    ("erfc", signed(0.1, 2), spread(0.2, 1.5)),
    ("erfcx", signed(0.1, 3), spread(0.2, 1.5)),
    ("erfi", signed(0.1, 2), spread(0.2, 1.5)),
    ("dawsn", signed(0.1, 3), spread(0.2, 1.5)),
    ("wofz", signed(0.1, 2), spread(0.2, 1.5)),
    ("erfinv", signed(0.1, 0.8), None),
    ("erfcinv", span(0.3, 1.7), None),
    ("ndtr", signed(0.1, 2), spread(0.2, 1.5)),
    ("log_ndtr", signed(0.1, 6), spread(0.2, 1.5)),
    ("ndtri", span(0.1, 0.9), None),
    ("ndtri_exp", span(-4, -0.2), None),
    ("fresnel", signed(0.1, 1.5), spread(0.2, 1.2)),
    ("modfresnelp", span(0.1, 1.5), None),
    ("modfresnelm", span(0.1, 1.5), None),
    ("owens_t", both(signed(0.2, 1.5), signed(0.2, 1.5)), None),
    ("voigt_profile", both(signed(0.1, 1.5), span(0.5, 1.5, 0.3, 1.2)), None),
    # exponential
    ("exp1", span(0.3, 3), right(0.4, 2)),
    ("expi", signed(0.3, 2), spread(0.4, 2)),
    ("exprel", signed(0.05, 3), None),
    ("spence", span(0.3, 3), right(0.4, 2)),
    ("wrightomega", signed(0.1, 2), spread(0.3, 2)),
    ("shichi", span(0.2, 3), right(0.4, 2)),
    ("sici", span(0.2, 3), right(0.4, 2)),
    # bessel
    ("j0", signed(0.2, 5), None),
    ("j1", signed(0.2, 5), None),
    ("y0", span(0.4, 4), None),
    ("y1", span(0.4, 4), None),
    ("i0", signed(0.2, 3), None),
    ("i1", signed(0.2, 3), None),
    ("k0", span(0.4, 3), None),
    ("k1", span(0.4, 3), None),
    ("i0e", signed(0.2, 3), None),
    ("i1e", signed(0.2, 3), None),
    ("k0e", span(0.4, 3), None),
    ("k1e", span(0.4, 3), None),
    ("ber", signed(0.2, 3), None),
    ("bei", signed(0.2, 3), None),
    ("berp", signed(0.2, 3), None),
    ("beip", signed(0.2, 3), None),
    ("ker", span(0.4, 3), None),
    ("kei", span(0.4, 3), None),
    ("kerp", span(0.4, 3), None),
    ("keip", span(0.4, 3), None),
    ("kelvin", span(0.4, 3), None),
    ("iti0k0", span(0.4, 3), None),
    ("itj0y0", span(0.4, 3), None),
    ("it2i0k0", span(0.4, 3), None),
    ("it2j0y0", span(0.4, 3), None),
    ("itstruve0", span(0.4, 3), None),
    ("it2struve0", span(0.4, 3), None),
    ("itmodstruve0", span(0.4, 3), None),
    ("airy", signed(0.2, 2), spread(0.3, 1.5)),
    ("airye", span(0.2, 2), spread(0.3, 1.5)),
    ("itairy", span(0.2, 2), None),
    # elliptic
    ("ellipk", signed(0.1, 0.9), None),
    ("ellipe", signed(0.1, 0.9), None),
    ("ellipkm1", span(0.1, 1.8), None),
    ("ellipeinc", both(span(0.3, 1.3), signed(0.1, 0.8)), None),
    ("ellipkinc", both(span(0.3, 1.3), signed(0.1, 0.8)), None),
    ("ellipj", span(0.3, 1.3, 0.1, 0.8), None),
    ("agm", span(0.5, 2, 0.5, 2), None),
    ("elliprc", span(0.5, 2, 0.5, 2), both(right(0.5, 2), right(0.5, 2))),
    ("elliprf", span(0.5, 1, 1.1, 1.6, 1.7, 3), three(right(0.5, 2))),
    ("elliprd", span(0.5, 1, 1.1, 1.6, 1.7, 3), three(right(0.5, 2))),
    ("elliprg", span(0.5, 1, 1.1, 1.6, 1.7, 3), three(right(0.5, 2))),
    ("elliprj", span(0.5, 1, 1.1, 1.6, 1.7, 3, 0.5, 3), both(three(right(0.5, 2)), right(0.5, 2))),
    # distribution
    ("nrdtrimn", span(0.1, 0.9, 0.5, 2, -1, 1), None),
    ("nrdtrisd", span(-1, 1, 0.6, 0.9, 1.2, 2), None),
    ("kolmogorov", span(0.3, 1.8), None),
    ("kolmogi", span(0.05, 0.95), None),
    ("tklmbda", both(signed(0.1, 0.9), span(0.2, 0.9)), None),
    # elementary
    ("exp2", signed(0.1, 2), None),
    ("exp10", signed(0.1, 2), None),
    ("expm1", signed(0.1, 2), spread(0.2, 2)),
    ("log1p", span(-0.6, 2), spread(0.1, 0.8)),
    ("cbrt", signed(0.3, 2), None),
    ("cosm1", signed(0.1, 2), None),
    ("powm1", both(span(0.4, 2), signed(0.3, 2)), None),
    ("expit", signed(0.1, 3), None),
    ("log_expit", signed(0.1, 3), None),
    ("logit", span(0.1, 0.9), None),
    ("xlogy", span(0.3, 2, 0.3, 2), both(spread(0.3, 2), spread(0.3, 2))),
    ("xlog1py", span(0.3, 2, 0.3, 2), both(spread(0.3, 2), spread(0.1, 0.8))),
    ("entr", span(0.2, 2), None),
    ("rel_entr", span(0.2, 2, 0.2, 2), None),
    ("kl_div", span(0.2, 2, 0.2, 2), None),
    ("pseudo_huber", both(span(0.5, 2), signed(0.2, 3)), None),
    ("boxcox", both(span(0.4, 2), signed(0.05, 1.5)), None),
    ("boxcox1p", both(span(-0.5, 2), signed(0.05, 1.5)), None),
    ("inv_boxcox", both(signed(0.1, 0.6), signed(0.05, 1.2)), None),
    ("inv_boxcox1p", both(signed(0.1, 0.6), signed(0.05, 1.2)), None),
    ("sindg", signed(10, 80), None),
    ("cosdg", signed(10, 80), None),
    ("tandg", signed(10, 70), None),
    ("cotdg", signed(20, 80), None),
    ("radian", span(10, 80, 5, 50, 5, 50), None),
]

# Some arguments constant: (label, call, real domain, complex domain or None).
PARTLY: list[tuple[str, Callable[..., Any], Args, Args | None]] = [
    ("zeta", lambda q: sp.zeta(2.5, q), span(0.5, 3), None),
    ("expn", fixed("expn", 3), span(0.3, 2), None),
    ("expn 1", fixed("expn", 1), span(0.3, 2), None),
    ("expn 0", fixed("expn", 0), span(0.3, 2), None),
    ("lambertw", sp.lambertw, span(0.3, 2), spread(0.5, 2)),
    # bessel
    *(
        (name, fixed(name, 1.3), span(0.5, 4), spread(0.5, 3))
        for name in ("jv", "jn", "yv", "iv", "kv", "hankel1", "hankel2", "kve")
    ),
    *(
        (name, fixed(name, 1.3), span(0.5, 4), right(0.5, 3))
        for name in ("jve", "yve", "ive", "hankel1e", "hankel2e")
    ),
    ("jv 0", fixed("jv", 0), signed(0.2, 4), None),
    ("ive negative", fixed("ive", 2), signed(0.3, 3), None),
    ("yn", fixed("yn", 2), span(0.6, 4), None),
    ("yn 0", fixed("yn", 0), span(0.6, 4), None),
    ("kn", fixed("kn", 2), span(0.6, 3), None),
    ("struve", fixed("struve", 1.3), span(0.4, 3), None),
    ("modstruve", fixed("modstruve", 1.3), span(0.4, 3), None),
    ("struve 0", fixed("struve", 0), signed(0.2, 3), None),
    ("besselpoly", fixed("besselpoly", after=(1.5, 2.0)), span(0.3, 2), None),
    # hypergeometric
    ("hyp0f1", fixed("hyp0f1", 1.3), signed(0.2, 2), spread(0.3, 2)),
    ("hyp1f1", fixed("hyp1f1", 0.8, 1.3), signed(0.2, 2), spread(0.3, 2)),
    ("hyp2f1", fixed("hyp2f1", 0.8, 1.3, 2.1), signed(0.1, 0.7), spread(0.2, 0.7)),
    ("hyperu", fixed("hyperu", 0.8, 1.3), span(0.4, 2), None),
    ("wright_bessel", fixed("wright_bessel", 0.7, 1.3), span(0.2, 2), None),
    ("log_wright_bessel", fixed("log_wright_bessel", 0.7, 1.3), span(0.2, 2), None),
    ("pbdv", fixed("pbdv", 1.3), signed(0.2, 1.5), None),
    ("pbvv", fixed("pbvv", 1.3), signed(0.2, 1.5), None),
    ("pbwa", fixed("pbwa", 1.3), signed(0.2, 1.5), None),
    # orthogonal
    *(
        (f"eval_{name} {n}", fixed(f"eval_{name}", n), signed(0.1, 0.8), complex_)
        for n in (0, 1, 4)
        for name, complex_ in (
            ("chebyt", spread(0.2, 0.8)),
            ("chebyu", spread(0.2, 0.8)),
            ("chebyc", spread(0.2, 0.8)),
            ("chebys", spread(0.2, 0.8)),
            ("sh_chebyt", spread(0.2, 0.8)),
            ("sh_chebyu", spread(0.2, 0.8)),
            ("legendre", spread(0.2, 0.8)),
            ("sh_legendre", spread(0.2, 0.8)),
            ("laguerre", spread(0.2, 0.8)),
            ("hermite", None),
            ("hermitenorm", None),
        )
    ),
    ("eval_gegenbauer", fixed("eval_gegenbauer", 4, 1.3), signed(0.1, 0.8), spread(0.2, 0.8)),
    ("eval_jacobi", fixed("eval_jacobi", 4, 1.3, 0.4), signed(0.1, 0.8), spread(0.2, 0.8)),
    ("eval_sh_jacobi", fixed("eval_sh_jacobi", 4, 2.3, 1.4), span(0.1, 0.9), spread(0.2, 0.8)),
    ("eval_genlaguerre", fixed("eval_genlaguerre", 4, 1.3), signed(0.1, 2), spread(0.2, 1.5)),
    (
        "eval_legendre degrees",
        fixed("eval_legendre", np.arange(N)),
        signed(0.1, 0.8),
        None,
    ),
    ("eval_legendre 2.5", fixed("eval_legendre", 2.5), signed(0.1, 0.8), None),
    ("lpmv", fixed("lpmv", 1, 3), signed(0.1, 0.8), None),
    ("mathieu_cem", fixed("mathieu_cem", 2, 0.7), span(10, 80), None),
    ("mathieu_sem", fixed("mathieu_sem", 2, 0.7), span(10, 80), None),
    *(
        (name, fixed(name, 2, 0.7), span(0.3, 1), None)
        for name in ("mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2")
    ),
    ("pro_ang1", fixed("pro_ang1", 1, 2, 0.8), signed(0.1, 0.7), None),
    ("pro_ang1_cv", fixed("pro_ang1_cv", 1, 2, 0.8, sp.pro_cv(1, 2, 0.8)), signed(0.1, 0.7), None),
    ("pro_rad1", fixed("pro_rad1", 1, 2, 0.8), span(1.3, 2.5), None),
    ("pro_rad1_cv", fixed("pro_rad1_cv", 1, 2, 0.8, sp.pro_cv(1, 2, 0.8)), span(1.3, 2.5), None),
    ("pro_rad2", fixed("pro_rad2", 0, 0, 0.8), span(1.3, 2.5), None),
    ("pro_rad2_cv", fixed("pro_rad2_cv", 0, 0, 0.8, sp.pro_cv(0, 0, 0.8)), span(1.3, 2.5), None),
    ("obl_ang1", fixed("obl_ang1", 1, 2, 0.8), signed(0.1, 0.7), None),
    ("obl_ang1_cv", fixed("obl_ang1_cv", 1, 2, 0.8, sp.obl_cv(1, 2, 0.8)), signed(0.1, 0.7), None),
    ("obl_rad1", fixed("obl_rad1", 1, 2, 0.8), span(0.3, 1.5), None),
    ("obl_rad1_cv", fixed("obl_rad1_cv", 1, 2, 0.8, sp.obl_cv(1, 2, 0.8)), span(0.3, 1.5), None),
    ("obl_rad2", fixed("obl_rad2", 0, 0, 0.8), span(1.6, 1.8), None),
    ("obl_rad2_cv", fixed("obl_rad2_cv", 0, 0, 0.8, sp.obl_cv(0, 0, 0.8)), span(1.6, 1.8), None),
    # distribution
    ("betainc", sp.betainc, span(1.2, 2.5, 0.6, 2, 0.2, 0.8), None),
    ("betaincc", sp.betaincc, span(0.5, 0.9, 1.2, 2.5, 0.2, 0.8), None),
    ("betaincinv", sp.betaincinv, span(1.2, 2.5, 0.6, 2, 0.2, 0.8), None),
    ("betainccinv", sp.betainccinv, span(1.2, 2.5, 0.6, 2, 0.2, 0.8), None),
    ("bdtr", fixed("bdtr", 3, 7), span(0.2, 0.8), None),
    ("bdtrc", fixed("bdtrc", 3, 7), span(0.2, 0.8), None),
    ("bdtri", fixed("bdtri", 3, 7), span(0.2, 0.8), None),
    ("nbdtr", fixed("nbdtr", 3, 4), span(0.2, 0.8), None),
    ("nbdtrc", fixed("nbdtrc", 3, 4), span(0.2, 0.8), None),
    ("nbdtri", fixed("nbdtri", 3, 4), span(0.2, 0.8), None),
    ("gammainc", sp.gammainc, span(0.6, 2.5, 0.4, 3), None),
    ("gammaincc", sp.gammaincc, span(0.6, 2.5, 0.4, 3), None),
    ("gammaincinv", sp.gammaincinv, span(0.6, 2.5, 0.2, 0.8), None),
    ("gammainccinv", sp.gammainccinv, span(0.6, 2.5, 0.2, 0.8), None),
    ("chdtr", sp.chdtr, span(1.5, 4, 0.5, 4), None),
    ("chdtrc", sp.chdtrc, span(1.5, 4, 0.5, 4), None),
    ("chdtri", sp.chdtri, span(1.5, 4, 0.2, 0.8), None),
    ("pdtr", fixed("pdtr", 3), span(1, 4), None),
    ("pdtrc", fixed("pdtrc", 3), span(1, 4), None),
    ("pdtri", fixed("pdtri", 3), span(0.2, 0.8), None),
    ("gdtr", sp.gdtr, span(0.6, 1.5, 0.8, 2, 0.5, 2), None),
    ("gdtrc", sp.gdtrc, span(0.6, 1.5, 0.8, 2, 0.5, 2), None),
    ("gdtria", sp.gdtria, span(0.2, 0.8, 0.8, 2, 0.5, 2), None),
    ("gdtrix", sp.gdtrix, span(0.6, 1.5, 0.8, 2, 0.2, 0.8), None),
    ("chndtr", lambda x, nc: sp.chndtr(x, 4.2, nc), span(1.5, 6, 0.5, 3), None),
    ("chndtr few", lambda x, nc: sp.chndtr(x, 1.2, nc), span(1.5, 6, 0.5, 3), None),
    ("chndtrix", lambda p, nc: sp.chndtrix(p, 4.2, nc), span(0.2, 0.8, 0.5, 3), None),
    ("chndtrinc", lambda x, p: sp.chndtrinc(x, 4.2, p), span(5, 7, 0.2, 0.4), None),
    ("fdtr", sp.fdtr, span(2, 4, 3, 6, 0.4, 3), None),
    ("fdtrc", sp.fdtrc, span(2, 4, 3, 6, 0.4, 3), None),
    ("fdtri", sp.fdtri, span(2, 4, 3, 6, 0.2, 0.8), None),
    ("stdtr", sp.stdtr, both(span(2, 6), signed(0.2, 2)), None),
    ("stdtr many degrees", sp.stdtr, both(span(250, 300), signed(0.2, 3)), None),
    ("stdtrit", sp.stdtrit, span(2, 6, 0.2, 0.8), None),
    ("ncfdtr", lambda nc, f: sp.ncfdtr(3.3, 5.1, nc, f), span(0.5, 2, 0.6, 2), None),
    ("ncfdtri", fixed("ncfdtri", 3.3, 5.1, 0.7), span(0.2, 0.8), None),
    ("nctdtr", fixed("nctdtr", 4.3, 0.7), signed(0.4, 2), None),
    ("nctdtrit", fixed("nctdtrit", 4.3, 0.7), span(0.5, 0.8), None),
    ("smirnov", fixed("smirnov", 5), span(0.22, 0.38), None),
    ("smirnovi", fixed("smirnovi", 5), span(0.2, 0.5), None),
    # elementary: each on one side of its kink
    ("huber inside", sp.huber, both(span(1.5, 2), signed(0.2, 1.2)), None),
    ("huber outside", sp.huber, both(span(0.5, 0.8), signed(1, 2)), None),
    ("rounding is flat", lambda x: sp.round(x) * x + sp.gammasgn(x) * x * x, span(1.1, 1.4), None),
]
# Ufuncs that SciPy's own distributions call, where it has them: densities of noncentral laws.
for name, inner, where in [
    ("_ncf_pdf", lambda f: lambda x, nc: f(x, 3.3, 5.1, nc), span(0.6, 2, 0.5, 2)),
    ("_nct_pdf", lambda f: lambda t: f(t, 4.3, 0.7), signed(0.4, 2)),
]:
    if (private := ufunc(name)) is not None:
        PARTLY.append((name, inner(private), where, None))

# What SciPy computes to fewer digits than rounding: differences cannot agree to 1e-6.
LOOSE = {
    "chndtrix": 1e-4,
    "chndtrinc": 1e-4,
    "ncfdtri": 1e-4,
    "nctdtrit": 1e-4,
    "nctdtr": 1e-5,
    "ncfdtr": 1e-5,
    "itairy": 1e-4,
}
# In float32 SciPy gives NaN (mathieu), raises (noncentral laws), or searches for a characteristic
# value without end.
DOUBLE_ONLY = ("mathieu", "pro_", "obl_", "_nc")
# Complex results of real numbers: there is no Jacobian of those.
TURNS_COMPLEX = ("wofz", "kelvin", "modfresnel", "hankel", "lambertw")

SAMPLES: list[Sample] = []
for label, domain, complex_domain in WHOLE:
    if hasattr(sp, label):
        call = getattr(sp, label)
        SAMPLES.append(
            Sample(
                f"special.{label}",
                call,
                domain,
                tol=LOOSE.get(label, 1e-6),
                batched=not label.startswith(TURNS_COMPLEX),
            )
        )
        if complex_domain is not None:
            SAMPLES.append(Sample(f"special.{label} complex", call, complex_domain, batched=False))
for label, call, domain, complex_domain in PARTLY:
    precisions = ("float64",) if label.startswith(DOUBLE_ONLY) else ("float64", "float32")
    SAMPLES.append(
        Sample(
            f"special.{label}",
            call,
            domain,
            dtypes=precisions,
            tol=LOOSE.get(label, 1e-6),
            batched=not label.startswith(TURNS_COMPLEX),
        )
    )
    if complex_domain is not None:
        SAMPLES.append(Sample(f"special.{label} complex", call, complex_domain, batched=False))


def at(*points: Any) -> Args:
    """Given points."""
    return lambda rng: tuple(np.atleast_1d(np.asarray(point, dtype=float)) for point in points)


# Removable singularities, coinciding arguments and tails: the formulas of the books are 0/0 there,
# or cancel; the functions are smooth.
REMOVABLE: list[tuple[str, Callable[..., Any], Args]] = [
    ("exprel at 0", sp.exprel, at([0.0, 1e-9, -1e-5])),
    ("spence at 1", sp.spence, at([1.0, 1 + 1e-9, 1 - 1e-5])),
    ("sine integral at 0", lambda x: sp.sici(x)[0], at([0.0, 1e-9, -1e-5])),
    ("hyperbolic sine integral at 0", lambda x: sp.shichi(x)[0], at([0.0, 1e-9, -1e-5])),
    ("boxcox at 0", sp.boxcox, at([0.5, 2.0], [0.0, 1e-9])),
    ("boxcox1p at 0", sp.boxcox1p, at([0.5, 2.0], [0.0, 1e-9])),
    ("boxcox at 1", sp.boxcox, at([1.0, 1.0], [0.7, -0.3])),
    ("inv_boxcox near 0", sp.inv_boxcox, at([0.5, -0.4], [1e-3, -1e-3])),
    ("ellipk at 0", sp.ellipk, at([0.0, 1e-9, -1e-5])),
    ("ellipe at 0", sp.ellipe, at([0.0, 1e-9, -1e-5])),
    ("ellipkm1 at 1", sp.ellipkm1, at([1.0, 1 - 1e-9])),
    ("ellipkinc at 0", sp.ellipkinc, at([0.5, 2.5], [0.0, 1e-9])),
    ("ellipeinc at 0", sp.ellipeinc, at([0.5, 2.5], [0.0, 1e-9])),
    ("agm of equals", sp.agm, at([1.5, 0.7], [1.5, 0.7])),
    ("elliprc of equals", sp.elliprc, at([1.5, 0.7], [1.5, 0.7])),
    ("elliprf of equals", sp.elliprf, at([1.5, 0.7], [1.5, 0.9], [1.5, 0.7])),
    ("elliprd of equals", sp.elliprd, at([1.5, 0.7], [1.5, 0.9], [1.5, 0.7])),
    ("elliprg of equals", sp.elliprg, at([1.5, 0.7], [1.5, 0.9], [1.5, 0.7])),
    ("elliprj of equals", sp.elliprj, at([1.5, 0.7], [1.5, 0.9], [1.5, 0.7], [1.5, 0.9])),
    ("agm of unequals", lambda a: sp.agm(a, [1e-12, 0.0]), at([1.0, 0.3])),
    ("elliprd at infinity", lambda x: sp.elliprd(x, 2.0, [np.inf, 3.0]), at([1.0, 0.5])),
    ("elliprj principal value at 0", lambda p: sp.elliprj(0.0, 2.0, 3.0, p), at([-1.5])),
    ("elliprc principal value", sp.elliprc, at([1.5, 0.7], [-1.5, -0.3])),
    ("rgamma at poles of gamma", sp.rgamma, at([0.0, -1.0, -2.0])),
    ("binom of whole numbers", sp.binom, at([5.0, 4.0], [2.0, 1.0])),
    ("beta at poles of gamma(a+b)", sp.beta, at([0.3, -1.7, 2.5], [-1.3, -0.3, -3.5])),
    ("beta beside whole numbers", sp.beta, at([-2.9, -5.2], [2.0, 3.0])),
    ("poch beside whole numbers", sp.poch, at([-2.9, -5.2], [2.0, 3.0])),
    ("beta at -3", lambda a: sp.beta(a, 2.0), at([-3.0, -5.0])),
    ("betaln at -3", lambda a: sp.betaln(a, 2.0), at([-3.0, -5.0])),
    ("binom where it is 0", sp.binom, at([2.0, 0.5], [5.0, -1.0])),
    ("binom of a large k", sp.binom, at([-2.6, 3.3], [300.0, 200.4])),
    ("binom beside whole numbers", sp.binom, at([-2.1, -4.2], [3.0, 2.0])),
    ("poch of a whole m", lambda z: sp.poch(z, 3.0), at([0.0, -1.0, -4.0])),
    ("poch at -2", sp.poch, at([-2.0, -300.0], [0.5, -3.3])),
    ("j1 at 0", sp.j1, at([0.0, 1e-9])),
    ("i1 at 0", sp.i1, at([0.0, 1e-9])),
    ("ber and bei at 0", lambda x: (sp.ber(x), sp.bei(x)), at([0.0, 1e-9])),
    ("integral of i0 at 0", lambda x: sp.it2i0k0(x)[0], at([1e-5, 0.1])),
    ("integral of j0 at 0", lambda x: sp.it2j0y0(x)[0], at([1e-5, 0.1])),
    ("pseudo_huber at 0", lambda r: sp.pseudo_huber(1.5, r), at([0.0, 1e-9])),
    ("xlogy at x = 0", sp.xlogy, at([0.0, 0.0], [0.5, 2.0])),
    ("erfcx far out", lambda x: sp.erfcx(x) * x * x, at([9.9, 10.1, 300.0])),
    ("dawsn far out", lambda x: sp.dawsn(x) * x * x, at([9.9, 10.1, -300.0])),
    ("log_ndtr far left", sp.log_ndtr, at([-30.0, -100.0])),
    ("ndtri_exp far left", sp.ndtri_exp, at([-300.0])),
    ("kolmogorov small", sp.kolmogorov, at([0.02, 0.3, 0.79, 0.81])),
    (
        "chndtr near the central one",
        lambda x, root: sp.chndtr(x, 4.2, root * root),
        at([1.0, 5.0], [0.0, 1e-4]),
    ),
    ("ellipkinc near 1", sp.ellipkinc, at([1e-3, 0.4, 1.5], [0.8, 1 - 1e-3, 0.9])),
    ("ellipeinc of several periods", sp.ellipeinc, at([4.0, -7.0, 12.0], [0.8, -2.5, 0.02])),
    ("chndtr central", lambda x: sp.chndtr(x, 4.2, 0.0), at([1.0, 5.0])),
    ("fdtrc far out", lambda u: sp.fdtrc(1.0, 0.3, np.exp(u)), at([40.0])),
    ("fdtr at infinity", lambda x: sp.fdtr(1.0, 0.3, x), at([np.inf])),
    ("gammainc at infinity", lambda x: sp.gammainc(1.7, x), at([np.inf])),
    ("gdtr at 0", lambda a: sp.gdtr(a, 0.3, [0.0, np.inf]), at([1.0, 2.0])),
    ("tklmbda off its support", sp.tklmbda, at([-5.0, 4.0], [0.4, 2.5])),
    ("tklmbda near 0", sp.tklmbda, at([0.5], [1e-3])),
    ("airye left", lambda x: sp.airye(x)[2] + sp.airye(x)[3], at([-1.5, -0.4])),
    ("digamma left", sp.digamma, at([-0.3, -1.4])),
    ("boxcox of 0", lambda p: sp.boxcox(0.0, p), at([0.5, 2.0])),
    ("mathieu_sem of order 0", lambda x: sp.mathieu_sem(0, 0.7, x), at([20.0])),
    ("voigt_profile far out", sp.voigt_profile, at([0.7, 30.0], [0.02, 1.3], [0.3, 0.1])),
    ("voigt_profile of Cauchy", lambda x, c: sp.voigt_profile(x, 0.0, c), at([0.3], [0.8])),
    ("voigt_profile at its centre", lambda x: sp.voigt_profile(x, 0.8, 0.5), at([0.0])),
]
for label, call, domain in REMOVABLE:
    SAMPLES.append(Sample(f"special.{label}", call, domain, dtypes=("float64",)))
# SciPy takes the logistic function up to a shape of 1e-4: differences of second order see the jump.
SAMPLES.append(
    Sample("special.tklmbda at 0", sp.tklmbda, at([0.5], [0.0]), order=1, dtypes=("float64",))
)
FAR_OUT = np.array([12 + 3j, 15 + 0.5j, 11 - 4j, 40 + 30j])
SAMPLES += [
    Sample(f"special.{label} far out complex", getattr(sp, label), lambda rng: (FAR_OUT,),
           dtypes=("float64",), batched=False)
    for label in ("wofz", "erfcx", "dawsn")
]  # fmt: skip
SAMPLES += [
    Sample("special functions broadcast", lambda x, y: sp.xlogy(x, y) + sp.erf(x) * sp.j0(y),
           lambda rng: (rng.uniform(0.5, 2, (3, 1)), rng.uniform(0.5, 2, 4))),
    Sample("softplus", lambda x: sp.softplus(x) * x if hasattr(sp, "softplus") else x * x,
           signed(0.1, 3)),
    Sample("Bessel derivatives by Python", lambda x: sp.jvp(1.5, x, 2) + sp.kvp(1, x),
           span(0.5, 3)),
]  # fmt: skip
