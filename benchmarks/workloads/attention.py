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


def by_hand(query, key, value):
    turned = np.swapaxes(key, -1, -2)
    weights, back = np.empty((2, *query.shape[:2], key.shape[1]), query.dtype)
    gradients = [np.empty_like(a) for a in (query, key, value)]

    def run():
        np.matmul(query, turned, out=weights)
        np.multiply(weights, 0.125, out=weights)
        np.subtract(weights, np.max(weights, axis=-1, keepdims=True), out=weights)
        np.exp(weights, out=weights)
        np.divide(weights, np.sum(weights, axis=-1, keepdims=True), out=weights)
        mixed = weights @ value
        slope = mixed * (2.0 / mixed.size)
        np.matmul(np.swapaxes(weights, -1, -2), slope, out=gradients[2])
        np.matmul(slope, np.swapaxes(value, -1, -2), out=back)
        # the rows' inner products with the weights, from the smaller factors of the product
        np.subtract(back, np.vecdot(slope, mixed)[..., None], out=back)
        np.multiply(back, weights, out=back)
        np.matmul(back, key, out=gradients[0])
        np.matmul(np.swapaxes(back, -1, -2), query, out=gradients[1])
        for gradient in gradients[:2]:
            gradient *= 0.125
        return np.mean(np.multiply(mixed, mixed, out=mixed)), gradients

    return run


def torch_loss(torch, query, key, value):
    weights = torch.softmax(query @ key.transpose(-1, -2) * 0.125, dim=-1)
    return torch.mean((weights @ value) ** 2)


def jax_loss(jax, query, key, value):
    weights = jax.nn.softmax(query @ jax.numpy.swapaxes(key, -1, -2) * 0.125, axis=-1)
    return jax.numpy.mean((weights @ value) ** 2)
