"""All functions of ``math`` and ``cmath`` of recorded numbers in wrapped code: right or refused."""

from __future__ import annotations

import cmath
import collections
import functools
import math
import types

import numpy as np
import pytest

import npgrad

H = 1e-6


def slope(f, x):
    """Of Python's own function, by differences."""
    ahead, behind = (f(complex(x + t) if np.iscomplexobj(x) else x + t) for t in (H, -H))
    return np.subtract(ahead, behind) / (2 * H)


# name: how it is called with one moving number, and where
REAL = {
    "acos": (lambda t: math.acos(t), 0.3),
    "acosh": (lambda t: math.acosh(t), 1.7),
    "asin": (lambda t: math.asin(t), 0.3),
    "asinh": (lambda t: math.asinh(t), 0.3),
    "atan": (lambda t: math.atan(t), 0.3),
    "atan2": (lambda t: math.atan2(t, 2 * t * t), 0.3),
    "atanh": (lambda t: math.atanh(t), 0.3),
    "cbrt": (lambda t: math.cbrt(t), -0.3),
    "copysign": (lambda t: math.copysign(t, -1.0), 0.3),
    "cos": (lambda t: math.cos(t), 0.3),
    "cosh": (lambda t: math.cosh(t), 0.3),
    "degrees": (lambda t: math.degrees(t), 0.3),
    "dist": (lambda t: math.dist([t, 1.0], [2.0, t * t]), 0.3),
    "erf": (lambda t: math.erf(t), 0.3),
    "erfc": (lambda t: math.erfc(t), 0.3),
    "exp": (lambda t: math.exp(t), 0.3),
    "exp2": (lambda t: math.exp2(t), 0.3),
    "expm1": (lambda t: math.expm1(t), 0.3),
    "fabs": (lambda t: math.fabs(t), -0.3),
    "fma": (lambda t: math.fma(t, t * t, 3 * t), 0.3),
    "fmod": (lambda t: math.fmod(7.3 * t, t + 0.9), 1.3),
    "frexp": (lambda t: math.frexp(t)[0], 5.3),
    "fsum": (lambda t: math.fsum([t, 2 * t, 1.0]), 0.3),
    "gamma": (lambda t: math.gamma(t), 2.3),
    "hypot": (lambda t: math.hypot(t, 2 * t * t, 1.0), 0.3),
    "ldexp": (lambda t: math.ldexp(t, 3), 0.3),
    "lgamma": (lambda t: math.lgamma(t), 2.3),
    "log": (lambda t: math.log(t, 3 * t * t), 2.3),
    "log10": (lambda t: math.log10(t), 2.3),
    "log1p": (lambda t: math.log1p(t), 2.3),
    "log2": (lambda t: math.log2(t), 2.3),
    "modf": (lambda t: math.modf(-t)[0] + 3 * math.modf(t)[1], 2.3),
    "nextafter": (lambda t: math.nextafter(3 * t, 100.0), 2.3),
    "pow": (lambda t: math.pow(t, 2 * t), 2.3),
    "prod": (lambda t: math.prod([t, t, 2.0]), 0.3),
    "prod from a start": (lambda t: math.prod([t, t], start=5.0), 0.3),
    "prod from a recorded start": (lambda t: math.prod([2.0, t], start=t), 0.3),
    "radians": (lambda t: math.radians(t), 0.3),
    "remainder": (lambda t: math.remainder(7.3 * t, t + 0.9), 1.3),
    "sin": (lambda t: math.sin(t), 0.3),
    "sinh": (lambda t: math.sinh(t), 0.3),
    "sqrt": (lambda t: math.sqrt(t), 0.3),
    "sumprod": (lambda t: math.sumprod([t, 2.0], [t, t * t]), 0.3),
    "tan": (lambda t: math.tan(t), 0.3),
    "tanh": (lambda t: math.tanh(t), 0.3),
    "ulp": (lambda t: math.ulp(t) + t, 0.3),
}


OF_COMPLEX = (
    """acos acosh asin asinh atan atanh cos cosh exp log log10 phase sin sinh sqrt tan tanh"""
)


def _called(name, t):
    return getattr(cmath, name)(complex(t, 2 * t))


COMPLEX = {name: (functools.partial(_called, name), 0.3) for name in OF_COMPLEX.split()}
COMPLEX |= {
    "log to a base": (lambda t: cmath.log(complex(t, 1), complex(2, t)), 0.3),
    "polar": (lambda t: complex(*cmath.polar(complex(1, t))), 0.3),
    "rect": (lambda t: cmath.rect(t, 2 * t), 0.3),
}
WHOLE = {"ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "trunc"}
ANSWERS = {"isclose", "isfinite", "isinf", "isnan"}


@pytest.mark.parametrize("name", REAL)
def test_math(name):
    if not hasattr(math, name.split()[0]):
        pytest.skip("not in this Python")
    f, x = REAL[name]
    value, got = npgrad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=4e-16)
    assert got == pytest.approx(slope(f, x), rel=1e-7)
    forward = npgrad.jvp(f, (x,), (1.0,))[1]
    assert forward == pytest.approx(slope(f, x), rel=1e-7)


