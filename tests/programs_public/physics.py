"""Physics and chemistry: curve models, tensor networks, quantum circuits, path integration."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

T = np.linspace(0.3, 4.0, 7)


def lineshape(name: str, x: np.ndarray) -> Case:
    from lmfit import lineshapes

    function = getattr(lineshapes, name)
    return Case(lambda p: function(T, *p), x)


@program("lmfit", "lineshapes: Voigt")
def lmfit_voigt() -> Case:
    return lineshape("voigt", np.array([1.3, 1.7, 0.6, 0.5]))


@program("lmfit", "lineshapes: skewed Gaussian")
def lmfit_skewed() -> Case:
    return lineshape("skewed_gaussian", np.array([1.3, 1.7, 0.6, 0.5]))


@program("lmfit", "lineshapes: exponentially modified Gaussian")
def lmfit_modified() -> Case:
    return lineshape("expgaussian", np.array([1.3, 1.7, 0.6, 0.9]))


@program("lmfit", "lineshapes: Breit-Wigner, Doniach, Moffat, Pearson")
def lmfit_others() -> Case:
    from lmfit import lineshapes as ls

    return Case(
        lambda p: ls.breit_wigner(T, *p) + ls.doniach(T, *p) + ls.moffat(T, *p)
        + ls.pearson7(T, *p) + ls.split_lorentzian(T, *p),
        np.array([1.3, 1.77, 0.6, 1.4]),
    )  # fmt: skip


@program("lmfit", "lineshapes: thermal distribution and steps")
def lmfit_steps() -> Case:
    from lmfit import lineshapes as ls

    return Case(
        lambda p: ls.step(T, *p, form="atan") + ls.step(T, *p, form="erf")
        + ls.thermal_distribution(T, *p, form="fermi"),
        np.array([1.3, 1.77, 0.6]),
    )  # fmt: skip


@program("lmfit", "Model.eval: a composite model by its parameters")
def lmfit_composite() -> Case:
    from lmfit.models import GaussianModel, LinearModel

    model = GaussianModel() + LinearModel()
    return Case(
        lambda p: model.eval(
            x=T, amplitude=p[0], center=p[1], sigma=p[2], slope=p[3], intercept=p[4]
        ),
        np.array([1.3, 1.7, 0.6, 0.2, 0.1]),
    )


@program("tensornetwork", "a contracted chain of matrices, NumPy backend")
def tensor_chain() -> Case:
    import tensornetwork as tn

    rng = np.random.default_rng(0)
    b = rng.normal(size=(3, 2))

    def contract(a):
        left, right = tn.Node(a, backend="numpy"), tn.Node(b, backend="numpy")
        _ = left[1] ^ right[0]
        _ = left[0] ^ right[1]
        return tn.contract_between(left, right).tensor

    return Case(contract, rng.normal(size=(2, 3)))


@program("quimb", "expectation of a two-qubit operator by a state's amplitudes")
def two_qubits() -> Case:
    import quimb.tensor as qtn

    rng = np.random.default_rng(0)
    b = rng.normal(size=(3, 4))

    def contract(a):
        network = qtn.Tensor(a, inds=("i", "j")) & qtn.Tensor(b, inds=("j", "k"))
        return (network & qtn.Tensor(np.ones((2, 4)), inds=("i", "k"))).contract()

    return Case(contract, rng.normal(size=(2, 3)))


@program("quimb", "a matrix product state's norm by one of its tensors")
def matrix_product_state() -> Case:
    import quimb.tensor as qtn

    rng = np.random.default_rng(0)
    first, last = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))

    def norm(middle):
        mps = qtn.MatrixProductState([first, middle, last], shape="lrp")
        return (mps.H & mps).contract()

    return Case(norm, rng.normal(size=(2, 2, 2)))


@program("opt_einsum", "contract: a network of five tensors along a planned path")
def planned_contraction() -> Case:
    import opt_einsum

    rng = np.random.default_rng(0)
    b, c = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    return Case(
        lambda a: opt_einsum.contract("ij,jk,kl,il->i", a, b, c, a[:, :2]),
        rng.normal(size=(2, 3)),
    )


@program("cirq", "the unitary of rotations about two axes, by their angles")
def rotation_gates() -> Case:
    import cirq

    return Case(
        lambda a: np.abs(cirq.unitary(cirq.rx(a[0])) @ cirq.unitary(cirq.ry(a[1]))),
        np.array([0.4, 1.1]),
    )


@program("cirq", "linalg: kron and a partial trace of a density matrix")
def partial_trace() -> Case:
    import cirq

    def traced(v):
        state = np.outer(v, v).reshape(2, 2, 2, 2)
        return cirq.partial_trace(state, [0])

    return Case(traced, np.array([0.5, 0.3, -0.4, 0.7]))


@program("cirq", "apply_matrix_to_slices: a gate inside a state")
def gate_on_state() -> Case:
    import cirq

    def applied(m):
        state = np.arange(4.0).reshape(2, 2)
        return cirq.linalg.targeted_left_multiply(m, state, [1])

    return Case(applied, np.array([[0.3, 0.8], [-0.2, 0.5]]))


@program(
    "uncertainties",
    "nominal values with uncertainties: a formula",
)
def nominal_values() -> Case:
    from uncertainties import umath

    return Case(lambda x: x[0] ** 2 + umath.sin(x[1]), np.array([1.2, 0.7]))
