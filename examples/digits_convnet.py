"""A small convolutional network on scikit-learn's digits, in plain NumPy style.

    python examples/digits_convnet.py [--epochs 8]

Two convolutions with batch normalisation, a maximum pool and a layer-normalised classifier, trained
by Adam. Where torch is installed the same network, from the same weights and over the same batches,
is trained there too, and both accuracies and times are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import npgrad
from npgrad import nn

BATCH = 64
RATE = 2e-3
Parameters = dict[str, Any]


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, test images and labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1400], order[1400:]
    return images[train], labels[train], images[test], labels[test]


def weights() -> Parameters:
    """Filters and matrices scaled by the number of inputs (He), norms at one and zero."""
    rng = np.random.default_rng(1)

    def scaled(*shape: int) -> np.ndarray:
        fan_in = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        return (rng.normal(size=shape) * np.sqrt(2 / fan_in)).astype(np.float32)

    one, zero = np.ones, np.zeros
    return {
        "conv1": scaled(16, 1, 3, 3), "scale1": one(16, "f4"), "shift1": zero(16, "f4"),
        "conv2": scaled(32, 16, 3, 3), "scale2": one(32, "f4"), "shift2": zero(32, "f4"),
        "hidden": scaled(32 * 4 * 4, 64), "scale3": one(64, "f4"), "shift3": zero(64, "f4"),
        "out": scaled(64, 10), "bias": zero(10, "f4"),
    }  # fmt: skip


def network(p: Parameters, x: Any) -> Any:
    """Logits of a batch of images."""
    x = nn.relu(nn.batch_norm(nn.conv2d(x, p["conv1"], padding=1), p["scale1"], p["shift1"]))
    x = nn.relu(nn.batch_norm(nn.conv2d(x, p["conv2"], padding=1), p["scale2"], p["shift2"]))
    x = nn.max_pool2d(x, 2).reshape(len(x), -1)
    x = nn.gelu(nn.layer_norm(x @ p["hidden"], p["scale3"], p["shift3"], 1e-5))
    return x @ p["out"] + p["bias"]


def loss(p: Parameters, x: np.ndarray, labels: np.ndarray) -> Any:
    """The mean cross-entropy of a batch."""
    return nn.cross_entropy(network(p, x), labels)


def batches(count: int, epochs: int) -> list[np.ndarray]:
    """The rows of each step, the same for both libraries."""
    rng = np.random.default_rng(2)
    steps = []
    for _ in range(epochs):
        order = rng.permutation(count)
        steps += [order[i : i + BATCH] for i in range(0, count - BATCH + 1, BATCH)]
    return steps


def train(images: np.ndarray, labels: np.ndarray, epochs: int) -> Parameters:
    """Adam, D. Kingma and J. Ba (2015)."""
    p = weights()
    mean = {name: np.zeros_like(w) for name, w in p.items()}
    square = {name: np.zeros_like(w) for name, w in p.items()}
    step = npgrad.value_and_grad(loss)
    for t, rows in enumerate(batches(len(images), epochs), 1):
        _, gradient = step(p, images[rows], labels[rows])
        for name, g in gradient.items():
            mean[name] += 0.1 * (g - mean[name])
            square[name] += 0.001 * (g * g - square[name])
            size = np.sqrt(square[name] / (1 - 0.999**t)) + 1e-8
            p[name] -= RATE * mean[name] / (1 - 0.9**t) / size
    return p


def train_with_torch(images: np.ndarray, labels: np.ndarray, epochs: int) -> Parameters:
    """The same in torch."""
    import torch
    from torch.nn import functional as F  # noqa: N812

    p = {name: torch.from_numpy(w).requires_grad_() for name, w in weights().items()}
    adam = torch.optim.Adam(p.values(), RATE)
    pixels, classes = torch.from_numpy(images), torch.from_numpy(labels)

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        return F.batch_norm(x, None, None, scale, shift, training=True)

    for rows in batches(len(images), epochs):
        x = F.relu(norm(F.conv2d(pixels[rows], p["conv1"], padding=1), p["scale1"], p["shift1"]))
        x = F.relu(norm(F.conv2d(x, p["conv2"], padding=1), p["scale2"], p["shift2"]))
        x = F.max_pool2d(x, 2).reshape(len(x), -1) @ p["hidden"]
        x = F.gelu(F.layer_norm(x, (64,), p["scale3"], p["shift3"]), approximate="tanh")
        adam.zero_grad()
        F.cross_entropy(x @ p["out"] + p["bias"], classes[rows]).backward()
        adam.step()
    return {name: w.detach().numpy() for name, w in p.items()}


def accuracy(p: Parameters, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images whose largest logit is their label."""
    return float(np.mean(np.argmax(network(p, images), axis=1) == labels))


def main() -> None:
    """Train with npgrad and, where it is installed, with torch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=8)
    epochs = parser.parse_args().epochs
    images, labels, test_images, test_labels = data()
    trainers = {"npgrad": train}
    if importlib.util.find_spec("torch"):
        trainers["torch"] = train_with_torch
    for name, trainer in trainers.items():
        trainer(images[:BATCH], labels[:BATCH], 1)  # compiles the kernels, starts the threads
        start = time.perf_counter()
        p = trainer(images, labels, epochs)
        seconds = time.perf_counter() - start
        right = accuracy(p, test_images, test_labels)
        print(f"{name:7s} {epochs} epochs in {seconds:5.2f} s, test accuracy {right:.4f}")


if __name__ == "__main__":
    main()
