"""``autograd.numpy.linalg``: NumPy's own, but that eigh has autograd's gradient.

autograd differentiates what LAPACK reads: the gradient lies in one triangle. npgrad itself counts
the argument as symmetric, and its gradient is.
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from npgrad.graph.array import GradArray
from npgrad.graph.stacking import has_recorded, stacked


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``, also of a list of recorded numbers."""
    if isinstance(x, (list, tuple)) and has_recorded(x):
        x = stacked(x)
    return _np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


def _as_read(a: Any, UPLO: Any) -> Any:
    """The Hermitian matrix that LAPACK makes of one triangle."""
    half = _np.tril(a, -1) if UPLO.upper() == "L" else _np.triu(a, 1)
    turned = _np.conj(_np.swapaxes(half, -1, -2))
    return half + turned + _np.real(a) * _np.eye(a.shape[-1], dtype=_np.real(a).dtype)


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """``np.linalg.eigh``; the gradient is zero in the triangle that is not read."""
    if type(a) is not GradArray:
        return _np.linalg.eigh(a, UPLO)
    return _np.linalg.eigh(_as_read(a, UPLO), UPLO)


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """``np.linalg.eigvalsh``, as `eigh`."""
    if type(a) is not GradArray:
        return _np.linalg.eigvalsh(a, UPLO)
    return _np.linalg.eigvalsh(_as_read(a, UPLO), UPLO)


def __getattr__(name: str) -> Any:
    return getattr(_np.linalg, name)
