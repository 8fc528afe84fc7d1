"""Where a gradient check could pass a wrong gradient: nothing checked, small scales, poles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import npgrad
from npgrad.__main__ import main
from npgrad.scipy import sparse as our_sparse
from npgrad.testing import assert_grad, check_grads, finite_difference_grad

X = np.array([0.3, 1.2, -0.7])


# -- at least one check ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "nothing", [{"samples": 0}, {"samples": -1}, {"modes": ()}, {"modes": []}, {"order": 0}]
)
def test_a_check_of_nothing_is_refused(nothing):
    with pytest.raises(ValueError, match="at least one"):
        check_grads(np.sin, (X,), **nothing)


@pytest.mark.parametrize("samples", ["0", "-1", "many"])
def test_a_command_that_checks_nothing_is_refused(samples, capsys):
    with pytest.raises(SystemExit) as left:
        main(["check", "math:sin", f"--samples={samples}"])
    assert left.value.code == 2 and "at least 1 is needed" in capsys.readouterr().err


def test_a_suite_that_checks_nothing_is_refused(tmp_path):
    from .test_plugin import run

    done = run(tmp_path, "def test_it(): ...\n", "-p", "npgrad.pytest_plugin", "--npgrad-samples=0")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "at least 1 is needed" in done.stderr


@pytest.mark.parametrize("rtol", ["10", "0.11", "-1", "nan", "inf", "much"])
def test_a_tolerance_that_passes_everything_is_refused(rtol, tmp_path, capsys):
    from .test_plugin import run

    with pytest.raises(SystemExit) as left:
        main(["check", "math:sin", f"--rtol={rtol}"])
    assert left.value.code == 2 and "is no relative tolerance" in capsys.readouterr().err
    if rtol == "10":
        it = "def test_it(): ...\n"
        done = run(tmp_path, it, "-p", "npgrad.pytest_plugin", f"--npgrad-rtol={rtol}")
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert "is no relative tolerance" in done.stderr


# -- single precision ------------------------------------------------------------------------------
WRONG = [(np.sin, np.cos), (np.square, lambda x: 2 * x), (np.exp, np.exp)]


@pytest.mark.parametrize(("f", "slope"), WRONG)
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_one_percent_is_noticed_in_single_precision(f, slope, factor):
    p = npgrad.primitive(f)
    p.defvjp(lambda ans, x: lambda g: g * slope(x) * np.float32(factor))
    p.defjvp(lambda g, ans, x: g * slope(x) * np.float32(factor))
    for mode in ("rev", "fwd"):
        with pytest.raises(AssertionError, match="npgrad gives"):
            check_grads(p, (X.astype(np.float32),), order=1, modes=(mode,))


RIGHT = [
    np.sin,
    np.tanh,
    lambda x: np.exp(x) / (1 + x**2),
    lambda x: np.sum(np.outer(x, x) @ x),
    lambda x: np.log(np.sum(np.exp(x))),
    lambda x: x / np.linalg.norm(x),
    lambda x: np.cumprod(x),
    lambda x: x.astype(np.float32) ** 3,  # computes in single whatever it is given
]


@pytest.mark.parametrize("f", RIGHT)
@pytest.mark.parametrize("seed", range(3))
def test_right_rules_pass_in_single_precision(f, seed):
    check_grads(f, (X.astype(np.float32),), seed=seed)


# -- small gradients -------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1.0, 1e10])
def test_a_wrong_gradient_is_noticed_at_every_scale(scale):
    f = lambda x: scale * np.sum(x**2)
    assert_grad(f, lambda x: 2 * scale * x, (X,))
    with pytest.raises(AssertionError, match="the analytic gradient is wrong"):
        assert_grad(f, lambda x: 4 * scale * x, (X,))


def test_rounding_at_an_optimum_is_not_a_wrong_gradient():
    f = lambda x: np.sum((x - X) ** 2)
    assert_grad(f, lambda x: 2 * (x - X) + 1e-16, (X,))
    assert_grad(f, lambda x: np.full(3, -1e-15), X)
    with pytest.raises(AssertionError, match="wrong at 3 of 3"):
        assert_grad(f, lambda x: np.full(3, 1e-8), X)


# -- differences near poles ------------------------------------------------------------------------
POLES = [
    (lambda x: 1 / x, lambda x: -1 / x**2),
    (np.log, lambda x: 1 / x),
    (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    (lambda x: 1e-20 * np.log(x), lambda x: 1e-20 / x),
]
BENDS = [(np.abs, np.sign), (lambda x: x**1.5, lambda x: 1.5 * np.sqrt(x))]


@pytest.mark.parametrize(("f", "derivative"), [*POLES, *BENDS])
@pytest.mark.parametrize("x", [1e-12, 1e-9, 1e-8, 1e-6, 1e-4])
def test_differences_near_a_pole(f, derivative, x):
    assert finite_difference_grad(f, (x,)) == pytest.approx(derivative(x), rel=1e-8)
    assert finite_difference_grad(f, (np.array([x]),)) == pytest.approx(derivative(x), rel=1e-8)


@pytest.mark.parametrize(("f", "derivative"), POLES)
@pytest.mark.parametrize("x", [1e-9, 1e-8, 1e-6])
def test_differences_of_a_sum_with_one_entry_near_a_pole(f, derivative, x):
    both = np.array([x, 1.0])
    found = finite_difference_grad(lambda x: np.sum(f(x)), (both,))
    np.testing.assert_allclose(found, derivative(both), rtol=1e-5)


def test_steps_do_not_shrink_into_rounding():
    assert finite_difference_grad(lambda x: 1e12 + x, (1e-9,)) == pytest.approx(1.0, rel=0.1)
    assert finite_difference_grad(lambda x: np.cos(x), (1e-12,)) == pytest.approx(0.0, abs=1e-11)
    assert finite_difference_grad(np.sin, (np.pi / 2,)) == pytest.approx(0.0, abs=1e-12)


def test_a_rule_is_checked_near_a_pole():
    check_grads(np.log, (np.array([1e-6, 2.0]),), order=1)
    wrong = npgrad.primitive(np.log).defvjp(lambda ans, x: lambda g: 1.01 * g / x)
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(wrong, (np.array([1e-6, 2.0]),), order=1, modes=("rev",))


# -- a sparse matrix that changes ------------------------------------------------------------------
@pytest.mark.parametrize("left", [True, False])
def test_a_sparse_matrix_may_change_before_the_backward_pass(left):
    dense = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    matrix = sparse.csr_array(dense if left else dense.T)
    x = npgrad.array(X)
    out = (our_sparse.matmul(matrix, x) if left else our_sparse.matmul(x, matrix)).sum()
    matrix.data *= 5
    store = out.backward()
    np.testing.assert_array_equal(store[x], dense.sum(axis=0))


# -- chunks ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd, npgrad.hessian])
def test_a_chunk_is_a_whole_number(make):
    for chunk in ("a", 1.5, [2]):
        with pytest.raises(TypeError, match="chunk is a positive whole number of rows"):
            make(np.sin, chunk=chunk)
    with pytest.raises(ValueError, match="chunk is a positive"):
        make(np.sin, chunk=-1)
    make(np.sin, chunk=np.int64(2))


def faulty(f, slope, factor):
    """`f` as an operation whose rule is wrong by `factor`."""
    rule = npgrad.primitive(lambda x: f(x))
    rule.defvjp(lambda ans, x: lambda g: g * slope(x) * factor)
    rule.defjvp(lambda g, ans, x: g * slope(x) * factor)
    return rule


@pytest.mark.parametrize("modes", [("rev",), ("fwd",)])
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e-10, 1.0, 1e10, 1e30, 1e200])
def test_a_rule_is_checked_at_every_scale(scale, modes):
    x = np.array([0.3, 1.2, -0.7])
    f, slope = lambda x: scale * np.sin(x), lambda x: scale * np.cos(x)
    check_grads(faulty(f, slope, 1.0), (x,), modes=modes)
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(faulty(f, slope, 1.01), (x,), order=1, modes=modes)
    inner = lambda x: np.sin(x / scale)
    check_grads(faulty(inner, lambda x: np.cos(x / scale) / scale, 1.0), (x * scale,), 1, modes)
    wrong = faulty(inner, lambda x: np.cos(x / scale) / scale, 1.01)
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(wrong, (x * scale,), 1, modes)


@pytest.mark.parametrize("small", [1e-8, 1e-4, 1e4, 1e8])
def test_a_small_part_is_seen_beside_a_large_one(small):
    """Of two arguments, two outputs, two entries: one contributes next to nothing."""
    x, y = np.array([0.3, 1.2]), np.array([0.8, -0.4])
    wrong = faulty(np.sin, np.cos, 1.01)
    for f in (
        lambda x, y: np.sum(np.exp(x)) + small * np.sum(wrong(y)),
        lambda x, y: (np.exp(x), small * wrong(y)),
    ):
        with pytest.raises(AssertionError, match="npgrad gives"):
            check_grads(f, (x, y), order=1)
    scales = np.array([1.0, 1.0, small])
    entries = faulty(lambda x: scales * np.sin(x), lambda x: scales * np.cos(x), [1, 1, 1.01])
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(lambda x: np.sum(entries(x)), (np.array([0.3, 0.4, 0.5]),), order=1)


def test_a_missing_part_is_seen_beside_a_large_one():
    cut = lambda x: np.sum(np.exp(x[:2])) + 1e-7 * np.sin(npgrad.value(x)[2])
    with pytest.raises(AssertionError, match="npgrad gives"):
        check_grads(cut, (np.array([0.3, 0.4, 0.5]),), order=1)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_no_fault(scale, seed):
    """At an optimum, beside a large constant, and where nothing depends on the argument."""
    check_grads(lambda x: scale * np.sum((x - 0.3) ** 4), (np.full(3, 0.3),), seed=seed)
    check_grads(lambda x: scale * (1e6 + np.sum(np.sin(x))), (np.full(3, 0.3),), seed=seed)
    check_grads(lambda x: scale * np.cos(x), (np.zeros(3),), seed=seed)
    check_grads(lambda x, y: scale * (x * 0 + np.exp(y)), (np.ones(3), np.zeros(3)), seed=seed)
    check_grads(lambda x: scale * (x - x), (np.full(3, 0.3),), seed=seed)
    check_grads(lambda x: np.sum(x * [1e-9, 1.0, 1e9]), (np.full(3, 0.3),), seed=seed)


# -- where differences cannot judge ----------------------------------------------------------------
FAST = lambda x: np.sin(1e6 * x)


@pytest.mark.parametrize("rate", [1e4, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_a_rule_of_zeros_does_not_pass_where_differences_cannot_judge(rate, seed):
    zeros = npgrad.primitive(lambda x: np.sin(rate * x)).defvjp(lambda ans, x: lambda g: 0 * g)
    with pytest.raises(AssertionError, match=r"cannot judge|npgrad gives"):
        check_grads(zeros, (1.0,), order=1, modes=("rev",), seed=seed)


def test_the_message_says_what_to_do():
    zeros = npgrad.primitive(FAST).defvjp(lambda ans, x: lambda g: 0 * g)
    with pytest.raises(AssertionError, match=r"cannot judge.*Scale the argument.*smaller step"):
        check_grads(zeros, (1.0,), order=1, modes=("rev",))
    with pytest.warns(RuntimeWarning, match=r"do not settle.*smaller step"):
        finite_difference_grad(FAST, (1.0,))
    slope = finite_difference_grad(FAST, (1.0,), step=1e-7)
    assert slope == pytest.approx(1e6 * np.cos(1e6), rel=1e-7)


def test_a_random_function_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="another value at each call"):
        check_grads(lambda x: x * rng.random(), (X,))


def test_npgrad_is_not_blamed_by_differences_that_cannot_judge():
    with pytest.raises(AssertionError, match="complex step agrees with npgrad: the analytic"):
        assert_grad(FAST, lambda x: 0.0, (1.0,))
    assert_grad(FAST, lambda x: 1e6 * np.cos(1e6 * x), (1.0,))  # the complex step judges
    with pytest.raises(AssertionError, match="cannot judge"):
        assert_grad(lambda x: np.real(FAST(x)), lambda x: 1e6 * np.cos(1e6 * x), (1.0,))


def test_a_gradient_that_npgrad_has_too_is_asked_of_differences():
    with pytest.raises(AssertionError, match="both are wrong"):
        assert_grad(lambda x: np.sum(npgrad.value(x) * x), lambda x: x, (X,))
    wrong = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: 1.01 * g * np.cos(x))
    with pytest.raises(AssertionError, match="both are wrong"):
        assert_grad(lambda x: np.sum(wrong(x)), lambda x: 1.01 * np.cos(x), (X,))
    with pytest.raises(AssertionError, match="both are wrong"):
        assert_grad(wrong, lambda x: 1.01 * np.diag(np.cos(x)), (X,))


def test_right_gradients_that_npgrad_has_too_pass():
    kinked = np.array([0.0, 0.5, -1.0])
    assert_grad(
        lambda x: np.sum(np.maximum(x, 0)), npgrad.grad(lambda x: np.sum(np.maximum(x, 0))), kinked
    )
    assert_grad(lambda x: np.sum(np.abs(x)), np.sign, (kinked,))
    assert_grad(lambda z: np.sum(np.abs(z) ** 2), lambda z: 2 * z, (X + 1j * X[::-1],))
    assert_grad(lambda x: np.sum(np.exp(x)), np.exp, (X.astype(np.float32),))
    assert_grad(lambda x: np.sin(x) ** 2 + np.cos(x) ** 2, lambda x: 0.0, (0.3,), atol=1.0)
    assert_grad(lambda n: np.sum(n**2), lambda n: 2.0 * n, (np.arange(3),))
    assert_grad(lambda x: np.sum(x), np.ones(0), (np.ones(0),))


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_is_a_whole_number(seed, tmp_path, capsys):
    with pytest.raises(SystemExit) as info:
        main(["check", "numpy:sum", f"--seed={seed}"])
    assert info.value.code == 2 and "is no seed" in capsys.readouterr().err
    from .test_plugin import run

    done = run(tmp_path, "", "-p", "npgrad.pytest_plugin", f"--npgrad-seed={seed}")
    assert "is no seed" in done.stderr


def test_empty_arrays_are_no_check(capsys):
    with pytest.raises(TypeError, match="nothing would be checked"):
        check_grads(np.sum, (np.zeros((0, 3)),))
    assert main(["check", "numpy:sum", "--shape", "0"]) == 1
    assert "nothing would be checked" in capsys.readouterr().out


LARGE = np.random.default_rng(30).normal(size=(40, 60)).astype("f4")


@pytest.mark.parametrize(
    "f",
    [
        npgrad.nn.softmax,
        npgrad.nn.gelu,
        np.tanh,
        lambda x: x * x,
        lambda x: x @ x.T,
        lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
        lambda x: 3 * x,
    ],
)
def test_second_derivatives_of_large_arrays_in_single_precision_are_judged(f):
    """The differences are in double precision: what single precision rounds is no error of them."""
    check_grads(f, (LARGE,))
    check_grads(f, (LARGE[:2],), seed=1)


@npgrad.primitive
def doubtful(x):
    return np.exp(x)


@npgrad.primitive
def doubtful_slope(x):
    return np.exp(x)


doubtful.defvjp(lambda ans, x: lambda g: g * doubtful_slope(x))
doubtful_slope.defvjp(lambda ans, x: lambda g: 1.01 * g * ans)


@pytest.mark.parametrize("seed", range(3))
def test_a_second_derivative_of_single_precision_off_by_a_percent_is_seen(seed):
    with pytest.raises(AssertionError, match="rev of rev: npgrad gives"):
        check_grads(doubtful, (LARGE,), modes=("rev",), seed=seed)
