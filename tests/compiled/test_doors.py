"""A recorded array meets a compiled function: a rule, its Python source, or an error."""

import math

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, NoDerivative, NpgradError

numba = pytest.importorskip("numba")

X = np.array([0.3, -1.2, 2.5])


@numba.njit
def square(t):
    return t * t


@numba.njit
def simulate(x, rate=0.5):
    state = np.zeros(x.size)
    for i in range(x.size):
        previous = state[i - 1] if i > 0 else 0.0
        state[i] = previous * rate + square(x[i])
    return state


@numba.njit(parallel=True)
def fill(x, out):
    for i in numba.prange(x.size):
        out[i] = np.sin(x[i])


def simulated_gradient(x, rate=0.5):
    """The last state is the sum of rate**(n - 1 - i) x_i**2."""
    return 2 * x * rate ** np.arange(x.size - 1, -1, -1)


@pytest.mark.parametrize("by_keyword", [False, True])
def test_a_loop_is_differentiated_through_its_source_in_wrapped_code(by_keyword):
    f = (lambda x: simulate(x=x)[-1]) if by_keyword else (lambda x: simulate(x)[-1])
    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == simulate(X)[-1]
    assert np.allclose(gradient, simulated_gradient(X), rtol=1e-14)
    npgrad.testing.check_grads(npgrad.wrap(f), (X,), order=2)


def test_npgrad_njit_does_so_everywhere():
    f = npgrad.njit(simulate)
    x = npgrad.array(X)
    gradient = f(x, 0.25)[-1].backward()[x]
    assert np.allclose(gradient, simulated_gradient(X, 0.25), rtol=1e-14)
    assert type(f(X)) is np.ndarray
    npgrad.testing.check_grads(lambda x: f(x), (X,), order=2)


def test_float32_stays_float32():
    gradient = npgrad.grad(lambda x: square(x).sum())(X.astype(np.float32))
    assert gradient.dtype == np.float32
    assert np.allclose(gradient, 2 * X, rtol=1e-6)


def test_an_argument_that_is_filled():
    def f(x):
        out = np.zeros_like(x)
        npgrad.njit(fill)(x, out)
        return out

    npgrad.testing.check_grads(f, (X,), order=2)


def test_tuples_in_and_out():
    @npgrad.njit
    def both(pair):
        a, b = pair
        return a * b, a + b

    npgrad.testing.check_grads(lambda a, b: both((a, b))[0] + both((a, b))[1], (X, X + 1))


def test_a_function_that_calls_itself():
    @npgrad.njit
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    gradient = npgrad.grad(lambda x: power(x, 3).sum())(X)
    assert np.allclose(gradient, 3 * X**2, rtol=1e-14)


def test_a_registered_rule_comes_first():
    @numba.njit("f8(f8[:])")
    def plain(x):
        return (x * x).sum()

    @numba.njit
    def energy(x):
        return (x * x).sum()

    npgrad.register_vjp(energy, lambda ans, x: lambda g: g * 2 * x)
    npgrad.testing.check_grads(lambda x: energy(x), (X,), order=2)
    assert np.allclose(npgrad.jacobian(lambda x: energy(x) * x)(X).shape, (3, 3))
    with pytest.raises(GradientLost, match=r"plain is compiled by Numba .* at test_doors\.py"):
        plain(npgrad.array(X))


@pytest.mark.parametrize("signatures", [[], ["f8(f8,f8)"]])
def test_a_rule_for_a_vectorized_function(signatures):
    decorate = numba.vectorize(signatures) if signatures else numba.vectorize

    @decorate
    def product(a, b):
        return a * b * b

    npgrad.register_vjp(
        product, lambda ans, a, b: lambda g: g * b * b, lambda ans, a, b: lambda g: g * 2 * a * b
    )
    column = np.array([[1.0], [2.0]])
    npgrad.testing.check_grads(lambda a, b: product(a, b), (X, column), order=2)
    npgrad.testing.check_grads(lambda a: product(a, 2.0), (X,), order=2)

    def into(a):
        out = np.zeros_like(a)
        product(a, a, out=out)
        return out

    npgrad.testing.check_grads(into, (X,), order=2)
    with pytest.raises(NpgradError):
        product(npgrad.array(X), X, where=X > 0)


def test_a_rule_for_a_gufunc():
    @numba.guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def total(x, out):
        out[0] = 0.0
        for i in range(x.shape[0]):
            out[0] += x[i] * x[i]

    with pytest.raises(NoDerivative, match="register_vjp"):
        total(npgrad.array(X))
    npgrad.register_vjp(total, lambda ans, x: lambda g: 2 * x * np.expand_dims(g, -1))
    npgrad.testing.check_grads(lambda x: total(x), (X.reshape(1, 3) + np.ones((2, 1)),), order=2)


def no_source():
    """A @vectorize function whose source no file holds."""
    space = {}
    exec("def hidden(x): return x * x", space)
    return numba.vectorize(space["hidden"])


def unsupported():
    @numba.vectorize
    def gamma(x):
        return math.gamma(x)

    return gamma


@pytest.mark.parametrize("make", [no_source, unsupported, lambda: simulate])
def test_without_a_derivative_the_error_names_the_ways_out_and_the_line(make):
    f = make()
    for x in (npgrad.array(X), npgrad.array(X)[0:2]):
        with pytest.raises(NpgradError) as info:
            f(x)
        text = str(info.value)
        for word in ("register_vjp", "npgrad.njit", "npgrad.value", "test_doors.py:"):
            assert word in text


