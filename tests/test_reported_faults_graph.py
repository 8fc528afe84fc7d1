"""Kinds of fault that people reported of libraries like this one: types, shapes and the graph.

Dtypes, strides, nesting, depth, memory, time, threads, aliasing, writes through views. The numbers
at kinks and singular points are in ``test_reported_faults``.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import pickle
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import npgrad
from tests.test_reported_faults import close, differences, weights


# ----------------------------------------------------------------------------------------- dtypes
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_a_gradient_keeps_its_primals_dtype(dtype: str) -> None:
    x = np.array([[1.0, 1.0, 0.5], [2.0, 3.0, 3.0]], dtype)
    for f in (
        lambda x: np.mean(x * x),
        lambda x: np.sum(np.max(x, axis=1)),
        lambda x: np.sum(x * 2.0 + 1),
        lambda x: np.sum(np.var(x, axis=0)),
        lambda x: np.sum(x[[0, 0, 1]]),
        lambda x: np.sum(np.exp(x) * np.arange(3)),
        lambda x: np.sum(x.astype(np.float64) ** 2),
        lambda x: np.sum(np.where(x > 1, x, 0)),
        lambda x: np.sum(np.median(x, axis=0)),
        lambda x: np.sum(np.cumsum(x) / 3),
        lambda x: np.sum(np.sort(x) ** 2),
        lambda x: np.sum(np.prod(x, axis=1)),
        lambda x: np.sum(x @ x.T),
    ):
        value, g = npgrad.value_and_grad(f)(x)
        assert g.dtype == x.dtype
        assert np.asarray(value).dtype == np.asarray(f(x)).dtype
        _, t = npgrad.jvp(f, (x,), (x,))
        assert np.asarray(t).dtype == np.asarray(value).dtype


def test_integers_are_not_differentiated() -> None:
    for x in (np.array([1, 2]), np.array([True]), [1, 2][0:1] and np.arange(3)):
        with pytest.raises(TypeError, match=r"integer|int|bool|float"):
            npgrad.grad(lambda x: np.sum(x * x))(x)
    assert npgrad.grad(lambda x: x * x)(3) == 6.0  # a Python number is taken as float


# ---------------------------------------------------------------------------- shapes and strides
@given(st.integers(0, 3), st.integers(0, 3))
def test_broadcasting_against_an_empty_axis(m: int, n: int) -> None:
    a, b = np.ones((m, n)), np.ones((m, 1))
    ga, gb = npgrad.grad(lambda a, b: np.sum(a * b), argnums=(0, 1))(a, b)
    close(ga, np.ones((m, n)))
    close(gb, np.full((m, 1), float(n)))


@given(
    st.sampled_from([None, *range(-7, 8)]),
    st.sampled_from([None, *range(-7, 8)]),
    st.sampled_from([None, -3, -2, -1, 1, 2, 3]),
)
def test_every_slice(start: Any, stop: Any, step: Any) -> None:
    """Slices of any sign, empty ones among them, read and written."""
    s, x = slice(start, stop, step), np.arange(6.0)
    w = weights(x[s].shape)
    want = np.zeros(6)
    want[s] = w
    close(npgrad.grad(lambda x: np.sum(x[s] * w))(x), want)

    def write(x: Any) -> Any:
        y = x * 1.0
        y[s] = 2 * y[s]
        return np.sum(y * weights(6, 1))

    doubled = weights(6, 1)
    doubled[s] *= 2
    close(npgrad.grad(write)(x), doubled)


@given(st.permutations([0, 1, 2]), st.tuples(*[st.sampled_from([1, -1, 2])] * 3))
def test_any_strides(order: Any, steps: Any) -> None:
    """A view with any strides has the gradient of its contiguous copy."""
    base = np.random.default_rng(0).normal(size=(4, 4, 4))
    x = base.transpose(order)[tuple(slice(None, None, s) for s in steps)]
    f = lambda x: np.sum(np.einsum("ijk,ijl->kl", x, x) ** 2) + np.sum(np.sin(x).T.reshape(-1)[::2])
    close(npgrad.grad(f)(x), npgrad.grad(f)(np.ascontiguousarray(x)))
    assert np.all(base == np.random.default_rng(0).normal(size=(4, 4, 4)))
    spread = np.broadcast_to(base[0, 0], (3, 4))
    close(npgrad.grad(lambda x: np.sum(x**2))(spread), 2 * spread)


def test_one_gradient_function_for_many_broadcasts() -> None:
    g = npgrad.grad(lambda x, y: np.sum(x * y), 1)
    x = np.arange(9.0).reshape(3, 3)
    for shape, axes in (
        ((3, 3), ()),
        ((3, 1), 1),
        ((1, 3), 0),
        ((3,), 0),
        ((), None),
        ((3, 3), ()),
    ):
        close(g(x, np.ones(shape)), x.sum(axes).reshape(shape) if axes != () else x)


# ------------------------------------------------------------------------------------------ nesting
def reverse(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return npgrad.grad(f)


def forward(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: npgrad.jvp(f, (x,), (np.ones_like(x),))[1]


@pytest.mark.parametrize("outer", [reverse, forward])
@pytest.mark.parametrize("inner", [reverse, forward])
def test_perturbations_are_not_confused(outer: Any, inner: Any) -> None:
    one = np.array(1.0)
    close(outer(lambda x: x * inner(lambda y: x + y)(one))(one), 1.0)
    close(outer(lambda x: x * inner(lambda y: x * y)(one))(np.array(3.0)), 6.0)
    close(outer(lambda x: inner(lambda y: (x - y) ** 2)(one))(np.array(5.0)), -2.0)
    close(outer(lambda x: inner(lambda y: x)(one) + x * x)(np.array(3.0)), 6.0)


@pytest.mark.parametrize("modes", list(itertools.product([reverse, forward], repeat=4)))
def test_fourth_derivatives_in_any_order_of_modes(modes: Any) -> None:
    """The Morse potential near its minimum, with u = exp(1 - x): 16 u^2 - 2 u."""
    d: Any = lambda x: (1.0 - np.exp(-(x - 1.0))) ** 2
    for mode in modes:
        d = mode(d)
    for x in (0.9, 1.0, 1.05):
        u = math.exp(1 - x)
        close(d(np.array(x)), -2 * u + 16 * u * u)


@given(st.integers(0, 100))
def test_hessians_of_one_form_in_many_spellings(seed: int) -> None:
    h = np.random.default_rng(seed).normal(size=(3, 3))
    for f in (
        lambda x: np.dot(x, np.dot(h, x)),
        lambda x: x @ h @ x,
        lambda x: np.einsum("i,ij,j->", x, h, x),
        lambda x: np.sum(x * np.matmul(h, x)),
        lambda x: np.vdot(x, np.tensordot(h, x, 1)),
        lambda x: np.trace(np.outer(x, x) @ h),
    ):
        close(npgrad.hessian(f)(np.zeros(3)), h + h.T)
        close(npgrad.hvp(f, np.ones(3), np.arange(3.0)), (h + h.T) @ np.arange(3.0))


# ------------------------------------------------------------------------------- the graph itself
def test_deep_graphs_neither_recurse_nor_slow_down() -> None:
    def f(x: Any) -> Any:
        for _ in range(30_000):
            x = x * 1.0001
        return x

    close(npgrad.grad(f)(np.array(2.0)), 1.0001**30_000, rtol=1e-8)
    close(npgrad.jvp(f, (np.array(2.0),), (np.array(1.0),))[1], 1.0001**30_000, rtol=1e-8)


def test_diamonds_are_visited_once() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = x + x
        return x

    close(npgrad.grad(f)(np.array(1.0)), 2.0**60)


def peak(run: Callable[[], Any]) -> int:
    """The most memory traced while `run` ran, above what there was."""
    run()
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_partial_gradients_are_added_as_they_come() -> None:
    x = np.random.default_rng(0).normal(size=200_000)

    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(60):
            total = total + np.sum(x * 2.0)
        return total

    arrays = peak(lambda: npgrad.grad(f)(x)) / x.nbytes
    assert arrays < 12, f"a peak of {arrays:.0f} arrays"


def test_memory_is_freed_as_backward_proceeds() -> None:
    x = np.random.default_rng(0).normal(size=200_000)

    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x)
        return np.sum(x)

    arrays = peak(lambda: npgrad.grad(f)(x)) / x.nbytes
    assert arrays < 28, f"a peak of {arrays:.0f} arrays: 20 are kept"


def test_nothing_is_left_behind() -> None:
    x = np.random.default_rng(0).normal(size=1000)
    g = npgrad.value_and_grad(lambda x: np.sum(np.tanh(x[::2]) ** 2) / np.linalg.norm(x))
    for _ in range(10):
        g(x)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(200):  # modules' dictionaries, where names come and go, are laid out anew
            g(x)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            g(x)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 8000, f"{grown} bytes more after 50 gradients"


def seconds(f: Callable[[int], Any], n: int) -> float:
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        f(n)
        best = min(best, time.perf_counter() - start)
    return best


def read_scalars(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * 2.0
    return total


def read_rows(x: Any) -> Any:
    total = 0.0
    for row in np.reshape(x, (-1, 5)):
        total = total + np.sum(row * row)
    return total


def fill(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * 2.0
    return np.sum(y)


def recur(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y[-1]


def augment(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] += x[i] * 2.0
    return np.sum(y)


@pytest.mark.parametrize("f", [read_scalars, read_rows, fill, recur, augment])
def test_loops_are_linear(f: Callable[[Any], Any]) -> None:
    """Eight times the entries take much less than 64 times the time, in both modes."""
    g = lambda n: npgrad.grad(f)(np.ones(n))
    g(100)
    for _ in range(3):
        small, large = seconds(g, 1000), seconds(g, 8000)
        if large < 20 * small + 0.05:
            return
    raise AssertionError(f"1000 entries {small:.4f} s, 8000 entries {large:.4f} s")


# ------------------------------------------------------------------------------------------ threads
def in_threads(work: Callable[[int], Any], n: int = 8) -> list[Any]:
    results: list[Any] = [None] * n
    errors: list[BaseException] = []

    def run(k: int) -> None:
        try:
            for _ in range(20):
                results[k] = work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_threads_share_a_leaf() -> None:
    values = np.array([1.0, 2.0, 3.0])
    x = npgrad.array(values)
    for k, g in enumerate(in_threads(lambda k: np.sum(x * x * (k + 1.0)).backward()[x])):
        close(g, 2 * (k + 1) * values)


def test_threads_do_not_see_each_others_modes() -> None:
    def work(k: int) -> Any:
        x = np.arange(3.0)
        if k % 2:
            with npgrad.no_grad():
                np.sum(npgrad.array(x) ** 2)
        return npgrad.grad(lambda x: np.sum(x ** (k + 1)))(x)

    for k, g in enumerate(in_threads(work)):
        close(g, (k + 1) * np.arange(3.0) ** k)


# ---------------------------------------------------------------------------- aliasing and copies
def test_gradients_share_no_memory() -> None:
    """Gradients of several arguments, the cotangent and the arguments are apart in memory."""
    x, y, ct = np.ones(3), np.ones(3), np.ones(3)
    for f in (
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: np.stack([x, y])[0] + y,
        lambda x, y: np.concatenate([x, y])[:3] + np.reshape(y, (3,)),
        lambda x, y: x * y,
        lambda x, y: np.where(True, x, y) + y.T,
        lambda x, y: np.broadcast_to(x, (3,)) + y,
    ):
        _, pull = npgrad.vjp(f, x, y)
        gx, gy = pull(ct)
        for a, b in itertools.combinations([x, y, ct, gx, gy], 2):
            assert not np.shares_memory(a, b)
        again = pull(ct)
        assert not np.shares_memory(gx, again[0])
        gx[...] = 99.0
        close(pull(ct)[0], again[0])
    assert np.all(ct == 1)


def test_the_users_arrays_are_left_alone() -> None:
    x, c = np.arange(4.0), np.arange(4.0)

    def f(x: Any) -> Any:
        y = x * c
        y[0] = 7.0
        y += c
        np.add.at(y, [0, 0], 1.0)
        return np.sum(y * y)

    g = npgrad.grad(f)(x)
    assert np.all(x == np.arange(4.0)) and np.all(c == np.arange(4.0))
    assert x.flags.writeable and c.flags.writeable and g.flags.writeable


def test_copies_and_pickles() -> None:
    x = npgrad.array([1.0, 2.0])
    close(pickle.loads(pickle.dumps(x)), [1.0, 2.0])
    y = copy.deepcopy(x * 2.0)
    close(np.sum(y * y).backward()[x], 8 * np.array([1.0, 2.0]))
    z = np.copy(x)
    z[0] = 5.0
    close(x, [1.0, 2.0])
    close(np.sum(z * z).backward()[x], [0.0, 4.0])


# ----------------------------------------------------------------------------- writes through views
@given(st.integers(0, 1000))
def test_a_view_and_its_base_are_one(seed: int) -> None:
    """Written through either end, read through the other; the gradient sees both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 4))
    factor = rng.normal(size=(3, 4))

    def by_views(x: Any) -> Any:
        y = x * 1.0
        v = y.T[1:]
        v *= factor.T[1:]
        y[0] = y[1]
        w = y.reshape(-1)
        w[2] = 3.0
        return np.sum(v**2) + np.sum(np.sin(w))

    got = npgrad.grad(by_views)(x)
    close(got, differences(lambda x: float(by_views(x)), x), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------- a number beside other objects
class Vector:
    """A user's class that multiplies from its right side, as NumPy's numbers let it."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __rmul__(self, factor: Any) -> Vector:
        return Vector(*[factor * entry for entry in self.entries])

    def __rfloordiv__(self, number: Any) -> Vector:
        return Vector(*[number * entry**2 for entry in self.entries])

    def squared(self) -> Any:
        return sum(entry**2 for entry in self.entries)


@pytest.mark.parametrize("wrap", [True, False])
def test_a_number_leaves_the_product_to_an_object_that_has_one(wrap: bool) -> None:
    def f(x: Any) -> Any:
        return (x[0] * Vector(x[1], x[2])).squared()

    x = np.array([1.0, 2.0, 3.0])
    value, gradient = npgrad.value_and_grad(f, wrap=wrap)(x)
    assert value == f(x) == 13.0
    close(gradient, [26.0, 4.0, 6.0])  # x0**2 (x1**2 + x2**2)
    close(npgrad.grad(lambda x: (x[0] // Vector(x[1])).squared())(x), [32.0, 32.0, 0.0])
    with pytest.raises(TypeError, match="entry by entry"):
        npgrad.grad(lambda x: x * Vector(1.0, 2.0))(x)


@pytest.mark.parametrize("left", ["number", "array"])
def test_a_sparse_matrix_to_the_right(left: str) -> None:
    dense = np.arange(16.0).reshape(4, 4)
    matrix = scipy.sparse.csr_matrix(dense)
    x = np.array([1.0, 2.0, 0.5, 0.7])
    f = {"number": lambda x: (x[0] * matrix).sum(), "array": lambda x: np.sum(x * matrix)}[left]
    f(x)
    expected = {"number": [dense.sum(), 0, 0, 0], "array": dense.sum(axis=1)}[left]
    np.testing.assert_allclose(npgrad.grad(f)(x), expected)


@pytest.mark.parametrize("items", [[1, 2, 3], (1.0, 2.0)])
def test_a_number_repeats_no_sequence(items: Any) -> None:
    x = np.array([1.0, 2.0])
    for f in (lambda x: x[0] * items, lambda x: items * x[0]):
        with pytest.raises(TypeError, match="can't multiply sequence"):
            f(x)
        with pytest.raises(TypeError, match="can't multiply sequence"):
            npgrad.grad(f)(x)
    close(npgrad.grad(lambda x: np.sum(x[0] + np.asarray(items)))(x), [float(len(items)), 0.0])
    close(npgrad.grad(lambda x: np.sum(x[0] + items))(x), [float(len(items)), 0.0])


def test_the_length_of_a_number_says_what_would_be_lost() -> None:
    with pytest.raises(TypeError, match=r"npgrad\.value"):
        npgrad.grad(lambda x: len(x[0]))(np.ones(2))


class Wrapped:
    """A class with NumPy's protocol for ufuncs and no operators."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.array if type(x) is Wrapped else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def test_an_operand_with_the_protocol_alone_is_asked() -> None:
    x, w = np.array([1.0, 2.0, 3.0]), np.array([2.0, 5.0, 7.0])
    close(npgrad.grad(lambda x: np.sum(x * Wrapped(w)))(x), w)
    close(npgrad.grad(lambda x: np.sum((Wrapped(w) - x) * w))(x), -w)
    close(npgrad.grad(lambda x: x @ Wrapped(w))(x), w)


def test_what_has_no_bits_and_what_cannot_be_deleted_raise_as_in_numpy() -> None:
    x = npgrad.array([1.0, 2.0])
    for f in (lambda x: x & 1, lambda x: 1 | x, lambda x: ~x, lambda x: x << 1):
        with pytest.raises(TypeError, match="not supported for the input types"):
            f(x)
    with pytest.raises(ValueError, match="cannot delete array elements"):
        del x[0]
    with pytest.raises(TypeError, match="item deletion"):
        del x[0][()]
