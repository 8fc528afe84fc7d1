"""What NumPy wrote before it raised an error that a program catches: the same, value and gradient.

Expected are the values of plain NumPy, and the gradient of the sum of squares of what is left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative

Array = Any


def by_flat(places: Any) -> Callable[[Array, Array], None]:
    def write(y: Array, v: Array) -> None:
        y.flat[places] = v

    return write


def by_put(places: Any, **options: Any) -> Callable[[Array, Array], None]:
    return lambda y, v: np.put(y, places, v, **options)


WRITES: dict[str, Callable[[Array, Array], None]] = {
    "put": by_put([0, 9]),
    "put, far": by_put([0, 2, 9, 1]),
    "put, negative": by_put([1, -9]),
    "put, at once": by_put([9, 0]),
    "put, in two axes": by_put(np.array([[0, 1], [7, 2]])),
    "put, method": lambda y, v: y.put([0, 9], v),
    "put, of nothing": lambda y, v: np.put(y, [0, 9], []),
    "put, right": by_put([0, -1]),
    "put, wrap": by_put([0, 9], mode="wrap"),
    "put, clip": by_put([0, -9], mode="clip"),
    "flat": by_flat([0, 9]),
    "flat, negative": by_flat(np.array([1, 2, -9])),
    "flat, at once": by_flat([9, 0]),
    "flat, one": by_flat(9),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("turned", [False, True])
def test_what_was_written_before_the_error(name: str, turned: bool) -> None:
    def f(v: Array, like: Any = None) -> Array:
        y = np.arange(6.0).reshape(2, 3) if like is None else np.arange(6.0, like=v).reshape(2, 3)
        y = y.T if turned else y
        with contextlib.suppress(IndexError):
            WRITES[name](y, v)
        return y * y

    v = np.array([7.0, 8.0])
    plain, recorded = f(v), f(npgrad.array(v), True)
    np.testing.assert_array_equal(npgrad.value(recorded), plain)
    slopes = [2 * np.sqrt(entry) * np.sum(plain == entry) for entry in v**2]
    np.testing.assert_allclose(npgrad.grad(lambda v: np.sum(f(v, True)))(v), slopes)


def test_weights_of_polyfit_have_numpys_dtype_and_error() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 3.0, 2.0, 5.0])
    with pytest.raises(TypeError, match="complex128"):
        np.polyfit(x, y, 1, w=x + 1j)
    with pytest.raises(TypeError, match="complex128"):
        npgrad.grad(lambda y: np.real(np.polyfit(x, y, 1, w=x + 1j)[0]))(y)
    short = x.astype(np.float32), y.astype(np.float32)
    expected = np.polyfit(*short, 1, w=x)
    value, _ = npgrad.value_and_grad(lambda y: np.polyfit(short[0], y, 1, w=x)[0])(short[1])
    assert value.dtype == expected.dtype
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda p: np.linalg.norm(np.ones(3), ord=p), "ord"),
        (lambda p: np.linalg.vector_norm(np.ones(3), ord=p), "ord"),
        (lambda p: np.std(np.arange(3.0), ddof=p), "ddof"),
        (lambda p: np.var(np.arange(3.0), correction=p), "correction"),
        (lambda p: np.nanstd(np.arange(3.0), ddof=p), "ddof"),
    ],
)
def test_recorded_options_of_plain_arrays_are_refused_by_name(f: Any, name: str) -> None:
    for value in (1.0, 2.0, 3.0):
        with pytest.raises(NoDerivative, match=f"'{name}'.*{name}=npgrad.value"):
            npgrad.grad(f)(value)
