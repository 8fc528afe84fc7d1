"""Functions of a ``np.poly1d`` whose coefficients are recorded, in wrapped code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
