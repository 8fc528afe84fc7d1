"""The `gpu` marker, and its skip where there is no GPU."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU with CuPy and numba-cuda")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from npgrad import cuda

    usable = cuda.status()["usable"]
    if usable != "yes":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"no GPU kernels here ({usable})"))
