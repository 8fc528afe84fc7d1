"""npgrad.nn against torch on the CPU, float32, all cores for both.

Each library runs in a process of its own; rounds are interleaved (npgrad, torch, npgrad, ...). The
table shows medians over all runs and the fastest run of each, on the wall, and medians of processor
time, whose ratios are the steadier ones on a busy machine. Speed is torch's time over ours.

    python -m benchmarks.nn [--match conv2d] [--rounds 5] [--seconds 0.1] [--threads 2]

``--save nn-cpu`` writes ``benchmarks/results/nn-cpu.json`` and ``.md``. The whole table takes about
five minutes on two cores, ``--rounds 2 --seconds 0.05`` about two; figures of a machine that does
other work (the load is stated, before and after) are worth little on the wall.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import PAUSE_SECONDS
from benchmarks.nn.cases import CASES

LIBRARIES = ("npgrad", "torch")
RESULTS = Path(__file__).parent.parent / "results"
# Idle workers must sleep: threads that spin between rounds would steal the other library's cores.
QUIET = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
THREADS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Worker:
    """A process that times one library."""

    def __init__(self, library: str, threads: int) -> None:
        limits = dict.fromkeys(THREADS, str(threads)) if threads else {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.nn.worker", library],
            env={**os.environ, **QUIET, **limits},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, case: str, mode: str, seconds: float) -> list[Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([case, mode, seconds]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker stopped at {case} {mode}")
        return list(json.loads(answer))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(names: list[str], rounds: int, seconds: float, threads: int) -> list[dict[str, Any]]:
    """One row a case and mode."""
    workers = {library: Worker(library, threads) for library in LIBRARIES}
    rows = []
    for name in names:
        memory = {k: w.ask(name, "memory", 0)[0] / 2**20 for k, w in workers.items()}
        for mode in ("backward", "both"):
            asked = {library: (worker, mode) for library, worker in workers.items()}
            if CASES[name].handed_on:
                asked["torch, copied"] = workers["torch"], f"{mode}, copied"
            times: dict[str, list[Any]] = {who: [] for who in asked}
            for _ in range(rounds):
                for who, (worker, what) in asked.items():
                    time.sleep(PAUSE_SECONDS)
                    times[who] += worker.ask(name, what, seconds)
            row: dict[str, Any] = {"case": name, "mode": mode, "bar": CASES[name].bar}
            for who, runs in times.items():
                row[who] = {
                    "median": statistics.median(wall for wall, _ in runs) / 1e6,
                    "fastest": min(wall for wall, _ in runs) / 1e6,
                    "processor": statistics.median(busy for _, busy in runs) / 1e6,
                    "peak_mib": memory[who.partition(",")[0]],
                    "runs": len(runs),
                }
            row["speed"] = speeds(row, "torch")
            if "torch, copied" in row:
                row["speed, copied"] = speeds(row, "torch, copied")
            rows.append(row)
            print(line(row), flush=True)
    for worker in workers.values():
        worker.close()
    return rows


KEYS = ("median", "fastest", "processor")
HEAD = (
    "| operation | mode | npgrad ms: median, fastest | torch ms | speed: medians | fastest"
    " | processor time | bar | peak MiB: npgrad, torch |\n|---|---|---|---|---|---|---|---|---|"
)


def speeds(row: dict[str, Any], who: str) -> dict[str, float]:
    """Their time over npgrad's."""
    return {key: row[who][key] / row["npgrad"][key] for key in KEYS}


def reaches(row: dict[str, Any], speed: str = "speed") -> bool:
    """Whether the medians reach the bar, on the wall or in processor time."""
    return speed in row and bool(max(row[speed]["median"], row[speed]["processor"]) >= row["bar"])


def line(row: dict[str, Any]) -> str:
    """A row of the table; two, where torch has two ways."""
    text = _line(row, "torch", "speed", "")
    if "torch, copied" in row:
        text += "\n" + _line(row, "torch, copied", "speed, copied", ", torch's backward()")
    return text


def _line(row: dict[str, Any], who: str, speed_key: str, note: str) -> str:
    ours, theirs, speed = row["npgrad"], row[who], row[speed_key]
    return (
        f"| {row['case']} | {row['mode']}{note} | {ours['median']:.2f}, {ours['fastest']:.2f}"
        f" | {theirs['median']:.2f}, {theirs['fastest']:.2f} | {speed['median']:.2f}"
        f" | {speed['fastest']:.2f} | {speed['processor']:.2f}"
        f" | {row['bar']}{'' if reaches(row, speed_key) else ' **missed**'}"
        f" | {ours['peak_mib']:.0f}, {theirs['peak_mib']:.0f} |"
    )


def count(rows: list[dict[str, Any]]) -> str:
    """How many rows reach their bar."""
    reached = [row for row in rows if reaches(row)]
    others = [row for row in rows if not reaches(row) and reaches(row, "speed, copied")]
    text = f"{len(reached)} of {len(rows)} rows reach their bar"
    return text + f", {len(others)} more beside torch's backward()" * bool(others)


def load() -> float | None:
    """Processes that wanted to run, in the mean over the last minute."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def machine() -> dict[str, Any]:
    """What the figures belong to."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [r for r in cpuinfo.read_text().splitlines() if r.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    packages = ("numpy", "numba", "torch")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_before": load(),
        "python": platform.python_version(),
        **{p: importlib.metadata.version(p) for p in packages},
    }


def save(name: str, about: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write the figures and the table."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": about, "rows": rows}, indent=1))
    facts = ", ".join(f"{key} {value}" for key, value in about.items())
    text = [
        "# npgrad.nn against torch on the CPU",
        "",
        f"float32, one process each, rounds interleaved. {facts}.",
        "",
        "Speed is torch's time over npgrad's; `both` is forward and backward; peak memory: how far",
        "the resident set rises during one forward and backward, after all freed memory was given",
        "back. **missed**: the medians are below the bar on the wall and in processor time.",
        f"{count(rows)}.",
        "",
        "index_add and scatter_add have two lines: torch.autograd.grad hands the cotangent itself",
        "on as the gradient of x. npgrad copies it, as its gradients never share memory with a",
        "cotangent (10 MB beside the 26 MB that the backward of index_add writes), and so does",
        "torch's own backward(), which is the same work.",
        "",
        HEAD,
        *map(line, rows),
        "",
    ]
    (RESULTS / f"{name}.md").write_text("\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each case, mode and round")
    parser.add_argument("--save", default="", help="name of the files in benchmarks/results")
    parser.add_argument("--threads", type=int, default=0, help="of both; 0: as they choose")
    options = parser.parse_args()
    about = {**machine(), "threads": options.threads or "all"}
    print(about)
    print(HEAD)
    names = [name for name in CASES if options.match in name]
    rows = measure(names, options.rounds, options.seconds, options.threads)
    about["load_after"] = load()
    if options.save:
        save(options.save, about, rows)
    print(f"load before {about['load_before']}, after {about['load_after']}")
    print(count(rows))


if __name__ == "__main__":
    main()
