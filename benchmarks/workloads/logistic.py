"""logistic regression 100k x 100.

Bound by two passes over the 80 MB of features.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(1.6)


def make(rng):
    features = rng.normal(size=(100_000, 100))
    return rng.normal(size=100) / 10, features, np.sign(features[:, 0] + rng.normal(size=100_000))


def loss(weights, features, sign):
    return np.mean(np.log1p(np.exp(-sign * (features @ weights))))


def torch_loss(torch, weights, features, sign):
    return torch.mean(torch.log1p(torch.exp(-sign * (features @ weights))))


def jax_loss(jax, weights, features, sign):
    jnp = jax.numpy
    return jnp.mean(jnp.log1p(jnp.exp(-sign * (features @ weights))))
