"""MLP 32x16-32-1."""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(9.0)
ARGNUMS = (0, 1, 2, 3)


def make(rng):
    return (
        rng.normal(size=(16, 32)) / 4,
        rng.normal(size=32) / 4,
        rng.normal(size=(32, 1)) / 4,
        rng.normal(size=1) / 4,
        rng.normal(size=(32, 16)),
        rng.normal(size=(32, 1)),
    )


def loss(w1, b1, w2, b2, x, target):
    hidden = np.tanh(x @ w1 + b1)
    return np.mean((hidden @ w2 + b2 - target) ** 2)


def torch_loss(torch, w1, b1, w2, b2, x, target):
    hidden = torch.tanh(x @ w1 + b1)
    return torch.mean((hidden @ w2 + b2 - target) ** 2)


def jax_loss(jax, w1, b1, w2, b2, x, target):
    hidden = jax.numpy.tanh(x @ w1 + b1)
    return jax.numpy.mean((hidden @ w2 + b2 - target) ** 2)
