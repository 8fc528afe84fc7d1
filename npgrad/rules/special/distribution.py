"""Distribution functions and their inverses (DLMF 8.17 and 8.23; the book below).

The derivative of a distribution function by its variable is the density, that of its inverse one
over the density. Densities are exponentials of logarithms: no overflow, and accurate in the tails.
Densities and mixtures of F, t and the noncentral distributions: N. L. Johnson, S. Kotz and
N. Balakrishnan (1995), Continuous Univariate Distributions 2, chapters 27 to 31.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.primitives import primitive
from npgrad.rules.special.shapes import beta_shapes, gamma_shape, t_log_density, t_shape
from npgrad.rules.special.words import RULED_OUT, at_rest, refuse, smooth, ufunc
from npgrad.table import reverse


# ------------------------------------------------------------------------------------- densities
def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b), 8.17.1; of an infinite shape all is at one end."""
    endless = np.isposinf(a) | np.isposinf(b)
    if np.any(endless):
        a, b = np.where(endless, 1, a), np.where(endless, 1, b)
    found = np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))
    return np.where(endless, 0, found) if np.any(endless) else found


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) exp(-x) / gamma(a), 8.2.1; 0 at infinity, where the exponent is inf - inf."""
    far = np.isposinf(x)
    x = np.where(far, 1, x)
    return np.where(far, 0, np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a)))


def chi_density(v: Any, x: Any) -> Any:
    """Chi-square with v degrees of freedom: gamma of shape v/2 at x/2, 8.23."""
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


def f_density(m: Any, n: Any, x: Any) -> Any:
    """Fisher's F, m and n degrees of freedom: mx / n has u^(a-1) (1+u)^(-a-b) / B (chapter 27)."""
    far = np.isposinf(x)
    x = np.where(far, 1, x)
    rest = n / (n + m * x)  # 1 - mx / (n + mx), with all its digits where it is small
    logarithm = sp.xlogy(0.5 * m - 1, m * x / n) + sp.xlogy(0.5 * (m + n), rest)
    return np.where(far, 0, np.exp(logarithm - sp.betaln(0.5 * m, 0.5 * n)) * m / n)


def t_density(v: Any, t: Any) -> Any:
    """Student's t with v degrees of freedom, chapter 28; the normal density for v = inf."""
    far = np.isinf(t)
    if not np.any(far):
        return np.exp(t_log_density(v, t))
    return np.where(far, 0, np.exp(t_log_density(v, np.where(far, 1, t))))


@primitive
def chi_noncentral(x: Any, v: Any, nc: Any) -> Any:
    """Noncentral chi-square, chapter 29: exp(-(x+nc)/2) (x/nc)^(v/4-1/2) I_(v/2-1)(sqrt(nc x)) / 2.

    Near nc = 0, where that is 0/0, by the first terms of the Poisson mixture.
    """
    central = (nc >= 0) & (nc * x < 1e-8 * v)
    c, far = np.where(central, 1, nc), np.where(central, 1, x)
    distance = np.square(np.sqrt(far) - np.sqrt(c))
    order = 0.5 * v - 1
    power = np.power(far / c, 0.5 * order)
    general = 0.5 * np.exp(-0.5 * distance) * power * sp.ive(order, np.sqrt(c * far))
    mixture = np.exp(-0.5 * nc) * chi_density(v, x) * (1 + nc * x / (2 * v))
    return np.where(central, mixture, general)


def chi_noncentral_x(g: Any, x: Any, v: Any, nc: Any, y: Any) -> Any:
    """By 10.29.2: (v/2 - 1)/x p - p/2 + nc/(2x) p with two degrees of freedom more."""
    return g * (((0.5 * v - 1) / x - 0.5) * y + 0.5 * nc / x * chi_noncentral(x, v + 2, nc))


def chi_noncentral_nc(g: Any, x: Any, v: Any, nc: Any, y: Any) -> Any:
    """Half of what two degrees of freedom more change: of the weights of the mixture."""
    return 0.5 * g * (chi_noncentral(x, v + 2, nc) - y)


