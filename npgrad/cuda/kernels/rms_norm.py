"""rms_norm over the last axis: y = x rstd w with rstd = 1/sqrt(mean(x^2) + eps), forward and backward on the device.

With h = x rstd and q = g w:  dx = rstd (q - h mean(q h)),  dw = sum over rows of g h.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import numpy as np

from . import _norms

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]


def reference_forward(x: Any, weight: Any = None, eps: float = 1e-5) -> tuple[Any, Any]:
    """(y, rstd) in NumPy: the specification."""
    rstd = 1 / np.sqrt((x * x).mean(-1) + eps)
    y = x * rstd[..., None]
    return (y if weight is None else y * weight), rstd


def reference_backward(g: Any, x: Any, rstd: Any, weight: Any = None) -> tuple[Any, Any]:
    """(dx, dweight) in NumPy: the specification."""
    h = x * rstd[..., None]
    q = g if weight is None else g * weight
    dx = rstd[..., None] * (q - h * (q * h).mean(-1, keepdims=True))
    return dx, None if weight is None else (g * h).sum(tuple(range(x.ndim - 1)))


def forward(
    x: Any, weight: Any = None, eps: float = 1e-5, *, kind: str | None = None
) -> tuple[Any, Any]:
    """(y, rstd) on the device; see `layer_norm.forward` for `kind`."""
    y, _, rstd = _norms.normalise(x, weight, None, eps, kind, False)
    return y, rstd


def backward(
    g: Any,
    x: Any,
    rstd: Any,
    weight: Any = None,
    *,
    kind: str | None = None,
    deterministic: bool = False,
) -> tuple[Any, Any]:
    """(dx, dweight) on the device; see `layer_norm.backward` for `deterministic`."""
    dx, dweight, _ = _norms.backward(g, x, None, rstd, weight, kind, deterministic, False)
    return dx, dweight
