"""Polynomials with recorded coefficients, in wrapped code: ``np.poly1d`` and ``np.polynomial``."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, Legendre, Polynomial

import npgrad
from npgrad.testing import check_grads

X = np.array([1.0, 2.0, 3.0, 0.5])
CALLS: dict[str, Callable[[Any], Any]] = {
    "roots": lambda x: np.sum(np.abs(np.roots(np.poly1d(x))) ** 2),
    "polymul": lambda x: np.polymul(np.poly1d(x), x).c,
    "polymul second": lambda x: np.polymul(np.array([1.0, 2.0]), np.poly1d(x)).c,
    "polyadd": lambda x: np.polyadd(np.poly1d(x), x[:2]).c,
    "polysub": lambda x: np.polysub(np.poly1d(x), np.poly1d(x[:2])).c,
    "polydiv": lambda x: np.polydiv(np.poly1d(x), np.poly1d(x[:2]))[0].c,
    "polyder": lambda x: np.polyder(np.poly1d(x))(2.0),
    "polyder by name": lambda x: np.polyder(p=np.poly1d(x), m=2).c,
    "polyint": lambda x: np.polyint(np.poly1d(x), 2)(2.0),
    "polyval": lambda x: np.polyval(np.poly1d(x), x),
    "polyval of one": lambda x: np.polyval(x, np.poly1d(x[:2])).c,
    "polyval of two": lambda x: np.polyval(np.poly1d(x), np.poly1d(x[:2]))(2.0),
    "asarray": lambda x: np.asarray(np.poly1d(x)) * 1.0,
    "methods": lambda x: np.poly1d(x).deriv()(0.3) * (np.poly1d(x) * np.poly1d(x))(x[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    f = CALLS[name]
    value, pull = npgrad.vjp(f, X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    assert pull(np.ones_like(value))[0].shape == X.shape
    check_grads(npgrad.wrap(f), (X,))


@pytest.mark.parametrize("kind", [Polynomial, Chebyshev, Legendre, Hermite])
def test_a_series_is_converted(kind) -> None:
    """Converting puts one series, in an array of no axes, into the other's; a fit is linear."""
    t, y = np.arange(6.0), np.array([0.8, 1.3, 0.6, 1.1, 0.9, 0.4])
    gradient = npgrad.grad(lambda y: kind.fit(t, y, 2).convert(kind=Polynomial).coef.sum())(y)
    np.testing.assert_allclose(gradient, np.linalg.pinv(np.vander(t, 3)).sum(axis=0), atol=1e-13)
    value = npgrad.grad(lambda x: (kind.basis(3).convert(kind=Polynomial) * x[0])(0.5))(np.ones(2))
    np.testing.assert_allclose(value, [kind.basis(3)(0.5), 0.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "gradient"),
    [
        (lambda x, p: x[0] * np.array(p), [2.0, 0.0]),  # p(0.5) = 2
        (lambda x, p: np.array(p) * x[0], [2.0, 0.0]),
        (lambda x, p: np.multiply(x[1], np.array(p)), [0.0, 2.0]),
        (lambda x, p: x[0] + np.array(p), [1.0, 0.0]),
        (lambda x, p: np.array(p) - x[1], [0.0, -1.0]),
        (lambda x, p: np.array(p) / x[0], [-8.0, 0.0]),
    ],
)
def test_an_array_of_no_axes_that_holds_a_polynomial(f, gradient) -> None:
    x, p = np.array([0.5, 1.3]), Polynomial([1.0, 2.0])
    np.testing.assert_allclose(npgrad.grad(lambda x: f(x, p)(0.5))(x), gradient)
    with pytest.raises(TypeError, match="unsupported operand"):  # it knows no recorded numbers
        npgrad.grad(lambda x: f(x, p)(0.5), wrap=False)(x)


def test_entries_of_an_array_of_objects() -> None:
    halves = np.array([Fraction(1, 2), 3], dtype=object)
    x = np.array([0.5, 1.3])
    assert npgrad.grad(lambda x: (x[0] * halves)[0])(x).tolist() == [0.5, 0.0]
    assert npgrad.grad(lambda x: (x + halves)[1])(x).tolist() == [0.0, 1.0]


def test_the_quotient_of_two_polynomials() -> None:
    def parts(x):
        return np.poly1d(np.array([1.0, x[0], 3.0])), np.poly1d(np.array([1.0, x[1]]))

    x = np.array([0.7, 1.6])
    gradient = npgrad.grad(lambda x: np.polydiv(*parts(x))[0](2.0))(x)
    np.testing.assert_allclose(gradient, [1.0, -1.0])  # t + x0 - x1, and a remainder
    with pytest.raises(npgrad.errors.GradientLost, match=r"np\.polydiv\(p, q\)"):
        npgrad.grad(lambda x: (parts(x)[0] / parts(x)[1])[0](2.0))(x)
