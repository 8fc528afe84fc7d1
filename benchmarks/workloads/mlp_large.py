"""MLP 256x784-512-10, float32.

One training step of a digits classifier: rectifier, log-softmax, cross entropy.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.3)
ARGNUMS = (0, 1, 2, 3)
# A step of 1e-5 along all 400,000 weights carries about 30 units over the rectifier's kink.
DIFFERENCE_STEP = 1e-8


def make(rng):
    f = np.float32
    return (
        (rng.normal(size=(784, 512)) / 28).astype(f),
        np.zeros(512, f),
        (rng.normal(size=(512, 10)) / 23).astype(f),
        np.zeros(10, f),
        rng.normal(size=(256, 784)).astype(f),
        rng.integers(0, 10, 256),
    )


def loss(w1, b1, w2, b2, x, labels):
    hidden = np.maximum(x @ w1 + b1, 0.0)
    scores = hidden @ w2 + b2
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_total = np.log(np.sum(np.exp(scores), axis=1))
    return np.mean(log_total - scores[np.arange(len(labels)), labels])


def torch_loss(torch, w1, b1, w2, b2, x, labels):
    hidden = torch.relu(x @ w1 + b1)
    return torch.nn.functional.cross_entropy(hidden @ w2 + b2, labels)


def jax_loss(jax, w1, b1, w2, b2, x, labels):
    hidden = jax.nn.relu(x @ w1 + b1)
    scores = jax.nn.log_softmax(hidden @ w2 + b2)
    picked = jax.numpy.take_along_axis(scores, labels[:, None], axis=1)
    return -jax.numpy.mean(picked)
