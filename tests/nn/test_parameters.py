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


@pytest.mark.parametrize("groups", [0, -1, 1.0, "1", None, True])
def test_groups_are_a_whole_number(groups):
    x, w = np.ones((2, 4, 5, 5)), np.ones((4, 4, 3, 3))
    calls = {
        "conv2d": lambda: nn.conv2d(x, w, groups=groups),
        "conv1d": lambda: nn.conv1d(x[..., 0], w[..., 0], groups=groups),
        "conv_transpose2d": lambda: nn.conv_transpose2d(x, w, groups=groups),
        "conv2d_grad_input": lambda: nn.conv2d_grad_input(
            x[..., :3, :3], w, x.shape, groups=groups
        ),
        "conv2d_grad_weight": lambda: nn.conv2d_grad_weight(
            x[..., :3, :3], x, w.shape, groups=groups
        ),
        "group_norm": lambda: nn.group_norm(x, groups),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"nn.{name}: groups is an int >= 1"):
            call()


def test_filters_without_an_entry_are_named():
    for shape in ((0, 4, 3, 3), (4, 4, 0, 3)):
        with pytest.raises(npgrad.errors.ShapeMismatch, match=r"w has shape .* at least one"):
            nn.conv2d(np.ones((2, 4, 5, 5)), np.ones(shape))


def test_padding_may_be_an_array():
    x, w = np.ones((2, 4, 7, 7)), np.ones((4, 4, 3, 3))
    pair = np.array([1, 2])
    assert nn.conv2d(x, w, padding=pair).shape == nn.conv2d(x, w, padding=(1, 2)).shape
    assert nn.conv1d(x[..., 0], w[..., 0], padding=pair).shape == (2, 4, 8)
    one = nn.conv_transpose2d(x, w, padding=pair)
    np.testing.assert_array_equal(one, nn.conv_transpose2d(x, w, padding=(1, 2)))


@pytest.mark.parametrize("index", [[0.0], [np.nan], [True], [2**70], [0, "1"]])
def test_an_index_is_of_integers(index):
    x = np.ones(len(index))
    for name, call in {
        "index_select": lambda: nn.index_select(x, 0, index),
        "gather": lambda: nn.gather(x, 0, index),
        "index_add": lambda: nn.index_add(x, 0, index, x),
        "scatter_add": lambda: nn.scatter_add(x, 0, index, x),
        "cross_entropy": lambda: nn.cross_entropy(np.ones((len(index), 3)), index),
    }.items():
        with pytest.raises(IndexError, match=f"nn.{name}: .* of integers, not of"):
            call()
    with pytest.raises(TypeError, match=r"narrow: start is one int, not 1\.0"):
        nn.narrow(x, 0, 1.0, 1)
    with pytest.raises(TypeError, match="narrow: length is one int, not None"):
        nn.narrow(x, 0, 0, None)


def test_weights_are_real_and_nothing_is_masked():
    """The gradient of a complex weight would have been its conjugate's."""
    x = np.ones((2, 4, 3))
    for name, call in {
        "layer_norm": lambda: nn.layer_norm(x, np.ones(3) * 1j),
        "rms_norm": lambda: nn.rms_norm(x, np.ones(3) * 1j),
        "group_norm": lambda: nn.group_norm(x, 2, None, np.ones(4) * 1j),
        "batch_norm": lambda: nn.batch_norm(x, np.ones(4) * 1j),
    }.items():
        with pytest.raises(npgrad.errors.DTypeMismatch, match=name):
            call()
    masked = np.ma.masked_array([[1.0, 2.0]], [[True, False]])
    for call in (nn.leaky_relu, nn.softmax, nn.layer_norm, nn.relu):
        with pytest.raises(npgrad.errors.NotDifferentiable, match="masked"):
            call(masked)
    with pytest.raises(npgrad.errors.NotDifferentiable, match="datetime64"):
        nn.layer_norm(np.array(["2020-01-01"], "M8[D]"))


