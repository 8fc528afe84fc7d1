"""A program that keeps its last input and result never loses a gradient in silence."""

import gc

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost
from npgrad.graph.node import Node

X = np.array([0.3, 1.7])


def by_allclose(x, kept):
    return x.shape == kept.shape and np.allclose(x, kept, rtol=1e-14)


def by_array_equal(x, kept):
    return np.array_equal(x, kept)


def by_operator(x, kept):
    return x.shape == kept.shape and (x == kept).all()


def by_difference(x, kept):
    return x.shape == kept.shape and not np.any(x != kept)


class Line:
    """As astropy's Voigt1D: the last input is compared, its result handed out again."""

    def __init__(self, same):
        self.same = same
        self.clear()

    def clear(self):
        self.x, self.y = np.zeros(1), np.zeros(1)

    def __call__(self, x):
        z = x / 0.5
        if not self.same(z, self.x):
            self.x, self.y = z, np.sin(z)
        return np.sum(self.y)


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("same", [by_allclose, by_array_equal, by_operator, by_difference])
def test_a_cached_result(same, wrap) -> None:
    expected = 2.0 * np.cos(2.0 * X)
    line = Line(same)
    gradient = npgrad.grad(line, wrap=wrap)
    np.testing.assert_allclose(gradient(X), expected)  # nothing was kept
    np.testing.assert_allclose(gradient(X), expected)  # kept by the first gradient
    np.testing.assert_allclose(gradient(X + 0.1), 2.0 * np.cos(2.0 * (X + 0.1)))
    line.clear()
    line(X)
    np.testing.assert_allclose(gradient(X), expected)  # kept by plain NumPy
    assert npgrad.value(line(X)) == np.sum(np.sin(2.0 * X))
    line.clear()
    line(X)
    np.testing.assert_allclose(npgrad.jvp(line, (X,), (X,))[1], expected @ X)
    line(X)
    np.testing.assert_allclose(npgrad.hessian(line)(X), np.diag(-4 * np.sin(2.0 * X)))


def wrong_branch(same):
    """The answer decides what is computed: a result of its own for the input kept."""

    def f(x):
        return np.sum(x**3) if same(x, f.kept) else np.sum(x)

    f.kept = X.copy()
    return f


def waiting(same):
    """The answer ends a loop."""

    def f(x):
        y = x * 0.5
        for _ in range(1000):
            if same(y * 2.0, f.kept):
                break
            y = y * 1.0
        return np.sum(y)

    f.kept = X.copy()
    return f


def failing(same):
    def f(x):
        if not same(x * 1.0, f.kept):
            f.kept = None
        assert f.kept is not None
        return np.sum(x)

    f.kept = X.copy()
    return f


@pytest.mark.parametrize("make", [wrong_branch, waiting])
@pytest.mark.parametrize("same", [by_allclose, by_array_equal, by_operator, by_difference])
def test_an_answer_that_makes_a_difference_is_refused(make, same):
    """Denied, it gives another value, or is asked for again: no cache of the last input."""
    with pytest.raises(GradientLost, match="keeps its last input"):
        npgrad.grad(make(same))(X)


def test_a_denied_answer_s_error_is_the_program_s():
    with pytest.raises(AssertionError):
        npgrad.grad(failing(by_array_equal))(X)


def by_entry(x, kept):
    return all(a == b for a, b in zip(kept, x, strict=True))


def by_place(x, kept):
    return not (x[0] != kept[0] or x[-1] != kept[-1])


def by_list(x, kept):
    return list(kept) == list(x)


def by_numbers(x, kept):
    return kept.tolist() == x.tolist()


def by_isclose(x, kept):
    return np.isclose(kept, x).all()


def by_kept_first(x, kept):
    return not (kept != x).any()


def by_norm(x, kept):
    return np.linalg.norm(kept - x) == 0


def by_text(x, kept):
    return str(npgrad.value(kept)) == str(x)


def by_one_number(x, kept):
    return float(x[0]) == float(kept[0])


class Model:
    """Keeps its last input and what it computed of it: f(x) = sin(x0) x1 x0."""

    def __init__(self, same):
        self.same = same
        self.x = None

    def __call__(self, x):
        if self.x is None or not self.same(x, self.x):
            self.x, self.product = x.copy(), np.sin(x[0]) * x[1]
        return self.product * x[0]


