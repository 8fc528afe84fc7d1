"""``npgrad.scipy.linalg`` against SciPy's functions and differences of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as theirs

import npgrad
from npgrad.scipy import linalg as ours
from tests.scipy.checks import check

# SciPy's own warning about errors of 1e-13
pytestmark = pytest.mark.filterwarnings("ignore:logm result may be inaccurate")

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
S = A @ A.T
V = RNG.normal(size=3)
M = RNG.normal(size=(3, 2))
STACK = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)


def both(name, *args, symmetric=(), single=True, **keywords):
    check(
        lambda *xs: getattr(ours, name)(*xs, **keywords),
        lambda *xs: getattr(theirs, name)(*xs, **keywords),
        *args,
        symmetric=symmetric,
        single=single,
    )


@pytest.mark.parametrize("b", [V, M])
@pytest.mark.parametrize("transposed", [False, True])
def test_solve(b, transposed):
    both("solve", A, b, transposed=transposed)


@pytest.mark.parametrize("assume_a", ["pos", "sym", "her"])
@pytest.mark.parametrize("lower", [False, True])
def test_solve_symmetric(assume_a, lower):
    both("solve", S, M, symmetric=(0,), assume_a=assume_a, lower=lower)


def test_solve_reads_one_triangle_of_a_symmetric_matrix():
    value, pull = npgrad.vjp(lambda a: ours.solve(a, V, assume_a="pos"), np.triu(S))
    np.testing.assert_allclose(value, theirs.solve(S, V))
    gradient = pull(V)[0]
    assert np.array_equal(gradient, gradient.T)


def test_solve_with_triangular_structure():
    full = npgrad.grad(lambda a: ours.solve(a, V, assume_a="lower triangular").sum())(np.tril(A))
    assert np.array_equal(full, np.tril(full)) and np.all(full[np.tril_indices(3)] != 0)


@pytest.mark.parametrize("trans", [0, 1, "T", 2])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solve_triangular(trans, lower, unit_diagonal):
    keywords = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    both("solve_triangular", A, V, **keywords)
    both("solve_triangular", A, M, **keywords)


def test_stacks():
    both("solve_triangular", STACK, M)
    both("solve", STACK, M)
    both("inv", STACK)
    both("det", STACK)
    both("expm", STACK)


def test_complex_solve_triangular_is_the_adjoint_of_its_tangent():
    rng = np.random.default_rng(5)
    a, t = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    a = a + 3 * np.eye(3)
    u = rng.normal(size=3) + 1j * rng.normal(size=3)
    for trans in (0, 1, 2):
        f = lambda a, trans=trans: ours.solve_triangular(a, V, trans=trans)
        step = 1e-6
        slope = (f(a + step * t) - f(a - step * t)) / (2 * step)
        np.testing.assert_allclose(npgrad.jvp(f, (a,), (t,))[1], slope, rtol=1e-6)
        back = npgrad.vjp(f, a)[1](u)[0]
        np.testing.assert_allclose(np.vdot(back, t).real, np.vdot(u, slope).real, rtol=1e-6)


def test_inv_det_norm():
    both("inv", A)
    both("det", A)
    both("norm", A)


@pytest.mark.parametrize("lower", [False, True])
def test_cholesky(lower):
    both("cholesky", S, symmetric=(0,), lower=lower)
    check(
        lambda a, b: ours.cho_solve(ours.cho_factor(a, lower=lower), b),
        lambda a, b: theirs.cho_solve(theirs.cho_factor(a, lower=lower), b),
        S,
        M,
        symmetric=(0,),
    )


def test_functions_of_matrices():
    both("expm", 0.3 * A)
    both("sqrtm", S)


def test_logm():
    both("logm", S)


def test_logm_in_single_precision():
    gradient = npgrad.grad(lambda a: ours.logm(a).sum())(S.astype(np.float32))
    assert gradient.dtype == np.float32


def test_error_estimates_are_refused():
    with pytest.raises(npgrad.errors.NoDerivative, match="disp=False"):
        npgrad.grad(lambda a: ours.logm(a, disp=False)[0].sum())(S)


def test_solve_sylvester():
    both("solve_sylvester", A, S[:2, :2], M)


@pytest.mark.parametrize(("low", "up"), [(1, 1), (2, 0), (0, 1), (1, 2)])
def test_solve_banded(low, up):
    rng = np.random.default_rng(low + 3 * up)
    ab = rng.normal(size=(low + up + 1, 5))
    ab[up] += 6
    for b in (rng.normal(size=5), rng.normal(size=(5, 2))):
        check(
            lambda ab, b: ours.solve_banded((low, up), ab, b),
            lambda ab, b: theirs.solve_banded((low, up), ab, b),
            ab,
            b,
        )


def test_special_matrices():
    both("toeplitz", V)
    both("toeplitz", V, M[:, 0])
    both("block_diag", A, M, V)


def test_complex_toeplitz_conjugates_its_row():
    c = V + 1j * M[:, 0]
    value, tangent = npgrad.jvp(ours.toeplitz, (c,), (1j * c,))
    assert np.array_equal(value, theirs.toeplitz(c))
    np.testing.assert_allclose(tangent, theirs.toeplitz(1j * c))
