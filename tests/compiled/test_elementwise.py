"""Derivatives made from a function's own source: against differences, to second order."""

import math
import threading

import numpy as np
import pytest

import npgrad
from npgrad.compiled.formulas import FLAT, LINEAR, PARTIALS
from npgrad.compiled.source import dual

numba = pytest.importorskip("numba")

X = np.array([0.3, 0.7, 1.6])


def difference(f, x, direction, step=1e-6):
    up = f(*[a + step * d for a, d in zip(x, direction, strict=True)])
    down = f(*[a - step * d for a, d in zip(x, direction, strict=True)])
    return (up - down) / (2 * step)


DOMAIN = {"acosh": 1.7, "arccosh": 1.7}
NAMES = [(np, f) for f in PARTIALS if getattr(np, f.__name__, None) is f]
NAMES += [(math, f) for f in PARTIALS if getattr(math, f.__name__, None) is f]


@pytest.mark.parametrize(("module", "function"), NAMES, ids=lambda v: getattr(v, "__name__", ""))
def test_every_formula_twice(module, function):
    """The generated source is Python too: it runs, and is differentiated again, without Numba."""
    count = len(PARTIALS[function])
    names = ["p", "q"][:count]
    text = f"def f({', '.join(names)}):\n    return m.{function.__name__}({', '.join(names)})\n"
    space = {"m": module}
    exec(text, space)
    f = space["f"]
    f.npgrad_source = text
    point = [DOMAIN.get(function.__name__, 0.4), 0.9][:count]
    first = dual(f, tuple(frozenset({i}) for i in range(count)))
    value, tangents = first(*point, *[1.0] * count)
    assert value == function(*point)
    for i in range(count):
        direction = [float(k == i) for k in range(count)]
        expected = difference(function, point, direction)
        assert tangents[i] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    second = dual(first, (*[frozenset({0})] * count, *[frozenset()] * count))
    moved = [1.0] + [0.5] * (count - 1)
    _, changes = second(*point, *[1.0] * count, *moved)
    for i in range(count):
        expected = difference(lambda *x, i=i: first(*x, *[1.0] * count)[1][i], point, moved)
        assert changes[0][1][i] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_no_function_is_decided_twice():
    assert not set(PARTIALS) & FLAT
    assert not set(PARTIALS) & LINEAR
    assert not FLAT & LINEAR


@numba.njit
def normal_cdf(t):
    return 0.5 * (1 + math.erf(t / math.sqrt(2.0)))


@numba.vectorize
def option(spot, strike, years, volatility, call):
    if years <= 0:
        return max(spot - strike, 0.0)
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + 0.5 * volatility**2 * years) / spread
    d2 = d1 - spread
    price = spot * normal_cdf(d1) - strike * normal_cdf(d2)
    return price if call else price - spot + strike


SPOT, STRIKE = np.array([90.0, 100.0, 120.0]), np.array([[100.0], [95.0]])


def test_the_greeks_of_an_option():
    """Delta, and vega, in closed form; an expired option is its payoff."""
    years = np.array([0.5, 1.0, 0.0])
    delta, vega = npgrad.grad(
        lambda s, v: np.sum(option(s, STRIKE, years, v, True)), argnums=(0, 1)
    )(SPOT, np.full(3, 0.2))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 0.2 * np.sqrt(years)
        d1 = (np.log(SPOT / STRIKE) + 0.5 * 0.04 * years) / spread
    live = years > 0
    cdf = np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2.0)))
    expected = np.where(live, cdf(np.where(live, d1, 0.0)), SPOT > STRIKE)
    assert np.allclose(delta, expected.sum(0), rtol=1e-13)
    density = np.exp(-(d1[:, :2] ** 2) / 2) / np.sqrt(2 * np.pi)
    assert np.allclose(vega[:2], (SPOT[:2] * density * np.sqrt(years[:2])).sum(0), rtol=1e-13)
    assert vega[2] == 0


