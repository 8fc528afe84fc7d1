"""pyerrors: derived observables, fits, roots and integrals with propagated errors."""

import json

import autograd
import autograd.numpy as anp
import numpy as np
import pyerrors as pe

rng = np.random.default_rng(5)
figures = {}


def note(name, *found):
    values = []
    for o in found:
        o.gamma_method()
        values += [o.value, o.dvalue]
    figures[name] = values


x = np.linspace(0.2, 2.0, 8)
y = [pe.Obs([rng.normal(2 * np.exp(-0.7 * t) + 0.3, 0.05, 300)], ["run"]) for t in x]
for o in y:
    o.gamma_method()
note("derived", pe.derived_observable(lambda v: anp.sin(v[0]) * v[1] / anp.log(3 + v[2]), y[:3]))
note("operators", np.exp(y[0]) * y[1] ** 2 / np.sqrt(y[2]))


def decay(a, t):
    return a[0] * anp.exp(-a[1] * t) + a[2]


fit = pe.fits.least_squares(x, y, decay, initial_guess=[1.5, 1.0, 0.2], silent=True)
note("least squares", *fit.fit_parameters)
figures["chi squared"] = [fit.chisquare, fit.p_value]
prior = pe.fits.least_squares(x, y, decay, priors=["2.0(2)", "0.7(1)", "0.3(1)"], silent=True)
note("with priors", *prior.fit_parameters)
noisy = [pe.Obs([rng.normal(t, 0.01, 300)], ["run"]) for t in x]
for o in noisy:
    o.gamma_method()
total = pe.fits.total_least_squares(noisy, y, decay, initial_guess=[2.0, 0.7, 0.3], silent=True)
note("total least squares", *total.fit_parameters)
note("root", pe.roots.find_root(y[0], lambda t, d: anp.exp(-t) - d / 4))
note("integral", *pe.integrate.quad(lambda p, t: p[0] * anp.exp(-t * p[1]), y[:2], 0.0, 1.5)[:1])
matrix = np.array([[y[0] + 2, y[1]], [y[1], y[2] + 2]])
note("determinant", pe.linalg.det(matrix))
note("inverse", *np.ravel(pe.linalg.inv(matrix)))
note("eigenvalues", *pe.linalg.eigh(matrix)[0])
note(
    "special",
    pe.derived_observable(lambda v: pe.special.gammaln(v[0] + 2) * pe.special.erf(v[1]), y[:2]),
)
print(autograd.__name__)
print(json.dumps(figures))
