"""Operations of this package on device arrays: the CUDA kernels where they apply, else the formula.

Each function has the signature of its host kernel. float32 goes to the kernels of
`npgrad.cuda.kernels` (weights in float32 too); other dtypes, and machines without numba-cuda or
with ``NPGRAD_CUDA_KERNELS=0``, take the NumPy formula, which CuPy runs. Sums over rows use atomics
whose order varies; ``NPGRAD_CUDA_DETERMINISTIC=1`` chooses the kernels' fixed order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.errors import OutOfRange
from npgrad.graph import backend
from npgrad.graph.questions import ask_later
from npgrad.implementations import device_kernel
from npgrad.kernels import batch_norm as batch_host
from npgrad.kernels import conv2d as conv_host
from npgrad.kernels import group_norm as group_host
from npgrad.kernels import layer_norm as layer_host
from npgrad.kernels import log_softmax as log_host
from npgrad.kernels import rms_norm as rms_host
from npgrad.kernels import softmax as softmax_host

Array = Any
FORWARD_BYTES = 1 << 30  # unrolled patches of an image batch are made in pieces of this size


def routed(host: Callable[..., Any], device: Callable[..., Any]) -> Callable[..., Any]:
    """`host`, or `device` if one of the arguments lives on a device."""

    def run(*args: Any) -> Any:
        for value in args:
            if type(value) is not backend.NDARRAY and backend.on_device(value):
                return device(*args)
        return host(*args)

    return run


def _kernel(operation: str, *arrays: Array) -> Any:
    """The module of CUDA kernels if every array is float32, else None."""
    if any(array.dtype != np.float32 for array in arrays):
        return None
    return device_kernel(operation)


def _deterministic() -> bool:
    return os.environ.get("NPGRAD_CUDA_DETERMINISTIC", "0") == "1"


def _norm(name: str, reference: Any, arrays: tuple[Array, ...], *args: Any) -> Array:
    """The value of a normalisation of ``args``; `arrays` of them decide whether a kernel may."""
    module = _kernel(name, *arrays)
    return reference(*args) if module is None else module.forward(*args)[0]


def _norm_grad(
    name: str, reference: Any, g: Array, x: Array, weight: Array, eps: float, *groups: int
) -> Any:
    """All cotangents of a normalisation; the statistics are taken again, one more pass over x."""
    module = _kernel(name, g, x, weight)
    if module is None:
        return reference(g, x, *groups, weight, eps)
    nothing = (None,) if name == "rms_norm" else (None, None)  # weight, and bias
    _, *statistics = module.forward(x, *groups, *nothing, eps)
    order = {} if name == "batch_norm" else {"deterministic": _deterministic()}
    return module.backward(g, x, *statistics, *groups, weight, **order)


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """See `npgrad.kernels.layer_norm`."""
    arrays = x, weight, bias
    return _norm("layer_norm", layer_host.layer_norm_reference, arrays, *arrays, eps)


def layer_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> Any:
    """See `npgrad.kernels.layer_norm`."""
    return _norm_grad("layer_norm", layer_host.layer_norm_grad_reference, g, x, weight, eps)


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """See `npgrad.kernels.rms_norm`."""
    return _norm("rms_norm", rms_host.rms_norm_reference, (x, weight), x, weight, eps)


def rms_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> Any:
    """See `npgrad.kernels.rms_norm`."""
    return _norm_grad("rms_norm", rms_host.rms_norm_grad_reference, g, x, weight, eps)


def group_norm(x: Array, groups: int, weight: Array, bias: Array, eps: float) -> Array:
    """See `npgrad.kernels.group_norm`."""
    if x.ndim < 3:
        return group_host.group_norm_reference(x, groups, weight, bias, eps)
    args = x, groups, weight, bias, eps
    return _norm("group_norm", group_host.group_norm_reference, (x, weight, bias), *args)


def group_norm_grad(g: Array, x: Array, groups: int, weight: Array, eps: float) -> Any:
    """See `npgrad.kernels.group_norm`."""
    reference = group_host.group_norm_grad_reference
    if x.ndim < 3:
        return reference(g, x, groups, weight, eps)
    return _norm_grad("group_norm", reference, g, x, weight, eps, groups)


def batch_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """See `npgrad.kernels.batch_norm`."""
    arrays = x, weight, bias
    return _norm("batch_norm", batch_host.batch_norm_reference, arrays, *arrays, eps)


def batch_norm_grad(g: Array, x: Array, weight: Array, eps: float) -> Any:
    """See `npgrad.kernels.batch_norm`."""
    return _norm_grad("batch_norm", batch_host.batch_norm_grad_reference, g, x, weight, eps)


def softmax(x: Array) -> Array:
    """See `npgrad.kernels.softmax`."""
    module = _kernel("softmax", x)
    return softmax_host.softmax_reference(x) if module is None else module.forward(x)


def softmax_grad(g: Array, y: Array) -> Array:
    """See `npgrad.kernels.softmax`; a batch of cotangents takes the formula, which broadcasts."""
    module = _kernel("softmax", g, y) if g.shape == y.shape else None
    return softmax_host.softmax_grad_reference(g, y) if module is None else module.backward(g, y)


def log_softmax(x: Array) -> Array:
    """See `npgrad.kernels.log_softmax`."""
    module = _kernel("log_softmax", x)
    return log_host.log_softmax_reference(x) if module is None else module.forward(x)


def log_softmax_grad(g: Array, y: Array) -> Array:
    """See `softmax_grad`."""
    module = _kernel("log_softmax", g, y) if g.shape == y.shape else None
    return log_host.log_softmax_grad_reference(g, y) if module is None else module.backward(g, y)


def entropy_kernels(logits: Any, labels: Any) -> Any:
    """The kernels of cross_entropy if they may take these, else None."""
    fits = backend.on_device(labels) and labels.dtype.char in "il" and len(logits.shape) == 2
    fits = fits and logits.dtype == np.float32 and 0 not in logits.shape
    return device_kernel("cross_entropy") if fits else None


def cross_entropy(logits: Array, labels: Array) -> Array:
    """The mean loss; a label that is no class raises when the sweep ends, and is NaN until then."""
    losses, bad = device_kernel("cross_entropy").forward(logits, labels)
    classes = logits.shape[-1]

    def error() -> OutOfRange:
        low, high = backend.bounds(labels)
        worst = low if low < 0 else high
        return OutOfRange(f"npgrad.nn.cross_entropy: label {worst} of {classes} classes")

    ask_later(bad, error)
    return losses.mean()


def cross_entropy_grad(g: Array, logits: Array, labels: Array) -> Array:
    """See `cross_entropy`."""
    return device_kernel("cross_entropy").backward(g, logits, labels)


def conv2d(x: Array, w: Array, geometry: Any) -> Array:
    """The tile kernel in float32; otherwise patches unrolled and a product of matrices a group."""
    module = _kernel("conv2d", x, w) if _even(geometry) else None
    if module is not None:
        y = module.forward(x, w, *_options(geometry, (geometry.top, geometry.left)))
        if y is not None:
            return y
    size = conv_host.out_size(x.shape, w.shape, geometry)
    images, groups, pixels = len(x), geometry.groups, size[0] * size[1]
    taps = w.shape[1] * w.shape[2] * w.shape[3]
    dtype = np.result_type(x, w)
    y = np.zeros_like(x, shape=(images, groups, w.shape[0] // groups, pixels), dtype=dtype)
    if y.size == 0 or taps == 0:
        return y.reshape(images, len(w), *size)
    filters = w.reshape(groups, -1, taps)
    step = max(1, FORWARD_BYTES // (groups * taps * pixels * dtype.itemsize))
    for start in range(0, images, step):
        part = conv_host._padded(x[start : start + step], geometry)
        seen = [
            part[conv_host._tap(i, j, size, geometry)].reshape(len(part), groups, w.shape[1], -1)
            for i in range(w.shape[2])
            for j in range(w.shape[3])
        ]
        columns = np.stack(seen, axis=3).reshape(len(part), groups, taps, pixels)
        y[start : start + step] = np.matmul(filters, columns)
    return y.reshape(images, len(w), *size)


def _even(geometry: Any) -> bool:
    return bool(geometry.top == geometry.bottom and geometry.left == geometry.right)


def _options(geometry: Any, padding: tuple[int, int]) -> tuple[Any, ...]:
    return (geometry.stride, padding, geometry.dilation, geometry.groups)


def conv2d_grad_input(g: Array, w: Array, shape: Any, geometry: Any) -> Array:
    """See `npgrad.kernels.conv2d`; uneven padding is cut off afterwards."""
    module = _kernel("conv2d_grad_input", g, w)
    if module is None:
        return conv_host.conv2d_grad_input_reference(g, w, shape, geometry)
    if _even(geometry):
        return module.backward(g, w, shape, *_options(geometry, (geometry.top, geometry.left)))
    height = shape[2] + geometry.top + geometry.bottom
    width = shape[3] + geometry.left + geometry.right
    whole = module.backward(g, w, (*shape[:2], height, width), *_options(geometry, (0, 0)))
    return whole[:, :, geometry.top :, geometry.left :][:, :, : shape[2], : shape[3]]


def conv2d_grad_weight(g: Array, x: Array, shape: Any, geometry: Any) -> Array:
    """See `npgrad.kernels.conv2d`; uneven padding is added beforehand."""
    module = _kernel("conv2d_grad_weight", g, x)
    if module is None:
        return conv_host.conv2d_grad_weight_reference(g, x, shape, geometry)
    if _even(geometry):
        padding = (geometry.top, geometry.left)
        return module.backward(g, x, shape[2:], *_options(geometry, padding))
    padded = conv_host._padded(x, geometry)
    return module.backward(g, padded, shape[2:], *_options(geometry, (0, 0)))


def conv2d_grad_bias(g: Array) -> Array:
    """The sum over images and pixels."""
    module = _kernel("conv2d_grad_bias", g)
    return np.sum(g, axis=(0, 2, 3)) if module is None else module.backward(g)


def checked_index(index: Array, length: int, axis: int) -> Array:
    """`index` as int64 counted from the front; waits for the device to look at its bounds."""
    if index.dtype.kind not in "iu":
        if index.size:
            raise OutOfRange(f"an index must be of integer dtype, not {index.dtype}")
        return index.astype(np.int64)
    if index.size:
        low, high = backend.bounds(index)
        if low < -length or high >= length:
            worst = low if low < -length else high
            raise OutOfRange(f"index {worst} is out of bounds for axis {axis} with size {length}")
    index = index.astype(np.int64)
    return np.where(index < 0, index + length, index)


def take_rows(x: Array, index: Array, axis: int) -> Array:
    """``np.take(x, index, axis)``."""
    return np.take(x, index, axis=axis)


def take_along(x: Array, index: Array, axis: int) -> Array:
    """``np.take_along_axis(x, index, axis)``."""
    return np.take_along_axis(x, index, axis=axis)


def _started(x: Array | None, shape: Any, like: Array) -> Array:
    """What is added into: a copy of `x`, or zeros."""
    if x is None:
        return np.zeros_like(like, shape=shape, order="C")
    return backend.library(like).array(x, dtype=like.dtype, order="C")


def added_rows(x: Array | None, shape: Any, index: Array, source: Array, axis: int) -> Array:
    """``out[.., index[i], ..] += source[.., i, ..]`` along `axis`; out begins as `x` or zeros."""
    out = _started(x, shape, source)
    index = backend.library(out).asarray(index)  # a host index, as CuPy takes one
    module = _kernel("index_add", out, source)
    if module is None or not out.flags.c_contiguous:
        place = (slice(None),) * axis + (index,)
        backend.add_at(out, place, source)
        return out
    if axis == 0:
        module.add_into(out, index, source, deterministic=_deterministic())
        return out
    front = np.moveaxis(out, axis, 0).copy()
    module.add_into(front, index, np.moveaxis(source, axis, 0), deterministic=_deterministic())
    out[...] = np.moveaxis(front, 0, axis)
    return out


def added_along(x: Array | None, shape: Any, index: Array, source: Array, axis: int) -> Array:
    """``out[.., index[.., k, ..], ..] += source[.., k, ..]``; out begins as `x` or zeros."""
    out = _started(x, shape, source)
    index = backend.library(out).asarray(index)  # a host index, as CuPy takes one
    module = _kernel("gather", out, source) if index.shape == source.shape else None
    fits = all(n == m for k, (n, m) in enumerate(zip(index.shape, out.shape)) if k != axis)  # noqa: B905
    if module is not None and fits:
        out += module.backward(source, index, out.shape, axis, deterministic=_deterministic())
        return out
    grid = [
        backend.library(out).arange(n).reshape((-1,) + (1,) * (index.ndim - 1 - k))
        for k, n in enumerate(index.shape)
    ]
    grid[axis] = index
    backend.add_at(out, tuple(grid), source)
    return out
