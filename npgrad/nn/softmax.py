"""softmax, log_softmax, logsumexp along one axis, and the losses: cross_entropy, mse_loss.

Rows of -inf: logsumexp gives -inf; softmax NaN, as there is nothing to share. A row that holds +inf
has logsumexp inf, whose gradient its infinite entries share equally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import OutOfRange
from npgrad.graph import backend
from npgrad.graph.array import GradArray
from npgrad.graph.questions import answer
from npgrad.kernels import log_softmax as log_kernels
from npgrad.kernels import softmax as kernels
from npgrad.nn import _device
from npgrad.nn._declare import (
    as_index,
    axis_of,
    fused,
    here,
    operation,
    prepared,
    shape_of,
    wrong_shape,
)
from npgrad.nn._device import routed
from npgrad.table import reverse

__all__ = ["cross_entropy", "log_softmax", "logsumexp", "mse_loss", "softmax"]


@operation("softmax")
def _softmax(x: Any) -> Any:
    return routed(kernels.softmax, _device.softmax)(x)


@operation("log_softmax")
def _log_softmax(x: Any) -> Any:
    return routed(log_kernels.log_softmax, _device.log_softmax)(x)


@operation("logsumexp")
def _logsumexp(x: Any) -> Any:
    return routed(log_kernels.logsumexp, log_kernels.logsumexp_reference)(x)


_softmax_grad = fused(
    routed(kernels.softmax_grad, _device.softmax_grad), kernels.softmax_grad_reference
)
_log_softmax_grad = fused(
    routed(log_kernels.log_softmax_grad, _device.log_softmax_grad),
    log_kernels.log_softmax_grad_reference,
)
_logsumexp_grad = fused(
    routed(log_kernels.logsumexp_grad, log_kernels.logsumexp_grad_reference),
    log_kernels.logsumexp_grad_reference,
)


def _logsumexp_push(g: Any, x: Any, y: Any) -> Any:
    """The tangent: that of x, weighed by its softmax."""
    ones = np.ones_like(y)
    return np.sum(g * _logsumexp_grad(ones, x, y), axis=-1)


# the Jacobian of softmax is symmetric: one rule is both
reverse(
    _softmax,
    _softmax_grad,
    forward=_softmax_grad,
    batched=True,
)
reverse(
    _log_softmax,
    _log_softmax_grad,
    forward=lambda g, y: g - np.sum(np.exp(y) * g, axis=-1, keepdims=True),
    batched=True,
)
reverse(
    _logsumexp,
    _logsumexp_grad,
    forward=_logsumexp_push,
    batched=True,
)


@operation("cross_entropy")
def _entropy(logits: Any, labels: Any) -> Any:
    return _device.cross_entropy(logits, labels)


def _entropy_formula(g: Any, logits: Any, labels: Any) -> Any:
    """The gradient of the mean: softmax, one less at the label."""
    classes = backend.library(labels).arange(logits.shape[-1])
    one = (labels[:, None] == classes).astype(np.float32)
    return (_softmax(logits) - one) * (g / len(labels))


reverse(_entropy, {"logits": fused(_device.cross_entropy_grad, _entropy_formula)})


def _along(function: Any, x: Any, axis: int, name: str, reduces: bool = False) -> Any:
    """`function`, which works on the last axis, along `axis`."""
    (x,), dtype = prepared(x)
    if x.ndim == 0:
        raise wrong_shape(name, "x", (), "at least one axis")
    axis = axis_of(x, axis, name)
    last = axis == x.ndim - 1
    if x.shape[axis] == 0:
        raise wrong_shape(name, "x", x.shape, f"entries along axis {axis}")
    y = function(x if last else np.moveaxis(x, axis, -1))
    if not (last or reduces):
        y = np.moveaxis(y, -1, axis)
    return y if dtype is None else y.astype(dtype)


def softmax(x: Any, axis: int = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along `axis`, without overflow.

    Raises
    ------
    ShapeMismatch
        When x has no axis, or no entry along it.

    References
    ----------
    J. S. Bridle (1990), Probabilistic interpretation of feedforward classification network
    outputs.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _along(_softmax, x, axis, "softmax")


def log_softmax(x: Any, axis: int = -1) -> Any:
    """``x - logsumexp(x)`` along `axis`: the logarithm of `softmax`; raises as that does.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.nn.log_softmax(np.array([0.0, 0.0])).round(4)
    array([-0.6931, -0.6931])
    """
    return _along(_log_softmax, x, axis, "log_softmax")


def logsumexp(x: Any, axis: int = -1) -> Any:
    """``log(sum(exp(x)))`` along `axis`, without overflow; raises as `softmax` does.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham (2021), Accurately computing the log-sum-exp and
    softmax functions, whose shifted form this is.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> float(npgrad.nn.logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    return _along(_logsumexp, x, axis, "logsumexp", reduces=True)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean over rows of ``-log_softmax(logits)[label]``.

    Parameters
    ----------
    logits : array_like
        (..., classes), not normalised.
    labels : array_like of int
        The class of each row, ``0 <= label < classes``, of shape ``logits.shape[:-1]``.

    Raises
    ------
    OutOfRange
        (an IndexError) for a label that is no class.
    ShapeMismatch
        When there is not one label for each row.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> round(float(npgrad.nn.cross_entropy(np.zeros((2, 4)), np.array([3, 0]))), 4)
    1.3863
    """
    labels = as_index(labels, "cross_entropy", "labels")
    shape = shape_of(logits)
    if not shape:
        raise wrong_shape("cross_entropy", "logits", shape, "at least one axis, of classes")
    if labels.shape != shape[:-1]:
        wanted = f"{shape[:-1]}, one label for each row of logits {shape}"
        raise wrong_shape("cross_entropy", "labels", labels.shape, wanted)
    if _device.entropy_kernels(logits, labels) is not None:
        loss = _entropy(logits, labels)
        if type(logits) is not GradArray:
            answer()
        return loss
    if labels.size:
        low, high = backend.bounds(labels)
        if low < 0 or high >= shape[-1]:
            worst = low if low < 0 else high
            raise OutOfRange(f"npgrad.nn.cross_entropy: label {worst} of {shape[-1]} classes")
    rows = log_softmax(logits)
    return here(-np.mean(np.take_along_axis(rows, labels[..., None].astype(np.intp), axis=-1)))


def mse_loss(pred: Any, target: Any) -> Any:
    """The mean of ``(pred - target)**2``; its gradient reaches both.

    Raises
    ------
    ShapeMismatch
        When the shapes differ: nothing is broadcast, since that is rarely meant here.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> float(npgrad.nn.mse_loss(np.array([1.0, 4.0]), np.array([0.0, 1.0])))
    5.0
    """
    if shape_of(pred) != shape_of(target):
        raise wrong_shape("mse_loss", "target", shape_of(target), f"{shape_of(pred)}, that of pred")
    (pred, target), dtype = prepared(pred, target)
    loss = np.mean(here(np.square(here(pred - target))))
    return loss if dtype is None else loss.astype(dtype)
