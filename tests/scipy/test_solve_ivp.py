"""``npgrad.scipy.integrate.solve_ivp`` against closed forms and SciPy: methods, times, events."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.integrate as theirs

import npgrad
from npgrad.scipy.integrate import solve_ivp

METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
CLOSE = {"rtol": 1e-8, "atol": 1e-10}
NEAR = {"RK23": 1e-6, "RK45": 1e-6, "DOP853": 1e-6, "Radau": 1e-6, "BDF": 1e-5, "LSODA": 1e-5}
TIMES = np.array([0.0, 0.3, 0.35, 1.0, 2.0])


def swing(t, y, w):
    """Solved by cos(w t) and its like."""
    return np.stack([y[1], -w * w * y[0]])


def cosine(t, y0, w):
    """The states at times t."""
    c, s = np.cos(w * t), np.sin(w * t)
    return np.stack([y0[0] * c + y0[1] / w * s, -w * y0[0] * s + y0[1] * c])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_eval", [None, TIMES], ids=["steps", "t_eval"])
def test_by_state_and_parameter(method, t_eval):
    words = {"method": method, "t_eval": t_eval, **CLOSE}
    f = lambda y0, w: solve_ivp(swing, (0.0, 2.0), y0, args=(w,), **words).y
    point = (np.array([1.0, 0.2]), np.float64(1.5))
    value, pull = npgrad.vjp(f, *point)
    plain = theirs.solve_ivp(swing, (0.0, 2.0), point[0], args=(1.5,), **words)
    np.testing.assert_allclose(value, plain.y, rtol=1e-6, atol=1e-6)
    want = lambda y0, w: cosine(plain.t, y0, w)
    weight = np.cos(np.arange(plain.y.size)).reshape(plain.y.shape)
    right = npgrad.vjp(want, *point)[1](weight)
    size = np.sqrt(weight.size)
    for got, one in zip(pull(weight), right, strict=True):
        np.testing.assert_allclose(got, one, rtol=NEAR[method], atol=NEAR[method] * size)
    moves = (np.array([0.3, -0.7]), 0.4)
    np.testing.assert_allclose(
        npgrad.jvp(f, point, moves)[1], npgrad.jvp(want, point, moves)[1], atol=2 * NEAR[method]
    )


@pytest.mark.parametrize("method", METHODS)
def test_second_and_third_order(method):
    f = lambda k: solve_ivp(lambda t, y: -k * y * y, (0.0, 1.0), [2.0], method=method, **CLOSE).y[
        0, -1
    ]  # 2 / (1 + 2 k)
    first, second, third = -4 / 2.0**2, 16 / 2.0**3, -96 / 2.0**4
    d = npgrad.grad(f)
    assert d(0.5) == pytest.approx(first, rel=1e-5)
    assert npgrad.grad(d)(0.5) == pytest.approx(second, rel=1e-4)
    assert npgrad.jvp(d, (0.5,), (1.0,))[1] == pytest.approx(second, rel=1e-4)
    forward = lambda k: npgrad.jvp(f, (k,), (1.0,))[1]
    assert npgrad.jvp(forward, (0.5,), (1.0,))[1] == pytest.approx(second, rel=1e-4)
    assert npgrad.grad(npgrad.grad(d))(0.5) == pytest.approx(third, rel=1e-3)
    fourth = npgrad.grad(npgrad.grad(npgrad.grad(d)))
    if method in ("Radau", "BDF", "LSODA"):
        with pytest.raises(npgrad.errors.NoDerivative, match="at most 3 times"):
            fourth(0.5)
    elif method != "RK23":  # many steps
        assert fourth(0.5) == pytest.approx(768 / 2.0**5, rel=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_the_closure_backwards_in_time(method):
    f = lambda k: solve_ivp(lambda t, y: -k * y, (1.0, 0.0), [1.0], method, [0.8, 0.3], **CLOSE).y[
        0
    ]
    slopes = npgrad.jacobian(f)(0.5)
    past = 1 - np.array([0.8, 0.3])
    np.testing.assert_allclose(slopes, past * np.exp(0.5 * past), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_by_all_times(method):
    """exp(-k (t - t0)) for t0 = a, by the ends of the span and by the times asked for."""
    decay = lambda t, y: -0.7 * y
    last = lambda a, b: solve_ivp(decay, (a, b), [2.0], method, **CLOSE)
    got = npgrad.grad(lambda a, b: last(a, b).y[0, -1], (0, 1))(0.5, 2.0)
    end = 2 * np.exp(-1.05)
    np.testing.assert_allclose(got, [0.7 * end, -0.7 * end], rtol=1e-5)
    assert npgrad.grad(lambda b: last(0.5, b).t[-1])(2.0) == 1
    assert npgrad.grad(lambda a: np.sum(last(a, 2.0).t[:1]))(0.5) == 1
    times = np.array([0.6, 1.4, 2.0])
    f = lambda t, a: solve_ivp(decay, (a, 2.0), [2.0], method, t, **CLOSE).y[0]
    by_t, by_a = npgrad.jacobian(f, (0, 1))(times, 0.5)
    values = 2 * np.exp(-0.7 * (times - 0.5))
    np.testing.assert_allclose(by_t, np.diag(-0.7 * values), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_a, 0.7 * values, rtol=1e-4)
    empty = lambda b: solve_ivp(decay, (0.5, b), [2.0], method).y[0, -1]
    assert npgrad.grad(empty)(0.5) == pytest.approx(-1.4, rel=1e-9)  # the span has no length


@pytest.mark.parametrize("method", METHODS)
def test_dense_output(method):
    words = {"method": method, "dense_output": True, **CLOSE}
    f = lambda y0, w, t: solve_ivp(swing, (0.0, 2.0), y0, args=(w,), **words).sol(t)
    times = np.array([1.7, 0.3, 0.3, 2.0, 0.0])
    point = (np.array([1.0, 0.0]), 1.5, times)
    value, pull = npgrad.vjp(f, *point)
    plain = theirs.solve_ivp(swing, (0.0, 2.0), point[0], args=(1.5,), **words).sol
    np.testing.assert_allclose(value, plain(times), rtol=1e-6, atol=1e-6)
    weight = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [0.5, 0.0, 1.0, -1.0, 2.0]])
    right = npgrad.vjp(lambda y0, w, t: cosine(t, y0, w), *point)[1](weight)
    for got, want in zip(pull(weight), right, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    one = npgrad.vjp(lambda w: f(point[0], w, 1.7), 1.5)[0]
    assert one.shape == (2,)
    solution = npgrad.vjp(lambda w: solve_ivp(swing, (0.0, 2.0), point[0], args=(w,), **words).sol(
        np.zeros(0)), 1.5)[0]  # fmt: skip
    assert solution.shape == (2, 0)


def fall(t, y, g=9.81):
    return np.stack([y[1], -g + 0 * y[1]])


def hits(terminal, direction=0.0, height=0.0):
    def event(t, y, *args):
        return y[0] - height

    event.terminal, event.direction = terminal, direction
    return event


@pytest.mark.parametrize("method", METHODS)
def test_the_time_of_a_terminal_event(method):
    """A ball thrown up with v lands after 2 v / g, with -v: exact, the paths being parabolas."""

    def thrown(v, g):
        return solve_ivp(
            fall, (0.0, 9.0), np.stack([0.0 * v, v]), method, events=hits(True, -1), args=(g,)
        )

    time = lambda v, g: thrown(v, g).t[-1]
    assert npgrad.vjp(time, 3.0, 9.81)[0] == pytest.approx(6 / 9.81, rel=1e-10)
    assert npgrad.grad(time, (0, 1))(3.0, 9.81) == pytest.approx((2 / 9.81, -6 / 9.81**2), rel=1e-8)
    assert npgrad.jvp(time, (3.0, 9.81), (1.0, 0.0))[1] == pytest.approx(2 / 9.81, rel=1e-8)
    second = npgrad.grad(npgrad.grad(time, 1), 1)(3.0, 9.81)
    assert second == pytest.approx(12 / 9.81**3, rel=1e-7)
    speed = lambda v: thrown(v, 9.81).y[1, -1]
    assert npgrad.grad(speed)(3.0) == pytest.approx(-1, rel=1e-8)
    found = lambda v: thrown(v, 9.81).t_events[0][0] * 9.81 + thrown(v, 9.81).y_events[0][0, 1]
    assert npgrad.grad(found)(3.0) == pytest.approx(1, rel=1e-7)
    plain = theirs.solve_ivp(fall, (0.0, 9.0), [0.0, 3.0], method, events=hits(True, -1))
    result = npgrad.value(npgrad.vjp(lambda v: thrown(v, 9.81).t, 3.0)[0])
    assert len(result) == len(plain.t)


@pytest.mark.parametrize(
    ("method", "direction"), [*((m, 0.0) for m in METHODS), ("RK45", 1.0), ("RK45", -1.0)]
)
def test_events_that_do_not_end_it(method, direction):
    """cos(w t) meets 1/2 at acos(1/2) / w and where it comes back."""
    words = {"method": method, "events": [hits(False, direction, 0.5), hits(2, 1.0)]}
    words |= {"rtol": 1e-6, "atol": 1e-8}
    run = lambda w: solve_ivp(swing, (0.0, 9.0), [1.0, 0.0], args=(w,), **words)
    plain = theirs.solve_ivp(swing, (0.0, 9.0), [1.0, 0.0], args=(1.5,), **words)

    def times(w):
        found = run(w)
        return np.concatenate((found.t_events[0], found.t[-1:]))  # a second time up through 0

    value, slopes = npgrad.jvp(times, (1.5,), (1.0,))
    want = np.array([*plain.t_events[0], plain.t[-1]])
    np.testing.assert_allclose(value, want, rtol=1e-5)
    assert len(value) == 1 + {-1: 2, 0: 3, 1: 1}[int(direction)]
    np.testing.assert_allclose(slopes, -want / 1.5, rtol=1e-4)  # of phi / w
    weight = np.arange(1.0, len(value) + 1)
    back = npgrad.grad(lambda w: np.sum(weight * times(w)))(1.5)
    assert back == pytest.approx(np.sum(weight * slopes), rel=1e-8)


def test_no_event_and_a_touching_one():
    run = lambda w, e: solve_ivp(swing, (0.0, 2.0), [1.0, 0.0], args=(w,), events=e)
    result = npgrad.vjp(lambda w: run(w, hits(True, 0, 7.0)).y, 1.5)[0]
    plain = theirs.solve_ivp(swing, (0.0, 2.0), [1.0, 0.0], args=(1.5,), events=hits(True, 0, 7.0))
    np.testing.assert_allclose(result, plain.y, rtol=1e-12, atol=1e-15)
    touching = lambda t, y, *args: np.maximum(t - 0.5, 0)
    with pytest.raises(npgrad.errors.NoDerivative, match="without crossing"):
        npgrad.grad(lambda w: np.sum(run(w, touching).t_events[0]))(1.5)
    moving = lambda c: solve_ivp(
        lambda t, y: -y, (0.0, 2.0), [1.0], events=lambda t, y: t - c
    ).t_events[0][0]  # recorded in the event alone
    assert npgrad.grad(moving)(0.5) == pytest.approx(1, rel=1e-12)


def test_t_eval_ends_with_a_terminal_event():
    times = np.linspace(0.0, 9.0, 91)
    f = lambda v: solve_ivp(
        fall, (0.0, 9.0), np.stack([0.0 * v, v]), t_eval=times, events=hits(True, -1)
    ).y[0]
    value, pull = npgrad.vjp(f, 3.0)
    np.testing.assert_allclose(value, 3 * times[:7] - 9.81 / 2 * times[:7] ** 2, atol=1e-12)
    assert pull(np.ones(7))[0] == pytest.approx(np.sum(times[:7]))


def stiff(t, y, k1, k2, k3):
    """Robertson's reaction; its rates differ by nine powers of ten."""
    return np.stack(
        [
            -k1 * y[0] + k3 * y[1] * y[2],
            k1 * y[0] - k2 * y[1] ** 2 - k3 * y[1] * y[2],
            k2 * y[1] ** 2,
        ]
    )


