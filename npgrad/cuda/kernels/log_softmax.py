"""log_softmax over the last axis, forward and backward on the device: dx = g - exp(y) sum(g)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .softmax import _run_backward, _run_forward

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]


def reference_forward(x: Any) -> Any:
    """log_softmax in NumPy: the specification."""
    d = x - x.max(-1, keepdims=True)
    return d - np.log(np.exp(d).sum(-1, keepdims=True))


def reference_backward(g: Any, y: Any) -> Any:
    """dx in NumPy: the specification."""
    return g - np.exp(y) * g.sum(-1, keepdims=True)


def forward(x: Any, *, kind: str | None = None) -> Any:
    """log_softmax on the device; `kind="bfloat16"` for bfloat16 passed as uint16 words."""
    return _run_forward(x, kind, True)


def backward(g: Any, y: Any, *, kind: str | None = None) -> Any:
    """dx on the device, from the cotangent and the output."""
    return _run_backward(g, y, kind, True)
