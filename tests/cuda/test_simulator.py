"""Kernels and their launchers in Numba's CUDA simulator: random shapes and edge cases, no GPU needed.

The simulator has to be switched on before Numba is imported, so the cases run in a process of their own: without it this file starts itself again
there (one test a group, so that a failure names its kernel); inside it the cases are ordinary tests.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

INSIDE = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
GROUPS = ["rows", "long", "planes", "scatter", "conv", "products", "fuse", "random"]

if not INSIDE:

    @pytest.mark.parametrize("group", GROUPS)
    def test_in_simulator(group: str) -> None:
        root = Path(__file__).parents[2]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "",
            "-k",
            f"test_{group}",
            __file__,
        ]
        done = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]

else:
    import numpy as np
    from hypothesis import given, settings
    from hypothesis import strategies as st

    from . import checks

    def put(x: Any) -> Any:
        return x

    get = put

    @pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
    @pytest.mark.parametrize("shape", [(5, 1), (3, 7), (17, 16), (2, 3, 128)])
    def test_rows(shape: tuple[int, ...], kind: str) -> None:
        checks.check_layer_norm(shape, kind, put, get)
        checks.check_rms_norm(shape, kind, put, get)
        checks.check_softmax(shape, kind, put, get)
        checks.check_softmax(shape, kind, put, get, log=True)

    def test_rows_of_a_block_and_without_weight() -> None:
        checks.check_layer_norm((5, 260), "float32", put, get)
        checks.check_layer_norm((3, 33), "float32", put, get, weight=False)
        checks.check_layer_norm((4, 12), "float32", put, get, deterministic=True)
        checks.check_softmax((2, 300), "float32", put, get)

    @pytest.mark.parametrize("kind", ["float16", "bfloat16"])
    def test_rows_that_wait_packed(kind: str) -> None:
        checks.check_layer_norm(
            (21, 512), kind, put, get
        )  # 16 rows a block, some blocks with fewer
        checks.check_rms_norm((7, 512), kind, put, get)

    @pytest.mark.parametrize("kind", ["float16", "bfloat16"])
    def test_conv_of_sixteen_bits(kind: str) -> None:
        checks.check_conv2d_sixteen(kind, put, get)

    def test_conv_kinds_that_do_not_fit_are_refused() -> None:
        x = np.zeros((1, 1, 3, 3), np.float16)
        with pytest.raises(TypeError, match="kind 'bfloat16' was given arrays of float16, float16"):
            checks.conv2d_grad_weight.backward(x, x, (1, 1), kind="bfloat16")

    @pytest.mark.parametrize("shape", [(1, 1), (3, 10), (9, 33), (8, 1000)])
    def test_rows_with_labels(shape: tuple[int, int]) -> None:
        checks.check_cross_entropy(*shape, put, get)
        checks.check_cross_entropy(*shape, put, get, "int32")

    def test_long_rows() -> None:
        checks.check_softmax((1, 16500), "float32", put, get)
        checks.check_rms_norm((1, 16388), "float32", put, get)

    @pytest.mark.parametrize(
        ("shape", "groups"), [((2, 4, 4, 4), 2), ((2, 6, 5, 3), 3), ((2, 3, 1), 3)]
    )
    def test_planes_group_norm(shape: tuple[int, ...], groups: int) -> None:
        checks.check_group_norm(shape, groups, "float32", put, get)
        checks.check_group_norm(shape, groups, "float32", put, get, deterministic=True)

    @pytest.mark.parametrize("shape", [(40, 6), (37, 8), (3, 4, 4, 4), (9, 5, 1, 7)])
    def test_planes_batch_norm(shape: tuple[int, ...]) -> None:
        checks.check_batch_norm(shape, "float32", put, get)

    @pytest.mark.parametrize("spread", ["uniform", "skewed", "equal"])
    @pytest.mark.parametrize(
        ("count", "width", "rows"),
        [(700, 4, 50), (600, 64, 30), (90, 7, 20), (1500, 0, 300), (300, 20, 1)],
    )
    def test_scatter_index_add(count: int, width: int, rows: int, spread: str) -> None:
        checks.check_index_add(
            count, width, rows, spread, put, get, deterministic=spread == "skewed"
        )

    @pytest.mark.parametrize("spread", ["uniform", "skewed", "equal"])
    def test_scatter_rows(spread: str) -> None:
        checks.check_scatter_add(3, 16, 40, spread, put, get)
        checks.check_scatter_add(5, 7, 33, spread, put, get, deterministic=True)

    def test_scatter_gather_and_embedding() -> None:
        checks.check_gather_axis((3, 5, 4), 1, 6, put, get)
        checks.check_embedding((2, 5), 9, 3, put, get)

    @pytest.mark.parametrize(
        ("shape", "outputs", "kernel", "which", "options"),
        [
            ((3, 2, 3), 2, (2, 2), "input bias", {"padding": 1}),
            ((3, 5, 5), 4, (3, 3), "weight", {"stride": 2, "padding": 1}),
            ((4, 2, 2), 4, (1, 1), "input weight", {}),
            ((4, 5, 5), 4, (3, 3), "input weight", {"padding": 1, "groups": 4}),
            (
                (4, 5, 6),
                8,
                (3, 2),
                "input weight",
                {"stride": (2, 1), "dilation": (1, 2), "groups": 2},
            ),
        ],
        ids=str,
    )
    def test_conv2d(shape: Any, outputs: int, kernel: Any, which: str, options: Any) -> None:
        checks.check_conv2d(1, shape, outputs, kernel, put, get, which=which, **options)

    @pytest.mark.parametrize("mode", ["tf32x3", "tf32", "float16", "bfloat16"])
    def test_products_of_convolutions(mode: str) -> None:
        checks.check_conv_products(2, (8, 4, 5), 16, (3, 3), mode, put, get, padding=(1, 1))

    def test_products_of_channels_of_all_sizes() -> None:
        same = {"padding": (1, 0), "spread": 55}
        checks.check_conv_products(2, (8, 4, 4), 8, (2, 1), "tf32x3", put, get, **same)

    def test_products_of_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks.conv_products, "LONGEST", 8)
        monkeypatch.setattr(checks.conv_products, "WIDEST", 3)
        checks.conv_products._weight_plan.cache_clear()
        checks.check_conv_products(2, (16, 5, 4), 8, (2, 2), "tf32x3", put, get, padding=(0, 1))
        checks.conv_products._weight_plan.cache_clear()

    def test_products_of_planes() -> None:
        checks.check_conv_of_planes(put, get)

    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(st.data())
    def test_random_products(data: st.DataObject) -> None:
        def one(low: int, high: int) -> int:
            return data.draw(st.integers(low, high))

        kernel, dilation = (one(1, 3), one(1, 3)), (one(1, 2), one(1, 2))
        reach = [(kernel[i] - 1) * dilation[i] for i in range(2)]
        padding = one(0, reach[0] + 1), one(0, reach[1] + 1)
        size = [max(1, one(1, 6) + reach[i] - 2 * padding[i]) for i in range(2)]
        mode = data.draw(st.sampled_from(["tf32x3", "tf32", "bfloat16"]))
        checks.check_conv_products(
            one(1, 2), (8 * one(1, 2), *size), 8 * one(1, 2), kernel, mode, put, get,
            padding=padding, dilation=dilation,
        )  # fmt: skip

    @pytest.mark.parametrize("name", [*checks.UNARY, *checks.BINARY, *checks.TESTS])
    def test_fuse(name: str) -> None:
        checks.check_fuse(name, "float32", put, get)

    def test_fuse_broadcast_and_nan() -> None:
        checks.check_fuse_broadcast(put, get)
        checks.check_fuse_nan(put, get)

    @settings(max_examples=6, deadline=None, derandomize=True)
    @given(st.integers(1, 9), st.integers(2, 140), st.sampled_from(["float32", "bfloat16"]))
    def test_random_rows(rows: int, columns: int, kind: str) -> None:
        checks.check_layer_norm((rows, columns), kind, put, get)
        checks.check_softmax((rows, columns), kind, put, get)

    @settings(max_examples=6, deadline=None, derandomize=True)
    @given(
        st.integers(1, 900),
        st.integers(0, 40),
        st.integers(1, 60),
        st.sampled_from(["uniform", "skewed"]),
    )
    def test_random_index_add(count: int, width: int, rows: int, spread: str) -> None:
        checks.check_index_add(count, width, rows, spread, put, get)
