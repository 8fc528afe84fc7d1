"""The reverse sweep's looks at what it holds: what counts as finite, and what a second sweep costs.

A sum of finite entries may overflow. Such a false alarm must neither change a gradient nor cost a
second, careful sweep.
"""

import numpy as np
import pytest

import npgrad
from npgrad.graph import backend, ownership
from npgrad.graph.array import current
from npgrad.graph.backward import Backward
from npgrad.graph.order import collect


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@np.errstate(all="ignore")
def test_large_finite_entries_are_finite(dtype):
    largest = np.finfo(dtype).max
    assert backend.finite(np.full(4, largest, dtype))
    assert backend.finite(np.full((3, 2), -largest, dtype)[::2].T)
    assert backend.finite(np.dtype(dtype).type(largest))
    assert backend.finite(np.zeros((0, 3), dtype))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, complex(0, np.inf), complex(1, np.nan)])
@np.errstate(all="ignore")
def test_one_entry_that_is_not_finite_is_found(bad):
    dtype = complex if isinstance(bad, complex) else float
    for shape in ((5,), (2, 3), ()):
        array = np.ones(shape, dtype)
        array[(-1,) * len(shape)] = bad
        assert not backend.finite(array)
    assert not backend.finite(np.array([bad, -bad], dtype))
    assert not backend.finite(dtype(bad))


def swept(y, seed, careful=False):
    """The sweep of `y`, and the gradients by leaf."""
    node = current(y)[1]
    walk = Backward()
    walk.careful = careful
    walk.run(collect([node], 0)[0], [(node, seed)], True)
    return walk


def test_an_overflowing_sum_is_no_reason_to_sweep_again():
    x = npgrad.array(np.array([1.0, 2.0, 0.0]))
    y = x * 3.0
    seed = np.array([5e307, 5e307, 5e307])
    walk = swept(y, seed)
    assert not walk.careful
    ((_, g),) = walk.leaves.values()
    np.testing.assert_array_equal(g, 3.0 * seed)


def test_a_careful_sweep_of_finite_values_changes_nothing():
    x = npgrad.array(np.array([0.5, 1.5, 2.5]))
    y = np.sin(x) * np.exp(x[::-1]) / np.sqrt(x) + np.where(x > 1, x**3, 2.0)
    seed = np.array([1e300, 0.0, -2.0])
    fast, slow = (swept(y, seed, careful) for careful in (False, True))
    for (_, a), (_, b) in zip(fast.leaves.values(), slow.leaves.values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_zeros_beside_an_infinity_still_lead_to_the_careful_sweep():
    x = npgrad.array(np.array([0.0, 4.0]))
    walk = swept(np.sqrt(x), np.array([0.0, 1.0]))
    assert walk.careful
    ((_, g),) = walk.leaves.values()
    np.testing.assert_array_equal(g, [0.0, 0.25])


def test_only_a_view_that_nobody_shares_counts_as_owned():
    owner = np.zeros((3, 4))
    assert ownership.sole_view(owner)
    for fresh in (np.zeros(12).reshape(3, 4), np.zeros(12).view(np.int64)):
        assert ownership.sole_view(fresh)
    assert not ownership.sole_view(owner.T)  # `owner` still refers to the memory
    assert not ownership.sole_view(owner[1:])
    assert not ownership.sole_view(np.broadcast_to(np.zeros(3), (2, 3)))
    view = owner.T
    part = view[1:]
    del owner
    assert not ownership.sole_view(view)  # `part` sees it too
    assert not ownership.sole_view(part)


def test_a_cotangent_that_arrives_as_a_view_is_not_written_over():
    """Transposes hand the same memory on; adding in place would change the other gradient."""
    x = npgrad.array(np.arange(8000.0).reshape(80, 100))
    z = npgrad.array(np.arange(8000.0).reshape(100, 80))
    y = x.T + z  # both get the seed, x a view of it
    total = np.sum(y * y) + np.sum(x) + 2.0 * np.sum(z)
    store = total.backward()
    plain = np.arange(8000.0).reshape(80, 100).T + np.arange(8000.0).reshape(100, 80)
    np.testing.assert_array_equal(store[x], 2.0 * plain.T + 1.0)
    np.testing.assert_array_equal(store[z], 2.0 * plain + 2.0)


def test_only_masked_rules_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the cotangents is of use where a careful sweep would differ, and costs a pass."""
    looks: list[int] = []
    finite = backend.finite
    monkeypatch.setattr(backend, "finite", lambda value: looks.append(1) or finite(value))
    x = npgrad.array(np.array([-1.0, 0.0, 2.0]))
    npgrad.nn.relu(x).backward(np.ones(3))
    assert not looks
    with np.errstate(invalid="ignore"):
        gradient = np.where(x > 0, np.sqrt(x), 0).sum().backward()[x]
    assert looks
    np.testing.assert_array_equal(gradient, [0, 0, 0.5 / np.sqrt(2.0)])
