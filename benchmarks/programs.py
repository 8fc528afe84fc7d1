"""``python -m benchmarks.programs``: the table of docs/programs.md, from a run.

Programs of public packages (tests/programs_public), unchanged, in npgrad and in its peers, each
library in a process of its own. What is not installed is left out::

    pip install -e ".[test,programs,bench]"
    python -m benchmarks.programs --json benchmarks/results/programs.json --page docs/programs.md

Further environments, for packages that cannot live in one, add to what the file holds already.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs_public import registry

LIBRARIES = ("npgrad", "autograd", "mygrad", "jax")
MARK = "<!-- table: python -m benchmarks.programs -->"


def by_npgrad(f: Callable[..., Any], x: np.ndarray, weight: np.ndarray) -> Any:
    """Gradient by npgrad."""
    import npgrad

    return npgrad.grad(lambda x: np.sum(weight * f(x)))(x)


def by_autograd(f: Callable[..., Any], x: np.ndarray, weight: np.ndarray) -> Any:
    """Gradient by autograd."""
    import autograd
    import autograd.numpy as anp

    return autograd.grad(lambda x: anp.sum(weight * f(x)))(x)


def by_mygrad(f: Callable[..., Any], x: np.ndarray, weight: np.ndarray) -> Any:
    """Gradient by mygrad; a plain result has no gradient to ask for."""
    import mygrad

    leaf = mygrad.tensor(x)
    out = f(leaf)
    if not isinstance(out, mygrad.Tensor):
        raise TypeError("what comes back is no tensor")
    mygrad.sum(weight * out).backward()
    if leaf.grad is None:
        raise TypeError("no gradient reached the argument")
    return leaf.grad


def by_jax(f: Callable[..., Any], x: np.ndarray, weight: np.ndarray) -> Any:
    """Gradient by jax, in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.grad(lambda x: jax.numpy.sum(weight * f(x)))(x)


WITH_RULES = (
    "sea_water",
    "wavelet",
    "own_gradients",
    "alignment_cost",
)  # tests/programs_public/rules.py


BY = {"npgrad": by_npgrad, "autograd": by_autograd, "mygrad": by_mygrad, "jax": by_jax}


def verdict(library: str, f: Callable[..., Any], case: registry.Case, expected: Any) -> str:
    """``right``, ``wrong``, or what was raised."""
    weight = registry.weights(case.f(case.x.copy()))
    try:
        found = BY[library](f, case.x.copy(), weight)
    except TimeoutError:
        raise
    except Exception as error:
        return f"refused: {type(error).__name__}"
    return "right" if registry.agrees(found, expected, case.tolerance) else "wrong"


