"""Answers of Python and NumPy that unchanged code relies on: errors, directives, complex numbers.

Expected values are the plain run's own, derivatives those of the formula.
"""

from __future__ import annotations

import cmath
import math
import statistics
from statistics import stdev

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, NoDerivative

X = np.array([1.0, 2.0, 3.0, 4.0])


# ------------------------------------------------------------------------------- math and cmath
RAISING = {
    "log": lambda x: math.log(x[0] - 2),
    "log of zero": lambda x: math.log(x[0] - 1),
    "log, base 1": lambda x: math.log(x[1], x[0]),
    "exp": lambda x: math.exp(1000 * x[0]),
    "sqrt": lambda x: math.sqrt(-x[0]),
    "asin": lambda x: math.asin(x[1]),
    "atanh": lambda x: math.atanh(x[0]),
    "pow": lambda x: math.pow(x[0] - 1, -1),
    "gamma": lambda x: math.gamma(-x[0]),
    "cosh": lambda x: math.cosh(1000 * x[0]),
    "fmod": lambda x: math.fmod(x[0], x[0] - 1),
    "of an array": lambda x: math.exp(x),
    "fsum": lambda x: math.fsum([x[0] * 1e308, x[0] * 1e308]),
    "cmath": lambda x: cmath.log(x[0] - 1),
}


@pytest.mark.parametrize("name", RAISING)
def test_math_raises_what_python_raises(name):
    f = RAISING[name]
    with pytest.raises(Exception) as plain:
        f(X)
    for transform in (npgrad.value_and_grad, npgrad.jacfwd):
        with pytest.raises(plain.type, match=str(plain.value)[:12]):
            transform(f)(X)


def test_a_handler_of_a_math_error_runs():
    def log_likelihood(x):
        try:
            return math.log(x[0] - 1)
        except ValueError:
            return -1e3 * x[1]

    value, gradient = npgrad.value_and_grad(log_likelihood)(X)
    assert value == log_likelihood(X) == -2000
    np.testing.assert_array_equal(gradient, [0, -1000, 0, 0])


def size_and_angle(x):
    return cmath.polar(complex(x[2], x[3]))


def of_parts(x):
    return complex(x[0], x[1]), complex(3, x[1]), complex(x[0], imag=x[1])


COMPLEX = {  # name: (function, gradient at 1, 2, 3, 4)
    "sqrt": (lambda x: cmath.sqrt(-x[0]).imag, [0.5, 0, 0, 0]),
    "log": (lambda x: cmath.log(-x[1]).real, [0, 0.5, 0, 0]),
    "log, imaginary": (lambda x: cmath.log(-x[1]).imag, [0, 0, 0, 0]),
    "exp": (lambda x: cmath.exp(1j * x[0]).imag, [math.cos(1), 0, 0, 0]),
    "polar": (lambda x: size_and_angle(x)[0], [0, 0, 0.6, 0.8]),
    "phase": (lambda x: size_and_angle(x)[1], [0, 0, -4 / 25, 3 / 25]),
    "rect": (lambda x: cmath.rect(x[0], x[1]).real, [math.cos(2), -math.sin(2), 0, 0]),
    "complex": (lambda x: abs(of_parts(x)[0]) ** 2, [2, 4, 0, 0]),
    "complex, real part plain": (lambda x: abs(of_parts(x)[1]) ** 2, [0, 4, 0, 0]),
    "complex, by name": (lambda x: of_parts(x)[2].imag, [0, 1, 0, 0]),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_of_recorded_reals(name):
    f, want = COMPLEX[name]
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-15)
    np.testing.assert_allclose(gradient, want, rtol=1e-14, atol=1e-16)


def test_answers_that_are_no_numbers():
    def f(x):
        assert math.isclose(x[0], 1.05, rel_tol=0.1)
        assert math.isfinite(x[0]) is True
        assert x[0].is_integer() is True
        return x[0] ** 2

    assert npgrad.grad(f)(X)[0] == 2.0


def test_statistics_of_an_array_names_numpys_function():
    with pytest.raises(GradientLost, match=r"np\.mean"):
        npgrad.grad(lambda x: statistics.mean(x), wrap=False)(X)


