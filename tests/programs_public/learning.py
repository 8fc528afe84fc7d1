"""Machine learning beside scikit-learn: losses, layers, transport, embeddings, fuzzy sets."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(0)


@program("ot", "sinkhorn: an entropic transport plan's cost by the cost matrix")
def sinkhorn_cost() -> Case:
    import ot

    a, b = np.full(4, 0.25), np.array([0.1, 0.2, 0.3, 0.4])
    return Case(
        lambda m: np.sum(ot.sinkhorn(a, b, m, 0.5, numItermax=200, stopThr=1e-15) * m),
        np.random.default_rng(0).random((4, 4)),
    )


@program("ot", "gaussian.bures_wasserstein_distance by a mean")
def bures_distance() -> Case:
    import ot

    cs, ct = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, -0.2], [-0.2, 1.5]])
    return Case(
        lambda m: ot.gaussian.bures_wasserstein_distance(m, np.array([1.0, 2.0]), cs, ct),
        np.array([0.1, 0.4]),
    )


@program("ot", "sliced.sliced_wasserstein_distance by the samples")
def sliced_distance() -> Case:
    import ot

    target = np.random.default_rng(1).normal(size=(6, 2))
    return Case(
        lambda x: ot.sliced_wasserstein_distance(x, target, n_projections=5, seed=0),
        np.random.default_rng(0).normal(size=(6, 2)) + 1.0,
    )


@program("tslearn", "soft-DTW between two series, by the first")
def soft_dtw() -> Case:
    from tslearn.metrics import soft_dtw as distance

    other = np.cos(np.arange(6.0))
    return Case(lambda s: distance(s, other, gamma=0.7), np.sin(np.arange(5.0)))


@program("tslearn", "normalized_gak: the global alignment kernel")
def alignment_kernel() -> Case:
    from tslearn.metrics import gak

    other = np.cos(np.arange(6.0))
    return Case(lambda s: gak(s, other, sigma=1.5), np.sin(np.arange(5.0)))


def numpy_ml(name: str):
    """A module of numpy-ml, which was written for an older Python."""
    import collections.abc
    import importlib

    for old in ("Hashable", "Callable", "Iterable"):
        if not hasattr(collections, old):
            setattr(collections, old, getattr(collections.abc, old))
    return importlib.import_module(f"numpy_ml.{name}")


@program("numpy_ml", "neural_nets: a fully connected layer with tanh, by its input")
def dense_layer() -> Case:
    layers = numpy_ml("neural_nets.layers")
    np.random.seed(0)
    layer = layers.FullyConnected(3, act_fn="Tanh")
    x = np.random.default_rng(0).normal(size=(4, 3))
    layer.forward(x, retain_derived=False)
    return Case(lambda data: layer.forward(data, retain_derived=False), x)


@program("numpy_ml", "neural_nets: a 2-D convolution layer, by its input")
def convolution_layer() -> Case:
    layers = numpy_ml("neural_nets.layers")
    np.random.seed(0)
    layer = layers.Conv2D(2, (2, 2), act_fn="ReLU")
    x = np.random.default_rng(0).normal(size=(1, 4, 4, 2))
    layer.forward(x, retain_derived=False)
    return Case(lambda data: layer.forward(data, retain_derived=False), x)


@program("numpy_ml", "neural_nets: layer normalisation, by its input")
def normalisation_layer() -> Case:
    layers = numpy_ml("neural_nets.layers")
    layer = layers.LayerNorm1D()
    x = np.random.default_rng(0).normal(size=(4, 3))
    layer.forward(x, retain_derived=False)
    return Case(lambda data: layer.forward(data, retain_derived=False), x)


@program("numpy_ml", "activations: ELU, SELU, softplus, sigmoid")
def activations() -> Case:
    acts = numpy_ml("neural_nets.activations")
    return Case(
        lambda z: (
            acts.ELU().fn(z) + acts.SELU().fn(z)
            + acts.SoftPlus().fn(z) + acts.Sigmoid().fn(z)
        ),
        np.array([-2.0, -0.4, 0.3, 1.7]),
    )  # fmt: skip


@program("numpy_ml", "the variational Bernoulli loss, against its own gradient")
def variational_loss() -> Case:
    losses = numpy_ml("neural_nets.losses")
    rng = np.random.default_rng(0)
    y = rng.random((4, 3))
    mean, log_variance = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    return Case(lambda p: losses.VAELoss.loss(y, p, mean, log_variance), rng.random((4, 3)) * 0.9)


@program("umap", "distances: hyperboloid, by the points")
def hyperboloid() -> Case:
    from umap import distances

    def run(x):
        return distances.hyperboloid_grad.py_func(x, np.array([0.3, -0.2]))[0]

    return Case(run, np.array([0.5, 0.8]))


@program("umap", "distances: a compiled (njit) Bray-Curtis, by a point")
def compiled_distance() -> Case:
    from umap import distances

    y = np.array([0.3, 1.2, 0.7])
    return Case(lambda x: distances.bray_curtis(x, y), np.array([0.5, 0.8, 0.1]))


@program("umap", "distances: cosine and Minkowski (njit), by the package's own gradients")
def own_gradients() -> Case:
    from umap import distances

    y, z = np.array([0.5, 0.1, 0.4]), np.array([0.9, 0.3, 0.2])

    def contrast(x):
        near = distances.cosine(x, y) + distances.minkowski(x, y, 3.0)
        return near**2 / (near + distances.cosine(x, z) + distances.minkowski(z, x, 3.0))

    return Case(contrast, np.array([0.3, 0.8, 0.2]))


@program("skfuzzy", "generalised bell and Gaussian membership functions")
def membership() -> Case:
    import skfuzzy as fuzz

    t = np.linspace(0, 3, 7)
    return Case(
        lambda p: fuzz.gbellmf(t, p[0], p[1], p[2]) + fuzz.gaussmf(t, p[2], p[0]),
        np.array([1.2, 2.3, 0.8]),
    )


@program("tensorly", "cp_to_tensor: a tensor of its factors, NumPy backend")
def cp_tensor() -> Case:
    import tensorly as tl

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    return Case(
        lambda c: np.sum(tl.cp_to_tensor((np.ones(2), [a, b, c])) ** 2), rng.normal(size=(2, 2))
    )


@program("tensorly", "tucker_to_tensor and unfolding norms")
def tucker_tensor() -> Case:
    import tensorly as tl

    rng = np.random.default_rng(0)
    factors = [rng.normal(size=(3, 2)), rng.normal(size=(4, 2)), rng.normal(size=(2, 2))]
    return Case(lambda c: tl.norm(tl.tucker_to_tensor((c, factors)), 2), rng.normal(size=(2, 2, 2)))


@program("pymanopt", "SPD manifold: the squared distance from a point")
def spd_distance() -> Case:
    from pymanopt.manifolds import SymmetricPositiveDefinite

    manifold = SymmetricPositiveDefinite(2)
    point = np.array([[2.0, 0.3], [0.3, 1.0]])
    return Case(
        lambda a: manifold.dist(point, a @ a.T + np.eye(2)), np.array([[1.0, 0.2], [0.5, 0.7]])
    )


@program("pymanopt", "Sphere manifold: the exponential of a projected tangent")
def sphere_exponential() -> Case:
    from pymanopt.manifolds import Sphere

    manifold = Sphere(4)
    point = np.array([0.5, 0.5, 0.5, 0.5])
    return Case(
        lambda v: manifold.exp(point, manifold.projection(point, v)),
        np.array([0.3, -0.2, 0.4, 0.1]),
    )


@program(
    "pyriemann",
    "distance_logeuclid: between covariance matrices",
)
def riemannian_distance() -> Case:
    from pyriemann.utils.distance import distance_logeuclid

    b = np.array([[2.0, 0.3], [0.3, 1.0]])
    return Case(
        lambda a: distance_logeuclid(a @ a.T + np.eye(2), b), np.array([[1.0, 0.2], [0.5, 0.7]])
    )


@program(
    "pyriemann",
    "mean_logeuclid: of covariance matrices",
)
def riemannian_mean() -> Case:
    from pyriemann.utils.mean import mean_logeuclid

    b = np.array([[2.0, 0.3], [0.3, 1.0]])
    return Case(
        lambda a: mean_logeuclid(np.stack([a @ a.T + np.eye(2), b])),
        np.array([[1.0, 0.2], [0.5, 0.7]]),
    )


@program("cma", "the built-in Rastrigin test function")
def rastrigin() -> Case:
    import cma

    return Case(lambda x: cma.ff.rastrigin(x), np.array([0.3, -0.4, 1.2]))
