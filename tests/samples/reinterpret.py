"""``x.view(dtype)`` between complex numbers and pairs of floats."""

import numpy as np

from tests.samples.core import Sample


def pairs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (rng.normal(size=(3, 4)),)


def numbers(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return (rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)),)


def seen_as_complex(x):
    """Both ways, so that the result is of the argument's own precision."""
    x = x.astype(np.result_type(x.dtype, np.float32)).copy()
    z = x.view(np.result_type(x.dtype, np.complex64))
    return np.real(z) * np.imag(z)


def seen_as_floats(z):
    return z.copy().view(z.real.dtype) ** 2


SAMPLES = [
    Sample("view of floats as complex", seen_as_complex, pairs),
    Sample("view of complex as floats", seen_as_floats, numbers, dtypes=("complex128",)),
]
