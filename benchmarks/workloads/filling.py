"""The loop that the ``fill_*`` workloads share (not a workload itself).

Each element is read, scaled and written by itself: a recording that copies the buffer at each write
is quadratic here.
"""

import numpy as np


def fill(x):
    buffer = np.zeros_like(x)
    for i in range(len(x)):
        buffer[i] = 0.5 * x[i]
    return np.sum(buffer**2)


def torch_fill(torch, x):
    buffer = torch.zeros_like(x)
    for i in range(len(x)):
        buffer[i] = 0.5 * x[i]
    return torch.sum(buffer**2)


def jax_fill(jax, x):
    def body(i, buffer):
        return buffer.at[i].set(0.5 * x[i])

    return jax.numpy.sum(jax.lax.fori_loop(0, len(x), body, jax.numpy.zeros_like(x)) ** 2)
