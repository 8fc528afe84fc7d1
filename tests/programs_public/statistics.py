"""Likelihoods and estimators: statsmodels, hmmlearn, arch, lifelines, emcee-like targets, pyhf."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program


def design(kind: str):
    """Regressors and a response of the kind a model wants."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    response = {
        "binary": (rng.random(30) < 0.5) * 1.0,
        "count": rng.poisson(2.0, 30).astype(float),
        "real": x @ [0.5, 1.0, -0.3] + rng.normal(size=30),
        "positive": rng.gamma(2.0, size=30),
        "classes": rng.integers(0, 3, 30),
    }[kind]
    return x, response


def likelihood(name: str, kind: str, x: np.ndarray, exact: bool = True, **kwargs) -> Case:
    import statsmodels.api as sm

    regressors, response = design(kind)
    model = getattr(sm, name)(response, regressors, **kwargs)
    return Case(model.loglike, x, exact=model.score if exact else None)


BETA = np.array([0.3, -0.5, 0.2])


@program("statsmodels", "Logit.loglike against score")
def logit_likelihood() -> Case:
    return likelihood("Logit", "binary", BETA)


@program("statsmodels", "Probit.loglike against score")
def probit_likelihood() -> Case:
    return likelihood("Probit", "binary", BETA)


@program("statsmodels", "Poisson.loglike against score")
def poisson_likelihood() -> Case:
    return likelihood("Poisson", "count", BETA)


@program("statsmodels", "NegativeBinomial.loglike against score")
def negative_binomial_likelihood() -> Case:
    return likelihood("NegativeBinomial", "count", np.append(BETA, 0.4))


@program("statsmodels", "GeneralizedPoisson.loglike against score")
def generalized_poisson_likelihood() -> Case:
    return likelihood("GeneralizedPoisson", "count", np.append(BETA, 0.1))


@program(
    "statsmodels",
    "ZeroInflatedPoisson.loglike against differences",
)
def zero_inflated_likelihood() -> Case:
    import statsmodels.api as sm

    x, y = design("count")
    return Case(sm.ZeroInflatedPoisson(y, x).loglike, np.append(-0.4, BETA))


@program("statsmodels", "MNLogit.loglike against score")
def multinomial_likelihood() -> Case:
    import statsmodels.api as sm

    x, y = design("classes")
    model = sm.MNLogit(y, x)
    return Case(model.loglike, np.array([0.3, -0.5, 0.2, 0.1, 0.4, -0.2]), exact=model.score)


@program("statsmodels", "OLS.loglike against score")
def least_squares_likelihood() -> Case:
    return likelihood("OLS", "real", BETA)


@program("statsmodels", "GLM(Gamma, log link).loglike against differences")
def gamma_regression() -> Case:
    import statsmodels.api as sm

    x, y = design("positive")
    model = sm.GLM(y, x, family=sm.families.Gamma(sm.families.links.Log()))
    return Case(lambda b: model.loglike(b, scale=0.7), BETA)


@program("statsmodels", "PHReg.loglike: Cox's partial likelihood, against score")
def cox_likelihood() -> Case:
    import statsmodels.api as sm

    x, y = design("positive")
    model = sm.PHReg(y, x[:, 1:], status=np.arange(30) % 4 > 0)
    return Case(model.loglike, BETA[:2], exact=model.score)


@program(
    "statsmodels",
    "OrderedModel.loglike: an ordered logit",
)
def ordered_likelihood() -> Case:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x, y = design("classes")
    model = OrderedModel(y, x[:, 1:], distr="logit")
    return Case(model.loglike, np.array([0.3, -0.2, -0.5, 0.2]))


@program("statsmodels", "TruncatedLFPoisson.loglike against differences")
def truncated_likelihood() -> Case:
    from statsmodels.discrete.truncated_model import TruncatedLFPoisson

    x, y = design("count")
    model = TruncatedLFPoisson(y + 1, x)
    return Case(model.loglike, BETA)


@program("statsmodels", "BetaModel.loglike against score")
def beta_regression() -> Case:
    from statsmodels.othermod.betareg import BetaModel

    x, y = design("positive")
    model = BetaModel(y / (1 + y), x)
    return Case(model.loglike, np.append(BETA, 1.2), exact=model.score)


@program("statsmodels", "robust norms: Tukey's biweight rho against its psi")
def robust_norm() -> Case:
    from statsmodels.robust import norms

    norm = norms.TukeyBiweight()
    x = np.array([-6.0, -2.0, 0.3, 1.7, 4.0])
    return Case(lambda z: np.sum(norm.rho(z)), x, exact=norm.psi)


@program("statsmodels", "robust norms: Huber and Hampel rho against differences")
def robust_norms() -> Case:
    from statsmodels.robust import norms

    return Case(
        lambda z: norms.HuberT().rho(z) + norms.Hampel().rho(z) + norms.AndrewWave().rho(z),
        np.array([-7.0, -2.5, 0.3, 1.1, 3.0, 9.0]),
    )


