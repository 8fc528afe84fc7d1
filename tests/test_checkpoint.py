"""`npgrad.checkpoint`: the same gradients, less memory; what it cannot do it says."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

import npgrad
from npgrad.errors import InPlaceError, RuleError

X = np.array([0.3, 1.2, -0.7])
Y = np.array([2.0, 0.5, 1.5])


def body(x, w):
    return np.tanh(x * w) + np.sin(w) * x**2


@npgrad.checkpoint
def decorated(x):
    return np.sin(x) * x


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_values_and_gradients_are_those_of_the_function(argnums):
    f = lambda g: npgrad.value_and_grad(lambda x, w: np.sum(g(x, w) ** 2), argnums)(X, Y)
    (value, got), (expected, want) = f(npgrad.checkpoint(body)), f(body)
    assert value == expected
    for a, b in zip(np.atleast_2d(got), np.atleast_2d(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_both_modes_and_higher_orders():
    plain = lambda x: np.sum(body(x, Y) * x)
    saved = lambda x: np.sum(npgrad.checkpoint(body)(x, Y) * x)
    np.testing.assert_allclose(npgrad.hessian(saved)(X), npgrad.hessian(plain)(X), rtol=1e-12)
    np.testing.assert_allclose(npgrad.hvp(saved, X, Y), npgrad.hvp(plain, X, Y), rtol=1e-12)
    _, got = npgrad.jvp(npgrad.checkpoint(body), (X, Y), (Y, X))
    np.testing.assert_allclose(got, npgrad.jvp(body, (X, Y), (Y, X))[1], rtol=1e-14)
    for jacobian in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_allclose(
            jacobian(npgrad.checkpoint(body), 1)(X, Y), jacobian(body, 1)(X, Y), rtol=1e-14
        )
    third = lambda f: npgrad.grad(npgrad.grad(npgrad.grad(f)))(0.7)
    assert third(decorated) == pytest.approx(third(decorated.fun), rel=1e-12)


def test_the_same_array_as_argument_and_in_the_closure():
    def f(wrap):
        def loss(x):
            inner = wrap(lambda z: z * x + np.sin(x))
            return np.sum(inner(x) * inner(x * 2))

        return loss

    same = lambda inner: inner
    np.testing.assert_allclose(
        npgrad.grad(f(npgrad.checkpoint))(X), npgrad.grad(f(same))(X), rtol=1e-13
    )
    np.testing.assert_allclose(
        npgrad.hessian(f(npgrad.checkpoint))(X), npgrad.hessian(f(same))(X), rtol=1e-12
    )


def test_a_closure_over_recorded_values_is_differentiated():
    def loss(w, wrap):
        hidden = np.exp(w)
        segment = wrap(lambda: {"a": hidden * X, "b": [w[0]]})
        out = segment()
        return np.sum(out["a"] ** 2) + out["b"][0]

    same = lambda f: f
    got = npgrad.grad(loss)(Y, npgrad.checkpoint)
    np.testing.assert_allclose(got, npgrad.grad(loss)(Y, same), rtol=1e-14)
    _, tangent = npgrad.jvp(lambda w: loss(w, npgrad.checkpoint), (Y,), (X,))
    assert tangent == pytest.approx(np.sum(got * X))
    np.testing.assert_allclose(
        npgrad.hessian(lambda w: loss(w, npgrad.checkpoint))(Y),
        npgrad.hessian(lambda w: loss(w, same))(Y),
        rtol=1e-12,
    )


def test_an_output_that_is_the_closure_or_the_argument():
    f = lambda x: np.sum(npgrad.checkpoint(lambda z: (x, z))(x * 2)[0] * Y)
    np.testing.assert_allclose(npgrad.grad(f)(X), Y)
    f = lambda x: np.sum(npgrad.checkpoint(lambda z: (x, z))(x * 2)[1] * Y)
    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * Y)


def test_a_gradient_inside_and_checkpoints_inside_checkpoints():
    def inner(x):
        return npgrad.grad(lambda v: np.sum(np.sin(v) * x))(x)

    f = lambda wrap: lambda x: np.sum(wrap(lambda z: wrap(inner)(z) ** 2)(x))
    same = lambda g: g
    np.testing.assert_allclose(
        npgrad.grad(f(npgrad.checkpoint))(X), npgrad.grad(f(same))(X), rtol=1e-13
    )


def test_containers_keywords_and_integers():
    @npgrad.checkpoint
    def layer(params, x, *, power, names=("w",)):
        assert names == ("w",)
        order = np.argsort(x)
        return {"y": params["w"] * x**power, "order": order, "name": names[0]}

    def loss(params):
        out = layer(params, Y, power=2)
        assert type(out["order"]) is np.ndarray and out["name"] == "w"
        return np.sum(out["y"][out["order"][:2]])

    got = npgrad.grad(loss)({"w": X, "unused": Y})
    np.testing.assert_allclose(got["w"], np.where(Y < 2, Y**2, 0))
    np.testing.assert_array_equal(got["unused"], np.zeros(3))


def test_leaves_of_npgrad_array():
    x = npgrad.array(X)
    np.testing.assert_allclose(
        np.sum(decorated(x)).backward()[x], np.sin(X) + X * np.cos(X), rtol=1e-14
    )


def test_a_plain_call_gives_plain_arrays():
    assert type(decorated(X)) is np.ndarray
    assert type(decorated(0.5)) is type(np.sin(0.5) * 0.5)


def test_under_no_grad_nothing_is_recorded():
    x = npgrad.array(X)
    with npgrad.no_grad():
        y = decorated(x)
    np.testing.assert_allclose(np.sum(x * y).backward()[x], np.sin(X) * X)


def test_random_numbers_are_refused():
    rng = np.random.default_rng(0)
    dropout = npgrad.checkpoint(lambda x: x * (rng.random(3) > 0.5) * rng.random())
    with pytest.raises(RuleError, match="another result when it ran again"):
        npgrad.grad(lambda x: np.sum(dropout(x)))(X)


def test_a_closure_changed_in_between_is_refused():
    factor = np.array(Y)

    def f(x):
        y = npgrad.checkpoint(lambda z: np.sin(z) * factor)(x)
        factor[0] = 7.0
        return np.sum(y)

    with pytest.raises(RuntimeError, match=r"another result|changed in place"):
        npgrad.grad(f)(X)

    def g(x):
        w = x * 2
        y = npgrad.checkpoint(lambda z: z * w)(x)
        w[0] = x[1]
        return np.sum(y)

    with pytest.raises(RuleError, match="written to in between"):
        npgrad.grad(g)(X)


def test_writing_into_an_argument_is_refused():
    def scaled(x):
        x *= 2
        return x

    with pytest.raises(InPlaceError, match="writes into its argument"):
        npgrad.grad(lambda x: np.sum(npgrad.checkpoint(scaled)(x * 1.0)))(X)


def test_an_argument_written_to_afterwards_keeps_its_old_value_for_the_second_run():
    def f(x):
        w = x * 1.0
        y = npgrad.checkpoint(lambda z: z**2)(w)
        w[...] = 0.0
        return np.sum(y)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)


def test_buffers_that_the_function_makes():
    def filled(x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i] ** 2
        return out

    got = npgrad.grad(lambda x: np.sum(npgrad.checkpoint(filled)(x) * Y))(X)
    np.testing.assert_allclose(got, 2 * X * Y)
    # The second run happens when the wrapped call is over.
    _, pull = npgrad.vjp(lambda x: npgrad.checkpoint(filled)(x), X)
    np.testing.assert_allclose(pull(Y)[0], 2 * X * Y)


def test_zero_times_infinity():
    f = npgrad.checkpoint(lambda x: np.sqrt(x))
    got = npgrad.grad(lambda x: np.sum(np.where(x > 0, f(x), 0.0)))(np.array([0.0, 4.0]))
    np.testing.assert_allclose(got, [0.0, 0.25])


def test_a_tape_lists_one_operation():
    with npgrad.Tape() as tape:
        x = tape.leaf(X)
        y = np.sum(decorated(x))
    assert [e.operation for e in tape] == ["leaf", "checkpoint.decorated", "np.sum"]
    tape.backward(y)
    np.testing.assert_allclose(tape.grad(x), np.sin(X) + X * np.cos(X))


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    made = pickle.loads(pickle.dumps(npgrad.checkpoint(body)))
    np.testing.assert_array_equal(made(X, Y), body(X, Y))
    with pytest.raises(TypeError, match="takes a function"):
        npgrad.checkpoint(3)


def test_memory_grows_with_the_arguments_only():
    def segment(x):
        for _ in range(20):
            x = np.sin(x) + 0.1 * x
        return x

    def peak(wrap):
        f = wrap(segment)
        x = npgrad.array(np.linspace(0.0, 1.0, 50_000))
        tracemalloc.start()
        try:
            y = x
            for _ in range(10):
                y = f(y)
            store = np.sum(y).backward()
            return tracemalloc.get_traced_memory()[1] / x.nbytes, store[x]
        finally:
            tracemalloc.stop()

    (saved, got), (kept, want) = peak(npgrad.checkpoint), peak(lambda f: f)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    # Kept whole: 200 sines. Checkpointed: 10 arguments and 20 sines of the segment at work.
    assert saved < kept / 3, (saved, kept)


class Counter:
    """Another number each time it is asked, as a random one is, but surely another."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return self.calls