@numba.vectorize
def looped(x, n):
    total = 0.0
    term = x
    k = 1
    while k <= n:
        total += term / k
        term = -term * x
        k += 1
    for i in range(2):
        total = total * x if i == 1 else total + i
    return total


def test_loops_branches_and_whole_numbers():
    """x log(1 + x) by its series; the number of terms is an integer and a constant."""
    n = np.array([60, 60, 60])
    x = X / 4
    gradient = npgrad.grad(lambda x: np.sum(looped(x, n)))(x)
    assert np.allclose(gradient, np.log1p(x) + x / (1 + x), rtol=1e-13)
    hessian = npgrad.hessian(lambda x: np.sum(looped(x, n)))(x)
    assert np.allclose(hessian, np.diag((2 + x) / (1 + x) ** 2), rtol=1e-12)


@numba.vectorize(["f8(f8, f8)", "f4(f4, f4)"])
def smooth(a, b):
    return a * math.exp(-b) + np.sin(a * b)


def test_shapes_dtypes_and_modes():
    row, column = X, np.array([[0.5], [1.1]])
    npgrad.testing.check_grads(smooth, (row, column), order=1)
    half = npgrad.grad(lambda a: np.sum(smooth(a, a)))(X.astype(np.float32))
    assert half.dtype == np.float32
    assert np.allclose(half, npgrad.grad(lambda a: np.sum(smooth(a, a)))(X), rtol=1e-5)
    assert npgrad.grad(lambda a: np.sum(smooth(a, 1.0)))(np.zeros((0, 3))).shape == (0, 3)
    zero_d = npgrad.grad(lambda a: smooth(a, 2.0))(np.array(0.3))
    assert np.allclose(zero_d, math.exp(-2.0) + 2 * math.cos(0.6), rtol=1e-14)
    wide = np.linspace(0.1, 1.0, 12).reshape(3, 4)[:, ::2]
    assert np.allclose(
        npgrad.jacobian(lambda a: smooth(a, 0.5))(X),
        np.diag(math.exp(-0.5) + 0.5 * np.cos(0.5 * X)),
    )
    assert np.allclose(
        npgrad.jacfwd(lambda a: smooth(a, wide[0, 0]))(X),
        npgrad.jacrev(lambda a: smooth(a, wide[0, 0]))(X),
    )
    strided = npgrad.grad(lambda a: np.sum(smooth(a, wide)))(wide)
    assert np.allclose(strided, np.exp(-wide) + wide * np.cos(wide * wide), rtol=1e-13)
    reverse, forward = npgrad.vjp(smooth, X, X), npgrad.jvp(smooth, (X, X), (X + 1, X * X))[1]
    left = np.vdot(X, forward)
    right = sum(np.vdot(t, c) for t, c in zip((X + 1, X * X), reverse[1](X), strict=True))
    assert np.allclose(left, right, rtol=1e-14)


def test_second_order():
    """d2f of a exp(-b) + sin(a b), by hand."""
    a, b = 0.4, 0.9
    found = npgrad.hessian(lambda x: smooth(x[0], x[1]))(np.array([a, b]))
    sine, cosine, fall = math.sin(a * b), math.cos(a * b), math.exp(-b)
    mixed = -fall + cosine - a * b * sine
    expected = [[-b * b * sine, mixed], [mixed, a * fall - a * a * sine]]
    assert np.allclose(found, expected, rtol=1e-13)


def test_a_result_written_into_a_buffer():
    def f(a):
        out = np.zeros_like(a)
        smooth(a, 1.0, out=out)
        return out

    npgrad.testing.check_grads(f, (X,), order=1)


def test_values_are_those_of_the_compiled_function():
    value, _ = npgrad.vjp(smooth, X, X)
    assert np.array_equal(value, smooth(X, X))