def test_a_number_gives_a_number():
    for f in (nn.relu, nn.leaky_relu, nn.sigmoid, nn.gelu, nn.gelu_erf, nn.erf, nn.softplus):
        assert type(f(-2.0)) is np.float64
        h = 1e-6
        slope = npgrad.grad(f)(-2.0)
        np.testing.assert_allclose(slope, (f(-2.0 + h) - f(-2.0 - h)) / (2 * h), atol=1e-8)


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


MATRIX = np.array([[0.5, 1.0, -2.0], [2.0, 0.1, 0.3], [0.2, -0.4, 0.7]]).view(np.matrix)
LABELS = np.array([0, 2, 1])
OF_MATRICES = {
    **{n: getattr(nn, n) for n in ("gelu", "gelu_erf", "silu", "erf", "relu", "softplus")},
    **{n: getattr(nn, n) for n in ("softmax", "log_softmax", "logsumexp", "layer_norm")},
    **{n: getattr(nn, n) for n in ("rms_norm", "batch_norm", "leaky_relu")},
    "group_norm": lambda x: nn.group_norm(x, 1),
    "max_pool2d": lambda x: nn.max_pool2d(x, 2, 1),
    "avg_pool2d": lambda x: nn.avg_pool2d(x, 2, 1),
    "conv1d": lambda x: nn.conv1d(x, np.ones((2, 3, 2))),
    "cross_entropy": lambda x: nn.cross_entropy(x, LABELS),
    "mse_loss": lambda x: nn.mse_loss(x, np.asarray(MATRIX) + 1),
    "index_select": lambda x: nn.index_select(x, 1, LABELS),
    "gather": lambda x: nn.gather(x, 1, LABELS[:, None]),
    "index_add": lambda x: nn.index_add(x, 0, LABELS, x),
    "scatter_add": lambda x: nn.scatter_add(x, 0, LABELS[:, None], np.ones((3, 1))),
    "narrow": lambda x: nn.narrow(x, 0, 1, 2),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_a_matrix_is_an_array(name):
    """Its * is the product of matrices, and it keeps two axes whatever a function asks for."""
    found, wanted = OF_MATRICES[name](MATRIX), OF_MATRICES[name](np.asarray(MATRIX))
    assert type(found) is type(wanted)
    np.testing.assert_array_equal(found, wanted)


def test_a_slope_that_is_learned_has_a_gradient():
    x = np.array([-1.0, 2.0, 0.0, -3.0])
    loss = lambda x, slope: np.sum(nn.leaky_relu(x, slope) ** 2)
    gx, slope = npgrad.grad(loss, (0, 1))(x, 0.1)
    np.testing.assert_allclose(slope, 2 * 0.1 * (1 + 9))
    np.testing.assert_allclose(gx, [-0.02, 4, 0, -0.06])
    np.testing.assert_allclose(npgrad.grad(npgrad.grad(loss, 1), 1)(x, 0.1), 20)
    single = npgrad.grad(loss, 1)(x.astype("f4"), np.float32(0.1))
    assert single.dtype == np.float32
    assert nn.leaky_relu(x.astype("f2"), npgrad.array(0.1)).dtype == np.float16
    with pytest.raises(npgrad.errors.NoDerivative, match=r"layer_norm .* respect to eps"):
        npgrad.grad(lambda e: np.sum(nn.layer_norm(x, eps=e) ** 2))(0.1)


def test_what_is_no_array_is_named():
    class Tensor:
        dtype, shape = "torch.float32", (2,)

    for x in (Tensor(), None):
        for f in (
            nn.relu,
            nn.softmax,
            nn.layer_norm,
            lambda x: nn.conv2d(x, np.ones((1, 1, 1, 1))),
        ):
            with pytest.raises(TypeError, match=r"takes arrays of NumPy's kind, not (Tensor|None)"):
                f(x)
    g, w = np.ones((2, 4, 4, 4)), np.ones((4, 3, 2, 2))
    for shape in (5, (2, 3, 5.0, 5), None):
        with pytest.raises(TypeError, match="conv2d_grad_input: shape is a tuple of ints"):
            nn.conv2d_grad_input(g, w, shape)
    with pytest.raises(npgrad.errors.GradientLost, match="cross_entropy: labels is a recorded"):
        nn.cross_entropy(np.ones((2, 3)), npgrad.array(np.array([0, 1])))
