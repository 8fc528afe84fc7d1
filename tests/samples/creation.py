"""Samples of `npgrad.rules.creation`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.samples.core import Arrays, Sample


def ends(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    """Positive ends of a range, the second one further out."""
    return lambda rng: tuple(
        rng.uniform(0.5, 1.0, size=shape) + 1.5 * i for i, shape in enumerate(shapes)
    )


def complex_ends(rng: np.random.Generator) -> Arrays:
    """Complex ends, off the negative axis."""
    return (
        np.array(rng.uniform(0.5, 1.0) + 0.3j),
        np.array(rng.uniform(1.5, 2.0) - 0.4j),
    )


SCALARS = ends((), ())

SAMPLES = [
    Sample("np.linspace", lambda a, b: np.linspace(a, b, 5), SCALARS),
    Sample("np.linspace open", lambda a, b: np.linspace(a, b, 4, endpoint=False), SCALARS),
    Sample("np.linspace of arrays", lambda a, b: np.linspace(a, b, 3), ends((2,), (2,))),
    Sample("np.linspace axis", lambda a, b: np.linspace(a, b, 3, axis=-1), ends((2, 1), (3,))),
    Sample("np.linspace axis 1", lambda a, b: np.linspace(a, b, 3, axis=1), ends((2, 2), ())),
    Sample("np.linspace retstep", lambda a, b: np.linspace(a, b, 4, retstep=True), SCALARS),
    Sample("np.linspace step alone", lambda a, b: np.linspace(a, b, 4, retstep=True)[1], SCALARS),
    Sample("np.linspace one", lambda a, b: np.linspace(a, b, 1), SCALARS),
    Sample("np.linspace stop only", lambda b: np.linspace(0.0, b, 4) ** 2, ends(())),
    Sample("np.linspace dtype", lambda a, b: np.linspace(a, b, 4, dtype=np.float64), SCALARS),
    Sample("np.linspace complex", lambda a, b: np.linspace(a, b, 4) ** 2, complex_ends),
    Sample("np.logspace", lambda a, b: np.logspace(a, b, 4), SCALARS),
    Sample(
        "np.logspace base",
        lambda a, b: np.logspace(0.5, a, 4, endpoint=False, base=b),
        SCALARS,
    ),
    Sample(
        "np.logspace bases",
        lambda a, b, c: np.logspace(a, b, 3, base=c, axis=-1),
        ends((), (2,), (2,)),
    ),
    Sample("np.logspace dtype", lambda a: np.logspace(0, a, 4, dtype=np.float64), ends((2,))),
    Sample("np.geomspace", lambda a, b: np.geomspace(a, b, 5), SCALARS),
    Sample("np.geomspace open", lambda a, b: np.geomspace(a, b, 4, endpoint=False), SCALARS),
    Sample("np.geomspace negative", lambda a, b: np.geomspace(-a, -b, 4), SCALARS),
    Sample("np.geomspace of arrays", lambda a, b: np.geomspace(a, b, 3), ends((2,), (2,))),
    Sample("np.geomspace axis", lambda a, b: np.geomspace(a, b, 3, axis=-1), ends((2, 1), (3,))),
    Sample("np.geomspace one", lambda a, b: np.geomspace(a, b, 1), SCALARS),
    Sample("np.geomspace complex", lambda a, b: np.geomspace(a, b, 4), complex_ends),
    Sample("np.arange like", lambda a, b: np.arange(a, 3.3, b / 4, like=a), SCALARS),
    Sample("np.arange stop", lambda a: np.arange(3.3 * a, like=a) * a, ends(())),
    Sample("np.arange like written", lambda a: written(np.arange(3.0, like=a), a), ends((3,))),
    Sample("np.array like written", lambda a: written(np.array([1.0] * 3, like=a), a), ends((3,))),
    Sample(
        "np.asarray like written", lambda a: written(np.asarray([1.0] * 3, like=a), a), ends((3,))
    ),
    Sample("np.full_like", lambda a, b: np.full_like(a, b) * a, ends((2, 3), (3,))),
    Sample("np.full_like shape", lambda a, b: np.full_like(a, b, shape=(2, 2)), ends((3,), (2,))),
    Sample("np.full_like dtype", lambda a: np.full_like(a, a, dtype=np.float64), ends((2,))),
    Sample("np.full like", lambda a: np.full((2, 3), a, like=a), ends((3,))),
    Sample("np.full like scalar", lambda a: np.full(3, a, like=a), ends(())),
    Sample("np.array like", lambda a: np.array([[a[0], 2.0], [a[1], a[0]]], like=a), ends((2,))),
    Sample("np.array like ndmin", lambda a: np.array(a, ndmin=3, like=a) * a, ends((2,))),
    Sample("np.asarray like", lambda a: np.asarray([a, 2 * a], like=a), ends((2,))),
    Sample("np.asarray like itself", lambda a: np.asarray(a, like=a) * a, ends((2,))),
    Sample("np.asanyarray like", lambda a: np.asanyarray([a[1], a[0]], like=a), ends((2,))),
    Sample("np.ascontiguousarray like", lambda a: np.ascontiguousarray(a.T, like=a), ends((2, 3))),
    Sample("np.asfortranarray like", lambda a: np.asfortranarray(a, like=a) * a, ends((2, 3))),
    Sample("np.require like", lambda a: np.require(a, requirements="C", like=a) * a, ends((2,))),
    Sample(
        "np.fromiter like",
        lambda a: np.fromiter((v * v for v in a), a.dtype, like=a),
        ends((3,)),
    ),
    Sample(
        "np.fromfunction like",
        lambda a: np.fromfunction(lambda i, j: a[0] * i + a[1] * j * j, (2, 3), like=a),
        ends((2,)),
    ),
    Sample(
        "np.zeros_like written",
        lambda a: written(np.zeros_like(a), a),
        ends((3,)),
    ),
    Sample("np.zeros like written", lambda a: written(np.zeros(3, like=a), a), ends((3,))),
    Sample("np.empty like written", lambda a: written(np.empty(3, like=a), a), ends((3,))),
]


def written(buffer: np.ndarray, a: np.ndarray) -> np.ndarray:
    """`buffer` with every entry written from `a`."""
    buffer[:] = a[::-1]
    buffer[0] *= a[1]
    return buffer
