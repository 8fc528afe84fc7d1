"""Transforms of ``scipy.fft``: SciPy's own values, and derivatives."""

import numpy as np
import pytest

import npgrad

scipy_fft = pytest.importorskip("scipy.fft")

X = np.random.default_rng(0).normal(size=(3, 6))
CASES = [
    ("fft", {}), ("ifft", {"n": 4, "axis": 0}), ("rfft", {"norm": "ortho"}), ("irfft", {"n": 7}),
    ("hfft", {}), ("ihfft", {"norm": "forward"}), ("fft2", {}), ("ifft2", {"s": (2, 5)}),
    ("rfft2", {}), ("irfft2", {}), ("fftn", {"s": (4,)}), ("ifftn", {"axes": (0,)}),
    ("fftn", {"s": 3, "axes": 1}), ("irfftn", {"axes": -1}),
    ("rfftn", {"workers": 1}), ("irfftn", {"norm": "ortho"}), ("fftshift", {}),
    ("ifftshift", {"axes": 1}), ("hfft2", {}), ("hfft2", {"norm": "ortho", "s": (4, 5)}),
    ("hfftn", {"norm": "forward"}), ("hfftn", {"s": (7,)}), ("ihfft2", {"axes": (1, 0)}),
    ("ihfftn", {"norm": "ortho"}), ("ihfftn", {"s": (4,), "norm": "forward"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), CASES)
def test_values_and_derivatives(name, options) -> None:
    from npgrad.scipy import fft

    ours, theirs = getattr(fft, name), getattr(scipy_fft, name)
    np.testing.assert_array_equal(ours(X, **options), theirs(X, **options))
    value = npgrad.value(ours(npgrad.array(X), **options))
    np.testing.assert_allclose(value, theirs(X, **options), rtol=1e-13, atol=1e-15)
    f = lambda x: np.sum(np.abs(ours(x, **options)) ** 2 * np.arange(1.0, value.shape[-1] + 1))
    npgrad.testing.check_grads(f, (X,), order=2)
    assert value.dtype == theirs(X, **options).dtype
    single = npgrad.value(ours(npgrad.array(X.astype(np.float32)), **options))
    assert single.dtype == theirs(X.astype(np.float32), **options).dtype


def test_a_scale_that_is_none_is_refused_as_scipy_does():
    from npgrad.scipy import fft

    with pytest.raises(ValueError, match="Invalid norm value 'x'"):
        fft.hfftn(npgrad.array(X), norm="x")


def test_met_in_wrapped_code() -> None:
    gradient = npgrad.grad(lambda x: np.sum(np.abs(scipy_fft.fft(x)) ** 2))(X)
    np.testing.assert_allclose(gradient, 2.0 * X.shape[1] * X)  # Parseval