@program(
    "statsmodels",
    "tsa: ARMA process autocovariance by its coefficients",
)
def arma_autocovariance() -> Case:
    from statsmodels.tsa.arima_process import arma_acovf

    return Case(
        lambda c: arma_acovf(np.r_[1.0, -c[:2]], np.r_[1.0, c[2:]], nobs=6),
        np.array([0.5, -0.2, 0.3]),
    )


@program("statsmodels", "DescrStatsW: weighted deviation and mean by the weights")
def weighted_statistics() -> Case:
    from statsmodels.stats.weightstats import DescrStatsW

    data = np.random.default_rng(0).normal(size=(10, 2))

    def spread(w):
        stats = DescrStatsW(data, weights=w, ddof=1)
        return stats.std * stats.mean

    return Case(spread, np.linspace(0.5, 2.0, 10))


@program("hmmlearn", "the log-densities of a Gaussian hidden Markov model's states")
def markov_densities() -> Case:
    from hmmlearn.stats import log_multivariate_normal_density as density

    rng = np.random.default_rng(0)
    x, covars = rng.normal(size=(5, 2)), np.array([[0.5, 1.0], [1.5, 0.7]])
    return Case(lambda m: density(x, m, covars, "diag"), rng.normal(size=(2, 2)))


@program("arch", "ConstantMean with normal errors: the log-likelihood by sigma2")
def arch_normal() -> Case:
    from arch.univariate import Normal

    residuals = np.random.default_rng(0).normal(size=8)
    return Case(lambda s: Normal().loglikelihood([], residuals, s), np.linspace(0.5, 1.5, 8))


@program("arch", "Student's t likelihood by degrees of freedom and variance")
def arch_student() -> Case:
    from arch.univariate import StudentsT

    residuals = np.random.default_rng(0).normal(size=8)
    return Case(
        lambda p: StudentsT().loglikelihood(p[:1], residuals, p[1:]),
        np.append(6.0, np.linspace(0.5, 1.5, 8)),
    )


@program("pyhf", "the log-probability of a counting experiment, NumPy backend")
def counting_experiment() -> Case:
    import pyhf

    model = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [7.0, 8.0])
    data = np.array([53.0, 72.0, *model.config.auxdata])
    return Case(lambda p: model.logpdf(p, data)[0], np.array([1.1, 0.95, 1.05]))


@program("lifelines", "the Weibull cumulative hazard of a univariate fitter")
def weibull_hazard() -> Case:
    from lifelines import WeibullFitter

    times = np.array([0.5, 1.2, 2.5, 4.0])
    return Case(lambda p: WeibullFitter()._cumulative_hazard(p, times), np.array([2.0, 1.4]))


@program("bayes_opt", "the upper confidence bound of an acquisition function")
def acquisition() -> Case:
    from bayes_opt.acquisition import UpperConfidenceBound

    acq = UpperConfidenceBound(kappa=2.0)
    return Case(lambda p: acq.base_acq(p[:3], p[3:]), np.array([0.1, 0.4, 0.7, 0.3, 0.2, 0.5]))


@program("SALib", "the Ishigami test function of sensitivity analysis")
def ishigami() -> Case:
    from SALib.test_functions import Ishigami

    return Case(Ishigami.evaluate, np.random.default_rng(0).uniform(-3, 3, size=(4, 3)))


@program("SALib", "Sobol's G function of sensitivity analysis")
def sobol_g() -> Case:
    from SALib.test_functions import Sobol_G

    return Case(
        lambda x: Sobol_G.evaluate(x, a=np.array([0.0, 1.0, 4.5])),
        np.random.default_rng(0).uniform(0.05, 0.4, size=(4, 3)),
    )


@program("george", "modeling: a mean model by its parameter vector")
def linear_mean_model() -> Case:
    from george.modeling import Model

    class Line(Model):
        parameter_names = ("m", "b")

        def get_value(self, t):
            return self.m * t + self.b

    t = np.linspace(0, 1, 5)

    def value(p):
        line = Line(m=0.0, b=0.0)
        line.parameter_vector = p
        return line.get_value(t) ** 2

    return Case(value, np.array([0.4, 1.1]))


@program(
    "pykrige",
    "variogram models by their parameters",
)
def variogram() -> Case:
    from pykrige import variogram_models as v

    d = np.array([0.1, 0.5, 1.2, 3.0])
    return Case(
        lambda m: (
            v.gaussian_variogram_model(m, d)
            + v.exponential_variogram_model(m, d)
            + v.hole_effect_variogram_model(m, d)
            + v.spherical_variogram_model(m, d)
        ),
        np.array([1.3, 1.7, 0.1]),
    )
