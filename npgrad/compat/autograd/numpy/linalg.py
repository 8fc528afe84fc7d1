"""``autograd.numpy.linalg``: NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as _np

from npgrad.graph.stacking import has_recorded, stacked


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``, also of a list of recorded numbers."""
    if isinstance(x, (list, tuple)) and has_recorded(x):
        x = stacked(x)
    return _np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


def __getattr__(name: str) -> Any:
    return getattr(_np.linalg, name)
