"""chain of 200 operations, 10 elements.

Half operators, half functions; NumPy itself spends about 0.4 us on each, so the ratio is overhead.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(7.0)
ITEMS = 200


def make(rng):
    return (rng.uniform(0.5, 1.0, size=10),)


def loss(x):
    y = x
    for _ in range(50):
        y = y * 1.01
        y = np.sin(y)
        y = y + x
        y = np.tanh(y)
    return np.sum(y)


def torch_loss(torch, x):
    y = x
    for _ in range(50):
        y = y * 1.01
        y = torch.sin(y)
        y = y + x
        y = torch.tanh(y)
    return torch.sum(y)


def jax_loss(jax, x):
    y = x
    for _ in range(50):
        y = y * 1.01
        y = jax.numpy.sin(y)
        y = y + x
        y = jax.numpy.tanh(y)
    return jax.numpy.sum(y)
