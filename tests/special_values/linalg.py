"""Norms at zero and at ties, singular determinants, repeated eigenvalues and singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.core import Special

Z3, Z22 = np.zeros(3), np.zeros((2, 2))
EYE = np.eye(2)
DOUBLE = np.diag([2.0, 2.0, 5.0])  # a repeated eigenvalue, in a basis that hides it:
ROTATION = np.array([[2.0, -2.0, 1.0], [1.0, 2.0, 2.0], [2.0, 1.0, -2.0]]) / 3.0
HIDDEN = ROTATION @ DOUBLE @ ROTATION.T


def at_zero(p: Any) -> Special:
    return Special(f"np.linalg.norm {p} of zeros", lambda x: np.linalg.norm(x, p), (Z3,), (Z3,))


def matrix_at_zero(p: Any) -> Special:
    return Special(
        f"np.linalg.norm {p} of a matrix of zeros", lambda x: np.linalg.norm(x, p), (Z22,), (Z22,)
    )


NORMS = [
    *map(at_zero, (None, 2, 1, 0, 3, 2.5, 1.5, 0.5, np.inf, -np.inf)),
    *map(matrix_at_zero, (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)),
    Special(
        "np.linalg.norm of complex zeros",
        np.linalg.norm,
        (np.zeros(2, dtype=complex),),
        (np.zeros(2, dtype=complex),),
    ),
    Special("np.linalg.norm squared at zero", lambda x: np.linalg.norm(x) ** 2, (Z3,), (Z3,)),
    Special(
        "np.linalg.norm of rows, one of them zero",
        lambda x: np.linalg.norm(x, axis=1),
        (np.array([[3.0, 4.0], [0.0, 0.0]]),),
        (np.array([[0.6, 0.8], [0.0, 0.0]]),),
    ),
    Special("np.linalg.vector_norm of zeros", np.linalg.vector_norm, (Z22,), (Z22,)),
    Special("np.linalg.matrix_norm of zeros", np.linalg.matrix_norm, (Z22,), (Z22,)),
    Special(
        "np.linalg.norm 1 with a zero entry",
        lambda x: np.linalg.norm(x, 1),
        (np.array([2.0, 0.0, -3.0]),),
        (np.array([1.0, 0.0, -1.0]),),
    ),
    Special(  # y = (4 + 9)**2: dy/dx = 2 sqrt(y) sign(x) / (2 sqrt|x|), infinite at zero: 0 there
        "np.linalg.norm 0.5 with a zero entry",
        lambda x: np.linalg.norm(x, 0.5),
        (np.array([4.0, 0.0, -9.0]),),
        (np.array([5.0 / 2.0, 0.0, -5.0 / 3.0]),),
    ),
    Special(  # y is 2 whatever the zero entry does to second order
        "np.linalg.norm 3 with a zero entry",
        lambda x: np.linalg.norm(x, 3),
        (np.array([2.0, 0.0]),),
        (np.array([1.0, 0.0]),),
        (np.array([0.0, 0.0]),),
    ),
    Special(
        "np.linalg.norm inf with ties",
        lambda x: np.linalg.norm(x, np.inf),
        (np.array([2.0, -2.0, 1.0]),),
        (np.array([0.5, -0.5, 0.0]),),
        (Z3,),
    ),
    Special(
        "np.linalg.norm -inf with ties",
        lambda x: np.linalg.norm(x, -np.inf),
        (np.array([2.0, -1.0, 1.0]),),
        (np.array([0.0, -0.5, 0.5]),),
    ),
    Special(
        "np.linalg.norm matrix 1 with ties",
        lambda x: np.linalg.norm(x, 1),
        (np.array([[1.0, -2.0], [2.0, 1.0]]),),
        (np.array([[0.5, -0.5], [0.5, 0.5]]),),
    ),
    Special(
        "np.linalg.norm matrix -inf with ties",
        lambda x: np.linalg.norm(x, -np.inf),
        (np.array([[1.0, -2.0], [2.0, 1.0], [4.0, 4.0]]),),
        (np.array([[0.5, -0.5], [0.5, 0.5], [0.0, 0.0]]),),
    ),
    Special("np.linalg.norm 2 of the identity", lambda x: np.linalg.norm(x, 2), (EYE,), (EYE / 2,)),
    Special(
        "np.linalg.norm -2 of the identity", lambda x: np.linalg.norm(x, -2), (EYE,), (EYE / 2,)
    ),
    Special(  # D(polar)(1)[G] = (G - G^T) / 2, which is zero for the matrix of ones
        "np.linalg.norm nuc of the identity",
        lambda x: np.linalg.norm(x, "nuc"),
        (EYE,),
        (EYE,),
        (Z22,),
    ),
    Special(
        "np.linalg.norm nuc of rank one",
        lambda x: np.linalg.norm(x, "nuc"),
        (np.diag([2.0, 0.0]),),
        (np.diag([1.0, 0.0]),),
    ),
]

DETERMINANTS = [
    Special(
        "np.linalg.det singular",
        np.linalg.det,
        (np.array([[2.0, 6.0], [1.0, 3.0]]),),
        (np.array([[3.0, -1.0], [-6.0, 2.0]]),),
        (np.array([[1.0, -1.0], [-1.0, 1.0]]),),
    ),
    Special(
        "np.linalg.det of zeros",
        np.linalg.det,
        (Z22,),
        (Z22,),
        (np.array([[1.0, -1.0], [-1.0, 1.0]]),),
    ),
    Special(  # the sum of the cofactors to first order in what surrounds the 1
        "np.linalg.det of rank one",
        np.linalg.det,
        (np.diag([1.0, 0.0, 0.0]),),
        (np.zeros((3, 3)),),
        (np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]]),),
    ),
    Special(
        "np.linalg.det of 1 to 9",
        np.linalg.det,
        (np.arange(1.0, 10.0).reshape(3, 3),),
        (np.array([[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]]),),
        (np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),),
    ),
    Special(
        "np.linalg.det of a stack, one of it singular",
        np.linalg.det,
        (np.stack([EYE, np.diag([2.0, 0.0])]),),
        (np.stack([EYE, np.diag([0.0, 2.0])]),),
    ),
    Special(
        "np.linalg.det complex, singular",
        lambda a: np.real(np.linalg.det(a)),
        (np.array([[1.0 + 1j, 2.0], [1j, 1.0 + 1j]]),),
        (np.array([[1.0 - 1j, 1j], [-2.0, 1.0 - 1j]]),),
    ),
    Special(
        "np.linalg.slogdet singular, masked away",
        lambda a: np.where(np.linalg.det(a) > 0, np.linalg.slogdet(a)[1], 0.0),
        (np.stack([2 * EYE, np.diag([2.0, 0.0])]),),
        (np.stack([EYE / 2, Z22]),),
    ),
    Special("np.linalg.pinv of zeros", np.linalg.pinv, (Z22,), (Z22,)),
    Special(
        "np.linalg.matrix_power 0 of a singular matrix",
        lambda a: np.linalg.matrix_power(a, 0),
        (Z22,),
        (Z22,),
        (Z22,),
    ),
]

SPECTRA = [
    Special(
        "np.linalg.eigvalsh of the identity, log det",
        lambda a: np.sum(np.log(np.linalg.eigvalsh(a))),
        (2 * EYE,),
        (EYE / 2,),
    ),
    Special(
        "np.linalg.eigvalsh repeated, sum of squares",
        lambda a: np.sum(np.linalg.eigvalsh(a) ** 2),
        (HIDDEN,),
        (2 * HIDDEN,),
    ),
    Special(
        "np.linalg.svdvals repeated, sum of squares",
        lambda a: np.sum(np.linalg.svdvals(a) ** 2),
        (HIDDEN,),
        (2 * HIDDEN,),
    ),
    Special(
        "np.linalg.svd values of zeros, sum of squares",
        lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2),
        (np.zeros((3, 2)),),
        (np.zeros((3, 2)),),
    ),
    Special(
        "np.linalg.eigvals of the identity", lambda a: np.sum(np.linalg.eigvals(a)), (EYE,), (EYE,)
    ),
    Special(
        "np.linalg.eigvals repeated, sum of cubes",
        lambda a: np.sum(np.linalg.eigvals(a) ** 3),
        (HIDDEN,),
        (3 * HIDDEN @ HIDDEN,),
    ),
]

SPECIAL: list[Special] = [*NORMS, *DETERMINANTS, *SPECTRA]
