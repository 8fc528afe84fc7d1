"""A small convolutional network on scikit-learn's digits: one training step beside torch eager."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import npgrad

from .fused import WARM, wall
from .timing import Record, error, seconds, taken

CHANNELS, HIDDEN, CLASSES = 32, 64, 10
CONV = torch.nn.functional.conv2d


def parameters(seed: int = 0) -> list[Any]:
    """Filters and weights, scaled by their fan-in."""
    rng = np.random.default_rng(seed)
    shapes = [
        (CHANNELS, 1, 3, 3), (CHANNELS,), (HIDDEN, CHANNELS, 3, 3), (HIDDEN,),
        (HIDDEN * 16, CLASSES), (CLASSES,),
    ]  # fmt: skip
    fans = [9, None, CHANNELS * 9, None, HIDDEN * 16, None]
    return [
        (rng.standard_normal(s) * (2 / f) ** 0.5 if f else np.zeros(s)).astype(np.float32)
        for s, f in zip(shapes, fans, strict=True)
    ]


def loss(parameters: Any, images: Any, labels: Any) -> Any:
    """Two convolutions and a linear layer; runs on NumPy arrays as on CuPy's."""
    w1, b1, w2, b2, w3, b3 = parameters
    x = npgrad.nn.relu(npgrad.nn.conv2d(images, w1, b1, padding=1))
    x = npgrad.nn.relu(npgrad.nn.conv2d(x, w2, b2, stride=2, padding=1))
    return npgrad.nn.cross_entropy(np.reshape(x, (len(images), -1)) @ w3 + b3, labels)


def torch_loss(parameters: Any, images: Any, labels: Any) -> Any:
    """The same network in torch."""
    w1, b1, w2, b2, w3, b3 = parameters
    f = torch.nn.functional
    x = torch.relu(f.conv2d(images, w1, b1, padding=1))
    x = torch.relu(f.conv2d(x, w2, b2, stride=2, padding=1))
    return f.cross_entropy(x.reshape(len(images), -1) @ w3 + b3, labels)


def units(parameters: Any, images: Any, conv: Any) -> list[torch.Tensor]:
    """The inputs of both relus, as torch tensors in float64."""
    w1, b1, w2, b2, _, _ = parameters
    first = conv(images, w1, b1, padding=1)
    second = conv(first * (first > 0), w2, b2, stride=2, padding=1)
    return [torch.as_tensor(x, device="cuda").detach().double() for x in (first, second)]


def reference(images: Any, labels: Any, active: Any = None) -> list[torch.Tensor]:
    """The gradients in float64; with `active`, of the network whose relus are these masks."""
    exact = [torch.tensor(p, device="cuda").double().requires_grad_() for p in parameters()]
    if active is None:
        return list(torch.autograd.grad(torch_loss(exact, images.double(), labels), exact))
    w1, b1, w2, b2, w3, b3 = exact
    f = torch.nn.functional
    x = f.conv2d(images.double(), w1, b1, padding=1) * active[0]
    x = f.conv2d(x, w2, b2, stride=2, padding=1) * active[1]
    value = f.cross_entropy(x.reshape(len(images), -1) @ w3 + b3, labels)
    return list(torch.autograd.grad(value, exact))


def distance(found: Any, wanted: Any) -> float:
    """The largest relative difference of a parameter's gradient."""
    pairs = zip(found, wanted, strict=True)
    return max(error(torch.as_tensor(a, device="cuda"), b) for a, b in pairs)


def run(record: Record) -> None:
    """Time one step; the error is the gradient's, also beside a reference with the same relus.

    A relu's derivative jumps: where rounding turns the sign of its input, the gradient changes by
    far more than the rounding. The number of such units stands in the note.
    """
    from sklearn.datasets import load_digits

    torch.backends.cudnn.allow_tf32 = False  # both accurate to float32
    data = load_digits()
    images = (data.images[:, None] / 16).astype(np.float32)
    step = npgrad.value_and_grad(loss)
    replayed = npgrad.cuda.captured(step)
    for copies in (1, 16):
        many = torch.tensor(np.tile(images, (copies, 1, 1, 1)), device="cuda")
        labels = torch.tensor(np.tile(data.target, copies), device="cuda")
        theirs = [torch.tensor(p, device="cuda").requires_grad_() for p in parameters()]
        ours = [taken(p.detach()) for p in theirs]
        mine, wanted = taken(many), taken(labels)

        def by_torch(many: Any = many, labels: Any = labels, theirs: Any = theirs) -> Any:
            return torch.autograd.grad(torch_loss(theirs, many, labels), theirs)

        def by_us(ours: Any = ours, mine: Any = mine, wanted: Any = wanted) -> Any:
            return step(ours, mine, wanted)[1]

        def by_replay(ours: Any = ours, mine: Any = mine, wanted: Any = wanted) -> Any:
            return replayed(ours, mine, wanted)[1]

        for _ in range(WARM):  # a sweep that comes again is recorded
            by_us()
        got, want = by_us(), by_torch()
        note = f"from torch {distance(got, want):.1e}"
        if copies == 1:
            exact = reference(many, labels)
            signs = [x > 0 for x in units([p.double() for p in theirs], many.double(), CONV)]
            for name, found, inputs in (
                ("ours", got, units(ours, mine, npgrad.nn.conv2d)),
                ("torch", want, units(theirs, many, CONV)),
            ):
                active = [x > 0 for x in inputs]
                turned = sum(int((a != b).sum()) for a, b in zip(active, signs, strict=True))
                left = distance(found, reference(many, labels, active))
                note += f"; {name}: {turned} relus turned, {left:.1e} with the same relus"
        here, there = wall(by_us, 15), wall(by_torch, 15)
        note += f"; wall {here * 1e6:.0f} us, torch {there / here:.2f}x"
        record.put(
            operation="digits step",
            case=f"batch {len(many)}",
            kind="float32",
            error=distance(got, exact),
            their_error=distance(want, exact),
            note=note,
            ours=seconds([by_us]),
            torch=seconds([by_torch]),
        )
        by_replay()
        captured = wall(by_replay, 15)
        record.put(
            operation="digits step, captured",
            case=f"batch {len(many)}",
            kind="float32",
            error=distance(by_replay(), exact),
            their_error=distance(want, exact),
            note="npgrad.cuda.captured(step), a CUDA graph; torch eager, without one; "
            f"wall {captured * 1e6:.0f} us, torch {there / captured:.2f}x",
            ours=seconds([by_replay]),
            torch=seconds([by_torch]),
        )
