"""Values and gradients of npgrad.nn against closed forms and independent formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import nn

X = np.array([-3.0, -0.5, 0.0, 0.2, 4.0])


def phi(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def Phi(x: float) -> float:  # noqa: N802
    return 0.5 * math.erfc(-x / math.sqrt(2))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def tanh_gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# name, function, value, first and second derivative (None: by differences of the first)
ELEMENTWISE = [
    ("sigmoid", nn.sigmoid, logistic, lambda x: logistic(x) * (1 - logistic(x))),
    ("silu", nn.silu, lambda x: x * logistic(x), None),
    ("gelu", nn.gelu, tanh_gelu, None),
    ("gelu_erf", nn.gelu_erf, lambda x: x * Phi(x), lambda x: Phi(x) + x * phi(x)),
    ("erf", nn.erf, math.erf, lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
    ("softplus", nn.softplus, lambda x: math.log1p(math.exp(x)), logistic),
    ("recip", lambda x: nn.recip(x + 5), lambda x: 1 / (x + 5), lambda x: -1 / (x + 5) ** 2),
]


def slope(f: Any, x: float) -> float:
    """A central difference of fourth order."""
    h = 1e-3
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.parametrize(("name", "f", "value", "first"), ELEMENTWISE)
@pytest.mark.parametrize("repeat", [1, 2000])  # the second goes through the kernels
def test_elementwise(name: str, f: Any, value: Any, first: Any, repeat: int) -> None:
    first = first or (lambda x: slope(value, x))
    x = np.tile(X, repeat)
    np.testing.assert_allclose(f(x)[:5], [value(t) for t in X], rtol=1e-14, atol=1e-15)
    g = npgrad.grad(lambda x: np.sum(f(x)))(x)
    np.testing.assert_allclose(g[:5], [first(t) for t in X], rtol=1e-9, atol=1e-11)
    h = npgrad.grad(lambda x: np.sum(npgrad.grad(lambda x: np.sum(f(x)))(x)))(x)
    np.testing.assert_allclose(h[:5], [slope(first, t) for t in X], rtol=1e-7, atol=1e-9)


def test_kinks() -> None:
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(npgrad.grad(lambda x: np.sum(nn.relu(x)))(x), [0, 0, 1])
    g = npgrad.grad(lambda x: np.sum(nn.leaky_relu(x, 0.1)))(x)
    np.testing.assert_array_equal(g, [0.1, 0.1, 1])
    g = npgrad.grad(lambda x: np.sum(nn.clamp(x, -1.0, 1.0)))(x)
    np.testing.assert_array_equal(g, [1, 1, 0])
    ties = np.array([[1.0, 1.0], [0.0, 1.0]])
    g = npgrad.grad(lambda x: np.sum(nn.max_pool2d(x, 2)))(ties)
    np.testing.assert_allclose(g, ties / 3)


def test_no_overflow() -> None:
    with np.errstate(all="raise", under="ignore"):
        x = np.array([-1e4, -800.0, 800.0, 1e4])
        np.testing.assert_array_equal(nn.sigmoid(x), [0, 0, 1, 1])
        np.testing.assert_array_equal(nn.softplus(x), [0, 0, 800, 1e4])
        np.testing.assert_array_equal(nn.silu(x)[2:], [800, 1e4])
        for f in (nn.sigmoid, nn.softplus, nn.silu, nn.gelu, nn.gelu_erf, nn.erf):
            assert np.isfinite(npgrad.grad(lambda x, f=f: np.sum(f(x)))(x)).all()
        np.testing.assert_allclose(nn.softmax(np.array([1e4, 0.0])), [1, 0])
        np.testing.assert_allclose(nn.logsumexp(np.array([-1e4, -1e4])), -1e4 + math.log(2))


@pytest.mark.parametrize("size", [1, 3000])
def test_logsumexp_of_infinities(size: int) -> None:
    row = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [np.inf, 0.0], [np.inf, np.inf]])
    x = np.tile(row, (size, 1))
    np.testing.assert_array_equal(nn.logsumexp(x)[:4], [-np.inf, 0, np.inf, np.inf])
    out, pull = npgrad.vjp(nn.logsumexp, x)
    g = pull(np.ones_like(out))[0][:4]
    np.testing.assert_array_equal(g[1:], [[1, 0], [1, 0], [0.5, 0.5]])
    assert np.isfinite(g).all()


def test_cross_entropy() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(5, 4)), np.array([3, 0, 0, 1, 2])
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    value, g = npgrad.value_and_grad(nn.cross_entropy)(x, labels)
    np.testing.assert_allclose(value, -np.mean(np.log(p[np.arange(5), labels])), rtol=1e-13)
    np.testing.assert_allclose(g, (p - np.eye(4)[labels]) / 5, rtol=1e-12, atol=1e-15)


# f(t) = sum of layer_norm((t, 0), w = (3, -1), eps = 1/4) = 4 t / sqrt(1 + t**2)
def test_layer_norm_to_fourth_order() -> None:
    one = np.array([3.0, -1.0])

    def f(t: Any) -> Any:
        x = np.reshape(np.stack([t, 0.0 * t]), (1, 2))
        return np.sum(nn.layer_norm(x, one, np.zeros(2), 0.25))

    t, q = 0.9, 1 + 0.9**2
    wanted = [
        4 * q**-1.5,
        -12 * t * q**-2.5,
        -12 * q**-2.5 + 60 * t * t * q**-3.5,
        180 * t * q**-3.5 - 420 * t**3 * q**-4.5,
    ]
    for want in wanted:
        f = npgrad.grad(f)
        np.testing.assert_allclose(f(np.array(t)), want, rtol=1e-11)


# rms_norm of one number: x / sqrt(x**2 + eps)
def test_rms_norm_to_third_order() -> None:
    f: Any = lambda x: np.sum(nn.rms_norm(np.reshape(x, (1,)), np.ones(1), 2.0))
    x, q = 0.7, 0.7**2 + 2
    wanted = [2 * q**-1.5, -6 * x * q**-2.5, -6 * q**-2.5 + 30 * x * x * q**-3.5]
    for want in wanted:
        f = npgrad.grad(f)
        np.testing.assert_allclose(f(np.array(x)), want, rtol=1e-11)


def test_norms_agree_where_they_meet() -> None:
    rng = np.random.default_rng(1)
    x, w, b = rng.normal(size=(6, 8)), rng.normal(size=8), rng.normal(size=8)
    one_group = nn.group_norm(x, 1, w, b, 1e-3)
    np.testing.assert_allclose(one_group, nn.layer_norm(x, w, b, 1e-3), rtol=1e-12)
    whole = nn.batch_norm(x, eps=1e-3)
    np.testing.assert_allclose(whole, nn.layer_norm(x, eps=1e-3, axis=0), rtol=1e-12)
    centred = x - x.mean(1, keepdims=True)
    np.testing.assert_allclose(
        nn.rms_norm(centred, w, 1e-3), nn.layer_norm(x, w, None, 1e-3), rtol=1e-12
    )


def test_conv_transpose2d_is_the_transpose() -> None:
    rng = np.random.default_rng(2)
    w = rng.normal(size=(6, 2, 3, 2))
    geometry: dict[str, Any] = {
        "stride": (2, 3),
        "padding": (1, 0),
        "groups": 2,
        "dilation": (1, 2),
    }
    shape = (2, 4, 8, 11)
    x = rng.normal(size=shape)
    y = nn.conv2d(x, w, **geometry)
    g = rng.normal(size=y.shape)
    open_ends = tuple(
        n - m
        for n, m in zip(shape[2:], nn.conv_transpose2d(g, w, **geometry).shape[2:], strict=True)
    )
    back = nn.conv_transpose2d(g, w, output_padding=open_ends, **geometry)
    assert back.shape == shape
    np.testing.assert_allclose(np.sum(back * x), np.sum(g * y), rtol=1e-11)


@pytest.mark.parametrize("padding", [0, 1, (0, 2)])
def test_output_padding_beyond_the_stride(padding: Any) -> None:
    """A dilation allows it: rows that were cut off come back, and zeros after them."""
    rng = np.random.default_rng(15)
    x, w = rng.normal(size=(2, 2, 4, 5)), rng.normal(size=(2, 3, 2, 2))
    given: dict[str, Any] = {"stride": (1, 2), "dilation": 4}
    pad = (padding, padding) if isinstance(padding, int) else padding
    whole = nn.conv_transpose2d(x, w, **given)
    whole = np.pad(whole, ((0, 0), (0, 0), (0, 3), (0, 3)))
    height, width = (whole.shape[2 + i] - 3 - 2 * pad[i] + 3 for i in (0, 1))
    wanted = whole[:, :, pad[0] : pad[0] + height, pad[1] : pad[1] + width]

    def f(x: Any, w: Any) -> Any:
        return nn.conv_transpose2d(x, w, None, padding=padding, output_padding=3, **given)

    y, pull = npgrad.vjp(f, x, w)
    np.testing.assert_allclose(y, wanted, rtol=1e-12)
    g, t, u = rng.normal(size=y.shape), rng.normal(size=x.shape), rng.normal(size=w.shape)
    gx, gw = pull(g)
    np.testing.assert_allclose(np.sum(gx * t), np.sum(g * f(t, w)), rtol=1e-10)
    np.testing.assert_allclose(np.sum(gw * u), np.sum(g * f(x, u)), rtol=1e-10)


def test_same_padding_keeps_the_extent() -> None:
    for extent in (5, 6, 7):
        for k in (1, 2, 3, 4):
            for stride in (1, 2, 3):
                x = np.ones((1, 1, extent, extent))
                y = nn.conv2d(x, np.ones((1, 1, k, k)), stride=stride, padding="same")
                assert y.shape[2:] == (-(-extent // stride),) * 2


def test_conv1d_is_numpys_correlate() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=30), rng.normal(size=5)
    got = nn.conv1d(x[None], w[None, None])[0]
    np.testing.assert_allclose(got, np.correlate(x, w, "valid"), rtol=1e-12)


def test_average_of_maximum_free_windows() -> None:
    x = np.arange(36.0).reshape(6, 6)
    np.testing.assert_array_equal(nn.max_pool2d(x, 3), [[14, 17], [32, 35]])
    np.testing.assert_array_equal(nn.avg_pool2d(x, 3), [[7, 10], [25, 28]])
    padded = nn.avg_pool2d(np.ones((2, 2)), 2, 2, 1)
    np.testing.assert_array_equal(padded, np.full((2, 2), 0.25))
    g = npgrad.grad(lambda x: np.sum(nn.avg_pool2d(x, 3, 1)))(np.zeros((4, 4)))
    edge = np.array([1, 2, 2, 1])
    np.testing.assert_allclose(g, np.outer(edge, edge) / 9)


@pytest.mark.parametrize("planes", [1, 1100])  # the reference, and enough for the kernel
def test_padding_of_max_pool2d_takes_no_share(planes: int) -> None:
    """A window of -inf alone: its entry gets all of the cotangent, the padding round it nothing."""
    x = np.full((planes, 2, 2), -np.inf)
    g = np.random.default_rng(14).normal(size=x.shape)
    out, pull = npgrad.vjp(lambda x: nn.max_pool2d(x, 2, 2, 1), x)
    np.testing.assert_array_equal(out, x)
    np.testing.assert_array_equal(pull(g)[0], g)


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8"])
def test_results_have_the_machines_byte_order(dtype: str, size: int) -> None:
    x = np.linspace(-2, 2, size).astype(dtype)
    names = "relu leaky_relu sigmoid silu gelu gelu_erf erf softplus softmax log_softmax"
    for f in (getattr(nn, name) for name in names.split()):
        found, wanted = f(x), f(x.astype(x.dtype.newbyteorder("=")))
        assert found.dtype == wanted.dtype and found.dtype.isnative
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(found.dtype).eps)
        slope = npgrad.vjp(f, x)[1](np.ones_like(found))[0]
        assert slope.dtype == x.dtype  # a gradient is of its input's type, byte order included