CHI_RULES = {"x": chi_noncentral_x, "nc": chi_noncentral_nc}
reverse(chi_noncentral, CHI_RULES, CHI_RULES, ignores=("v",))


# ------------------------------------------------------------------------------ beta and binomial
smooth(
    "betainc",  # 8.17.1 and 8.17.2; by the shapes as in `shapes`
    lambda g, x1, x2, x3: g * beta_shapes(x1, x2, x3)[0],
    lambda g, x1, x2, x3: g * beta_shapes(x1, x2, x3)[1],
    lambda g, x1, x2, x3: g * beta_density(x1, x2, x3),
)
smooth(
    "betaincc",
    lambda g, x1, x2, x3: -g * beta_shapes(x1, x2, x3)[0],
    lambda g, x1, x2, x3: -g * beta_shapes(x1, x2, x3)[1],
    lambda g, x1, x2, x3: -g * beta_density(x1, x2, x3),
)
smooth(  # the implicit function theorem: the value is held
    "betaincinv",
    lambda g, x1, x2, y: -g * beta_shapes(x1, x2, y)[0] / beta_density(x1, x2, y),
    lambda g, x1, x2, y: -g * beta_shapes(x1, x2, y)[1] / beta_density(x1, x2, y),
    lambda g, x1, x2, y: g / beta_density(x1, x2, y),
)
smooth(
    "betainccinv",
    lambda g, x1, x2, y: -g * beta_shapes(x1, x2, y)[0] / beta_density(x1, x2, y),
    lambda g, x1, x2, y: -g * beta_shapes(x1, x2, y)[1] / beta_density(x1, x2, y),
    lambda g, x1, x2, y: -g / beta_density(x1, x2, y),
)


def binomial(k: Any, n: Any, p: Any) -> Any:
    """Of bdtr(k, n, p) = I_(1-p)(n - k, k + 1) with k rounded down, 8.17.5."""
    k = np.floor(k)
    whole = k >= n  # the sum of all: 1, whatever p
    return np.where(whole, 0, beta_density(k + 1, np.where(whole, 1, n - k), p))


smooth("bdtr", None, None, lambda g, x1, x2, x3: -g * binomial(x1, x2, x3))
smooth("bdtrc", None, None, lambda g, x1, x2, x3: g * binomial(x1, x2, x3))
smooth("bdtri", None, None, lambda g, x1, x2, y: -g / binomial(x1, x2, y))


def negative_binomial(k: Any, n: Any, p: Any) -> Any:
    """Of nbdtr(k, n, p) = I_p(n, k + 1), 8.17.24."""
    return beta_density(n, np.floor(k) + 1, p)


smooth("nbdtr", None, None, lambda g, x1, x2, x3: g * negative_binomial(x1, x2, x3))
smooth("nbdtrc", None, None, lambda g, x1, x2, x3: -g * negative_binomial(x1, x2, x3))
smooth("nbdtri", None, None, lambda g, x1, x2, y: g / negative_binomial(x1, x2, y))

# ------------------------------------------------------------------------------ gamma and Poisson
smooth(
    "gammainc",
    lambda g, x1, x2: g * gamma_shape(x1, x2),
    lambda g, x1, x2: g * gamma_density(x1, x2),  # 8.8.13
)
smooth(
    "gammaincc",
    lambda g, x1, x2: -g * gamma_shape(x1, x2),
    lambda g, x1, x2: -g * gamma_density(x1, x2),
)
smooth(
    "gammaincinv",
    lambda g, x1, y: -g * gamma_shape(x1, y) / gamma_density(x1, y),
    lambda g, x1, y: g / gamma_density(x1, y),
)
smooth(
    "gammainccinv",
    lambda g, x1, y: -g * gamma_shape(x1, y) / gamma_density(x1, y),
    lambda g, x1, y: -g / gamma_density(x1, y),
)


def chi_shape(v: Any, x: Any) -> Any:
    """By the degrees of freedom: the distribution function is gammainc(v/2, x/2), 8.23."""
    return 0.5 * gamma_shape(0.5 * v, 0.5 * x)