@functools.cache
def stiff_slopes(rates):
    """By differences of SciPy's solution at the tolerance 1e-11."""
    want = []
    for i in range(3):
        sides = []
        for sign in (1, -1):
            k = np.array(rates)
            k[i] *= 1 + sign * 1e-3
            words = {"args": tuple(k), "rtol": 1e-11, "atol": 1e-15}
            found = theirs.solve_ivp(stiff, (0.0, 10.0), [1.0, 0.0, 0.0], "Radau", **words)
            sides.append(found.y[:, -1])
        want.append((sides[0] - sides[1]) / (2e-3 * rates[i]))
    return np.transpose(want)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_equation(method):
    rates = np.array([0.04, 3e7, 1e4])
    end = lambda k, **words: solve_ivp(
        stiff, (0.0, 10.0), [1.0, 0.0, 0.0], method, args=tuple(k), **words
    ).y[:, -1]
    got = npgrad.jacobian(lambda k: end(k, rtol=1e-6, atol=1e-10))(rates)
    np.testing.assert_allclose(got, stiff_slopes(tuple(rates)), rtol=1e-4)


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_other_words_are_scipys(method):
    y0, w = np.array([1.0, 0.2]), 1.5
    several = lambda t, y, w: np.stack([y[1], -w * w * y[0]])  # of columns too
    words = {"method": method, "rtol": 1e-5, "atol": np.array([1e-7, 1e-8]), "max_step": 0.1}
    options = [{**words, "vectorized": True}, {**words, "first_step": 0.01}]
    if method == "Radau":
        jac = lambda t, y, w: np.stack([np.array([0.0, 1.0]), np.stack([-w * w, 0.0 * w])])
        options += [{**words, "jac": jac}, {**words, "jac": np.array([[0.0, 1.0], [-2.25, 0.0]])}]
    for option in options:
        f = lambda w, o=option: solve_ivp(several, (0.0, 2.0), y0, args=(w,), **o).y
        plain = theirs.solve_ivp(several, (0.0, 2.0), y0, args=(w,), **option)
        value, tangent = npgrad.jvp(f, (w,), (1.0,))
        assert value.shape == plain.y.shape and len(plain.t) > 20  # max_step
        np.testing.assert_allclose(value, plain.y, atol=1e-4)
        right = npgrad.jvp(lambda w, t=plain.t: cosine(t, y0, w), (w,), (1.0,))[1]
        np.testing.assert_allclose(tangent, right, atol=2e-3)


