"""layer_norm over the last axis: y = (x - mean) rstd w + b, forward and backward on the device.

The backward needs the row statistics that the forward returns. With h = (x - mean) rstd and q = g w:
dx = rstd (q - mean(q) - h mean(q h)),  dw = sum over rows of g h,  db = sum over rows of g.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import numpy as np

from . import _norms

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]


def reference_forward(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) in NumPy: the specification."""
    mean = x.mean(-1)
    rstd = 1 / np.sqrt(((x - mean[..., None]) ** 2).mean(-1) + eps)
    y = (x - mean[..., None]) * rstd[..., None]
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, rstd


def reference_backward(
    g: Any, x: Any, mean: Any, rstd: Any, weight: Any = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) in NumPy: the specification."""
    h = (x - mean[..., None]) * rstd[..., None]
    q = g if weight is None else g * weight
    dx = rstd[..., None] * (q - q.mean(-1, keepdims=True) - h * (q * h).mean(-1, keepdims=True))
    if weight is None:
        return dx, None, None
    axes = tuple(range(x.ndim - 1))
    return dx, (g * h).sum(axes), g.sum(axes)


def forward(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, kind: str | None = None
) -> tuple[Any, Any, Any]:
    """(y, mean, rstd) on the device; x read once.

    `kind="bfloat16"` says that x, weight and bias are bfloat16 passed as uint16 words. Arithmetic and statistics are float32.
    """
    return _norms.normalise(x, weight, bias, eps, kind, True)


def backward(
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any = None,
    *,
    kind: str | None = None,
    deterministic: bool = False,
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) on the device; dweight and dbias are float32, None without a weight.

    The weight gradients are added by atomics, whose order varies from run to run; `deterministic=True` adds them in a fixed order
    in a second launch (4 to 5 us more on an H200).
    """
    return _norms.backward(g, x, mean, rstd, weight, kind, deterministic, True)
