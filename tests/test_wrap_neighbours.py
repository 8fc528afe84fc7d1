"""Trees of points (scipy.spatial) over recorded coordinates, in wrapped code."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative

spatial = pytest.importorskip("scipy.spatial")
KDTree, cKDTree = spatial.KDTree, spatial.cKDTree  # noqa: N816 -- SciPy's name

X = np.random.default_rng(3).normal(size=(6, 2))
AT = np.array([[0.1, 0.2], [0.9, -0.4], [-1.0, 0.3]])


def pairs(x):
    tree = KDTree(x)
    assert isinstance(tree, spatial.KDTree) and tree.n == 6 and tree.m == 2
    return sum(np.sum((x[i] - x[j]) ** 2) for i, j in tree.query_pairs(1.5))


def balls(x):
    found = cKDTree(x, copy_data=True).query_ball_point(x, r=1.2)
    return sum(
        np.sum(np.exp(-np.sum((x[i] - x[list(near)]) ** 2, -1))) for i, near in enumerate(found)
    )


def nearest(x):
    distances, indices = spatial.KDTree(x).query(AT)
    return np.sum(distances**3) + np.sum(x[indices] * AT)


def several(x):
    distances, _ = KDTree(AT).query(x, k=2, p=3)
    return np.sum(distances * np.array([1.0, 0.3]))


def one(x):
    distance, index = cKDTree(x).query([0.1, 0.2])
    return distance * (index + 1)


def bounded(x):
    distances, _ = KDTree(x).query(AT, k=3, distance_upper_bound=1.0)
    return np.sum(np.where(np.isfinite(distances), distances, 0.0) ** 2)


@pytest.mark.parametrize(
    "f", [pairs, balls, nearest, several, one, bounded], ids=lambda f: f.__name__
)
def test_gradients(f) -> None:
    rise = np.zeros(X.shape)
    for i in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[i] = 1e-5
        rise[i] = 8 * (f(X + step) - f(X - step)) - f(X + 2 * step) + f(X - 2 * step)
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, rise / 12e-5, rtol=1e-7, atol=1e-8)
    assert KDTree is spatial.KDTree


def test_what_has_no_rule_is_refused() -> None:
    with pytest.raises(NoDerivative, match="sparse_distance_matrix"):
        npgrad.grad(lambda x: KDTree(x).sparse_distance_matrix(KDTree(x), 1.0).sum())(X)
    with pytest.raises(NoDerivative, match="periodic"):
        npgrad.grad(lambda x: np.sum(KDTree(x % 1.0, boxsize=1.0).query(AT % 1.0)[0]))(X)
