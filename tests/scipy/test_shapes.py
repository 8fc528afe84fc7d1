"""Derivatives of distribution functions by their shape parameters, beside 50 digits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import npgrad

# Differences of the power series in 50 digits, with a step of 1e-15 of the parameter.
GAMMA = {
    (1e-6, 1e-50): -114.53891921137236285,
    (1e-3, 0.5): -0.56035940010800309433,
    (0.3, 2.0): -0.099252660101240121856,
    (7.5, 4.0): -0.058876782392362066036,
    (300.0, 310.0): -0.019253838374701428694,
    (1e4, 9.9e3): -0.0024237533683262444971,
}
BETA = {
    (1e-3, 1e-2, 0.3): (-83.334678300719598628, 8.2586813432003959574),
    (0.2, 0.7, 1e-30): (-6.235442713895179401e-5, 4.1701751245777664138e-7),
    (2.5, 1.5, 0.25): (-0.07183096170786764328, 0.058990134560778745894),
    (0.4, 6.0, 0.9): (-6.7598371885863761836e-7, 3.8160407083264588454e-7),
    (80.0, 30.0, 0.7): (-0.019508420427841808036, 0.048821314548431881183),
    (2e3, 0.5, 0.9): (-1.2842010443296512188e-94, 8.8357535272233453483e-93),
    (10.0, 2e3, 0.01): (-0.0037804061197252993129, 2.6968658793844674341e-5),
}
STUDENT = {
    (0.05, -3.0): -1.1690249804633434785,
    (5.0, -40.0): -2.2804856337475423104e-7,
    (250.0, -0.7): -1.3007420185406325616e-6,
    (1e6, -2.0): -1.3497754451081793596e-13,
}


@pytest.mark.parametrize("point", GAMMA)
def test_gammainc(point):
    got = npgrad.grad(sp.gammainc)(*point)
    assert got == pytest.approx(GAMMA[point], rel=1e-12)
    assert npgrad.grad(sp.gammaincc)(*point) == -got
    a, x = point
    assert npgrad.grad(sp.chdtr)(2 * a, 2 * x) == pytest.approx(got / 2, rel=1e-14)


@pytest.mark.parametrize("point", BETA)
def test_betainc(point):
    a, b, x = point
    got = npgrad.grad(sp.betainc, (0, 1))(a, b, x)
    assert got == pytest.approx(BETA[point], rel=1e-12)
    if 1e-3 < x < 0.99:  # I_x(a, b) = 1 - I_(1-x)(b, a)
        mirrored = npgrad.grad(sp.betaincc, (1, 0))(b, a, 1 - x)
        assert mirrored == pytest.approx(got, rel=1e-11)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("point", STUDENT)
def test_stdtr(point, sign):
    v, t = point
    got = npgrad.grad(sp.stdtr)(v, sign * t)
    assert got == pytest.approx(sign * STUDENT[point], rel=1e-9)


def test_closed_forms():
    x = np.array([0.01, 0.3, 1.0, 2.0, 30.0])
    # gammainc at a = 1: DLMF 8.8.2 and the derivative of the complete function
    want = -sp.exp1(x) - np.exp(-x) * (np.log(x) + np.euler_gamma)
    got = npgrad.grad(lambda a: np.sum(sp.gammainc(a, x)))(np.ones(5))
    np.testing.assert_allclose(got, want, rtol=1e-11)
    x = np.array([1e-8, 0.3, 0.5, 0.9, 1 - 1e-8])
    b = np.array([0.1, 1.0, 2.5, 40.0, 3.0])
    one = np.ones(5)
    got = npgrad.grad(lambda a: np.sum(sp.betainc(a, one, x)))(b)
    np.testing.assert_allclose(got, x**b * np.log(x), rtol=1e-11)
    got = npgrad.grad(lambda b: np.sum(sp.betainc(one, b, x)))(b)
    np.testing.assert_allclose(got, -((1 - x) ** b) * np.log1p(-x), rtol=1e-8)


def test_edges():
    slope = npgrad.grad(lambda a, x: np.sum(sp.gammainc(a, x)))
    x = np.array([0.0, np.inf, np.nan, -1.0])
    np.testing.assert_array_equal(slope(np.full(4, 2.0), x), [0, 0, np.nan, np.nan])
    assert np.isnan(slope(-1.0, 2.0))
    slope = npgrad.grad(lambda a, x: np.sum(sp.betainc(a, 2.0, x)))
    x = np.array([0.0, 1.0, np.nan, 2.0])
    np.testing.assert_array_equal(slope(np.full(4, 2.0), x), [0, 0, np.nan, np.nan])
    assert npgrad.grad(sp.stdtr)(3.0, 0.0) == 0  # one half, whatever the degrees
    assert npgrad.grad(sp.stdtr)(np.inf, 1.0) == 0
    assert np.isnan(npgrad.grad(sp.stdtr)(np.nan, 1.0))


def test_shapes_of_arrays_and_precision():
    a = np.linspace(0.5, 4, 5000, dtype=np.float32)  # more than are summed at once
    got = npgrad.grad(lambda a: np.sum(sp.gammainc(a, np.float32(1.5))))(a)
    wide = npgrad.grad(lambda a: np.sum(sp.gammainc(a, 1.5)))(a.astype(float))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wide, rtol=1e-6)
    assert npgrad.grad(lambda a: np.sum(sp.gammainc(a, np.ones((3, 1)))))(np.ones(2)).shape == (2,)
    assert npgrad.grad(lambda a: np.sum(sp.gammainc(a, 1.0)))(np.ones(0)).shape == (0,)


def test_third_order():
    third = npgrad.grad(npgrad.grad(npgrad.grad(sp.gammainc)))(2.5, 1.7)
    second = npgrad.grad(npgrad.grad(sp.gammainc))
    numeric = (second(2.5 + 1e-5, 1.7) - second(2.5 - 1e-5, 1.7)) / 2e-5
    assert third == pytest.approx(numeric, rel=1e-8)


def test_a_sum_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr("npgrad.rules.special.shapes.POINTS", (3, 4))
    with pytest.raises(npgrad.errors.NoDerivative, match="did not settle"):
        npgrad.grad(sp.betainc)(1.5, 0.2, 0.3)
