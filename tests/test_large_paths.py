"""Every sample by the code that is meant for large arrays: the sizes it starts at are set to 0.

Samples are small, so that this code would otherwise be met by few of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from tests.harness import (
    SAMPLES,
    check_batched,
    check_forward,
    check_forward_over_reverse,
    check_reverse,
    check_reverse_over_forward,
    check_reverse_over_reverse,
    parameters,
    quiet,
    real,
)
from tests.samples.core import Sample

# The names of the sizes, by module; a name that is gone fails the test.
SIZES = {
    "graph.backward": {"TINY": 0},
    "graph.cotangents": {"TINY": 0},
    "rules.matmul": {"FEW": 0},
    "graph.blocks": {"LARGE": 0, "SHORTEST": 1, "CACHE": 64, "BYTES": 16},
    "implementations": {"LARGE": 0, "SMALL": 0},
    "rules.elementwise": {"FEW": 0},
    "rules.linalg": {"FEW": 0},
    "rules.extreme": {"FEW": 0},
    "rules.piecewise": {"FEW": 0},
    "rules.product": {"LONG": 1},
    "rules.einsum": {"SMALL": 0},
    "rules.indexing": {"KERNEL_SIZE": 0},
    "rules.linalg_factor": {"BLOCK": 2},
    "rules.linalg_solve": {"SHARED_SIZE": 0, "SINGULAR_SIZE": 0},
    "rules.polynomials": {"MANY": 0},
}


@pytest.fixture(autouse=True)
def _large_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, sizes in SIZES.items():
        for name, size in sizes.items():
            monkeypatch.setattr(importlib.import_module(f"npgrad.{module}"), name, size)


def checks(sample: Sample) -> list[Callable[[Sample], None]]:
    """What the sample promises."""
    found = [check_reverse]
    if sample.forward:
        found.append(check_forward)
    if sample.order >= 2:
        found.append(check_reverse_over_reverse)
        if sample.forward:
            found += [check_forward_over_reverse, check_reverse_over_forward]
    if sample.batched and real(sample):
        found.append(check_batched)
    return found


@pytest.mark.parametrize(
    "sample", parameters([s for s in SAMPLES if not s.name.startswith("special.")])
)
def test_code_for_large_arrays(sample: Sample) -> None:
    with quiet():
        for check in checks(sample):
            check(sample)


def test_a_tangent_of_a_broadcast_divisor_is_not_summed() -> None:
    """Of a large quotient: the sum belongs to the cotangent alone. By the quotient rule."""
    rng = np.random.default_rng(0)
    a, t = rng.uniform(0.1, 1, (60, 70)), rng.normal(size=(60, 70))
    for axis in (0, 1):

        def f(a: Any, axis: int = axis) -> Any:
            return a / np.sum(a, axis=axis, keepdims=True)

        total, change = np.sum(a, axis=axis, keepdims=True), np.sum(t, axis=axis, keepdims=True)
        want = t / total - a * change / total**2
        np.testing.assert_allclose(npgrad.jvp(f, (a,), (t,))[1], want, rtol=1e-12, atol=1e-15)
        assert npgrad.hvp(lambda a, f=f: np.sum(f(a) ** 2), a, t).shape == a.shape
