"""``npgrad.scipy.linalg`` against SciPy's functions and differences of them."""

from __future__ import annotations

import inspect
import warnings

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
    gradient, whole = pull(V)[0], npgrad.vjp(lambda a: ours.solve(a, V, assume_a="pos"), S)[1](V)[0]
    assert np.array_equal(whole, whole.T)  # where both triangles are filled
    np.testing.assert_allclose(gradient, 2 * np.triu(whole, 1) + np.diag(np.diagonal(whole)))


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


@pytest.mark.filterwarnings("ignore:The `:DeprecationWarning")
@pytest.mark.parametrize("name", ["logm", "sqrtm"])
def test_display_is_as_scipy_has_it(name):
    f, g = getattr(ours, name), getattr(theirs, name)
    if "disp" not in inspect.signature(g).parameters:
        pytest.skip("this SciPy has no such argument")
    gradient = npgrad.grad(lambda a: np.sum(f(a)))(S)
    for disp in (True, False):
        shown = lambda a, disp=disp: f(a, disp=disp) if disp else f(a, disp=False)[0]
        np.testing.assert_array_equal(npgrad.grad(lambda a, h=shown: np.sum(h(a)))(S), gradient)
    estimate = npgrad.vjp(lambda a: f(a, disp=False), S)[0][1]
    assert estimate == g(S, disp=False)[1]
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        g(S, disp=True)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        npgrad.vjp(lambda a: f(a, disp=True), S)
    assert {str(w.message) for w in recorded} == {str(w.message) for w in plain}


NEGATIVE = {
    "real": np.array([[-1.0, 0.2], [0.1, -2.0]]),
    "one": np.array([[-1.0, 0.2], [0.1, 2.0]]),
    "defective": np.array([[-1.0, 1.0], [0.0, -1.0]]),
    "complex": np.array([[-1.0, 0.2, 0.0], [0.1, 0.5, 1.0], [0.0, -1.0, 0.5]]),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_logm_of_matrices_with_negative_eigenvalues(name):
    """Beside the logarithm whose cut is turned by a right angle: log(i a) - i pi/2 I."""
    a = NEGATIVE[name]
    n = len(a)
    rng = np.random.default_rng(6)
    weight = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))

    def of(log):
        return lambda z: np.real(np.sum(weight * np.linalg.matrix_power(log(z.reshape(n, n)), 2)))

    f = of(ours.logm)
    if name == "complex":  # the others' angles reach from 0 to pi, this one's to -pi/3 too
        turned = of(lambda m: theirs.logm(-1j * m * np.exp(1j)) + 1j * (np.pi / 2 - 1) * np.eye(n))
    else:
        turned = of(lambda m: theirs.logm(-1j * m) + 0.5j * np.pi * np.eye(n))
    z = a.ravel()
    assert f(z) == pytest.approx(turned(z), rel=1e-12)
    moves = np.eye(z.size)
    step = 1e-3
    numeric = [
        (8 * (turned(z + step * e) - turned(z - step * e))
         - turned(z + 2 * step * e) + turned(z - 2 * step * e)) / (12 * step)
        for e in moves
    ]  # fmt: skip
    for first in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_allclose(first(f)(z), numeric, rtol=1e-6, atol=1e-7)
    second = np.array(
        [
            [
                turned(z + step * (d + e)) - turned(z + step * (d - e))
                - turned(z - step * (d - e)) + turned(z - step * (d + e))
                for e in moves
            ]
            for d in moves
        ]
    ) / (4 * step**2)  # fmt: skip
    for first in (npgrad.jacrev, npgrad.jacfwd):
        for outer in (npgrad.jacrev, npgrad.jacfwd):
            np.testing.assert_allclose(outer(first(f))(z), second, rtol=1e-3, atol=1e-3)


