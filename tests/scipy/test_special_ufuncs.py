"""The ufuncs of ``scipy.special``, counted, and their derivatives by mpmath.

The samples compare every rule with differences of SciPy's function; here derivatives come from
mpmath's functions, with 30 digits: another author's, and no step that limits the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import npgrad
from npgrad.table import lookup

UFUNCS = {f: name for name, f in sorted(vars(sp).items()) if isinstance(f, np.ufunc)}

# Ufuncs without a derivative in any argument: inverses by a shape parameter, characteristic values,
# what is constant between steps, and the zeta function by its own argument.
WITHOUT = """bdtrik bdtrin btdtria btdtrib chdtriv chndtridf fdtridfd gdtrib mathieu_a mathieu_b
nbdtrik nbdtrin ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc obl_cv pdtrik pro_cv stdtridf
gammasgn round zetac"""


def test_every_ufunc_is_decided() -> None:
    undecided = [name for f, name in UFUNCS.items() if lookup(f) is None]
    assert not undecided, f"{len(undecided)} without a decision: {', '.join(undecided)}"


def test_whatever_is_smooth_has_a_rule() -> None:
    """206 functions of SciPy 1.17 by 280 arguments; two of them have a second name."""
    arguments = {
        name: [argument for argument, rule in decision.vjps.items() if rule is not None]
        for f, name in UFUNCS.items()
        if (decision := lookup(f)) is not None
    }
    without = {name for name, found in arguments.items() if not found}
    wanting = sorted(without - set(WITHOUT.split()))
    assert not wanting, f"without a rule: {', '.join(wanting)}"
    newer = [name for name in ("ncfdtr", "log_wright_bessel") if not hasattr(sp, name)]
    assert sum(map(len, arguments.values())) >= 280 - 3 * len(newer)


def erfinv_complement(x: Any) -> Any:
    return mp.erfinv(1 - x)


def normal_quantile(x: Any) -> Any:
    return mp.sqrt(2) * mp.erfinv(2 * x - 1)


def jacobi_amplitude(u: Any, m: Any) -> Any:
    return mp.atan2(mp.ellipfun("sn", u, m=m), mp.ellipfun("cn", u, m=m))


# Name of the ufunc, its output, mpmath's function, the arguments, which of them are moved.
Row = tuple[str, int, Callable[..., Any], tuple[float, ...], tuple[int, ...]]
ROWS: list[Row] = [
    ("gamma", 0, mp.gamma, (2.3,), (0,)),
    ("gamma", 0, mp.gamma, (-1.4,), (0,)),
    ("gammaln", 0, mp.loggamma, (4.2,), (0,)),
    ("rgamma", 0, mp.rgamma, (-2.6,), (0,)),
    ("psi", 0, mp.digamma, (0.7,), (0,)),
    ("zeta", 0, mp.zeta, (2.4, 1.7), (1,)),
    ("beta", 0, mp.beta, (1.7, 0.6), (0, 1)),
    ("betaln", 0, lambda a, b: mp.log(mp.beta(a, b)), (3.7, 2.6), (0, 1)),
    ("binom", 0, mp.binomial, (5.3, 2.2), (0, 1)),
    ("poch", 0, mp.rf, (2.3, 1.4), (0, 1)),
    ("erf", 0, mp.erf, (0.7,), (0,)),
    ("erfc", 0, mp.erfc, (3.7,), (0,)),
    ("erfi", 0, mp.erfi, (0.7,), (0,)),
    ("erfcx", 0, lambda x: mp.exp(x * x) * mp.erfc(x), (5.3,), (0,)),
    ("erfinv", 0, mp.erfinv, (0.4,), (0,)),
    ("erfcinv", 0, erfinv_complement, (0.4,), (0,)),
    ("dawsn", 0, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (1.3,), (0,)),
    ("ndtr", 0, mp.ncdf, (-1.2,), (0,)),
    ("log_ndtr", 0, lambda x: mp.log(mp.ncdf(x)), (-12.0,), (0,)),
    ("ndtri", 0, normal_quantile, (0.2,), (0,)),
    ("fresnel", 0, mp.fresnels, (1.3,), (0,)),
    ("fresnel", 1, mp.fresnelc, (1.3,), (0,)),
    (
        "owens_t",
        0,
        lambda h, a: mp.quad(
            lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x) / (2 * mp.pi), [0, a]
        ),
        (0.8, 1.3),
        (0, 1),
    ),
    ("exp1", 0, mp.e1, (0.8,), (0,)),
    ("expi", 0, mp.ei, (-0.8,), (0,)),
    ("expn", 0, mp.expint, (3.0, 1.2), (1,)),
    ("exprel", 0, lambda x: mp.expm1(x) / x, (0.9,), (0,)),
    ("spence", 0, lambda x: mp.polylog(2, 1 - x), (1.6,), (0,)),
    ("sici", 0, mp.si, (1.7,), (0,)),
    ("sici", 1, mp.ci, (1.7,), (0,)),
    ("shichi", 0, mp.shi, (1.7,), (0,)),
    ("shichi", 1, mp.chi, (1.7,), (0,)),
    ("wrightomega", 0, lambda x: mp.lambertw(mp.exp(x)), (0.6,), (0,)),
    ("jv", 0, mp.besselj, (1.3, 2.4), (1,)),
    ("yv", 0, mp.bessely, (1.3, 2.4), (1,)),
    ("iv", 0, mp.besseli, (1.3, 2.4), (1,)),
    ("kv", 0, mp.besselk, (1.3, 2.4), (1,)),
    ("jve", 0, mp.besselj, (1.3, 2.4), (1,)),
    ("ive", 0, lambda v, x: mp.exp(-x) * mp.besseli(v, x), (1.3, 2.4), (1,)),
    ("kve", 0, lambda v, x: mp.exp(x) * mp.besselk(v, x), (1.3, 2.4), (1,)),
    ("ber", 0, lambda x: mp.ber(0, x), (1.4,), (0,)),
    ("bei", 0, lambda x: mp.bei(0, x), (1.4,), (0,)),
    ("ker", 0, lambda x: mp.ker(0, x), (1.4,), (0,)),
    ("kei", 0, lambda x: mp.kei(0, x), (1.4,), (0,)),
    ("berp", 0, lambda x: mp.diff(lambda t: mp.ber(0, t), x), (1.4,), (0,)),
    ("keip", 0, lambda x: mp.diff(lambda t: mp.kei(0, t), x), (1.4,), (0,)),
    ("struve", 0, mp.struveh, (0.7, 2.4), (1,)),
    ("modstruve", 0, mp.struvel, (0.7, 2.4), (1,)),
    ("airy", 0, mp.airyai, (-0.7,), (0,)),
    ("airy", 1, lambda x: mp.airyai(x, derivative=1), (-0.7,), (0,)),
    ("airy", 2, mp.airybi, (0.7,), (0,)),
    ("airye", 0, lambda x: mp.exp(2 * x * mp.sqrt(x) / 3) * mp.airyai(x), (0.7,), (0,)),
    ("hyp0f1", 0, mp.hyp0f1, (1.4, 0.8), (1,)),
    ("hyp1f1", 0, mp.hyp1f1, (1.4, 2.1, 0.8), (2,)),
    ("hyp2f1", 0, mp.hyp2f1, (0.6, 1.4, 2.1, 0.3), (3,)),
    ("hyperu", 0, mp.hyperu, (1.4, 2.3, 0.8), (2,)),
    ("pbdv", 0, mp.pcfd, (1.4, 0.8), (1,)),
    ("pbvv", 0, lambda v, x: mp.pcfv(-v - 0.5, x), (1.4, 0.8), (1,)),
    ("pbwa", 0, mp.pcfw, (0.6, 0.8), (1,)),
    ("ellipk", 0, mp.ellipk, (0.6,), (0,)),
    ("ellipkm1", 0, lambda p: mp.ellipk(1 - p), (0.2,), (0,)),
    ("ellipe", 0, mp.ellipe, (0.6,), (0,)),
    ("ellipkinc", 0, mp.ellipf, (0.8, 0.6), (0, 1)),
    ("ellipeinc", 0, mp.ellipe, (0.8, 0.6), (0, 1)),
    ("ellipj", 0, lambda u, m: mp.ellipfun("sn", u, m=m), (0.8, 0.6), (0, 1)),
    ("ellipj", 1, lambda u, m: mp.ellipfun("cn", u, m=m), (0.8, 0.6), (0, 1)),
    ("ellipj", 2, lambda u, m: mp.ellipfun("dn", u, m=m), (0.8, 0.6), (0, 1)),
    ("ellipj", 3, jacobi_amplitude, (0.8, 0.6), (0, 1)),
    ("agm", 0, mp.agm, (1.7, 0.9), (0, 1)),
    ("elliprc", 0, mp.elliprc, (1.7, 0.9), (0, 1)),
    ("elliprf", 0, mp.elliprf, (1.7, 0.9, 0.4), (0, 1, 2)),
    ("elliprd", 0, mp.elliprd, (1.7, 0.9, 0.4), (0, 1, 2)),
    ("elliprg", 0, mp.elliprg, (1.7, 0.9, 0.4), (0, 1, 2)),
    ("elliprj", 0, mp.elliprj, (1.7, 0.9, 0.4, 1.2), (0, 1, 2, 3)),
    ("eval_chebyt", 0, mp.chebyt, (4.0, 0.3), (1,)),
    ("eval_chebyu", 0, mp.chebyu, (4.0, 0.3), (1,)),
    ("eval_chebyc", 0, lambda n, x: 2 * mp.chebyt(n, x / 2), (4.0, 0.3), (1,)),
    ("eval_sh_chebyu", 0, lambda n, x: mp.chebyu(n, 2 * x - 1), (4.0, 0.3), (1,)),
    ("eval_legendre", 0, mp.legendre, (4.0, 0.3), (1,)),
    ("eval_jacobi", 0, mp.jacobi, (4.0, 0.6, 1.1, 0.3), (3,)),
    ("eval_gegenbauer", 0, mp.gegenbauer, (4.0, 0.6, 0.3), (2,)),
    ("eval_genlaguerre", 0, mp.laguerre, (4.0, 0.6, 0.3), (2,)),
    ("eval_hermite", 0, mp.hermite, (4, 0.3), (1,)),
    ("betainc", 0, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), (1.7, 0.8, 0.3),
     (0, 1, 2)),
    ("gammainc", 0, lambda a, x: mp.gammainc(a, 0, x, regularized=True), (1.7, 0.8), (0, 1)),
    ("gammaincc", 0, lambda a, x: mp.gammainc(a, x, regularized=True), (1.7, 0.8), (0, 1)),
    ("stdtr", 0, lambda v, t: 1 - mp.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2,
     (4.3, 0.9), (0, 1)),
    ("fdtr", 0, lambda m, n, x: mp.betainc(m / 2, n / 2, 0, m * x / (n + m * x), regularized=True),
     (3.3, 5.1, 0.9), (0, 1, 2)),
    ("chdtr", 0, lambda v, x: mp.gammainc(v / 2, 0, x / 2, regularized=True), (3.3, 1.9), (0, 1)),
    ("kolmogorov", 0,
     lambda x: 2 * mp.fsum((-1) ** (k - 1) * mp.exp(-2 * k * k * x * x) for k in range(1, 40)),
     (0.7,), (0,)),
    ("boxcox", 0, lambda x, p: (x**p - 1) / p, (1.7, 0.3), (0, 1)),
    ("expit", 0, lambda x: 1 / (1 + mp.exp(-x)), (0.7,), (0,)),
    ("entr", 0, lambda x: -x * mp.log(x), (0.7,), (0,)),
    ("kl_div", 0, lambda x, y: x * mp.log(x / y) - x + y, (0.7, 0.4), (0, 1)),
    ("pseudo_huber", 0, lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), (1.3, 0.7), (0, 1)),
    ("tklmbda", 0,
     lambda x, p: mp.findroot(lambda q: (q**p - (1 - q) ** p) / p - x, (0.5, 0.7), tol=1e-50),
     (0.5, 0.4), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}[{row[1]}]")
def test_derivatives_are_those_of_mpmath(row: Row) -> None:
    """First order in both modes and second order in both, by every argument that has a rule."""
    name, output, exact, point, moved = row
    ufunc = getattr(sp, name)
    for place in moved:

        def along(t: Any, place: int = place) -> Any:
            made = ufunc(*point[:place], t, *point[place + 1 :])
            return made[output] if type(made) is tuple else made

        def truth(t: Any, place: int = place) -> Any:
            return exact(*map(mp.mpf, point[:place]), t, *map(mp.mpf, point[place + 1 :]))

        x = point[place]
        with mp.workdps(40):
            value, first, second = (float(mp.re(mp.diff(truth, mp.mpf(x), n))) for n in range(3))
        np.testing.assert_allclose(along(x), value, rtol=1e-11, err_msg=f"{name} itself")
        about = f"{name} by its argument {place}"
        slope = npgrad.grad(along)
        np.testing.assert_allclose(slope(x), first, rtol=1e-10, err_msg=about)
        pushed = npgrad.jvp(along, (x,), (1.0,))[1]
        np.testing.assert_allclose(pushed, first, rtol=1e-10, err_msg=about)
        for again in (npgrad.grad(slope)(x), npgrad.jvp(slope, (x,), (1.0,))[1]):
            np.testing.assert_allclose(again, second, rtol=1e-8, atol=1e-9, err_msg=about)
