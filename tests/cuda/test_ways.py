"""Which way a convolution on a device takes: products of rows or planes, or tiles (no GPU)."""

from __future__ import annotations

from typing import Any

import pytest

from npgrad.cuda.kernels import conv_products
from npgrad.cuda.kernels.conv2d_grad_input import output_size


def way(images: int, shape: Any, outputs: int, kernel: Any, mode: str, **options: Any) -> Any:
    stride, padding = options.get("stride", (1, 1)), options.get("padding", (0, 0))
    size = output_size(shape[1:], kernel, stride, padding, (1, 1))
    y = (images, outputs, *size)
    groups = options.get("groups", 1)
    return conv_products.way((images, *shape), y, kernel, stride, padding, groups, mode)


@pytest.mark.parametrize("mode", ["tf32x3", "tf32", "float16", "bfloat16"])
def test_many_channels_go_by_rows(mode: str) -> None:
    assert way(32, (256, 14, 14), 256, (3, 3), mode, padding=(1, 1)) == "rows"
    assert way(32, (512, 7, 7), 2048, (1, 1), mode) == "rows"


@pytest.mark.parametrize(
    ("images", "shape", "outputs", "kernel", "options"),
    [
        (32, (64, 56, 56), 64, (3, 3), {"padding": (1, 1)}),  # few channels
        (32, (256, 28, 28), 256, (3, 3), {"stride": (2, 2)}),
        (32, (256, 28, 28), 256, (3, 3), {"groups": 2}),
        (32, (260, 28, 28), 260, (3, 3), {}),  # 16 bytes are no whole number of channels
        (1, (256, 7, 7), 256, (3, 3), {}),  # small
        (32, (256, 8, 200), 256, (3, 3), {}),  # wider than a block
        (32, (256, 28, 28), 256, (7, 7), {}),  # more taps than a sum holds
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["tf32x3", "tf32", "float16", "bfloat16"])
def test_others_go_by_tiles(
    images: int, shape: Any, outputs: int, kernel: Any, options: Any, mode: str
) -> None:
    assert way(images, shape, outputs, kernel, mode, **options) is None


def test_tf32_products_of_one_tap_take_planes_as_they_lie() -> None:
    assert way(32, (256, 56, 56), 64, (1, 1), "tf32") == "planes"
    assert way(32, (256, 56, 56), 64, (1, 1), "tf32x3") is None
    assert way(32, (256, 56, 56), 64, (1, 1), "tf32", padding=(1, 1)) is None
    # planes that are no whole number of 16 bytes
    assert way(32, (256, 55, 55), 64, (1, 1), "tf32") is None


def test_sums_end_early_where_float32_is_asked_for() -> None:
    shapes = (32, 128, 28, 28), (32, 128, 28, 28)
    same = (3, 3), (1, 1), (1, 1)
    exact = conv_products._weight_plan(*shapes, *same, True)
    assert exact.length <= conv_products.LONGEST
    assert exact.chunks <= conv_products.WIDEST
    rows = 32 * exact.of_g.positions
    assert exact.chunks * exact.segments * exact.length >= rows
    assert conv_products._weight_plan(*shapes, *same, False).length > conv_products.LONGEST
    large = (512, *shapes[0][1:]), (512, *shapes[1][1:])
    plan = conv_products._weight_plan(*large, *same, True)
    assert plan.segments > 1
    assert plan.chunks <= conv_products.WIDEST  # memory of the partial sums is bounded
