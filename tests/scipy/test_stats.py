"""``npgrad.scipy.stats`` against SciPy's functions and differences of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as theirs

import npgrad
from npgrad.scipy import stats as ours
from tests.scipy.checks import check

LOC, SCALE = np.array([0.1, -0.2]), np.array([1.3, 0.7])
X = np.array([[0.3, 0.9], [1.2, 0.25]])
LOGS = ("pdf", "logpdf")
SUMS = ("cdf", "logcdf", "sf", "logsf")
SHAPES = {
    "norm": (),
    "expon": (),
    "t": (np.array([2.5, 7.0]),),
    "gamma": (np.array([2.5, 1.4]),),
    "chi2": (np.array([3.5, 2.4]),),
    "beta": (np.array([2.5, 1.4]), np.array([1.7, 3.0])),
    "logistic": (),
    "laplace": (),
    "cauchy": (),
    "uniform": (),
    "lognorm": (np.array([0.6, 1.4]),),
    "gumbel_r": (),
    "gumbel_l": (),
    "weibull_min": (np.array([2.5, 1.4]),),
}
BOUNDED = ("gamma", "chi2", "expon", "beta", "uniform", "lognorm", "weibull_min")


def points(name):
    """Inside of the support, whatever loc and scale."""
    return LOC + SCALE * (X / 1.5 if name in ("beta", "uniform") else X)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", LOGS)
def test_densities(name, method):
    f, g = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
    check(f, g, points(name), *SHAPES[name], LOC, SCALE)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", SUMS)
def test_distribution_functions(name, method):
    f, g = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
    check(f, g, points(name), *SHAPES[name], LOC, SCALE)


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "logcdf", "sf"])
def test_poisson(method):
    k = np.array([0, 3, 7, 2])
    check(
        lambda mu: getattr(ours.poisson, method)(k, mu, loc=0),
        lambda mu: getattr(theirs.poisson, method)(k, mu, loc=0),
        np.array([0.5, 2.0, 4.5, 3.3]),
        single=False,
    )


def test_poisson_at_the_rate_zero():
    """pmf(k) = mu^k exp(-mu) / k! has the series 1 - mu + mu^2/2, mu - mu^2, mu^2/2, O(mu^3)."""
    k = np.arange(4)
    f = lambda mu: ours.poisson.pmf(k, mu)
    for first in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_array_equal(first(f)(0.0), [-1, 1, 0, 0])
        for second in (npgrad.jacrev, npgrad.jacfwd):
            np.testing.assert_allclose(second(first(f))(0.0), [1, -2, 1, 0], rtol=1e-12)
    np.testing.assert_array_equal(f(0.0), theirs.poisson.pmf(k, 0.0))
    assert npgrad.grad(lambda mu: ours.poisson.pmf(1, mu))(0.0) == 1
    mixed = npgrad.grad(lambda mu: np.sum(ours.poisson.pmf(k[:, None], mu) * [[1], [2], [3], [4]]))
    rate = np.array([0, 0.5], np.float32)
    slope = np.exp(-0.5) * np.array([-1, 0.5, 0.5**1 - 0.5**2 / 2, 0.5**2 / 2 - 0.5**3 / 6])
    got = mixed(rate)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, [-1 + 2, slope @ [1, 2, 3, 4]], rtol=1e-6)
    with np.errstate(divide="ignore"):  # the logarithm of mu falls to -inf with slope k/mu - 1
        slopes = npgrad.jacobian(lambda mu: ours.poisson.logpmf(k[:2], mu))(0.0)
    np.testing.assert_array_equal(slopes, [-1, np.inf])


@pytest.mark.parametrize("x", [38.5, 40.0, 1e5])
def test_the_logarithm_of_the_normal_distribution_far_out(x):
    """Its second derivative is -x phi(x) to first order: exp(-720) and less, zero in doubles."""
    for f, at in ((ours.norm.logcdf, x), (ours.norm.logsf, -x)):
        assert npgrad.hvp(f, at, 1.0) == 0
        assert npgrad.jvp(lambda t, f=f: npgrad.jvp(f, (t,), (1.0,))[1], (at,), (1.0,))[1] == 0
        assert npgrad.grad(npgrad.grad(f))(at) == 0
    want = -30 * np.exp(-450.0) / np.sqrt(2 * np.pi)
    assert npgrad.hvp(ours.norm.logcdf, 30.0, 1.0) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("method", LOGS + SUMS)
@pytest.mark.parametrize("x", [0.5, -1.3, 0.0, 5.0])
def test_infinitely_many_degrees_of_freedom_are_the_normal_distribution(method, x):
    f, g = getattr(ours.t, method), getattr(ours.norm, method)
    for first in (npgrad.grad, lambda f: lambda x: npgrad.jvp(f, (x,), (1.0,))[1]):
        for outer in (npgrad.grad, lambda f: lambda x: npgrad.jvp(f, (x,), (1.0,))[1]):
            at_once = lambda x: f(x, np.inf)
            np.testing.assert_allclose(first(at_once)(x), first(g)(x), rtol=1e-12)
            got = outer(first(at_once))(x)
            np.testing.assert_allclose(got, outer(first(g))(x), rtol=1e-10, atol=1e-300)
    assert npgrad.grad(f, 1)(x, np.inf) == 0  # it changes as 1/df, whose derivative is -1/df^2
    got = npgrad.grad(f, (0, 2, 3))(0.4 * x + 0.1, np.inf, 0.1, 0.4)
    want = npgrad.grad(g, (0, 1, 2))(0.4 * x + 0.1, 0.1, 0.4)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)
    both = npgrad.grad(lambda v: np.sum(f(x, v)))(np.array([np.inf, 5.0]))
    np.testing.assert_allclose(both, [0, npgrad.grad(f, 1)(x, 5.0)], rtol=1e-12)


# d/dv and d2/dv2 of log(gamma((v+1)/2) / gamma(v/2)) - log(v pi)/2 - (v+1)/2 log1p(x^2/v)
STUDENT = {
    (0.3, 0.7): (-2.10200293507982655, 2.01841189635385238, -9.207293710622105),
    (5.0, -3.0): (-4.05747784059819884, -0.11928157564968143, 0.02002162870740606),
    (60.0, 0.7): (-1.17117675388437785, 0.000120445367752967429, -4.008381861342471e-6),
    (199.0, -3.0): (-5.34352030700717981, -0.000366982551381760704, 3.571649781443436e-6),
    (201.0, 0.7): (-1.16610158393287377, 0.0000107564334398113612, -1.069791294155759e-7),
    (1000.0, 40.0): (-479.152666769394905, -0.16975547251384318, 0.0001889225769235769),
    (100000000.0, 0.7): (-1.16393853755442271, 4.34974999191663309e-17, -8.699499975749899e-25),
    (100000000.0, -3.0): (-5.41893837820468287, -1.54999979750002096e-15, 3.099999392500084e-23),
    (1000000000000000.0, 2.0): (
        -2.91893853320467099,
        -1.74999999999998667e-30,
        3.49999999999996e-45,
    ),
}


@pytest.mark.parametrize("point", STUDENT)
def test_degrees_of_freedom_beside_sixty_digits(point):
    v, x = point
    value, first, second = STUDENT[point]
    f = lambda v: ours.t.logpdf(x, v)
    assert npgrad.vjp(f, v)[0] == pytest.approx(value, rel=2e-14)
    assert npgrad.grad(f)(v) == pytest.approx(first, rel=1e-12)
    assert npgrad.jvp(f, (v,), (1.0,))[1] == pytest.approx(first, rel=1e-12)
    assert npgrad.grad(npgrad.grad(f))(v) == pytest.approx(second, rel=1e-11)
    density = np.exp(value)
    assert npgrad.grad(ours.t.pdf, 1)(x, v) == pytest.approx(density * first, rel=1e-11)
    by_x = -(v + 1) * x / (v + x * x)
    assert npgrad.grad(ours.t.logpdf)(x, v) == pytest.approx(by_x, rel=1e-14)


def test_poisson_counts_are_no_variable():
    with pytest.raises(npgrad.errors.NoDerivative, match="number of events"):
        npgrad.grad(lambda k: ours.poisson.logpmf(k, 2.0))(3.0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", LOGS + SUMS)
def test_outside_of_the_support_and_bad_parameters(name, method):
    x = np.array([-1.0, 0.25, 5.0, np.nan, 0.5])
    scale = np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    shapes = [s[0] for s in SHAPES[name]]
    f, g = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
    value, pull = npgrad.vjp(lambda x: f(x, *shapes, scale=scale), x)
    np.testing.assert_allclose(value, g(x, *shapes, scale=scale), rtol=1e-12)
    gradient = pull(np.ones(5))[0]
    assert np.all(np.isfinite(gradient[:3]))
    if name in BOUNDED:
        assert gradient[0] == 0


def test_other_ways_to_call():
    assert npgrad.grad(lambda x: ours.norm(1.0, 0.5).logpdf(x))(1.5) == -2.0
    assert npgrad.grad(lambda m: ours.norm(loc=m, scale=0.5).logpdf(1.5))(1.0) == 2.0
    assert ours.norm.logpdf(1.5) == theirs.norm.logpdf(1.5)
    assert ours.norm(1.0, 2.0).std() == 2.0
    assert ours.rice is theirs.rice
    with pytest.raises(TypeError, match="needs df"):
        npgrad.grad(ours.t.logpdf)(1.0)
    infinite = npgrad.grad(lambda x: ours.t.logpdf(x, np.inf))(1.5)
    assert infinite == -1.5


@pytest.mark.parametrize("x", [0.3, np.float64(0.3), np.array(0.3), np.array([0.3])])
def test_numbers_without_location_and_scale(x):
    """A Python number compares to a Python bool, whose ``~`` is no negation."""
    value, pull = npgrad.vjp(ours.norm.logcdf, x)
    np.testing.assert_allclose(value, theirs.norm.logcdf(x), rtol=1e-12)
    slope = theirs.norm.pdf(x) / theirs.norm.cdf(x)
    np.testing.assert_allclose(pull(np.ones(np.shape(x)))[0], slope, rtol=1e-12)
    assert npgrad.vjp(lambda x: ours.gamma.pdf(-x, 2.0), x)[0] == 0
    assert npgrad.vjp(lambda x: ours.beta.cdf(1 + x, 2.0, 3.0), x)[0] == 1
    assert np.isnan(npgrad.vjp(lambda x: ours.norm.pdf(x * np.nan), x)[0])
    assert np.isnan(npgrad.vjp(lambda x: ours.norm.pdf(x, scale=-1.0), x)[0])
    value = npgrad.vjp(lambda x: ours.multivariate_normal.logpdf(x, 0.0, 2.0), x)[0]
    np.testing.assert_allclose(value, theirs.multivariate_normal.logpdf(x, 0.0, 2.0))


@pytest.mark.parametrize("method", LOGS)
def test_dirichlet(method):
    alpha = np.array([1.5, 2.0, 3.0])
    x = np.array([[0.2, 0.3], [0.5, 0.1], [0.3, 0.6]])
    for point in (x, x[:, 0], x[:2]):
        check(
            lambda alpha, point=point: getattr(ours.dirichlet, method)(point, alpha),
            lambda alpha, point=point: getattr(theirs.dirichlet, method)(point, alpha),
            alpha,
            single=False,
        )
    # all but the last, which follows from them
    check(
        lambda x, alpha: getattr(ours.dirichlet, method)(x, alpha),
        lambda x, alpha: getattr(theirs.dirichlet, method)(x, alpha),
        x[:2],
        alpha,
        single=False,
    )


COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 1.5]])


@pytest.mark.parametrize("method", LOGS)
@pytest.mark.parametrize("allow_singular", [False, True])
@pytest.mark.parametrize("lead", [(), (4,), (2, 2)])
def test_multivariate_normal(method, allow_singular, lead):
    x = np.random.default_rng(1).normal(size=(*lead, 3))
    check(
        lambda x, m, c: getattr(ours.multivariate_normal, method)(x, m, c, allow_singular),
        lambda x, m, c: getattr(theirs.multivariate_normal, method)(x, m, c, allow_singular),
        x,
        np.array([0.1, 0.2, -0.3]),
        COV,
        symmetric=(2,),
    )


def test_multivariate_normal_parameters():
    x = np.array([0.3, -0.4, 1.0])
    for cov in (np.array(2.0), np.array([1.0, 2.0, 0.5])):
        check(
            lambda x, c: ours.multivariate_normal.logpdf(x, np.zeros(3), c),
            lambda x, c: theirs.multivariate_normal.logpdf(x, np.zeros(3), c),
            x,
            cov,
            single=False,
        )
    check(ours.multivariate_normal.logpdf, theirs.multivariate_normal.logpdf, x)
    check(
        lambda c: ours.multivariate_normal.entropy(np.zeros(3), c),
        lambda c: theirs.multivariate_normal.entropy(np.zeros(3), c),
        COV,
        symmetric=(0,),
    )
    check(
        lambda x, c: ours.multivariate_normal.cdf(x, 0.1, c),
        lambda x, c: theirs.multivariate_normal.cdf(x, 0.1, c),
        x,
        np.array([[2.0]]),
        single=False,
        tol=1e-5,
    )
    with pytest.raises(npgrad.errors.NoDerivative, match="more than one variable"):
        npgrad.grad(lambda x: ours.multivariate_normal.cdf(x, np.zeros(3), COV))(x)


def test_a_covariance_of_scipys():
    x, mean = np.array([0.3, -0.4]), np.array([0.1, 0.2])
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    for cov in (
        theirs.Covariance.from_diagonal([1.0, 2.0]),
        theirs.Covariance.from_cholesky(np.linalg.cholesky(matrix)),
        theirs.Covariance.from_precision(np.linalg.inv(matrix)),
    ):
        for method in LOGS:
            f, g = (
                getattr(ours.multivariate_normal, method),
                getattr(theirs.multivariate_normal, method),
            )
            check(
                lambda x, m, f=f, c=cov: f(x, m, c), lambda x, m, g=g, c=cov: g(x, m, c), x, mean,
                single=False,
            )  # fmt: skip
            check(lambda x, f=f, c=cov: f(x, cov=c), lambda x, g=g, c=cov: g(x, cov=c), x,
                  single=False)  # fmt: skip
    flat = theirs.Covariance.from_diagonal([2.0, 0.0])  # on a line: of the first one alone
    slope = npgrad.grad(lambda x: ours.multivariate_normal.logpdf(x, mean, flat))(
        np.array([0.5, 0.2])
    )
    np.testing.assert_allclose(slope, [-0.2, 0], atol=1e-15)


WITHOUT = {
    "ppf": lambda s: ours.norm.ppf(0.3, scale=s),
    "isf": lambda s: ours.gamma.isf(s / 3, 2.0),
    "moment": lambda s: ours.norm.moment(2, scale=s),
    "mean": lambda s: ours.norm(scale=s).mean(),
    "entropy": lambda s: ours.beta(s, 1.0).entropy(),
    "rvs": lambda s: ours.multivariate_normal(np.zeros(1), s).rvs(),
    "var": lambda s: ours.dirichlet.var(np.ones(2) * s),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_method_without_a_rule_says_which_have_one(name):
    said = rf"stats\.\w+\.{name} has no derivative here; .*pdf.* have.*implicit\.root"
    with pytest.raises(npgrad.errors.NoDerivative, match=said):
        npgrad.grad(lambda s: np.sum(WITHOUT[name](s)))(2.0)
    constant = np.array([0.3, 0.4])
    quantiles = lambda x: np.sum(x * ours.norm.ppf(np.array([0.3, 0.4])))  # made in wrapped code
    got = npgrad.grad(quantiles)(2.0)
    assert got == pytest.approx(np.sum(theirs.norm.ppf(constant)), rel=1e-14)
    assert ours.norm.stats(moments="mv") == theirs.norm.stats(moments="mv")


def test_singular_multivariate_normal():
    """On a line in the plane: the density along it, -inf beside it."""
    line = np.array([[1.0, 2.0], [2.0, 4.0]])
    f = lambda x, c: ours.multivariate_normal.logpdf(x, np.zeros(2), c, allow_singular=True)
    x = np.array([0.3, 0.6])
    value, pull = npgrad.vjp(f, x, line)
    np.testing.assert_allclose(value, theirs.multivariate_normal.logpdf(x, [0, 0], line, True))
    gradient = pull(1.0)
    # along (1, 2) the variance is 5: -d/2 (log 5 s + r^2 / (5 s)) at s = 1 for cov = s * line
    r2 = np.sum(x * x)
    np.testing.assert_allclose(gradient[0] @ x, -r2 / 5)
    np.testing.assert_allclose(np.sum(gradient[1] * line), -0.5 + 0.5 * r2 / 5)
    assert npgrad.vjp(f, np.array([1.0, 0.0]), line)[0] == -np.inf


BAD = {
    "x": (np.nan, 0.0, 1.0),
    "loc": (0.25, np.nan, 1.0),
    "scale": (0.25, 0.0, np.nan),
    "no scale": (0.25, 0.0, 0.0),
    "negative scale": (0.25, 0.0, -1.0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("method", LOGS + SUMS)
@pytest.mark.parametrize("name", SHAPES)
def test_where_the_value_is_nan_so_is_the_gradient(name, method, bad, dtype):
    shapes = [s[0] for s in SHAPES[name]]
    f, g = getattr(getattr(ours, name), method), getattr(getattr(theirs, name), method)
    # one entry is bad, the other is not: only the scalar parameters feel both
    x, loc, scale = np.array([BAD[bad], (0.4, 0.1, 1.1)], dtype).T.copy()
    value, pull = npgrad.vjp(lambda *a: f(a[0], *shapes, *a[1:]), x, loc, scale)
    with np.errstate(all="ignore"):  # SciPy divides by the scale before it looks at it
        assert np.isnan(value[0]) and np.isnan(g(x[0], *shapes, loc[0], scale[0]))
    for gradient in pull(np.ones_like(value)):
        assert gradient.dtype == dtype and np.isnan(gradient[0]) and np.isfinite(gradient[1])
    for gradient in pull(np.array([0, 1], value.dtype)):  # the bad entry is not asked for
        assert gradient[0] == 0
    tangent = npgrad.jvp(lambda x: f(x, *shapes, loc, scale), (x,), (np.ones(2, dtype),))[1]
    assert np.isnan(tangent[0]) and np.isfinite(tangent[1])
    assert np.isnan(npgrad.grad(lambda s: np.sum(f(x, *shapes, 0.1, s)))(dtype(-1)))


@pytest.mark.parametrize("mu", [np.nan, -1.0])
@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "logcdf", "sf"])
def test_poisson_of_a_bad_rate(method, mu):
    assert np.isnan(npgrad.grad(lambda mu: getattr(ours.poisson, method)(2, mu))(mu))


@pytest.mark.parametrize("method", LOGS)
@pytest.mark.parametrize("name", BOUNDED)
def test_outside_of_the_support_every_gradient_is_zero(name, method):
    shapes = [s[0] for s in SHAPES[name]]
    f = getattr(getattr(ours, name), method)
    which = tuple(range(len(shapes) + 3))
    assert npgrad.grad(f, which)(-1.0, *shapes, 0.1, 0.9) == (0.0,) * len(which)


def test_private_formulas_that_packages_call():
    x = np.array([-0.3, 1.2])
    assert np.allclose(npgrad.grad(lambda t: np.sum(ours.norm._cdf(t)))(x), theirs.norm.pdf(x))
    slope = npgrad.grad(lambda mu: ours.poisson._pmf(3, mu))(2.0)
    assert np.isclose(slope, theirs.poisson.pmf(3, 2.0) * (3 / 2.0 - 1))
