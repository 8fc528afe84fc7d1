"""Sweeps that come again are replayed: what is replayed is the sweep of the recording at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import nn
from npgrad.cuda import blas, sweeps
from npgrad.cuda.capture import Graph
from npgrad.errors import OperandMutated
from npgrad.graph import deferred

from .machine import Array, Evaluator, host, stand_in

CALLS = sweeps.FIRST + 4


class Again:
    """In the place of a graph: the recorded sweep is done again, with other arrays."""

    def __init__(self, function: Callable[..., Any], arrays: Any) -> None:
        self.function = function
        self.places = [array.copy() for array in arrays]
        function(self.places)

    def launch(self, arrays: Any) -> Any:
        for place, array in zip(self.places, arrays, strict=True):
            host(place)[...] = host(array)
        return [None if g is None else g.copy() for g in self.function(self.places)]

    def check(self) -> None:
        """Was done within the sweep."""


class Replaying(Evaluator):
    """The stand-in's evaluator, with sweeps that come again."""

    kind: Any = Again

    def sweeps(self) -> Any:
        return sweeps.Sweeps(self.kind)


@pytest.fixture(params=[Again, Graph], ids=["again", "graph"])
def put(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts an array on the device; both ways of replaying."""
    with stand_in(monkeypatch) as asarray:
        evaluator = Replaying(deferred.evaluator().library)
        evaluator.kind = request.param
        monkeypatch.setattr(blas, "matmul", np.matmul)  # cuBLAS's
        deferred.use(lambda: evaluator)
        yield asarray


def replayed(step: Any) -> int:
    """How many sweeps of `step` were replays."""
    return int(getattr(step._recurring.device, "replayed", 0))


def check(f: Any, put: Any, make: Callable[[int], tuple[Any, ...]], argnums: Any = 0) -> Any:
    """Gradients of many calls, each with other numbers, are those of the host; the step."""
    step, there = npgrad.value_and_grad(f, argnums), npgrad.value_and_grad(f, argnums)
    kept = []
    for seed in range(CALLS):
        args = make(seed)
        found = step(*[put(a) if isinstance(a, np.ndarray) else a for a in args])
        kept.append((found, there(*args)))
    for (value, gradients), (wanted, wants) in kept:  # nobody wrote over an earlier result
        np.testing.assert_allclose(host(value), wanted, rtol=1e-12)
        if not isinstance(gradients, tuple):
            gradients, wants = (gradients,), (wants,)
        for g, want in zip(gradients, wants, strict=True):
            assert type(g) is Array
            np.testing.assert_allclose(host(g), want, rtol=1e-12, atol=1e-14)
    return step


def normal(seed: int, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape) for shape in shapes)


EVERYDAY: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "elementwise": (lambda x, y: np.sum(np.tanh(x * y) * x - y), ((3, 4), (4,))),
    "one used twice": (lambda x, y: np.sum(x * x * y + x), ((5,), (5,))),
    "products": (lambda x, w: np.sum(np.tanh(x @ w) @ w.T), ((3, 4), (4, 2))),
    "shapes": (lambda x, y: np.mean(np.reshape(x, (2, 6)).T * y), ((3, 4), (6, 2))),
    "an axis": (lambda x, y: np.sum(np.sum(x, axis=0, keepdims=True) ** 2 * y), ((3, 4), (4,))),
    "of no axes": (lambda x, y: x * y * y, ((), ())),
    "an argument without effect": (lambda x, y: np.sum(x * x), ((2,), (3,))),
}


@pytest.mark.parametrize("name", EVERYDAY)
def test_replays_are_the_sweeps_of_their_recordings(name: str, put: Any) -> None:
    f, shapes = EVERYDAY[name]
    step = check(f, put, lambda seed: normal(seed, *shapes), (0, 1))
    assert replayed(step) >= CALLS - sweeps.FIRST  # the first use of an operator takes another way


def test_activations_and_norms(put: Any) -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.sum(nn.relu(x * w) * nn.sigmoid(x) + np.where(x > 0, w, np.exp(x)))

    assert replayed(check(loss, put, lambda seed: normal(seed, (3, 4), (4,)), (0, 1))) > 3


def test_a_number_is_part_of_what_is_replayed(put: Any) -> None:
    step = npgrad.grad(lambda x, c: np.sum(x * x * c))
    x = put(np.array([1.0, 2.0]))
    for _ in range(CALLS):
        step(x, 3.0)
    assert replayed(step) > 3
    for c in (5.0, 0.0, -0.0, 3.0, True, 3):
        assert host(step(x, c)).tolist() == [2.0 * c, 4.0 * c]


def keys_of(put: Any, monkeypatch: pytest.MonkeyPatch, *functions: Any) -> list[Any]:
    """The key of each function's sweep, of arguments of their own."""
    found: list[Any] = []

    def read(self: Any, order: Any, leaves: Any) -> None:
        found.append(tuple(sweeps._Structure(order, leaves).key))

    monkeypatch.setattr(sweeps.Sweeps, "_found", read)
    for turn in range(2):  # the first use of an operator takes another way
        found.clear()
        for seed, f in enumerate(functions):
            x, y = normal(seed + turn, (3, 4), (3, 4))
            npgrad.grad(f, (0, 1))(put(x), put(y))
    return found


def tanh_of(c: float) -> Any:
    return lambda x, y: np.sum(np.tanh(x * c) * y)


def difference(turned: bool) -> Any:
    def f(x: Any, y: Any) -> Any:
        a, b = np.exp(x), np.exp(y)
        return np.sum(b - a if turned else a - b)

    return f


PAIRS: dict[str, tuple[Any, Any]] = {
    "a number in an expression": (tanh_of(2.0), tanh_of(3.0)),
    "the sign of zero": (tanh_of(0.0), tanh_of(-0.0)),
    "which parent is which": (difference(False), difference(True)),
    "the operation": (lambda x, y: np.sum(x * y), lambda x, y: np.sum(x / y)),
    "an operation in an expression": (
        lambda x, y: np.sum(np.negative(x * y) * y), lambda x, y: np.sum(np.square(x * y) * y)
    ),
    "an axis": (lambda x, y: np.sum(x.sum(0) ** 2 * y), lambda x, y: np.sum(x.sum(-2) ** 2 * y)),
    "a shape": (
        lambda x, y: np.sum(np.reshape(x * y, (2, 6)) ** 2),
        lambda x, y: np.sum(np.reshape(x * y, (6, 2)) ** 2),
    ),
    "a region": (lambda x, y: np.sum(x[:2] * y[:2]), lambda x, y: np.sum(x[1:] * y[:2])),
    "which operand": (lambda x, y: np.sum(x * y * x), lambda x, y: np.sum(x * y * y)),
    "whether an operand is recorded": (
        lambda x, y: np.sum(x * npgrad.value(y) * y), lambda x, y: np.sum(x * y * y)
    ),
    "a parameter": (
        lambda x, y: np.sum(nn.leaky_relu(x * y, 0.1)),
        lambda x, y: np.sum(nn.leaky_relu(x * y, 0.2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_decides_is_in_the_key(name: str, put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = PAIRS[name]
    first, again, second = keys_of(put, monkeypatch, one, one, other)
    assert first == again
    assert first != second


def test_another_branch_is_another_sweep(put: Any) -> None:
    step = npgrad.grad(lambda x, deep: np.sum((np.tanh(x) if deep else np.exp(x)) * x))
    x = np.array([0.5, -1.0])
    for turn in range(3 * CALLS):
        deep = turn % 3 == 0
        y, slope = (np.tanh(x), 1 - np.tanh(x) ** 2) if deep else (np.exp(x), np.exp(x))
        np.testing.assert_allclose(host(step(put(x), deep)), slope * x + y)
    assert len(step._recurring.device.seen) >= 2


def test_other_shapes_and_dtypes(put: Any) -> None:
    step = npgrad.grad(lambda x: np.sum(x * x * x))
    for _ in range(CALLS):
        for x in (np.ones(2), np.ones(3), np.ones((3, 1)), np.ones(2, "f4")):
            found = step(put(x))
            assert found.shape == x.shape
            assert found.dtype == x.dtype
            assert (host(found) == 3).all()


def test_a_users_rule_runs_at_every_sweep(put: Any) -> None:
    turns: list[int] = []

    @npgrad.primitive
    def doubled(x: Any) -> Any:
        return x * 2.0

    def rule(ans: Any, x: Any) -> Any:
        turns.append(1)
        return lambda g: g * 2.0 * len(turns)

    doubled.defvjp(rule)
    step = npgrad.grad(lambda x: np.sum(doubled(x) * x))
    x = put(np.array([1.0, 3.0]))
    for _ in range(CALLS):
        before = len(turns)
        found = host(step(x))
        assert len(turns) > before
        assert found.tolist() == [2.0 + 2.0 * len(turns), 6.0 + 6.0 * len(turns)]
    assert not replayed(step)


def test_a_changed_operand_is_noticed(put: Any) -> None:
    plain = put(np.arange(4000.0))
    changes: list[Any] = []

    def f(x: Any) -> Any:
        y = np.sum(x * plain)
        for change in changes:
            host(plain)[5] += change
        return y

    step, x = npgrad.grad(f), put(np.ones(4000))
    for factor in range(CALLS):
        host(plain)[...] = np.arange(4000.0) + factor
        assert (host(step(x)) == host(plain)).all()
    assert replayed(step) > 3
    changes.append(1.0)
    with pytest.raises(OperandMutated, match="multiply"):
        step(x)
    changes.clear()
    assert (host(step(x)) == host(plain)).all()


def test_what_cannot_be_recorded_is_swept_as_ever(
    put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(sweeps, "_swept", refuse)
    step = npgrad.grad(lambda x: np.sum(x * x))
    for _ in range(CALLS):
        assert host(step(put(np.array([1.0, 2.0])))).tolist() == [2.0, 4.0]
    assert not replayed(step)


def test_large_recordings_and_other_modes_are_left_alone(
    put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = npgrad.grad(lambda x: np.sum(x * x))
    with npgrad.debug():
        for _ in range(CALLS):
            step(put(np.ones(2)))
    assert not replayed(step)
    monkeypatch.setattr(sweeps, "MOST_BYTES", 15)
    for _ in range(CALLS):
        step(put(np.ones(2)))
    assert not replayed(step)


def test_functions_that_never_come_again_are_given_up(put: Any) -> None:
    step = npgrad.grad(lambda x, c: np.sum(x * x * c))
    for turn in range(sweeps.TRUST + 3):
        step(put(np.ones(2)), float(turn))
    assert len(step._recurring.device.seen) <= sweeps.KEPT
    assert step._recurring.device.trust < 0


def test_an_array_is_not_taken_for_an_expression_of_its_number(put: Any) -> None:
    first, second = put(np.ones(2)), put(np.ones(2))
    given = [deferred.lazily(array) for array in (first, second)]
    both = given[0] * given[1]
    keys = set()
    for last in (first, second, *given, both):
        structure = sweeps._Structure((), ())
        for value in (*given, both, first, second, last):
            structure.value(value)
        keys.add(tuple(structure.key))
    assert len(keys) == 5


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from npgrad.cuda.deferred import Evaluator as Real

    assert type(Real(None).sweeps()) is sweeps.Sweeps
    monkeypatch.setenv("NPGRAD_CUDA_REPLAY", "0")
    assert Real(None).sweeps() is None
