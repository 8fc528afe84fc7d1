"""Special points of `npgrad.rules.calculus` and `polynomials`: knots, ends, repeated roots."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

KNOTS = np.array([0.0, 1.0, 3.0])
VALUES = np.array([0.0, 2.0, -2.0])  # slopes 2 and -2

SPECIAL = [
    Special(
        "np.interp at the knots: the slope to the right, at the last one to the left",
        lambda x: np.sum(np.interp(x, KNOTS, VALUES)),
        (np.array([0.0, 1.0, 3.0]),),
        (np.array([2.0, -2.0, -2.0]),),
        (np.zeros(3),),
    ),
    Special(
        "np.interp at the knots, by its values",
        lambda fp: np.sum(np.interp([0.0, 1.0, 3.0], KNOTS, fp) * np.array([1.0, 10.0, 100.0])),
        (VALUES,),
        (np.array([1.0, 10.0, 100.0]),),
    ),
    Special(
        "np.interp outside",
        lambda x, fp: np.sum(np.interp(x, KNOTS, fp) * np.array([1.0, 10.0, 100.0])),
        (np.array([-1.0, 4.0, np.inf]), VALUES),
        (np.zeros(3), np.array([1.0, 0.0, 110.0])),
    ),
    Special(
        "np.interp at a jump: the piece to the right",
        lambda x: np.interp(x, [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 3.0, 7.0]),
        (np.array(1.0),),
        (np.array(4.0),),
    ),
    Special(
        "np.convolve with zeros",
        lambda a, v: np.sum(np.convolve(a, v) * np.array([1.0, 10.0, 100.0])),
        (np.zeros(2), np.array([1.0, 2.0])),
        (np.array([21.0, 210.0]), np.zeros(2)),
    ),
    Special(
        "np.polyval at 0",
        np.polyval,
        (np.array([5.0, 3.0, 2.0]), np.array(0.0)),
        (np.array([0.0, 0.0, 1.0]), np.array(3.0)),
        # sum of the first: x^2 + x + 1 + 2 p0 x + p1
        (np.array([0.0, 1.0, 0.0]), np.array(1.0 + 10.0)),
    ),
    Special(
        "np.poly of equal roots",
        lambda r: np.sum(np.poly(r) * np.array([0.0, 1.0, 10.0])),
        (np.array([2.0, 2.0]),),
        # -(r1 + r2) + 10 r1 r2
        (np.array([19.0, 19.0]),),
        (np.array([10.0, 10.0]),),
    ),
    Special(
        "np.poly of a matrix with equal eigenvalues",
        lambda a: np.sum(np.poly(a) * np.array([0.0, 1.0, 10.0])),
        (np.eye(2),),
        # -tr a + 10 det a; the sum of its gradient is -2 + 10 (a00 + a11 - a01 - a10)
        (9.0 * np.eye(2),),
        (np.array([[10.0, -10.0], [-10.0, 10.0]]),),
    ),
    Special(
        "np.roots with a root at 0",
        lambda p: np.sum(np.roots(p) * np.array([1.0, 10.0])),
        (np.array([1.0, -2.0, 0.0]),),
        # roots 2 and 0, p' = 2 and -2: dr = -(r^2, r, 1) / p'
        (np.array([-2.0, -1.0, -0.5 + 5.0]),),
    ),
    Special(
        "np.roots with a leading zero",
        lambda p: np.sum(np.roots(p)),
        (np.array([0.0, 2.0, -6.0]),),
        # root 3, p' = 2: dr = -(9, 3, 1) / 2
        (np.array([-4.5, -1.5, -0.5]),),
    ),
]
