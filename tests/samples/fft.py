"""Samples of `npgrad.rules.fft`: every transform, length, axis and norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.core import Sample

Array = Any
Make = Callable[[np.random.Generator], tuple[Array, ...]]
NORMS = (None, "backward", "ortho", "forward")


def real(*shape: int) -> Make:
    return lambda rng: (rng.normal(size=shape),)


def complex_(*shape: int) -> Make:
    return lambda rng: (rng.normal(size=shape) + 1j * rng.normal(size=shape),)


def sample(function: str, make: Make, label: str = "", **options: Any) -> Sample:
    """A call of ``np.fft.function`` whose name lists its options."""
    call = getattr(np.fft, function)
    words = [f"{key}={value!r}" for key, value in options.items()]
    name = " ".join([f"np.fft.{function}", label, *words]).replace("  ", " ").strip()
    return Sample(name, lambda a: call(a, **options), make)


def one_axis(function: str, makes: dict[str, Callable[..., Make]], half: bool) -> list[Sample]:
    """Lengths that fit, crop and pad, odd and even; each axis; each norm."""
    rows = []
    for label, make in makes.items():
        rows += [sample(function, make(n), f"{label} {n}") for n in (5, 6)]
        rows += [sample(function, make(5), label, n=n, norm=m) for n in (3, 4, 8, 9) for m in NORMS]
        rows += [sample(function, make(6), label, norm=m) for m in NORMS[1:]]
        rows += [
            sample(function, make(4, 3, 2), label, axis=axis, norm="ortho") for axis in (0, 1, -2)
        ]
        rows += [
            sample(function, make(3, 4), label, n=7, axis=0),
            sample(function, make(3, 4), label, n=2, axis=-2),
            sample(function, make(0, 4), f"{label} no rows"),
        ]
        if not half:
            rows += [sample(function, make(1), f"{label} 1"), sample(function, make(4), label, n=1)]
    if half:
        rows += [sample(function, makes["complex"](3), "complex", n=n) for n in (1, 2, 4, 5)]
    return rows


def several_axes(function: str, makes: dict[str, Callable[..., Make]], two: bool) -> list[Sample]:
    """Axes given and not, lengths that crop and pad, each norm."""
    rows = []
    for label, make in makes.items():
        rows += [
            sample(function, make(3, 4), label),
            sample(function, make(2, 4, 3), label, norm="forward"),
            sample(function, make(2, 4, 3), label, axes=(0, 1), norm="ortho"),
            sample(function, make(4, 3), label, s=(3, 5), axes=(0, 1)),
            sample(function, make(4, 5), label, s=(6, 4), axes=(-1, 0), norm="backward"),
            sample(function, make(4, 5), label, s=(-1, 7), axes=(1, 0)),
            sample(function, make(4, 5), label, s=[2, 3], axes=[0, 1]),
        ]
        if not two:
            rows += [
                sample(function, make(2, 3, 4), label, axes=(2, 0, 1)),
                sample(function, make(2, 3, 4), label, axes=(1,), norm="ortho"),
                sample(function, make(5), f"{label} one axis"),
            ]
    return rows


REAL = {"real": real}
COMPLEX = {"complex": complex_}
BOTH = {**REAL, **COMPLEX}

OTHERS = [
    Sample("np.fft.fft positional", lambda a: np.fft.fft(a, 6, 0, "ortho"), real(4, 2)),
    Sample("np.fft.fft steps", lambda a: np.fft.fft(a[::-2]), complex_(7)),
    Sample("np.fft.fft transposed", lambda a: np.fft.fft(a.T), real(3, 4)),
    Sample("np.fft.fftn axis twice", lambda a: np.fft.fftn(a, axes=(0, 1, 0)), complex_(3, 4)),
    Sample(
        "np.fft.fftn axis twice, lengths",
        lambda a: np.fft.fftn(a, s=(5, 3, 2), axes=(0, 1, 0)),
        real(3, 4),
    ),
    Sample("np.fft power", lambda a: np.abs(np.fft.rfft(a)) ** 2, real(5)),
    Sample(
        "np.fft convolution",
        lambda a, b: np.fft.irfft(np.fft.rfft(a, 8) * np.fft.rfft(b, 8), 8),
        lambda rng: (rng.normal(size=5), rng.normal(size=4)),
    ),
    Sample(
        "np.fft there and back",
        lambda a: np.fft.irfftn(np.fft.rfftn(a) ** 2, s=(3, 5), axes=(0, 1)),
        real(3, 5),
    ),
    *(
        sample(function, make(*shape), f"{label} {len(shape)}-d", **options)
        for function in ("fftshift", "ifftshift")
        for label, make in BOTH.items()
        for shape, options in (
            ((5,), {}),
            ((4, 3), {}),
            ((4, 3), {"axes": 1}),
            ((2, 3, 5), {"axes": (0, -1)}),
        )
    ),
    Sample("np.fft.fftfreq", lambda d: np.fft.fftfreq(5, d), lambda rng: (rng.uniform(1, 2, ()),)),
    Sample(
        "np.fft.rfftfreq", lambda d: np.fft.rfftfreq(6, d=d), lambda rng: (rng.uniform(1, 2, ()),)
    ),
]


def into(function: str, make: Make, shape: tuple[int, ...], dtype: Any, **options: Any) -> Sample:
    """The result is written into a buffer of the argument's library, then used."""
    call = getattr(np.fft, function)

    def write(a: Array) -> Array:
        out = np.zeros_like(a, shape=shape, dtype=np.result_type(a.dtype, dtype))
        call(a, out=out, **options)
        return out * out

    return Sample(f"np.fft.{function} out", write, make, dtypes=("float64",))


OUT = [
    into("fft", complex_(4), (4,), np.complex64),
    into("ifft", complex_(4), (6,), np.complex64, n=6),
    into("rfft", real(5), (3,), np.complex64),
    into("ihfft", real(4), (3,), np.complex64),
    into("fftn", complex_(2, 3), (2, 3), np.complex64),
    into("fft2", complex_(2, 3), (2, 3), np.complex64),  # NumPy's ifft2 and irfft2 ignore out=
    into("rfftn", real(3, 4), (3, 3), np.complex64, axes=(0, 1)),
]

SAMPLES: list[Sample] = [
    *one_axis("fft", BOTH, False),
    *one_axis("ifft", BOTH, False),
    *one_axis("rfft", REAL, False),
    *one_axis("ihfft", REAL, False),
    *one_axis("irfft", COMPLEX, True),
    *one_axis("hfft", COMPLEX, True),
    *several_axes("fftn", BOTH, False),
    *several_axes("ifftn", BOTH, False),
    *several_axes("fft2", BOTH, True),
    *several_axes("ifft2", BOTH, True),
    *several_axes("rfftn", REAL, False),
    *several_axes("rfft2", REAL, True),
    *several_axes("irfftn", COMPLEX, False),
    *several_axes("irfft2", COMPLEX, True),
    *OTHERS,
    *OUT,
]
