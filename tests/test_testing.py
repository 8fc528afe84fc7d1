"""`npgrad.testing`: right gradients pass, wrong ones are named, and who is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import npgrad
from npgrad.testing import assert_grad, check_grads, finite_difference_grad

X = np.array([0.3, 1.2, -0.7])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


# -- finite_difference_grad ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "derivative", "x"),
    [
        (np.exp, np.exp, 0.7),
        (np.sin, np.cos, 0.0),
        (np.log, lambda x: 1 / x, 1e-3),  # the first steps leave the domain
        (lambda x: 1 / x, lambda x: -1 / x**2, 1e-5),
        (np.sqrt, lambda x: 0.5 / np.sqrt(x), 3e4),
        (lambda x: x**9, lambda x: 9 * x**8, 2.0),
    ],
)
def test_differences_are_nearly_exact(f, derivative, x):
    assert finite_difference_grad(f, (x,)) == pytest.approx(derivative(x), rel=1e-10)


def test_differences_of_arrays_containers_and_jacobians():
    np.testing.assert_allclose(
        finite_difference_grad(rosenbrock, (X,)), scipy.optimize.rosen_der(X), rtol=1e-10
    )
    got = finite_difference_grad(lambda x: np.outer(x, x)[:2], (X,))
    want = np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum("i,jk->ijk", X, np.eye(3))
    np.testing.assert_allclose(got, want[:2], atol=1e-12)
    got = finite_difference_grad(
        lambda p, y: np.sum(p["a"] * y) * p["b"][0], ({"a": X, "b": [2.0]}, X)
    )
    np.testing.assert_allclose(got["a"], 2 * X, rtol=1e-12)
    assert got["b"][0] == pytest.approx(np.sum(X * X))
    first, second = finite_difference_grad(lambda x, y: x * y, (2.0, 3), (0, 1))
    assert (first, second) == (pytest.approx(3.0), pytest.approx(2.0))


def test_differences_of_complex_arguments_point_uphill():
    z = X + 1j * X[::-1]
    got = finite_difference_grad(lambda z: np.sum(np.abs(z) ** 2), (z,))
    np.testing.assert_allclose(got, 2 * z, rtol=1e-10)


def test_single_precision_is_differenced_in_double():
    got = finite_difference_grad(lambda x: np.sum(x**3), (X.astype(np.float32),))
    np.testing.assert_allclose(got, 3 * X.astype(np.float32).astype(float) ** 2, rtol=1e-9)


def test_a_given_step_is_used():
    seen = []
    finite_difference_grad(lambda x: seen.append(x) or x**2, (1.0,), step=0.5, levels=2)
    assert max(seen) == 1.5 and min(seen) == 0.5 and 1.25 in seen


# -- assert_grad -----------------------------------------------------------------------------------
def test_a_right_gradient_passes():
    assert_grad(scipy.optimize.rosen, scipy.optimize.rosen_der, (X,))
    assert_grad(scipy.optimize.rosen, scipy.optimize.rosen_der(X), X)
    assert_grad(lambda x, y: np.sum(x * y), lambda x, y: (y, x), (X, X[::-1]), argnums=(0, 1))
    assert_grad(lambda p: p["a"] ** 2, lambda p: {"a": 2 * p["a"]}, ({"a": 3.0},))
    assert_grad(lambda a, x: a * np.sin(x), lambda a, x: np.sin(x), (2.0, X))  # a Jacobian


def test_a_wrong_entry_is_named_and_the_blame_is_right():
    def analytic(x):
        g = scipy.optimize.rosen_der(x)
        g[1] += 0.5
        return g

    with pytest.raises(AssertionError) as info:
        assert_grad(rosenbrock, analytic, (X,))
    text = str(info.value)
    assert "wrong at 1 of 3 entries" in text and "entry [1]" in text
    assert "off by 0.5" in text and "complex step 1249.6" in text
    assert "the analytic gradient is wrong" in text


def test_npgrad_is_blamed_where_it_is_wrong():
    broken = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: 2 * g * np.cos(x))
    with pytest.raises(AssertionError, match="npgrad is wrong here"):
        assert_grad(lambda x: np.sum(broken(x)), np.cos, (X,))


def test_nobody_is_blamed_where_differences_cannot_tell():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="agree with neither"):
        assert_grad(lambda x: np.real(x) * 2 + rng.random(), lambda x: 5.0, (1.0,))
    with pytest.raises(AssertionError, match="cannot tell, the complex step agrees with npgrad"):
        assert_grad(lambda x: x * 2 + rng.random(), lambda x: 5.0, (1.0,))


def test_a_function_without_a_complex_step():
    with pytest.raises(AssertionError, match=r"complex step does not apply \(TypeError\)"):
        assert_grad(lambda x: np.sum(np.arctan2(x, 2.0)), lambda x: x, (X,))


def test_shapes_structures_and_nan():
    with pytest.raises(AssertionError, match=r"has shape \(2,\), it must be \(3,\)"):
        assert_grad(lambda x: np.sum(x), np.ones(2), (X,))
    with pytest.raises(AssertionError, match="1 parts for 2 argnums"):
        assert_grad(lambda x, y: np.sum(x * y), [X], (X, X), argnums=(0, 1))
    with pytest.raises(AssertionError, match="wrong at 1 of 1"):
        assert_grad(lambda x: x * 1.0, np.nan, (1.0,))


def test_tolerances():
    off = lambda x: 2 * x * (1 + 1e-4)
    with pytest.raises(AssertionError):
        assert_grad(lambda x: np.sum(x**2), off, (X,))
    assert_grad(lambda x: np.sum(x**2), off, (X,), rtol=1e-3)


def test_many_wrong_entries_are_summed_up():
    with pytest.raises(AssertionError, match="and 5 more"):
        assert_grad(lambda x: np.sum(x**2), lambda x: x, (np.arange(1.0, 11.0),))


# -- check_grads -----------------------------------------------------------------------------------
def test_right_derivatives_pass():
    check_grads(rosenbrock, (X,), order=3)
    check_grads(lambda x, y: {"a": x @ y, "b": [np.sin(x)]}, (np.outer(X, X), X))
    check_grads(lambda z: np.exp(z) * np.conj(z), (X + 1j,))
    check_grads(np.exp, X.astype(np.float32))
    check_grads(lambda x, n: x**n, (X, 3))  # an integer argument is not differentiated


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_a_wrong_rule_is_noticed_in_its_mode(mode):
    p = npgrad.primitive(np.sin)
    off = {"rev": 1.0, "fwd": 1.0, mode: 1.001}
    p.defvjp(lambda ans, x: lambda g: off["rev"] * g * np.cos(x))
    p.defjvp(lambda g, ans, x: off["fwd"] * g * np.cos(x))
    with pytest.raises(AssertionError, match=f"seed 0: {mode}: npgrad gives"):
        check_grads(p, (X,), order=1)
    check_grads(p, (X,), order=1, modes=[{"rev": "fwd", "fwd": "rev"}[mode]])


def test_a_wrong_second_order_is_noticed():
    slope = npgrad.primitive(np.cos)
    slope.defvjp(lambda ans, x: lambda g: g * np.sin(x))  # the sign is wrong
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: g * slope(x))
    check_grads(p, (X,), order=1)
    with pytest.raises(AssertionError, match="of"):
        check_grads(p, (X,), order=2)


def test_the_seed_is_reported():
    p = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: 3 * g)
    with pytest.raises(AssertionError, match="seed 17"):
        check_grads(p, (X,), seed=17)
    with pytest.raises(AssertionError, match=r"seed \d+"):
        check_grads(p, (X,), seed=None)


def test_bad_input():
    with pytest.raises(ValueError, match="modes are"):
        check_grads(np.sin, (X,), modes=["backward"])
    with pytest.raises(TypeError, match="needs a floating or complex argument"):
        check_grads(np.sin, (np.arange(3),))
    with pytest.raises(AssertionError, match="no derivative"):
        check_grads(lambda x: np.log(x), (np.array(-1.0),))
    with pytest.raises(TypeError, match="positions"):
        assert_grad(np.sin, np.cos, (1.0,), argnums="x")
