"""Gaussian-process likelihood, n = 400.

Marginal likelihood in the logarithms of three length scales, the signal and the noise variance.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.0)


def make(rng):
    points = rng.normal(size=(400, 3))
    target = np.sin(points[:, 0]) + 0.5 * points[:, 1] + 0.1 * rng.normal(size=400)
    return np.array([0.1, 0.2, 0.3, 0.0, -2.0]), points, target


def loss(theta, points, target):
    scaled = points / np.exp(theta[:3])
    squares = np.sum(scaled**2, axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
    kernel = np.exp(theta[3]) * np.exp(-0.5 * distance) + np.exp(theta[4]) * np.eye(len(target))
    factor = np.linalg.cholesky(kernel)
    return 0.5 * target @ np.linalg.solve(kernel, target) + np.sum(np.log(np.diagonal(factor)))


def by_hand(theta, points, target):
    count = len(target)
    identity = np.eye(count)

    def run():
        scales = np.exp(theta)
        scaled = points / scales[:3]
        squares = np.sum(scaled**2, axis=1)
        inner = np.matmul(scaled, scaled.T)
        signal = np.multiply(inner, 2.0, out=inner)
        signal -= squares[:, None]
        signal -= squares
        signal *= 0.5
        np.exp(signal, out=signal)
        signal *= scales[3]
        kernel = signal + scales[4] * identity
        factor = np.linalg.cholesky(kernel)
        # One factorization serves the solution and the inverse.
        both = np.linalg.solve(kernel, np.column_stack((target, identity)))
        solution, slope = both[:, 0], both[:, 1:]
        value = 0.5 * target @ solution + np.sum(np.log(np.diagonal(factor)))
        gradient = np.empty(5)
        gradient[4] = 0.5 * scales[4] * (np.trace(slope) - solution @ solution)
        weight = slope - np.outer(solution, solution)
        weight *= signal
        weight *= 0.5
        gradient[3] = weight.sum()
        # kernel_ij moves with -0.5 (a_i - a_j)**2 / length**2, a the points
        rows = weight.sum(axis=1) + weight.sum(axis=0)
        gradient[:3] = rows @ scaled**2 - 2.0 * np.sum(scaled * (weight @ scaled), axis=0)
        return value, [gradient]

    return run


def torch_loss(torch, theta, points, target):
    scaled = points / torch.exp(theta[:3])
    squares = torch.sum(scaled**2, dim=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
    noise = torch.exp(theta[4]) * torch.eye(len(target), dtype=theta.dtype)
    kernel = torch.exp(theta[3]) * torch.exp(-0.5 * distance) + noise
    factor = torch.linalg.cholesky(kernel)
    alpha = torch.linalg.solve(kernel, target)
    return 0.5 * target @ alpha + torch.sum(torch.log(torch.diagonal(factor)))


def jax_loss(jax, theta, points, target):
    jnp = jax.numpy
    scaled = points / jnp.exp(theta[:3])
    squares = jnp.sum(scaled**2, axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T
    kernel = jnp.exp(theta[3]) * jnp.exp(-0.5 * distance) + jnp.exp(theta[4]) * jnp.eye(len(target))
    factor = jnp.linalg.cholesky(kernel)
    return 0.5 * target @ jnp.linalg.solve(kernel, target) + jnp.sum(jnp.log(jnp.diagonal(factor)))
