"""Samples of `npgrad.rules.joining`."""

from __future__ import annotations

import numpy as np

from tests.samples.core import Sample
from tests.samples.shape import normal, waves

PLAIN = np.array([[1.0, 2.0]])

SAMPLES = [
    Sample("np.concatenate", lambda x, y: np.concatenate([x, y]), normal((2, 3), (1, 3))),
    Sample("np.concatenate tuple", lambda x: np.concatenate((x, PLAIN, x * x)), normal((1, 2))),
    Sample(
        "np.concatenate axis", lambda x, y: np.concatenate([x, y], axis=1), normal((2, 3), (2, 1))
    ),
    Sample(
        "np.concatenate negative axis",
        lambda x, y: np.concatenate([x, y], -2),
        normal((2, 1, 3), (2, 2, 3)),
    ),
    Sample(
        "np.concatenate None",
        lambda x, y: np.concatenate([x, 2.0, y, [3.0]], axis=None),
        normal((2, 2), ()),
    ),
    Sample(
        "np.concatenate dtype",
        lambda x, y: np.concatenate([x, y], dtype=np.float64, casting="unsafe"),
        normal((2,), (1,)),
    ),
    Sample("np.concatenate one twice", lambda x: np.concatenate([x, x, x]), normal((2,))),
    Sample("np.concatenate an array", np.concatenate, normal((2, 3, 2))),
    Sample("np.concatenate empty", lambda x, y: np.concatenate([x, y]), normal((0, 2), (1, 2))),
    Sample("np.concatenate complex", lambda x, y: np.concatenate([x, y]), waves((2,), (3,))),
    Sample(
        "np.concatenate real into complex",
        lambda x, y: np.concatenate([x, y * (1 + 2j)]) * 1j,
        normal((2,), (1,)),
    ),
    Sample(
        "np.concatenate out",
        lambda x: np.concatenate([x, x[:1]], out=np.zeros_like(x, shape=3)),
        normal((2,)),
    ),
    Sample("np.concat", lambda x, y: np.concat([x, y], axis=-1), normal((2, 1), (2, 2))),
    Sample("np.stack", lambda x, y: np.stack([x, y]), normal((2, 3), (2, 3))),
    Sample("np.stack last", lambda x, y: np.stack([x, y], axis=-1), normal((2, 3), (2, 3))),
    Sample("np.stack middle", lambda x, y: np.stack((x, y), 1), normal((2, 3), (2, 3))),
    Sample("np.stack mixed", lambda x, y: np.stack([x[0], 1.0, y]), normal((2,), ())),
    Sample(
        "np.stack dtype",
        lambda x: np.stack([x, x], dtype=np.float64, casting="same_kind"),
        normal((2,)),
    ),
    Sample("np.stack an array", lambda x: np.stack(x, axis=1), normal((2, 3))),
    Sample(
        "np.stack out", lambda x: np.stack([x, x], out=np.zeros_like(x, shape=(2, 2))), normal((2,))
    ),
    Sample("np.vstack", lambda x, y: np.vstack([x, y]), normal((3,), (2, 3))),
    Sample("np.vstack mixed", lambda x: np.vstack((x, PLAIN, [3.0, 4.0])), normal((2,))),
    Sample("np.vstack dtype", lambda x: np.vstack([x, x], dtype=np.float64), normal((2,))),
    Sample("np.vstack one", lambda x: np.vstack([x]), normal((2,))),
    Sample("np.hstack", lambda x, y: np.hstack([x, y]), normal((2, 1), (2, 3))),
    Sample("np.hstack numbers", lambda x, y: np.hstack([x, 1.0, y]), normal((), (2,))),
    Sample(
        "np.hstack dtype",
        lambda x: np.hstack([x, x], dtype=np.float64, casting="same_kind"),
        normal((2,)),
    ),
    Sample("np.dstack", lambda x, y: np.dstack([x, y]), normal((2, 3), (2, 3))),
    Sample("np.dstack vectors", lambda x, y: np.dstack((x, y)), normal((3,), (3,))),
    Sample("np.column_stack", lambda x, y: np.column_stack([x, y]), normal((3,), (3, 2))),
    Sample("np.column_stack mixed", lambda x: np.column_stack((x, [1.0, 2.0])), normal((2,))),
    Sample("np.append", np.append, normal((2, 2), (3,))),
    Sample("np.append number", np.append, normal((2,), ())),
    Sample("np.append axis", lambda x, y: np.append(x, y, axis=1), normal((2, 2), (2, 1))),
    Sample("np.append to plain", lambda x: np.append([1.0, 2.0], x), normal((2,))),
    Sample("np.append plain", lambda x: np.append(x, 3.0), normal((2,))),
    Sample(
        "np.block",
        lambda a, b, c, d: np.block([[a, b], [c, d]]),
        normal((2, 2), (2, 1), (1, 2), (1, 1)),
    ),
    Sample(
        "np.block mixed",
        lambda a, b: np.block([[a, np.zeros((2, 1))], [b, 1.0]]),
        normal((2, 2), (2,)),
    ),
    Sample("np.block one level", lambda a, b: np.block([a, b, 2.0]), normal((2,), ())),
    Sample("np.block more axes", lambda a, b: np.block([a, b]), normal((1, 2, 2), (2, 1))),
    Sample(
        "np.block three levels", lambda a, b: np.block([[[a], [b]], [[b], [a]]]), normal((2,), (2,))
    ),
    Sample("np.block alone", np.block, normal((2,))),
]
