"""Recorded keywords beside plain arrays: right in wrapped code, elsewhere refused with a remedy.

NumPy asks only some of a function's arguments for its protocols: with a plain `a`,
``np.pad(a, 1, constant_values=x)`` never arrives as a call of npgrad's.
"""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, InPlaceError, NpgradError

A = np.array([1.0, 2.0, 4.0])
X = np.array([0.7, 1.6])
EYE = np.eye(2)
CALLS = {
    "pad": (lambda x: np.pad(A, 1, constant_values=x[0]), "np.concatenate"),
    "pad with two": (lambda x: np.pad(A, 1, constant_values=(x[0], x[1])), "np.concatenate"),
    "pad with a ramp": (
        lambda x: np.pad(A, 2, mode="linear_ramp", end_values=x[0]),
        "np.concatenate",
    ),
    "select": (lambda x: np.select([A > 1.5], [A], default=x[0]), "np.where"),
    "select by position": (lambda x: np.select([A > 1.5], [A], x[0]), "npgrad.wrap"),
    "interp left": (lambda x: np.interp([-1.0, 3.0, 9.0], A, A, left=x[0]), "np.where"),
    "interp right": (lambda x: np.interp([-1.0, 3.0, 9.0], A, A, right=x[1]), "np.where"),
    "interp by position": (lambda x: np.interp([-1.0, 9.0], A, A, x[0], x[1]), "npgrad.wrap"),
    "interp period": (lambda x: np.interp([-1.0, 0.5, 9.3], A, A**2, period=x[1] * 5), "period"),
    "sum": (lambda x: np.sum(A, initial=x[0]), r"np.sum\(a\) \+ initial"),
    "sum by position": (lambda x: np.sum(A, 0, None, None, False, x[0]), "npgrad.wrap"),
    "prod": (lambda x: np.prod(A, initial=x[0]), "initial"),
    "max": (lambda x: np.max(A, initial=9 * x[0]), "initial"),
    "min": (lambda x: np.min(A, initial=x[0]), "initial"),
    "nansum": (lambda x: np.nansum(A, initial=x[0]), "initial"),
    "full_like": (lambda x: np.full_like(A, x[0]), "np.full_like"),
    "full": (lambda x: np.full(3, x[0]), "npgrad.wrap"),
    "nan_to_num": (lambda x: np.nan_to_num(np.array([np.nan, 1.0]), nan=x[0]), "np.nan_to_num"),
    "piecewise": (lambda x: np.piecewise(A, [A > 1.5, A < 1.5], [x[0], x[1]]), "npgrad.wrap"),
}


@pytest.mark.parametrize("name", CALLS)
def test_in_wrapped_code_the_gradient_is_right(name) -> None:
    f, weights = CALLS[name][0], np.arange(1.0, 10)

    def loss(x):
        made = f(x)
        return np.sum(made * weights[: np.size(made)] ** 2 * (x[1] if np.ndim(made) else 1.0))

    want = [(loss(X + h) - loss(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    for _ in range(3):  # the second call replaces only what its code needs
        value, gradient = npgrad.value_and_grad(loss)(X)
        np.testing.assert_allclose(value, loss(X), rtol=1e-15)
        np.testing.assert_allclose(gradient, want, rtol=1e-7)
    assert gradient.any()


@pytest.mark.parametrize("name", CALLS)
def test_elsewhere_the_message_says_what_to_write(name) -> None:
    f, remedy = CALLS[name]
    with pytest.raises(NpgradError, match=remedy) as caught:
        npgrad.grad(lambda x: np.sum(f(x)), wrap=False)(X)
    assert "test_recorded_keywords.py" in str(caught.value)
    assert isinstance(caught.value, (GradientLost, InPlaceError))


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: A.sum(initial=x[0]),
        lambda x: np.add.reduce(A, initial=x[0]),
        lambda x: np.fill_diagonal(EYE.copy(), x[0]),
    ],
)
def test_methods_of_plain_arrays(f, wrap) -> None:
    with pytest.raises(GradientLost, match="in wrapped code"):
        npgrad.grad(f, wrap=wrap)(X)


def stored(x):
    made = A.copy()
    made[1] = x[0]
    return made.sum()


def added(x):
    made = A.copy()
    made += x[1]
    return made.sum()


@pytest.mark.parametrize(("f", "error"), [(stored, GradientLost), (added, InPlaceError)])
def test_a_plain_buffer_in_wrapped_code(f, error) -> None:
    """`np.array` and `np.copy` of a constant record; its own ``copy()`` cannot."""
    with pytest.raises(error, match=r"np.copy\(\w\).*own \w.copy\(\) is plain"):
        npgrad.grad(f)(X)

    def records(x):
        made = np.copy(A)
        made[1] = x[0]
        made += x[1]
        return made.sum()

    assert npgrad.grad(records)(X).tolist() == [1.0, 3.0]
