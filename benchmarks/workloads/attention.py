"""attention 8x256x64, float32."""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.0)
ARGNUMS = (0, 1, 2)


def make(rng):
    return tuple(rng.normal(size=(8, 256, 64)).astype(np.float32) for _ in range(3))


def loss(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) * 0.125
    scores = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = scores / np.sum(scores, axis=-1, keepdims=True)
    return np.mean((weights @ value) ** 2)


def torch_loss(torch, query, key, value):
    weights = torch.softmax(query @ key.transpose(-1, -2) * 0.125, dim=-1)
    return torch.mean((weights @ value) ** 2)


def jax_loss(jax, query, key, value):
    weights = jax.nn.softmax(query @ jax.numpy.swapaxes(key, -1, -2) * 0.125, axis=-1)
    return jax.numpy.mean((weights @ value) ** 2)
