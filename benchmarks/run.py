"""``python -m benchmarks.run``: measure the workloads in every library that is installed.

Examples::

    python -m benchmarks.run                                       everything, 9 rounds
    python -m benchmarks.run --only chain_200 rosenbrock --rounds 25
    python -m benchmarks.run --libs npgrad torch --json figures.json

Tables go to the standard output as Markdown, progress to the standard error. For figures worth
keeping, leave the machine alone while it runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path

from benchmarks import import_time, report
from benchmarks.harness import Outcome, measure
from benchmarks.workloads import ORDER

NOTE = (
    "Ratios are medians over the rounds of time over NumPy's forward in the same round; the last "
    "column is the same for npgrad in processor time, all threads together. By hand: value and "
    "gradient written in NumPy with as few passes as possible and every buffer used again."
)
LIBRARIES = ("npgrad", "hand", "autograd", "mygrad", "torch", "jax")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description="npgrad beside NumPy's forward and its peers on the same workloads",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=[*ORDER, "import"], help=", ".join(ORDER)
    )
    parser.add_argument("--libs", nargs="+", metavar="LIB", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--rounds", type=int, default=9, help="0: check the gradients alone")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one answer")
    parser.add_argument("--json", type=Path, help="write every sample here")
    return parser.parse_args(argv)


def installed(name: str) -> bool:
    """Whether there is a package of that name."""
    return importlib.util.find_spec(name) is not None


def main(argv: list[str] | None = None) -> int:
    """Run, print, write; 1 when npgrad failed a workload or missed a bar."""
    asked = parse(argv)
    names = asked.only or [*ORDER, "import"]
    libraries = [name for name in asked.libs if name == "hand" or installed(name)]
    for name in asked.libs:
        if name not in libraries:
            say(f"{name} is not installed: left out")
    facts = report.machine()
    outcomes: list[Outcome] = []
    imported: list[import_time.Imported] = []

    def keep() -> None:
        """Write what there is: a run that is stopped leaves its figures."""
        if asked.json:
            content = {
                "machine": facts,
                "workloads": report.as_json(outcomes),
                "import": [vars(row) for row in imported],
            }
            asked.json.write_text(json.dumps(content, indent=1) + "\n")

    for name in names:
        if name == "import":
            continue
        outcomes.append(
            measure(
                name, libraries, asked.rounds, asked.limit, lambda text, n=name: say(f"{n}: {text}")
            )
        )
        say("")
        print(report.block(outcomes[-1]), file=sys.stderr, flush=True)
        keep()
    if "import" in names and asked.rounds:
        say("import: fresh processes")
        imported += import_time.measure([n for n in libraries if n != "hand"], asked.rounds)
        say("")
        keep()
    print(report.machine_line(facts), end="\n\n")
    if outcomes and asked.rounds:
        print(report.table(outcomes, libraries), end="\n\n")
        print(NOTE, end="\n\n")
        print(report.memory_table(outcomes, ["numpy", *libraries]), end="\n\n")
    if imported:
        print(import_time.table(imported))
    return 0 if all(passed(outcome) for outcome in outcomes) else 1


def passed(outcome: Outcome) -> bool:
    """Whether npgrad, if it took part, gave the right gradient within its bar."""
    found = outcome.of("npgrad")
    if found is None or not (found.samples or found.refused):  # --rounds 0
        return True
    return not found.refused and found.in_unit(outcome.bar.unit, outcome.items) <= outcome.bar.limit


def say(text: str) -> None:
    """Show progress on one line of a terminal; elsewhere only what is worth a line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
