"""Samples of functions that are not holomorphic, and of ``np.emath``."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Sample
from tests.samples.elementwise import between, both, disc, either_sign

one, z = either_sign(0.3, 2), disc(0.4, 2)
SAMPLES: list[Sample] = [
    Sample("np.conjugate", lambda z: np.conjugate(z) * z * z, z, batched=False),
    Sample("np.conjugate real", lambda x: np.conjugate(x) * x, one),
    Sample("method conj", lambda z: z.conj() * np.exp(z), z, batched=False),
    Sample("np.real", lambda z: np.real(z) * z, z, batched=False),
    Sample("np.real real", lambda x: np.real(x) * x, one),
    Sample("np.imag", lambda z: np.imag(z) * z, z, batched=False),
    Sample("np.imag real", lambda x: np.imag(x) + x, one),
    Sample("attributes real imag", lambda z: z.real * z.imag + z.real**2, z, batched=False),
    Sample("np.angle", lambda z: np.angle(z) * z, z, batched=False),
    Sample("np.angle degrees", lambda z: np.angle(z, deg=True), z, batched=False),
    Sample("np.angle real", lambda x: np.angle(x) * x, one),
    Sample("modulus by parts", lambda z: np.sqrt(z.real**2 + z.imag**2), z, batched=False),
    Sample(
        "polar form", lambda r, t: r * np.exp(1j * t), both(between(0.5, 2), one), batched=False
    ),
    Sample(
        "conjugate of real to complex", lambda x: np.conj(np.exp(1j * x)) * x, one, batched=False
    ),
    Sample("np.real_if_close real", lambda x: np.real_if_close(x) * x, one),
    Sample("np.real_if_close complex", lambda z: np.real_if_close(z) * z, z, batched=False),
    Sample("np.real_if_close close", lambda x: np.real_if_close(x * (1 + 0j)) * x, one),
    Sample("np.real_if_close tol", lambda x: np.real_if_close(x + 1e-9j, tol=1e-6) * x, one),
]

EMATH = {
    "sqrt": one,
    "log": one,
    "log2": one,
    "log10": one,
    "arcsin": either_sign(1.2, 2),
    "arccos": either_sign(1.2, 2),
    "arctanh": either_sign(1.2, 2),
}
for name, outside in EMATH.items():
    call = getattr(np.emath, name)
    SAMPLES += [
        Sample(f"np.emath.{name} outside", call, outside, batched=False),
        Sample(f"np.emath.{name} inside", call, between(0.2, 0.8)),
        Sample(f"np.emath.{name} complex", call, disc(0.4, 2), batched=False),
    ]
SAMPLES += [
    Sample("np.emath.logn", np.emath.logn, both(between(1.5, 3), one), batched=False),
    Sample(
        "np.emath.logn negative base", np.emath.logn, both(either_sign(1.5, 3), one), batched=False
    ),
    Sample("np.emath.power", np.emath.power, both(one, either_sign(0.3, 2)), batched=False),
    Sample("np.emath.power positive", np.emath.power, both(between(0.3, 2), between(0.3, 2))),
    Sample("np.emath.power -2", lambda x: np.emath.power(x, -2), one, batched=False),
]
