"""Survival models of lifelines on the data that it ships."""

import json
import warnings

import autograd
import lifelines as ll
import numpy as np
from lifelines.datasets import load_rossi, load_waltons

warnings.simplefilter("ignore")
figures = {}
waltons = load_waltons()
for name in ("Weibull", "LogNormal", "LogLogistic", "Exponential", "GeneralizedGamma"):
    model = getattr(ll, f"{name}Fitter")().fit(waltons["T"], waltons["E"])
    figures[name] = [
        model.log_likelihood_,
        *model.summary["coef"],
        *model.summary["se(coef)"],
        *np.ravel(model.confidence_interval_survival_function_.iloc[::40]),
    ]
spline = ll.SplineFitter(np.percentile(waltons["T"], [0, 50, 100])).fit(waltons["T"], waltons["E"])
figures["Spline"] = [spline.log_likelihood_, *spline.summary["coef"]]
rossi = load_rossi()
for name in ("WeibullAFT", "LogNormalAFT", "LogLogisticAFT"):
    model = getattr(ll, f"{name}Fitter")(penalizer=0.01).fit(rossi, "week", "arrest")
    figures[name] = [model.log_likelihood_, *model.summary["coef"], *model.summary["se(coef)"]]
    figures[f"{name}, median"] = list(np.ravel(model.predict_median(rossi.head(5))))
cox = ll.CoxPHFitter(penalizer=0.1, l1_ratio=0.5).fit(rossi, "week", "arrest")
figures["CoxPH"] = [cox.log_likelihood_, *cox.summary["coef"], *cox.summary["se(coef)"]]
print(autograd.__name__)
print(json.dumps({key: [float(v) for v in values] for key, values in figures.items()}))
