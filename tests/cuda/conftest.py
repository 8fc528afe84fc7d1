"""The `gpu` marker, its skip where there is no GPU, and what the samples on the device came to."""

from __future__ import annotations

from collections import Counter
from typing import Any

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


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = Counter(
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", [])
        if name == "device" and report.when == "call"
    )
    if found:
        terminalreporter.section("samples on the device")
        for outcome, count in found.most_common():
            terminalreporter.write_line(f"{count:5d} {outcome}")
