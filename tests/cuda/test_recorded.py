"""Recorded CuPy arrays: every sample of the rules on the device, and the promises of placement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, OperandMutated
from npgrad.graph.deferred import evaluator as _evaluator_in_use
from npgrad.graph.deferred import use
from npgrad.implementations import _evaluator
from tests.harness import SAMPLES, parameters
from tests.samples.core import Sample

from .known_gaps import DIFFERS, RAISES, SIGNS
from .recorded import check_adjoint, check_raises, check_sample

pytestmark = pytest.mark.gpu
OF_NN = [sample for sample in SAMPLES if sample.name.startswith("nn.")]
OF_NUMPY = [sample for sample in SAMPLES if not sample.name.startswith("special.")]


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("sample", parameters(OF_NUMPY))
def test_sample_on_the_device(sample: Sample, cupy: Any, record_property: Any) -> None:
    put, get, kind = cupy.asarray, cupy.asnumpy, cupy.ndarray
    if sample.name in RAISES:
        check_raises(sample, put, get, kind)
        outcome = "raises on the device only"
    elif sample.name in DIFFERS:
        reason, through = DIFFERS[sample.name]
        assert check_sample(sample, put, get, kind, through=through) == "checked"
        check_adjoint(sample, put, get, None if reason == SIGNS else through)
        outcome = "compared behind the library's choice"
    else:
        outcome = check_sample(sample, put, get, kind)
    record_property("device", outcome)


def test_the_lists_name_samples() -> None:
    names = {sample.name for sample in OF_NUMPY}
    assert names >= {*RAISES, *DIFFERS}
    assert not {*RAISES} & {*DIFFERS}


@pytest.mark.parametrize("sample", parameters(OF_NN))
def test_kernels_behind_npgrad_nn(sample: Sample, cupy: Any) -> None:
    assert check_sample(sample, cupy.asarray, cupy.asnumpy, cupy.ndarray, "float32") == "checked"


def test_transforms_stay_on_the_device(cupy: Any) -> None:
    x = cupy.arange(1.0, 5.0)
    hessian = npgrad.hessian(lambda x: np.sum(x**3))(x)
    rows = npgrad.jacobian(lambda x: np.cumsum(x**2))(x)
    product = npgrad.hvp(lambda x: np.sum(x**3), x, cupy.ones(4))
    for got, want in (
        (hessian, np.diag([6.0, 12.0, 18.0, 24.0])),
        (rows, np.tril(np.broadcast_to([2.0, 4.0, 6.0, 8.0], (4, 4)))),
        (product, np.array([6.0, 12.0, 18.0, 24.0])),
    ):
        assert isinstance(got, cupy.ndarray)
        assert np.allclose(cupy.asnumpy(got), want, rtol=1e-14)
    assert npgrad.grad(lambda x: np.sum(x * x))(x.astype("float32")).dtype == np.float32


def test_in_place_and_views(cupy: Any) -> None:
    def f(x: Any) -> Any:
        buffer = np.zeros(4, like=x)
        buffer[1:] = x[:3] * x[3]
        buffer[0] += x[0]
        half = buffer[::2]
        half *= 2
        return np.sum(buffer * buffer)

    got = npgrad.grad(f)(cupy.arange(1.0, 5.0))
    assert cupy.asnumpy(got).tolist() == [40.0, 256.0, 96.0, 208.0]


def test_stores_and_tapes(cupy: Any) -> None:
    x = npgrad.array(cupy.arange(1.0, 4.0))
    store = np.sum(x * x).backward()
    assert cupy.asnumpy(np.sum(3 * x).backward_into(store)[x]).tolist() == [5.0, 7.0, 9.0]
    with npgrad.Tape() as tape:
        y = np.sum(tape.leaf(cupy.ones(3)) ** 2)
    tape.backward(y)


def test_host_and_device_do_not_mix(cupy: Any) -> None:
    x = npgrad.array(cupy.arange(4.0))
    host = np.arange(4.0)
    for call in (
        lambda: x * host,
        lambda: host * x,
        lambda: np.dot(x, host),
        lambda: x * npgrad.array(host),
        lambda: (x * 2).backward(host),
        lambda: np.arctan2(x, host),
    ):
        with pytest.raises(TypeError, match=r"NumPy array .* cupy\.ndarray"):
            call()
    assert isinstance(npgrad.value(np.float64(2.0) * x + 1), cupy.ndarray)


def test_doors_of_device_arrays(cupy: Any) -> None:
    x = npgrad.array(cupy.arange(4.0))
    assert not hasattr(x, "__cuda_array_interface__")
    for leak in (np.asarray, cupy.asarray, lambda x: float(np.sum(x))):
        with pytest.raises(GradientLost):
            leak(x)
    plain = cupy.arange(4.0)
    for mixed in (plain * x, np.multiply(plain, x), plain @ x, np.concatenate([plain, x])):
        assert type(mixed) is npgrad.GradArray


def test_a_changed_operand_is_noticed(cupy: Any) -> None:
    for size in (3000, 300_000, 2_000_000):
        x, plain = npgrad.array(cupy.ones(size)), cupy.ones(size)
        y = np.sum(x * plain)
        plain += 1
        if size * 8 <= 16 * 1024:  # copied
            assert float(y.backward()[x][0]) == 1.0
        else:
            with pytest.raises(OperandMutated):
                y.backward()


def test_another_stream(cupy: Any) -> None:
    with cupy.cuda.Stream(non_blocking=True) as stream:
        got = npgrad.grad(lambda x: np.sum(np.sin(x)))(cupy.arange(1000.0))
        stream.synchronize()
    assert np.allclose(cupy.asnumpy(got), np.cos(np.arange(1000.0)), rtol=1e-12)


def test_infinite_derivatives_behind_a_mask(cupy: Any) -> None:
    x = cupy.asarray([0.0, 1.0, 4.0])
    got = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)))(x)
    assert cupy.asnumpy(got).tolist() == [0.0, 0.5, 0.25]
    assert np.isinf(cupy.asnumpy(npgrad.grad(lambda x: np.sum(np.sqrt(x)))(x))[0])


def test_no_look_where_nothing_can_turn_infinite(cupy: Any, monkeypatch: Any) -> None:
    def look(values: Any) -> bool:
        raise AssertionError("the sweep waits for the device")

    monkeypatch.setattr("npgrad.graph.backend.all_finite", look)
    npgrad.grad(lambda x: np.sum(npgrad.nn.relu(x @ x) + x))(cupy.ones((3, 3)))
    npgrad.grad(lambda x: np.sum(np.exp(x)))(cupy.ones(3))  # its kernel keeps zeros zero
    use(lambda: None)  # nothing is put off: one launch an operation, and a look at the end
    try:
        with pytest.raises(AssertionError, match="waits"):
            npgrad.grad(lambda x: np.sum(np.exp(x)))(cupy.ones(3))
    finally:
        use(_evaluator)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_fused_value_is_cupys_to_the_last_bit(cupy: Any, dtype: str) -> None:
    def f(x: Any, y: Any) -> Any:
        t = np.tanh(x * 1.01 + y) * 0.9
        return np.sqrt(t * t + 1.0) / (2.0 - np.exp(-y * y)) + np.where(t > 0.1, t, -x)

    rng = np.random.default_rng(3)
    x, y = (cupy.asarray(rng.standard_normal(1003).astype(dtype)) for _ in range(2))
    want = f(x, y)
    seen = _evaluator_in_use().launched
    for _ in range(4):
        out, _ = npgrad.vjp(f, x, y)
        assert out.dtype == want.dtype
        assert bool((out == want).all())
    assert _evaluator_in_use().launched > seen


@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (1 << 20,), (5, 1, 3), (64, 33)])
def test_gradients_of_kernels_of_every_size(cupy: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any, row: Any) -> Any:
        return np.sum(np.tanh(x * row) * np.log1p(x * x) / (row + 3.0))

    rng = np.random.default_rng(4)
    x, row = rng.standard_normal(shape), rng.standard_normal(shape[-1:])
    want = npgrad.grad(f, (0, 1))(x, row)
    for _ in range(4):
        got = npgrad.grad(f, (0, 1))(cupy.asarray(x), cupy.asarray(row))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(cupy.asnumpy(a), b, rtol=1e-9, atol=1e-12)


def test_cross_entropy_of_labels_on_the_device(cupy: Any) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 7)).astype(np.float32)
    labels = rng.integers(0, 7, 40)
    loss = npgrad.nn.cross_entropy
    want, wanted = npgrad.value_and_grad(lambda x: loss(x * 2.0, labels))(x)
    there, marks = cupy.asarray(x), cupy.asarray(labels)
    got, found = npgrad.value_and_grad(lambda x: loss(x * 2.0, marks))(there)
    np.testing.assert_allclose(cupy.asnumpy(got), want, rtol=1e-6)
    np.testing.assert_allclose(cupy.asnumpy(found), wanted, rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(cupy.asnumpy(loss(there * 2, marks)), want, rtol=1e-6)
    t = rng.standard_normal((40, 7)).astype(np.float32)
    host = npgrad.jvp(lambda x: loss(x, labels), (x,), (t,))[1]
    device = npgrad.jvp(lambda x: loss(x, marks), (there,), (cupy.asarray(t),))[1]
    np.testing.assert_allclose(cupy.asnumpy(device), host, rtol=2e-5)
    host = npgrad.hvp(lambda x: loss(x, labels), x, t)
    device = npgrad.hvp(lambda x: loss(x, marks), there, cupy.asarray(t))
    np.testing.assert_allclose(cupy.asnumpy(device), host, rtol=1e-4, atol=1e-7)
    marks[3] = 7
    for call in (lambda: npgrad.grad(lambda x: loss(x, marks))(there), lambda: loss(there, marks)):
        with pytest.raises(IndexError, match="label 7 of 7 classes"):
            call()
