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


def by_hand(x):
    sine, bell, root, tanh, quotient, divisor, slope, work = (np.empty_like(x) for _ in range(8))

    def run():
        np.sin(x, out=sine)
        product = np.multiply(sine, x, out=slope)
        np.multiply(product, product, out=bell)
        np.exp(np.negative(bell, out=bell), out=bell)
        np.sqrt(np.add(bell, 1.0, out=root), out=root)
        np.tanh(x, out=tanh)
        total = np.add(root, tanh, out=work)
        np.add(np.cos(total, out=divisor), 2.0, out=divisor)
        np.divide(total, divisor, out=quotient)
        np.sin(total, out=total)  # of its derivative; the sum itself is needed no more
        np.multiply(total, quotient, out=total)
        np.add(total, 1.0, out=total)
        np.add(quotient, 2.0, out=quotient)
        np.multiply(divisor, quotient, out=divisor)
        change = np.divide(total, divisor, out=divisor)  # by what root and tanh are added to
        value = np.log(quotient, out=quotient).sum()
        np.multiply(product, bell, out=product)
        np.divide(product, root, out=product)
        np.negative(product, out=product)  # by the product of sine and x, over `change`
        np.cos(x, out=work)
        np.multiply(work, x, out=work)
        np.add(work, sine, out=work)
        np.multiply(work, product, out=work)
        np.multiply(tanh, tanh, out=tanh)
        np.subtract(1.0, tanh, out=tanh)
        np.add(work, tanh, out=work)
        return value, [np.multiply(work, change, out=work)]

    return run


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
