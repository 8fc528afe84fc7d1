"""Roots and fixed points differentiated by the implicit function theorem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse.linalg import LinearOperator, gmres

import npgrad
from npgrad.errors import RuleError
from npgrad.testing import check_grads
from npgrad.transforms.implicit import fixed_point, root


def newton(a):
    x = np.ones_like(a)
    for _ in range(60):
        x = x - (x**3 - a) / (3 * x**2)
    return x


A = np.array([1.0, 8.0, 2.0])


def test_a_scalar_equation_in_closed_form():
    cube_root = root(newton, lambda x, a: x**3 - a)
    np.testing.assert_allclose(cube_root(A), np.cbrt(A))
    got = npgrad.grad(lambda a: np.sum(cube_root(a)))(A)
    np.testing.assert_allclose(got, A ** (-2 / 3) / 3, rtol=1e-12)
    second = npgrad.hessian(lambda a: np.sum(cube_root(a)))(A)
    np.testing.assert_allclose(second, np.diag(-2 / 9 * A ** (-5 / 3)), rtol=1e-10)
    _, tangent = npgrad.jvp(cube_root, (A,), (np.ones(3),))
    np.testing.assert_allclose(tangent, A ** (-2 / 3) / 3, rtol=1e-12)


def residual(x, params, b):
    return params["m"] @ x + 0.1 * x**3 - b


def by_scipy(params, b):
    return scipy.optimize.root(lambda x: residual(x, params, b), np.zeros(b.size), tol=1e-14).x


M = np.array([[3.0, 0.5, 0.0], [0.2, 2.0, 0.3], [0.0, 0.4, 4.0]])


def test_a_system_solved_by_scipy():
    solution = root(by_scipy, residual)
    check_grads(lambda m, b: np.sum(solution({"m": m}, b) ** 2), (M, A), order=2, rtol=1e-5)
    # A linear system in closed form: x = M^-1 b.
    linear = root(np.linalg.solve, lambda x, m, b: m @ x - b)
    w = np.array([1.0, -2.0, 0.5])
    gm, gb = npgrad.grad(lambda m, b: w @ linear(m, b), (0, 1))(M, A)
    np.testing.assert_allclose(gb, np.linalg.solve(M.T, w), rtol=1e-12)
    np.testing.assert_allclose(
        gm, -np.outer(np.linalg.solve(M.T, w), np.linalg.solve(M, A)), rtol=1e-12
    )


def test_a_matrix_free_linear_solver():
    def krylov(matvec, b):
        operator = LinearOperator((b.size, b.size), matvec=matvec, dtype=b.dtype)
        z, info = gmres(operator, b, rtol=1e-13)
        assert info == 0
        return z

    dense, free = root(by_scipy, residual), root(by_scipy, residual, linear_solve=krylov)
    f = lambda s: npgrad.grad(lambda m: np.sum(s({"m": m}, A) ** 2))(M)
    np.testing.assert_allclose(f(free), f(dense), rtol=1e-9)
    push = lambda s: npgrad.jvp(lambda b: s({"m": M}, b), (A,), (A,))[1]
    np.testing.assert_allclose(push(free), push(dense), rtol=1e-9)


def test_keplers_equation():
    kepler = fixed_point(lambda E, m, e: m + e * np.sin(E), 0.0)
    m, e = 1.0, 0.3
    E = kepler(m, e)
    assert m == pytest.approx(E - e * np.sin(E))
    dm, de = npgrad.grad(kepler, (0, 1))(m, e)
    assert dm == pytest.approx(1 / (1 - e * np.cos(E)))
    assert de == pytest.approx(np.sin(E) / (1 - e * np.cos(E)))
    second = npgrad.grad(npgrad.grad(kepler))(m, e)
    assert second == pytest.approx(-e * np.sin(E) / (1 - e * np.cos(E)) ** 3)


def test_nothing_of_the_iterations_is_kept():
    slow = fixed_point(lambda x, a: 0.5 * (x + a / x), np.ones(3))
    with npgrad.Tape() as tape:
        a = tape.leaf(A)
        y = np.sum(slow(a))
    assert len(tape) == 3
    tape.backward(y)
    np.testing.assert_allclose(tape.grad(a), 0.5 / np.sqrt(A), rtol=1e-12)


def test_a_solver_that_did_not_converge_has_no_derivative():
    half_way = root(lambda a: newton(a) * 1.01, lambda x, a: x**3 - a)
    with pytest.raises(RuleError, match="did not converge: the residual"):
        npgrad.grad(lambda a: np.sum(half_way(a)))(A)
    diverges = fixed_point(lambda x, a: a * x + 1.0, 1.0, steps=50)
    with pytest.raises(RuleError, match="did not converge in 50 steps"):
        npgrad.grad(diverges)(3.0)
    with pytest.raises(RuleError, match=r"residual has shape \(\)"):
        npgrad.grad(lambda a: np.sum(root(newton, lambda x, a: np.sum(x**3 - a))(a)))(A)


def test_convergence_is_judged_at_the_scale_of_the_solution():
    """x = x/2 + 1e-20 a is 2e-20 a; x^2 = a has the derivative 1/(2 sqrt(a)) at sqrt(a) alone."""
    tiny = fixed_point(lambda x, a: 0.5 * x + a * 1e-20, 0.0)
    assert tiny(1.0) == pytest.approx(2e-20, rel=1e-14)
    assert npgrad.grad(tiny)(1.0) == pytest.approx(2e-20, rel=1e-12)
    heron = fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0)  # Heron's square root
    for a in (4.0, 1e-12, 1e-30):
        assert heron(a) == pytest.approx(np.sqrt(a), rel=1e-14)
        assert npgrad.grad(heron)(a) == pytest.approx(0.5 / np.sqrt(a), rel=1e-7)
        right = root(np.sqrt, lambda x, a: x * x - a)
        assert npgrad.grad(right)(a) == pytest.approx(0.5 / np.sqrt(a), rel=1e-12)
    wrong = root(lambda a: 2 * np.sqrt(a), lambda x, a: x * x - a)
    with pytest.raises(RuleError, match="did not converge: its solution, of size 2e-06"):
        npgrad.grad(wrong)(1e-12)
    with pytest.raises(RuleError, match="did not converge"):
        npgrad.jvp(wrong, (1e-12,), (1.0,))


def test_a_solution_at_zero_converges():
    """exp(x) = 1 + a at a = 0: dx/da = 1. Rounding, or a slow way, keeps zero from being met."""
    for f in (
        lambda x, a: x - (np.exp(x) - 1 - a),
        lambda x, a: x - 0.01 * (np.exp(x) - 1 - a),
    ):
        found = fixed_point(f, 0.5)
        assert abs(found(0.0)) < 1e-13
        assert npgrad.grad(found)(0.0) == pytest.approx(1.0, rel=1e-12)
    near = root(lambda a: a + 1e-10, lambda x, a: np.exp(x) - 1 - a)
    assert npgrad.grad(near)(0.0) == pytest.approx(1.0, rel=1e-9)


def test_a_state_of_several_arrays_is_refused_with_a_remedy():
    with pytest.raises(RuleError, match=r"x0 is a dict of arrays.*np\.concatenate"):
        fixed_point(lambda x, a: x, {"u": 1.0, "v": np.ones(2)})
    with pytest.raises(RuleError, match="x0 is a tuple of arrays"):
        fixed_point(lambda x, a: x, (1.0, np.ones(2)))
    with pytest.raises(RuleError, match=r"the result of .* is a dict of arrays"):
        fixed_point(lambda x, a: {"u": a}, 1.0)(2.0)
    pair = fixed_point(lambda x, a: 0.5 * x + a, [1.0, 2.0])  # a list of numbers is an array
    np.testing.assert_allclose(pair(3.0), [6.0, 6.0])


def test_a_singular_jacobian_is_numpys_error_with_its_meaning():
    double = root(lambda a: 0 * a, lambda x, a: x**2 * a)
    with pytest.raises(np.linalg.LinAlgError, match=r"npgrad: root: the Jacobian .* singular"):
        npgrad.grad(lambda a: np.sum(double(a)))(A)
    with pytest.raises(np.linalg.LinAlgError, match=r"npgrad: root: the Jacobian .* singular"):
        npgrad.jvp(double, (A,), (A,))


def closing_over(a):
    """sqrt(a b), with `a` not among the arguments."""
    geometric = root(lambda b: np.sqrt(npgrad.value(a) * b), lambda x, b: x * x - a * b)
    return geometric


def iterating_over(a):
    """The same by an iteration."""
    return fixed_point(lambda x, b: 0.5 * (x + a * b / x), 1.0)


@pytest.mark.parametrize("make", [closing_over, iterating_over])
def test_a_recorded_value_in_the_closure_is_refused(make):
    with pytest.raises(RuleError, match="recorded value that is not among its arguments"):
        npgrad.grad(lambda a: make(a)(1.0))(4.0)
    with pytest.raises(RuleError, match="recorded value that is not among its arguments"):
        npgrad.grad(lambda a: make(a)(a))(4.0)
    with pytest.raises(RuleError, match="recorded value that is not among its arguments"):
        npgrad.jvp(lambda a: make(a)(1.0), (4.0,), (1.0,))
    # A constant is welcome: d sqrt(4 b) / db = 1 / sqrt(b).
    assert npgrad.grad(lambda a: make(npgrad.value(a))(a))(4.0) == pytest.approx(0.5)
    assert npgrad.grad(lambda a: make(npgrad.stop_gradient(a))(a))(4.0) == pytest.approx(0.5)


def test_the_value_of_the_closure_passed_as_an_argument():
    geometric = root(lambda a, b: np.sqrt(a * b), lambda x, a, b: x * x - a * b)
    assert npgrad.grad(lambda a: geometric(a, 1.0))(4.0) == pytest.approx(0.25)


# -- linear solvers and complex unknowns -----------------------------------------------------------
UNSYMMETRIC = np.array([[4.0, 1.0, 0.0], [-2.0, 3.0, 1.0], [0.5, 0.0, 5.0]])


def linear_root(linear_solve):
    return root(
        lambda b: np.linalg.solve(UNSYMMETRIC, b),
        lambda x, b: UNSYMMETRIC @ x - b,
        linear_solve=linear_solve,
    )


def krylov(name, **options):
    from scipy.sparse import linalg

    def solve(matvec, b):
        operator = linalg.LinearOperator((3, 3), matvec)
        return getattr(linalg, name)(operator, b, **options)[0]

    return solve


def test_a_linear_solver_that_did_not_solve_is_refused():
    b = np.ones(3)
    right = np.linalg.solve(UNSYMMETRIC.T, b)
    got = npgrad.grad(lambda b: np.sum(linear_root(krylov("gmres", rtol=1e-12))(b)))(b)
    np.testing.assert_allclose(got, right, rtol=1e-9)
    for wrong in (krylov("cg", maxiter=1), lambda matvec, b: 0 * b, lambda matvec, b: b + np.nan):
        with pytest.raises(RuleError, match=r"linear_solve left .* of the right-hand side"):
            npgrad.grad(lambda b, wrong=wrong: np.sum(linear_root(wrong)(b)))(b)
        with pytest.raises(RuleError, match=r"linear_solve left .* of the right-hand side"):
            npgrad.jvp(linear_root(wrong), (b,), (b,))
    zero = npgrad.grad(lambda b: 0.0 * np.sum(linear_root(krylov("gmres"))(b)))(b)
    np.testing.assert_array_equal(zero, np.zeros(3))


def test_a_second_derivative_through_a_plain_linear_solver_names_it():
    f = lambda b: np.sum(linear_root(krylov("gmres", rtol=1e-12))(b) ** 2)
    with pytest.raises(npgrad.errors.NoDerivative, match=r"root: .* goes through linear_solve"):
        npgrad.hessian(f)(np.ones(3))


def test_complex_unknowns_are_refused_by_name():
    square_root = root(np.sqrt, lambda y, a: y * y - a)
    with pytest.raises(RuleError, match=r"root: the solution of sqrt is complex"):
        npgrad.grad(lambda a: np.real(square_root(a)))(2 + 1j)
    with pytest.raises(RuleError, match=r"fixed_point: x0 is complex"):
        fixed_point(lambda y, a: (y + a / y) / 2, 1 + 0j)


def test_residuals_and_maps_are_wrapped_as_functions_of_transforms_are():
    def solve(p):
        z = np.zeros(2)
        for _ in range(60):
            z = np.array([np.cos(z[1]) * p, np.sin(z[0])])
        return z

    def residual(z, p):
        return np.array([z[0] - np.cos(z[1]) * p, z[1] - np.sin(z[0])])

    def step(z, p):
        out = np.zeros(2)
        out[0] = np.cos(z[1]) * p
        out[1] = np.sin(z[0])
        return out

    x, y = solve(0.7)
    # dx = cos y dp - p sin y dy and dy = cos x dx
    dx = np.cos(y) / (1 + 0.7 * np.sin(y) * np.cos(x))
    want = [dx, np.cos(x) * dx]
    np.testing.assert_allclose(npgrad.jacobian(root(solve, residual))(0.7), want, rtol=1e-9)
    found = npgrad.jacobian(fixed_point(step, np.zeros(2)))(0.7)
    np.testing.assert_allclose(found, want, rtol=1e-9)