smooth(
    "chdtr",
    lambda g, x1, x2: g * chi_shape(x1, x2),
    lambda g, x1, x2: g * chi_density(x1, x2),
)
smooth(
    "chdtrc",
    lambda g, x1, x2: -g * chi_shape(x1, x2),
    lambda g, x1, x2: -g * chi_density(x1, x2),
)
smooth(
    "chdtri",
    lambda g, x1, y: -g * chi_shape(x1, y) / chi_density(x1, y),
    lambda g, x1, y: -g / chi_density(x1, y),
)
# Poisson's distribution is gammaincc(k + 1, m), 8.4.10.
smooth("pdtr", None, lambda g, x1, x2: -g * gamma_density(np.floor(x1) + 1, x2))
smooth("pdtrc", None, lambda g, x1, x2: g * gamma_density(np.floor(x1) + 1, x2))
smooth("pdtri", None, lambda g, x1, y: -g / gamma_density(x1 + 1, y))


def gdtr_slope(b: Any, moved: Any, held: Any) -> Any:
    """Of P(b, a x) by a or x, 8.8.13: P stays where it is when the other is 0 or infinite."""
    none = (held == 0) | np.isinf(held)
    return np.where(none, 0, held * gamma_density(b, moved * np.where(none, 1, held)))


smooth(
    "gdtr",  # P(b, a x)
    lambda g, x1, x2, x3: g * gdtr_slope(x2, x1, x3),
    lambda g, x1, x2, x3: g * gamma_shape(x2, x1 * x3),
    lambda g, x1, x2, x3: g * gdtr_slope(x2, x3, x1),
)
smooth(
    "gdtrc",  # one minus that: 8.2.5
    lambda g, x1, x2, x3: -g * gdtr_slope(x2, x1, x3),
    lambda g, x1, x2, x3: -g * gamma_shape(x2, x1 * x3),
    lambda g, x1, x2, x3: -g * gdtr_slope(x2, x3, x1),
)
smooth(
    "gdtria",  # (p, b, x) -> a: a x is held by p and b
    lambda g, x2, x3, y: g / (x3 * gamma_density(x2, y * x3)),
    lambda g, x2, x3, y: -g * gamma_shape(x2, y * x3) / (x3 * gamma_density(x2, y * x3)),
    lambda g, x3, y: -g * y / x3,
)
smooth(
    "gdtrix",  # (a, b, p) -> x
    lambda g, x1, y: -g * y / x1,
    lambda g, x1, x2, y: -g * gamma_shape(x2, x1 * y) / (x1 * gamma_density(x2, x1 * y)),
    lambda g, x1, x2, y: g / (x1 * gamma_density(x2, x1 * y)),
)
smooth(
    "chndtr",  # the derivative by nc is minus the density with two degrees of freedom more
    at_rest(lambda g, x1, x2, x3: g * chi_noncentral(x1, x2, x3), "x1", "x3"),
    None,
    at_rest(lambda g, x1, x2, x3: -g * chi_noncentral(x1, x2 + 2, x3), "x1", "x3"),
)
smooth(
    "chndtrix",  # (p, df, nc) -> x
    lambda g, x2, x3, y: g / chi_noncentral(y, x2, x3),
    None,
    lambda g, x2, x3, y: g * chi_noncentral(y, x2 + 2, x3) / chi_noncentral(y, x2, x3),
)


def found(nc: Any) -> Any:
    """`nc`, NaN where SciPy's search ended at its lower bound because there is no solution."""
    return np.where(nc > 1e-30, nc, np.nan)


smooth(
    "chndtrinc",  # (x, df, p) -> nc
    lambda g, x1, x2, y: g * chi_noncentral(x1, x2, y) / chi_noncentral(x1, x2 + 2, found(y)),
    None,
    lambda g, x1, x2, y: -g / chi_noncentral(x1, x2 + 2, found(y)),
)


# -------------------------------------------------------------------------------------- F and t
def f_numerator(m: Any, n: Any, x: Any) -> Any:
    """fdtr by m: through the shape of betainc(m/2, n/2, mx / (n + mx)), and its variable."""
    whole = n + m * x
    by_a = beta_shapes(0.5 * m, 0.5 * n, m * x / whole, n / whole)[0]
    return 0.5 * by_a + f_density(m, n, x) * x / m


