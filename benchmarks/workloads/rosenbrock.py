"""rosenbrock, n = 10."""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(12.0)


def make(rng):
    return (rng.normal(size=10),)


def loss(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def torch_loss(torch, x):
    return torch.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def jax_loss(jax, x):
    return jax.numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
