"""Faults found by using npgrad as a newcomer does, one small program each.

Each test states what mathematics or NumPy's own value says.
"""

from __future__ import annotations

import collections
import functools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import npgrad

X = np.array([1.0, 2.0, 3.0])


# --- a write into a view of a 0-d array, or of a NumPy scalar ---


def scalar_then_newaxis(x):
    w = np.sum(x)[None]
    w *= 3.0
    return np.sum(w * w)  # 9 s**2


def test_write_into_newaxis_of_a_scalar():
    value, gradient = npgrad.value_and_grad(scalar_then_newaxis)(X)
    assert value == scalar_then_newaxis(X) == 324.0
    np.testing.assert_allclose(gradient, np.full(3, 18.0 * 6.0))


def test_setitem_into_newaxis_of_a_scalar():
    def f(x):
        w = np.sum(x)[None]
        w[0] = x[1] ** 2
        return np.sum(w * w)  # x1**4

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 16.0
    np.testing.assert_allclose(gradient, [0.0, 32.0, 0.0])


def test_write_into_ellipsis_of_a_scalar():
    def f(x):
        w = np.sum(x)[...]
        w /= 2.0
        return np.sum(w * w)  # s**2 / 4

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 9.0
    np.testing.assert_allclose(gradient, np.full(3, 3.0))


def test_add_at_into_newaxis_of_a_scalar():
    def f(x):
        w = np.sum(x)[None]
        np.add.at(w, [0, 0], x[0])
        return np.sum(w * w)  # (s + 2 x0)**2

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 64.0
    np.testing.assert_allclose(gradient, [48.0, 16.0, 16.0])


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y.reshape(1),
        lambda y: y.ravel(),
        lambda y: y[None],
        lambda y: y[...],
        np.atleast_1d,
        lambda y: y.reshape(1, 1),
    ],
    ids=["reshape", "ravel", "newaxis", "ellipsis", "atleast_1d", "reshape2"],
)
def test_scaling_a_0d_array_through_a_view(view):
    def f(x):
        y = np.copy(x)
        v = view(y)
        v *= 3.0
        return y * 1.0

    x = np.array(2.5)
    assert npgrad.value_and_grad(f)(x)[0] == 7.5
    assert npgrad.grad(f)(x) == 3.0


def test_overwriting_a_0d_array_through_a_view():
    def f(x):
        y = np.copy(x)
        y.reshape(1)[0] = 7.0
        return y * 1.0

    assert npgrad.grad(f)(np.array(2.5)) == 0.0


# --- grad and its kin where recording is switched off around them ---


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: npgrad.grad(f)(x),
        lambda f, x: npgrad.jvp(f, (x,), (1.0,))[1],
        lambda f, x: npgrad.vjp(f, x)[1](1.0)[0],
        lambda f, x: npgrad.jacobian(f)(x),
        lambda f, x: npgrad.linearize(f, x)[1](1.0),
    ],
    ids=["grad", "jvp", "vjp", "jacobian", "linearize"],
)
def test_a_transform_inside_no_grad_is_not_zero(derivative):
    """A transform's result must not depend on what is around it, unless it is refused."""
    with npgrad.no_grad():
        try:
            slope = derivative(lambda x: x * x, 3.0)
        except npgrad.errors.NpgradError:
            return
    assert slope == 6.0


# --- a copy that NumPy makes and the recording does not ---


@pytest.mark.parametrize(
    "turned",
    [
        lambda y: np.ascontiguousarray(y.T).T,
        lambda y: np.asfortranarray(y),
        lambda y: np.asarray(y, order="F"),
        lambda y: np.require(y, requirements="F"),
        lambda y: y.astype(float, order="F", copy=False),
    ],
    ids=["ascontiguousarray", "asfortranarray", "asarray", "require", "astype"],
)
def test_a_change_of_memory_order_copies(turned):
    def f(x):
        y = x * 1.0
        other = turned(y)
        other *= 0.0
        return np.sum(y * y)

    x = np.arange(6.0).reshape(2, 3) + 1.0
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 91.0
    np.testing.assert_allclose(gradient, 2.0 * x)


# --- a flat view of a matrix whose cotangent, or tangent, lies in another memory order ---