def f_denominator(m: Any, n: Any, x: Any) -> Any:
    """fdtr by n."""
    whole = n + m * x
    by_b = beta_shapes(0.5 * m, 0.5 * n, m * x / whole, n / whole)[1]
    return 0.5 * by_b - f_density(m, n, x) * x / n


smooth(
    "fdtr",  # betainc(m/2, n/2, mx / (n + mx)), chapter 27
    lambda g, x1, x2, x3: g * f_numerator(x1, x2, x3),
    lambda g, x1, x2, x3: g * f_denominator(x1, x2, x3),
    lambda g, x1, x2, x3: g * f_density(x1, x2, x3),
)
smooth(
    "fdtrc",
    lambda g, x1, x2, x3: -g * f_numerator(x1, x2, x3),
    lambda g, x1, x2, x3: -g * f_denominator(x1, x2, x3),
    lambda g, x1, x2, x3: -g * f_density(x1, x2, x3),
)
smooth(
    "fdtri",
    lambda g, x1, x2, y: -g * f_numerator(x1, x2, y) / f_density(x1, x2, y),
    lambda g, x1, x2, y: -g * f_denominator(x1, x2, y) / f_density(x1, x2, y),
    lambda g, x1, x2, y: g / f_density(x1, x2, y),
)
smooth(
    "stdtr",
    lambda g, x1, x2: g * t_shape(x1, x2, t_density(x1, x2)),
    lambda g, x1, x2: g * t_density(x1, x2),
)
smooth(
    "stdtrit",
    lambda g, x1, y: -g * t_shape(x1, y, t_density(x1, y)) / t_density(x1, y),
    lambda g, x1, y: g / t_density(x1, y),
)


def double(x: Any) -> Any:
    """`x` in double precision: in single, SciPy's density overflows, and raises."""
    return x.astype(np.float64) if hasattr(x, "dtype") else x


def f_noncentral(x: Any, m: Any, n: Any, nc: Any) -> Any:
    """The density of noncentral F, chapter 30: a ufunc that SciPy keeps private, decided below."""
    density = ufunc("_ncf_pdf")
    if density is not None:
        start = x == 0  # where SciPy's density is 0: only the term without a success is not
        some = density(double(np.where(start, 1, x)), double(m), double(n), double(nc))
        if not np.any(start):
            return some
        return np.where(start, np.exp(-0.5 * nc) * f_density(m, n, np.where(start, x, 0)), some)
    a, rate = 0.5 * m, 0.5 * nc  # by 8.17.20 on each term of the Poisson mixture
    values = [sp.ncfdtr(m + 2 * k, n, nc, x * m / (m + 2 * k)) for k in range(3)]
    return (a * (values[0] - values[1]) + rate * (values[1] - values[2])) / x


def f_shifted(x: Any, m: Any, n: Any, nc: Any) -> Any:
    """The mixture's densities, each with two degrees of freedom more and the same argument."""
    scale = m / (m + 2)
    return scale * f_noncentral(x * scale, m + 2, n, nc)


def f_noncentral_x(g: Any, x1: Any, x2: Any, x3: Any, x4: Any, y: Any) -> Any:
    """Chapter 30: each term is x^(a-1) (1 + mx/n)^(-a-b), a = m/2 + j; j p_j is (nc/2) p_(j-1)."""
    a, b = 0.5 * x2, 0.5 * x3
    rest = x3 / (x3 + x2 * x1)  # 1 - mx / (n + mx)
    raised = 0.5 * x4 * rest * f_shifted(x1, x2, x3, x4)
    return g * ((a * rest - 1 - b * (1 - rest)) * y + raised) / x1


