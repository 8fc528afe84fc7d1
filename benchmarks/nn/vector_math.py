"""The vector mathematics of kernels against NumPy's ufuncs (erf, sigmoid: SciPy's), one thread.

    python -m benchmarks.nn.vector_math [--save]

Each function runs over a million normal numbers, in a loop of its own as a kernel would have it;
the time is the fastest of many runs, in processor time. ``--save`` writes
``benchmarks/results/nn-vector-math.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from npgrad.kernels import vector_math

SIZE = 1_000_000


def loop(name: str) -> Callable[[Any, Any], None]:
    """A compiled loop over the scalar function."""
    function = getattr(vector_math, name).compiled()

    def run(x: Any, y: Any) -> None:
        for i in range(x.size):
            y[i] = function(x[i])

    return numba.njit(run, error_model="numpy")


def peers() -> dict[str, Any]:
    """The compiled ufunc of each name."""
    found: dict[str, Any] = {
        name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos")
    }
    try:
        from scipy import special
    except ImportError:
        return found
    return {**found, "erf": special.erf, "sigmoid": special.expit}


def fastest(run: Callable[[], Any], seconds: float = 0.3) -> float:
    """Milliseconds of processor time of the fastest run."""
    run()
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end:
        start = time.process_time_ns()
        run()
        best = min(best, time.process_time_ns() - start)
    return best / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", action="store_true")
    save = parser.parse_args().save
    head = "| function of 1e6 | dtype | here ms | ufunc ms | speed |\n|---|---|---|---|---|"
    lines = [head]
    print(head)
    for name, ufunc in peers().items():
        for dtype in ("f4", "f8"):
            x = np.random.default_rng(0).normal(size=SIZE).astype(dtype)
            x = np.abs(x) if name.startswith("log") else x
            y = np.empty_like(x)
            run = loop(name)
            here = fastest(lambda run=run, x=x, y=y: run(x, y))
            there = fastest(lambda ufunc=ufunc, x=x, y=y: ufunc(x, out=y))
            lines.append(f"| {name} | {x.dtype} | {here:.2f} | {there:.2f} | {there / here:.2f} |")
            print(lines[-1], flush=True)
    if save:
        about = f"NumPy {np.__version__}, Numba {numba.__version__}, one thread."
        text = [
            "# Vector mathematics of kernels against compiled ufuncs",
            "",
            about,
            "",
            *lines,
            "",
        ]
        path = Path(__file__).parent.parent / "results" / "nn-vector-math.md"
        path.write_text("\n".join(text))


if __name__ == "__main__":
    main()
