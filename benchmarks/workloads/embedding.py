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


def torch_loss(torch, table, head, index):
    return torch.mean(torch.tanh(torch.nn.functional.embedding(index, table) @ head))


def jax_loss(jax, table, head, index):
    return jax.numpy.mean(jax.numpy.tanh(table[index] @ head))
