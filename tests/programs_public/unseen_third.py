"""A third set of programs of packages that nobody had looked at: each written and run once.

What the first run gave stands in docs/programs.md.
"""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

rng = np.random.default_rng(12)


@program("padasip", "an adaptive filter (LMS): its errors by the input's history")
def adaptive_filter() -> Case:
    import padasip

    x = rng.normal(size=(12, 3))

    def errors(d):
        _, e, w = padasip.filters.FilterLMS(n=3, mu=0.1, w="zeros").run(d, x)
        return np.concatenate([e, w[-1]])

    return Case(errors, rng.normal(size=12))


@program("padasip", "recursive least squares: the weights by the measured signal")
def recursive_least_squares() -> Case:
    import padasip

    x = rng.normal(size=(10, 2))

    def last(d):
        return padasip.filters.FilterRLS(n=2, mu=0.9, w=np.array([0.1, 0.2])).run(d, x)[2][-1]

    return Case(last, rng.normal(size=10))


@program("modern_robotics", "the inverse dynamics of an arm, by joint angles and velocities")
def inverse_dynamics() -> Case:
    import modern_robotics as mr

    eye = np.eye(4)

    def place(x, z):
        made = eye.copy()
        made[0, 3], made[2, 3] = x, z
        return made

    links = [place(0, 0.09), place(0.28, 0), place(0, 0.26), place(0.2, 0.1)]
    inertia = [np.diag([0.01, 0.02, 0.01, 3.7, 3.7, 3.7])] * 3
    screws = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 0, -0.089, 0, 0], [0, 1, 0, -0.089, 0, 0.425]]).T

    def torques(q):
        return mr.InverseDynamics(
            q[:3], q[3:], np.array([2.0, 1.5, 1.0]), np.array([0, 0, -9.8]),
            np.array([1.0, 1, 1, 1, 1, 1]), links, inertia, screws.astype(float),
        )  # fmt: skip

    return Case(torques, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))


