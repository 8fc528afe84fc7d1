"""``quad`` of integrands that jump or have a kink, at places that move and that do not."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import npgrad
from npgrad.errors import NoDerivative
from npgrad.scipy.integrate import quad


def stepped(c):
    return lambda x: x * c if x > c else 0.0 * c


JUMPS = {
    "inside": lambda c: quad(stepped(c), 0, 1),
    "loosely": lambda c: quad(stepped(c), 0, 1, epsabs=0.1),
    "at an end of an interval": lambda c: quad(stepped(c + 0.2), 0, 1),
    "as an argument": lambda c: quad(lambda x, c: x * c if x > c else 0.0 * c, 0, 1, args=(c,)),
    "to infinity": lambda c: quad(lambda x: np.exp(-x) * stepped(c)(x), 0, np.inf),
    "from infinity": lambda c: quad(lambda x: np.exp(-x * x) * stepped(c)(x), -np.inf, np.inf),
    "reversed": lambda c: quad(stepped(c), 1, 0),
    "fixed, not named": lambda c: quad(lambda x: np.where(x > 0.3, c, 2 * c), 0, 1),
    "another named": lambda c: quad(stepped(c), 0, 1, points=[0.5]),
}


@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_is_refused(name):
    with pytest.raises(NoDerivative, match=r"the integrand jumps.*points=\[\.\.\.\]"):
        npgrad.grad(lambda c: JUMPS[name](c)[0])(0.3)


def test_a_jump_at_a_named_place():
    moving = lambda c: quad(stepped(c), 0, 1, points=[c])[0]  # c (1 - c^2) / 2
    assert moving(0.3) == pytest.approx(0.3 * 0.91 / 2)
    assert npgrad.grad(moving)(0.3) == pytest.approx(0.5 - 1.5 * 0.09, rel=1e-12)
    assert npgrad.grad(npgrad.grad(moving))(0.3) == pytest.approx(-0.9, rel=1e-11)
    assert npgrad.jvp(moving, (0.3,), (2.0,))[1] == pytest.approx(1 - 3 * 0.09, rel=1e-12)
    reversed_ = lambda c: quad(stepped(c), 1, 0, points=(0.9, c, 2.0))[0]
    assert npgrad.grad(reversed_)(0.3) == pytest.approx(1.5 * 0.09 - 0.5, rel=1e-12)
    fixed = lambda c: quad(lambda x: np.where(x > 0.3, c * x, c * c), 0, 1, points=[0.3])[0]
    assert npgrad.grad(fixed)(0.5) == pytest.approx(0.91 / 2 + 0.3, rel=1e-12)
    with pytest.raises(NoDerivative, match="full_output and recorded points"):
        npgrad.grad(lambda c: quad(stepped(c), 0, 1, full_output=1, points=[c])[0])(0.3)


KINKS = {
    "abs": (lambda c: quad(lambda x: np.abs(x - c), 0, 1), lambda c: 2 * c - 1),
    "relu": (lambda c: quad(lambda x: np.maximum(x - c, 0), 0, 1), lambda c: c - 1),
    "if": (lambda c: quad(lambda x: x - c if x > c else 0.0, 0, 1), lambda c: c - 1),
    "two": (
        lambda c: quad(lambda x: np.maximum(np.abs(x - 0.5), c), 0, 1),
        lambda c: 2 * c,
    ),
    "far": (
        lambda c: quad(lambda x: np.exp(-x) * np.maximum(x - c, 0), 0, np.inf),
        lambda c: -np.exp(-c),
    ),
}


@pytest.mark.parametrize("c", [0.3, 0.25, 0.123456])
@pytest.mark.parametrize("name", KINKS)
def test_a_kink_that_moves(name, c):
    """QUADPACK is content with the integral where the sum of the slopes is off by 1e-5."""
    integral, slope = KINKS[name]
    assert npgrad.grad(lambda c: integral(c)[0])(c) == pytest.approx(slope(c), rel=1e-8)


def test_smooth_but_steep_is_no_jump():
    steep = lambda c: quad(lambda x: np.tanh((x - c) * 1e4), 0, 1, limit=200)[0]
    assert npgrad.grad(steep)(0.3) == pytest.approx(-2, rel=1e-9)
    narrow = lambda c: quad(lambda x: c / (1 + ((x - 0.37) / 1e-4) ** 2), 0, 1)[0]
    want = 1e-4 * (np.arctan(6300) + np.arctan(3700))
    assert npgrad.grad(narrow)(2.0) == pytest.approx(want, rel=1e-7)
    assert npgrad.grad(lambda c: quad(lambda x: c * np.sqrt(x), 0, 1)[0])(1.0) == pytest.approx(
        2 / 3, rel=1e-6
    )
    assert npgrad.grad(lambda c: quad(lambda x: c * x, 1, 1)[0])(1.0) == 0


def test_between_equal_limits():
    """0, but d/dp of the integral of f from a(p) to b(p) is b' f(b) - a' f(a)."""
    inside = lambda p: quad(lambda t: np.exp(t * p), p, 1.0 * p)[0]
    assert inside(0.5) == 0 and npgrad.grad(inside)(0.5) == 0
    upper = lambda p: quad(lambda t: np.exp(2 * t), 1.0, p)[0]
    assert npgrad.grad(upper)(1.0) == pytest.approx(np.exp(2), rel=1e-13)
    assert npgrad.grad(npgrad.grad(upper))(1.0) == pytest.approx(2 * np.exp(2), rel=1e-13)
    third = npgrad.jvp(npgrad.grad(npgrad.grad(upper)), (1.0,), (1.0,))[1]
    assert third == pytest.approx(4 * np.exp(2), rel=1e-12)


def test_the_parameters_of_a_weight_function_are_refused():
    for words in ({"weight": "sin"}, {"weight": "cauchy"}):
        with pytest.raises(NoDerivative, match="the parameters of a weight function"):
            npgrad.grad(lambda c, w=words: quad(lambda x: x, 0, 3, wvar=c, **w)[0])(2.0)
    tight = lambda c: quad(lambda x: c * x, 0, 1, epsabs=1e-9 * c)[0]  # how exact is no value
    assert npgrad.grad(tight)(2.0) == pytest.approx(0.5, rel=1e-14)


# the integral, its place of a kink, and the first three derivatives by c
TURNS = {
    "abs": (lambda c: quad(lambda x: np.abs(x - c), 0, 1), lambda c: (2 * c - 1, 2, 0)),
    "reversed": (lambda c: quad(lambda x: np.abs(x - c), 1, 0), lambda c: (1 - 2 * c, -2, 0)),
    "relu": (lambda c: quad(lambda x: np.maximum(x - c, 0), 0, 1), lambda c: (c - 1, 1, 0)),
    # the kink at sqrt(c): 1/3 - c + (4/3) c^(3/2)
    "curved": (
        lambda c: quad(lambda x: np.abs(x * x - c), 0, 1),
        lambda c: (2 * c**0.5 - 1, c**-0.5, -0.5 * c**-1.5),
    ),
    "two": (
        lambda c: quad(lambda x: np.maximum(np.abs(x - 0.5), c), 0, 1),
        lambda c: (2 * c, 2, 0),
    ),
    "a fixed one, by the limit": (
        lambda c: quad(lambda x: np.abs(x - 0.6), c, 1),
        lambda c: (c - 0.6, 1, 0),
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_further_derivatives_over_a_kink(name):
    integral, slopes = TURNS[name]
    f = lambda c: integral(c)[0]
    first, second, third = slopes(0.3)
    d = npgrad.grad(f)
    assert d(0.3) == pytest.approx(first, rel=1e-7)
    forward = lambda c: npgrad.jvp(f, (c,), (1.0,))[1]
    for got in (
        npgrad.grad(d)(0.3),
        npgrad.jvp(d, (0.3,), (1.0,))[1],
        npgrad.grad(forward)(0.3),
        npgrad.jvp(forward, (0.3,), (1.0,))[1],
    ):
        assert got == pytest.approx(second, rel=1e-6)
    assert npgrad.grad(npgrad.grad(d))(0.3) == pytest.approx(third, rel=1e-4, abs=1e-6)
    fourth = npgrad.grad(npgrad.grad(npgrad.grad(d)))
    if name == "a fixed one, by the limit":
        assert fourth(0.3) == pytest.approx(0, abs=1e-6)
        return
    with pytest.raises(NoDerivative, match="a kink is differentiated at most 3 times"):
        fourth(0.3)


def test_where_a_kink_is_not_followed_further_derivatives_are_refused():
    smooth = lambda c: quad(lambda x: np.maximum(x - c, 0) ** 2, 0, 1)[0]  # (1 - c)^3 / 3
    second = npgrad.grad(npgrad.grad(smooth))
    assert second(0.3) == pytest.approx(1.4, rel=1e-6)
    far = lambda c: quad(lambda x: np.exp(-x) * np.maximum(x - c, 0), 0, np.inf)[0]
    for derivative, times in ((npgrad.grad(second), 2), (npgrad.grad(npgrad.grad(far)), 1)):
        with pytest.raises(NoDerivative, match=f"at most {times} times"):
            derivative(0.3)


def test_an_infinite_slope():
    f = lambda c, **words: quad(lambda x: np.sqrt(np.abs(x - c)), 0, 1, **words)[0]
    with pytest.raises(NoDerivative, match=r"slope of the integrand is infinite at 0\.3"):
        npgrad.grad(f)(0.3)
    named = npgrad.grad(lambda c: f(c, points=[c]))(0.3)
    assert named == pytest.approx(0.3**0.5 - 0.7**0.5, rel=1e-6)
    for sign, end in ((1, 0), (-1, 1)):  # at an end of the range, where the slope by c is singular
        root = lambda c, s=sign, e=end: quad(lambda x: np.sqrt(s * (x - e) + c), 0, 1)[0]
        assert npgrad.grad(root)(0.0) == pytest.approx(1, rel=1e-8)
    plain = lambda c: quad(lambda x: c * np.sqrt(x), 0, 1)[0]
    assert npgrad.grad(plain)(2.0) == pytest.approx(2 / 3, rel=1e-8)


class Step:
    def __init__(self, c):
        self.c = c

    def at(self, x):
        return 1.0 if x > self.c else 0.0

    def __call__(self, x):
        return self.at(x)


def compared(x, c):
    return np.where(x > c, 1.0, 0.0)


def twice(inner):
    return lambda x: 2 * inner(x)


HIDDEN = {
    "closure": lambda c: lambda x: 1.0 if x > c else 0.0,
    "where": lambda c: lambda x: np.where(x > c, 1.0, 0.0),
    "default": lambda c: lambda x, d=c: compared(x, d),
    "method": lambda c: Step(c).at,
    "object": lambda c: Step(c),
    "partial": lambda c: functools.partial(compared, c=c),
    "called": lambda c: twice(lambda x: compared(x, c)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_recorded_value_that_is_compared_alone(name):
    """The integrand is plain, and its integral 1 - c: its gradient would be lost."""
    make = HIDDEN[name]
    with pytest.raises(NoDerivative, match=r"the integrand jumps at 0\.3"):
        npgrad.grad(lambda c: quad(make(c), 0, 1)[0])(0.3)
    scale = 2 if name == "called" else 1
    named = npgrad.grad(lambda c: quad(make(c), 0, 1, points=[c])[0])(0.3)
    assert named == pytest.approx(-scale, rel=1e-12)


def test_a_plain_integrand_beside_recorded_values():
    f = lambda c: c * quad(lambda x: x * x, 0, 1)[0]
    assert npgrad.grad(f)(0.3) == pytest.approx(1 / 3)
    g = lambda c: c + quad(lambda x: (x * x, c)[0], 0, 1)[0]  # it could use it, and does not jump
    assert npgrad.grad(g)(0.3) == 1


HALVED = [0.5, 0.25, 0.75, 0.125, 0.0625, 0.3]  # but for the last, where halving an interval ends


@pytest.mark.parametrize("p", HALVED)
def test_a_kink_where_intervals_are_halved(p: float) -> None:
    """An exact half on either side shows nothing of the kink between them."""
    second = npgrad.grad(npgrad.grad(lambda p: quad(lambda t: np.abs(t - p), 0, 1)[0]))
    np.testing.assert_allclose(second(p), 2.0, rtol=1e-9)  # of (p^2 + (1 - p)^2) / 2
    with pytest.raises(NoDerivative, match="infinite"):
        npgrad.grad(lambda p: quad(lambda t: np.sqrt(np.maximum(t - p, 0)), 0, 1)[0])(p)
    ramp = lambda p: quad(lambda t: np.maximum(t - p, 0) ** 2, 0, 1)[0]  # (1 - p)^3 / 3
    np.testing.assert_allclose(npgrad.grad(npgrad.grad(ramp))(p), 2 * (1 - p), rtol=1e-9)
    with pytest.raises(NoDerivative, match="kink"):  # not 0: it is -2
        npgrad.grad(npgrad.grad(npgrad.grad(ramp)))(p)


def test_kinks_at_halves_of_other_ranges() -> None:
    clipped = lambda v: quad(lambda t: np.clip(t, v[0], v[1]), 0, 1)[0]
    # v0^2 + (v1^2 - v0^2) / 2 + v1 (1 - v1)
    found = npgrad.hessian(clipped)(np.array([0.25, 0.5]))
    np.testing.assert_allclose(found, np.diag([1.0, -1.0]), atol=1e-9)
    around = lambda p: quad(lambda t: np.abs(t - p), -1, 1)[0]
    np.testing.assert_allclose(npgrad.grad(npgrad.grad(around))(0.0), 2.0, rtol=1e-9)
    endless = lambda p: quad(lambda t: np.abs(t - p) * np.exp(-t), 0, np.inf)[0]
    np.testing.assert_allclose(npgrad.grad(endless)(1.0), 1 - 2 / np.e, rtol=1e-8)
    with pytest.raises(NoDerivative, match="kink"):
        npgrad.grad(npgrad.grad(endless))(1.0)


def test_smooth_integrands_have_no_kink() -> None:
    """Steep, periodic and over an endless range: three derivatives each."""
    third = lambda f: npgrad.grad(npgrad.grad(npgrad.grad(f)))
    bell = lambda p: quad(lambda t: np.exp(-p * t * t), -np.inf, np.inf)[0]  # sqrt(pi / p)
    np.testing.assert_allclose(third(bell)(1.0), -15 / 8 * np.sqrt(np.pi), rtol=1e-7)
    wave = lambda p: quad(lambda t: np.cos(p * t), 0, 1)[0]  # sin(p) / p
    s, c, p = np.sin(50.0), np.cos(50.0), 50.0
    exact = -c / p + 3 * s / p**2 + 6 * c / p**3 - 6 * s / p**4
    np.testing.assert_allclose(third(wave)(50.0), exact, rtol=1e-6)
