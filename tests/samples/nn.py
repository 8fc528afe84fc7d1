"""Samples of `npgrad.nn`: every operation and every keyword, at smooth points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad import nn
from tests.samples.core import Sample
from tests.samples.shape import normal

Args = Callable[[np.random.Generator], tuple[Any, ...]]


def arrays(*shapes: tuple[int, ...]) -> Args:
    """One normal array of each shape."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


def apart(*shape: int) -> Args:
    """Numbers that differ by 0.1 from each other and by 0.05 from 0: no ties, no kinks."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        size = int(np.prod(shape))
        return ((rng.permutation(size) - size // 2 + 0.5).reshape(shape) * 0.1,)

    return make


LABELS = np.array([2, 0, 2, 1])
ROWS = np.array([2, 0, -1])
GRID = np.array([[1, -1, 0], [0, 0, 1], [1, 0, 1]])

ACTIVATIONS = [
    Sample("nn.relu", nn.relu, apart(3, 4)),
    Sample("nn.relu 0-d", nn.relu, apart()),
    Sample("nn.leaky_relu", lambda x: nn.leaky_relu(x, 0.2), apart(3, 4)),
    Sample("nn.leaky_relu slope", lambda x: nn.leaky_relu(x, slope=-0.5), apart(5)),
    Sample("nn.sigmoid", nn.sigmoid, normal((3, 4))),
    Sample("nn.sigmoid strided", lambda x: nn.sigmoid(x.T[::-1]), normal((3, 4))),
    Sample("nn.silu", nn.silu, normal((3, 4))),
    Sample("nn.swish", nn.swish, normal(())),
    Sample("nn.gelu", nn.gelu, normal((3, 4))),
    Sample("nn.gelu_erf", nn.gelu_erf, normal((3, 4))),
    Sample("nn.erf", nn.erf, normal((3, 4))),
    Sample("nn.erf empty", nn.erf, normal((0, 4))),
    Sample("nn.softplus", nn.softplus, normal((3, 4))),
    Sample("nn.clamp", lambda x: nn.clamp(x, -0.3, 0.4), apart(3, 4)),
    Sample("nn.clamp min", lambda x: nn.clamp(x, min=0.0), apart(5)),
    Sample("nn.affine", lambda x: nn.affine(x, 3.0, 7.0), normal((3,))),
    Sample("nn.affine recorded", nn.affine, arrays((3, 2), (2,), (3, 1))),
    Sample("nn.recip", lambda x: nn.recip(x * x + 1), normal((3,))),
    Sample("nn.sqr", nn.sqr, normal((3,))),
    Sample("nn.scale", lambda x: nn.scale(x, -2.0), normal((3,))),
    Sample("nn.cast", lambda x: nn.cast(x, np.float64), normal((3,)), dtypes=("float64",)),
    Sample(
        "nn.pick", lambda a, b: nn.pick(np.array([True, False, True]), a, b), arrays((3,), (3,))
    ),
    Sample("nn.pick number", lambda a: nn.pick(np.array([True, False]), a, 0.0), normal((2,))),
]

SOFTMAX = [
    Sample("nn.softmax", nn.softmax, normal((3, 4)), order=3),
    Sample("nn.softmax axis", lambda x: nn.softmax(x, axis=0), normal((3, 4, 2))),
    Sample("nn.softmax middle", lambda x: nn.softmax(x, axis=-2), normal((3, 4, 2))),
    Sample("nn.log_softmax", nn.log_softmax, normal((3, 4)), order=3),
    Sample("nn.log_softmax axis", lambda x: nn.log_softmax(x, axis=1), normal((3, 4, 2))),
    Sample("nn.logsumexp", nn.logsumexp, normal((3, 4)), order=3),
    Sample("nn.logsumexp axis", lambda x: nn.logsumexp(x, axis=0), normal((3, 4))),
    Sample("nn.cross_entropy", lambda x: nn.cross_entropy(x, LABELS), normal((4, 3))),
    Sample("nn.mse_loss", nn.mse_loss, arrays((3, 2), (3, 2))),
]

NORMS = [
    Sample(
        "nn.layer_norm",
        lambda x, w, b: nn.layer_norm(x, w, b, 1e-2),
        arrays((3, 4), (4,), (4,)),
        order=3,
    ),
    Sample("nn.layer_norm 1-d", nn.layer_norm, arrays((5,), (5,), (5,))),
    Sample("nn.layer_norm bare", lambda x: nn.layer_norm(x, eps=0.1), normal((2, 3, 4))),
    Sample(
        "nn.layer_norm axis",
        lambda x, w: nn.layer_norm(x, w, None, 1e-3, axis=1),
        arrays((2, 4, 3), (4,)),
    ),
    Sample(
        "nn.layer_norm two axes",
        lambda x, w, b: nn.layer_norm(x, w, b, 1e-3),
        arrays((2, 3, 4), (3, 4), (3, 4)),
    ),
    Sample("nn.rms_norm", lambda x, w: nn.rms_norm(x, w, 1e-2), arrays((3, 4), (4,)), order=3),
    Sample("nn.rms_norm bare", nn.rms_norm, normal((2, 3, 4))),
    Sample("nn.rms_norm axis", lambda x, w: nn.rms_norm(x, w, axis=0), arrays((4, 3), (4,))),
    Sample(
        "nn.group_norm",
        lambda x, w, b: nn.group_norm(x, 2, w, b, 1e-2),
        arrays((2, 4, 3), (4,), (4,)),
    ),
    Sample("nn.group_norm bare", lambda x: nn.group_norm(x, 2), normal((3, 6))),
    Sample(
        "nn.batch_norm",
        lambda x, w, b: nn.batch_norm(x, w, b, 1e-2),
        arrays((3, 2, 4), (2,), (2,)),
    ),
    Sample("nn.batch_norm bare", lambda x: nn.batch_norm(x, eps=0.1), normal((5, 3))),
]

CONVOLUTION = [
    Sample("nn.conv2d", nn.conv2d, arrays((2, 2, 5, 4), (3, 2, 3, 2), (3,)), order=3),
    Sample(
        "nn.conv2d every keyword",
        lambda x, w, b: nn.conv2d(x, w, b, (2, 1), ((1, 0), (2, 1)), (1, 2), groups=2),
        arrays((2, 4, 6, 5), (2, 2, 3, 2), (2,)),
    ),
    Sample(
        "nn.conv2d same",
        lambda x, w: nn.conv2d(x, w, padding="same"),
        arrays((2, 5, 4), (2, 2, 2, 3)),
    ),
    Sample(
        "nn.conv2d same with stride",
        lambda x, w: nn.conv2d(x, w, stride=2, padding="same"),
        arrays((1, 2, 5, 4), (2, 2, 3, 3)),
    ),
    Sample(
        "nn.conv2d depthwise",
        lambda x, w: nn.conv2d(x, w, None, 2, 1, 1, 3),
        arrays((2, 3, 6, 6), (6, 1, 3, 3)),
    ),
    Sample("nn.conv2d 1x1", nn.conv2d, arrays((2, 3, 2, 2), (4, 3, 1, 1))),
    Sample(
        "nn.conv2d leading axes",
        nn.conv2d,
        arrays((2, 1, 2, 3, 3), (2, 2, 2, 2)),
    ),
    Sample(
        "nn.conv1d",
        lambda x, w, b: nn.conv1d(x, w, b, 2, (1, 2), 2),
        arrays((2, 2, 8), (3, 2, 3), (3,)),
    ),
    Sample(
        "nn.conv1d same",
        lambda x, w: nn.conv1d(x, w, padding="same", groups=2),
        arrays((4, 5), (2, 2, 3)),
    ),
    Sample(
        "nn.conv_transpose2d",
        lambda x, w, b: nn.conv_transpose2d(x, w, b, 2, 1, (1, 0), 2, 1),
        arrays((2, 4, 3, 3), (4, 2, 3, 3), (4,)),
    ),
    Sample(
        "nn.conv_transpose2d dilation",
        lambda x, w: nn.conv_transpose2d(x, w, stride=(1, 2), dilation=2),
        arrays((2, 3, 2), (2, 1, 2, 2)),
    ),
    Sample(
        "nn.conv2d_grad_input",
        lambda g, w: nn.conv2d_grad_input(g, w, (2, 2, 6, 5), 2, 1),
        arrays((2, 3, 3, 3), (3, 2, 3, 2)),
    ),
    Sample(
        "nn.conv2d_grad_weight",
        lambda g, x: nn.conv2d_grad_weight(g, x, (3, 2, 3, 2), 2, 1),
        arrays((2, 3, 3, 3), (2, 2, 6, 5)),
    ),
    Sample("nn.conv2d_grad_bias", nn.conv2d_grad_bias, normal((2, 3, 2, 2))),
]

POOLING = [
    Sample("nn.max_pool2d", lambda x: nn.max_pool2d(x, 2), apart(2, 4, 5)),
    Sample(
        "nn.max_pool2d every keyword",
        lambda x: nn.max_pool2d(x, (3, 2), (2, 1), (1, 1)),
        apart(2, 2, 5, 4),
    ),
    Sample("nn.avg_pool2d", lambda x: nn.avg_pool2d(x, 2), normal((2, 4, 5))),
    Sample(
        "nn.avg_pool2d every keyword",
        lambda x: nn.avg_pool2d(x, (3, 2), (2, 1), (1, 1)),
        normal((2, 2, 5, 4)),
    ),
]

INDEXING = [
    Sample("nn.index_select", lambda x: nn.index_select(x, 0, ROWS), normal((3, 2))),
    Sample("nn.index_select axis", lambda x: nn.index_select(x, -1, [1, 1]), normal((2, 3, 2))),
    Sample("nn.gather", lambda x: nn.gather(x, 1, GRID), normal((3, 2))),
    Sample("nn.gather first", lambda x: nn.gather(x, 0, GRID), normal((2, 3))),
    Sample("nn.gather shorter", lambda x: nn.gather(x, -1, GRID[:2]), normal((3, 2))),
    Sample("nn.index_add", lambda x, s: nn.index_add(x, 0, ROWS, s), arrays((3, 2), (3, 2))),
    Sample(
        "nn.index_add axis",
        lambda x, s: nn.index_add(x, 1, [0, 0], s),
        arrays((2, 3, 2), (2, 2, 2)),
    ),
    Sample("nn.index_add last", lambda x, s: nn.index_add(x, -1, ROWS, s), arrays((2, 3), (2, 3))),
    Sample("nn.index_add number", lambda x, s: nn.index_add(x, 0, [1, 1], s), arrays((3, 2), ())),
    Sample("nn.scatter_add", lambda x, s: nn.scatter_add(x, 1, GRID, s), arrays((3, 2), (3, 3))),
    Sample(
        "nn.scatter_add first", lambda x, s: nn.scatter_add(x, 0, GRID, s), arrays((2, 3), (3, 3))
    ),
    Sample(
        "nn.scatter_add shorter",
        lambda x, s: nn.scatter_add(x, 0, GRID[:, :2], s),
        arrays((2, 3), (3, 2)),
    ),
    Sample("nn.narrow", lambda x: nn.narrow(x, 1, 1, 2), normal((2, 4))),
    Sample("nn.narrow negative", lambda x: nn.narrow(x, axis=0, start=-2, length=1), normal((3,))),
    Sample("nn.cat", lambda a, b: nn.cat([a, b], axis=1), arrays((2, 3), (2, 1))),
]

SAMPLES = [*ACTIVATIONS, *SOFTMAX, *NORMS, *CONVOLUTION, *POOLING, *INDEXING]
