"""pymanopt's autograd backend: costs, gradients, Hessians, and whole optimisations."""

import json

import autograd
import autograd.numpy as np
import pymanopt
from pymanopt.manifolds import ComplexCircle, FixedRankEmbedded, Sphere, Stiefel
from pymanopt.optimizers import SteepestDescent, TrustRegions

rng = np.random.default_rng(0)
np.random.seed(0)
half = rng.normal(size=(12, 12))
A = half + half.T
figures = {}

sphere = Sphere(12)


@pymanopt.function.autograd(sphere)
def rayleigh(x):
    return -x @ A @ x


problem = pymanopt.Problem(sphere, rayleigh)
start = np.linalg.qr(half)[0]
found = TrustRegions(verbosity=0).run(problem, initial_point=start[0])
figures["dominant eigenvector"] = [found.cost, *np.abs(found.point)]
figures["its Hessian"] = problem.euclidean_hessian(start[0], start[1])

stiefel = Stiefel(12, 3)


@pymanopt.function.autograd(stiefel)
def brockett(x):
    return np.sum(np.diag(np.array([1.0, 2.0, 3.0])) * (x.T @ A @ x))


problem = pymanopt.Problem(stiefel, brockett)
figures["Brockett"] = problem.euclidean_gradient(start[:, :3])
descent = SteepestDescent(verbosity=0, max_iterations=50)
figures["descent"] = descent.run(problem, initial_point=start[:, :3]).cost

low = FixedRankEmbedded(5, 4, 2)


@pymanopt.function.autograd(low)
def completion(u, s, vt):
    return np.sum((u @ np.diag(s) @ vt - half[:5, :4]) ** 2)


u, s, vt = np.linalg.svd(half[:5, :4], full_matrices=False)
figures["low rank"] = np.concatenate(
    [np.ravel(g) for g in completion.get_gradient_operator()(u[:, :2], s[:2] + 1, vt[:2])]
)

circle = ComplexCircle(6)


@pymanopt.function.autograd(circle)
def phases(z):
    return np.real(np.conj(z) @ (A[:6, :6] + 1j * (half - half.T)[:6, :6]) @ z)


z = np.exp(1j * np.arange(6))
complex_gradient = phases.get_gradient_operator()(z)
figures["phases"] = [*np.real(complex_gradient), *np.imag(complex_gradient)]
print(autograd.__name__)
print(json.dumps({key: np.ravel(value).tolist() for key, value in figures.items()}))
