"""Kinks, zeros and infinities: the gradients promised there, in reverse and in forward mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from tests.harness import SPECIAL, copies, quiet, summed_gradient_twice, total
from tests.samples.core import Special

ROWS = [pytest.param(row, id=row.name) for row in SPECIAL]


def same(what: str, got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert np.shape(got) == want.shape, f"{what}: shape {np.shape(got)}, expected {want.shape}"
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11, err_msg=what)


@pytest.mark.parametrize("row", ROWS)
def test_gradient(row: Special) -> None:
    args = copies(row)
    with quiet():
        grads = npgrad.grad(total(row), argnums=tuple(range(len(args))))(*args)
    for k, (g, want) in enumerate(zip(grads, row.gradient, strict=True)):
        if want is not None:
            same(f"{row.name}: gradient {k}", g, want)
            assert g.dtype == args[k].dtype


@pytest.mark.parametrize("row", ROWS)
def test_forward_mode_agrees(row: Special) -> None:
    """The derivative along each axis is the gradient's entry."""
    args = copies(row)
    for k, want in enumerate(row.gradient):
        if want is None:
            continue
        want = np.asarray(want)
        for index in np.ndindex(args[k].shape):
            for unit in (1, 1j) if args[k].dtype.kind == "c" else (1,):
                tangents = [np.zeros_like(x) for x in args]
                tangents[k][index] = unit
                with quiet():
                    _, slope = npgrad.jvp(total(row), args, tuple(tangents))
                entry = want[index].imag if unit == 1j else want[index].real
                same(f"{row.name}: slope along {index} of argument {k}", slope, entry)


@pytest.mark.parametrize("row", [p for p in ROWS if p.values[0].second is not None])
def test_second_order(row: Special) -> None:
    with quiet():
        second = summed_gradient_twice(row)
    for k, (g, want) in enumerate(zip(second, row.second, strict=True)):
        if want is not None:
            same(f"{row.name}: second gradient {k}", g, want)
