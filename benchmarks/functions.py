"""Value and gradient of one function over its forward alone, at 1000 x 1000 float64.

``python -m benchmarks.functions [--json PATH] [--only NAME ...]`` prints a row each: the forward
``np.sum(f(x) * w)`` in plain NumPy, value and gradient of the same, and their ratio. Medians over
interleaved rounds, in processor time, which other programs disturb less than the wall clock; BLAS
in one thread, whose waiting would be counted. The projection on ``w`` gives every function a dense
cotangent; its own cost is in both columns. Where somebody would doubt whether the bar can be
reached, the same value and gradient are written by hand in NumPy (`HAND`) and timed in the same
rounds: a program that knows its loss, overwrites what it can and checks nothing.
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
from npgrad.implementations import one_blas_thread

N = 1000
BAR = 3.0
Case = tuple[Callable[..., Any], Callable[[np.random.Generator], tuple[Any, ...]], float]

# Why a ratio is above the bar; the column by hand says how far it could come down. A pass reads 8
# MB of each operand and writes 8 MB of a result, whose lines the processor reads first (16 MB).
SAMPLED = (
    "samples of the arguments and operands (4,000 cache lines of each, read before and after: 0.1 "
    "ms an array) tell whether they were changed in between"
)
KEPT = ("divide", "power", "sqrt", "exp", "tanh")  # their rules need the result
MEMORY = [
    *("add", "subtract", "multiply", "abs", "maximum", "minimum", "square", "clip", "log"),
    *("sin", "cos", "sum", "mean", "take", "fancy indexing", "concatenate", "stack"),
]
NOTES = {
    **dict.fromkeys(
        KEPT,
        f"Beside the passes written by hand, {SAMPLED}; the result, which the rule needs, is not "
        "written over by the product with the weights (16 MB); and of sqrt and power, whose "
        "derivatives can be infinite where they are finite, each gradient is looked at (8 MB).",
    ),
    **dict.fromkeys(
        MEMORY,
        f"Beside the passes written by hand, {SAMPLED}.",
    ),
    **dict.fromkeys(
        ("max", "min"),
        "The forward reads 8 MB. Value and gradient read them twice (the extreme must be known "
        "before its places are) and write 8 MB: 8 + 8 + 16 = 32 MB, 4 times the forward.",
    ),
    "prod": "The forward reads 8 MB. Value and gradient read them twice (each cotangent is the "
    "product over its own factor) and write 8 MB, 32 MB in all, and divide a million times, 0.7 "
    f"ms; by hand that takes 3 times the forward. Besides, {SAMPLED}.",
    "linalg.norm": "The forward is one BLAS dot product that reads 8 MB; the gradient, x over its "
    "norm, reads 8 MB and writes 8 MB. By hand that takes 2.4 times the forward, since what was "
    f"read once is nearer. Besides, {SAMPLED}.",
    **dict.fromkeys(
        ("dot", "matmul", "einsum", "tensordot"),
        "One product forward, two more backward, of the same size: 3 times before any pass.",
    ),
    "sort": "The forward takes NumPy's vectorised sort. Which element went where is not to be had "
    "from it: NumPy's argsort takes 2.7 times as long, a sort of integers that carry their places "
    "1.8 times, and the cotangent is scattered back.",
}


def square(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(0.5, 1.5, (N, N)),)


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.uniform(0.5, 1.5, (N, N)), rng.uniform(0.5, 1.5, (N, N))


def definite(rng: np.random.Generator) -> tuple[Any, ...]:
    a = rng.normal(size=(N, N))
    return (a @ a.T / N + np.eye(N),)


# ------------------------------------------------------------------------------------- by hand
def hand_divide(a: Any, b: Any, w: Any) -> Any:
    y = a / b
    value, first = np.sum(y * w), w / b
    np.multiply(y, first, out=y)
    return value, first, np.negative(y, out=y)


def hand_power(a: Any, b: Any, w: Any) -> Any:
    y = a**b
    value, second = np.sum(y * w), np.log(a)
    second *= y
    second *= w
    y /= a
    y *= b
    y *= w
    return value, y, second


def hand_maximum(a: Any, b: Any, w: Any) -> Any:
    value, first = np.sum(np.maximum(a, b) * w), w * (a > b)
    return value, first, w - first


def hand_minimum(a: Any, b: Any, w: Any) -> Any:
    value, first = np.sum(np.minimum(a, b) * w), w * (a < b)
    return value, first, w - first


def hand_abs(x: Any, w: Any) -> Any:
    value, slope = np.sum(np.abs(x) * w), np.sign(x)
    return value, np.multiply(slope, w, out=slope)


def hand_square(x: Any, w: Any) -> Any:
    value, slope = np.sum(np.square(x) * w), x * w
    return value, np.multiply(slope, 2, out=slope)


def hand_prod(x: Any, w: Any) -> Any:
    y = np.prod(x, axis=0)
    return np.sum(y * w), (w * y) / x


def hand_extreme(pick: Any, place: Any) -> Any:
    def hand(x: Any, w: Any) -> Any:  # no ties
        value = np.sum(pick(x, axis=0) * w)
        gradient = np.zeros_like(x)
        gradient[place(x, axis=0), np.arange(x.shape[1])] = w
        return value, gradient

    return hand


def hand_norm(x: Any, w: Any) -> Any:
    y = np.linalg.norm(x)
    return y * w, x * (w / y)


def hand_sort(x: Any, w: Any) -> Any:  # no ties
    order = np.argsort(x, axis=-1)
    value = np.sum(np.take_along_axis(x, order, -1) * w)
    gradient = np.empty_like(x)
    np.put_along_axis(gradient, order, w, -1)
    return value, gradient


def hand_clip(x: Any, w: Any) -> Any:
    y = np.clip(x, 0.7, 1.3)
    return np.sum(y * w), w * (y == x)


def hand_sqrt(x: Any, w: Any) -> Any:
    y = np.sqrt(x)
    value = np.sum(y * w)
    np.multiply(y, 2, out=y)
    return value, np.divide(w, y, out=y)


def hand_sum(x: Any, w: Any) -> Any:
    return np.sum(np.sum(x, axis=0) * w), np.broadcast_to(w, x.shape).copy()


def hand_rows(pick: Any) -> Any:
    def hand(x: Any, w: Any) -> Any:
        value = np.sum(pick(x) * w)
        order = np.argsort(ROWS, kind="stable")
        rows, starts = np.unique(ROWS[order], return_index=True)
        gradient = np.zeros_like(x)
        gradient[rows] = np.add.reduceat(w[order], starts, axis=0)
        return value, gradient

    return hand


def hand_joined(join: Any) -> Any:
    def hand(a: Any, b: Any, w: Any) -> Any:
        value = np.sum(join([a, b]) * w)
        first, second = w.reshape(2, *a.shape)
        return value, first.copy(), second.copy()

    return hand


def hand_product(a: Any, b: Any, w: Any) -> Any:
    return np.sum((a @ b) * w), w @ b.T, a.T @ w


HAND: dict[str, Callable[..., Any]] = {
    "multiply": lambda a, b, w: (np.sum(a * b * w), w * b, w * a),
    "divide": hand_divide,
    "power": hand_power,
    "abs": hand_abs,
    "square": hand_square,
    "maximum": hand_maximum,
    "minimum": hand_minimum,
    "prod": hand_prod,
    "max": hand_extreme(np.max, np.argmax),
    "min": hand_extreme(np.min, np.argmin),
    "clip": hand_clip,
    "sort": hand_sort,
    "sqrt": hand_sqrt,
    "sum": hand_sum,
    "take": hand_rows(lambda x: np.take(x, ROWS, axis=0)),
    "fancy indexing": hand_rows(lambda x: x[ROWS]),
    "concatenate": hand_joined(np.concatenate),
    "stack": hand_joined(np.stack),
    "linalg.norm": hand_norm,
    **dict.fromkeys(("dot", "matmul", "einsum", "tensordot"), hand_product),
}
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
    hand = HAND.get(name)
    calls: dict[str, Callable[..., Any]] = {"forward": loss, "both": both}
    if hand is not None:
        calls["hand"] = lambda *arrays: hand(*arrays, weights)
        for made, wanted in zip(both(*args)[1], calls["hand"](*args)[1:], strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-7, atol=1e-9)
    times: dict[str, list[float]] = {what: [] for what in calls}
    with one_blas_thread():
        for _ in range(rounds + 1):
            for what, call in calls.items():
                start = time.process_time()
                call(*args)
                times[what].append(time.process_time() - start)
    times = {what: found[1:] for what, found in times.items()}  # the first round warms up
    found = {what: statistics.median(seconds) for what, seconds in times.items()}
    for what, column in (("both", "ratio"), ("hand", "hand ratio")):
        if what in times:
            pairs = zip(times["forward"], times[what], strict=True)
            found[column] = statistics.median(b / a for a, b in pairs)
    return {**found, "bar": bar}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", default=list(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"NumPy {np.__version__}, CPython {platform.python_version()}, {platform.machine()}\n")
    print("| function | forward ms | value and gradient ms | ratio | by hand | bar | |")
    print("|---|---|---|---|---|---|---|")
    results = {}
    for name in arguments.only:
        row = results[name] = measure(name, arguments.rounds)
        by_hand = f"{row['hand ratio']:.2f}" if "hand ratio" in row else ""
        verdict = "met" if row["ratio"] <= row["bar"] else "over"
        print(
            f"| {name} | {row['forward'] * 1e3:.2f} | {row['both'] * 1e3:.2f} | "
            f"{row['ratio']:.2f} | {by_hand} | {row['bar']:g} | {verdict} |",
            flush=True,
        )
    over = [name for name, row in results.items() if row["ratio"] > row["bar"]]
    if any(name in NOTES for name in over):
        print("\nWhy more than the bar:\n")
    for note in dict.fromkeys(NOTES[name] for name in over if name in NOTES):
        print(f"- {', '.join(name for name in over if NOTES.get(name) == note)}: {note}")
    if arguments.json:
        about = {"numpy": np.__version__, "python": platform.python_version()}
        arguments.json.write_text(json.dumps({"about": about, "functions": results}, indent=1))


if __name__ == "__main__":
    main()
