"""Depthwise 3x3 filters without borders: every place of the filter, and infinities at the sides."""

from __future__ import annotations

import numpy as np
import pytest

from npgrad.kernels import _beside, conv2d
from npgrad.kernels.conv2d import Geometry

pytest.importorskip("numba")


@pytest.mark.parametrize("dilation", [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("rows", [(0, 0), (1, 1), (2, 0), (0, 3), (5, 4)])
@pytest.mark.parametrize("image", [(7, 7), (5, 9), (9, 1), (13, 4)])
@pytest.mark.parametrize("channels", [1, 2])
def test_equals_the_reference(
    dilation: tuple[int, int], rows: tuple[int, int], image: tuple[int, int], channels: int
) -> None:
    rng = np.random.default_rng(61)
    x, w = rng.normal(size=(2, 3 * channels, *image)), rng.normal(size=(3, channels, 3, 3))
    for left in range(2 * dilation[1] + 1):
        geometry = Geometry((1, 1), *rows, left, 2 * dilation[1] - left, dilation, 3)
        size = conv2d.out_size(x.shape, w.shape, geometry)
        assert size[0] >= 1
        assert _beside.suits(x.shape, w.shape, geometry, size)
        found = _beside.forward(x, w, geometry, size)
        want = conv2d.conv2d_reference(x, w, geometry)
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)
        g = rng.normal(size=want.shape)
        found = _beside.grad_weight(g, x, w.shape, geometry)
        want = conv2d.conv2d_grad_weight_reference(g, x, w.shape, geometry)
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)


def test_what_is_not_of_the_kind() -> None:
    plain = Geometry((1, 1), 1, 1, 1, 1, (1, 1), 4)
    image, filters = (1, 4, 8, 8), (4, 1, 3, 3)
    assert _beside.suits(image, filters, plain, (8, 8))
    assert not _beside.suits(image, filters, plain._replace(right=0), (8, 7))
    assert not _beside.suits(image, filters, plain._replace(stride=(2, 1)), (4, 8))
    assert not _beside.suits(image, (8, 1, 3, 3), plain, (8, 8))
    assert not _beside.suits(image, (4, 1, 3, 1), plain, (8, 10))


def test_an_infinity_at_the_end_of_a_row_stays_there() -> None:
    rng = np.random.default_rng(62)
    x, w = rng.normal(size=(4, 64, 9, 9)), rng.normal(size=(64, 1, 3, 3))
    geometry = Geometry((1, 1), 1, 1, 1, 1, (1, 1), 64)
    x[0, 0, 3, 8] = np.inf
    g = rng.normal(size=x.shape)
    found = conv2d.conv2d(x, w, geometry)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, conv2d.conv2d_reference(x, w, geometry), rtol=1e-11)
        found = conv2d.conv2d_grad_weight(g, x, w.shape, geometry)
        want = conv2d.conv2d_grad_weight_reference(g, x, w.shape, geometry)
    np.testing.assert_allclose(found, want, rtol=1e-9)


def test_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(63)
    x, w = (
        rng.normal(size=(5, 64, 14, 14)).astype("f4"),
        rng.normal(size=(64, 1, 3, 3)).astype("f4"),
    )
    geometry, results = Geometry((1, 1), 1, 1, 1, 1, (1, 1), 64), []
    for count in (1, 2, 5):
        monkeypatch.setattr("npgrad.kernels._threads._count", count)
        y = conv2d.conv2d(x, w, geometry)
        results.append((y, conv2d.conv2d_grad_weight(y, x, w.shape, geometry)))
    for y, gw in results[1:]:
        np.testing.assert_array_equal(y, results[0][0])
        np.testing.assert_array_equal(gw, results[0][1])
