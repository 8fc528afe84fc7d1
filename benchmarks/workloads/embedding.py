"""embedding gather, 50k of 20000x128, float32.

A linear head over gathered rows; the backward scatters 50,000 rows with repetitions.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(4.0)


def make(rng):
    return (
        rng.normal(size=(20_000, 128)).astype(np.float32),
        (rng.normal(size=128) / 11).astype(np.float32),
        rng.integers(0, 20_000, 50_000),
    )


def loss(table, head, index):
    return np.mean(np.tanh(table[index] @ head))


def by_hand(table, head, index):
    count, gradient = len(index), np.empty_like(table)

    def run():
        active = np.tanh(table[index] @ head)
        value = active.mean()
        np.multiply(active, active, out=active)
        np.subtract(1.0, active, out=active)
        np.divide(active, count, out=active)
        # All rows are multiples of the head: their factors are added up, not the rows.
        factor = np.bincount(index, active, len(table)).astype(np.float32)
        return value, [np.multiply(factor[:, None], head, out=gradient)]

    return run


def torch_loss(torch, table, head, index):
    return torch.mean(torch.tanh(torch.nn.functional.embedding(index, table) @ head))


def jax_loss(jax, table, head, index):
    return jax.numpy.mean(jax.numpy.tanh(table[index] @ head))