smooth(
    "_ncf_pdf",
    f_noncentral_x,
    None,
    None,
    lambda g, x1, x2, x3, x4, y: 0.5 * g * (f_shifted(x1, x2, x3, x4) - y),
)
smooth(
    "ncfdtr",  # (dfn, dfd, nc, f)
    None,
    None,
    lambda g, x1, x2, x3, x4, y: 0.5 * g * (sp.ncfdtr(x1 + 2, x2, x3, x4 * x1 / (x1 + 2)) - y),
    at_rest(lambda g, x1, x2, x3, x4: g * f_noncentral(x4, x1, x2, x3), "x4"),
)
smooth("ncfdtri", None, None, None, lambda g, x1, x2, x3, y: g / f_noncentral(y, x1, x2, x3))


def t_widened(t: Any, v: Any) -> tuple[Any, Any]:
    """The product t sqrt(1 + 2/v), and the factor."""
    scale = np.sqrt((v + 2) / v)
    return t * scale, scale


def t_noncentral(t: Any, v: Any, nc: Any) -> Any:
    """The density of noncentral t, chapter 31: (v/t) (F_(v+2)(t s) - F_v(t)); private in SciPy."""
    density = ufunc("_nct_pdf")
    if density is not None:
        return density(double(t), double(v), double(nc))
    return v / t * (sp.nctdtr(v + 2, nc, t_widened(t, v)[0]) - sp.nctdtr(v, nc, t))


def t_noncentral_t(g: Any, x1: Any, x2: Any, x3: Any, y: Any) -> Any:
    """That relation of chapter 31 differentiated; singular, though removably, at t = 0."""
    wide, scale = t_widened(x1, x2)
    return g * (x2 * (scale * t_noncentral(wide, x2 + 2, x3) - y) - y) / x1


smooth("_nct_pdf", t_noncentral_t, None, None)
smooth("nctdtr", None, None, at_rest(lambda g, x1, x2, x3: g * t_noncentral(x3, x1, x2), "x3"))
smooth("nctdtrit", None, None, lambda g, x1, x2, y: g / t_noncentral(y, x1, x2))

# ---------------------------------------------------------------------------------------- normal
ROOT_TWO_PI = math.sqrt(2 * math.pi)


def quantile_slope(p: Any) -> Any:
    """The derivative of ndtri: one over the density, 7.20.1."""
    return ROOT_TWO_PI * np.exp(0.5 * np.square(sp.ndtri(p)))


smooth(
    "nrdtrimn",  # (p, std, x) -> mean = x - std ndtri(p)
    lambda g, x1, x2: -g * x2 * quantile_slope(x1),
    lambda g, x1: -g * sp.ndtri(x1),
    lambda g: g,
)
smooth(
    "nrdtrisd",  # (mean, p, x) -> std = (x - mean) / ndtri(p)
    lambda g, x2: -g / sp.ndtri(x2),
    lambda g, x2, y: -g * y * quantile_slope(x2) / sp.ndtri(x2),
    lambda g, x2: g / sp.ndtri(x2),
)

# ----------------------------------------------------------------------------- Kolmogorov, Smirnov
KOLMOGOROV_BORDER = 0.8


def kolmogorov_slope(y: Any) -> Any:
    """Minus the density: a theta series term by term, for small y its transform (20.7.33).

    A. Kolmogorov (1933), Giorn. Ist. Ital. Attuari 4, 83.

    Five terms of each are exact to 1e-17 on their side of the border; below 0.04 nothing is left.
    """
    near = y < KOLMOGOROV_BORDER
    u = np.where(near & (y > 0.04), y, KOLMOGOROV_BORDER)
    close: Any = 0
    for k in range(1, 6):
        c = ((2 * k - 1) * math.pi) ** 2 / 8
        close = close + np.exp(-c / (u * u)) * (1 / (u * u) - 2 * c / np.square(u * u))
    close = np.where(y > 0.04, ROOT_TWO_PI * close, 0)
    v = np.where(near, KOLMOGOROV_BORDER, y)
    far: Any = 0
    for k in range(1, 6):
        far = far + (-1) ** k * 8 * k * k * v * np.exp(-2 * k * k * v * v)
    return np.where(near, close, far)


def fallen(slope: Any) -> Any:
    """The slope of what falls: a zero is one from below."""
    return np.where(slope == 0, -0.0, slope)


