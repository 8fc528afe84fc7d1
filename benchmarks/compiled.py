"""Gradient of an elementwise function that Numba compiled, over its forward.

Beside it the same formula written in NumPy and recorded operation by operation. Rounds are
interleaved in one process; a figure is the median of the rounds. Compiling is left out, and said.

Run ``python -m benchmarks.compiled [size]``.
"""

from __future__ import annotations

import math
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import npgrad

ROUNDS = 9


@numba.njit
def _cdf(t: Any) -> Any:
    return 0.5 * math.erfc(-t * 0.7071067811865476)


@numba.vectorize
def option(spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    """A call: Black and Scholes, no interest."""
    if years <= 0:
        return max(spot - strike, 0.0)
    spread = volatility * math.sqrt(years)
    d1 = math.log(spot / strike) / spread + 0.5 * spread
    return spot * _cdf(d1) - strike * _cdf(d1 - spread)


def option_numpy(spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    """The same formula in NumPy."""
    from scipy.special import ndtr

    spread = volatility * np.sqrt(years)
    d1 = np.log(spot / strike) / spread + 0.5 * spread
    return spot * ndtr(d1) - strike * ndtr(d1 - spread)


@numba.vectorize
def damped(a: Any, b: Any) -> Any:
    """Arithmetic and one exponential."""
    u = a * b + 0.5
    return u * math.exp(-u * u) + a / (1.0 + b * b)


def damped_numpy(a: Any, b: Any) -> Any:
    """The same formula in NumPy."""
    u = a * b + 0.5
    return u * np.exp(-u * u) + a / (1.0 + b * b)


def _workloads(size: int) -> dict[str, tuple[Any, Any, tuple[Any, ...]]]:
    random = np.random.default_rng(0)
    four = (
        random.uniform(80, 120, size),
        random.uniform(80, 120, size),
        random.uniform(0.1, 2.0, size),
        random.uniform(0.1, 0.4, size),
    )
    two = (random.normal(size=size), random.normal(size=size))
    return {"option": (option, option_numpy, four), "damped": (damped, damped_numpy, two)}


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(size: int) -> None:
    """Print the table."""
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}, "
        f"{platform.machine()}; {size:,} float64; medians of {ROUNDS} interleaved rounds; "
        "compiling left out.\n"
    )
    print("| function | | forward, ms | value and gradient, ms | ratio | first call, s |")
    print("|---|---|---|---|---|---|")
    for name, (compiled, plain, args) in _workloads(size).items():
        calls: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
        first = {}
        which = tuple(range(len(args)))
        for kind, f in (("Numba", compiled), ("NumPy", plain)):
            gradient = npgrad.value_and_grad(lambda *a, f=f: np.sum(f(*a)), which)
            calls[kind] = (lambda f=f, a=args: np.sum(f(*a)), lambda g=gradient, a=args: g(*a))
            first[kind] = _seconds(calls[kind][1])
        times: dict[tuple[str, int], list[float]] = {}
        for _ in range(ROUNDS):
            for kind, pair in calls.items():
                for i, call in enumerate(pair):
                    times.setdefault((kind, i), []).append(_seconds(call) * 1e3)
        for kind in calls:
            forward, both = (statistics.median(times[kind, i]) for i in (0, 1))
            cells = f"{forward:.1f} | {both:.1f} | {both / forward:.2f} | {first[kind]:.1f}"
            print(f"| {name} | {kind} | {cells} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
