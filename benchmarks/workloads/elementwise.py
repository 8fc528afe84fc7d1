"""elementwise chain, 1e6 elements."""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.2)


def make(rng):
    return (rng.normal(size=1_000_000),)


def loss(x):
    y = np.sin(x) * x
    y = np.exp(-y * y)
    y = np.sqrt(1.0 + y) + np.tanh(x)
    y = y / (2.0 + np.cos(y))
    return np.sum(np.log(2.0 + y))


def torch_loss(torch, x):
    y = torch.sin(x) * x
    y = torch.exp(-y * y)
    y = torch.sqrt(1.0 + y) + torch.tanh(x)
    y = y / (2.0 + torch.cos(y))
    return torch.sum(torch.log(2.0 + y))


def jax_loss(jax, x):
    jnp = jax.numpy
    y = jnp.sin(x) * x
    y = jnp.exp(-y * y)
    y = jnp.sqrt(1.0 + y) + jnp.tanh(x)
    y = y / (2.0 + jnp.cos(y))
    return jnp.sum(jnp.log(2.0 + y))