@pytest.mark.parametrize("name", COMPLEX)
def test_cmath(name):
    f, x = COMPLEX[name]
    for part in (np.real, np.imag):
        g = lambda t, part=part: part(f(t))
        value, got = npgrad.value_and_grad(g)(x)
        assert value == pytest.approx(g(x), rel=1e-15, abs=1e-16)
        assert got == pytest.approx(slope(g, x), rel=1e-7, abs=1e-9)


def test_every_function_is_here():
    for module, here in ((math, {*REAL, *WHOLE, *ANSWERS}), (cmath, {*COMPLEX, *ANSWERS})):
        names = {n for n in vars(module) if callable(getattr(module, n)) and n[0] != "_"}
        assert names <= here, names - here


@pytest.mark.parametrize("name", ["ceil", "floor", "trunc"])
def test_whole_numbers(name):
    seen = []

    def f(t):
        seen.append(getattr(math, name)(t))
        return t * seen[-1]

    assert npgrad.grad(f)(2.7) == seen[0] == getattr(math, name)(2.7)
    assert type(seen[0]) is int


@pytest.mark.parametrize("name", sorted(WHOLE - {"ceil", "floor", "trunc"}))
def test_functions_of_integers_take_no_float(name):
    arguments = 1 if name in ("factorial", "isqrt") else 2
    f = lambda t: t * getattr(math, name)(*[t] * arguments)
    with pytest.raises(TypeError, match="integer"):
        npgrad.grad(f)(3.0)


def test_more_than_numbers():
    """An array in place of a sequence, and whole numbers beside recorded ones."""
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(npgrad.grad(lambda x: math.fsum(x))(x), [1, 1])
    np.testing.assert_allclose(npgrad.grad(lambda x: math.prod(x))(x), x[::-1])
    np.testing.assert_allclose(npgrad.grad(lambda x: x[0] * math.gcd(int(x[1] * 6), 8))(x), [4, 0])
    mantissa, exponent = math.frexp(5.3)
    parts = []
    npgrad.grad(lambda t: parts.extend(math.frexp(t)) or parts[0])(5.3)
    assert type(parts[1]) is int and parts[1] == exponent and npgrad.value(parts[0]) == mantissa


def test_a_function_that_has_no_stand_in_is_named(monkeypatch):
    """As one will be that a later Python brings."""
    from npgrad.wrapping import mathematics

    function = mathematics._naming("math.newest", math.sinh)
    with pytest.raises(npgrad.errors.GradientLost, match=r"math\.newest takes plain numbers"):
        npgrad.grad(lambda t: function(t), wrap=False)(1.0)
    assert function(1.0) == math.sinh(1.0)


@pytest.mark.parametrize(
    "container",
    [
        lambda x: dict(enumerate(x)).values(),
        collections.deque,
        collections.UserList,
        lambda x: types.MappingProxyType(dict(enumerate(x))).values(),
        iter,
    ],
)
def test_sums_and_products_of_any_iterable(container):
    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_allclose(npgrad.grad(lambda x: math.fsum(container(x)))(x), [1, 1, 1])
    np.testing.assert_allclose(npgrad.grad(lambda x: math.prod(container(x)))(x), [15, 10, 6])


@pytest.mark.filterwarnings("ignore:overflow")  # where a gradient of float32 takes it
@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda x: math.log(math.exp(-2 * x[0])), np.array([100.0], "f4"), [-2.0]),
        (lambda x: sum(x.tolist()) - 2.0**24, np.array([2.0**24, 1, 1], "f4"), [1.0, 1.0, 1.0]),
        (lambda x: 1 - math.cos(x[0]), np.array([1e-4], "f4"), [1e-4]),
        (lambda x: math.hypot(x[0], x[0]), np.array([60000.0], "f2"), [math.sqrt(2.0)]),
        (lambda x: math.fsum(x), np.array([2.0**24, 1, 1], "f4"), [1.0, 1.0, 1.0]),
        (lambda x: math.gamma(x[0]) / math.gamma(x[0] - 1), np.array([40.0], "f4"), [1.0]),
        (lambda x: x.item() * 1e30 * 1e30 * 1e-60, np.array([2.0], "f4"), [1.0]),
        (lambda x: math.prod(x), np.array([2.0, 3.0], "f4"), [3.0, 2.0]),
    ],
)
def test_numbers_of_fewer_digits_are_pythons_numbers(f, x, slope):
    """Python computes with doubles; only the gradient has the digits of its array."""
    value, gradient = npgrad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3 if x.dtype == np.float16 else 1e-6)
    assert gradient.dtype == x.dtype
