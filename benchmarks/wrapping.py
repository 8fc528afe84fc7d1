"""``python -m benchmarks.wrapping``: what `wrap` costs.

The bars: 0.2 microseconds for a call of a maker where nothing is recorded, 3 for a call of a
wrapped function whose plan is known. Processor time, the least of many; each beside the plain call
in the same process.
"""

from __future__ import annotations

import functools
import math
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad
from npgrad.wrapping.stand_ins import replacement

A, ITEMS, X = np.zeros(3), [1.0, 2.0], np.array([1.0, 2.0])


def makers(numpy: Any, maths: Any) -> dict[str, Callable[[], Any]]:
    """Calls of makers, of NumPy's or of what stands for them."""
    return {
        "zeros(3)": lambda: numpy.zeros(3),
        "empty(3)": lambda: numpy.empty(3),
        "array([1.0, 2.0])": lambda: numpy.array(ITEMS),
        "asarray(a)": lambda: numpy.asarray(A),
        "arange(3.0)": lambda: numpy.arange(3.0),
        "dot(a, a)": lambda: numpy.dot(A, A),
        "sum(a)": lambda: numpy.sum(A),
        "math.sin(1.0)": lambda: maths.sin(1.0),
        "isinstance(a, np.ndarray)": lambda: isinstance(A, numpy.ndarray),
    }


def operators(x: Any) -> Any:
    """Needs nothing of its plan."""
    return (x * x + x).sum()


def buffer(x: Any) -> Any:
    """Needs one name."""
    made = np.zeros(2)
    made[0] = 1.0
    return made.sum() + len(x)


class Model:
    """Its methods are read, as functions are."""

    def loss(self, x: Any) -> Any:
        """The same as `operators`."""
        return (x * x + x).sum()


def constructs(x: Any) -> Any:
    """Makes an object, which takes the whole plan of its module."""
    return Model().loss(x)


def least(call: Callable[[], Any], number: int = 2000, rounds: int = 60) -> float:
    """Microseconds of a call."""
    times = timeit.repeat(call, number=number, repeat=rounds, timer=time.process_time)
    return min(times) / number * 1e6


def main() -> None:
    """Print two tables."""
    ours = makers(replacement(np), replacement(math))
    print("| maker, outside of a wrapped call | plain, us | more, us |\n|---|---|---|")
    for name, plain in makers(np, math).items():
        before = least(plain)
        print(f"| `{name}` | {before:.2f} | {least(ours[name]) - before:.2f} |")
    print("\n| wrapped function | bare, us | more, recorded | more, plain |\n|---|---|---|---|")
    cases: dict[str, Callable[..., Any]] = {
        "operators": operators,
        "a buffer": buffer,
        "a method": Model().loss,
        "a class": constructs,
    }
    for name, f in cases.items():
        wrapped = npgrad.wrap(f)
        for _ in range(4):
            wrapped(X)
        more = []
        for given in (npgrad.array(X), X):
            before = least(functools.partial(f, given))
            more.append(f"{least(functools.partial(wrapped, given)) - before:.2f}")
        print(f"| {name} | {before:.2f} | {' | '.join(more)} |")


if __name__ == "__main__":
    main()
