"""Hand-written gradients of public packages under `assert_grad`: right ones pass, wrong ones show.

What was found is in docs/testing.md.
"""

from __future__ import annotations

import collections
import collections.abc
from importlib.metadata import entry_points

import numpy as np
import pytest

from npgrad.testing import assert_grad

from .test_plugin import run

pytestmark = [pytest.mark.programs, pytest.mark.filterwarnings("default")]
X = np.linspace(0.3, 4.0, 7)


def fit_deriv(name):
    models = pytest.importorskip("astropy.modeling.models")
    model = getattr(models, name)()
    args = tuple(np.float64(v) * 1.1 + 0.07 for v in model.parameters)
    check = lambda: assert_grad(
        lambda *p: model.evaluate(X, *p),
        lambda *p: list(model.fit_deriv(X, *p)),
        args,
        argnums=tuple(range(len(args))),
    )
    return check


@pytest.mark.parametrize("name", ["Gaussian1D", "Lorentz1D", "Sine1D", "PowerLaw1D", "Voigt1D"])
def test_right_derivatives_of_astropy(name):
    fit_deriv(name)()


def test_the_wrong_derivative_of_drude():
    with pytest.raises(AssertionError) as info:
        fit_deriv("Drude1D")()
    assert "with respect to argument 1 is wrong" in str(info.value)  # x_0
    assert "Finite differences agree with npgrad: the analytic" in str(info.value)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_penalty_of_numpy_mls_logistic_regression(penalty, gamma, monkeypatch):
    for name in ("Hashable", "Callable", "Iterable"):  # it was written for an older Python
        monkeypatch.setattr(collections, name, getattr(collections.abc, name), raising=False)
    linear = pytest.importorskip("numpy_ml.linear_models")
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(30, 3)), (rng.random(30) < 0.5).astype(float)
    model = linear.LogisticRegression(penalty=penalty, gamma=gamma, fit_intercept=False)

    def at(beta, function):
        model.beta = beta
        return function(data, labels, 1 / (1 + np.exp(-data @ beta)))

    check = lambda: assert_grad(
        lambda beta: at(beta, model._NLL),
        lambda beta: at(beta, model._NLL_grad),
        (np.array([0.3, -0.5, 0.2]),),
    )
    if gamma == 0.0:
        check()
    else:
        with pytest.raises(AssertionError, match="with npgrad: the analytic gradient is wrong"):
            check()


@pytest.mark.parametrize("name", ["Logit", "Probit", "Poisson"])
def test_scores_of_statsmodels(name):
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    design = sm.add_constant(rng.normal(size=(40, 2)))
    counts = rng.poisson(2.0, 40) if name == "Poisson" else (rng.random(40) < 0.5) * 1.0
    model = getattr(sm, name)(counts, design)
    assert_grad(model.loglike, model.score, (np.array([0.3, -0.5, 0.2]),))


SUITE = """
import collections, collections.abc
import numpy as np

for name in ("Hashable", "Callable", "Iterable"):
    setattr(collections, name, getattr(collections.abc, name))


def test_drude(assert_grad):
    from astropy.modeling.models import Drude1D
    model, x = Drude1D(), np.linspace(0.3, 4.0, 7)
    f = lambda x_0: model.evaluate(x, 1.1, x_0, 1.2)
    assert_grad(f, lambda x_0: model.fit_deriv(x, 1.1, x_0, 1.2)[1], (1.2,))


def test_amplitude(assert_grad):
    from astropy.modeling.models import Drude1D
    model, x = Drude1D(), np.linspace(0.3, 4.0, 7)
    f = lambda a: model.evaluate(x, a, 1.2, 1.2)
    assert_grad(f, lambda a: model.fit_deriv(x, a, 1.2, 1.2)[0], (1.1,))


def test_penalty(assert_grad):
    from numpy_ml.linear_models import LogisticRegression
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(30, 3)), (rng.random(30) < 0.5).astype(float)
    model = LogisticRegression(penalty="l2", gamma=0.5, fit_intercept=False)

    def at(beta, function):
        model.beta = beta
        return function(data, labels, 1 / (1 + np.exp(-data @ beta)))

    assert_grad(
        lambda beta: at(beta, model._NLL),
        lambda beta: at(beta, model._NLL_grad),
        (np.array([0.3, -0.5, 0.2]),),
    )
"""


def test_the_plugin_shows_the_two_wrong_ones(tmp_path):
    for package in ("astropy", "numpy_ml"):
        pytest.importorskip(package)
    installed = {point.name for point in entry_points(group="pytest11")}
    plugin = () if "npgrad.pytest_plugin" in installed else ("-p", "npgrad.pytest_plugin")
    done = run(tmp_path, SUITE, *plugin)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    for name in ("test_drude", "test_penalty"):
        assert f"FAILED test_it.py::{name}" in done.stdout
    assert done.stdout.count("with npgrad: the analytic gradient is wrong") >= 2
