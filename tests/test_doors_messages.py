"""What errors tell the user to write in place of a call: it must mean the same."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost
from npgrad.graph.doors import DRAWS

X = np.array([1.5, 0.7, 2.0])
SAME_STREAM = ["normal", "exponential", "laplace", "logistic", "gumbel", "lognormal"]


def remedy_of(name: str) -> str:
    return DRAWS[name].partition(", with")[0]


@pytest.mark.parametrize("name", SAME_STREAM)
def test_a_family_of_location_and_scale(name: str) -> None:
    """The standard draw, stretched and shifted, is the draw with these parameters."""
    given = {"scale": 0.7} if name == "exponential" else {"loc": 1.5, "scale": 0.7}
    names = given if name != "lognormal" else {"mean": 1.5, "sigma": 0.7}
    drawn = getattr(np.random.default_rng(3), name)(**names, size=5)
    space = {"np": np, "rng": np.random.default_rng(3), "size": 5, **given}
    np.testing.assert_allclose(eval(remedy_of(name), space), drawn, rtol=1e-12)


def test_other_draws() -> None:
    """Uniform and gamma numbers, and what is taken by a drawn index."""
    rng = np.random.default_rng
    np.testing.assert_allclose(
        eval(remedy_of("uniform"), {"rng": rng(3), "low": -1.0, "high": 2.0, "size": 5}),
        rng(3).uniform(-1.0, 2.0, 5),
    )
    np.testing.assert_allclose(
        eval(remedy_of("gamma"), {"rng": rng(3), "shape": 2.5, "scale": 0.7, "size": 5}),
        rng(3).gamma(2.5, 0.7, 5),
    )
    for name in ("permutation", "permuted"):
        made = eval(remedy_of(name), {"rng": rng(3), "x": X})
        np.testing.assert_array_equal(np.sort(made), np.sort(X))
    made = eval(remedy_of("choice"), {"rng": rng(3), "x": X, "size": 5})
    np.testing.assert_array_equal(made, rng(3).choice(X, 5))
    space = {"np": np, "rng": rng(3), "mean": X, "cov": np.diag([1.0, 4.0, 9.0]), "n": 3}
    made = eval(remedy_of("multivariate_normal"), {**space, "size": 20000})
    np.testing.assert_allclose(made.mean(0), X, atol=0.1)
    np.testing.assert_allclose(np.cov(made.T), space["cov"], atol=0.3)


RNG = np.random.default_rng(0)
ASKED = {
    "standard_normal": lambda x: RNG.normal(x[0], x[1]),
    "standard_exponential": lambda x: np.random.default_rng(0).exponential(x[0]),
    "permutation": lambda x: RNG.permutation(x)[0],
    "outside of np.random": lambda x: np.random.poisson(x[0]),
    "lambdify": lambda x: x[0]._sympy_(),
}


@pytest.mark.parametrize("said", ASKED)
def test_the_message_says_what_to_write(said: str) -> None:
    with pytest.raises(GradientLost, match=f"Instead: .*{said}"):
        npgrad.grad(ASKED[said])(X)


def test_a_gamma_function_is_no_draw() -> None:
    import math

    with pytest.raises(GradientLost, match=r"Instead: NumPy's own function"):
        npgrad.grad(lambda x: math.gamma(x[0]), wrap=False)(X)


@pytest.mark.parametrize("text", ["a", np.array(["a", "b"])])
def test_text_beside_recorded_numbers(text) -> None:
    """As ``x.astype(str)`` is refused; where nothing recorded is chosen, text is a constant."""
    x = np.array([0.4, 1.3])
    for f in (lambda x: np.where(x > 1, x, text), lambda x: np.where(x > 1, text, x)):
        with pytest.raises(npgrad.errors.GradientLost, match=r"gives text.*npgrad\.value\(x\)"):
            npgrad.grad(lambda x, f=f: (f(x) == "a").sum() * x[0])(x)
    gradient = npgrad.grad(lambda x: (np.where(x > 1, text, "c") == "c").sum() * x[0])(x)
    assert gradient.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda x: statistics.fmean(x), "np.mean, np.median"),
        (lambda x: statistics.geometric_mean(x), "np.mean, np.median"),
        (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)), "sliding_window_view"),
        (lambda x: {"default": float}.get("default")(x[0]), r"np\.sin\(x\), not"),  # no np.select
    ],
)
def test_what_to_write_instead(f, instead) -> None:
    with pytest.raises(GradientLost, match=instead):
        npgrad.grad(f, wrap=False)(np.array([0.4, 1.3, 0.8]))
