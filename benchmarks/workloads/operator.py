"""one operator, 10 elements, recorded (no backward).

The loop is 1000 independent products, so the time is that of one ``x * 1.5`` with its record.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.7, "us an item")
ITEMS = 1000
FORWARD_ONLY = True
LEFT_OUT = {"jax": "compiled, there is no operator to record"}


def make(rng):
    return (rng.normal(size=10),)


def loss(x):
    for _ in range(1000):
        y = x * 1.5
    return np.sum(y)


def torch_loss(torch, x):
    for _ in range(1000):
        y = x * 1.5
    return torch.sum(y)