AVERAGES = {
    "mean": lambda x: statistics.mean(x.tolist()),
    "fmean": lambda x: statistics.fmean(x, weights=[1, 2, 4]),
    "stdev": lambda x: statistics.stdev(list(x)),
    "by name": lambda x: stdev(x),
    "pvariance": lambda x: statistics.pvariance(x),
    "variance": lambda x: statistics.variance(list(x), xbar=1.0),
    "harmonic_mean": lambda x: statistics.harmonic_mean(x, weights=[1, 2, 1]),
    "geometric_mean": lambda x: statistics.geometric_mean(x),
    "median": lambda x: statistics.median(x),
    "pstdev": lambda x: statistics.pstdev(v for v in x),
    "plain": lambda x: statistics.mean([1.0, 2.0]) * x[0],
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_python_record_in_wrapped_code(name):
    f, x = AVERAGES[name], np.array([1.1, 0.7, 1.9])
    expected = [(f(x + e) - f(x - e)) / 2e-6 for e in np.eye(3) * 1e-6]
    for _ in range(3):
        value, gradient = npgrad.value_and_grad(f)(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-15)
        np.testing.assert_allclose(gradient, expected, atol=1e-8)


def test_averages_raise_what_pythons_raise():
    for f in (
        lambda x: statistics.stdev([x[0]]),
        lambda x: statistics.geometric_mean([-x[0], x[1]]),
    ):
        with pytest.raises(statistics.StatisticsError):
            npgrad.grad(f)(np.array([1.1, 0.7]))


# -------------------------------------------------------------------------- np.r_, c_, mgrid, ogrid
@pytest.mark.parametrize(
    "text", ["0,2", "-1,2,0", "0,2,0", "1,3,1", "-1", "1,2", "0,3,-1", "-1,3,0", "0"]
)
def test_directives_of_r_and_c(text):
    for f in (
        lambda x: np.r_[text, x, x**2, x[::-1]],
        lambda x: np.c_[text, x, x**2],
        lambda x: np.r_[text, np.zeros(4), x],
    ):
        np.testing.assert_array_equal(npgrad.vjp(f, X)[0], f(X))
    weights = np.arange(8.0) + 1
    g = npgrad.grad(lambda x: np.sum(np.r_[text, x, x**2].ravel() * weights))(X)
    order = np.r_[text, np.arange(4.0), np.arange(4.0, 8)].ravel()
    first, second = np.argsort(order)[:4], np.argsort(order)[4:]
    np.testing.assert_allclose(g, weights[first] + 2 * X * weights[second])


def test_directives_of_matrices_and_unknown_ones():
    a = lambda x: np.r_["1", x.reshape(2, 2), x.reshape(2, 2) ** 2]
    np.testing.assert_array_equal(npgrad.vjp(a, X)[0], a(X))
    with pytest.raises(NoDerivative, match=r"np\.matrix"):
        npgrad.vjp(lambda x: np.r_["r", x], X)
    with pytest.raises(ValueError, match="unknown special directive"):
        npgrad.vjp(lambda x: np.r_["z", x], X)


@pytest.mark.parametrize("maker", ["mgrid", "ogrid"])
@pytest.mark.parametrize(
    "key", [np.s_[0:3:4j, 0:1:3j], np.s_[0:3, 0:2:0.5], np.s_[0:3:4j], np.s_[1:3:0.5]]
)
def test_grids_with_recorded_ends(maker, key):
    def f(x):
        parts = [slice(k.start, k.stop * x[0], k.step) for k in np.atleast_1d(key)]
        return getattr(np, maker)[tuple(parts) if type(key) is tuple else parts[0]]

    made = npgrad.wrap(f)(npgrad.array([1.0]))
    for got, want in zip(made, f(np.ones(1)), strict=True):
        np.testing.assert_allclose(npgrad.value(got), want, rtol=1e-15)


def test_the_gradient_of_a_grid():
    """The points are x k / 3: their squares sum to x**2 14 / 9, three times."""
    f = lambda x: np.sum(np.mgrid[0 : x[0] : 4j, 0:1:3j][0] ** 2)
    np.testing.assert_allclose(npgrad.grad(f)(X), [2 * 3 * 14 / 9, 0, 0, 0])


# ----------------------------------------------------------------------------------- NumPy's errors
def test_where_of_one_choice_raises():
    with pytest.raises(ValueError, match="either both or neither"):
        npgrad.grad(lambda x: np.where(x > 1, x).sum())(X)


def test_a_ufunc_in_integers_raises_as_numpys():
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' input 0"):
        npgrad.grad(lambda x: np.add(x, 1, dtype=int).sum())(X)


def test_a_real_array_has_no_imaginary_part_to_set():
    def f(x):
        y = x * 1
        y.imag = 5
        return y.sum()

    with pytest.raises(TypeError, match="imaginary part"):
        f(X)
    with pytest.raises(TypeError, match="imaginary part"):
        npgrad.grad(f)(X)


@pytest.mark.parametrize("ufunc", [np.multiply, np.add, np.maximum, np.power])
def test_the_operand_of_at_is_read_before_it_is_written(ufunc):
    def f(x):
        y = x / 3
        ufunc.at(y[None], [0, 0, -1], y)
        ufunc.at(y, [1, 1, 2], y[:3])
        return y

    np.testing.assert_allclose(npgrad.vjp(f, X)[0], f(X), rtol=1e-15)


def test_the_gradient_of_at_with_its_own_operand():
    """y * y * y: y is written twice, the operand stays."""

    def f(x):
        y = x * 1
        np.multiply.at(y[None], [0, 0], y)
        return y.sum()

    np.testing.assert_allclose(npgrad.grad(f)(X), 3 * X**2)


def test_roots_that_coincide_raise():
    for p in ([1.0, -2, 1], np.poly([1.3, 1.3, 2]), [1.0, 0, 0]):
        for mode in (npgrad.grad, npgrad.jacfwd):
            with pytest.raises(NoDerivative, match="coincide"):
                mode(lambda p: np.sum(np.roots(p)).real)(np.asarray(p))


def test_roots_beside_a_pair_that_counts_for_nothing():
    """(x - 3) (x - 1)**2: the root 3 moves by -dp(3) / p'(3) = -dp(3) / 4."""
    g = npgrad.grad(lambda p: np.max(np.roots(p).real))(np.array([1.0, -5, 7, -3]))
    np.testing.assert_allclose(g, -np.array([27.0, 9, 3, 1]) / 4, rtol=1e-6)


def test_out_may_be_larger_than_the_result():
    def f(x):
        out = np.zeros((3, 4))
        assert np.sin(x, out=out) is out
        return out

    np.testing.assert_array_equal(npgrad.vjp(f, X)[0], f(X))
    np.testing.assert_allclose(npgrad.grad(lambda x: f(x).sum())(X), 3 * np.cos(X))
    with pytest.raises(ValueError, match="non-broadcastable"):
        npgrad.grad(lambda x: np.sin(x, out=np.zeros((4, 3))).sum())(X)


def test_nested_jacobians_of_a_padded_array():
    """Hessian of sum(x**4): 12 x**2."""
    f = lambda x: np.sum(np.pad(x * x, 1) ** 2)
    for hessian in (npgrad.jacrev(npgrad.jacfwd(f)), npgrad.jacfwd(npgrad.jacfwd(f))):
        np.testing.assert_allclose(hessian(X), np.diag(12 * X**2))


def test_multi_dot_of_vectors_gives_a_number():
    for chain in (lambda x: [x, np.eye(4), x], lambda x: [x, np.eye(4), np.eye(4), x]):
        value = npgrad.vjp(lambda x, chain=chain: np.linalg.multi_dot(chain(x)), X)[0]
        assert type(value) is np.float64
        assert value == 30.0


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_eigenvalues_of_empty_matrices(shape):
    for f in (
        lambda a: np.abs(np.linalg.eigvals(a)).sum(),
        lambda a: np.abs(np.linalg.eig(a)[1]).sum(),
    ):
        for mode in (npgrad.grad, npgrad.jacfwd):
            assert mode(f)(np.zeros(shape)).shape == shape
        assert npgrad.hessian(f)(np.zeros(shape)).shape == shape * 2


def test_where_of_conjugate():
    z = np.array([1 + 2j, 3 - 1j])
    f = lambda z: np.conjugate(z, where=[True, False], out=np.zeros(2, complex))
    np.testing.assert_array_equal(npgrad.vjp(f, z)[0], f(z))
    np.testing.assert_array_equal(npgrad.vjp(f, z)[1](z)[0], [1 - 2j, 0])  # its own adjoint


# --------------------------------------------------------------------------- what the doors name
CALLS = {
    "np.nditer(x)": lambda x: np.nditer(x),
}


@pytest.mark.parametrize("text", CALLS)
def test_an_error_names_the_call(text):
    with pytest.raises(GradientLost) as error:
        npgrad.grad(CALLS[text])(X)
    assert f"Asked for by {text} at test_python_answers.py:" in str(error.value)
