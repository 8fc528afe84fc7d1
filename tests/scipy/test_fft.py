"""Transforms of ``scipy.fft``: SciPy's own values, and derivatives."""

import importlib

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


COSINES = [
    (f"{i}d{kind}t", {"type": type, "norm": norm, "orthogonalize": orthogonalize})
    for i in ("", "i")
    for kind in "cs"
    for type in (1, 2, 3, 4)
    for norm in (None, "ortho", "forward")
    for orthogonalize in (None, True, False)
]
COSINES += [
    ("dct", {"n": 4, "axis": 0}), ("dct", {"n": 9, "type": 1}), ("idst", {"n": 2, "type": 3}),
    ("dctn", {}), ("idctn", {"type": 3, "norm": "ortho"}), ("dstn", {"s": (4,)}),
    ("dctn", {"s": (2, 8), "axes": (1, 0), "type": 1}), ("idstn", {"axes": 0, "workers": 1}),
    ("dctn", {"s": (-1, 3), "norm": "forward", "orthogonalize": True}), ("dctn", {"axes": ()}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), COSINES)
def test_cosine_and_sine_transforms(name, options) -> None:
    _check_cosines(scipy_fft, importlib.import_module("npgrad.scipy.fft"), name, options)


OLDER = [
    (f"{i}d{kind}t", {"type": type, "norm": norm})
    for i in ("", "i")
    for kind in "cs"
    for type in (1, 2, 3, 4)
    for norm in (None, "ortho")
]
OLDER += [("dctn", {"shape": (2, 4)}), ("idctn", {"axes": 1, "norm": "ortho"}), ("idstn", {})]
OLDER += [(name, {"n": n}) for name in ("rfft", "irfft") for n in (None, 1, 2, 5, 6, 7, 8)]
OLDER += [("rfft", {"axis": 0}), ("irfft", {"axis": -2}), ("irfft", {"axis": -2, "n": 4})]


@pytest.mark.parametrize(("name", "options"), OLDER)
def test_of_fftpack(name, options) -> None:
    theirs = importlib.import_module("scipy.fftpack")
    _check_cosines(theirs, importlib.import_module("npgrad.scipy.fftpack"), name, options)


@pytest.mark.parametrize(
    ("name", "options"),
    [("fft", {"n": 4}), ("ifft", {"axis": 0}), ("fft2", {}), ("ifft2", {"shape": (2, 5)}),
     ("fftn", {"axes": (0,)}), ("ifftn", {})],
)  # fmt: skip
def test_complex_transforms_of_fftpack(name, options) -> None:
    theirs = getattr(importlib.import_module("scipy.fftpack"), name)
    ours = getattr(importlib.import_module("npgrad.scipy.fftpack"), name)
    value = npgrad.value(ours(npgrad.array(X), **options))
    np.testing.assert_allclose(value, theirs(X, **options), rtol=1e-13, atol=1e-15)
    npgrad.testing.check_grads(lambda x: np.sum(np.abs(ours(x, **options)) ** 3), (X,), order=2)


def _check_cosines(original, stand_ins, name, options) -> None:
    """SciPy's values, to the bit for its own transform, and its matrix for a derivative."""
    ours, theirs = getattr(stand_ins, name), getattr(original, name)
    value = theirs(X, **options)
    made = npgrad.value(ours(npgrad.array(X), **options))
    if "fft" in name:
        np.testing.assert_allclose(made, value, rtol=1e-13, atol=1e-14)
    else:
        np.testing.assert_array_equal(made, value)
    columns = [theirs(e.reshape(X.shape), **options) for e in np.eye(X.size)]
    matrix = np.stack([c.ravel() for c in columns], axis=-1)
    g = np.random.default_rng(1).normal(size=value.shape)
    _, pull = npgrad.vjp(lambda x: ours(x, **options), X)
    expected = (matrix.T @ g.ravel()).reshape(X.shape)
    np.testing.assert_allclose(pull(g)[0], expected, rtol=1e-12, atol=1e-12)
    _, tangent = npgrad.jvp(lambda x: ours(x, **options), (X,), (X**2,))
    np.testing.assert_allclose(tangent.ravel(), matrix @ (X**2).ravel(), rtol=1e-12, atol=1e-12)
    cube = lambda x: np.sum(g * ours(x, **options) ** 3)
    v = np.cos(np.arange(X.size)).reshape(X.shape)
    expected = matrix.T @ ((6 * g * value).ravel() * (matrix @ v.ravel()))
    np.testing.assert_allclose(
        npgrad.hvp(cube, X, v).ravel(), expected, rtol=1e-11, atol=1e-11 * np.max(np.abs(expected))
    )
    single = npgrad.array(X.astype(np.float32))
    made = ours(single, **options)
    assert made.dtype == theirs(X.astype(np.float32), **options).dtype
    assert np.sum(made).backward()[single].dtype == np.float32


def test_complex_input_of_a_cosine_transform() -> None:
    from npgrad.scipy import fft

    z = X + 1j * X[::-1]
    npgrad.testing.check_grads(lambda z: np.sum(np.abs(fft.dct(z, 3)) ** 2), (z,), order=2)
    np.testing.assert_array_equal(npgrad.value(fft.dst(npgrad.array(z))), scipy_fft.dst(z))


def test_jacobians_of_a_cosine_transform() -> None:
    from npgrad.scipy import fft

    matrix = scipy_fft.dct(np.eye(5), axis=0)
    for jacobian in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_allclose(jacobian(fft.dct)(np.arange(5.0)), matrix, atol=1e-13)


def test_what_a_cosine_transform_refuses() -> None:
    from npgrad.scipy import fft

    x = npgrad.array(X)
    with pytest.raises(ValueError, match="Invalid norm"):
        fft.dct(x, norm="x")
    with pytest.raises(ValueError, match="type"):
        fft.dct(x, 5)
    with pytest.raises(ValueError, match="number of data points"):
        fft.dct(x, n=0)
    with pytest.raises(ValueError, match="unique"):
        fft.dctn(x, axes=(0, 0))
    with pytest.raises(ValueError, match="exceeds"):
        fft.dct(x, axis=2)
    with pytest.raises(ValueError, match="same length"):
        fft.dctn(x, s=(2,), axes=(0, 1))


def test_met_in_wrapped_code() -> None:
    gradient = npgrad.grad(lambda x: np.sum(np.abs(scipy_fft.fft(x)) ** 2))(X)
    np.testing.assert_allclose(gradient, 2.0 * X.shape[1] * X)  # Parseval