def entries():
    @numba.stencil
    def smooth(a):
        return 0.5 * (a[-1] + a[1])

    @numba.experimental.jitclass([("x", numba.float64[:])])
    class Holder:
        def __init__(self, x):
            self.x = x

    @numba.guvectorize("(n)->(n)")
    def dynamic(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i]

    @numba.njit("f8[:](f8[:])")
    def eager(x):
        return x

    lazy = numba.njit(lambda x: x)
    product = numba.vectorize(lambda a, b: a * b)
    called_back = numba.cfunc("f8(f8)")(lambda x: x)
    return {
        "stencil": lambda x: smooth(x),
        "jitclass": lambda x: Holder(x),
        "dynamic gufunc": lambda x: dynamic(x, np.zeros(3)),
        "eager": lambda x: eager(x),
        "list": lambda x: lazy([x, x]),
        "mixed list": lambda x: lazy([1.0, x[0]]),
        "tuple": lambda x: lazy((1.0, x)),
        "typed list": lambda x: numba.typed.List([x]),
        "at": lambda x: product.at(X.copy(), [0], x[:1]),
        "cfunc": lambda x: called_back.ctypes(x[0]),
        "typeof": lambda x: numba.typeof(x),
    }


@pytest.mark.parametrize("name", list(entries()))
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")
def test_no_entry_loses_a_gradient(name):
    with pytest.raises(Exception) as info:
        entries()[name](npgrad.array(X))
    assert isinstance(info.value, (NpgradError, TypeError)) or "ctypes" in str(info.type)


def test_the_first_compilation_may_happen_in_wrapped_code():
    @numba.njit
    def fresh(n):
        made = np.zeros(n)
        made[0] = math.sin(1.0) + float(n) + np.linalg.norm(np.ones(4))
        return made

    gradient = npgrad.grad(lambda x: np.sum(x * fresh(3)))(X)
    assert np.allclose(gradient, [math.sin(1.0) + 5.0, 0.0, 0.0], rtol=1e-15)


@numba.njit
def product_and_difference(a, b):
    return a * b, a - b * b


def test_numbers_in_and_a_tuple_out():
    def f(x):
        one, other = product_and_difference(x[0], x[1])
        return one * other * other

    a, b = X[:2]
    d = a - b * b
    expected = [b * d * d + 2 * a * b * d, a * d * d - 4 * a * b * b * d, 0.0]
    for wrap in (True, False):
        assert np.allclose(npgrad.grad(f, wrap=wrap)(X), expected, rtol=1e-13)
    npgrad.testing.check_grads(f, (X,), order=2)


@numba.njit
def of_a_tuple(pair):
    return pair[0] * pair[1]


def test_a_tuple_of_numbers_after_a_plain_call():
    assert of_a_tuple((2.0, 3.0)) == 6.0  # now it is compiled for such a tuple
    expected = [X[1], X[0], 0.0]
    assert np.allclose(npgrad.grad(lambda x: of_a_tuple((x[0], x[1])))(X), expected)
    assert np.allclose(npgrad.grad(lambda x: of_a_tuple((x, x[1]))[0])(X), expected)
    with pytest.raises(NpgradError, match="register_vjp"):
        of_a_tuple((npgrad.array(X)[0], 1.0))


@numba.njit("f8(f8,f8)")
def signed(a, b):
    return a * a * math.sin(b)


@numba.njit("f8(f8[:])")
def signed_sum(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 2
    return total


def test_signatures_in_wrapped_code():
    def f(x):
        return signed(x[0], b=x[1]) + signed_sum(x) + signed(2.0, 3.0)

    a, b, c = X
    expected = [2 * a * np.sin(b) + 2 * a, a * a * np.cos(b) + 2 * b, 2 * c]
    assert np.allclose(npgrad.grad(f)(X), expected, rtol=1e-13)
    npgrad.testing.check_grads(npgrad.wrap(f), (X,), order=2)
    assert type(signed).__name__ == "CPUDispatcher"
    with pytest.raises(NpgradError, match="register_vjp"):
        signed_sum(npgrad.array(X))


@numba.stencil
def smooth(a):
    return 0.5 * (a[-1] + a[1])


def test_a_rule_for_a_stencil_in_wrapped_code():
    def maker(ans, a):
        def pull(g):
            inner = 0.5 * g[1:-1]
            return np.concatenate([inner, np.zeros(2)]) + np.concatenate([np.zeros(2), inner])

        return pull

    npgrad.register_vjp(smooth, maker)
    weights = np.array([5.0, 3.0, 7.0])
    assert np.allclose(npgrad.grad(lambda x: smooth(x) @ weights)(X), [1.5, 0.0, 1.5])


@numba.njit
def recursive(n, x):
    if n == 0:
        return x
    return recursive(n - 1, x) * 0.5 + x


@numba.njit
def of_any_number(*numbers):
    return numbers[0] * numbers[1]


def test_numbers_whose_derivative_is_not_compiled_are_recorded_from_the_source():
    assert np.allclose(npgrad.grad(lambda x: recursive(2, x[0]))(X), [1.75, 0.0, 0.0])
    assert np.allclose(npgrad.grad(lambda x: of_any_number(x[0], x[1]))(X), [X[1], X[0], 0.0])
    for f, why in ((recursive, "calls itself"), (of_any_number, "args")):
        with pytest.raises(NpgradError, match=why):
            f(2, npgrad.array(X)[0])
