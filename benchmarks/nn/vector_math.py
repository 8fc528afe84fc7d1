"""The vector mathematics of kernels against NumPy's ufuncs (erf, sigmoid: SciPy's), one thread.

    python -m benchmarks.nn.vector_math [--save]

Each function runs over a million normal numbers, in a loop of its own as a kernel would have it;
the time is the fastest of many runs, in processor time. The error is the largest over the whole
range: in float32 against the float64 ufunc at every 251st of all bit patterns (subnormal ones too),
in float64 against mpmath at random bit patterns and in the ranges that matter (without mpmath, no
figure). ``--save`` writes ``benchmarks/results/nn-vector-math.md``.
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
STEP = 251  # between the float32 bit patterns that are looked at
LOWEST = {"log": 0.0, "log1p": -1.0}


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


def worst(got: Any, true: Any, dtype: str) -> float:
    """The largest error in units in the last place; not finite where it should be: infinite."""
    with np.errstate(all="ignore"):
        rounded = true.astype(dtype)
        fine = np.isfinite(rounded)
        if not np.array_equal(got[~fine], rounded[~fine], equal_nan=True):
            return float("inf")
        wide = got[fine].astype(true.dtype)
        unit = np.spacing(np.abs(rounded[fine])).astype(true.dtype)
        return float(np.max(np.abs(wide - true[fine]) / unit, initial=0.0))


def error_single(name: str, ufunc: Any) -> float:
    """Of the float32 body, over its domain."""
    run, most = loop(name), 0.0
    for start in range(0, 1 << 32, 1 << 30):
        bits = np.arange(start, start + (1 << 30), STEP, dtype=np.uint64).astype(np.uint32)
        x = domain(name, bits.view(np.float32))
        y = np.empty_like(x)
        run(x, y)
        with np.errstate(all="ignore"):
            most = max(most, worst(y, ufunc(x.astype(np.float64)), "f4"))
    return most


def domain(name: str, x: Any) -> Any:
    """The numbers of `x` where the function is defined; infinities are."""
    return x[x > LOWEST.get(name, -np.inf)]


def error_double(name: str, count: int = 1500) -> float | None:
    """Of the float64 body, at random points; None without mpmath."""
    try:
        import mpmath
    except ImportError:
        return None
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True).view(np.float64)
    near = [rng.uniform(-b, b, count) for b in (1e-3, 1.0, 20.0, 750.0)]
    x = domain(name, np.concatenate([bits[np.isfinite(bits)], *near]))
    y = np.empty_like(x)
    loop(name)(x, y)
    functions = {"sigmoid": lambda v: 1 / (1 + mpmath.exp(-v))}
    function = functions.get(name) or getattr(mpmath, name)
    most = 0.0
    with mpmath.workprec(1200), np.errstate(over="ignore"):
        for argument, got in zip(x.tolist(), y.tolist(), strict=True):
            true = function(mpmath.mpf(argument))
            rounded = float(true)
            if not np.isfinite(rounded):
                most = most if got == rounded else float("inf")
                continue
            unit = mpmath.mpf(float(np.spacing(abs(rounded))))
            most = max(most, float(abs(mpmath.mpf(got) - true) / unit))
    return most


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
    head = (
        "| function of 1e6 | dtype | here ms | ufunc ms | speed | largest error, ulp |\n"
        "|---|---|---|---|---|---|"
    )
    lines = [head]
    print(head)
    known = peers()
    for name in known:
        ufunc = known[name]
        for dtype in ("f4", "f8"):
            x = np.random.default_rng(0).normal(size=SIZE).astype(dtype)
            x = np.abs(x) if name.startswith("log") else x
            y = np.empty_like(x)
            run = loop(name)
            here = fastest(lambda run=run, x=x, y=y: run(x, y))
            there = fastest(lambda ufunc=ufunc, x=x, y=y: ufunc(x, out=y))
            error = error_single(name, ufunc) if dtype == "f4" else error_double(name)
            said = "" if error is None else f"{error:.2f}"
            times = f"{here:.2f} | {there:.2f} | {there / here:.2f}"
            lines.append(f"| {name} | {x.dtype} | {times} | {said} |")
            print(lines[-1], flush=True)
    if save:
        about = f"NumPy {np.__version__}, Numba {numba.__version__}, one thread. {ERRORS}"
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


ERRORS = (
    f"The errors: float32 at every {STEP}st bit pattern against the float64 ufunc, float64 at 7500 "
    "points of all sizes against mpmath."
)


if __name__ == "__main__":
    main()