DENIED = [by_isclose, by_kept_first, by_allclose]  # asked of all entries at once
SEEN = [by_entry, by_place, by_list, by_numbers, by_isclose, by_kept_first, by_allclose]


@pytest.mark.parametrize("same", [*SEEN, by_norm, by_text, by_one_number])
def test_a_result_kept_by_an_earlier_gradient_is_no_constant_however_it_is_asked_for(same):
    a, b = X
    right = [b * (np.sin(a) + a * np.cos(a)), a * np.sin(a)]
    for step in (npgrad.grad, npgrad.jacobian, lambda f: lambda x: npgrad.vjp(f, x)[1](1.0)[0]):
        model = Model(same)
        np.testing.assert_allclose(step(model)(X), right)
        if same in DENIED:
            np.testing.assert_allclose(step(model)(X), right)
            continue
        with pytest.raises(GradientLost, match=r"keeps its last input|left behind"):
            step(model)(X)


@pytest.mark.parametrize("same", SEEN)
def test_a_result_kept_by_a_plain_call_is_no_constant_where_all_entries_are_compared(same):
    model = Model(same)
    model(X)
    if same in DENIED:
        a, b = X
        right = [b * (np.sin(a) + a * np.cos(a)), a * np.sin(a)]
        np.testing.assert_allclose(npgrad.grad(model)(X), right)
        return
    with pytest.raises(GradientLost, match="keeps its last input"):
        npgrad.grad(model)(X)


def test_a_kept_result_that_is_the_output():
    kept = []

    def f(x):
        if not kept:
            kept.append(np.sum(x**2))
        return kept[0]

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X)
    for step in (npgrad.grad(f), lambda x: npgrad.jvp(f, (x,), (x,))):
        with pytest.raises(
            GradientLost, match=r"left behind, recorded at test_wrap_caches.py:\d+:"
        ):
            step(X)


def test_what_an_earlier_call_left_on_purpose():
    """A buffer that is written again, a state by its value, arguments of which one has changed."""
    held = {"buffer": None, "state": np.ones(2)}

    def buffer(x):
        if held["buffer"] is None:
            held["buffer"] = np.zeros(2)
        for i in range(2):
            held["buffer"][i] = x[i] ** 2
        return np.sum(held["buffer"])

    def state(x):
        held["state"] = npgrad.value(held["state"]) * x
        return np.sum(held["state"])

    def recurrent(x, w):
        held["state"] = held["state"] * w + x
        return np.sum(held["state"])

    for _ in range(2):
        np.testing.assert_allclose(npgrad.grad(buffer)(X), 2 * X)
    npgrad.grad(state)(X)
    np.testing.assert_allclose(npgrad.grad(state)(X), X)
    for i in range(3):
        before = npgrad.value(held["state"])
        gradients = npgrad.grad(recurrent, (0, 1))(X + 1 + i, X + 9)
        np.testing.assert_allclose(gradients[1], before)
    with pytest.raises(GradientLost, match=r"npgrad.stop_gradient\(state\)"):
        npgrad.grad(recurrent, (0, 1))(X + 3, X + 9)


def test_large_arguments_that_are_updated_in_place():
    """Of those a digest is compared: the caller's array is another one by its numbers."""
    x = np.linspace(0.0, 1.0, 200_000)
    state = [1.0]

    def f(x):
        state[0] = state[0] * np.mean(x**2)
        return state[0]

    gradient = npgrad.grad(f)
    gradient(x)
    x += 0.5
    gradient(x)
    with pytest.raises(GradientLost, match="left behind"):
        gradient(x)


def test_entries_compared_with_those_of_another_argument():
    def f(x, start):
        return np.sum(x * 2) if all(a == b for a, b in zip(x, start, strict=True)) else np.sum(x)

    np.testing.assert_array_equal(npgrad.grad(f)(X, X.copy()), [2.0, 2.0])


def test_comparisons_that_are_no_cache() -> None:
    def f(x):
        assert np.array_equal(x, x) and (x == x).all() and np.allclose(x, x * 1.0)
        assert np.array_equal(x * 0.0 + 1.0, np.ones(2)) and np.array_equal(x * 0, np.zeros(2))
        assert not np.array_equal(x, X + 1.0) and (x != X + 1.0).all() and x[0] == X[0]
        assert (x == np.array([0.3, 5.0])).any() and np.allclose(x[0], 0.3)
        assert np.array_equal(npgrad.value(x), X)
        return np.sum(x**2)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2.0 * X)
    leaf = npgrad.array(X)
    assert np.array_equal(leaf, X) and (leaf == X).all()


