"""surpyval's lifetime distributions, regressions and recurrent models, fitted to drawn data."""

import json
import warnings

import autograd
import numpy as np
import surpyval
from surpyval.recurrent import CoxLewis, Duane

warnings.simplefilter("ignore")
rng = np.random.default_rng(3)
times = 10 * rng.weibull(1.7, 80) + 0.1
censored = (times > 14).astype(int)
times = np.minimum(times, 14)
figures = {}
for name in ("Weibull", "Exponential", "Gamma", "LogNormal", "LogLogistic", "Gumbel", "Normal"):
    model = getattr(surpyval, name).fit(times, c=censored)
    figures[name] = [model.neg_ll(), *model.params, *np.ravel(model.cb([3.0, 9.0]))]
figures["ExpoWeibull"] = surpyval.ExpoWeibull.fit(times, c=censored).neg_ll()
figures["Beta"] = surpyval.Beta.fit(rng.beta(2, 3, 60)).params
covariates = rng.normal(size=(80, 2))
model = surpyval.WeibullPH.fit(times, covariates, c=censored)
figures["WeibullPH"] = model.params
figures["Cox-Lewis"] = CoxLewis.fit(np.sort(rng.uniform(0, 10, 30))).params
figures["Duane"] = Duane.fit(np.sort(rng.uniform(0, 10, 30))).params
print(autograd.__name__)
print(json.dumps({key: np.ravel(value).tolist() for key, value in figures.items()}))
