"""The chain that the ``chain_1e*`` workloads share (not a workload itself).

Its depth is what matters: a recursive walk overflows, a walk that sorts or searches slows down, and
every byte kept for an operation counts a million times.
"""

import numpy as np


def chain(x, count):
    y = x
    for _ in range(count // 2):
        y = y * 0.999
        y = y + x
    return np.sum(y)


def torch_chain(torch, x, count):
    y = x
    for _ in range(count // 2):
        y = y * 0.999
        y = y + x
    return torch.sum(y)


def jax_chain(jax, x, count):
    # A million unrolled operations would never compile; a loop is what JAX's users write.
    y = jax.lax.fori_loop(0, count // 2, lambda _, y: y * 0.999 + x, x)
    return jax.numpy.sum(y)