def differences(f, x, h=1e-6):
    """Central differences of a scalar function."""
    steps = np.eye(x.size).reshape(x.size, *x.shape) * h
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps]).reshape(x.shape)


M = np.array([[0.4, 1.2, -0.7], [0.9, -0.3, 1.5]])
W = np.array([[1.0, -2.0, 0.5, 3.0], [0.3, 1.0, -1.0, 2.0]])


def scaled_flat(x):
    y = x * 1.0
    v = y.ravel()
    v *= 2.0
    return np.sum((y.T @ W) ** 2)


def zeroed_flat(x):
    y = x * 1.0
    y.reshape(-1)[::2] = 0.0
    return np.sum((y.T @ W) ** 2)


def reshaped(x):
    y = x * 1.0
    v = y.reshape(3, 2)
    v *= 2.0
    return np.sum((y.T @ W) ** 2)


def filled_flat(x):
    y = np.zeros(x.shape, like=x)
    flat = y.ravel()
    flat[:] = x.ravel() * 2.0
    flat[2] = x[0, 0]
    return np.sum((y.T @ W) ** 2)


def flat_diagonal(x):
    k = x @ x.T
    k.flat[::3] *= 1.5
    return np.linalg.slogdet(k)[1]


def flat_and_cumsum(x):
    y = x * 1.0
    y.reshape(-1)[1] *= 2.0
    return np.sum(np.cumsum(y.T, axis=0) ** 2)


def flat_complex(x):
    y = x * 1.0
    z = y.ravel().view(complex)
    z *= 1j
    return np.sum((y.T @ W) ** 2)


FLAT = [scaled_flat, zeroed_flat, reshaped, filled_flat, flat_diagonal, flat_and_cumsum]


@pytest.mark.parametrize("f", [*FLAT, flat_complex], ids=lambda f: f.__name__)
def test_gradient_of_a_write_into_a_flat_view(f):
    x = M if f is not flat_complex else np.ascontiguousarray(M.T[:2, :].repeat(2, axis=1))
    np.testing.assert_allclose(npgrad.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-6)


def test_vjp_of_a_write_into_a_flat_view_by_order_of_the_cotangent():
    def f(x):
        y = x * 1.0
        v = y.ravel()
        v *= 2.0
        return y

    _, pull = npgrad.vjp(f, M)
    for order in "CF":
        np.testing.assert_array_equal(pull(np.ones((2, 3), order=order))[0], np.full((2, 3), 2.0))


def test_jvp_of_a_write_into_a_flat_view_of_a_transpose():
    """The second derivative of the sum of squares of 2 x is 8."""

    def f(x):
        y = x.T * 1.0
        v = y.ravel(order="F")
        v *= 2.0
        return np.sum(y * y)

    identity = np.eye(6).reshape(2, 3, 2, 3)
    np.testing.assert_allclose(npgrad.jacfwd(npgrad.grad(f))(M), 8.0 * identity)
    np.testing.assert_allclose(npgrad.hessian(f)(M), 8.0 * identity)


@pytest.mark.parametrize("jacobian", [npgrad.jacobian, npgrad.jacrev, npgrad.jacfwd])
def test_jacobian_of_a_write_into_a_flat_view(jacobian):
    def f(x):
        y = x.T * 1.0
        v = y.ravel(order="F")
        v *= 2.0
        return y

    expected = 2.0 * np.eye(6).reshape(2, 3, 2, 3).swapaxes(0, 1)
    np.testing.assert_allclose(jacobian(f)(M), expected)


# --- plain NumPy code whose value, or whose life, differs under npgrad ---


def test_asarray_of_an_element_is_an_array():
    def f(x):
        y = np.asarray(x[0])  # a 0-d array: += writes into it
        z = y
        z += 1.0
        return y * y  # (x0 + 1)**2

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X) == 4.0
    np.testing.assert_allclose(gradient, [4.0, 0.0, 0.0])


