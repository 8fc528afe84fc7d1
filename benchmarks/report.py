"""Figures as text: a block a workload while the run goes on, a table at its end, and JSON."""

from __future__ import annotations

import datetime
import math
import os
import platform
import statistics
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Measured, Outcome

MEGA = 2**20


def block(outcome: Outcome) -> str:
    """Everything measured of one workload."""
    bar = outcome.bar
    lines = [
        f"{outcome.workload}: {outcome.title}",
        f"  {'':9}{'median':>12}{'x forward':>11}{'in one call':>14}{'process peak':>14}"
        f"{'deviation':>11}",
    ]
    for found in outcome.measured:
        if found.refused:
            lines.append(f"  {found.library:9}  {found.refused}")
            continue
        compiled = f"  compiled in {found.compiling:.2f} s" if found.compiling else ""
        lines.append(
            f"  {found.library:9}{found.seconds * 1e3:9.4f} ms{found.ratio:10.2f}x"
            f"{found.memory / MEGA:+10.1f} MiB{found.peak / MEGA:10.0f} MiB"
            f"{_deviation(found)}{_verdict(found, outcome)}{compiled}"
        )
    lines.append(f"  bar for npgrad: {bar.limit:g} {bar.unit}")
    return "\n".join(lines)


def _deviation(found: Measured) -> str:
    """NumPy's forward has no gradient to deviate."""
    return " " * 11 if math.isnan(found.error) else f"{found.error:11.1e}"


def _verdict(found: Measured, outcome: Outcome) -> str:
    """The figure that npgrad's bar speaks of, and whether it is met."""
    if found.library != "npgrad":
        return ""
    got = found.in_unit(outcome.bar.unit, outcome.items)
    if math.isnan(got):
        return "  right"
    return f"  {got:.3g} {outcome.bar.unit}: {'met' if got <= outcome.bar.limit else 'MISSED'}"


def table(outcomes: list[Outcome], libraries: list[str]) -> str:
    """All workloads, ratios over NumPy's forward, as Markdown."""
    peers = [name for name in libraries if name not in ("numpy", "npgrad")]
    titles = ["by hand (NumPy)" if name == "hand" else name for name in peers]
    head = ["value and gradient", "NumPy forward ms", *titles, "npgrad", "bar", "", "by CPU time"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for outcome in outcomes:
        forward = outcome.measured[0]
        cells = [outcome.title, f"{forward.seconds * 1e3:.4g}"]
        cells += [_ratio(outcome.of(name)) for name in [*peers, "npgrad"]]
        cells += [
            f"{outcome.bar.limit:g} {outcome.bar.unit}",
            _met(outcome),
            _by_processor(outcome),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _by_processor(outcome: Outcome) -> str:
    """The ratio in processor time, which other work on the machine disturbs less."""
    found = outcome.of("npgrad")
    if found is None or not found.cpu_ratios:
        return ""
    return f"{statistics.median(found.cpu_ratios):.3g}"


def memory_table(outcomes: list[Outcome], libraries: list[str]) -> str:
    """MiB that one call needs above the resting process, as Markdown."""
    head = ["MiB above the resting process", *libraries]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for outcome in outcomes:
        cells = [outcome.title]
        for name in libraries:
            found = outcome.of(name)
            missing = found is None or math.isnan(found.memory)
            cells.append("" if missing else f"{found.memory / MEGA:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ratio(found: Measured | None) -> str:
    if found is None:
        return ""
    if found.refused:
        return "wrong" if found.refused.startswith("wrong") else _short(found.refused)
    return f"{found.ratio:.3g}"


def _short(refused: str) -> str:
    """One word for a cell; the block above the table has the whole reason."""
    if refused.startswith("no answer"):
        return "too slow"
    if refused.endswith("not written by hand"):
        return ""
    return "-" if "compiled" in refused else "refuses"


def _met(outcome: Outcome) -> str:
    found = outcome.of("npgrad")
    if found is None or found.refused:
        return ""
    got = found.in_unit(outcome.bar.unit, outcome.items)
    word = "met" if got <= outcome.bar.limit else "MISSED"
    return word if outcome.bar.unit == "x forward" else f"{got:.3g} {word}"


def machine() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        named = [s for s in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in s]
        model = named[0].split(":", 1)[1].strip() if named else ""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    versions = {}
    for name in ("npgrad", "numpy", "scipy", "numba", "autograd", "mygrad", "torch", "jax"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = ""
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "python": sys.version.split()[0],
        "blas": f"{blas['name']} {blas['version']}",
        "versions": versions,
    }


def machine_line(facts: dict[str, Any]) -> str:
    """The same for people."""
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items() if v)
    return (
        f"{facts['date']}; {facts['cores']} cores of {facts['processor']}, load "
        f"{facts['load']:.1f} at the start; CPython {facts['python']}; {facts['blas']}; {versions}"
    )


def as_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Every sample, so that another statistic can be taken later; no NaN, which JSON lacks."""
    rows = [asdict(outcome) for outcome in outcomes]
    for row in rows:
        for found in row["measured"]:
            for key, value in found.items():
                if isinstance(value, float) and math.isnan(value):
                    found[key] = None
    return rows
