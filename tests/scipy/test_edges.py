"""Special functions at the ends of their domains: the one-sided derivative, or its infinity."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as sp

import npgrad

INF = math.inf
# -E_1(1.3) is the slope of P(a, 1.3) at a = 0; the integrals of t^(b-1) / (1-t) to 0.7 and 0.3
# with b = 2, and so on, are elementary: -0.7 - log 0.3 and -0.3 - log 0.7.
E1 = 0.13545095784912913726

# function of one number, where, its derivative there
EDGES = {
    "expn 0": (lambda x: sp.expn(0, x), 0.0, -INF),
    "expn 1": (lambda x: sp.expn(1, x), 0.0, -INF),
    "expn 2": (lambda x: sp.expn(2, x), 0.0, -INF),  # -E_1(0)
    "expn 3": (lambda x: sp.expn(3, x), 0.0, -1.0),  # -E_2(0) = -1/(2-1)
    "expn 5": (lambda x: sp.expn(5, x), 0.0, -1 / 3),
    "kl_div": (lambda y: sp.kl_div(2.0, y), 0.0, -INF),
    "kl_div of nothing": (lambda y: sp.kl_div(0.0, y), 0.0, 1.0),  # kl_div(0, y) = y
    "kl_div off": (lambda y: sp.kl_div(2.0, y), -1.0, math.nan),
    "rel_entr of nothing": (lambda y: sp.rel_entr(0.0, y), 0.0, 0.0),
    "rel_entr off": (lambda y: sp.rel_entr(2.0, y), -1.0, math.nan),
    "huber off": (lambda d: sp.huber(d, 2.0), -1.0, math.nan),
    "pseudo_huber": (lambda d: sp.pseudo_huber(d, 2.0), 0.0, 2.0),  # delta |r| - delta^2 + ...
    "pseudo_huber by r": (lambda r: sp.pseudo_huber(0.0, r), 2.0, 0.0),
    "pseudo_huber off": (lambda d: sp.pseudo_huber(d, 2.0), -1.0, math.nan),
    "smirnov 1": (lambda d: sp.smirnov(1, d), 0.0, -1.0),  # 1 - d
    "smirnov 2": (lambda d: sp.smirnov(2, d), 0.0, -1.0),  # (1-d)^2 + 2 d (1/2 - d) for d <= 1/2
    "smirnovi 1": (lambda p: sp.smirnovi(1, p), 1.0, -1.0),
    "smirnovi 2": (lambda p: sp.smirnovi(2, p), 1.0, -1.0),
    "smirnovi at 0": (lambda p: sp.smirnovi(2, p), 0.0, -INF),  # 1 - sqrt(p)
    "kolmogi": (sp.kolmogi, 1.0, -INF),
    "kolmogorov far out": (sp.kolmogorov, INF, 0.0),
    "gammainc of no shape": (lambda a: sp.gammainc(a, 1.3), 0.0, -E1),
    "gammaincc of no shape": (lambda a: sp.gammaincc(a, 1.3), 0.0, E1),
    "chdtr of no degrees": (lambda v: sp.chdtr(v, 2.6), 0.0, -E1 / 2),
    "betainc of no a": (lambda a: sp.betainc(a, 2.0, 0.3), 0.0, 0.7 + math.log(0.3)),
    "betainc of no b": (lambda b: sp.betainc(2.0, b, 0.3), 0.0, -0.3 - math.log(0.7)),
    "betaincc of no a": (lambda a: sp.betaincc(a, 2.0, 0.3), 0.0, -0.7 - math.log(0.3)),
    "bdtr of all": (lambda p: sp.bdtr(3, 3, p), 1.0, 0.0),
    "ncfdtr": (lambda x: sp.ncfdtr(2.0, 5.0, 1.0, x), 0.0, math.exp(-0.5)),  # exp(-nc/2) times 1
    "ncfdtr far out": (lambda x: sp.ncfdtr(4.0, 5.0, 1.0, x), INF, 0.0),
    "chndtr far out": (lambda x: sp.chndtr(x, 3.0, 2.0), INF, 0.0),
    "chndtr by nc far out": (lambda nc: sp.chndtr(3.0, 2.0, nc), INF, 0.0),
    "nctdtr far out": (lambda t: sp.nctdtr(4.0, 0.7, t), -INF, 0.0),
    "voigt_profile far out": (lambda x: sp.voigt_profile(x, 1.0, 0.5), INF, 0.0),
    "rgamma far out": (sp.rgamma, INF, 0.0),
    "i1e far out": (sp.i1e, -INF, 0.0),
    "k1e far out": (sp.k1e, INF, 0.0),
    "ellipk far out": (sp.ellipk, -INF, 0.0),
    "ellipkm1 far out": (sp.ellipkm1, INF, 0.0),
    "Si far out": (lambda x: sp.sici(x)[0], INF, 0.0),
    "Ci far out": (lambda x: sp.sici(x)[1], INF, 0.0),
    "ellipk": (sp.ellipk, 1.0, INF),
    "ellipkm1": (sp.ellipkm1, 0.0, -INF),
    "agm": (lambda a: sp.agm(a, 1.0), 0.0, INF),  # about pi / (2 log(4 / a))
    "agm by the second": (lambda b: sp.agm(1.0, b), 0.0, INF),
    "keip": (sp.keip, 0.0, INF),
    "y1": (sp.y1, 0.0, INF),
    "yv": (lambda x: sp.yv(1.5, x), 0.0, INF),
    "k0e": (sp.k0e, 0.0, -INF),
    "k1e": (sp.k1e, 0.0, -INF),
    "kve": (lambda x: sp.kve(1.0, x), 0.0, -INF),
    "inv_boxcox": (lambda y: sp.inv_boxcox(y, 0.5), -2.0, 0.0),  # (1 + y/2)^2
    "inv_boxcox of 0": (lambda y: sp.inv_boxcox(y, 0.0), -INF, 0.0),  # exp
    "inv_boxcox1p": (lambda y: sp.inv_boxcox1p(y, 0.5), -2.0, 0.0),
    "stdtr of the normal law": (lambda t: sp.stdtr(INF, t), 0.0, 1 / math.sqrt(2 * math.pi)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's of the infinities
@pytest.mark.parametrize("name", EDGES)
def test_at_an_end_of_the_domain(name):
    f, x, want = EDGES[name]
    found = [
        npgrad.grad(f)(x),  # the rules see a Python number,
        npgrad.jvp(f, (x,), (1.0,))[1],
        *npgrad.grad(lambda x: np.sum(f(x)))(np.array([x, x])),  # or arrays
        *npgrad.jvp(f, (np.array([x]),), (np.ones(1),))[1],
    ]
    np.testing.assert_allclose(found, np.full(len(found), want), rtol=1e-12)
    beside = npgrad.grad(lambda x: np.sum(f(x)))(np.array([x, 0.6]))[1]
    np.testing.assert_allclose(beside, npgrad.grad(f)(0.6), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_a_shape_at_zero_gives_is_differentiated_by_the_variable():
    x = np.array([0.3, 1.3])
    by_both = npgrad.grad(lambda x: np.sum(npgrad.grad(sp.gammainc)(0.0, x)))
    np.testing.assert_allclose([by_both(t) for t in x], np.exp(-x) / x, rtol=1e-12)  # of -E_1
    by_both = npgrad.grad(lambda x: npgrad.grad(sp.betainc)(0.0, 2.0, x))
    np.testing.assert_allclose(by_both(0.3), 0.7 / 0.3, rtol=1e-12)
