"""Whole Jacobians beside autograd's and JAX's, `chunk=` and `checkpoint`: time against memory.

``python -m benchmarks.jacobians`` writes ``results/jacobians.md``. Every measurement runs in a
process of its own, in two interleaved rounds; the better counts. Peak memory is the process's, over
what it held before the call.
"""

from __future__ import annotations

import json
import pathlib
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

RESULT = pathlib.Path(__file__).parent / "results" / "jacobians.md"
SIZES = (100, 1000)
ROUNDS = 2


def _matrices(n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)) / n**0.5, rng.normal(size=(n, n)) / n**0.5, rng.normal(size=n)


def _jacobian(library: str, n: int, chunk: int | None = None) -> Callable[[], Any]:
    first, second, x = _matrices(n)
    if library.startswith("npgrad"):
        import npgrad

        kind = getattr(npgrad, library.split()[1])
        jacobian = kind(lambda x: np.tanh(second @ np.sin(first @ x)), chunk=chunk)
        return lambda: jacobian(x)
    if library == "autograd":
        import autograd
        import autograd.numpy as anp

        jacobian = autograd.jacobian(lambda x: anp.tanh(second @ anp.sin(first @ x)))
        return lambda: jacobian(x)
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    _, kind_name, *compiled = library.split()
    one, two, point = map(jnp.asarray, (first, second, x))
    jacobian = getattr(jax, kind_name)(lambda x: jnp.tanh(two @ jnp.sin(one @ x)))
    if compiled:
        jacobian = jax.jit(jacobian)
    return lambda: jacobian(point).block_until_ready()


def _deep(how: str) -> Callable[[], Any]:
    import npgrad

    def block(x: Any) -> Any:
        for _ in range(20):
            x = np.sqrt(1.0 + x * x)
        return x

    step = npgrad.checkpoint(block) if how == "ten checkpoints" else block

    def deep(x: Any) -> Any:
        for _ in range(10):
            x = step(x)
        return np.sum(x)

    x = np.full(1_000_000, 0.5)
    both = npgrad.value_and_grad(deep)
    return lambda: both(x)


def _measure(what: list[Any]) -> None:
    """In a process of its own: milliseconds (the least of several) and peak memory in MB."""
    call = _deep(what[1]) if what[0] == "deep" else _jacobian(*what[1:])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    times, start = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - start < 1 and len(times) < 200):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    print(json.dumps([1e3 * min(times), peak]))


def _best(cases: list[list[Any]]) -> dict[str, tuple[float, float]]:
    found: dict[str, list[list[float]]] = {json.dumps(case): [] for case in cases}
    for _ in range(ROUNDS):
        for key, seen in found.items():
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.jacobians", key],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if run.returncode:
                raise RuntimeError(f"{key}: {run.stderr}")
            seen.append(json.loads(run.stdout.splitlines()[-1]))
    return {key: (min(t for t, _ in seen), min(m for _, m in seen)) for key, seen in found.items()}


def main() -> None:
    if len(sys.argv) > 1:
        _measure(json.loads(sys.argv[1]))
        return
    libraries = ("npgrad jacrev", "npgrad jacfwd", "autograd", "jax jacrev", "jax jacrev jit")
    libraries = (*libraries, "jax jacfwd", "jax jacfwd jit")
    whole = _best([["jacobian", name, n] for n in SIZES for name in libraries])
    chunks = (1000, 250, 50, 10)
    parts = _best([["jacobian", "npgrad jacrev", 1000, chunk] for chunk in chunks])
    deep = _best([["deep", how] for how in ("recorded whole", "ten checkpoints")])
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "autograd", "jax"))
    lines = [
        "# Jacobians and checkpoints: time against memory", "",
        f"`python -m benchmarks.jacobians` on {platform.machine()}, Python "
        f"{platform.python_version()}, {packages}. The better of {ROUNDS} interleaved rounds, "
        "a process each. Memory-bound ones (autograd, jacfwd of 1000) vary with its load.",
        "",
        "All rows of `tanh(B @ sin(A @ x))` with square matrices, float64, in milliseconds:", "",
        "| outputs | " + " | ".join(libraries) + " |", "|---" * (len(libraries) + 1) + "|",
    ]  # fmt: skip
    for n in SIZES:
        row = [f"{whole[json.dumps(['jacobian', name, n])][0]:.3g}" for name in libraries]
        lines.append(f"| {n} | " + " | ".join(row) + " |")
    lines += ["", "npgrad's `jacrev` of 1000 outputs by `chunk=`:", "",
              "| rows at once | ms | peak memory, MB |", "|---|---|---|"]  # fmt: skip
    for chunk in chunks:
        took, peak = parts[json.dumps(["jacobian", "npgrad jacrev", 1000, chunk])]
        lines.append(f"| {chunk} | {took:.3g} | {peak:.0f} |")
    lines += ["", "Value and gradient of 200 roots of squares, a million float64 (8 MB each):", "",
              "| | ms | peak memory, MB |", "|---|---|---|"]  # fmt: skip
    for how in ("recorded whole", "ten checkpoints"):
        took, peak = deep[json.dumps(["deep", how])]
        lines.append(f"| {how} | {took:.0f} | {peak:.0f} |")
    RESULT.write_text("\n".join(lines) + "\n")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
