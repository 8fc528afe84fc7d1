"""What every stand-in promises, checked for one function at one point.

Values are SciPy's own; the gradient is compared with fourth-order central differences *of SciPy's
function*, so that the two sides share no code; forward mode with the same differences; second order
with differences of the gradient; float32 stays float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad

STEP = 1e-4


def along(f: Callable[..., Any], args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The derivative of a plain function along `tangents`, by differences."""

    def at(s: float) -> Any:
        return np.asarray(f(*(x + s * STEP * t for x, t in zip(args, tangents, strict=True))))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * STEP)


def check(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    *args: Any,
    order: int = 2,
    single: bool = True,
    symmetric: tuple[int, ...] = (),
    tol: float = 1e-6,
) -> None:
    """Everything this module promises of ``ours``, whose values are those of ``theirs``.

    ``symmetric`` lists the arguments that count as symmetric: they are moved symmetrically.
    """
    rng = np.random.default_rng(7)
    tangents = []
    for i, x in enumerate(args):
        t = rng.normal(size=np.shape(x))
        tangents.append(0.5 * (t + np.swapaxes(t, -1, -2)) if i in symmetric else t)
    moves = tuple(tangents)
    want = np.asarray(theirs(*args))
    plain = ours(*args)
    assert np.array_equal(plain, want, equal_nan=True)

    slope = along(theirs, args, moves)
    scale = 1 + np.max(np.abs(slope), initial=0)
    value, tangent = npgrad.jvp(ours, args, moves)
    np.testing.assert_allclose(value, want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(tangent, slope, rtol=tol, atol=tol * scale)

    weight = rng.normal(size=want.shape)
    value, pull = npgrad.vjp(ours, *args)
    gradients = pull(weight if want.shape else np.float64(weight))
    for gradient, x in zip(gradients, args, strict=True):
        assert np.shape(gradient) == np.shape(x)
    got = sum(np.sum(g * t) for g, t in zip(gradients, moves, strict=True))
    np.testing.assert_allclose(got, np.sum(weight * slope), rtol=tol, atol=tol * scale)

    if order == 2:

        def projected(*xs: Any) -> Any:
            return np.sum(weight * ours(*xs))

        first = npgrad.grad(projected, tuple(range(len(args))))

        def directional(*xs: Any) -> Any:
            return sum(np.sum(g * t) for g, t in zip(first(*xs), moves, strict=True))

        second = along(lambda *xs: npgrad.value(directional(*xs)), args, moves)
        reverse = npgrad.grad(directional, tuple(range(len(args))))(*args)
        got = sum(np.sum(g * t) for g, t in zip(reverse, moves, strict=True))
        size = 1 + abs(float(second))
        np.testing.assert_allclose(got, second, rtol=10 * tol, atol=10 * tol * size)
        forward = npgrad.jvp(directional, args, moves)[1]
        np.testing.assert_allclose(forward, second, rtol=10 * tol, atol=10 * tol * size)

    if single:
        narrow = tuple(np.asarray(x, dtype=np.float32) for x in args)
        value, pull = npgrad.vjp(ours, *narrow)
        assert np.asarray(value).dtype == np.float32
        for gradient in pull(np.asarray(weight, np.float32)):
            assert gradient.dtype == np.float32
