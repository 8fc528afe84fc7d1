"""Special points of `npgrad.rules.contraction` and `einsum`: zeros, empties, infinities."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

ZERO = np.zeros((2, 2))
A = np.array([[1.0, 2.0], [3.0, 4.0]])

SPECIAL = [
    Special(
        "np.matmul of zeros",
        lambda a, b: np.sum(np.matmul(a, b)),
        (ZERO, A),
        (np.array([[3.0, 7.0], [3.0, 7.0]]), ZERO),
        # the sum of a's gradient is 2 sum(b); of b's gradient, 2 sum(a): together
        (np.full((2, 2), 2.0), np.full((2, 2), 2.0)),
    ),
    Special(
        "np.matmul over no terms",
        lambda a, b: np.sum(np.matmul(a, b)),
        (np.zeros((2, 0)), np.zeros((0, 3))),
        (np.zeros((2, 0)), np.zeros((0, 3))),
    ),
    Special(
        "np.dot of no terms",
        np.dot,
        (np.zeros(0), np.zeros(0)),
        (np.zeros(0), np.zeros(0)),
    ),
    Special(
        "np.dot beside infinity",
        lambda a: np.dot(a, np.array([2.0, 3.0])),
        (np.array([np.inf, 1.0]),),
        (np.array([2.0, 3.0]),),
    ),
    Special(
        "np.einsum takes the diagonal only",
        lambda a: np.einsum("ii->", a),
        (np.array([[1.0, np.inf], [np.nan, 2.0]]),),
        (np.eye(2),),
    ),
    Special(
        "np.einsum sums away",
        lambda a: np.sum(np.einsum("ij->j", a) ** 2),
        (A,),
        (np.array([[8.0, 12.0], [8.0, 12.0]]),),
        (np.full((2, 2), 4.0),),
    ),
    Special(
        "np.einsum of one array three times",
        lambda a: np.einsum("i,i,i->", a, a, a),
        (np.array([0.0, -2.0]),),
        (np.array([0.0, 12.0]),),
        (np.array([0.0, -12.0]),),
    ),
    Special(
        "np.einsum of length one against n",
        lambda a, b: np.einsum("i,i->", a, b),
        (np.array([3.0]), np.array([1.0, 2.0])),
        (np.array([3.0]), np.array([3.0, 3.0])),
    ),
    Special(
        "np.kron with zeros",
        lambda a, b: np.sum(np.kron(a, b)),
        (np.zeros(2), np.array([1.0, 2.0])),
        (np.array([3.0, 3.0]), np.zeros(2)),
    ),
    Special(
        "np.cross of parallel vectors",
        lambda a, b: np.sum(np.cross(a, b) * np.array([1.0, 0.0, 0.0])),
        (np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])),
        # c = (1, 0, 0): b x c and c x a
        (np.array([0.0, 6.0, -4.0]), np.array([0.0, -3.0, 2.0])),
    ),
    # y = conj(a) b: Re y has du/da + i dv = b, and a for b
    Special(
        "np.vdot conjugates its first argument",
        np.vdot,
        (np.array([1.0 + 2.0j]), np.array([3.0 - 1.0j])),
        (np.array([3.0 - 1.0j]), np.array([1.0 + 2.0j])),
    ),
    # y = a b: Re y has the gradient conj(b), conj(a)
    Special(
        "np.dot conjugates nothing",
        np.dot,
        (np.array([1.0 + 2.0j]), np.array([3.0 - 1.0j])),
        (np.array([3.0 + 1.0j]), np.array([1.0 - 2.0j])),
    ),
]
