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


def by_hand(spot, volatility, strike, years):
    root, spread, d1, d2, cdf1, cdf2, slope1, slope2, discount, k, work = np.empty((11, len(spot)))

    def normal(x, cdf, slope):
        """The distribution at `x` into `cdf`, its derivative into `slope`; `x` is kept."""
        np.abs(x, out=work)
        np.multiply(work, 0.2316419, out=k)
        np.add(k, 1.0, out=k)
        np.divide(1.0, k, out=k)
        np.multiply(k, A5, out=slope)  # Horner's scheme for the polynomial and its derivative
        np.add(slope, A4, out=cdf)
        np.add(slope, cdf, out=slope)
        for a in (A3, A2, A1):
            np.multiply(cdf, k, out=cdf)
            np.add(cdf, a, out=cdf)
            np.multiply(slope, k, out=slope)
            np.add(slope, cdf, out=slope)
        np.multiply(cdf, k, out=cdf)
        np.multiply(slope, k, out=slope)
        np.multiply(slope, k, out=slope)
        np.multiply(slope, 0.2316419, out=slope)
        np.multiply(work, cdf, out=k)
        np.add(slope, k, out=slope)
        np.multiply(work, work, out=work)
        np.multiply(work, -0.5, out=work)
        np.exp(work, out=work)
        np.multiply(work, 0.3989422804014327, out=work)
        np.multiply(slope, work, out=slope)
        np.multiply(cdf, work, out=cdf)
        np.subtract(0.5, cdf, out=cdf)
        np.copysign(cdf, x, out=cdf)
        np.add(cdf, 0.5, out=cdf)

    def run():
        np.sqrt(years, out=root)
        np.multiply(volatility, root, out=spread)
        np.multiply(volatility, volatility, out=d1)
        np.multiply(d1, 0.5, out=d1)
        np.add(d1, 0.02, out=d1)
        np.multiply(d1, years, out=d1)
        np.log(np.divide(spot, strike, out=work), out=work)
        np.add(d1, work, out=d1)
        np.divide(d1, spread, out=d1)
        np.subtract(d1, spread, out=d2)
        normal(d1, cdf1, slope1)
        normal(d2, cdf2, slope2)
        np.multiply(years, -0.02, out=discount)
        np.multiply(np.exp(discount, out=discount), strike, out=discount)
        value = np.vdot(spot, cdf1) - np.vdot(discount, cdf2)
        np.multiply(slope1, spot, out=slope1)
        np.multiply(slope2, discount, out=slope2)
        np.subtract(slope1, slope2, out=slope1)  # by d1; slope2: by the spread taken from it
        np.divide(slope1, spread, out=k)
        np.subtract(slope1, np.multiply(d1, k, out=d1), out=d1)
        np.add(d1, slope2, out=d1)
        np.multiply(d1, root, out=d1)
        np.divide(k, spot, out=k)
        return value, [np.add(cdf1, k, out=k), d1]

    return run


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
