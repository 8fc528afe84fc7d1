"""SciPy's own Python code, and its compiled functions where npgrad has rules for them."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program


@program("scipy", "optimize.rosen against rosen_der")
def rosenbrock() -> Case:
    from scipy import optimize

    return Case(optimize.rosen, np.array([1.3, 0.7, 0.8, 1.9, 1.2]), exact=optimize.rosen_der)


@program("scipy", "special: gammaln, erf, Bessel and logistic functions")
def special_functions() -> Case:
    from scipy import special

    return Case(
        lambda x: special.gammaln(x) + special.erf(x) * special.j0(x) - special.expit(-x),
        np.array([0.4, 1.7, 3.2]),
    )


@program(
    "scipy",
    "signal.windows.general_cosine: a window and its energy, by its weights",
)
def window_energy() -> Case:
    from scipy.signal import windows

    return Case(lambda a: np.sum(windows.general_cosine(32, a) ** 2), np.array([0.5, 0.4, 0.1]))


@program("scipy", "stats.gmean, hmean, pmean: generalised means")
def generalised_means() -> Case:
    from scipy import stats

    return Case(
        lambda x: stats.gmean(x) + stats.hmean(x) * stats.pmean(x, 3),
        np.array([0.5, 1.5, 2.0, 3.7]),
    )


@program("scipy", "stats.zscore, skew and kurtosis of a sample")
def sample_moments() -> Case:
    from scipy import stats

    rng = np.random.default_rng(1)
    return Case(
        lambda x: stats.skew(x) + stats.kurtosis(x) * stats.zscore(x)[2], rng.gamma(2.0, size=12)
    )


@program("scipy", "integrate.solve_ivp: a damped pendulum by RK45")
def pendulum() -> Case:
    from scipy.integrate import solve_ivp

    def end(p):
        def rhs(t, s):
            return np.array([s[1], -p[0] * np.sin(s[0]) - p[1] * s[1]])

        return solve_ivp(rhs, (0.0, 2.0), p[2:], rtol=1e-9, atol=1e-10).y[:, -1]

    return Case(end, np.array([2.0, 0.3, 1.0, 0.2]))


@program("scipy", "stats.multivariate_normal.logpdf, by the points")
def normal_log_density() -> Case:
    from scipy import stats

    cov = np.array([[2.0, 0.3], [0.3, 1.0]])
    return Case(
        lambda x: stats.multivariate_normal.logpdf(x, np.array([0.5, -0.2]), cov),
        np.array([[0.1, 0.2], [1.3, -0.7]]),
    )


@program("scipy", "stats.norm.logpdf: a likelihood by location and scale")
def normal_likelihood() -> Case:
    from scipy import stats

    data = np.array([0.3, 1.2, -0.4, 2.2])
    return Case(lambda p: np.sum(stats.norm.logpdf(data, p[0], p[1])), np.array([0.4, 1.3]))


@program("scipy", "spatial.distance.cdist and linalg.cho_solve: a Gaussian-process likelihood")
def gaussian_process() -> Case:
    from scipy import linalg
    from scipy.spatial import distance

    x = np.linspace(0, 3, 8)[:, None]
    y = np.sin(2 * x[:, 0])

    def likelihood(p):
        kernel = p[0] ** 2 * np.exp(-0.5 * distance.cdist(x / p[1], x / p[1], "sqeuclidean"))
        factor = linalg.cholesky(kernel + p[2] ** 2 * np.eye(8), lower=True)
        return -0.5 * y @ linalg.cho_solve((factor, True), y) - np.sum(np.log(np.diag(factor)))

    return Case(likelihood, np.array([1.2, 0.8, 0.3]))


@program("scipy", "ndimage.gaussian_filter of an image")
def image_edges() -> Case:
    from scipy import ndimage

    rng = np.random.default_rng(0)
    return Case(lambda image: np.sum(ndimage.gaussian_filter(image, 1.0) ** 3), rng.random((6, 5)))


@program("scipy", "signal.lfilter: an infinite-response filter by its coefficients")
def filtered_signal() -> Case:
    from scipy import signal

    x = np.sin(np.arange(20.0))
    return Case(
        lambda c: np.sum(signal.lfilter(c[:2], np.append(1.0, c[2:]), x) ** 2),
        np.array([0.5, 0.2, -0.4, 0.1]),
    )
