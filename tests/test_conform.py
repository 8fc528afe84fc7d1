"""A gradient has its argument's shape, dtype and realness, whatever the layout or precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import npgrad
from tests.harness import (
    LAYOUTS,
    SAMPLES,
    arguments,
    check_batched,
    check_conforms,
    check_empty,
    check_layout,
    check_nested_batches,
    check_precision,
    close,
    function,
    gradients,
    parameters,
    quiet,
    real,
)
from tests.samples.core import Sample


@pytest.mark.parametrize("sample", parameters([s for s in SAMPLES if "float32" in s.dtypes]))
def test_single_precision(sample: Sample) -> None:
    """float32 (complex64) in, float32 out, and float64's numbers to float32's accuracy."""
    with quiet():  # SciPy warns of integer parameters in single precision
        check_precision(sample, "float32", max(3e-4, 1e3 * sample.tol))


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_extended_precision(sample: Sample) -> None:
    """Long doubles stay long where NumPy itself computes in them (its LAPACK does not)."""
    with quiet():
        try:
            function(sample)(*arguments(sample, "longdouble"))
        except (TypeError, ValueError, NotImplementedError):
            return
        check_precision(sample, "longdouble", max(1e-9, sample.tol * 1e-3))


HALF = [
    sample
    for sample in SAMPLES
    if "float32" in sample.dtypes and all(x.dtype.kind == "f" for x in arguments(sample))
]


@pytest.mark.parametrize("sample", parameters(HALF))
def test_half_precision(sample: Sample) -> None:
    """float16 gradients stay float16 where NumPy itself computes in float16."""
    with quiet():
        args = arguments(sample, "float16")
        try:
            function(sample)(*args)
        except (TypeError, ValueError, np.linalg.LinAlgError):
            return
        _, _, got = gradients(sample, args)
        check_conforms(sample, got, args)


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_memory_layout(sample: Sample) -> None:
    for layout in LAYOUTS:
        check_layout(sample, layout)


def test_empty_arrays() -> None:
    """An axis of length 0 is fine wherever NumPy says so; over all samples, often enough."""
    faults, tried = [], 0
    for sample in SAMPLES:
        for axis in (0, -1):
            try:
                tried += check_empty(sample, axis)
            except Exception as error:  # collected: one message names them all
                faults.append(f"{sample.name}, axis {axis}: {type(error).__name__}: {error}")
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)
    assert tried > len(SAMPLES) // 4, f"only {tried} samples accept an empty axis"


@pytest.mark.parametrize("sample", parameters([s for s in SAMPLES if s.batched and real(s)]))
def test_jacobian_equals_single_pulls(sample: Sample) -> None:
    check_batched(sample)


# SciPy's functions are elementwise all, and some of their second derivatives take a second each.
NESTED = [s for s in SAMPLES if s.order >= 2 and not s.name.startswith("special.")]


@pytest.mark.parametrize("sample", parameters(NESTED))
def test_jacobian_of_a_jacobian(sample: Sample) -> None:
    with quiet():
        check_nested_batches(sample)


# ------------------------------------------------------- shapes that hypothesis makes up
BINARY = {
    "add": np.add,
    "multiply": np.multiply,
    "divide": lambda a, b: a / (2 + b * b),
    "maximum": np.maximum,
    "where": lambda a, b: np.where(a > b, a, 2 * b),
    "arctan2": lambda a, b: np.arctan2(a, 2 + b),
}


@pytest.mark.parametrize("name", BINARY)
@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3),
    dtypes=st.tuples(*[st.sampled_from(["float16", "float32", "float64"])] * 2),
)
def test_broadcasting(name: str, shapes: Any, dtypes: tuple[str, str]) -> None:
    """Broadcast axes are summed away: for sum(f(a, b)) the gradient is the sum over the copies."""
    f, rng = BINARY[name], np.random.default_rng(0)
    args = tuple(
        np.asarray(rng.uniform(0, 1, size=shape)).astype(dtype)
        for shape, dtype in zip(shapes.input_shapes, dtypes, strict=True)
    )
    got = npgrad.grad(lambda a, b: np.sum(f(a, b)), argnums=(0, 1))(*args)
    wide = [np.broadcast_to(x, shapes.result_shape).astype("float64") for x in args]
    full = npgrad.grad(lambda a, b: np.sum(f(a, b)), argnums=(0, 1))(*wide)
    for g, x, w in zip(got, args, full, strict=True):
        assert g.shape == x.shape and g.dtype == x.dtype
        extra = w.ndim - x.ndim
        axes = (*range(extra), *(extra + i for i, n in enumerate(x.shape) if n == 1))
        np.testing.assert_allclose(
            np.asarray(g, "float64"), w.sum(axis=axes).reshape(x.shape), rtol=0.02, atol=0.02
        )


@given(shape=array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3), data=st.data())
def test_reductions_of_any_shape(shape: tuple[int, ...], data: st.DataObject) -> None:
    """sum and mean by any axes: the gradient is the count of uses, or one over the count."""
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
    axis = data.draw(st.sampled_from([None, tuple(a - len(shape) for a in axes)]))
    keepdims = data.draw(st.booleans())
    x = np.ones(shape)
    g = npgrad.grad(lambda x: np.sum(np.sum(x, axis=axis, keepdims=keepdims)))(x)
    np.testing.assert_array_equal(g, np.ones(shape))
    n = x.size if axis is None else int(np.prod([shape[a] for a in axis], dtype=int))
    if n and x.size:
        g = npgrad.grad(lambda x: np.sum(np.mean(x, axis=axis, keepdims=keepdims)))(x)
        np.testing.assert_allclose(g, np.full(shape, 1 / n), rtol=1e-15)


def test_a_cotangent_that_is_broadcast() -> None:
    """A cotangent of stride 0 is one like any other."""
    for sample in SAMPLES:
        with quiet():
            out, pull = npgrad.vjp(function(sample), *arguments(sample))
            if isinstance(out, tuple):
                continue
            ones = np.ones_like(out)
            spread = np.broadcast_to(np.ones((), dtype=ones.dtype), ones.shape)
            for g, w in zip(pull(spread), pull(ones), strict=True):
                largest = float(np.max(np.abs(w), initial=0))
                close(sample.name, g, w, 1e-11 * largest)
