"""What a program of a public package is, and how its gradient is checked.

A chapter declares programs: each is a function that imports its package, prepares plausible data
and returns a `Case`, a function of one array with the point to differentiate it at. Nothing of
npgrad stands in a chapter, nor is anything of a package replaced.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CHAPTERS = (
    "numpy_itself", "scipy_", "sklearn_", "statistics", "learning", "astronomy", "filters",
    "economics", "engineering", "geometry", "signals", "physics", "unseen",
    "unseen_later", "unseen_third",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What is differentiated: ``f(x)``, a number or a small array."""

    f: Callable[[np.ndarray], Any]
    x: np.ndarray
    exact: Callable[[np.ndarray], np.ndarray] | None = None  # the package's own gradient
    step: float = 1e-3  # of the central differences, relative to 1 + |x|
    tolerance: float = 1e-6  # of the gradient's largest component


@dataclass(frozen=True)
class Program:
    """One use of a public package."""

    name: str
    package: str  # as it is imported
    does: str
    make: Callable[[], Case]
    also: tuple[str, ...]  # further packages that record
    refuses: str | None  # why npgrad refuses it, where it does


PROGRAMS: dict[str, Program] = {}


def program(
    package: str, does: str, also: tuple[str, ...] = (), refuses: str | None = None
) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Declare a program under its function's name."""

    def declare(make: Callable[[], Case]) -> Callable[[], Case]:
        name = make.__name__
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, package, does, make, (package, *also), refuses)
        return make

    return declare


def load() -> dict[str, Program]:
    """Every program, chapter by chapter; the packages themselves are not imported."""
    for chapter in CHAPTERS:
        importlib.import_module(f"tests.programs_public.{chapter}")
    return PROGRAMS


def weights(value: Any) -> np.ndarray:
    """Fixed weights that make one number of an array; a number stays itself."""
    if np.size(value) == 1:
        return np.ones(np.shape(value))
    return np.cos(np.arange(np.size(value)) + 0.3).reshape(np.shape(value))


def central_differences(case: Case) -> np.ndarray:
    """The gradient of ``sum(weights * f(x))``, of fourth order in the step."""
    weight = weights(case.f(case.x.copy()))

    def total(index: int, shift: float) -> float:
        x = case.x.copy()
        x.flat[index] += shift
        return float(np.sum(weight * case.f(x)))

    gradient = np.empty(case.x.shape)
    for i in range(case.x.size):
        h = case.step * (1 + abs(case.x.flat[i]))
        near, far = total(i, h) - total(i, -h), total(i, 2 * h) - total(i, -2 * h)
        gradient.flat[i] = (8 * near - far) / (12 * h)
    return gradient


def reference(case: Case) -> np.ndarray:
    """The package's own gradient where it has one, else central differences."""
    if case.exact is not None:
        return np.asarray(case.exact(case.x.copy()), dtype=float).reshape(case.x.shape)
    return central_differences(case)


def agrees(gradient: Any, expected: np.ndarray, tolerance: float) -> bool:
    """Whether two gradients are the same within `tolerance` of the largest component."""
    gradient = np.asarray(gradient)
    if gradient.dtype.kind not in "fc" or gradient.shape != expected.shape:
        return False
    if not np.all(np.isfinite(gradient)):
        return False
    return bool(np.max(np.abs(gradient - expected)) <= tolerance * np.max(np.abs(expected)))


def left_behind(packages: tuple[str, ...]) -> list[str]:
    """Names in the modules of `packages` that are not NumPy's own any more."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages and isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                recording = isinstance(value, types.ModuleType) and value.__name__ == "numpy"
                if (recording and value is not np) or type(value).__name__ == "GradArray":
                    found.append(f"{name}.{key}")
    return found
