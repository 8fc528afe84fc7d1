"""Functions that call Python for each element, sequences and objects that stand for arrays."""

import collections

import numpy as np
import pytest

import npgrad

C = np.array([1.0, 2.0, 3.0])
X = np.array([1.5, 0.7, 2.2])
PRODUCT = np.frompyfunc(lambda a, b: a * b, 2, 1)


def of_density(x):
    def density(a):
        return a * x[0] if a > 1 else x[1]

    return np.vectorize(density)(C).sum()


def decorated(x):
    @np.vectorize(otypes=[float])
    def scaled(a):
        return 0 if a < 2 else a * x[0]

    return scaled(C).sum()


CLOSURES = {  # recorded values in the closure, plain arrays: the function and its gradient
    "vectorize": (lambda x: np.vectorize(lambda a: a * x[0])(C).sum(), [6, 0, 0]),
    "an index": (lambda x: np.vectorize(lambda i: x[i] ** 2)(np.arange(3)).sum(), 2 * X),
    "branches": (of_density, [5, 1, 0]),
    "types": (decorated, [5, 0, 0]),
    "a plain result first": (
        lambda x: np.vectorize(lambda a: 1.0 if a < 2 else x[0])(C).sum(),
        [2, 0, 0],
    ),
    "a number": (lambda x: np.vectorize(lambda a: a * x[0])(2.0) + 0, [2, 0, 0]),
    "two results": (
        lambda x: np.dot(*np.vectorize(lambda a: (a * x[0], x[1]))(C)),
        [6 * 0.7, 6 * 1.5, 0],
    ),
    "keywords": (lambda x: np.vectorize(lambda a, b: a * b * x[0])(C, b=C).sum(), [14, 0, 0]),
    "a signature": (
        lambda x: np.vectorize(lambda v: v @ x, signature="(n)->()")(np.eye(3)).sum(),
        [1, 1, 1],
    ),
    "excluded": (
        lambda x: np.vectorize(lambda a, p: a * p[0] * x[1], excluded={"p"})(C, p=[2.0]).sum(),
        [0, 12, 0],
    ),
    "frompyfunc": (lambda x: np.frompyfunc(lambda a: a * x[0], 1, 1)(C).sum(), [6, 0, 0]),
    "frompyfunc, two results": (
        lambda x: np.frompyfunc(lambda a: (a, a * x[0]), 1, 2)(C)[1].sum(),
        [6, 0, 0],
    ),
    "frompyfunc, an integer first": (
        lambda x: np.frompyfunc(lambda a: 0 if a < 2 else a * x[0], 1, 1)(C).sum(),
        [5, 0, 0],
    ),
    "frompyfunc before the call": (lambda x: PRODUCT(x, C).sum(), C),
    "fromfunction": (
        lambda x: np.fromfunction(np.vectorize(lambda i: x[int(i)]), (3,)).sum(),
        [1, 1, 1],
    ),
    "apply_along_axis": (
        lambda x: np.apply_along_axis(lambda r: r * x[0], 0, C).sum(),
        [6, 0, 0],
    ),
    "apply_along_axis of integers": (
        lambda x: np.apply_along_axis(lambda r: r @ x, 1, np.arange(6).reshape(2, 3)).sum(),
        [3, 5, 7],
    ),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_plain_arrays_and_recorded_values_in_the_closure(name):
    f, expected = CLOSURES[name]
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)
    tangent = npgrad.jvp(f, (X,), (np.array([1.0, -2.0, 0.5]),))[1]
    np.testing.assert_allclose(tangent, np.dot(expected, [1.0, -2.0, 0.5]), rtol=1e-13)


@pytest.mark.parametrize("first", [0, False, np.int64(0), np.True_])
def test_an_integer_as_the_first_result_would_cut_the_others(first):
    def ramp(x):
        return np.vectorize(lambda a: first if a < 1 else a)(x[[1, 0, 2]]).sum()

    assert ramp(X) in (2, 3)  # not 3.7: NumPy cuts 1.5 and 2.2 to integers, or to True
    with pytest.raises(npgrad.errors.GradientLost, match=r"otypes=\[float\]"):
        npgrad.grad(ramp)(X)
    with pytest.raises(npgrad.errors.GradientLost, match="type of the first result"):
        npgrad.grad(lambda x: np.vectorize(lambda a: first if a < 2 else x[0])(C).sum())(X)