FINITE = {
    "solve": lambda m, a, b, **k: m.solve(a, b, **k),
    "solve pos": lambda m, a, b, **k: m.solve(a, b, assume_a="pos", **k),
    "solve_triangular": lambda m, a, b, **k: m.solve_triangular(a, b, **k),
    "solve_banded": lambda m, a, b, **k: m.solve_banded((1, 1), a, b, **k),
    "cho_solve": lambda m, a, b, **k: m.cho_solve((a, False), b, **k),
    "inv": lambda m, a, b, **k: m.inv(a, **k) + b,
    "det": lambda m, a, b, **k: m.det(a, **k) + b,
    "norm": lambda m, a, b, **k: m.norm(a, **k) + b,
    "cholesky": lambda m, a, b, **k: m.cholesky(a, **k) + b,
    "cho_factor": lambda m, a, b, **k: m.cho_factor(a, **k)[0] + b,
}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", FINITE)
def test_check_finite_is_heeded(name, bad):
    call, matrix = FINITE[name], S.copy()
    matrix[0, 2] = bad
    both = [(matrix, V)]
    if "solve" in name:
        both.append((S, np.array([1.0, bad, 0.0])))
    for a, b in both:
        for run in (call, lambda m, a, b: npgrad.vjp(lambda a, b: call(m, a, b), a, b)):
            module = theirs if run is call else ours
            with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                run(module, a, b)
    passed = np.triu(S)
    passed[2, 0] = bad  # what is not read: SciPy's factors are right all the same
    if name in ("solve_triangular", "cho_solve", "cholesky"):
        value = npgrad.vjp(lambda a: call(ours, a, V, check_finite=False), passed)[0]
        want = call(theirs, np.triu(S) if name != "cholesky" else S, V)
        np.testing.assert_allclose(value, want, rtol=1e-10)
    with np.errstate(all="ignore"):
        value = npgrad.vjp(lambda b: call(ours, S, b, check_finite=False), V * bad)[0]
    assert not np.all(np.isfinite(value))


def test_solve_sylvester():
    both("solve_sylvester", A, S[:2, :2], M)


def test_solve_sylvester_of_real_and_complex_matrices():
    """SciPy's own solution is none where the real one of two has complex eigenvalues."""
    a, b, q = np.diag([3.0, 4, 5]) + 0.1j, np.array([[1.0, 2], [-2, 1]]), np.ones((3, 2))
    for left, right, other in ((a, b, q), (b, a, q.T)):
        rng = np.random.default_rng(1)
        moves = [rng.normal(size=m.shape).astype(m.dtype) for m in (left, right, other)]
        f = ours.solve_sylvester
        x, dx = npgrad.jvp(f, (left, right, other), tuple(moves))
        np.testing.assert_allclose(left @ x + x @ right, other, atol=1e-13)
        da, db, dq = moves
        np.testing.assert_allclose(left @ dx + dx @ right, dq - da @ x - x @ db, atol=1e-12)
        u = rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)
        back = npgrad.vjp(f, left, right, other)[1](u)
        got = sum(np.vdot(g, m).real for g, m in zip(back, moves, strict=True))
        assert got == pytest.approx(np.vdot(u, dx).real, rel=1e-10)


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


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("order", [None, 2, "fro"])
def test_norm_over_all_of_the_range(order, scale):
    """SciPy's norm of a vector scales what NumPy's squares."""
    x = scale * (np.array([[3.0, 0.0], [0.0, 4.0]]) if order == "fro" else np.array([3.0, 4.0]))
    value, gradient = npgrad.value_and_grad(lambda x: ours.norm(x, order))(x)
    np.testing.assert_allclose(value, theirs.norm(x, order), rtol=1e-13)
    np.testing.assert_allclose(gradient, x / scale / 5, rtol=1e-13)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("width", [0, 1, 2])
def test_hermitian_banded_equations(lower, kind, width):
    rng = np.random.default_rng(5)
    ab = rng.normal(size=(width + 1, 4)).astype(kind)
    if kind is complex:
        ab[:] += 0.3j * rng.normal(size=ab.shape)
        ab[0 if lower else -1] = ab[0 if lower else -1].real
    ab[0 if lower else -1] += 6.0
    for b in (rng.normal(size=4), rng.normal(size=(4, 2))):
        expected = theirs.solveh_banded(ab, b, lower=lower)
        solve = ours.solveh_banded
        made = npgrad.value(solve(npgrad.array(ab), b, lower=lower))
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)
        f = lambda b: np.sum(np.abs(solve(ab, b, lower=lower)) ** 2)  # noqa: B023
        npgrad.testing.check_grads(f, (b,), order=2)
        if kind is float:
            g = lambda ab: np.sum(np.sin(solve(ab, b, lower=lower)))  # noqa: B023
            npgrad.testing.check_grads(g, (ab,), order=2)
