"""Gradient descent for parameters in nested containers: ``autograd.misc.optimizers``.

Each takes ``grad(x, i)`` with the iteration's number, and returns the last x in the structure of
the first. ``callback(x, i, g)`` is called before each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Step = Callable[[Any, Any, int], Any]


def _descend(grad: Any, x: Any, callback: Any, num_iters: int, step: Step) -> Any:
    """Repeat ``vector = step(vector, gradient, i)``."""
    vector, back = flatten(x)
    for i in range(num_iters):
        gradient = grad(back(vector), i)
        if callback:
            callback(back(vector), i, gradient)
        vector = step(vector, flatten(gradient)[0], i)
    return back(vector)


def sgd(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:  # fmt: skip
    """Gradient descent with momentum: the velocity is a running mean of descent directions."""
    velocity: Any = 0.0

    def step(vector: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1 - mass) * g
        return vector + step_size * velocity

    return _descend(grad, x, callback, num_iters, step)


def rmsprop(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.1,
    gamma: float = 0.9, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Steps divided by the root of a running mean square (Tieleman and Hinton 2012)."""
    square: Any = 1.0

    def step(vector: Any, g: Any, i: int) -> Any:
        nonlocal square
        square = gamma * square + (1 - gamma) * g * g
        return vector - step_size * g / (np.sqrt(square) + eps)

    return _descend(grad, x, callback, num_iters, step)


def adam(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.001,
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Kingma and Ba (2015), with their corrections for the means' start at zero.

    Examples
    --------
    >>> from npgrad.compat.autograd import grad
    >>> from npgrad.compat.autograd.misc.optimizers import adam
    >>> slope = grad(lambda x: (x - 3) ** 2)
    >>> round(float(adam(lambda x, i: slope(x), 0.0, num_iters=500, step_size=0.1)), 2)
    3.0
    """
    mean: Any = 0.0
    square: Any = 0.0

    def step(vector: Any, g: Any, i: int) -> Any:
        nonlocal mean, square
        mean = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * g * g
        first, second = mean / (1 - b1 ** (i + 1)), square / (1 - b2 ** (i + 1))
        return vector - step_size * first / (np.sqrt(second) + eps)

    return _descend(grad, x, callback, num_iters, step)