def written(x, count):
    buffer = np.zeros_like(x)
    buffer[count()] = x[0]
    return buffer


NOT_REPEATED = {
    "factor": lambda x, count: x * count(),
    "factor of its own size": lambda x, count: x * (1e-14 * count()),
    "matrix": lambda x, count: (np.eye(8) * count()) @ x,
    "mask": lambda x, count: x * (np.arange(8) < count()),
    "large mask": lambda x, count: np.tile(x, 1000) * (np.arange(8000) < 4000 * count()),
    "position": lambda x, count: x[count()],
    "positions": lambda x, count: x[[count(), 0]] * np.array([1.0, 2.0]),
    "parameter": lambda x, count: np.roll(x, count()) * np.arange(8.0),
    "power": lambda x, count: x ** (count() + 1),
    "operation": lambda x, count: np.sin(x) if count() % 2 else np.tan(x),
    "place of a write": written,
    "condition": lambda x, count: np.where(np.arange(8) < count(), x, 2 * x),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", NOT_REPEATED)
def test_another_derivative_is_noticed_where_the_result_is_the_same(name, dtype):
    # at zero every one of them gives zeros, each time with another gradient
    function, count = NOT_REPEATED[name], Counter()
    saved = npgrad.checkpoint(lambda x: function(x, count))
    with pytest.raises(RuleError, match="another derivative when it ran again"):
        npgrad.vjp(lambda x: np.sum(saved(x)), np.zeros(8, dtype))[1](dtype(1))
    count.calls = 0
    with pytest.raises(RuleError, match="another derivative when it ran again"):
        npgrad.jvp(saved, (np.zeros(8, dtype),), (np.ones(8, dtype),))


def test_rounding_of_a_second_run_is_no_difference():
    """A sum in another order is the same function: the second run adds from the other end."""
    count = Counter()
    terms = np.random.default_rng(0).normal(size=1000)

    def f(x):
        order = terms if count() % 2 else terms[::-1]
        return np.exp(x * np.cumsum(order)[-1])

    got = npgrad.grad(npgrad.checkpoint(f))(0.3)
    total = np.sum(terms)
    assert got == pytest.approx(total * np.exp(0.3 * total), rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
def test_a_change_of_one_entry_between_the_samples_is_seen(dtype):
    constant = np.ones(1000, dtype)
    run = npgrad.checkpoint(lambda a: np.real(a * constant))
    a = npgrad.array(np.zeros(1000, dtype))
    y = run(a)
    constant[501] = 9.0
    with pytest.raises(RuleError):
        np.sum(y).backward()
