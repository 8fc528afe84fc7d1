"""scikit-learn: losses, kernels, likelihoods and predictions of fitted models."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(0)
DATA = rng.normal(size=(12, 3))
TARGET = np.sin(DATA[:, 0]) + 0.1 * DATA[:, 1]


@program("sklearn", "metrics.mean_squared_error by the predictions")
def squared_error_metric() -> Case:
    from sklearn.metrics import mean_squared_error

    return Case(lambda p: mean_squared_error(TARGET, p), TARGET + 0.3)


@program(
    "sklearn",
    "metrics.r2_score by the predictions",
)
def determination_metric() -> Case:
    from sklearn.metrics import r2_score

    return Case(lambda p: r2_score(TARGET, p), TARGET * 0.8 + 0.05)


@program("sklearn", "metrics.pairwise.rbf_kernel by the points")
def rbf_kernel_matrix() -> Case:
    from sklearn.metrics.pairwise import rbf_kernel

    return Case(lambda x: rbf_kernel(x, DATA[:4], gamma=0.4), DATA[4:7] + 0.1)


@program("sklearn", "metrics.pairwise: polynomial, sigmoid and cosine kernels")
def other_kernels() -> Case:
    from sklearn.metrics import pairwise

    return Case(
        lambda x: (
            pairwise.polynomial_kernel(x, DATA[:3])
            + pairwise.sigmoid_kernel(x, DATA[:3])
            + pairwise.cosine_similarity(x, DATA[:3])
        ),
        DATA[5:7] + 0.1,
    )


@program(
    "sklearn",
    "gaussian_process log marginal likelihood by the kernel's hyperparameters",
)
def process_likelihood() -> Case:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel(1.5) * RBF(0.9) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(DATA, TARGET)
    return Case(
        lambda theta: model.log_marginal_likelihood(theta),
        np.array([0.3, -0.2, -1.5]),
        exact=lambda theta: model.log_marginal_likelihood(theta, eval_gradient=True)[1],
    )


@program("sklearn", "gaussian_process.kernels: Matern and rational quadratic, by the points")
def process_kernels() -> Case:
    from sklearn.gaussian_process.kernels import DotProduct, Matern, RationalQuadratic

    kernel = Matern(1.2, nu=2.5) * RationalQuadratic(0.8, 1.1) + DotProduct(0.5)
    return Case(lambda x: kernel(x, DATA[:3]), DATA[5:7] + 0.05)


@program("sklearn", "GaussianProcessRegressor.predict by the query points")
def process_prediction() -> Case:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    model = GaussianProcessRegressor(RBF(1.0), alpha=1e-2, optimizer=None).fit(DATA, TARGET)
    return Case(model.predict, DATA[:2] + 0.2)


@program(
    "sklearn",
    "GaussianMixture.score_samples by the samples",
)
def mixture_density() -> Case:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(2, random_state=0).fit(DATA)
    return Case(model.score_samples, DATA[:3] + 0.1)


@program("sklearn", "StandardScaler and PCA transforms of new data")
def scaling_and_pca() -> Case:
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(DATA)
    pca = PCA(2).fit(scaler.transform(DATA))
    return Case(lambda x: pca.transform(scaler.transform(x)), DATA[:3] + 0.1)


@program("sklearn", "LogisticRegression.predict_log_proba by the features")
def classifier_probability() -> Case:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(DATA, (TARGET > 0).astype(int) + (TARGET > 0.5))
    return Case(model.predict_log_proba, DATA[:2] + 0.1)


@program("sklearn", "MLPRegressor.predict by the features")
def network_prediction() -> Case:
    from sklearn.neural_network import MLPRegressor

    with np.errstate(all="ignore"):
        model = MLPRegressor(
            hidden_layer_sizes=(8,), activation="tanh", max_iter=400, tol=1e-2, random_state=0
        )
        model.fit(DATA, TARGET)
    return Case(model.predict, DATA[:2] + 0.1)


@program("sklearn", "GaussianNB.predict_joint_log_proba by the features")
def naive_bayes() -> Case:
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(DATA, (TARGET > 0).astype(int))
    return Case(model.predict_joint_log_proba, DATA[:2] + 0.1)


@program("sklearn", "covariance.ledoit_wolf shrinkage by the data")
def shrunk_covariance() -> Case:
    from sklearn.covariance import ledoit_wolf

    return Case(lambda x: ledoit_wolf(x)[0], DATA * [1.0, 2.0, 0.5])


@program("sklearn", "KernelRidge.predict by the features")
def kernel_ridge() -> Case:
    from sklearn.kernel_ridge import KernelRidge

    model = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(DATA, TARGET)
    return Case(model.predict, DATA[:2] + 0.1)


@program(
    "sklearn",
    "the conditional-probability objective of t-SNE by the embedding",
)
def tsne_objective() -> Case:
    from sklearn.manifold import _t_sne

    p = np.abs(np.random.default_rng(1).normal(size=15)) + 0.1
    p /= 2 * p.sum()
    x = np.random.default_rng(2).normal(size=12)
    return Case(
        lambda flat: _t_sne._kl_divergence(flat, p, 1.0, 6, 2, compute_error=True)[0],
        x,
        exact=lambda flat: _t_sne._kl_divergence(flat, p, 1.0, 6, 2)[1],
    )
