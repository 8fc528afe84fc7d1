"""`npgrad.cuda.captured` where there is no GPU: CuPy's streams and graphs are stood in for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.cuda import blas
from npgrad.graph import backend, questions

from .machine import Machine, host, stand_in


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts an array on the device."""
    with stand_in(monkeypatch) as put:
        yield put


def loss(parameters: Any, x: Any, power: int = 2) -> Any:
    w, b = parameters
    return np.sum((np.tanh(x * w) + b) ** power)


def arguments(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=4), rng.normal(size=4)), rng.normal(size=(3, 4))


def test_a_replay_is_the_function_of_its_own_arguments(device: Any) -> None:
    step = npgrad.value_and_grad(loss)
    calls = []

    def counted(parameters: Any, x: Any) -> Any:
        calls.append(1)
        return step(parameters, x)

    replayed = npgrad.cuda.captured(counted)
    found = []
    for seed in range(4):
        (w, b), x = arguments(seed)
        value, (gw, gb) = replayed((device(w), device(b)), device(x))
        found.append((host(value), host(gw), host(gb)))
    assert len(calls) == 2  # once to compile, once to record
    for seed, (value, gw, gb) in enumerate(found):  # nobody wrote over an earlier result
        (w, b), x = arguments(seed)
        t = np.tanh(x * w)
        np.testing.assert_allclose(value, np.sum((t + b) ** 2))
        np.testing.assert_allclose(gw, np.sum(2 * (t + b) * (1 - t * t) * x, axis=0))
        np.testing.assert_allclose(gb, np.sum(2 * (t + b), axis=0))


def test_other_shapes_and_numbers_are_other_graphs(device: Any) -> None:
    replayed = npgrad.cuda.captured(npgrad.grad(lambda x, power: np.sum(x**power)))
    for values, power in (([1.0, 2.0], 2), ([1.0, 2.0, 3.0], 2), ([1.0, 2.0], 3), ([3.0, 5.0], 2)):
        got = replayed(device(np.array(values)), power=power)
        np.testing.assert_allclose(host(got), power * np.array(values) ** (power - 1))
    assert len(replayed.graphs) == 3


def test_what_is_asked_at_the_end_of_a_sweep_is_asked_after_each_replay(device: Any) -> None:
    def checked(x: Any) -> Any:
        questions.ask_later((x < 0).any(), lambda: IndexError("negative"))
        questions.answer()
        return x * 2

    replayed = npgrad.cuda.captured(checked)
    replayed(device(np.ones(2)))
    with pytest.raises(IndexError, match="negative"):
        replayed(device(np.array([1.0, -1.0])))
    assert host(replayed(device(np.full(2, 3.0)))).tolist() == [6.0, 6.0]


def test_threads_record_one_after_the_other(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products have a stand-in while a graph is recorded; who ended first took it away."""
    monkeypatch.setattr(blas, "matmul", np.matmul)
    found: list[Any] = []

    def slow(x: Any) -> Any:
        time.sleep(0.02)
        return x @ x.T

    def work(number: float) -> None:
        x = np.full((2, 2), number)
        found.append((host(npgrad.cuda.captured(slow)(device(x))) == x @ x.T).all())

    threads = [threading.Thread(target=work, args=(float(n),)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 3
    assert np.matmul not in backend.STAND_INS


def test_nothing_may_wait_while_a_graph_is_recorded(device: Any) -> None:
    def branches(x: Any) -> Any:
        return x * 2 if bool(x.sum() > 0) else x

    with pytest.raises(RuntimeError, match="capturing") as raised:
        npgrad.cuda.captured(branches)(device(np.ones(2)))
    assert any("nothing may wait for the device" in note for note in raised.value.__notes__)
    assert Machine.operations is None


def test_what_a_graph_could_not_follow_is_refused(device: Any) -> None:
    double = npgrad.cuda.captured(lambda *values: values[0] * 2)
    x = device(np.ones(2))
    with pytest.raises(TypeError, match=r"not numpy\.ndarray"):
        double(x, np.ones(2))
    with pytest.raises(TypeError, match="Capture the whole step"):
        npgrad.grad(lambda x: np.sum(double(x)))(x)
    with pytest.raises(TypeError, match="none of the arguments"):
        double(2.0)
    with pytest.raises(TypeError, match=r"returned a builtins\.object"):
        npgrad.cuda.captured(lambda x: object())(x)


def test_graphs_are_forgotten_in_turn(device: Any) -> None:
    double = npgrad.cuda.captured(lambda x, number: x * number)
    for number in range(20):
        assert host(double(device(np.ones(1)), number)).tolist() == [number]
    assert len(double.graphs) == 16
    assert backend.on_device(device(np.ones(1)))


def read(x: np.ndarray, operation: int, rows: int, columns: int, leading: int) -> np.ndarray:
    """The matrix that cuBLAS sees: `rows` x `columns` after `operation`, column by column."""
    shape = (rows, columns) if operation == 0 else (columns, rows)
    item = x.itemsize
    seen = np.lib.stride_tricks.as_strided(x, shape, (item, leading * item))
    return seen if operation == 0 else seen.T


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("layout", ["C", "T", "part", "strided"])
def test_products_as_cublas_is_asked(rows: int, inner: int, columns: int, layout: str) -> None:
    rng = np.random.default_rng(0)

    def made(m: int, n: int) -> np.ndarray:
        whole = rng.normal(size=(m, n))
        if layout == "T":
            return np.ascontiguousarray(whole.T).T
        if layout == "part":
            wide = np.zeros((m + 2, n + 3))
            wide[1 : m + 1, 2 : n + 2] = whole
            return wide[1 : m + 1, 2 : n + 2]
        if layout == "strided":
            return np.repeat(np.repeat(whole, 2, 0), 2, 1)[::2, ::2]
        return whole

    a, b, out = made(rows, inner), made(inner, columns), np.zeros((rows, columns))
    (second, first), (of_b, of_a, m, n, k, ldb, lda, ldc) = blas.gemm_call(a, b, out)
    assert ldc >= m and ldb >= (m if of_b == 0 else k) and lda >= (k if of_a == 0 else n)
    product = read(second, of_b, m, k, ldb) @ read(first, of_a, k, n, lda)
    np.testing.assert_allclose(product, (a @ b).T)
