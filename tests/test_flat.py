"""``x.flat``: an iterator that can be indexed, as NumPy's; ranges as sequences of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad

X = np.array([[0.4, 0.8], [1.3, 2.1]])


def steps(x):
    """Whatever can be asked of the iterator, in an order that shows its state."""
    it = x.T.flat
    seen = [next(it), next(it), it.index, it.coords, len(it)]
    x[1, 1] = x[0, 0] * 3  # seen by the next steps
    seen += [next(it), it.coords, next(it), it.index, it.coords, list(it)]
    seen += [it[1], it.index, next(it)]
    it[2:] = 5.0
    seen += [it.index, it.copy()[2], iter(it) is it, next(it)]
    with pytest.raises(StopIteration):
        [next(it) for _ in range(9)]
    return seen


def test_the_iterator_is_numpys() -> None:
    def plain(seen):
        return [v if isinstance(v, (tuple, list, bool)) else float(npgrad.value(v)) for v in seen]

    assert plain(steps(npgrad.array(X))) == plain(steps(X.copy()))
    x = npgrad.array(X)
    assert x.flat.base is x
    assert list(npgrad.array(np.ones((2, 0))).flat) == []
    assert [float(npgrad.value(v)) for v in npgrad.array(3.0).reshape(()).flat] == [3.0]


def test_the_elements_of_the_iterator_are_recorded() -> None:
    def f(x):
        it = x.T.flat
        return next(it) * next(it) + 10 * sum(v * v for v in it)

    np.testing.assert_allclose(npgrad.grad(f)(X), [[1.3, 16.0], [0.4, 42.0]])


CALLS = {
    "concatenate": lambda x, r: np.concatenate([x, r]),
    "vstack": lambda x, r: np.vstack([x, r]),
    "column_stack": lambda x, r: np.column_stack([x, r]),
    "power": lambda x, r: np.power(x, r),
    "**": lambda x, r: x**r,
    "@": lambda x, r: x @ r,
    "reflected @": lambda x, r: r @ x if type(r) is not memoryview else x @ np.asarray(r),
    "tensordot": lambda x, r: np.tensordot(x, r, 1),
    "kron": lambda x, r: np.kron(r, x),
    "where": lambda x, r: np.where([True, False], x, r),
    "hypot": lambda x, r: np.hypot(x, r),
    "average": lambda x, r: np.average(x, weights=r),
    "interp": lambda x, r: np.interp(x, r, r),
}


@pytest.mark.parametrize("sequence", [range(1, 3), bytearray([1, 2]), memoryview(np.array([1, 2]))])
@pytest.mark.parametrize("name", CALLS)
def test_sequences_of_numbers_are_arrays(name, sequence) -> None:
    x = np.array([0.4, 0.8])
    same = npgrad.grad(lambda x: np.sum(CALLS[name](x, np.asarray(sequence)) ** 2))(x)
    got = npgrad.grad(lambda x: np.sum(CALLS[name](x, sequence) ** 2))(x)
    np.testing.assert_array_equal(got, same)
    assert got.any() or name == "interp"


def test_axes_as_a_range() -> None:
    gradient = npgrad.grad(lambda x: np.roll(x, range(1, 3), range(2))[0, 1])(X)
    assert gradient.tolist() == [[0.0, 0.0], [0.0, 1.0]]