smooth("kolmogorov", at_rest(lambda g, x: g * kolmogorov_slope(x), "x"))
smooth("kolmogi", lambda g, y: g / fallen(kolmogorov_slope(y)))


@primitive
def smirnov_derivative(n: Any, d: Any, order: int) -> Any:
    """A derivative of Smirnov's survival function, a polynomial between multiples of 1/n.

    Z. W. Birnbaum and F. H. Tingey (1951), Ann. Math. Statist. 22, 592.

    It is d times the sum over j <= n(1-d) of binom(n, j) (d + j/n)^(j-1) (1 - d - j/n)^(n-j), each
    product differentiated by Leibniz' rule.
    """
    count = np.floor(n) if hasattr(n, "dtype") else float(math.floor(n))
    wide = d.astype(np.float64) if hasattr(d, "dtype") else float(d)
    total: Any = 0
    for j in range(int(np.max(count)) + 1):
        rest = count - j
        # where one of the pieces begins, from the right
        inside = (rest >= 0) & ((1 - wide - j / count > 0) | (j == 0))
        m = np.where(inside, rest, 0)
        low, high = wide + j / count, np.where(inside, 1 - wide - j / count, 0)
        term: Any = 0
        for i in range(order + 1):  # i derivatives on the second power, the others on d * first
            falling = (-1.0) ** i * math.comb(order, i) * sp.poch(m - i + 1, i)
            last = np.where(m >= i, falling * high ** np.maximum(m - i, 0), 0)
            k = order - i
            if j == 0:  # d (d + 0)^-1
                term = term + last * (k == 0)
                continue
            first = math.prod(float(j - 1 - s) for s in range(k)) * low ** (j - 1.0 - k)
            previous = k * math.prod(float(j - 1 - s) for s in range(k - 1)) if k else 0.0
            term = term + last * (wide * first + previous * low ** (j - k if k else 0.0))
        total = total + np.where(inside, sp.binom(count, j) * term, 0)
    return total.astype(d.dtype) if hasattr(d, "dtype") else total


def smirnov_change(g: Any, n: Any, d: Any, order: int) -> Any:
    """The next order."""
    return g * smirnov_derivative(n, d, order + 1)


reverse(smirnov_derivative, {"d": smirnov_change}, {"d": smirnov_change})
smooth("smirnov", None, lambda g, x1, x2: g * smirnov_derivative(x1, x2, 1))
smooth("smirnovi", None, lambda g, x1, y: g / fallen(smirnov_derivative(x1, y, 1)))


# ----------------------------------------------------------------------------------- Tukey's lambda
def tukey_density(value: Any, shape: Any) -> Any:
    """dF/dx from x = (F^l - (1-F)^l) / l, Tukey's; l = 0 is logistic; 0 off the support.

    C. Hastings, F. Mosteller, J. W. Tukey and C. P. Winsor (1947), Ann. Math. Statist. 18, 413.
    """
    inside = (value > 0) & (value < 1)
    value = np.where(inside, value, 0.5)
    return np.where(inside, 1 / (np.power(value, shape - 1) + np.power(1 - value, shape - 1)), 0)


def tukey_shape(g: Any, x2: Any, y: Any) -> Any:
    """By the implicit function theorem; the quantile's derivative is smooth at l = 0."""
    from npgrad.rules.special.elementary import boxcox_power

    inside = np.where((y > 0) & (y < 1), y, 0.5)
    quantile = boxcox_power(np.log(inside), x2) - boxcox_power(np.log1p(-inside), x2)
    return -g * quantile * tukey_density(y, x2)


smooth("tklmbda", lambda g, x2, y: g * tukey_density(y, x2), tukey_shape)

# ------------------------------------------------------------------------------------------ refused
refuse(
    "bdtrik bdtrin btdtria btdtrib chdtriv chndtridf fdtridfd gdtrib nbdtrik nbdtrin ncfdtridfd "
    "ncfdtridfn ncfdtrinc nctdtridf nctdtrinc pdtrik stdtridf",
    f"the inverse in a shape parameter: {RULED_OUT}",
)
