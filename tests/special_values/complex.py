"""Functions of complex numbers that are not holomorphic, at their kinks and on their cuts."""

from __future__ import annotations

import math

import numpy as np

from tests.samples.core import Special


def c(*values: complex) -> np.ndarray:
    """A complex128 array."""
    return np.array(values, dtype=complex)


def a(*values: float) -> np.ndarray:
    """A float64 array."""
    return np.array(values, dtype=float)


ROOT3 = math.sqrt(3)
SPECIAL: list[Special] = [
    # df/dx + i df/dy of the modulus is z/|z|
    Special("absolute complex", np.absolute, (c(3 + 4j, 0, -2, 5j),), (c(0.6 + 0.8j, 0, -1, 1j),)),
    Special("modulus squared", lambda z: abs(z) ** 2, (c(3 + 4j, 1j),), (c(6 + 8j, 2j),)),
    Special("sign complex", lambda z: np.sign(z).real, (c(1j, 0),), (c(1, 0),)),
    Special("real and imag", lambda z: z.real + 2 * z.imag, (c(3 + 4j),), (c(1 + 2j),)),
    Special("conjugate", lambda z: (np.conj(z) * (2 + 3j)).real, (c(1 + 1j),), (c(2 + 3j),)),
    # the angle grows across z: i z / |z|^2
    Special("angle", np.angle, (c(1, 1j, 3 + 4j, 0),), (c(1j, -1, (3j - 4) / 25, 0),)),
    Special("angle degrees", lambda z: np.angle(z, deg=True), (c(2),), (c(90j / math.pi),)),
    Special("angle real", np.angle, (a(-2, 3),), (a(0, 0),)),
    Special("imag of a real array", np.imag, (a(-2, 3),), (a(0, 0),)),
    # on their cuts np.emath's functions are continuous from above: +-i arccosh|x| beyond 1
    Special("emath.sqrt", lambda x: np.emath.sqrt(x).imag, (a(-4.0),), (a(-0.25),)),
    Special("emath.log", lambda x: np.emath.log(x).real, (a(-4.0, 2.0),), (a(-0.25, 0.5),)),
    Special(
        "emath.arcsin",
        lambda x: np.emath.arcsin(x).imag,
        (a(2.0, -2.0),),
        (a(1 / ROOT3, -1 / ROOT3),),
    ),
    Special(
        "emath.arccos",
        lambda x: np.emath.arccos(x).imag,
        (a(2.0, -2.0),),
        (a(-1 / ROOT3, 1 / ROOT3),),
    ),
    Special(
        "emath.arctanh", lambda x: np.emath.arctanh(x).real, (a(2.0, -2.0),), (a(-1 / 3, -1 / 3),)
    ),
    Special(
        "nan_to_num complex",
        lambda z: np.nan_to_num(z).real + np.nan_to_num(z).imag,
        (c(complex(np.nan, 1), complex(2, np.inf)),),
        (c(1j, 1),),
    ),
    Special("fabs of a real part", lambda z: np.fabs(z.real), (c(-2 + 1j, 1j),), (c(-1, 0),)),
]