TABLE = {1.0: 3.0, 2.0: 5.0}
LOOKUPS = {
    "in a set": lambda x: x[0] * (2.0 if x[0] in {1.0} else 1.0),
    "in a dict": lambda x: x[0] * (2.0 if x[0] in TABLE else 1.0),
    "in keys": lambda x: x[0] * (2.0 if x[0] in TABLE.keys() else 1.0),  # noqa: SIM118
    "get": lambda x: TABLE.get(x[0], 1.0) * x[1],
    "item": lambda x: TABLE[x[0]] * x[1],
    "a pair": lambda x: {(1.0, 2.0): 4.0}.get((x[0], x[1]), 1.0) * x[1],
    "a set": lambda x: x[1] * len(set(x.tolist())),
    "a set's items": lambda x: x[1] * len({x[0], x[1]}),
    "fromkeys": lambda x: sum(dict.fromkeys(x.tolist())),
    "Counter": lambda x: x[1] * max(collections.Counter(x.tolist()).values()),
}


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_recorded_number_as_a_key(name, wrap):
    """NumPy's float64 is found by its value. A hash by identity would take another branch in
    silence, one by value would hand out another number's gradient from a cache."""
    with pytest.raises(npgrad.errors.GradientLost, match=r"^unhashable.*npgrad\.value"):
        npgrad.grad(LOOKUPS[name], wrap=wrap)(X)
    with pytest.raises(npgrad.errors.GradientLost, match=r"^unhashable.*npgrad\.value"):
        npgrad.jvp(npgrad.wrap(LOOKUPS[name]) if wrap else LOOKUPS[name], (X,), (X,))


def test_constants_lists_and_leaves_as_keys():
    assert npgrad.value(npgrad.array(X)[0]) in {1.0}
    seen = []

    def f(x):
        still = npgrad.stop_gradient(x[0])
        seen.append((still in {1.0}, TABLE.get(still), len({still, 1.0})))
        kept = {x: "an array, by identity"}
        return x[0] * (2.0 if x[0] in [1.0] and x[0] in (1.0,) else 1.0) * len(kept)

    np.testing.assert_allclose(npgrad.grad(f)(X), [2.0, 0.0, 0.0])
    assert seen == [(True, 3.0, 1)]
    leaf = npgrad.array(2.0)
    assert leaf in {leaf: "a leaf"} and leaf not in {npgrad.array(2.0)}
    assert leaf in (leaf * 3.0).backward()


@functools.lru_cache
def _scaled(a, pair=(1.0, 1.0)):
    return a * a * pair[0]


def test_a_cached_function_is_run_again():
    """Equal numbers have gradients of their own: each call must be its own."""
    f = lambda x: _scaled(x[0]) + _scaled(x[1], pair=(x[0], 2.0)) + _scaled(x[2]) + _scaled(2.0)
    x = np.array([1.5, 0.5, 1.5])
    for _ in range(2):
        value, gradient = npgrad.value_and_grad(f)(x)
        np.testing.assert_allclose(value, f(x))
        np.testing.assert_allclose(gradient, [2 * 1.5 + 0.25, 2 * 0.5 * 1.5, 2 * 1.5])
    assert _scaled.cache_info().hits and type(_scaled) is functools._lru_cache_wrapper


def test_numbers_made_of_digits():
    """mpmath takes a float's digits, and swallows whatever they raise."""
    space = {"__name__": "mpmath.libmp"}
    exec("def convert(x):\n    return 2.0 if isinstance(x, float) else x", space)
    with pytest.raises(npgrad.errors.GradientLost, match="mpmath computes with the digits"):
        npgrad.grad(lambda x: x[0] * space["convert"](x[1]))(X)
    assert npgrad.grad(lambda x: x[0] * space["convert"](npgrad.value(x[1])))(X)[0] == 2.0


class Cell:
    """A program with a state of its own, as recurrent models and scratch buffers have."""

    def __init__(self):
        self.state = np.zeros(2)

    def __call__(self, x):
        self.state = np.tanh(self.state + x)
        return np.sum(self.state)


def test_gradient_is_plain_when_a_program_keeps_state():
    cell, x = Cell(), np.array([0.1, 0.2])
    first, second = npgrad.grad(cell)(x), npgrad.grad(cell)(2.0 * x)
    expected = (
        1.0 - np.tanh(np.tanh(x) + 2.0 * x) ** 2
    )  # the state is a constant of the second call
    np.testing.assert_allclose(npgrad.value(second), expected)
    assert type(first) is np.ndarray
    assert type(second) is np.ndarray


