"""Every kernel once, on small shapes: what `compute-sanitizer` (memcheck, racecheck) runs; ragged sizes, so that guards are met."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import pytest

from npgrad.cuda import launch, simulated

from . import checks
from .test_gpu import get, put

pytestmark = pytest.mark.gpu


def test_rows() -> None:
    for shape in ((37, 7), (37, 128), (5, 1000), (5, 1023), (3, 4096), (2, 16384), (2, 16500)):
        checks.check_layer_norm(shape, "float32", put, get)
        checks.check_softmax(shape, "float32", put, get)
    checks.check_layer_norm((9, 1000), "bfloat16", put, get, deterministic=True)
    checks.check_rms_norm((9, 1000), "float16", put, get)
    checks.check_softmax((9, 1000), "bfloat16", put, get, log=True)


def test_planes() -> None:
    checks.check_group_norm((3, 6, 5, 3), 3, "float32", put, get)
    checks.check_group_norm((2, 8, 14, 14), 4, "float32", put, get, deterministic=True)
    checks.check_batch_norm((3, 5, 7, 3), "float32", put, get)
    checks.check_batch_norm((100, 37), "float32", put, get)


def test_scatter() -> None:
    for spread in ("uniform", "skewed", "equal"):
        checks.check_index_add(1500, 20, 77, spread, put, get)
        checks.check_index_add(3000, 0, 500, spread, put, get, deterministic=True)
        checks.check_scatter_add(9, 130, 333, spread, put, get)


def test_conv2d() -> None:
    checks.check_conv2d(2, (13, 9, 11), 21, (3, 3), put, get, padding=1)
    checks.check_conv2d(2, (5, 12, 10), 9, (3, 3), put, get, stride=2, padding=1)
    checks.check_conv2d(2, (12, 10, 8), 24, (3, 3), put, get, padding=1, groups=12)


def test_conv_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """The products on the host: racecheck calls what cuBLAS's own kernels do a race, or crashes."""
    import cupy

    def on_host(_: Any, product: Any, arrays: Any, *rest: Any) -> None:
        host = tuple(cupy.asnumpy(array) for array in arrays)
        simulated.gemm(product, host, *rest)
        arrays[2].set(host[2])

    monkeypatch.setattr(launch.CupyBackend, "gemm", on_host)
    for mode in ("tf32x3", "tf32", "bfloat16"):
        checks.check_conv_products(
            3, (72, 9, 11), 40, (3, 3), mode, put, get, padding=(1, 2), dilation=(1, 2)
        )
    checks.check_conv_of_planes(put, get)


def test_fuse() -> None:
    checks.check_fuse_broadcast(put, get)
    checks.check_fuse("tanh", "float32", put, get, size=4000)


def test_cross_entropy() -> None:
    checks.check_cross_entropy(37, 10, put, get)
