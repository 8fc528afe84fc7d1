"""heat stencil 512x512, 30 steps, slices and pad."""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.5)
STEPS = 30


def make(rng):
    return (rng.normal(size=(512, 512)),)


def loss(u):
    for _ in range(STEPS):
        p = np.pad(u, 1)
        u = u + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u)
    return np.sum(u**2)


def by_hand(u):
    padded, state, around = np.zeros((514, 514)), np.empty_like(u), np.empty_like(u)
    inner = padded[1:-1, 1:-1]

    def step(v):
        inner[...] = v
        np.add(padded[:-2, 1:-1], padded[2:, 1:-1], out=around)
        np.add(around, padded[1:-1, :-2], out=around)
        np.add(around, padded[1:-1, 2:], out=around)
        np.multiply(around, 0.2, out=around)
        np.multiply(inner, 0.2, out=v)  # 1 - 4 * 0.2
        np.add(v, around, out=v)

    def run():
        state[...] = u
        for _ in range(STEPS):
            step(state)
        value = np.vdot(state, state)
        np.multiply(state, 2.0, out=state)
        for _ in range(STEPS):  # a symmetric matrix: its transpose is itself
            step(state)
        return value, [state]

    return run


def torch_loss(torch, u):
    for _ in range(STEPS):
        p = torch.nn.functional.pad(u, (1, 1, 1, 1))
        u = u + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u)
    return torch.sum(u**2)


def jax_loss(jax, u):
    def step(_, u):
        p = jax.numpy.pad(u, 1)
        return u + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u)

    # Unrolled, XLA on a CPU fuses the pads into one kernel that takes a second to run.
    return jax.numpy.sum(jax.lax.fori_loop(0, STEPS, step, u) ** 2)