def test_program_with_state_still_runs_plainly():
    cell, x = Cell(), np.array([0.1, 0.2])
    npgrad.grad(cell)(x)
    assert float(cell(x)) == pytest.approx(np.sum(np.tanh(np.tanh(x) + x)))


def test_a_cached_constant_acts_as_its_value_after_the_call():
    kept = {}

    def f(x):
        if "weights" not in kept:
            kept["weights"] = np.arange(1.0, 4.0)
            kept["buffer"] = np.zeros(3)
        kept["buffer"][1:] = x[1:] ** 2
        return np.sum(kept["weights"] * x) + kept["buffer"][2]

    gradient = npgrad.grad(npgrad.wrap(f))
    for _ in range(2):  # a buffer of the first call records in the second
        np.testing.assert_array_equal(gradient(X), [1.0, 2.0, 3.0 + 2.0 * X[2]])
    weights = kept["weights"]
    assert type(np.asarray(weights)) is np.ndarray and float(weights[1]) == 2.0
    plain = np.zeros(3)
    plain[:] = weights
    np.testing.assert_array_equal(plain, [1.0, 2.0, 3.0])
    assert float(f(X)) == 14.0 + 9.0
    assert type(npgrad.value(f(X))) is np.float64


def test_masked_out_of_a_0d_array():
    def f(x):
        y = x.copy()
        np.sin(y, out=y, where=y > 0.0)
        return y * 2.0

    np.testing.assert_allclose(npgrad.grad(f)(np.array(1.4)), 2.0 * np.cos(1.4))


def test_flat_of_a_0d_array():
    def f(x):
        y = x.copy()
        y.flat[0] = x * x
        return y * 1.0

    np.testing.assert_allclose(npgrad.grad(f)(np.array(1.5)), 3.0)


def test_index_true():
    def f(x):
        y = x * 1.0
        y[True] *= 2.0
        return np.sum(y)

    np.testing.assert_array_equal(npgrad.grad(f)(X), np.full(3, 2.0))


def test_hessian_of_a_masked_write_into_a_0d_view():
    def f(x):
        y = x.copy()
        v = y[1, ...]
        v[v > 0.0] *= 3.0
        return np.sum(y * y)

    np.testing.assert_allclose(npgrad.hessian(f)(X), np.diag([2.0, 18.0, 2.0]))


def test_a_long_chain_of_views():
    def f(x):
        v = x * 1.0
        for _ in range(1200):
            v = v[...]
        return np.sum(v * v)

    np.testing.assert_array_equal(npgrad.grad(f)(X), 2.0 * X)


@pytest.mark.filterwarnings("error")
def test_hvp_of_a_write_into_the_real_part_warns_of_nothing():
    """The sum of |z|^2 with z.real = x, z.real[0] doubled: second derivatives 8, 2, 2."""

    def f(x):
        z = np.zeros(3, dtype=complex, like=x)
        z.real = x
        z.real[0] *= 2.0
        return np.sum(np.abs(z) ** 2)

    np.testing.assert_allclose(npgrad.hvp(f, X, np.ones(3)), [8.0, 2.0, 2.0])


# --- what a newcomer tries first ---


def test_every_listed_name_exists():
    for name in dir(npgrad):
        assert hasattr(npgrad, name)


def test_message_for_a_ufunc_of_ones_own():
    square = np.frompyfunc(lambda t: t * t, 1, 1)
    f = lambda x: np.sum(square(x))
    np.testing.assert_allclose(npgrad.grad(f)(X), 2.0 * X)  # in wrapped code, by its own Python
    with npgrad.wrap.disabled(), pytest.raises(npgrad.errors.NoDerivative) as caught:
        npgrad.grad(f)(X)
    assert "scipy" not in str(caught.value)


def test_arange_of_recorded_bounds():
    gradient = npgrad.grad(lambda x: np.sum(np.arange(x[0], x[0] + 2.5)))(X)
    np.testing.assert_allclose(gradient, [3.0, 0.0, 0.0])


# --- lost in silence ---


