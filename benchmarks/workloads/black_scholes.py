"""Black-Scholes, 1e6 options.

NumPy has no error function, so the normal distribution is the polynomial 26.2.17 of Abramowitz and
Stegun, as in code that prices options with NumPy alone. The gradient is delta and vega.
"""

import numpy as np

from benchmarks.harness import Bar

BAR = Bar(2.2)
ARGNUMS = (0, 1)
# The polynomial jumps by 1e-9 at 0; a longer step weighs the jump less.
DIFFERENCE_STEP = 1e-3
A1, A2, A3, A4, A5 = 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429


def make(rng):
    n = 1_000_000
    return (
        rng.uniform(80, 120, n),
        rng.uniform(0.1, 0.4, n),
        rng.uniform(80, 120, n),
        rng.uniform(0.2, 2.0, n),
    )


def normal_cdf(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5))))
    tail = tail * np.exp(-0.5 * x * x) * 0.3989422804014327
    return np.where(x > 0, 1.0 - tail, tail)


def loss(spot, volatility, strike, years):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (0.02 + 0.5 * volatility**2) * years) / spread
    price = spot * normal_cdf(d1) - strike * np.exp(-0.02 * years) * normal_cdf(d1 - spread)
    return np.sum(price)


def _priced(xp, spot, volatility, strike, years):
    """The same text for a library that has these names under `xp`."""

    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * xp.abs(x))
        tail = k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5))))
        tail = tail * xp.exp(-0.5 * x * x) * 0.3989422804014327
        return xp.where(x > 0, 1.0 - tail, tail)

    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (0.02 + 0.5 * volatility**2) * years) / spread
    price = spot * cdf(d1) - strike * xp.exp(-0.02 * years) * cdf(d1 - spread)
    return xp.sum(price)


def torch_loss(torch, *arguments):
    return _priced(torch, *arguments)


def jax_loss(jax, *arguments):
    return _priced(jax.numpy, *arguments)
