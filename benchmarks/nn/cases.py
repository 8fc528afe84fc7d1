"""The operations that are compared, each for NumPy arrays and for torch tensors.

A case is a name, a function of npgrad, the same function of torch, the arrays it differentiates
with respect to, and constants. The cotangent is an array of normal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    name: str
    bar: float  # the least speed relative to torch
    ours: Callable[..., Any]  # (npgrad.nn, np, *arrays)
    theirs: Callable[..., Any]  # (torch, torch.nn.functional, *tensors)
    arrays: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    constants: Callable[[np.random.Generator], tuple[np.ndarray, ...]] = lambda rng: ()
    # The cotangent itself is the gradient of an argument: npgrad and torch's backward() copy it,
    # torch.autograd.grad hands it on.
    handed_on: bool = False


def normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """One float32 array of each shape."""
    return lambda rng: tuple(rng.normal(size=shape).astype("f4") for shape in shapes)


def norms() -> Iterator[Case]:
    for rows, width in ((8192, 1024), (1024, 16384), (131072, 128)):
        x, w = (rows, width), (width,)
        size = f"{rows}x{width}"
        yield Case(
            f"layer_norm {size}",
            1.0,
            lambda nn, np, x, w, b: nn.layer_norm(x, w, b, 1e-5),
            lambda torch, F, x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5),
            normal(x, w, w),
        )
        yield Case(
            f"rms_norm {size}",
            1.0,
            lambda nn, np, x, w: nn.rms_norm(x, w, 1e-5),
            lambda torch, F, x, w: F.rms_norm(x, w.shape, w, 1e-5),
            normal(x, w),
        )
        yield Case(
            f"group_norm {size}",
            1.0,
            lambda nn, np, x, w, b: nn.group_norm(x, 32, w, b, 1e-5),
            lambda torch, F, x, w, b: F.group_norm(x, 32, w, b, 1e-5),
            normal(x, w, w),
        )
        yield Case(
            f"batch_norm {size}",
            1.0,
            lambda nn, np, x, w, b: nn.batch_norm(x, w, b, 1e-5),
            lambda torch, F, x, w, b: F.batch_norm(x, None, None, w, b, True, 0.0, 1e-5),
            normal(x, w, w),
        )
        yield Case(
            f"softmax {size}",
            1.0,
            lambda nn, np, x: nn.softmax(x),
            lambda torch, F, x: F.softmax(x, -1),
            normal(x),
        )
        yield Case(
            f"log_softmax {size}",
            1.0,
            lambda nn, np, x: nn.log_softmax(x),
            lambda torch, F, x: F.log_softmax(x, -1),
            normal(x),
        )
    images, w = (8, 128, 56, 56), (128,)
    yield Case(
        "group_norm images",
        1.0,
        lambda nn, np, x, w, b: nn.group_norm(x, 32, w, b, 1e-5),
        lambda torch, F, x, w, b: F.group_norm(x, 32, w, b, 1e-5),
        normal(images, w, w),
    )
    yield Case(
        "batch_norm images",
        1.0,
        lambda nn, np, x, w, b: nn.batch_norm(x, w, b, 1e-5),
        lambda torch, F, x, w, b: F.batch_norm(x, None, None, w, b, True, 0.0, 1e-5),
        normal(images, w, w),
    )


def activations() -> Iterator[Case]:
    theirs = {
        "relu": lambda torch, F, x: F.relu(x),
        "leaky_relu": lambda torch, F, x: F.leaky_relu(x, 0.01),
        "sigmoid": lambda torch, F, x: torch.sigmoid(x),
        "silu": lambda torch, F, x: F.silu(x),
        "gelu": lambda torch, F, x: F.gelu(x, approximate="tanh"),
        "gelu_erf": lambda torch, F, x: F.gelu(x),
        "erf": lambda torch, F, x: torch.erf(x),
        "softplus": lambda torch, F, x: F.softplus(x),
    }
    for name, function in theirs.items():
        yield Case(
            f"{name} 1e6",
            1.0,
            lambda nn, np, x, name=name: getattr(nn, name)(x),
            function,
            normal((1_000_000,)),
        )


INDICES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "uniform": lambda rng, m, n: rng.integers(0, n, m),
    "skewed": lambda rng, m, n: np.minimum(rng.zipf(1.2, m), n) - 1,
    "equal": lambda rng, m, n: np.full(m, 7),
    "sorted": lambda rng, m, n: np.sort(rng.integers(0, n, m)),
}


def indices() -> Iterator[Case]:
    m, n, width = 50_000, 20_000, 128
    for kind, make in INDICES.items():
        yield Case(
            f"embedding {kind}",
            1.0,
            lambda nn, np, x, i: x[i],
            lambda torch, F, x, i: F.embedding(i, x),
            normal((n, width)),
            lambda rng, make=make: (make(rng, m, n),),
        )
        yield Case(
            f"index_add {kind}",
            1.0,
            lambda nn, np, x, s, i: nn.index_add(x, 0, i, s),
            lambda torch, F, x, s, i: torch.index_add(x, 0, i, s),
            normal((n, width), (m, width)),
            lambda rng, make=make: (make(rng, m, n),),
            handed_on=True,
        )
        yield Case(
            f"gather {kind}",
            1.0,
            lambda nn, np, x, i: nn.gather(x, 1, i),
            lambda torch, F, x, i: torch.gather(x, 1, i),
            normal((2000, 1000)),
            lambda rng, make=make: (make(rng, 2_000_000, 1000).reshape(2000, 1000),),
        )
        yield Case(
            f"scatter_add {kind}",
            1.0,
            lambda nn, np, x, s, i: nn.scatter_add(x, 1, i, s),
            lambda torch, F, x, s, i: torch.scatter_add(x, 1, i, s),
            normal((2000, 1000), (2000, 1000)),
            lambda rng, make=make: (make(rng, 2_000_000, 1000).reshape(2000, 1000),),
            handed_on=True,
        )


# name, images, filters, stride, padding, dilation, groups; batch 8, as in ResNets and their kin
CONVOLUTIONS = [
    ("7x7 s2", (8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1, 1),
    ("3x3 at 56", (8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1, 1),
    ("3x3 at 14", (8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1, 1),
    ("3x3 s2", (8, 128, 56, 56), (128, 128, 3, 3), 2, 1, 1, 1),
    ("1x1", (8, 256, 56, 56), (64, 256, 1, 1), 1, 0, 1, 1),
    ("depthwise", (8, 128, 56, 56), (128, 1, 3, 3), 1, 1, 1, 128),
    ("dilated", (8, 256, 28, 28), (256, 256, 3, 3), 1, 2, 2, 1),
    ("groups=32", (8, 128, 56, 56), (128, 4, 3, 3), 1, 1, 1, 32),
]


def convolutions() -> Iterator[Case]:
    for name, images, filters, stride, padding, dilation, groups in CONVOLUTIONS:
        geometry = (None, stride, padding, dilation, groups)
        # with respect to one argument, so that "backward alone" is one of the two transposes
        yield Case(
            f"conv2d grad-input {name}",
            0.7,
            lambda nn, np, x, w, geometry=geometry: nn.conv2d(x, w, *geometry),
            lambda torch, F, x, w, geometry=geometry: F.conv2d(x, w, *geometry),
            normal(images),
            normal(filters),
        )
        yield Case(
            f"conv2d grad-weight {name}",
            0.7,
            lambda nn, np, w, x, geometry=geometry: nn.conv2d(x, w, *geometry),
            lambda torch, F, w, x, geometry=geometry: F.conv2d(x, w, *geometry),
            normal(filters),
            normal(images),
        )


def pooling() -> Iterator[Case]:
    for name, size, stride, padding in (("2x2", 2, 2, 0), ("3x3 s2", 3, 2, 1)):
        window = (size, stride, padding)
        yield Case(
            f"max_pool2d {name}",
            1.0,
            lambda nn, np, x, window=window: nn.max_pool2d(x, *window),
            lambda torch, F, x, window=window: F.max_pool2d(x, *window),
            normal((8, 64, 112, 112)),
        )
        yield Case(
            f"avg_pool2d {name}",
            1.0,
            lambda nn, np, x, window=window: nn.avg_pool2d(x, *window),
            lambda torch, F, x, window=window: F.avg_pool2d(x, *window),
            normal((8, 64, 112, 112)),
        )


CASES = {
    case.name: case
    for chapter in (norms, activations, indices, convolutions, pooling)
    for case in chapter()
}
