"""A function of SciPy's that has a stand-in, while SciPy's own modules are wrapped."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.stats
from scipy.spatial import distance

import npgrad

M = np.array([[2.0, 0.3], [0.1, 1.5]])
CALLS = {
    "linalg": {"expm": (M,), "logm": (M,), "solve_sylvester": (M, M, M), "inv": (M,)},
    "special": {"logsumexp": (M,), "softmax": (M,), "polygamma": (1, M)},
    "ndimage": {"gaussian_filter1d": (M, 1.0), "convolve": (M, M)},
    "signal": {"convolve": (M, M), "fftconvolve": (M, M), "lfilter": (M[0], M[1], M[0])},
    "fft": {"fft": (M,), "rfft": (M,), "hfft2": (M,)},
    "integrate": {
        "trapezoid": (M,),
        "odeint": (lambda y, t: -y, M[0], np.array([0.0, 1.0])),
        "quad": (lambda t: t, 0, 1),
    },
    "interpolate": {"CubicSpline": (np.arange(4.0), np.arange(4.0) ** 2)},
    "spatial.distance": {"cdist": (M, M), "pdist": (M,)},
}


def numbers(made):
    made = made(np.array([0.3, 1.7])) if callable(made) else made
    return np.asarray(made[0] if type(made) is tuple else made)


@pytest.mark.parametrize(
    ("chapter", "name"), [(chapter, name) for chapter in CALLS for name in CALLS[chapter]]
)
def test_plain_arguments_give_what_scipy_gives(chapter, name):
    module, args = importlib.import_module(f"scipy.{chapter}"), CALLS[chapter][name]
    expected = numbers(getattr(module, name)(*args))

    def f(x):
        made = getattr(module, name)(*args)
        np.testing.assert_allclose(numbers(made), expected, rtol=1e-14)
        return 2.0 * x[0]

    gradient = npgrad.grad(npgrad.wrap(f, also=("scipy",)))(np.ones(1))
    np.testing.assert_array_equal(gradient, [2.0])


class Choice:
    """Holds one of SciPy's distributions, as models of ordered choices do."""

    def __init__(self, name):
        self.law = getattr(scipy.stats, name)

    def loss(self, x):
        return np.sum(self.law.logcdf(x, loc=x[0], scale=2.0) + self.law.pdf(x))


@pytest.mark.parametrize("name", ["norm", "logistic", "cauchy"])
def test_a_distribution_that_an_object_holds(name):
    model, x = Choice(name), np.array([0.3, -0.7])
    law = getattr(scipy.stats, name)
    before = dict(vars(law))
    ours = getattr(npgrad.scipy.stats, name)
    expected = npgrad.grad(lambda x: np.sum(ours.logcdf(x, x[0], 2.0) + ours.pdf(x)))(x)
    npgrad.testing.check_grads(lambda x: np.sum(ours.logcdf(x, x[0], 2.0) + ours.pdf(x)), (x,))
    for _ in range(2):
        np.testing.assert_array_equal(npgrad.grad(model.loss)(x), expected)
    assert vars(law) == before
    np.testing.assert_allclose(npgrad.value_and_grad(model.loss)(x)[0], model.loss(x), rtol=1e-14)
    with pytest.raises(IndexError):
        npgrad.grad(lambda x: model.loss(x) + x[5])(x)
    assert vars(law) == before


@pytest.mark.parametrize("name", ["ConvexHull", "Delaunay"])
def test_names_in_compiled_modules_stay(name) -> None:
    """Its C code takes whatever np.asarray gives for an array, and reads its memory."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.9, 0.8]])

    def f(x):
        made = getattr(scipy.spatial, name)(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        return len(made.simplices) * x[0]

    gradient = npgrad.grad(npgrad.wrap(f, also=("scipy",)))(np.array([0.4]))
    assert gradient == [len(getattr(scipy.spatial, name)(points[:3]).simplices)]


@pytest.mark.parametrize(
    "name", ["euclidean", "cosine", "sqeuclidean", "cityblock", "canberra", "minkowski"]
)
def test_distances_of_two_vectors_have_stand_ins(name) -> None:
    p, q = np.array([1.1, 0.7, 1.3]), np.array([0.3, 2.0, 1.0])

    def f(x):
        return getattr(distance, name)(x, q)

    expected = [(f(p + e) - f(p - e)) / 2e-6 for e in np.eye(3) * 1e-6]
    np.testing.assert_allclose(npgrad.grad(f)(p), expected, rtol=1e-6, atol=1e-9)
