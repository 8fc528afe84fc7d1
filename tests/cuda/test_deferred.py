"""Elementwise operations that are put off: on arrays that stand for a device's, no GPU needed.

Each kernel's text runs in Python, element by element; expected values are the host's, or the
mathematics.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import OperandMutated
from npgrad.graph import backend, deferred, questions
from npgrad.graph.deferred import Deferred, lazily, settled
from tests.samples import elementwise, piecewise
from tests.samples.core import Sample

from . import recorded
from .standing import DeviceArray, Interpreted, device, to_device, to_host


@pytest.fixture
def fused() -> Iterator[Interpreted]:
    """Every expression gets a kernel at once."""
    with device(Interpreted(1)) as evaluator:
        yield evaluator


def chain(x: Any, w: Any) -> Any:
    t = x
    for _ in range(3):
        t = np.tanh(t * 1.01 + x) * 0.9
    return np.sum(t * w + np.sqrt(x * x + 1) / w)


@pytest.fixture(autouse=True, scope="module")
def operators_were_used() -> None:
    """The very first use of an operator takes another way, and is not put off."""
    one = np.ones(2)
    with device(Interpreted(10**6)):
        npgrad.grad(chain, (0, 1))(to_device(one), to_device(one))
        npgrad.grad(lambda x: np.sum(2.0 * np.exp(x) * 2.0 - x))(to_device(one))


# the stand-in has no way through for these, whoever computes
HOST_ONLY = {
    "np.where one argument", "np.piecewise", "np.piecewise otherwise", "np.piecewise arguments",
    "np.piecewise scalar",
}  # fmt: skip
X, W = np.array([0.3, -1.2, 2.0, 0.0]), np.array([1.5, -0.5, 2.5, 1.0])


def test_one_kernel_forward_and_one_for_both_gradients(fused: Interpreted) -> None:
    want, wanted = npgrad.value_and_grad(chain, (0, 1))(X, W)
    got, found = npgrad.value_and_grad(chain, (0, 1))(to_device(X), to_device(W))
    assert fused.launched == 2
    assert to_host(got) == pytest.approx(want, rel=1e-14)
    for a, b in zip(found, wanted, strict=True):
        assert type(a) is DeviceArray
        np.testing.assert_allclose(to_host(a), b, rtol=1e-14)


def test_float32_stays_float32(fused: Interpreted) -> None:
    x, w = X.astype(np.float32), W.astype(np.float32)
    found = npgrad.grad(chain, (0, 1))(to_device(x), to_device(w))
    wanted = npgrad.grad(chain, (0, 1))(X, W)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(to_host(a), b, rtol=2e-6)


@pytest.mark.parametrize("again", [1, 2, 3])
def test_kernels_are_made_for_what_comes_again(again: int) -> None:
    with device(Interpreted(again)) as evaluator:
        step = npgrad.grad(lambda x: np.sum(np.exp(x) * 2.0))
        step(X)  # the very first use of an operator takes another way, and is not put off
        for times in range(1, 5):
            got = to_host(step(to_device(X)))
            np.testing.assert_allclose(got, 2 * np.exp(X), rtol=1e-15)
            assert evaluator.launched == 2 * max(0, times - again + 1)
        assert len(evaluator.seen) == 2


def test_numbers_are_arguments_and_sizes_too(fused: Interpreted) -> None:
    npgrad.grad(lambda x: np.sum(2.0 * np.sqrt(x)))(W[:1])
    for n, factor in ((3, 2.0), (5, 3.0), (0, 4.0), (1, 5.0)):
        x = np.linspace(0.1, 1, n)
        got = npgrad.grad(lambda x, k=factor: np.sum(k * np.sqrt(x)))(to_device(x))
        np.testing.assert_allclose(to_host(got), factor / 2 / np.sqrt(x), rtol=1e-14)
    assert len(fused.seen) == 2


def test_gradients_do_not_share_memory(fused: Interpreted) -> None:
    x = to_device(X)
    a, b = npgrad.grad(lambda a, b: np.sum(np.exp(a + b)), (0, 1))(x, x)
    assert a is not b
    a[...] = 0
    np.testing.assert_allclose(to_host(b), np.exp(2 * X), rtol=1e-14)
    given = to_device(np.ones(4))
    _, pull = npgrad.vjp(lambda a, b: a + b, x, x)
    first, second = pull(given)
    first[...] = 7
    assert to_host(second).tolist() == to_host(given).tolist() == [1] * 4


def test_zero_cotangents_stay_zero_without_a_look(fused: Interpreted) -> None:
    x = to_device(np.array([0.0, 1.0, 4.0]))
    got = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)))(x)
    assert to_host(got).tolist() == [0.0, 0.5, 0.25]
    with np.errstate(divide="ignore", invalid="ignore"):
        got = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.log(x) * x, 0)))(x)
    np.testing.assert_allclose(to_host(got), [0.0, 1.0, 1 + np.log(4)], rtol=1e-15)


def test_an_infinite_gradient_is_infinite(fused: Interpreted) -> None:
    got = npgrad.grad(lambda x: np.sum(np.sqrt(x)))(to_device(np.array([1.0, 4.0])))
    assert to_host(got).tolist() == [0.5, 0.25]
    with device(Interpreted(10**6)):  # (Python's division by zero raises)
        got = npgrad.grad(lambda x: np.sum(np.sqrt(x)))(to_device(np.array([0.0, 4.0])))
    assert to_host(got).tolist() == [np.inf, 0.25]


def test_a_write_does_not_reach_what_was_put_off(fused: Interpreted) -> None:
    def f(x: Any) -> Any:
        y = x * 3.0
        z = np.exp(y)  # put off: it has to see y as it is now
        y[0] = x[1] * 10.0
        return np.sum(z) + np.sum(y)

    got, grad = npgrad.value_and_grad(f)(to_device(X))
    want, wanted = npgrad.value_and_grad(f)(X)
    assert to_host(got) == pytest.approx(want, rel=1e-14)
    np.testing.assert_allclose(to_host(grad), wanted, rtol=1e-14)


def test_a_plain_array_is_never_put_off(fused: Interpreted) -> None:
    c = to_device(np.array([1.0, 2.0, 3.0, 4.0]))

    def f(x: Any) -> Any:
        y = x + c
        c[...] = 0.0
        return np.sum(y * y)

    got = npgrad.grad(f)(to_device(X))
    np.testing.assert_allclose(to_host(got), 2 * (X + [1, 2, 3, 4]), rtol=1e-15)


def test_views_of_values_that_were_put_off(fused: Interpreted) -> None:
    def f(x: Any) -> Any:
        y = np.tanh(x) * 2.0
        v = y[1:]
        v *= x[0]
        return np.sum(y * np.exp(v.sum()))

    got, grad = npgrad.value_and_grad(f)(to_device(X))
    want, wanted = npgrad.value_and_grad(f)(X)
    assert to_host(got) == pytest.approx(want, rel=1e-14)
    np.testing.assert_allclose(to_host(grad), wanted, rtol=1e-13)


def test_broadcasting_computes_the_smaller_one_first(fused: Interpreted) -> None:
    def f(x: Any, row: Any, one: Any) -> Any:
        return np.sum(np.exp(row * one) * x - np.sqrt(row) / one)

    args = (np.arange(6.0).reshape(2, 3), np.array([0.5, 1.0, 2.0]), np.array(1.5))
    want = npgrad.grad(f, (0, 1, 2))(*args)
    got = npgrad.grad(f, (0, 1, 2))(*map(to_device, args))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(to_host(a), b, rtol=1e-13)


@pytest.mark.parametrize("length", [100, 900])
def test_long_chains_are_cut(fused: Interpreted, length: int) -> None:
    def f(x: Any) -> Any:
        for _ in range(length):
            x = np.sin(x) * 1.1
        return np.sum(x)

    x = np.array([0.4])
    want = npgrad.grad(f)(x)
    np.testing.assert_allclose(to_host(npgrad.grad(f)(to_device(x))), want, rtol=1e-11)
    assert max(fused.lengths) <= deferred.LONGEST + deferred.FORWARD
    # each forward operation is computed at most a few times: the work is linear in the length
    assert sum(fused.lengths) < 20 * length


def test_activations_are_part_of_an_expression(fused: Interpreted) -> None:
    def f(x: Any) -> Any:
        t = npgrad.nn.relu(npgrad.nn.gelu(x) * 2.0 + 0.1)
        return np.sum(npgrad.nn.silu(t) * npgrad.nn.softplus(t) + npgrad.nn.leaky_relu(x, 0.2))

    want, wanted = npgrad.value_and_grad(f)(X)
    for _ in range(2):
        before = fused.launched
        got, found = npgrad.value_and_grad(f)(to_device(X))
    assert fused.launched - before == 2
    assert to_host(got) == pytest.approx(want, rel=1e-13)
    np.testing.assert_allclose(to_host(found), wanted, rtol=1e-12)


def test_what_is_asked_later_is_raised_at_the_end_of_the_sweep(fused: Interpreted) -> None:
    w = to_device(np.full(3000, 2.0))  # large: fingerprinted

    def f(x: Any) -> Any:
        y = x * w
        w[5] = 1.0
        return np.sum(y)

    with pytest.raises(OperandMutated, match=r"np\.multiply was changed"):
        npgrad.grad(f)(to_device(np.ones(3000)))
    npgrad.grad(lambda x: np.sum(x * w))(to_device(np.ones(3000)))  # nothing is left behind
    questions.ask_later(to_device(np.array([False])), AssertionError)
    questions.ask_later(to_device(np.array([1])), lambda: ValueError("this one"))
    with pytest.raises(ValueError, match="this one"):
        npgrad.grad(lambda x: np.sum(x * 2.0))(to_device(X))
    questions.answer()


def test_second_order(fused: Interpreted) -> None:
    got = npgrad.hessian(lambda x: np.sum(np.tanh(x) * x**3))(to_device(X))
    want = npgrad.hessian(lambda x: np.sum(np.tanh(x) * x**3))(X)
    np.testing.assert_allclose(to_host(got), want, rtol=1e-12, atol=1e-14)
    got = npgrad.grad(lambda x: np.sum(npgrad.grad(lambda y: np.sum(np.exp(y) * y))(x) ** 2))(
        to_device(X)
    )
    np.testing.assert_allclose(to_host(got), 2 * (X + 1) * (X + 2) * np.exp(2 * X), rtol=1e-13)


@pytest.mark.parametrize(
    "leave",
    [
        lambda y: bool(np.sum(y) > 0),
        lambda y: repr(y),
        lambda y: npgrad.value(y),
        lambda y: y.copy(),
        lambda y: y[1],
        lambda y: y.reshape(2, 2),
        lambda y: y.astype(np.float32),
        lambda y: np.concatenate([y, y]),
        lambda y: (y == y).all(),
        lambda y: np.zeros_like(y),
        lambda y: y.strides,
    ],
)
def test_every_way_out_gives_numbers(fused: Interpreted, leave: Callable[[Any], Any]) -> None:
    x, host = npgrad.array(to_device(X)), npgrad.array(X)
    got, want = leave(x * 2.0), leave(host * 2.0)
    got, want = npgrad.value(got), npgrad.value(want)
    if isinstance(want, str):
        assert "2.4" in got and "0.6" in got
        return
    assert type(got) is not Deferred
    assert np.array_equal(to_host(got), want)
    assert to_host(got).dtype == want.dtype if hasattr(want, "dtype") else True


def test_a_tape_and_its_listeners_see_arrays(fused: Interpreted) -> None:
    with npgrad.Tape() as tape:
        x = tape.leaf(to_device(X))
        y = np.sum(np.exp(x) * 2.0)
    tape.backward(y)
    np.testing.assert_allclose(to_host(tape.grad(x)), 2 * np.exp(X), rtol=1e-15)


def test_what_cannot_be_spelled_runs_as_before(fused: Interpreted) -> None:
    x = to_device(X)
    for operands in ((lazily(x), 1j), (lazily(x), to_device(np.array([1, 2, 3, 4])))):
        made = np.multiply(*operands)
        assert type(made) is DeviceArray
    assert type(np.heaviside(lazily(x), 0.5)) is DeviceArray
    assert settled([lazily(x), (lazily(x),)])[1][0] is x
    with pytest.raises(TypeError, match="not computed yet"):
        np.add(lazily(x), 1.0, out=lazily(x))


def test_nothing_is_put_off_without_an_evaluator() -> None:
    with device(None):
        x = to_device(X)
        assert lazily(x) is x
        np.testing.assert_allclose(
            to_host(npgrad.grad(lambda x: np.sum(np.exp(x)))(x)), np.exp(X), rtol=1e-15
        )


@pytest.mark.parametrize(
    "sample",
    [s for s in (*elementwise.SAMPLES, *piecewise.SAMPLES) if s.name not in HOST_ONLY],
    ids=lambda s: s.name,
)
def test_samples(fused: Interpreted, sample: Sample) -> None:
    recorded.check_sample(sample, to_device, to_host, DeviceArray)


def test_an_expression_asked_for_later_is_computed_where_its_arrays_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The value is asked for after the function, when another device may be the current one."""
    inside: list[Any] = []
    seen: list[bool] = []

    @contextlib.contextmanager
    def where(value: Any) -> Any:
        inside.append(value)
        yield
        inside.pop()

    def apply(x: Any) -> Any:
        seen.append(bool(inside) and inside[-1] is array)
        return x * 2

    with device(Interpreted(10**6)):  # no kernel is made: one call an operation
        array = to_device(X)
        started = deferred.put_off("input", None, (), array.shape, array.dtype, array)
        later = deferred.put_off("twice", apply, (started,), array.shape, array.dtype)
        monkeypatch.setattr(backend, "where_it_lives", where)
        found = deferred.settled(later)
    assert seen == [True]
    np.testing.assert_array_equal(to_host(found), X * 2)
