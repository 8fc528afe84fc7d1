"""Constants that wrapped code makes go out as plain arrays, where recorded ones are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import npgrad
from npgrad.errors import GradientLost, InPlaceError

X = np.array([0.4, 1.3, 0.8])
WAYS = {
    "pickle": lambda c: pickle.loads(pickle.dumps(c)),
    "pickled number": lambda c: pickle.loads(pickle.dumps(c[0])),
    "view": lambda c: c.view(np.int64),
    "text": lambda c: c.astype(str),
    "objects": lambda c: c.astype(object),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_constant_goes_out_and_a_recorded_array_does_not(name) -> None:
    found = []

    def f(x):
        found.append(WAYS[name](np.ones(3)))
        return x.sum()

    assert npgrad.grad(f)(X).tolist() == [1.0, 1.0, 1.0]
    want = WAYS[name](np.ones(3))
    assert type(found[0]) is type(want)
    np.testing.assert_array_equal(found[0], want)
    with pytest.raises((GradientLost, npgrad.errors.NoDerivative)):
        npgrad.grad(lambda x: WAYS[name](x * 2))(X)


def test_a_leaf_is_made_of_a_constant() -> None:
    def f(x):
        leaf = npgrad.array(np.ones(3))
        return (x * (leaf**2).sum().backward()[leaf]).sum()

    assert npgrad.grad(f)(X).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(GradientLost, match="makes a new leaf"):
        npgrad.grad(lambda x: npgrad.array(x).sum())(X)


def test_windows_by_as_strided_are_copies_and_say_so() -> None:
    def seen_later(x):
        v = x * 1
        w = as_strided(v, (2, 2), (8, 8))
        v[1] = 9.0
        return v.sum() + w.sum()

    def used_before(x):
        v = x * 1
        total = as_strided(v, (2, 2), (8, 8)).sum()
        v[1] = 9.0
        return v.sum() + total

    with pytest.raises(InPlaceError, match="as_strided made windows"):
        npgrad.grad(seen_later)(X)
    assert npgrad.grad(used_before)(X).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hex", "text of a float"),
        ("__array_interface__", "memory would leave"),
        ("__array_namespace__", "array API"),
        ("nonsense", "no attribute 'nonsense'$"),
    ],
)
def test_a_missing_attribute_says_why(name, reason) -> None:
    x = npgrad.array(X)
    assert not hasattr(x, name)
    with pytest.raises(AttributeError, match=reason):
        getattr(x, name)
