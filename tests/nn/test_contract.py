"""What every operation of npgrad.nn promises: dtypes, layouts, messages, plain in and plain out."""

# ruff: noqa: E501 -- the table of wrong shapes reads best as one line a case

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import kernels, nn
from npgrad.errors import DTypeMismatch, OutOfRange, ShapeMismatch

W = np.linspace(0.5, 1.5, 6)
FILTERS = np.random.default_rng(0).normal(size=(2, 3, 2, 2))
IMAGE = (2, 3, 4, 6)

# one differentiable call of each operation on an array of shape IMAGE
CALLS: dict[str, Callable[[Any], Any]] = {
    **{n: getattr(nn, n) for n in ("relu", "leaky_relu", "sigmoid", "silu", "swish", "gelu")},
    **{n: getattr(nn, n) for n in ("gelu_erf", "erf", "softplus", "sqr", "softmax", "log_softmax")},
    "logsumexp": nn.logsumexp,
    "layer_norm": lambda x: nn.layer_norm(x, W.astype(x.dtype), W.astype(x.dtype), 1e-3),
    "rms_norm": lambda x: nn.rms_norm(x, W.astype(x.dtype), 1e-3),
    "group_norm": lambda x: nn.group_norm(x, 3, eps=1e-3),
    "batch_norm": lambda x: nn.batch_norm(x, eps=1e-3),
    "conv2d": lambda x: nn.conv2d(x, FILTERS.astype(x.dtype), padding=1),
    "conv_transpose2d": lambda x: nn.conv_transpose2d(x, np.ones((3, 2, 2, 2), x.dtype), stride=2),
    "conv1d": lambda x: nn.conv1d(x[:, :, 0], FILTERS[..., 0].astype(x.dtype)),
    "max_pool2d": lambda x: nn.max_pool2d(x, 2),
    "avg_pool2d": lambda x: nn.avg_pool2d(x, 2),
    "index_select": lambda x: nn.index_select(x, 1, [0, 2, 0]),
    "gather": lambda x: nn.gather(x, 3, np.zeros(IMAGE, int)),
    "index_add": lambda x: nn.index_add(x, 0, [1], x[:1]),
    "scatter_add": lambda x: nn.scatter_add(x, 2, np.zeros((2, 3, 4, 6), int), x),
    "narrow": lambda x: nn.narrow(x, 2, 1, 2),
    "cat": lambda x: nn.cat([x, x], -1),
    "mse_loss": lambda x: nn.mse_loss(x, np.zeros(IMAGE, x.dtype)),
    "cross_entropy": lambda x: nn.cross_entropy(x, np.zeros(IMAGE[:-1], int)),
    "affine": lambda x: nn.affine(x, 2.0, 1.0),
    "scale": lambda x: nn.scale(x, 2.0),
    "recip": lambda x: nn.recip(x + 10),
    "clamp": lambda x: nn.clamp(x, -1, 1),
    "cast": lambda x: nn.cast(x, x.dtype),
    "pick": lambda x: nn.pick(np.ones(IMAGE, bool), x, 0.0),
}


def images(dtype: str = "f8") -> np.ndarray:
    return np.random.default_rng(4).normal(size=IMAGE).astype(dtype)


@pytest.mark.parametrize("name", CALLS)
def test_plain_in_plain_out(name: str) -> None:
    out, pull = npgrad.vjp(CALLS[name], images())
    assert isinstance(CALLS[name](images()), np.ndarray | np.floating)
    assert isinstance(out, np.ndarray | np.floating)
    assert type(pull(np.ones_like(out))[0]) is np.ndarray


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_dtype_is_kept(name: str, dtype: str) -> None:
    x = images(dtype)
    out, pull = npgrad.vjp(CALLS[name], x)
    assert out.dtype == x.dtype
    g = pull(np.ones_like(out))[0]
    assert g.dtype == x.dtype and g.shape == x.shape
    want, wide = npgrad.vjp(CALLS[name], x.astype("f8"))
    limit = 60 * np.finfo(dtype).eps
    np.testing.assert_allclose(out, want, rtol=limit, atol=limit * np.abs(want).max())
    exact = wide(np.ones_like(want))[0]
    np.testing.assert_allclose(g, exact, rtol=limit, atol=limit * max(1, np.abs(exact).max()))


