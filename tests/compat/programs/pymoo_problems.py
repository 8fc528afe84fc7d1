"""pymoo's derivatives by autograd: of problems one by one and vectorised, and of its energy."""

import json

import autograd
import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad
from pymoo.core.problem import ElementwiseProblem
from pymoo.gradient.automatic import AutomaticDifferentiation, ElementwiseAutomaticDifferentiation
from pymoo.problems import get_problem
from pymoo.util.ref_dirs.energy import calc_potential_energy

rng = np.random.default_rng(0)
figures = {}
for name in ("zdt1", "zdt2", "zdt3", "bnh", "osy", "tnk", "rosenbrock", "ackley", "himmelblau"):
    problem = AutomaticDifferentiation(get_problem(name))
    low, high = problem.bounds()
    points = low + (high - low) * rng.uniform(0.2, 0.8, size=(4, problem.n_var))
    wanted = ["F", "dF", "G", "dG"] if problem.n_ieq_constr else ["F", "dF"]
    found = problem.evaluate(points, return_values_of=wanted)
    figures[name] = np.concatenate([np.ravel(part) for part in found])


class Own(ElementwiseProblem):
    def __init__(self):
        super().__init__(n_var=3, n_obj=2, n_ieq_constr=1, xl=-1, xu=1)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = anp.stack([anp.sum(anp.sin(x) * x), anp.prod(x) + anp.exp(x[0])])
        out["G"] = anp.stack([x[0] ** 2 - x[1] * x[2]])


own = ElementwiseAutomaticDifferentiation(Own())
found = own.evaluate(rng.normal(size=(3, 3)), return_values_of=["F", "dF", "G", "dG"])
figures["one by one"] = np.concatenate([np.ravel(part) for part in found])
value, gradient = value_and_grad(calc_potential_energy)(rng.dirichlet(np.ones(3), 8), 6)
figures["energy"] = [value, *np.ravel(gradient)]
print(autograd.__name__)
print(json.dumps({key: np.ravel(value).tolist() for key, value in figures.items()}))
