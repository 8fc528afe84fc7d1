"""Kalman filter 4x4, 50 steps.

The negative log-likelihood of a linear Gaussian state-space model, as textbooks print the filter.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(8.0)
ARGNUMS = (0, 1, 2)
STEPS = 50


def make(rng):
    motion = 0.9 * np.eye(4) + 0.05 * rng.normal(size=(4, 4))
    process = 0.1 * np.eye(4) + 0.01
    noise = 0.5 * np.eye(4) + 0.02
    observe = np.eye(4) + 0.1 * rng.normal(size=(4, 4))
    return motion, process, noise, observe, rng.normal(size=(STEPS, 4))


def loss(motion, process, noise, observe, seen):
    mean, cov, total = np.zeros(4), np.eye(4), 0.0
    for step in range(STEPS):
        mean = motion @ mean
        cov = motion @ cov @ motion.T + process
        spread = observe @ cov @ observe.T + noise
        inverse = np.linalg.inv(spread)
        residual = seen[step] - observe @ mean
        _, logdet = np.linalg.slogdet(spread)
        total = total + 0.5 * (logdet + residual @ inverse @ residual)
        gain = cov @ observe.T @ inverse
        mean = mean + gain @ residual
        cov = cov - gain @ observe @ cov
    return total


def torch_loss(torch, motion, process, noise, observe, seen):
    mean = torch.zeros(4, dtype=torch.float64)
    cov, total = torch.eye(4, dtype=torch.float64), 0.0
    for step in range(STEPS):
        mean = motion @ mean
        cov = motion @ cov @ motion.T + process
        spread = observe @ cov @ observe.T + noise
        inverse = torch.linalg.inv(spread)
        residual = seen[step] - observe @ mean
        _, logdet = torch.linalg.slogdet(spread)
        total = total + 0.5 * (logdet + residual @ inverse @ residual)
        gain = cov @ observe.T @ inverse
        mean = mean + gain @ residual
        cov = cov - gain @ observe @ cov
    return total


def jax_loss(jax, motion, process, noise, observe, seen):
    jnp = jax.numpy

    def step(state, seen_now):
        mean, cov = state
        mean = motion @ mean
        cov = motion @ cov @ motion.T + process
        spread = observe @ cov @ observe.T + noise
        inverse = jnp.linalg.inv(spread)
        residual = seen_now - observe @ mean
        _, logdet = jnp.linalg.slogdet(spread)
        gain = cov @ observe.T @ inverse
        state = mean + gain @ residual, cov - gain @ observe @ cov
        return state, 0.5 * (logdet + residual @ inverse @ residual)

    _, terms = jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)
    return jnp.sum(terms)