@pytest.mark.parametrize("name", CALLS)
def test_layout_and_cotangents_without_strides(name: str) -> None:
    x = images()
    strided = np.moveaxis(np.moveaxis(np.repeat(x, 2, 1)[:, ::2], 0, -1).copy(), -1, 0)
    backward = x[::-1, :, ::-1][::-1, :, ::-1]
    out, pull = npgrad.vjp(CALLS[name], x)
    g = pull(np.ones_like(out))[0]
    for other in (strided, backward):
        assert np.array_equal(other, x)
        out2, pull2 = npgrad.vjp(CALLS[name], other)
        np.testing.assert_allclose(out2, out, rtol=1e-12, atol=1e-14)
        ones = np.broadcast_to(np.float64(1), np.shape(out))
        np.testing.assert_allclose(pull2(ones)[0], g, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", CALLS)
def test_kernels_and_references_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = images()

    def both() -> tuple[Any, Any]:
        out, pull = npgrad.vjp(CALLS[name], x)
        return out, pull(np.cos(np.arange(np.size(out))).reshape(np.shape(out)))[0]

    with kernels.disabled():
        want = both()
    # every size goes to the kernels
    monkeypatch.setattr("npgrad.kernels._arrays.SMALL", 1)
    monkeypatch.setattr("npgrad.kernels._arrays.usable.__kwdefaults__", {"small": 1})
    for a, b in zip(both(), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_integers_are_computed_in_float64() -> None:
    assert nn.sigmoid(np.array([0, 1])).dtype == np.float64
    assert nn.softmax([0, 0]).tolist() == [0.5, 0.5]
    assert nn.layer_norm(np.array([1, 3]), eps=0.0).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("off", [False, True])
@pytest.mark.parametrize(
    "name", [n for n in CALLS if n not in ("batch_norm", "mse_loss", "cross_entropy")]
)
def test_a_batch_of_nothing(name: str, off: bool) -> None:
    """Shapes as for a batch, and no entry of a parameter's gradient but zeros."""
    empty, call = np.zeros((0, *IMAGE[1:])), CALLS[name]
    if name in ("gather", "index_add", "scatter_add", "pick"):
        index = np.zeros(empty.shape, int)
        call = {
            "gather": lambda x: nn.gather(x, 3, index),
            "index_add": lambda x: nn.index_add(x, 1, [1], x[:, :1]),
            "scatter_add": lambda x: nn.scatter_add(x, 2, index, x),
            "pick": lambda x: nn.pick(index == 0, x, 0.0),
        }[name]
    with kernels.disabled() if off else contextlib.nullcontext():
        out, pull = npgrad.vjp(call, empty)
        assert pull(np.ones_like(out))[0].shape == empty.shape
        assert np.shape(npgrad.jvp(call, (empty,), (empty,))[1]) == np.shape(out)
        assert np.shape(out) == (0, *np.shape(CALLS[name](images()))[1:])


def test_the_filters_of_a_batch_of_nothing_have_gradients_of_zeros() -> None:
    x, w, b = np.zeros((0, *IMAGE[1:])), FILTERS, np.ones(2)
    out, pull = npgrad.vjp(lambda w, b: nn.conv2d(x, w, b, 2, "same"), w, b)
    assert out.shape == (0, 2, 2, 3)
    for g, of in zip(pull(out), (w, b), strict=True):
        np.testing.assert_array_equal(g, np.zeros_like(of))
    with pytest.raises(ShapeMismatch, match="batch_norm: x has shape"):
        nn.batch_norm(x)
    with pytest.raises(ShapeMismatch, match="not empty"):
        nn.group_norm(np.zeros((2, 4, 0)), 2)


REAL = (
    "relu",
    "leaky_relu",
    "sigmoid",
    "silu",
    "swish",
    "gelu",
    "gelu_erf",
    "erf",
    "softplus",
    "layer_norm",
    "rms_norm",
    "group_norm",
    "batch_norm",
    "max_pool2d",
)


@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_right_or_refused(name: str) -> None:
    rng = np.random.default_rng(7)
    x, t = (images() + 1j * rng.normal(size=IMAGE) for _ in range(2))
    call = CALLS[name]
    if name in REAL:
        with pytest.raises(DTypeMismatch, match="real numbers"):
            call(x)
        with pytest.raises(DTypeMismatch, match="real numbers"):
            npgrad.vjp(call, x)
        return
    out, pull = npgrad.vjp(call, x)
    g = rng.normal(size=np.shape(out)) + 1j * rng.normal(size=np.shape(out))
    h = 1e-6
    moved = (call(x + h * t) - call(x - h * t)) / (2 * h)
    np.testing.assert_allclose(npgrad.jvp(call, (x,), (t,))[1], moved, rtol=1e-5, atol=1e-7)
    along = np.sum(np.conj(g) * moved).real
    np.testing.assert_allclose(np.sum(np.conj(pull(g)[0]) * t).real, along, rtol=1e-6)


@pytest.mark.parametrize("lead", [(), (2,), (2, 1, 3)])
def test_gradients_of_convolutions_take_any_leading_shape(lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(*lead, *IMAGE[1:]))
    call: Callable[..., Any] = lambda x, w, b: nn.conv2d(x, w, b, (2, 1), 1)
    out, pull = npgrad.vjp(call, x, FILTERS, np.ones(2))
    g = rng.normal(size=out.shape)
    own = (
        nn.conv2d_grad_input(g, FILTERS, x.shape, (2, 1), 1),
        nn.conv2d_grad_weight(g, x, FILTERS.shape, (2, 1), 1),
        nn.conv2d_grad_bias(g),
    )
    for a, b in zip(own, pull(g), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_inputs_are_not_written_to() -> None:
    x = images("f4")
    x.setflags(write=False)
    for call in CALLS.values():
        out, pull = npgrad.vjp(call, x)
        pull(np.ones_like(out))


X = np.ones((2, 3, 5, 5))
WRONG: list[tuple[str, Callable[[], Any], str]] = [
    ("weight", lambda: nn.layer_norm(np.ones((2, 4)), np.ones(3), np.ones(4), 1e-5), "weight has shape (3,)"),
    ("bias", lambda: nn.layer_norm(np.ones((2, 4)), np.ones(4), np.ones(5), 1e-5), "bias has shape (5,)"),
    ("rms", lambda: nn.rms_norm(np.ones((2, 4)), np.ones((2, 4, 1)), 1e-5), "weight has shape"),
    ("groups", lambda: nn.group_norm(np.ones((2, 4)), 3), "x has shape (2, 4)"),
    ("channels", lambda: nn.batch_norm(np.ones((2, 4)), np.ones(2)), "weight has shape (2,)"),
    ("0-d", lambda: nn.softmax(np.array(1.0)), "x has shape ()"),
    ("empty axis", lambda: nn.softmax(np.ones((2, 0))), "x has shape (2, 0)"),
    ("conv channels", lambda: nn.conv2d(X, np.ones((4, 2, 3, 3))), "x has shape (2, 3, 5, 5)"),
    ("conv groups", lambda: nn.conv2d(X, np.ones((4, 1, 3, 3)), groups=3), "w has shape (4, 1, 3, 3)"),
    ("conv filter", lambda: nn.conv2d(X, np.ones((4, 3, 3))), "w has shape (4, 3, 3)"),
    ("conv bias", lambda: nn.conv2d(X, np.ones((4, 3, 3, 3)), np.ones(3)), "b has shape (3,)"),
    ("conv size", lambda: nn.conv2d(X, np.ones((4, 3, 7, 7))), "x has shape (2, 3, 5, 5)"),
    ("conv1d", lambda: nn.conv1d(X, np.ones((4, 3, 3, 3))), "w has shape (4, 3, 3, 3)"),
    ("conv1d channels", lambda: nn.conv1d(np.ones((2, 5)), np.ones((4, 3, 2))), "conv1d: x has shape (2, 5)"),
    ("conv1d bias", lambda: nn.conv1d(np.ones((3, 5)), np.ones((4, 3, 2)), np.ones(3)), "conv1d: b has shape (3,)"),
    ("transpose", lambda: nn.conv_transpose2d(X, np.ones((4, 3, 3, 3))), "x has shape"),
    ("grad input", lambda: nn.conv2d_grad_input(X, np.ones((4, 3, 3, 3)), X.shape), "g has shape"),
    ("grad weight", lambda: nn.conv2d_grad_weight(X, X, (4, 3, 3, 3)), "g has shape"),
    ("grad bias", lambda: nn.conv2d_grad_bias(np.ones(3)), "g has shape (3,)"),
    ("pool", lambda: nn.max_pool2d(np.ones((2, 2)), 3), "x has shape (2, 2)"),
    ("mse", lambda: nn.mse_loss(np.ones(3), np.ones((3, 1))), "target has shape (3, 1)"),
    ("labels", lambda: nn.cross_entropy(np.ones((3, 2)), np.zeros(2, int)), "labels has shape (2,)"),
    ("index", lambda: nn.index_select(X, 0, [[0]]), "index has shape (1, 1)"),
    ("gather", lambda: nn.gather(np.ones((2, 3)), 0, np.zeros((1, 4), int)), "index has shape (1, 4)"),
    ("src", lambda: nn.index_add(np.ones((2, 3)), 0, [0], np.ones((2, 3))), "src has shape (2, 3)"),
    ("scatter", lambda: nn.scatter_add(np.ones(3), 0, [0, 1], np.ones(3)), "src has shape (3,)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_the_wrong_shape_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ShapeMismatch) as raised:
        call()
    assert message in str(raised.value)
    assert "npgrad.nn." in str(raised.value)


OUT_OF_RANGE: list[Callable[[Any], Any]] = [
    lambda x: nn.index_select(x, 0, [0, 3]),
    lambda x: nn.index_select(x, -1, [-3]),
    lambda x: nn.gather(x, 1, np.full((3, 1), 2)),
    lambda x: nn.index_add(x, 0, [3], x[:1]),
    lambda x: nn.scatter_add(x, 1, np.full((3, 2), -3), x),
    lambda x: nn.narrow(x, 0, 2, 2),
    lambda x: nn.cross_entropy(x, np.array([0, 1, 2])),
    lambda x: nn.cross_entropy(x, np.array([0, 1, -1])),
]


@pytest.mark.parametrize("number", range(len(OUT_OF_RANGE)))
def test_index_out_of_range(number: int) -> None:
    x = np.ones((3, 2))
    with pytest.raises(OutOfRange):
        OUT_OF_RANGE[number](x)
    with pytest.raises(IndexError):
        npgrad.grad(lambda x: np.sum(OUT_OF_RANGE[number](x)))(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.conv2d(X, np.ones((1, 3, 3, 3)), stride=0),
        lambda: nn.conv2d(X, np.ones((1, 3, 3, 3)), padding=-1),
        lambda: nn.conv2d(X, np.ones((1, 3, 3, 3)), padding="full"),
        lambda: nn.conv2d(X, np.ones((1, 3, 3, 3)), stride=(1, 2, 3)),
        lambda: nn.conv_transpose2d(X, np.ones((3, 1, 3, 3)), output_padding=1),
        lambda: nn.max_pool2d(X, 2, padding=2),
        lambda: nn.softmax(X, axis=4),
    ],
)
def test_wrong_numbers_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        call()


def test_a_large_network_against_differences() -> None:
    """Through kernels of every kind at once, in float64."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(8, 16, 14, 14))
    w1, w2 = rng.normal(size=(16, 16, 3, 3)) / 12, rng.normal(size=(16, 1, 3, 3)) / 3
    scale, shift = rng.normal(size=16), rng.normal(size=16)
    w3, labels = rng.normal(size=(16 * 49, 5)) / 28, rng.integers(0, 5, 8)

    def loss(w1: Any, w2: Any, scale: Any, w3: Any) -> Any:
        h = nn.gelu(nn.batch_norm(nn.conv2d(x, w1, padding=1), scale, shift))
        h = nn.silu(nn.group_norm(nn.conv2d(h, w2, padding=1, groups=16), 4))
        h = np.reshape(nn.avg_pool2d(h, 2), (8, -1))
        return nn.cross_entropy(nn.layer_norm(h @ w3, eps=1e-3), labels)

    arguments = (w1, w2, scale, w3)
    gradients = npgrad.grad(loss, argnums=(0, 1, 2, 3))(*arguments)
    for k, g in enumerate(gradients):
        t = rng.normal(size=g.shape)
        h = 1e-5
        ends = []
        for sign in (1, -1):
            moved = list(arguments)
            moved[k] = moved[k] + sign * h * t
            ends.append(loss(*moved))
        np.testing.assert_allclose(np.sum(g * t), (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def recorded_places(x: Any) -> set[str]:
    """The files that the nodes under `x` name."""
    stack, seen, files = [x._node], set(), set()
    while stack:
        node = stack.pop()
        if node is None or node.id in seen:
            continue
        seen.add(node.id)
        stack += node.parents
        if node.code is not None:
            files.add(node.code.co_filename)
    return files


@pytest.mark.parametrize("dtype", ["f2", "f8"])
@pytest.mark.parametrize("name", CALLS)
def test_a_recording_names_the_line_of_the_caller(name: str, dtype: str) -> None:
    x = npgrad.array(images(dtype))
    call = CALLS[name]
    ours = Path(nn.__file__).parent.glob("*.py")
    assert recorded_places(call(x)).isdisjoint(map(str, ours))
    with npgrad.Tape() as tape:
        call(tape.leaf(images(dtype)))
    places = {entry.where.partition(":")[0] for entry in tape if entry.where}
    assert places <= {"test_contract.py"}


def test_debug_names_the_line_of_the_caller() -> None:
    x = npgrad.array(np.array([0.0, 1.0]))
    silent = np.errstate(invalid="ignore")
    with npgrad.debug(), silent, pytest.raises(FloatingPointError, match=r"test_contract\.py:"):
        nn.affine(x, np.inf, -np.inf)


def test_the_page_names_every_operation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "nn.md").read_text()
    assert [name for name in nn.__all__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", nn.__all__)
def test_every_operation_has_an_example_and_says_what_it_computes(name: str) -> None:
    text = getattr(nn, name).__doc__
    assert f"npgrad.nn.{name}(" in text or name == "swish"
    assert "Examples\n    --------" in text
    assert text[0] != "\n" and text.split("\n")[0].rstrip().endswith((".", ":"))
