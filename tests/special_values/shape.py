"""Special points of `npgrad.rules.shape` and `npgrad.rules.padding`."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Special

sliding_window_view = np.lib.stride_tricks.sliding_window_view

SPECIAL = [
    # Columns x^3, x^2, x, 1: slopes 3x^2, 2x, 1, 0 at 0; their slopes 6x, 2, 0.
    Special(
        "np.vander at 0",
        lambda x: np.sum(np.vander(x, 4) * [1.0, 10.0, 100.0, 1000.0]),
        (np.array([0.0, 1.0]),),
        (np.array([100.0, 123.0]),),
        (np.array([20.0, 26.0]),),
    ),
    Special(
        "np.vander increasing at 0",
        lambda x: np.sum(np.vander(x, 3, increasing=True)),
        (np.array([0.0]),),
        (np.array([1.0]),),
        (np.array([2.0]),),
    ),
    Special(
        "np.tril above infinities",
        lambda x: np.sum(np.tril(x) * np.array([[2.0, 5.0], [3.0, 4.0]])),
        (np.array([[1.0, np.inf], [1.0, 1.0]]),),
        (np.array([[2.0, 0.0], [3.0, 4.0]]),),
    ),
    Special(
        "np.pad with infinity",
        lambda x: np.sum(np.pad(x, 1, constant_values=np.inf)[1:-1] * x),
        (np.array([3.0, 0.0]),),
        (np.array([6.0, 0.0]),),
        (np.array([2.0, 2.0]),),
    ),
    Special(
        "np.pad edge: the corner is copied into both borders",
        lambda x: np.sum(np.pad(x, ((1, 0), (0, 2)), "edge")),
        (np.zeros((2, 2)),),
        (np.array([[2.0, 6.0], [1.0, 3.0]]),),
    ),
    Special(
        "np.pad reflect of a long border",
        lambda x: np.sum(np.pad(x, (0, 5), "reflect") * np.arange(8.0)),
        (np.zeros(3),),
        # entries 0..7 come from 0 1 2 1 0 1 2 1
        (np.array([0.0 + 4.0, 1.0 + 3.0 + 5.0 + 7.0, 2.0 + 6.0]),),
    ),
    Special(
        "np.pad wrap of a long border",
        lambda x: np.sum(np.pad(x, (3, 0), "wrap") * np.array([1.0, 10.0, 100.0, 0.0, 0.0])),
        (np.zeros(2),),
        # the border is x1 x0 x1
        (np.array([10.0, 101.0]),),
    ),
    Special(
        "np.pad maximum of equal entries shares",
        lambda x: np.sum(np.pad(x, (1, 0), "maximum") * np.array([6.0, 0.0, 0.0, 0.0])),
        (np.array([2.0, 2.0, 1.0]),),
        (np.array([3.0, 3.0, 0.0]),),
    ),
    Special(
        "np.pad odd reflection of one entry",
        lambda x: np.sum(np.pad(x, (2, 1), "reflect", reflect_type="odd")),
        (np.array([5.0]),),
        (np.array([4.0]),),
    ),
    Special(
        "np.trim_zeros keeps inner zeros",
        lambda x: np.sum(np.trim_zeros(x) ** 2),
        (np.array([0.0, 3.0, 0.0, 4.0, 0.0]),),
        (np.array([0.0, 6.0, 0.0, 8.0, 0.0]),),
    ),
    Special(
        "np.repeat of nothing",
        lambda x: np.sum(np.repeat(x, [0, 3])),
        (np.array([1.0, 2.0]),),
        (np.array([0.0, 3.0]),),
    ),
    Special(
        "np.resize wraps round",
        lambda x: np.sum(np.resize(x, 5) * np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])),
        (np.array([1.0, 2.0]),),
        (np.array([10101.0, 1010.0]),),
    ),
    Special(
        "windows overlap",
        lambda x: np.sum(sliding_window_view(x, 3)),
        (np.zeros(5),),
        (np.array([1.0, 2.0, 3.0, 2.0, 1.0]),),
    ),
    Special(
        "np.trace past the corner",
        lambda x: np.trace(x, offset=7),
        (np.ones((2, 2)),),
        (np.zeros((2, 2)),),
    ),
    Special(
        "np.diag of a singular matrix",
        lambda x: np.prod(np.diag(x)),
        (np.array([[0.0, 1.0], [1.0, 5.0]]),),
        (np.array([[5.0, 0.0], [0.0, 0.0]]),),
        (np.array([[1.0, 0.0], [0.0, 1.0]]),),
    ),
]
