"""Windows by ``as_strided``: any strides through the memory of which an array is a view."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import npgrad
from npgrad.errors import InPlaceError, NoDerivative

X = np.array([0.3, 1.2, 0.8, 2.1])


def test_windows_reach_the_whole_memory_of_a_view():
    # the elements are x itself: f = sum of x**2
    gradient = npgrad.grad(lambda x: np.sum(as_strided(x[:2], (4,), (8,)) * x))(X)
    np.testing.assert_allclose(gradient, 2 * X)
    # rows of a matrix of x0 .. x3, read back from row 1
    gradient = npgrad.grad(lambda x: np.sum(as_strided(np.stack([x, x * x])[1], (2,), (-8,))))(X)
    np.testing.assert_allclose(gradient, [2 * X[0], 0, 0, 1])


def test_negative_strides_make_a_circulant_matrix():
    weights = np.arange(9.0).reshape(3, 3)

    def f(x):
        twice = np.concatenate([x, x])
        return np.sum(weights * as_strided(twice[3:], (3, 3), (-8, 8)))

    # entry (i, j) is x[(j - i) mod 3]
    expected = [sum(weights[i, (i + k) % 3] for i in range(3)) for k in range(3)]
    np.testing.assert_allclose(npgrad.grad(f)(X[:3]), expected)
    np.testing.assert_allclose(npgrad.jvp(f, (X[:3],), (np.ones(3),))[1], 36.0)


def test_views_with_gaps_and_in_fortran_order():
    f = npgrad.value_and_grad(lambda x: np.sum(as_strided(x[::-1], (2,), (-16,)) ** 2))
    value, gradient = f(X)
    assert value == X[3] ** 2 + X[1] ** 2
    np.testing.assert_allclose(gradient, [0, 2 * X[1], 0, 2 * X[3]])
    A = np.arange(1.0, 7.0).reshape(2, 3)

    def second_column(a):
        return np.sum(as_strided(np.asfortranarray(a)[:, 1:], (3,), (8,)) ** 2)

    np.testing.assert_allclose(npgrad.grad(second_column)(A), [[0, 4, 6], [0, 10, 0]])


def test_a_written_array_is_read_as_it_is():
    def f(x):
        v = x * 1
        v[1] = x[0] * x[2]
        return np.sum(as_strided(v[1:], (2,), (-8,)))

    np.testing.assert_allclose(npgrad.grad(f)(X), [1 + X[2], 0, X[0], 0])


def test_by_its_full_name_too():
    f = npgrad.grad(lambda x: np.sum(np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))))
    np.testing.assert_array_equal(f(X), [1, 2, 1, 0])
    g = npgrad.grad(
        lambda x: np.sum(np.lib.stride_tricks.sliding_window_view([x[0], x[1], 1.0], 2))
    )
    np.testing.assert_array_equal(g(X), [1, 2, 0, 0])


@pytest.mark.parametrize(
    ("shape", "strides"), [((7,), (8,)), ((2,), (-8,)), ((2,), (4,)), ((2, 2), (8,))]
)
def test_what_leaves_the_memory_or_falls_between_elements_is_refused(shape, strides):
    with pytest.raises(NoDerivative, match="as_strided"):
        npgrad.grad(lambda x: np.sum(as_strided(x * 1, shape, strides)))(X)


def test_every_window_that_lives_refuses_later_writes():
    def f(x, keep):
        v = x * 1
        window = keep(as_strided(v, (2, 2), (8, 8)))
        passing = np.sum(as_strided(v, (2,), (8,)))
        v[1] = 9.0
        return np.sum(window) + passing

    for keep in (lambda w: w, lambda w: w[0], lambda w: w.T[:, :1]):
        with pytest.raises(InPlaceError, match="as_strided made windows"):
            npgrad.grad(lambda x, keep=keep: f(x, keep))(X)
    # a copy is none: x0 + 2 x1 + x2 of the windows' copy, x0 + x1 of the second
    gradient = npgrad.grad(lambda x: f(x, lambda w: w * 1))(X)
    np.testing.assert_array_equal(gradient, [2, 3, 1, 0])
