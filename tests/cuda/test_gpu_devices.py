"""Captured functions on a GPU, and several GPUs where there are several."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import nn

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 8, 14, 14)).astype("f4")
W = (RNG.normal(size=(8, 8, 3, 3)) / 9).astype("f4")
B = RNG.normal(size=8).astype("f4")
LINEAR = (RNG.normal(size=(8 * 49, 5)) / 20).astype("f4")
LABELS = RNG.integers(0, 5, 16)


def loss(parameters: Any, x: Any, labels: Any) -> Any:
    """Kernels of every kind, expressions, products and reductions."""
    w, b, linear = parameters
    h = nn.relu(nn.batch_norm(nn.conv2d(x, w, b, padding=1, stride=2)))
    h = nn.layer_norm(np.reshape(h, (len(x), -1)))
    h = np.tanh(h) * 1.5 + np.exp(-h * h)
    return nn.cross_entropy(h @ linear, labels) + np.sum(np.take(b, labels[:3])) * 0.1


def placed(number: int) -> tuple[Any, Any, Any]:
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(number):
        parameters = tuple(map(cupy.asarray, (W, B, LINEAR)))
        return parameters, cupy.asarray(X), cupy.asarray(LABELS)


def exact() -> Any:
    wide = tuple(a.astype("f8") for a in (W, B, LINEAR))
    return npgrad.grad(loss)(wide, X.astype("f8"), LABELS)


def check(gradients: Any, number: int) -> None:
    for got, want in zip(gradients, exact(), strict=True):
        assert got.device.id == number
        wrong = np.linalg.norm(got.get().astype("f8") - want) / np.linalg.norm(want)
        assert wrong < 3e-6


def several() -> int:
    cupy = pytest.importorskip("cupy")
    count = int(cupy.cuda.runtime.getDeviceCount())
    if count < 2:
        pytest.skip("needs two GPUs")
    return count


def test_captured_step_is_the_step() -> None:
    parameters, x, labels = placed(0)
    step = npgrad.value_and_grad(loss)
    replayed = npgrad.cuda.captured(step)
    first = replayed(parameters, x, labels)
    kept = [g.copy() for g in first[1]]
    moved = tuple(p * 1.5 for p in parameters)
    for _ in range(4):  # expressions have their kernels then, as the graph has
        value, gradients = step(moved, x * 0.5, labels)
    again, found = replayed(moved, x * 0.5, labels)
    assert bool(again == value)
    for a, b in zip(found, gradients, strict=True):
        assert bool((a == b).all())
    for a, b in zip(first[1], kept, strict=True):  # results are not written over
        assert bool((a == b).all())
    check(first[1], 0)


def test_captured_step_refuses_a_label_and_goes_on() -> None:
    parameters, x, labels = placed(0)
    replayed = npgrad.cuda.captured(npgrad.value_and_grad(loss))
    before, _ = replayed(parameters, x, labels)
    wrong = labels.copy()
    wrong[3] = 17
    with pytest.raises(IndexError, match="label 17 of 5 classes"):
        replayed(parameters, x, wrong)
    assert bool(replayed(parameters, x, labels)[0] == before)


def test_nothing_waits_while_a_graph_is_recorded() -> None:
    (w, *_), _, _ = placed(0)
    with pytest.raises(RuntimeError) as raised:
        npgrad.cuda.captured(lambda w: w * 2 if float(w.sum()) > 0 else w)(w)
    assert any("nothing may wait" in note for note in raised.value.__notes__)
    assert npgrad.grad(lambda w: np.sum(w * w))(w).shape == w.shape  # the stream works on


def replayed(step: Any) -> int:
    """How many sweeps of `step` were replays."""
    return int(step._recurring.device.replayed)


def network(parameters: Any, x: Any, labels: Any) -> Any:
    """`loss` without the rows of b, whose backward is not replayed."""
    w, b, linear = parameters
    h = nn.relu(nn.batch_norm(nn.conv2d(x, w, b, padding=1, stride=2)))
    h = nn.layer_norm(np.reshape(h, (len(x), -1)))
    return nn.cross_entropy((np.tanh(h) * 1.5 + np.exp(-h * h)) @ linear, labels) + np.sum(b * b)


def test_sweeps_that_come_again_are_replayed() -> None:
    import cupy

    parameters, x, labels = placed(0)
    step = npgrad.value_and_grad(network)
    kept = []
    for turn in range(20):
        moved = tuple(p * (1 + turn / 40) for p in parameters)
        with cupy.cuda.Stream(non_blocking=True) if turn % 5 == 3 else cupy.cuda.Stream.null:
            kept.append((turn, *step(moved, x, labels)))
            cupy.cuda.get_current_stream().synchronize()
    assert replayed(step) >= 10
    for turn, _, gradients in kept:
        wide = tuple(a.astype("f4").astype("f8") for a in (W, B, LINEAR))
        wide = tuple(a * (1 + turn / 40) for a in wide)
        wanted = npgrad.grad(network)(wide, X.astype("f8"), LABELS)
        for got, want in zip(gradients, wanted, strict=True):
            wrong = np.linalg.norm(got.get().astype("f8") - want) / np.linalg.norm(want)
            assert wrong < 3e-6
    bad = labels.copy()
    bad[3] = 17
    with pytest.raises(IndexError, match="label 17 of 5 classes"):
        step(parameters, x, bad)
    step(parameters, x, labels)


REPLAYED: dict[str, Any] = {
    "norms": lambda x, w: np.sum(nn.rms_norm(x, w) * nn.softmax(x) + nn.log_softmax(x * w)),
    "groups": lambda x, w: (
        np.sum(nn.group_norm(np.reshape(x, (4, 8, 4)), 2) ** 3)
        + np.sum(nn.batch_norm(np.reshape(x, (4, 8, 4))) ** 3 * w[0])
    ),
    "rows": lambda x, w: (
        np.sum(nn.index_select(x, 0, np.argmax(x > 9, axis=0)[:3]) * w) + np.sum(x[:3] * w)
    ),
    "expressions": lambda x, w: np.mean(
        np.tanh(np.exp(-x * x) * w + np.where(x > 0, x, w)) / (x * x + 1.5)
    ),
    "convolutions": lambda x, w: np.sum(
        nn.conv2d(np.reshape(x, (1, 4, 4, 8)), np.reshape(w, (2, 4, 1, 4))) ** 2
    ),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_replays_are_the_sweeps_of_the_host(name: str) -> None:
    cupy = pytest.importorskip("cupy")
    f = REPLAYED[name]
    step, host = npgrad.grad(f, (0, 1)), npgrad.grad(f, (0, 1))
    for seed in range(14):
        rng = np.random.default_rng(seed)
        x, w = rng.normal(size=(4, 32)).astype("f4"), rng.normal(size=32).astype("f4")
        got = step(cupy.asarray(x), cupy.asarray(w))
        for a, b in zip(got, host(x.astype("f8"), w.astype("f8")), strict=True):
            assert np.linalg.norm(a.get() - b) <= 5e-5 * (np.linalg.norm(b) + 1), (name, seed)
    if name == "rows":  # its backward looks at the index
        assert not replayed(step)
    else:
        assert replayed(step) >= 4, name
    second = npgrad.grad(lambda x: np.sum(step(x, cupy.asarray(w))[0] * x))
    for _ in range(12):  # within another differentiation nothing is replayed
        twice = second(cupy.asarray(x))
    wanted = npgrad.grad(lambda x: np.sum(host(x, w.astype("f8"))[0] * x))(x.astype("f8"))
    scale = np.linalg.norm(wanted) + np.linalg.norm(b) / 10  # some have none: of a norm's input
    assert np.linalg.norm(twice.get() - wanted) <= 1e-4 * scale


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("current", [0, 1])
def test_gradients_live_with_their_arrays(number: int, current: int) -> None:
    several()
    import cupy

    with cupy.cuda.Device(current):
        arguments = placed(number)
        for _ in range(3):
            gradients = npgrad.grad(loss)(*arguments)
        with cupy.cuda.Device(number):
            check(gradients, number)
        check(npgrad.cuda.captured(npgrad.grad(loss))(*arguments), number)
        assert cupy.cuda.runtime.getDevice() == current


def test_a_kernel_takes_no_arrays_of_two_devices() -> None:
    several()
    import cupy

    (_, b, _), _, _ = placed(0)
    with cupy.cuda.Device(1):
        other = cupy.asarray(B)
    with pytest.raises(TypeError, match=r"on device 0 and .* on device 1"):
        npgrad.grad(lambda b: np.sum(nn.layer_norm(np.reshape(b, (1, 8)), other)))(b)


def test_threads_on_two_devices() -> None:
    several()
    found: dict[int, Any] = {}

    def work(turn: int) -> None:
        arguments = placed(turn % 2)
        for _ in range(10):
            gradients = npgrad.grad(loss)(*arguments)
        found[turn] = gradients

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    import cupy

    for turn, gradients in found.items():
        with cupy.cuda.Device(turn % 2):
            check(gradients, turn % 2)
    assert len(found) == 4
