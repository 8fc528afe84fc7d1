"""SciPy's optimisers with npgrad's derivatives; the pages of documentation that show them run."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

import npgrad

DOCS = Path(__file__).resolve().parent.parent / "docs"
X0 = np.array([1.3, 0.7, 0.8, 1.9])


@pytest.mark.parametrize(
    "page", ["optimisers.md", "custom_rules.md", "testing.md", "transforms.md"]
)
def test_the_pages_run(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, run = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=flags)
    assert failed == 0 and run > 5


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP", "trust-constr"])
def test_minimize_with_a_gradient(method):
    calls = []

    def both(x):
        calls.append(type(x))
        return npgrad.value_and_grad(rosenbrock)(x)

    options = {"maxfun" if method == "TNC" else "maxiter": 2000}
    fit = optimize.minimize(both, X0, jac=True, method=method, options=options)
    np.testing.assert_allclose(fit.x, np.ones(4), atol=5e-3)
    assert set(calls) == {np.ndarray} and type(fit.x) is np.ndarray
    # As with SciPy's own derivative: the same steps, to rounding.
    own = optimize.minimize(
        optimize.rosen, X0, jac=optimize.rosen_der, method=method, options=options
    )
    assert abs(fit.nit - own.nit) <= max(3, own.nit // 10)


@pytest.mark.parametrize("method", ["Newton-CG", "dogleg", "trust-exact", "trust-krylov"])
def test_minimize_with_a_hessian(method):
    f = lambda x: np.sum(np.cosh(x - np.arange(4.0))) + 0.1 * np.sum(x[1:] * x[:-1])
    if method != "dogleg":  # which needs a convex function
        f = rosenbrock
    fit = optimize.minimize(
        npgrad.value_and_grad(f), X0, jac=True, hess=npgrad.hessian(f), method=method
    )
    assert fit.success
    np.testing.assert_allclose(npgrad.grad(f)(fit.x), 0.0, atol=2e-3)
    if f is rosenbrock:
        np.testing.assert_allclose(fit.x, np.ones(4), atol=1e-3)


def test_hessian_and_products_are_scipys():
    np.testing.assert_allclose(npgrad.hessian(rosenbrock)(X0), optimize.rosen_hess(X0), rtol=1e-12)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(
        npgrad.hvp(rosenbrock, X0, v), optimize.rosen_hess_prod(X0, v), rtol=1e-12
    )
    np.testing.assert_allclose(npgrad.grad(rosenbrock)(X0), optimize.rosen_der(X0), rtol=1e-12)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method):
    t = np.linspace(0.0, 3.0, 20)
    data = 2.5 * np.exp(-1.3 * t) + 0.5
    residuals = lambda p: p[0] * np.exp(-p[1] * t) + p[2] - data
    fit = optimize.least_squares(
        residuals, np.ones(3), jac=npgrad.jacobian(residuals), method=method
    )
    np.testing.assert_allclose(fit.x, [2.5, 1.3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(fit.jac, npgrad.jacrev(residuals)(fit.x), atol=1e-9)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method):
    system = lambda x: np.stack([x[0] ** 2 + x[1] - 3.0, np.exp(x[0]) - x[1] - 1.0])
    solution = optimize.root(system, np.ones(2), jac=npgrad.jacobian(system), method=method)
    np.testing.assert_allclose(system(solution.x), 0.0, atol=1e-8)
    scalar = optimize.root_scalar(
        lambda x: x**3 - 2.0, x0=1.0, fprime=npgrad.grad(lambda x: x**3 - 2.0), method="newton"
    )
    assert scalar.root == pytest.approx(2 ** (1 / 3))
    halley = optimize.root_scalar(
        lambda x: x**3 - 2.0,
        x0=1.0,
        fprime=npgrad.grad(lambda x: x**3 - 2.0),
        fprime2=npgrad.grad(npgrad.grad(lambda x: x**3 - 2.0)),
        method="halley",
    )
    assert halley.root == pytest.approx(2 ** (1 / 3))


def test_curve_fit_covariance_is_that_of_differences():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 4.0, 50)
    curve = lambda t, a, b: a * np.exp(-b * t)
    data = curve(t, 2.0, 0.7) + 0.01 * rng.normal(size=t.size)
    jac = lambda t, *p: npgrad.jacobian(lambda q: curve(t, *q))(np.array(p))
    popt, pcov = optimize.curve_fit(curve, t, data, p0=[1.0, 1.0], jac=jac)
    by_differences = optimize.curve_fit(curve, t, data, p0=[1.0, 1.0])
    np.testing.assert_allclose(popt, by_differences[0], rtol=1e-6)
    np.testing.assert_allclose(pcov, by_differences[1], rtol=1e-4)


def test_check_grad_and_approx_derivative_agree():
    gradient = npgrad.grad(rosenbrock)
    assert optimize.check_grad(rosenbrock, gradient, X0) < 1e-3
    numeric = optimize.approx_fprime(X0, rosenbrock, 1e-7)
    np.testing.assert_allclose(gradient(X0), numeric, rtol=1e-4, atol=1e-2)