@numba.vectorize
def turned(z, w):
    return z * w / (1 + z * z) + z.conjugate() * z.real


def test_complex_numbers():
    z = np.array([0.3 + 0.4j, -0.2 + 0.1j])
    npgrad.testing.check_grads(lambda z: turned(z, 1.5 - 0.5j), (z,), order=1)


def test_a_cotangent_of_zero_has_a_derivative():
    """<v, J' g> is linear in g: its derivative at g = 0 is J v."""
    x = npgrad.array(X)
    g = npgrad.array(np.zeros(3))
    cotangent = smooth(x, 1.0).backward(g, create_graph=True)[x]
    found = np.sum(cotangent).backward()[g]
    assert np.allclose(found, math.exp(-1.0) + np.cos(X), rtol=1e-14)


def test_a_function_of_numbers_called_with_a_recorded_number():
    gradient = npgrad.grad(lambda x: normal_cdf(x[0]) * x[1])(np.array([0.3, 2.0]))
    density = math.exp(-0.045) / math.sqrt(2 * math.pi)
    assert np.allclose(gradient, [2 * density, normal_cdf(0.3)], rtol=1e-14)


def test_a_masked_branch_does_not_poison():
    @numba.vectorize
    def root(x):
        return math.sqrt(x)

    gradient = npgrad.grad(lambda x: np.sum(np.where(x > 0, root(x), 0.0)))(np.array([0.0, 4.0]))
    assert np.array_equal(gradient, [0.0, 0.25])


def test_threads():
    results = {}

    def work(i):
        results[i] = npgrad.grad(lambda x: np.sum(smooth(x, float(i))))(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, found in results.items():
        assert np.allclose(found, math.exp(-i) + i * np.cos(X * i), rtol=1e-13)


def _swapped(x):
    a, b = x, x * x
    for _ in range(3):
        a, b = b, a
    return a + 3 * b


def _chained(x):
    s = z = x
    k = 0
    while True:
        s *= x
        k += 1
        if k > 2:
            break
        if s < 0:
            continue
        z = z + s
    return z if z > s else s * 2


def _augmented(x):
    s = x
    s **= 2
    s /= x + 1
    s -= 0.5 * x
    return -s


def _mixed(x):
    y = abs(x) - int(x)
    if y > 0.5:
        y = 1 - y
    return min(y, 0.28) ** 1.5 + (x if x > 1 else -x) * y


@pytest.mark.parametrize("f", [_swapped, _chained, _augmented, _mixed])
@pytest.mark.parametrize("x", [0.2, -0.37, 0.75, 1.4, 2.1])
def test_statements(f, x):
    _, (tangent,) = dual(f, (frozenset({0}),))(x, 1.0)
    assert tangent == pytest.approx(difference(f, [x], [1.0]), rel=1e-6, abs=1e-8)


@numba.vectorize
def saturated(v):
    return 1 / (1 + math.exp(-v * 1000))


@numba.njit
def saturated_tanh(v):
    return 1 - 2 / (np.exp(2 * v) + 1)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_saturated_function_has_slope_zero():
    """The partial derivative by the denominator is 0 there, and its tangent infinite."""
    x = np.array([-1.3, 0.0])
    f = lambda x: saturated(x).sum()
    np.testing.assert_allclose(npgrad.grad(f)(x), [0.0, 250.0])
    assert npgrad.jvp(f, (x,), (np.ones(2),))[1] == pytest.approx(250.0)
    np.testing.assert_allclose(npgrad.hessian(f)(x), np.zeros((2, 2)), atol=1e-9)
    assert npgrad.grad(saturated_tanh)(400.0) == 0.0
    assert npgrad.grad(npgrad.grad(saturated_tanh))(400.0) == 0.0
    second = -2 * math.tanh(0.4) * (1 - math.tanh(0.4) ** 2)
    assert npgrad.grad(npgrad.grad(saturated_tanh))(0.4) == pytest.approx(second)