def test_a_recorded_jacobian_of_the_users_serves_scipy():
    def f(k):
        jac = lambda t, y: -k * np.eye(1)
        return solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], "BDF", jac=jac, **CLOSE).y[0, -1]

    assert npgrad.grad(f)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-5)


def test_lists_and_numbers_from_the_function():
    f = lambda k: solve_ivp(lambda t, y: [y[1], -k * y[0]], (0, 1), [1, 0], "Radau").y[0, -1]
    g = lambda k: solve_ivp(lambda t, y: -k, (0, 1), [1.0], "LSODA").y[0, -1]
    want = -0.5 * np.sin(1.0)  # of cos(sqrt(k)) at k = 1
    assert npgrad.grad(f)(1.0) == pytest.approx(want, rel=1e-3)
    assert npgrad.grad(g)(0.5) == pytest.approx(-1, rel=1e-9)


def test_a_solution_that_ends_early():
    """y' = k y^2 from 1 is infinite at 1/k: SciPy gives up, and says so."""
    words = {"rtol": 1e-4}
    run = lambda k: solve_ivp(lambda t, y: k * y * y, (0.0, 3.0), [1.0], **words)
    with np.errstate(all="ignore"):
        plain = theirs.solve_ivp(lambda t, y: y * y, (0.0, 3.0), [1.0], **words)
        value, pull = npgrad.vjp(lambda k: run(k).y[0, :5], 1.0)
    assert plain.status == -1
    np.testing.assert_allclose(value, plain.y[0, :5], rtol=1e-13)
    t = plain.t[:5]
    assert pull(np.ones(5))[0] == pytest.approx(np.sum(t / (1 - t) ** 2), rel=1e-2)


