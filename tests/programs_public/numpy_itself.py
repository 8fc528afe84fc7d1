"""NumPy's own functions written in Python: they reach no C code with the whole argument."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program


@program("numpy", "chebfit, chebval and chebder: a fit, then its slope")
def chebyshev_fit() -> Case:
    from numpy.polynomial import chebyshev

    t = np.linspace(-1, 1, 15)

    def slope(y):
        return chebyshev.chebval(t[::4], chebyshev.chebder(chebyshev.chebfit(t, y, 4)))

    return Case(slope, np.sin(3 * t) + 0.1 * t**2)


@program("numpy", "np.cov, np.linalg.eigh, np.corrcoef: whitening of samples")
def whitening() -> Case:
    rng = np.random.default_rng(0)

    def whitened(data):
        centred = data - data.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
        return np.corrcoef(np.tanh(centred @ vectors / np.sqrt(values)), rowvar=False)[0]

    return Case(whitened, rng.normal(size=(12, 3)) * [1.0, 2.0, 3.5])


@program("numpy", "np.interp, np.gradient, np.trapezoid: a spectrum's calibrated area")
def calibrated_area() -> Case:
    wave = np.linspace(0, 1, 9)
    curve = np.exp(-wave)

    def area(counts):
        return np.trapezoid(counts * np.interp(wave, wave[::2], curve[::2]), wave) + np.sum(
            np.gradient(counts, wave) ** 2
        )

    return Case(area, 2 + np.sin(5 * wave))
