"""Value and gradient of one function over its forward alone, at 1000 x 1000 float64.

``python -m benchmarks.functions [--json PATH] [--only NAME ...]`` prints a row each: the forward
``np.sum(f(x) * w)`` in plain NumPy, value and gradient of the same, and their ratio. Medians over
interleaved rounds, in processor time, which other programs disturb less than the wall clock. The
projection on ``w`` gives every function a dense cotangent; its own cost is in both columns.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import npgrad

N = 1000
BAR = 3.0
Case = tuple[Callable[..., Any], Callable[[np.random.Generator], tuple[Any, ...]], float]

# Why a ratio above the bar cannot come down to it. A pass reads 8 MB of each operand and writes 8
# MB of a result, whose lines the processor reads first (16 MB in all).
NOTES = {
    "max": "The forward reads 8 MB. Value and gradient read them twice (the extreme must be known "
    "before its places are) and write 8 MB: 8 + 8 + 16 = 32 MB, 4 times the forward.",
    "min": "As max.",
    "prod": "The forward reads 8 MB. Value and gradient read them twice (each cotangent is the "
    "product over its own factor) and write 8 MB: 32 MB, 4 times the forward, and a million "
    "divisions, 0.7 ms.",
    "linalg.norm": "The forward is one BLAS dot product that reads 8 MB. The gradient, x over its "
    "norm, reads 8 MB and writes 8 MB: 32 MB in all, 4 times the forward.",
    "dot": "One product forward, two more backward, of the same size: 3 times before any pass.",
    "matmul": "As dot.",
    "einsum": "As dot.",
    "tensordot": "As dot.",
    "sort": "The forward takes NumPy's vectorised sort. Which element went where is not to be had "
    "from it, and NumPy's argsort of the same takes 2.7 times as long.",
}


def square(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(0.5, 1.5, (N, N)),)


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.uniform(0.5, 1.5, (N, N)), rng.uniform(0.5, 1.5, (N, N))


def definite(rng: np.random.Generator) -> tuple[Any, ...]:
    a = rng.normal(size=(N, N))
    return (a @ a.T / N + np.eye(N),)


ROWS = np.random.default_rng(1).integers(0, N, N)
CASES: dict[str, Case] = {
    "add": (np.add, pair, BAR),
    "subtract": (np.subtract, pair, BAR),
    "multiply": (np.multiply, pair, BAR),
    "divide": (np.divide, pair, BAR),
    "power": (np.power, pair, BAR),
    "exp": (np.exp, square, BAR),
    "log": (np.log, square, BAR),
    "sqrt": (np.sqrt, square, BAR),
    "abs": (np.abs, square, BAR),
    "maximum": (np.maximum, pair, BAR),
    "minimum": (np.minimum, pair, BAR),
    "sin": (np.sin, square, BAR),
    "cos": (np.cos, square, BAR),
    "tanh": (np.tanh, square, BAR),
    "square": (np.square, square, BAR),
    "sum": (lambda x: np.sum(x, axis=0), square, BAR),
    "mean": (lambda x: np.mean(x, axis=0), square, BAR),
    "prod": (lambda x: np.prod(x, axis=0), square, BAR),
    "var": (lambda x: np.var(x, axis=0), square, BAR),
    "std": (lambda x: np.std(x, axis=0), square, BAR),
    "max": (lambda x: np.max(x, axis=0), square, BAR),
    "min": (lambda x: np.min(x, axis=0), square, BAR),
    "cumsum": (lambda x: np.cumsum(x, axis=0), square, BAR),
    "dot": (np.dot, pair, BAR),
    "matmul": (np.matmul, pair, BAR),
    "einsum": (lambda a, b: np.einsum("ij,jk->ik", a, b, optimize=True), pair, BAR),
    "tensordot": (lambda a, b: np.tensordot(a, b, 1), pair, BAR),
    "where": (lambda a, b: np.where(a > b, a, b), pair, BAR),
    "clip": (lambda x: np.clip(x, 0.7, 1.3), square, BAR),
    "reshape": (lambda x: np.reshape(x, (N // 2, 2 * N)), square, BAR),
    "transpose": (np.transpose, square, BAR),
    "concatenate": (lambda a, b: np.concatenate([a, b]), pair, BAR),
    "stack": (lambda a, b: np.stack([a, b]), pair, BAR),
    "pad": (lambda x: np.pad(x, 5), square, BAR),
    "take": (lambda x: np.take(x, ROWS, axis=0), square, BAR),
    "fancy indexing": (lambda x: x[ROWS], square, BAR),
    "sort": (lambda x: np.sort(x, axis=-1), square, BAR),
    "median": (lambda x: np.median(x, axis=-1), square, BAR),
    "linalg.norm": (np.linalg.norm, square, BAR),
    "linalg.solve": (np.linalg.solve, lambda r: (*definite(r), r.normal(size=N)), BAR),
    "linalg.inv": (np.linalg.inv, definite, BAR),
    "linalg.cholesky": (np.linalg.cholesky, definite, 4.0),
    "linalg.eigh": (lambda a: np.linalg.eigh(a[:300, :300])[0], definite, 4.0),
    "fft.fft": (lambda x: np.fft.fft(x, axis=-1), square, BAR),
}


def measure(name: str, rounds: int) -> dict[str, float]:
    """Median processor seconds of the forward and of value and gradient, and their ratio."""
    f, make, bar = CASES[name]
    rng = np.random.default_rng(0)
    args = make(rng)
    weights = rng.normal(size=np.shape(f(*args)))

    def loss(*arrays: Any) -> Any:
        return np.real(np.sum(f(*arrays) * weights))

    both = npgrad.value_and_grad(loss, argnums=tuple(range(len(args))))
    both(*args)
    loss(*args)
    times: dict[str, list[float]] = {"forward": [], "both": []}
    for _ in range(rounds):
        for what, call in (("forward", loss), ("both", both)):
            start = time.process_time()
            call(*args)
            times[what].append(time.process_time() - start)
    forward, total = (statistics.median(times[what]) for what in ("forward", "both"))
    ratios = [b / a for a, b in zip(times["forward"], times["both"], strict=True)]
    return {"forward": forward, "both": total, "ratio": statistics.median(ratios), "bar": bar}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", default=list(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"NumPy {np.__version__}, CPython {platform.python_version()}, {platform.machine()}\n")
    print("| function | forward ms | value and gradient ms | ratio | bar | |")
    print("|---|---|---|---|---|---|")
    results = {}
    for name in arguments.only:
        row = results[name] = measure(name, arguments.rounds)
        verdict = "met" if row["ratio"] <= row["bar"] else "over"
        print(
            f"| {name} | {row['forward'] * 1e3:.2f} | {row['both'] * 1e3:.2f} | "
            f"{row['ratio']:.2f} | {row['bar']:g} | {verdict} |",
            flush=True,
        )
    over = [name for name, row in results.items() if row["ratio"] > row["bar"]]
    if any(name in NOTES for name in over):
        print("\nWhy more than the bar:\n")
    for name in over:
        if name in NOTES:
            print(f"- {name}: {NOTES[name]}")
    if arguments.json:
        about = {"numpy": np.__version__, "python": platform.python_version()}
        arguments.json.write_text(json.dumps({"about": about, "functions": results}, indent=1))


if __name__ == "__main__":
    main()