def test_mistakes_are_scipys():
    run = lambda **words: npgrad.grad(
        lambda k: solve_ivp(lambda t, y, *a: -k * y, (0.0, 1.0), [1.0], **words).y[0, -1]
    )(0.5)
    for words, said in [
        ({"t_eval": [0.5, 2.0]}, "not within"),
        ({"t_eval": [0.5, 0.3]}, "not properly sorted"),
        ({"t_eval": [[0.5]]}, "1-dimensional"),
        ({"method": "Euler"}, "must be one of"),
    ]:
        with pytest.raises(ValueError, match=said):
            run(**words)
    with pytest.raises(TypeError, match="cannot be unpacked"):
        run(args=3.0)


def test_what_is_refused():
    class Own(theirs.OdeSolver):
        """A method of the user's: one step, of which no curve is asked."""

        def __init__(self, fun, t0, y0, t_bound, vectorized, **words):
            super().__init__(fun, t0, y0, t_bound, vectorized)

        def _step_impl(self):
            self.y_old, self.y = self.y, self.y + self.fun(self.t, self.y)
            self.t = self.t_bound
            return True, None

        def _dense_output_impl(self):
            return theirs.DenseOutput(self.t_old, self.t)

    decay = lambda k: lambda t, y: -k * y
    complex_ = lambda k: solve_ivp(decay(k), (0.0, 1.0), [1.0 + 0j], "BDF").y[0, -1].real
    with pytest.raises(npgrad.errors.NoDerivative, match="complex states with BDF: use RK45"):
        npgrad.grad(complex_)(0.5)
    own = lambda k: solve_ivp(decay(k), (0.0, 1.0), [1.0], Own).y[0, -1]
    with pytest.raises(npgrad.errors.NoDerivative, match="method=Own, which is none of SciPy's"):
        npgrad.grad(own)(0.5)
    explicit = lambda k: solve_ivp(decay(k), (0.0, 1.0), [1.0 + 0j], **CLOSE).y[0, -1].real
    assert npgrad.grad(explicit)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-6)


def test_float32_is_kept_by_explicit_methods():
    f = lambda y0: solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, t_eval=[0.5, 1.0]).y
    value, pull = npgrad.vjp(f, np.ones(2, np.float32))
    assert value.dtype == np.float32 and pull(np.ones_like(value))[0].dtype == np.float32
    g = lambda y0: solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, "Radau").y[:, -1]
    assert npgrad.grad(lambda y: np.sum(g(y)))(np.ones(2, np.float32)).dtype == np.float32
