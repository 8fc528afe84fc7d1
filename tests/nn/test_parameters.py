"""Parameters and arrays of unusual kinds: one meaning whatever the size, or a refusal by name."""

import numpy as np
import pytest

import npgrad
from npgrad import nn

SMALL, LARGE = np.ones((2, 4), "f4"), np.linspace(-1, 1, 6000, dtype="f4").reshape(100, 60)


@pytest.mark.parametrize("x", [SMALL, LARGE], ids=["small", "large"])
def test_numbers_of_numpy_change_no_dtype(x):
    for number in (np.float64(0.1), np.float32(0.1), np.array(0.1), 0.1):
        made = [
            nn.leaky_relu(x, number),
            nn.layer_norm(x, eps=number),
            nn.rms_norm(x, eps=number),
            nn.group_norm(x, 2, eps=number),
            nn.batch_norm(x, eps=number),
        ]
        assert {y.dtype for y in made} == {np.dtype("f4")}
        slope = lambda x, number=number: nn.leaky_relu(x, number).sum()
        assert npgrad.grad(slope)(x).dtype == np.float32


@pytest.mark.parametrize("x", [SMALL, LARGE], ids=["small", "large"])
def test_arrays_and_complex_numbers_as_parameters_are_refused(x):
    for number in (np.linspace(0, 1, x.shape[-1]), 1j):
        with pytest.raises(TypeError, match="leaky_relu: slope is one real number"):
            nn.leaky_relu(x, number)
        with pytest.raises(TypeError, match="layer_norm: eps is one real number"):
            nn.layer_norm(x, eps=number)


SWAPPED = {
    "softmax": nn.softmax,
    "log_softmax": nn.log_softmax,
    "gelu": nn.gelu,
    "layer_norm": nn.layer_norm,
    "batch_norm": nn.batch_norm,
    "max_pool2d": lambda x: nn.max_pool2d(x[None], 2),
    "conv2d": lambda x: nn.conv2d(x[None], np.ones((2, 1, 3, 3), ">f4")),
    "rows": lambda x: x[np.arange(100)],
    "entries": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), 1),
    "index_add": lambda x: nn.index_add(x, 0, np.arange(100), x),
    "products": lambda x: x @ x.T,
    "sort": lambda x: np.sort(x, axis=1) ** 2,
    "elementwise": lambda x: np.tanh(x) * np.sin(x),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_arrays_of_the_other_byte_order(name):
    """As files of other machines hold them."""
    f = lambda x: np.sum(SWAPPED[name](x) ** 3)
    value, gradient = npgrad.value_and_grad(f)(LARGE.astype(">f4"))
    usual, expected = npgrad.value_and_grad(f)(LARGE)
    np.testing.assert_allclose(value, usual, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(gradient, expected, atol=1e-3 * np.max(np.abs(expected)))


def test_axes_and_sizes_of_a_wrong_kind():
    x, w = np.ones((1, 3, 8, 8)), np.ones((2, 3, 3, 3))
    for axis in (None, (0, 1), 1.0, True):
        with pytest.raises(TypeError, match="softmax: axis is one int"):
            nn.softmax(x, axis)
    for stride in (1.5, 2.0, None, (1, 2, 3), "2", True):
        with pytest.raises(ValueError, match="conv2d: stride is an int or a pair"):
            nn.conv2d(x, w, stride=stride)
    assert nn.conv2d(x, w, stride=np.array(2)).shape == nn.conv2d(x, w, stride=2).shape
    with pytest.raises(ValueError, match="max_pool2d: size is an int or a pair"):
        nn.max_pool2d(x, 2.0)
    with pytest.raises(ValueError, match="conv2d: padding is an int"):
        nn.conv2d(x, w, padding=1.5)
    for stride in ((2, 2), 0, 1.5):
        with pytest.raises(ValueError, match="conv1d: stride is an int >= 1"):
            nn.conv1d(np.ones((1, 5)), np.ones((1, 1, 2)), stride=stride)
    with pytest.raises(npgrad.errors.ShapeMismatch, match=r"conv1d: x has shape \(1, 5\)"):
        nn.conv1d(np.ones((1, 5)), np.ones((1, 1, 7)))
    with pytest.raises(npgrad.errors.ShapeMismatch, match="logits has shape"):
        nn.cross_entropy(1.0, 0)


def test_narrow_by_small_integers():
    """uint8 wraps around at 256."""
    assert nn.narrow(np.ones(300), 0, np.uint8(200), np.uint8(100)).shape == (100,)
    with pytest.raises(IndexError, match="narrow"):
        nn.narrow(np.ones(240), 0, np.uint8(200), np.uint8(100))


@pytest.mark.parametrize("width", [7, 60, 1000])
def test_rows_of_one_number_are_normalised_to_zero(width):
    """Their mean is that number, and nothing of it is left for a small eps to enlarge."""
    x = np.full((8000 // width, width), 3.0, dtype=np.float32)
    for norm in (nn.layer_norm, nn.batch_norm):
        np.testing.assert_array_equal(norm(x, eps=1e-12), np.zeros_like(x))


def test_the_largest_complex_number_is_refused():
    with pytest.raises(npgrad.errors.DTypeMismatch, match="max_pool2d"):
        nn.max_pool2d(np.ones((4, 4)) * 1j, 2)


def test_a_kernel_is_seen_by_others_when_it_is_linked(monkeypatch):
    """A thread that came in between called it with names that Numba does not know."""
    from npgrad.kernels import _compile

    seen = []
    kernel = _compile.Kernel(lambda x: x, {})
    monkeypatch.setattr(_compile, "link", lambda function: seen.append(kernel.result))
    assert kernel.compiled() is kernel.compiled() is kernel.result
    assert seen == [None]
