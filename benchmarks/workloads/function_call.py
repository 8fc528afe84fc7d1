"""one np.f(x), 10 elements, recorded (no backward).

The loop is 1000 independent calls of ``np.multiply``, so the time is that of one call through
NumPy's protocol with its record.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.7, "us an item")
ITEMS = 1000
FORWARD_ONLY = True
LEFT_OUT = {"jax": "compiled, there is no call to record"}


def make(rng):
    return (rng.normal(size=10),)


def loss(x):
    for _ in range(1000):
        y = np.multiply(x, 1.5)
    return np.sum(y)


def torch_loss(torch, x):
    for _ in range(1000):
        y = torch.mul(x, 1.5)
    return torch.sum(y)
