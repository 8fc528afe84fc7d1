"""Compiled functions whose module is wrapped while they are recorded: its names are stand-ins."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")

import npgrad
from tests.wrapped import compiled_names

X, B = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -1.0])


def test_float_and_functions_imported_by_name() -> None:
    f = npgrad.wrap(lambda x: compiled_names.halved(x) + compiled_names.plainly(x[0]))
    np.testing.assert_allclose(npgrad.grad(f)(X), X + [2, 0, 0])
    normal = np.cross(X, B)
    expected = np.cross(B, normal / np.linalg.norm(normal))
    area = npgrad.wrap(lambda x: compiled_names.area(x, B))
    np.testing.assert_allclose(npgrad.grad(area)(X), expected, rtol=1e-12)