@pytest.mark.parametrize(
    "widen",
    [lambda s: s[None], lambda s: s[...], lambda s: s[None, None], lambda s: s[..., None]],
    ids=["newaxis", "ellipsis", "two", "last"],
)
def test_newaxis_of_an_element(widen):
    def f(x):
        return np.sum(widen(x[1]) ** 3)

    np.testing.assert_allclose(npgrad.grad(f)(X), [0.0, 12.0, 0.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.array([x[0], None], dtype=object),
        lambda x: np.array([x[0], None]),
        lambda x: np.asarray([x[0], x[1]], dtype=object),
        lambda x: np.array([x[0], x[1]], dtype=object),
    ],
    ids=["none", "inferred", "asarray", "array"],
)
def test_arrays_of_objects_keep_the_gradient_or_refuse(make):
    def f(x):
        return make(x)[0] ** 2

    try:
        gradient = npgrad.grad(f)(X)
    except npgrad.errors.NpgradError:
        return
    np.testing.assert_allclose(gradient, [2.0, 0.0, 0.0])


@pytest.mark.parametrize("write", ["base", "view"])
def test_contiguous_copy_of_a_view_that_was_written(write):
    def f(x):
        y = x * 1.0
        v = y[:, 1:]
        if write == "base":
            y *= 2.0
        else:
            v *= 2.0
        w = np.ascontiguousarray(v)
        y[1] = 3.0
        return np.sum(w * w)

    x = np.arange(6.0).reshape(2, 3) + 1.0
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == f(x) == 4.0 * (4.0 + 9.0 + 25.0 + 36.0)
    np.testing.assert_allclose(gradient, 8.0 * x * [0.0, 1.0, 1.0])


@pytest.mark.parametrize("contiguous", ["ascontiguousarray", "asfortranarray"])
def test_contiguous_arrays_have_an_axis(contiguous):
    def f(x):
        return np.sum(getattr(np, contiguous)(np.sum(x))[0] ** 2)

    assert f(X) == 36.0
    np.testing.assert_allclose(npgrad.grad(f)(X), np.full(3, 12.0))


# --- leaves, stores ---


def test_descent_by_writing_into_a_leaf_under_no_grad():
    """Each step of w - 0.1 * 2 w is 0.8 w; an error would do as well."""
    w = npgrad.array(X)
    for _ in range(2):
        try:
            gradient = np.sum(w * w).backward()[w]
            with npgrad.no_grad():
                w[...] = w - 0.1 * gradient
        except npgrad.errors.NpgradError:
            return
    np.testing.assert_allclose(npgrad.value(w), 0.64 * X)


def test_store_keeps_the_dtype_of_the_leaf():
    leaf, store = npgrad.array(X), npgrad.GradStore()
    store.add(leaf, np.ones(3))
    try:
        store.add(leaf, np.full(3, 1j))
    except npgrad.errors.NpgradError:
        return
    assert store[leaf].dtype == X.dtype


def test_float_index():
    with pytest.raises(IndexError):
        npgrad.grad(lambda x: x[1.0])(X)


# --- other people's code under wrap(f, also=...) ---


def zscores(x):
    from scipy import stats

    return np.sum(stats.zscore(x) ** 3)


def log_sum(x):
    from scipy import special

    return special.logsumexp(x)


def horner(x):
    from numpy.polynomial import polynomial

    return np.sum(polynomial.polyval(np.array([0.5, -1.0]), x) ** 2)


def kernel(x):
    from sklearn.metrics import pairwise

    return np.sum(pairwise.rbf_kernel(x.reshape(2, 2), np.eye(2)))


@pytest.mark.parametrize("f", [zscores, log_sum, horner, kernel], ids=lambda f: f.__name__)
def test_wrapped_library_code(f):
    if f is kernel:
        pytest.importorskip("sklearn")
    x = np.array([0.3, 1.0, -0.5, 0.8])
    wrapped = npgrad.wrap(f, also=("scipy", "sklearn", "numpy.polynomial", "numpy"))
    np.testing.assert_allclose(npgrad.grad(wrapped)(x), differences(f, x), rtol=1e-6, atol=1e-7)


