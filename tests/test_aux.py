"""``has_aux``: what a function returns beside its value comes back from every transform."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import npgrad

X = np.array([0.3, 1.2, -0.7])
V = np.array([1.0, 0.5, -2.0])


def scalar(x):
    return np.sum(x**3), {"twice": 2 * x, "text": "seen", "count": 3, "none": None}


def vector(x):
    return x**3, {"twice": 2 * x, "text": "seen", "count": 3, "none": None}


# name: a call that returns what the transform gives beside aux, then aux; and what that should be
CALLS = {
    "grad": (lambda: npgrad.grad(scalar, has_aux=True)(X), 3 * X**2),
    "jacobian": (lambda: npgrad.jacobian(vector, has_aux=True)(X), np.diag(3 * X**2)),
    "jacrev": (lambda: npgrad.jacrev(vector, has_aux=True)(X), np.diag(3 * X**2)),
    "jacfwd": (lambda: npgrad.jacfwd(vector, has_aux=True)(X), np.diag(3 * X**2)),
    "hessian": (lambda: npgrad.hessian(scalar, has_aux=True)(X), np.diag(6 * X)),
    "hvp": (lambda: npgrad.hvp(scalar, X, V, has_aux=True), 6 * X * V),
    "elementwise_grad": (lambda: npgrad.elementwise_grad(vector, has_aux=True)(X), 3 * X**2),
    "vjp": (lambda: npgrad.vjp(vector, X, has_aux=True)[::2], X**3),
    "jvp": (lambda: npgrad.jvp(vector, (X,), (V,), has_aux=True)[1:], 3 * X**2 * V),
    "linearize": (lambda: npgrad.linearize(vector, X, has_aux=True)[::2], X**3),
}


@pytest.mark.parametrize("name", CALLS)
def test_aux_comes_back_plain(name):
    call, want = CALLS[name]
    got, aux = call()
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert type(got) is np.ndarray
    assert type(aux["twice"]) is np.ndarray
    np.testing.assert_array_equal(aux["twice"], 2 * X)
    assert (aux["text"], aux["count"], aux["none"]) == ("seen", 3, None)


def test_every_transform_takes_it():
    for name in (*CALLS, "value_and_grad"):
        assert "has_aux" in inspect.signature(getattr(npgrad, name)).parameters, name


def test_pull_and_push_differentiate_the_first_alone():
    _, pull, _ = npgrad.vjp(vector, X, has_aux=True)
    np.testing.assert_allclose(pull(V)[0], 3 * X**2 * V, rtol=1e-14)
    _, push, _ = npgrad.linearize(vector, X, has_aux=True)
    np.testing.assert_allclose(push(V), 3 * X**2 * V, rtol=1e-14)


@pytest.mark.parametrize("out", [lambda x: x, lambda x: (x, x, x), lambda x: [x]])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: npgrad.jacobian(f, has_aux=True)(X),
        lambda f: npgrad.hvp(f, X, V, has_aux=True),
        lambda f: npgrad.vjp(f, X, has_aux=True),
        lambda f: npgrad.jvp(f, (X,), (V,), has_aux=True),
        lambda f: npgrad.elementwise_grad(f, has_aux=True)(X),
    ],
)
def test_what_is_no_pair_is_refused(out, transform):
    with pytest.raises(TypeError, match=r"has_aux=True needs a function that returns a pair"):
        transform(out)


@pytest.mark.parametrize(
    "inner",
    [
        lambda f, x: npgrad.jacobian(f, has_aux=True)(x)[1],
        lambda f, x: npgrad.vjp(f, x, has_aux=True)[2],
        lambda f, x: npgrad.jvp(f, (x,), (V,), has_aux=True)[2],
        lambda f, x: npgrad.elementwise_grad(f, has_aux=True)(x)[1],
    ],
)
def test_aux_stays_recorded_inside_another_differentiation(inner):
    got = npgrad.grad(lambda x: np.sum(inner(lambda z: (z**2, np.sin(z)), x)))(X)
    np.testing.assert_allclose(got, np.cos(X), rtol=1e-14)


def test_aux_through_two_levels_of_a_hessian_is_that_of_the_function():
    seen = []

    def f(x):
        seen.append(1)
        return np.sum(np.exp(x)), x[0]

    hessian, aux = npgrad.hessian(f, has_aux=True)(X)
    np.testing.assert_allclose(hessian, np.diag(np.exp(X)), rtol=1e-14)
    assert type(aux) is np.float64 and aux == X[0] and len(seen) == 1


def test_options_survive_pickling():
    made = pickle.loads(pickle.dumps(npgrad.jacobian(vector, has_aux=True, chunk=2)))
    got, aux = made(X)
    np.testing.assert_allclose(got, np.diag(3 * X**2), rtol=1e-14)
    assert aux["count"] == 3