def fastest(call: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of one call: the least of a few."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(library: str, name: str) -> dict[str, Any]:
    """What one library makes of one program."""
    program = registry.load()[name]
    try:
        case = program.make()
        expected = registry.reference(case)
    except ImportError as error:
        return {"missing": str(error)}
    if library != "npgrad":
        return {"verdict": verdict(library, case.f, case, expected)}
    import npgrad
    from tests.programs_public.rules import RULES

    if name in RULES:
        RULES[name]()
    alone = verdict("npgrad", case.f, case, expected)
    wrapped = npgrad.wrap(case.f, also=program.also)
    found = {"alone": alone, "verdict": verdict("npgrad", wrapped, case, expected)}
    found["left"] = registry.left_behind(program.also)
    if found["verdict"] == "right":
        weight = registry.weights(case.f(case.x.copy()))
        plain = fastest(lambda: case.f(case.x.copy()))
        found["ratio"] = fastest(lambda: by_npgrad(wrapped, case.x.copy(), weight)) / plain
        found["plain_us"] = plain * 1e6
    return found


def late(signum: int, frame: Any) -> None:
    """End a program that takes too long."""
    raise TimeoutError


def work(library: str, names: list[str], limit: int) -> None:
    """In a process of its own: one line of JSON a program."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    for name in names:
        signal.alarm(limit)
        try:
            found = measure(library, name)
        except TimeoutError:
            found = {"verdict": "refused: too slow"}
        finally:
            signal.alarm(0)
        print("\n@" + json.dumps([name, found]), flush=True)


def run(library: str, names: list[str], limit: int) -> dict[str, Any]:
    """Every program in one library; a process that dies is started again after its victim."""
    results: dict[str, Any] = {}
    while left := [name for name in names if name not in results]:
        command = [sys.executable, "-m", "benchmarks.programs", "--work", library]
        command += ["--limit", str(limit), "--only", *left]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("@"):
                name, found = json.loads(line[1:])
                results[name] = found
        if done.returncode:
            victim = next(name for name in left if name not in results)
            results[victim] = {"verdict": "refused: the process died"}
    return results


def versions() -> dict[str, str]:
    """The version of each package that a program names."""
    owners = importlib.metadata.packages_distributions()
    packages = {program.package for program in registry.load().values()}
    return {
        package: importlib.metadata.version(owners[package][0])
        for package in sorted(packages)
        if package in owners
    }


def cell(verdict: str | None) -> str:
    """A verdict as the table shows it."""
    return "" if verdict is None else verdict.partition(":")[0]


def rows(content: dict[str, Any]) -> list[str]:
    """The table, and the tally under it."""
    programs = registry.load()
    lines = [
        "| package | program | npgrad | autograd | mygrad | jax | time | remark |",
        "|---|---|---|---|---|---|---|---|",
    ]
    tally = {library: dict.fromkeys(("right", "wrong", "refused"), 0) for library in LIBRARIES}
    for name, found in content["programs"].items():
        if name not in programs or "verdict" not in found.get("npgrad", {}):
            continue
        program = programs[name]
        verdicts = {library: found.get(library, {}).get("verdict") for library in LIBRARIES}
        for library, said in verdicts.items():
            if said is not None:
                tally[library][cell(said)] += 1
        ours = found["npgrad"]
        said = cell(ours["verdict"])
        if said == "right" and ours["alone"] != "right":
            said = "right, `also`"
        if said.startswith("right") and name in WITH_RULES:
            said = "right, rule"
        remark = ours["verdict"].partition(": ")[2]
        if program.refuses and said == "refused":
            remark = f"{remark}: {program.refuses}"
        ratio = f"{ours['ratio']:.1f}" if "ratio" in ours else ""
        package = f"{program.package} {content['versions'].get(program.package, '')}"
        peers = " | ".join(cell(verdicts[library]) for library in LIBRARIES[1:])
        lines.append(f"| {package} | {program.does} | {said} | {peers} | {ratio} | {remark} |")
    lines += ["", "| of them | npgrad | autograd | mygrad | jax |", "|---|---|---|---|---|"]
    for kind in ("right", "wrong", "refused"):
        lines.append(f"| {kind} | " + " | ".join(str(t[kind]) for t in tally.values()) + " |")
    return lines


def main() -> None:
    """Run, write the figures, and the table into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs by name")
    parser.add_argument("--libs", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--limit", type=int, default=60, help="seconds for one program")
    parser.add_argument("--json", type=Path, help="figures; what it holds already is kept")
    parser.add_argument("--page", type=Path, help="the page whose table is written")
    parser.add_argument("--work", choices=LIBRARIES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.only or list(registry.load())
    names.sort(key=WITH_RULES.__contains__)  # last: a rule of a Python function slows recording
    if asked.work:
        work(asked.work, names, asked.limit)
        return
    content: dict[str, Any] = {"versions": {}, "programs": {}}
    if asked.json and asked.json.exists():
        content = json.loads(asked.json.read_text())
    content["versions"].update(versions())
    for library in asked.libs:
        for name, found in run(library, names, asked.limit).items():
            if "missing" not in found:
                content["programs"].setdefault(name, {})[library] = found
    order = {name: i for i, name in enumerate(registry.load())}
    kept = sorted((name for name in content["programs"] if name in order), key=order.__getitem__)
    content["programs"] = {name: content["programs"][name] for name in kept}
    table = "\n".join(rows(content))
    if asked.json:
        asked.json.write_text(json.dumps(content, indent=1) + "\n")
    if asked.page:
        head = asked.page.read_text().partition(MARK)[0]
        asked.page.write_text(f"{head}{MARK}\n\n{table}\n")
    else:
        print(table)


if __name__ == "__main__":
    main()
