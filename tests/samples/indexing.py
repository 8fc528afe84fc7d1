"""Samples of `npgrad.rules.indexing`."""

from __future__ import annotations

import numpy as np

from npgrad.rules.indexing import scatter_add
from tests.samples.core import Sample
from tests.samples.shape import normal, waves

MASK = np.array([True, False, True])
MANY = np.arange(5000) ** 2 % 97 % 50
ALONG = np.array([[0, 0, 1], [2, 2, 2]])


def drop_first(v: np.ndarray) -> np.ndarray:
    """A function of a line that gives a shorter line."""
    return v[1:] * v[0]


SAMPLES = [
    Sample("np.take", lambda x: np.take(x, [0, 2, 2]), normal((2, 3))),
    Sample("np.take one", lambda x: np.take(x, 1), normal((3,))),
    Sample("np.take axis", lambda x: np.take(x, [1, 0, 1], axis=1), normal((2, 3))),
    Sample("np.take one of axis", lambda x: np.take(x, -1, axis=0), normal((2, 3))),
    Sample(
        "np.take grid of indices",
        lambda x: np.take(x, np.array([[0, 1], [1, 1], [0, -1]]), axis=-2),
        normal((2, 3, 2)),
    ),
    Sample("np.take wrap", lambda x: np.take(x, [7, -9, 1], mode="wrap"), normal((3,))),
    Sample("np.take clip", lambda x: np.take(x, [7, -9, 1], mode="clip"), normal((3,))),
    Sample("np.take wrap axis", lambda x: np.take(x, [4, -5], 1, mode="wrap"), normal((2, 3))),
    Sample("np.take clip axis", lambda x: np.take(x, [4, -5], 1, mode="clip"), normal((2, 3))),
    Sample("np.take raise", lambda x: np.take(x, [0, 0], axis=0, mode="raise"), normal((3, 2))),
    Sample("np.take nothing", lambda x: np.take(x, [], axis=0), normal((3, 2))),
    Sample("np.take 0-d", lambda x: np.take(x, [0, 0]), normal(())),
    Sample("np.take complex", lambda x: np.take(x, [0, 0, 1]), waves((3,))),
    Sample("np.take of a step", lambda x: np.take(x[::-2], [1, 1, 0]), normal((5,))),
    Sample(
        "np.take out",
        lambda x: np.take(x, [1, 1], out=np.zeros_like(x[:2]), mode="clip"),
        normal((3,)),
    ),
    Sample("np.take_along_axis", lambda x: np.take_along_axis(x, ALONG, axis=1), normal((2, 3))),
    Sample(
        "np.take_along_axis first",
        lambda x: np.take_along_axis(x, np.array([[1, 0, -1], [1, 1, 0], [0, 0, 0]]), 0),
        normal((2, 3)),
    ),
    Sample(
        "np.take_along_axis None",
        lambda x: np.take_along_axis(x, np.array([5, 0, 5]), axis=None),
        normal((2, 3)),
    ),
    Sample(
        "np.take_along_axis one index a line",
        lambda x: np.take_along_axis(x, np.array([[[2]], [[0]]]), axis=-1),
        normal((2, 3, 3)),
    ),
    Sample(
        "np.take_along_axis broadcast array",
        lambda x: np.take_along_axis(x, ALONG, axis=1),
        normal((1, 3)),
    ),
    Sample(
        "np.take_along_axis complex", lambda x: np.take_along_axis(x, ALONG, axis=1), waves((2, 3))
    ),
    Sample("np.compress", lambda x: np.compress(MASK, x, axis=1), normal((2, 3))),
    Sample("np.compress flat", lambda x: np.compress([False, True, True], x), normal((2, 2))),
    Sample("np.compress numbers", lambda x: np.compress([0, 2], x, axis=0), normal((3, 2))),
    Sample("np.compress recorded", lambda x: np.compress(x > 0, x), normal((6,))),
    Sample("np.extract", lambda x: np.extract(np.array([[1, 0], [1, 1]]), x), normal((2, 2))),
    Sample("np.extract recorded", lambda x: np.extract(x > 0, x * x), normal((3, 2))),
    Sample("np.delete", lambda x: np.delete(x, 1), normal((2, 2))),
    Sample("np.delete axis", lambda x: np.delete(x, [0, -1], axis=1), normal((2, 4))),
    Sample("np.delete slice", lambda x: np.delete(x, slice(None, None, 2), 0), normal((4, 2))),
    Sample("np.delete mask", lambda x: np.delete(x, MASK, axis=-1), normal((2, 3))),
    Sample("np.delete complex", lambda x: np.delete(x, 0), waves((3,))),
    Sample("np.insert", lambda x, v: np.insert(x, 1, v), normal((3,), ())),
    Sample("np.insert flat", lambda x, v: np.insert(x, -1, v), normal((2, 2), (3,))),
    Sample("np.insert several", lambda x, v: np.insert(x, [0, 2, 2], v), normal((3,), (3,))),
    Sample("np.insert one value", lambda x, v: np.insert(x, [3, -1], v), normal((3,), ())),
    Sample("np.insert axis", lambda x, v: np.insert(x, 1, v, axis=1), normal((2, 3), (2,))),
    Sample(
        "np.insert list of one", lambda x, v: np.insert(x, [1], v, axis=1), normal((2, 3), (2, 1))
    ),
    Sample("np.insert rows", lambda x, v: np.insert(x, [0, 1], v, axis=0), normal((2, 3), (3,))),
    Sample(
        "np.insert slice", lambda x, v: np.insert(x, slice(0, 2), v, axis=-1), normal((2, 3), (2,))
    ),
    Sample("np.insert mask", lambda x, v: np.insert(x, MASK, v), normal((3,), ())),
    Sample("np.insert plain values", lambda x: np.insert(x, 0, [1.0, 2.0]), normal((3,))),
    Sample("np.insert into plain", lambda v: np.insert(np.ones(3), [0, 2], v), normal((2,))),
    Sample("np.ix_", np.ix_, normal((2,), (3,))),
    Sample("np.ix_ mixed", lambda x: np.ix_([0, 1], x)[1], normal((3,))),
    Sample(
        "np.apply_along_axis to numbers",
        lambda x: np.apply_along_axis(lambda v: np.sum(v * v), 0, x),
        normal((3, 2)),
    ),
    Sample(
        "np.apply_along_axis to lists",
        lambda x: np.apply_along_axis(lambda v: [v[0] * v[1], v[1] ** 2, 3.0], 1, x),
        normal((3, 2)),
    ),
    Sample(
        "np.apply_along_axis to lines",
        lambda x: np.apply_along_axis(drop_first, 1, x),
        normal((2, 3, 2)),
    ),
    Sample(
        "np.apply_along_axis to matrices",
        lambda x: np.apply_along_axis(
            lambda v, s, k=1.0: k * np.outer(v, s * v), -1, x, 2.0, k=3.0
        ),
        normal((2, 2)),
    ),
    Sample(
        "np.apply_along_axis vector",
        lambda x: np.apply_along_axis(lambda v: v[0] * v, 0, x),
        normal((3,)),
    ),
    Sample(
        "np.apply_over_axes",
        lambda x: np.apply_over_axes(np.sum, x * x, (0, -1)),
        normal((2, 3, 2)),
    ),
    Sample("np.apply_over_axes one", lambda x: np.apply_over_axes(np.prod, x, 1), normal((2, 3))),
    # Long enough for the compiled kernel.
    Sample("np.take many", lambda x: np.take(x, MANY), normal((50,)), batched=False),
    Sample("np.take many rows", lambda x: np.take(x, MANY, 0), normal((50, 2)), batched=False),
    Sample("np.take many columns", lambda x: np.take(x, MANY, 1), normal((2, 50)), batched=False),
    Sample(
        "np.take_along_axis many",
        lambda x: np.take_along_axis(x, MANY[:, None] % 3, 1),
        normal((1, 3)),
        batched=False,
    ),
    # The primitive behind every gather's gradient, which gradients alone reach at second order.
    Sample("scatter_add", lambda g: scatter_add(g, np.array([2, 0, 2, -1]), 4, -1), normal((2, 4))),
    Sample(
        "scatter_add grid of indices",
        lambda g: scatter_add(g, np.array([[2, 0], [2, 1]]), 3, -2),
        normal((2, 2, 3)),
    ),
    Sample(
        "scatter_add unique", lambda g: scatter_add(g, np.array([2, 0]), 3, -1, True), normal((2,))
    ),
]