def test_a_state_is_a_constant() -> None:
    """What an earlier call left is used as the number it is, unless it is found equal."""
    state = [np.zeros(2)]

    def f(x):
        state[0] = np.tanh(state[0] + x)
        return np.sum(state[0])

    npgrad.grad(f)(X + 0.5)
    before = npgrad.value(state[0])
    gradient = npgrad.value(npgrad.grad(f)(X))
    np.testing.assert_allclose(gradient, 1.0 - np.tanh(before + X) ** 2)


def test_an_argument_of_the_function_is_no_cache():
    """Nobody kept it: the function was given two equal arrays."""
    x = np.array([0.3, 0.4])

    def f(x, start, scale=None):
        return np.sum(x * 2) if np.array_equal(x, start) or np.array_equal(x, scale) else np.sum(x)

    np.testing.assert_array_equal(npgrad.grad(f)(x, x.copy()), [2.0, 2.0])
    np.testing.assert_array_equal(npgrad.grad(f)(x, x + 1, scale=x.copy()), [2.0, 2.0])
    kept = x.copy()

    def helper(a, b):
        return np.array_equal(a, b)

    with pytest.raises(npgrad.errors.GradientLost, match="found a recorded array equal"):
        npgrad.grad(lambda x: np.sum(x) if helper(x, kept) else 0.0)(x)


class Cell:
    """A state that each call goes on from."""

    def __init__(self):
        self.state = np.zeros(2)

    def __call__(self, x):
        for _ in range(3):
            self.state = np.tanh(self.state + x)
        return np.sum(self.state)


def nodes() -> int:
    gc.collect()
    return sum(type(thing) is Node for thing in gc.get_objects())


@pytest.mark.parametrize(
    "step",
    [
        npgrad.grad,
        npgrad.value_and_grad,
        npgrad.jacobian,
        npgrad.hessian,
        lambda f: lambda x: npgrad.vjp(f, x)[1](1.0),
        lambda f: lambda x: npgrad.jvp(f, (x,), (x,)),
    ],
    ids=["grad", "value_and_grad", "jacobian", "hessian", "vjp", "jvp"],
)
def test_a_state_holds_one_graph_and_not_those_of_all_calls(step) -> None:
    cell = Cell()
    run = step(cell)
    for i in range(3):
        run(X + i)
    before = nodes()
    for i in range(5):
        run(X + i)
    assert nodes() == before


def test_an_earlier_pull_works_after_a_later_call() -> None:
    cell = Cell()
    pull = npgrad.vjp(cell, X)[1]
    first = pull(1.0)[0]
    later = npgrad.grad(cell)(X + 1.0)
    np.testing.assert_array_equal(pull(1.0)[0], first)
    other = Cell()
    np.testing.assert_allclose(npgrad.grad(other)(X), first)
    other.state = npgrad.value(other.state)
    np.testing.assert_allclose(npgrad.grad(other)(X + 1.0), later)


# ------------------------------------------------------------------------- results kept by id(x)
BY_ID: dict = {}


def weight(x):
    if id(x) not in BY_ID:
        BY_ID[id(x)] = float(np.exp(x).sum())
    return BY_ID[id(x)]


def weighted(x):
    assert id(x) == id(x) and id(x) != id(x * 1.0) and id(X) == PLAIN_ID
    return weight(x) * x[0]


PLAIN_ID = id(X)


def test_a_result_kept_by_the_identity_of_an_argument():
    """The caller's arrays live on, so that id is a good key; those of a call do not."""
    BY_ID.clear()
    points = [np.array([0.1 * i, 1.0]) for i in range(40)]
    plain = [weight(x) * x[0] for x in points]
    for _ in range(2):
        for x, value in zip(points, plain, strict=True):
            got, gradient = npgrad.value_and_grad(weighted)(x)
            assert got == value
            slope = np.exp(x) * x[0]
            slope[0] += np.exp(x).sum()
            np.testing.assert_allclose(gradient, slope, rtol=1e-14)
