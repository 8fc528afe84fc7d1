"""What ``import npgrad`` adds to ``import numpy``, and to NumPy code that is not recorded.

Each sample is a fresh process that imports NumPy first, then the library, and times a plain chain
of NumPy calls before and after that import.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

LIMIT = 0.030  # seconds that `import npgrad` may add

SCRIPT = """
import json, sys, time
start = time.perf_counter()
import numpy as np
with_numpy = time.perf_counter()
from benchmarks.workloads.chain_200 import loss
x = np.linspace(0.5, 1.0, 10)

def chain():
    times = []
    for _ in range(300):
        t = time.perf_counter()
        loss(x)
        times.append(time.perf_counter() - t)
    return min(times)

before = chain()
begin = time.perf_counter()
__import__(sys.argv[1])
end = time.perf_counter()
print(json.dumps([with_numpy - start, end - begin, before, chain()]))
"""


@dataclass
class Imported:
    """Seconds over the rounds, for one library."""

    library: str
    numpy: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    chain_before: list[float] = field(default_factory=list)
    chain_after: list[float] = field(default_factory=list)
    refused: str = ""


def measure(libraries: list[str], rounds: int) -> list[Imported]:
    """Import each library in fresh processes, one after the other in every round."""
    found = [Imported(name) for name in libraries if name != "numpy"]
    # With bytecode written, as an installed package has it; the first round only writes it.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for number in range(rounds + 1):
        for row in found:
            if row.refused:
                continue
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, row.library],
                capture_output=True,
                text=True,
                check=False,
                env=env,
            )
            if done.returncode:
                row.refused = done.stderr.strip().splitlines()[-1][:160]
                continue
            if not number:
                continue
            times = json.loads(done.stdout)
            columns = (row.numpy, row.added, row.chain_before, row.chain_after)
            for column, value in zip(columns, times, strict=True):
                column.append(value)
    return found


def table(found: list[Imported]) -> str:
    """Show the figures as Markdown."""
    lines = [
        "| import, after NumPy | import numpy ms | adds ms | bar | plain chain after/before |",
        "|---|---|---|---|---|",
    ]
    for row in found:
        if row.refused:
            lines.append(f"| {row.library} | | {row.refused} | | |")
            continue
        added = statistics.median(row.added)
        bar = ""
        if row.library == "npgrad":
            bar = f"<= {LIMIT * 1e3:.0f} {'met' if added <= LIMIT else 'MISSED'}"
        slower = statistics.median(row.chain_after) / statistics.median(row.chain_before)
        lines.append(
            f"| {row.library} | {statistics.median(row.numpy) * 1e3:.0f} | {added * 1e3:.1f} "
            f"| {bar} | {slower:.2f} |"
        )
    return "\n".join(lines)
