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


def by_hand(w1, b1, w2, b2, x, labels):
    rows, count = np.arange(len(labels)), len(labels)
    hidden, back = np.empty((2, count, len(b1)), x.dtype)
    gradients = [np.empty_like(w) for w in (w1, b1, w2, b2)]

    def run():
        np.matmul(x, w1, out=hidden)
        np.add(hidden, b1, out=hidden)
        np.maximum(hidden, 0.0, out=hidden)
        scores = hidden @ w2
        scores += b2
        scores -= np.max(scores, axis=1, keepdims=True)
        picked = scores[rows, labels]
        slope = np.exp(scores, out=scores)
        total = np.sum(slope, axis=1)
        value = np.mean(np.log(total) - picked)
        slope /= total[:, None]
        slope[rows, labels] -= 1.0
        slope /= count
        np.matmul(hidden.T, slope, out=gradients[2])
        np.add.reduce(slope, 0, out=gradients[3])
        np.matmul(slope, w2.T, out=back)
        np.multiply(back, hidden > 0.0, out=back)
        np.matmul(x.T, back, out=gradients[0])
        np.add.reduce(back, 0, out=gradients[1])
        return value, gradients

    return run


def torch_loss(torch, w1, b1, w2, b2, x, labels):
    hidden = torch.relu(x @ w1 + b1)
    return torch.nn.functional.cross_entropy(hidden @ w2 + b2, labels)


def jax_loss(jax, w1, b1, w2, b2, x, labels):
    hidden = jax.nn.relu(x @ w1 + b1)
    scores = jax.nn.log_softmax(hidden @ w2 + b2)
    picked = jax.numpy.take_along_axis(scores, labels[:, None], axis=1)
    return -jax.numpy.mean(picked)
