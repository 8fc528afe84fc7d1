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


def by_hand(weights, features, sign):
    slope, power, count = np.empty(len(sign)), np.empty(len(sign)), len(sign)

    def run():
        np.matmul(features, weights, out=power)
        np.multiply(power, sign, out=power)
        np.negative(power, out=power)
        np.exp(power, out=power)
        value = np.log1p(power, out=slope).mean()
        np.add(power, 1.0, out=slope)
        np.divide(power, slope, out=slope)
        np.multiply(slope, sign, out=slope)
        gradient = slope @ features
        gradient /= -count
        return value, [gradient]

    return run


def torch_loss(torch, weights, features, sign):
    return torch.mean(torch.log1p(torch.exp(-sign * (features @ weights))))


def jax_loss(jax, weights, features, sign):
    jnp = jax.numpy
    return jnp.mean(jnp.log1p(jnp.exp(-sign * (features @ weights))))