@program("modern_robotics", "forward kinematics by screws, against the package's own Jacobian")
def screw_kinematics() -> Case:
    import modern_robotics as mr

    home = np.array([[-1.0, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]])
    screws = np.array([[0.0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T

    return Case(
        lambda q: mr.FKinSpace(home, screws, q)[:3].ravel(), np.array([np.pi / 2, 0.3, 1.2])
    )


@program("gymnasium", "the pendulum: what four steps cost, by the torques")
def pendulum_control() -> Case:
    from gymnasium.envs.classic_control import PendulumEnv

    def cost(u):
        env = PendulumEnv()
        env.reset(seed=1)
        env.state = np.array([0.4, 0.1])
        return sum(env.step(u[i : i + 1])[1] for i in range(4))

    return Case(cost, np.array([0.3, -0.2, 0.5, 0.1]))


@program("dcor", "the distance correlation of two samples, by the first")
def distance_correlation() -> Case:
    import dcor

    y = rng.normal(size=(8, 2))
    return Case(lambda x: dcor.distance_correlation(x, y), rng.normal(size=(8, 2)))


@program("dcor", "the energy distance of two samples")
def energy_distance() -> Case:
    import dcor

    y = rng.normal(size=(6, 2))
    return Case(lambda x: dcor.energy_distance(x, y), rng.normal(size=(5, 2)))


@program("vmdpy", "variational mode decomposition: the modes of a signal")
def variational_modes() -> Case:
    from vmdpy import VMD

    t = np.arange(16) / 16
    signal = np.cos(2 * np.pi * 2 * t) + 0.3 * np.cos(2 * np.pi * 5 * t)
    return Case(lambda f: VMD(f, 20.0, 0.0, 2, 0, 1, 1e-1)[0], signal, step=1e-5)


@program("bruges", "Zoeppritz and Aki-Richards reflectivity by the layers' velocities")
def reflectivity() -> Case:
    from bruges.reflection.reflection import akirichards, shuey

    def amplitudes(p):
        args = (p[0], p[1], 2.3, p[2], p[3], 2.5)
        theta = np.array([0.0, 10.0, 20.0])
        return np.concatenate([np.real(akirichards(*args, theta)), np.real(shuey(*args, theta))])

    return Case(amplitudes, np.array([2.4, 1.2, 3.0, 1.6]))


@program("bruges", "Zoeppritz' exact equation by the layers' velocities")
def zoeppritz() -> Case:
    from bruges.reflection.reflection import zoeppritz_rpp

    def amplitudes(p):
        theta = np.array([5.0, 15.0])
        return np.abs(zoeppritz_rpp(p[0], p[1], 2.3, p[2], p[3], 2.5, theta))

    return Case(amplitudes, np.array([2.4, 1.2, 3.0, 1.6]))


@program("bruges", "rock physics: Backus averaging of a log")
def backus_average() -> Case:
    from bruges.rockphysics.anisotropy import backus

    rho, vs = 2.0 + 0.1 * rng.random(9), 1.5 + 0.2 * rng.random(9)
    return Case(lambda vp: backus(vp, vs, rho, 3.0, 1.0)[0], 3.0 + 0.3 * rng.random(9))


@program(
    "vector",
    "four-momenta: the invariant mass of two particles (structured arrays)",
    refuses="a subclass of ndarray with an __array_ufunc__ of its own",
)
def invariant_mass() -> Case:
    import vector

    def mass(p):
        one = vector.array(
            {"pt": p[:2], "phi": p[2:4], "eta": p[4:6], "mass": np.array([0.1, 0.2])}
        )
        two = vector.array({"pt": p[4:6] + 5, "phi": p[:2], "eta": p[2:4], "mass": np.ones(2)})
        return (one + two).mass

    return Case(mass, np.array([10.0, 12.0, 0.3, 0.7, 1.1, 0.5]))


@program("vector", "objects: a boosted momentum")
def boosted() -> Case:
    import vector

    def result(p):
        one = vector.obj(px=p[0], py=p[1], pz=p[2], E=5.0)
        made = one.boostX(0.3).rotateZ(p[0])
        return np.stack([made.pt, made.eta, made.phi, made.mass])

    return Case(result, np.array([1.0, 0.5, 2.0]))


@program(
    "pyromat",
    "the enthalpy and entropy of an ideal gas by temperature and pressure",
    refuses="its classes are made by exec of files, outside of every module",
)
def gas_properties() -> Case:
    import pyromat

    gas = pyromat.get("ig.N2")
    return Case(
        lambda q: np.concatenate([gas.h(T=q[:2], p=q[2:]), gas.s(T=q[:2], p=q[2:])]),
        np.array([300.0, 500.0, 1.0, 3.0]),
    )


@program("similaritymeasures", "the area between two curves and their Frechet distance")
def curve_distance() -> Case:
    import similaritymeasures

    t = np.linspace(0, 1, 8)
    other = np.stack([t, np.sin(3 * t)], axis=1)

    def distance(y):
        curve = np.stack([t, y], axis=1)
        return np.stack([
            similaritymeasures.frechet_dist(curve, other),
            similaritymeasures.dtw(curve, other)[0],
            similaritymeasures.curve_length_measure(curve, other),
        ])  # fmt: skip

    return Case(distance, np.sin(3 * t) + 0.2 + 0.1 * rng.random(8), step=1e-5)


@program("similaritymeasures", "partial curve mapping and the area between two curves")
def curve_area() -> Case:
    import similaritymeasures

    t = np.linspace(0, 1, 6)
    other = np.stack([t, np.sin(3 * t)], axis=1)

    def distance(y):
        curve = np.stack([t, y], axis=1)
        return similaritymeasures.area_between_two_curves(curve, other)

    return Case(distance, np.sin(3 * t) + 0.2 + 0.1 * rng.random(6), step=1e-5)


@program("iminuit", "a binned likelihood against the package's own gradient")
def binned_likelihood() -> Case:
    from iminuit import cost

    edges = np.linspace(-1, 1, 6)
    counts = np.array([3.0, 7, 9, 6, 2])

    def cdf(e, n, m, s):
        return n / (1 + np.exp(-(e - m) / s))

    fit = cost.ExtendedBinnedNLL(counts, edges, cdf)
    return Case(lambda p: fit(*p), np.array([30.0, 0.1, 0.3]))


@program("iminuit", "least squares against the package's own gradient")
def least_squares_cost() -> Case:
    from iminuit import cost

    t = np.linspace(0, 1, 7)

    def model(t, a, b):
        return a + b * t**2

    def slopes(t, a, b):
        return np.stack([np.ones_like(t), t**2])

    fit = cost.LeastSquares(t, np.cos(t), 0.1, model, grad=slopes, loss="soft_l1")
    return Case(lambda p: fit(*p), np.array([0.9, 0.4]), exact=lambda p: fit.grad(*p))


@program("iminuit", "an unbinned likelihood of a mixture")
def unbinned_likelihood() -> Case:
    from iminuit import cost

    sample = rng.normal(size=20)

    def density(x, m, s):
        return np.exp(-((x - m) ** 2) / (2 * s**2)) / (s * np.sqrt(2 * np.pi))

    fit = cost.UnbinnedNLL(sample, density)
    return Case(lambda p: fit(*p), np.array([0.1, 0.9]))


@program("thermofeel", "heat stress: the universal thermal climate index by the weather")
def heat_stress() -> Case:
    import thermofeel as tf

    def indices(q):
        t, td, wind = q[:2], q[2:4], q[4:]
        rh = tf.calculate_relative_humidity_percent(t, td)
        return np.concatenate([
            tf.calculate_utci(t2_k=t, va=wind, mrt=t + 5.0, td_k=td), tf.calculate_wbt(t, rh),
            tf.calculate_humidex(t, td), tf.calculate_wind_chill(t, wind),
        ])  # fmt: skip

    return Case(indices, np.array([303.0, 295.0, 290.0, 288.0, 3.0, 5.0]))


@program("antropy", "entropies and fractal dimensions of a series (Numba)", also=("scipy",))
def entropies() -> Case:
    import antropy

    def all_of(x):
        mobility, complexity = antropy.hjorth_params(x)
        return np.stack([
            antropy.svd_entropy(x), antropy.spectral_entropy(x, 10.0), antropy.katz_fd(x),
            antropy.higuchi_fd(x, 4), mobility, complexity,
        ])  # fmt: skip

    return Case(all_of, rng.normal(size=16), step=1e-5)


@program("Bio", "a protein's torsion angles, and a superposition of atoms")
def torsion() -> Case:
    from Bio.PDB.vectors import Vector, calc_angle, calc_dihedral
    from Bio.SVDSuperimposer import SVDSuperimposer

    fixed = rng.normal(size=(4, 3))

    def geometry(x):
        atoms = [Vector(*row) for row in x]
        fit = SVDSuperimposer()
        fit.set(fixed, x)
        fit.run()
        return np.stack([calc_dihedral(*atoms), calc_angle(*atoms[:3]), fit.get_rms()])

    return Case(geometry, rng.normal(size=(4, 3)))


@program("ruptures", "the cost of a segmentation, by the signal")
def segmentation_cost() -> Case:
    import ruptures

    def cost(x):
        total = 0.0
        for model in ("l2", "l1", "normal", "rbf", "linear"):
            fit = ruptures.costs.cost_factory(model=model).fit(x)
            total = total + fit.error(0, 8) + fit.error(8, 16)
        return total

    return Case(cost, rng.normal(size=(16, 2)), step=1e-5)


@program("stumpy", "a distance profile by the query (Numba)")
def distance_profile() -> Case:
    import stumpy

    series = rng.normal(size=20)
    return Case(lambda q: stumpy.core.mass(q, series), rng.normal(size=5))


@program("pyloudnorm", "the loudness of a signal (filters and gating)")
def gated_loudness() -> Case:
    import pyloudnorm

    x = 0.1 * rng.normal(size=600)
    meter = pyloudnorm.Meter(1000)
    return Case(meter.integrated_loudness, x[:500], step=1e-4)


@program("perlin_noise", "coherent noise at a point (pure Python)")
def perlin() -> Case:
    from perlin_noise import PerlinNoise

    noise = PerlinNoise(octaves=3, seed=2)
    return Case(lambda p: noise([p[0], p[1]]), np.array([0.31, 0.47]), step=1e-5)


@program("networkx", "PageRank of a weighted graph by its weights")
def pagerank() -> Case:
    import networkx as nx

    edges = [(0, 1), (1, 2), (2, 0), (0, 2), (2, 3), (3, 0)]

    def ranks(w):
        graph = nx.DiGraph()
        for (a, b), weight in zip(edges, w, strict=True):
            graph.add_edge(a, b, weight=weight)
        return np.stack(list(nx.pagerank(graph, tol=1e-12, max_iter=500).values()))

    return Case(ranks, 1.0 + rng.random(6), tolerance=1e-5)


@program("networkx", "the Laplacian spectrum and conductances of a weighted graph")
def graph_spectrum() -> Case:
    import networkx as nx

    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]

    def spectrum(w):
        graph = nx.Graph()
        for (a, b), weight in zip(edges, w, strict=True):
            graph.add_edge(a, b, weight=weight)
        return np.sum(nx.laplacian_matrix(graph).toarray() ** 2) + nx.resistance_distance(
            graph, 0, 3, weight="weight"
        )

    return Case(spectrum, 1.0 + rng.random(5))


@program("pyswarms", "test functions of particle swarms")
def swarm_functions() -> Case:
    from pyswarms.utils.functions import single_obj as fx

    def several(x):
        return np.concatenate([
            fx.ackley(x), fx.rastrigin(x), fx.rosenbrock(x), fx.himmelblau(x), fx.levi(x),
            fx.goldstein(x) * 1e-4, fx.schaffer2(x), fx.easom(x),
        ])  # fmt: skip

    return Case(several, 0.5 + rng.random((3, 2)))


@program("openmdao", "components: a spline and a Kreisselmeier-Steinhauser envelope")
def envelope() -> Case:
    from openmdao.components.ks_comp import KSfunction

    return Case(
        lambda g: KSfunction.compute(g.reshape(2, 3), 5.0).ravel(),
        rng.normal(size=6),
    )


@program("pybotics", "the forward kinematics of an arm by its joints")
def arm_kinematics() -> Case:
    from pybotics.predefined_models import ur10
    from pybotics.robot import Robot

    robot = Robot.from_parameters(ur10())
    return Case(lambda q: robot.fk(q)[:3].ravel() * 1e-3, np.array([0.1, 0.5, -0.4, 0.3, 0.2, 0.9]))


@program("fooof", "the aperiodic and periodic parts of a power spectrum")
def power_spectrum() -> Case:
    from fooof.sim.gen import gen_aperiodic, gen_periodic

    f = np.linspace(1, 30, 12)
    return Case(
        lambda p: gen_aperiodic(f, p[:2]) + gen_periodic(f, p[2:]),
        np.array([1.0, 1.5, 10.0, 0.4, 2.0]),
    )


@program("neurodsp", "the spectrum of a signal by Welch's method", also=("scipy",))
def neural_spectrum() -> Case:
    from neurodsp.spectral import compute_spectrum_welch

    return Case(
        lambda x: compute_spectrum_welch(x, 50.0, nperseg=16)[1] * 1e2,
        rng.normal(size=40),
    )


@program("pymcdm", "multi-criteria decisions: TOPSIS by the table")
def topsis() -> Case:
    from pymcdm.methods import TOPSIS

    weight, kind = np.array([0.5, 0.3, 0.2]), np.array([1, -1, 1])
    return Case(lambda m: TOPSIS()(m, weight, kind), 1.0 + rng.random((4, 3)), step=1e-5)


@program("discretize", "a mesh's inner product with anisotropic coefficients")
def inner_product() -> Case:
    import discretize

    mesh = discretize.TensorMesh([3, 3])
    v = rng.normal(size=mesh.n_faces)
    return Case(
        lambda s: v @ (mesh.get_face_inner_product(s) @ v),
        1.0 + rng.random(mesh.n_cells),
        exact=lambda s: mesh.get_face_inner_product_deriv(np.ones(mesh.n_cells))(v).T @ v,
    )


@program("discretize", "a Poisson equation on a mesh, by the conductivity in its cells")
def poisson() -> Case:
    import discretize
    import scipy.sparse as sp
    from scipy.sparse.linalg import spsolve

    mesh = discretize.TensorMesh([3, 3])
    b = rng.normal(size=mesh.n_cells)

    def potential(s):
        m = mesh.get_face_inner_product(s, invert_model=True, invert_matrix=True)
        d = sp.diags(mesh.cell_volumes) @ mesh.face_divergence
        return spsolve((d @ m @ d.T + 0.1 * sp.eye(mesh.n_cells)).tocsc(), b)

    return Case(potential, 1.0 + rng.random(mesh.n_cells))
