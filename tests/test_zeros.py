"""A zero times an infinity or NaN is zero in a derivative, in sums of products as in ufuncs.

What is masked away afterwards must not poison the gradient, in reverse and forward mode and to
second order; what is not masked away must (expected values are those of the terms that count).
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import npgrad

X = np.array([0.4, 0.9, 0.6])
ODD = (np.nan, np.inf, -np.inf)


def kept(a):
    """The sum of the entries that are finite."""
    return np.sum(np.where(np.isfinite(a), a, 0))


# name: (product of x with something that holds one odd number, how often x counts)
PRODUCTS = {
    "outer": (lambda x, o: np.outer(x, [2.0, o]), 2.0),
    "outer, right": (lambda x, o: np.outer([2.0, o], x), 2.0),
    "einsum": (lambda x, o: np.einsum("i,j->ij", x, np.array([2.0, o])), 2.0),
    "einsum of three": (
        lambda x, o: np.einsum("i,j,k->ijk", x, np.array([2.0, o]), np.array([1.0, 3.0])),
        8.0,
    ),
    "kron": (lambda x, o: np.kron(x, np.array([2.0, o])), 2.0),
    "matmul": (lambda x, o: x[:, None] @ np.array([[2.0, o]]), 2.0),
    "matmul, batch": (lambda x, o: x[:, None] @ np.array([[[2.0, o]], [[1.0, 1.0]]]), 4.0),
    "matmul, vector": (lambda x, o: np.array([[1.0, 1, 1], [o, o, o]]) @ x, 1.0),
    "vector, matmul": (lambda x, o: x @ np.array([[1.0, 1, 1], [o, o, o]]).T, 1.0),
    "dot": (lambda x, o: np.dot(x[:, None], np.array([[2.0, o]])), 2.0),
    "inner": (lambda x, o: np.inner(x[:, None], np.array([[2.0], [o]])), 2.0),
    "tensordot": (lambda x, o: np.tensordot(x, np.array([2.0, o]), 0), 2.0),
    "vecdot": (lambda x, o: np.vecdot(np.array([[3.0, 3, 3], [o, o, o]]), x), 3.0),
    "convolve": (lambda x, o: np.convolve(x, np.array([2.0, 0, 0, 0, o])), 2.0),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", PRODUCTS)
def test_masked_terms_of_a_product_count_for_nothing(name, odd):
    product, factor = PRODUCTS[name]
    want = np.full(3, factor)
    f = lambda x: kept(product(x, odd))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mode in (npgrad.grad, npgrad.jacrev, npgrad.jacfwd):
            np.testing.assert_allclose(mode(f)(X), want)
        np.testing.assert_allclose(npgrad.jvp(f, (X,), (X,))[1], np.sum(want * X))
        square = lambda x: f(x**3 / 3)
        np.testing.assert_allclose(npgrad.hessian(square)(X), np.diag(2 * X * want))
        np.testing.assert_allclose(npgrad.hvp(square, X, X), 2 * X * X * want)


@pytest.mark.parametrize("kind", ["f4", "c16"])
def test_masked_terms_in_other_types(kind):
    x = X.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = npgrad.grad(lambda x: kept(np.outer(x, np.array([2, np.nan], kind))).real)(x)
    np.testing.assert_allclose(got, np.full(3, 2, kind))
    assert got.dtype == x.dtype


def test_terms_that_count_are_not_hidden():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(npgrad.grad(lambda x: np.sum(np.outer(x, [1, np.nan])))(X)).all()
        assert np.isposinf(npgrad.grad(lambda x: np.sum(np.outer(x, [1, np.inf])))(X)).all()
        rows = np.array([[1.0, 1, 1], [np.nan, 2, 2]])
        got = npgrad.grad(lambda x: np.sum(rows @ x))(X)
        np.testing.assert_array_equal(got, [np.nan, 3, 3])


def test_an_infinite_derivative_of_a_product_stays_infinite():
    a = np.array([[np.inf, 1], [np.inf, 2], [-np.inf, np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for jacobian in (npgrad.jacrev, npgrad.jacfwd):
            np.testing.assert_array_equal(jacobian(lambda x: a @ x)(np.ones(2)), a)


def test_masked_terms_of_a_large_product():
    """The gradient of the matrix is larger than what it is made of, and is not looked at itself."""
    a, v = np.ones((800, 300)), np.ones(300)
    v[7] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = npgrad.grad(lambda a: kept(a @ v) + np.sum(np.sin(a)) * 0)(a)
    np.testing.assert_array_equal(got, np.zeros_like(a))


MASKED = np.array([1, np.nan, 1, 2.0])
GOOD = np.isfinite(MASKED)
Y = np.array([0.4, 0.9, 0.6, 1.3])
REDUCTIONS = {
    **{
        name: lambda x, name=name: getattr(np, name)(x * MASKED)
        for name in ("nanvar", "nanstd", "nanprod", "nansum", "nanmean")
    },
    **{
        f"{name} where": lambda x, name=name: getattr(np, name)(x * MASKED, where=GOOD)
        for name in ("var", "std", "prod", "sum", "mean")
    },
    "logaddexp where": lambda x: np.logaddexp.reduce(x * MASKED, where=GOOD),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_a_reduction_leaves_out_counts_for_nothing(name):
    """The derivatives are those of the same reduction of what is left."""
    f = REDUCTIONS[name]
    plain = {"logaddexp where": np.logaddexp.reduce}
    reduce = plain.get(name) or getattr(np, name.removeprefix("nan").removesuffix(" where"))
    g = lambda x: reduce((x * np.nan_to_num(MASKED))[GOOD])
    want, second = npgrad.grad(g)(Y), npgrad.hessian(g)(Y)
    assert want[1] == 0.0
    for mode in (npgrad.grad, npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_allclose(mode(f)(Y), want, rtol=1e-12)
    np.testing.assert_allclose(npgrad.jvp(f, (Y,), (Y,))[1], want @ Y)
    for hessian in (npgrad.hessian(f), npgrad.jacfwd(npgrad.jacrev(f))):
        np.testing.assert_allclose(hessian(Y), second, rtol=1e-10, atol=1e-12)


def test_a_slope_of_zero_times_an_infinite_tangent_is_zero():
    """The derivative s (1 - s) of the logistic function is 0 in both tails."""

    def s(x):
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-x))

    x = np.array([-1000.0, 0.0, 1000.0])
    np.testing.assert_array_equal(npgrad.jvp(s, (x,), (np.ones(3),))[1], [0, 0.25, 0])
    np.testing.assert_array_equal(npgrad.jacfwd(s)(x), np.diag([0, 0.25, 0]))
    value, tangent = npgrad.jvp(s, (-1000.0,), (1.0,))
    assert tangent == value == 0.0
    assert isinstance(tangent, np.float64)
    twice = npgrad.jvp(lambda z: npgrad.jvp(s, (z,), (np.ones(3),))[1], (x,), (np.ones(3),))[1]
    np.testing.assert_array_equal(twice, [0, 0, 0])
    root = lambda x: np.sqrt(x) * np.array([0.0, 1.0])
    np.testing.assert_array_equal(
        npgrad.jvp(root, (np.array([0.0, 4.0]),), (np.ones(2),))[1], [0, 0.25]
    )


# ------------------------------------------------- a zero slope of an even function meets infinity
EVEN = {
    "square": lambda x: np.sqrt(np.square(x)),
    "power": lambda x: np.sqrt(x**2),
    "float power": lambda x: (x**4.0) ** 0.25,
    "times itself": lambda x: np.sqrt(x * x),
    "cosine": lambda x: np.arccos(np.cos(x)),
    "hyperbolic": lambda x: np.arccosh(np.cosh(x)),
    "quarter": lambda x: np.sqrt(np.sqrt(x**2)),
}


@pytest.mark.parametrize("name", EVEN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_function_of_an_even_function_has_slope_0_at_0(name, dtype):
    x = np.array([0.0, 0.3], dtype)
    with np.errstate(all="ignore"):
        gradient = npgrad.grad(lambda x: np.sum(EVEN[name](x)))(x)
        tangent = npgrad.jvp(EVEN[name], (x,), (np.ones(2, dtype),))[1]
    outer = 0.5 / np.sqrt(0.3) if name == "quarter" else 1.0  # d sqrt(|x|), d |x|
    np.testing.assert_allclose(gradient, [0.0, outer], rtol=1e-6 if dtype is np.float64 else 1e-3)
    np.testing.assert_allclose(tangent, gradient, rtol=1e-6)


def test_distances_of_coinciding_points():
    """The diagonal is |0|; off it the derivative is the unit vector, counted twice."""
    x = np.random.default_rng(0).normal(size=(5, 2))

    def total(x):
        return np.sum(np.sqrt(np.sum((x[:, None] - x) ** 2, axis=-1)))

    with np.errstate(all="ignore"):
        gradient = npgrad.grad(total)(x)
        hessian = npgrad.hessian(lambda x: total(x.reshape(5, 2)))(x.ravel())
    d = x[:, None] - x
    length = np.linalg.norm(d, axis=-1) + np.eye(5)
    np.testing.assert_allclose(gradient, 2 * np.sum(d / length[..., None], axis=1), rtol=1e-12)
    unit = d / length[..., None]
    block = (np.eye(2) - unit[..., :, None] * unit[..., None, :]) / length[..., None, None]
    block[np.arange(5), np.arange(5)] = 0
    expected = -2 * block
    expected[np.arange(5), np.arange(5)] = 2 * block.sum(axis=1)
    np.testing.assert_allclose(
        hessian, expected.transpose(0, 2, 1, 3).reshape(10, 10), rtol=1e-10, atol=1e-12
    )


def test_many_distances():
    x = np.zeros((300, 3))  # past the sizes of small sweeps, and every distance is 0
    with np.errstate(all="ignore"):
        gradient = npgrad.grad(lambda x: np.sum(np.sqrt(np.sum((x[:, None] - x) ** 2, axis=-1))))(x)
    assert np.array_equal(gradient, np.zeros_like(x))


def test_what_is_not_even_is_not_said_to_be_0():
    with np.errstate(all="ignore"):
        assert np.isnan(npgrad.grad(lambda x: np.cbrt(x**3))(0.0))  # it is 1
        assert npgrad.grad(np.sqrt)(0.0) == np.inf