@pytest.mark.parametrize("kinds", ["d", [float], "f"])
def test_types_that_are_named_are_taken(kinds):
    def ramp(x):
        return np.vectorize(lambda a: 0 if a < 1 else a, otypes=kinds)(x[[1, 0, 2]])

    made, pull = npgrad.vjp(ramp, X)
    assert made.dtype == ramp(X).dtype and made.tolist() == ramp(X).tolist()
    np.testing.assert_allclose(pull(np.ones(3, made.dtype))[0], [1, 0, 1])


def test_results_that_are_not_recorded_have_numpys_type():
    steps = npgrad.grad(lambda x: np.vectorize(lambda a: 0 if a < 1 else 1)(x).sum() * x[0])
    np.testing.assert_allclose(steps(X), [2, 0, 0])
    cut = npgrad.grad(lambda x: np.vectorize(lambda a: a, otypes=[int])(x).sum() * x[0])
    np.testing.assert_allclose(cut(X), [3, 0, 0])  # 1 + 0 + 2


def test_no_element_needs_types_as_for_numpy():
    with pytest.raises(ValueError, match="size 0"):
        npgrad.grad(lambda x: np.vectorize(lambda a: a * x[0])(x[:0]).sum())(X)
    f = npgrad.grad(lambda x: np.vectorize(lambda a: a * x[0], otypes="d")(x[:0]).sum() + x[1])
    np.testing.assert_allclose(f(X), [0, 1, 0])


class Listed(list):
    """A list by inheritance."""


class Sequence:
    """A sequence by its methods."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Keyed(Sequence):
    """Asked for by names, no numbers."""

    def __getitem__(self, key):
        return dict(self.items)[key]


Pair = collections.namedtuple("Pair", "a b")
MAKE = {
    "a list's subclass": lambda x: Listed([x[0], x[1]]),
    "a user's list": lambda x: collections.UserList([x[0], x[1]]),
    "a deque": lambda x: collections.deque([x[0], x[1]]),
    "a named tuple": lambda x: Pair(x[0], x[1]),
    "a class": lambda x: Sequence([x[0], x[1]]),
    "a class around an array": lambda x: Sequence(x[:2]),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=list(MAKE))
def test_sequences_of_recorded_numbers_are_arrays(make):
    for f, expected in (
        (lambda x: np.sum(make(x)), [1, 1, 0]),
        (lambda x: np.array(make(x)) @ [3.0, 4.0], [3, 4, 0]),
        (lambda x: np.asarray(make(x), dtype=float)[1] ** 2, [0, 1.4, 0]),
        (lambda x: np.dot(make(x), [3.0, 4.0]), [3, 4, 0]),
        (lambda x: np.linalg.norm(make(x)) ** 2, [3.0, 1.4, 0]),
        (lambda x: np.concatenate([make(x), [1.0]]) @ [1.0, 2.0, 3.0], [1, 2, 0]),
    ):
        value, gradient = npgrad.value_and_grad(f)(X)
        np.testing.assert_allclose(value, f(X), rtol=1e-14)
        np.testing.assert_allclose(gradient, expected, rtol=1e-14, atol=0)


def test_an_object_asked_for_by_names_is_no_sequence():
    made = npgrad.grad(lambda x: np.ndim(Keyed([("a", x[0])])) + x[1])
    np.testing.assert_allclose(made(X), [0, 1, 0])


class Held:
    """An object with an array."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_an_object_with_an_array_that_wrapped_code_made():
    for f in (
        lambda x: (x * Held(C)).sum(),
        lambda x: (x * Held([1.0, 2.0, 3.0])).sum(),
        lambda x: np.multiply(x, Held([1.0, 2.0, 3.0])).sum(),
        lambda x: (x * np.asarray(Held([1.0, 2.0, 3.0]))).sum(),
    ):
        np.testing.assert_allclose(npgrad.grad(f)(X), C)
    np.testing.assert_allclose(npgrad.grad(lambda x: (x * np.asarray(Held(x))).sum())(X), 2 * X)


def test_what_such_an_object_held_when_it_was_recorded_counts():
    x = npgrad.array(X)
    for use in (lambda h: (x * h).sum(), lambda h: np.multiply(x, h).sum()):
        held = Held(C.copy())
        total = use(held)
        held.values[:] = 100.0
        np.testing.assert_allclose(total.backward()[x], C)