def test_memory_order_of_a_broadcast_array():
    def f(x):
        y = x * 1.0
        y[0] *= 2.0
        return (np.broadcast_to(y, (2, 3)) * 1.0).ravel(order="K")

    np.testing.assert_array_equal(npgrad.vjp(f, X)[0], f(X))


def test_message_names_the_line_of_the_program():
    with pytest.raises(npgrad.errors.GradientLost) as caught:
        npgrad.grad(lambda x: float(next(iter(x - 1.0))), wrap=False)(X)
    assert "test_found.py" in str(caught.value)


def test_no_grad_without_parentheses():
    with pytest.raises(TypeError) as caught:
        npgrad.no_grad(lambda x: x)
    assert "no_grad()" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "longdouble"])
def test_a_quantile_whose_place_is_rounded_keeps_its_gradient(dtype: str) -> None:
    """Weights sum to 1, also where NumPy 2.0 takes 0.4 * 5 in the elements' type: it is not 2."""
    for n in (6, 11, 56):
        a = np.random.default_rng(n).normal(size=n).astype(dtype)
        for q in np.arange(1, 20) / 20:
            for kind in (float, np.float32):
                gradient = npgrad.grad(np.quantile)(a, kind(q))
                assert abs(float(gradient.sum()) - 1) < 1e-5


def test_second_derivatives_of_a_mean_of_unequal_numbers() -> None:
    """Of agm(a, b) at (1, 1e-12), by mpmath 1.3 with 50 digits."""
    special = pytest.importorskip("scipy.special")
    hessian = npgrad.hessian(lambda x: special.agm(x[0], x[1]))(np.array([1.0, 1e-12]))
    np.testing.assert_allclose(hessian[0, 0], -0.0017369622376408177, rtol=1e-12)


def test_a_slope_of_tanh_takes_batches_of_its_two_arguments() -> None:
    """Off the diagonal of an elementwise function's Hessian stands 0; it was the diagonal."""
    x = np.array([0.5, 1.0, 1.5])
    want = np.diag(-2 * np.tanh(x) / np.cosh(x) ** 2)
    for outer in (npgrad.jacfwd, npgrad.jacrev):
        for inner in (npgrad.jacfwd, npgrad.jacrev):
            got = outer(inner(lambda x: np.sum(np.tanh(x))))(x)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    squares = npgrad.jacfwd(npgrad.jacrev(lambda x: np.sum(np.tanh(x) ** 2)), chunk=3)(np.ones(4))
    assert squares.shape == (4, 4)


HALF = Fraction(1, 2)
SPARSE = scipy.sparse.csr_matrix(np.eye(2))
OF_OBJECTS = {
    "where": lambda x: np.where(x > 1, x, HALF).sum(),
    "select": lambda x: np.select([x > 1], [x], default=HALF).sum(),
    "choose": lambda x: np.choose([0, 1, 0], [x, HALF]).sum(),
    "outer": lambda x: np.outer(x, np.array([HALF, HALF])).sum(),
    "number times sparse": lambda x: np.multiply(x[0], SPARSE).sum(),
    "sparse times number": lambda x: np.multiply(SPARSE, x[0]).sum(),
    "sparse over number": lambda x: np.divide(SPARSE, x[0]).sum(),
    "dot": lambda x: np.dot(x[0], SPARSE).sum(),
    "array times sparse": lambda x: np.multiply(x[:2], SPARSE)[0].sum(),
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_results_of_python_objects(name):
    """Nothing in them is recorded: their gradient was 0, or that of each entry taken for all."""
    with pytest.raises(TypeError, match="nothing is recorded"):
        npgrad.grad(OF_OBJECTS[name])(X)
    with pytest.raises(TypeError, match="nothing is recorded"):
        npgrad.jvp(OF_OBJECTS[name], (X,), (X,))


def test_fractions_as_factors():
    np.testing.assert_allclose(npgrad.grad(lambda x: (x * HALF).sum())(X), [0.5, 0.5, 0.5])
    np.testing.assert_allclose(npgrad.grad(lambda x: np.maximum(x, HALF * 3).sum())(X), [0, 1, 1])
    assert npgrad.grad(lambda x: x[0] * (1.0 if x[0] != None else 2.0))(X)[0] == 1.0  # noqa: E711
