"""``autograd.scipy.signal``: autograd's own convolve, over chosen axes of two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import npgrad.scipy.signal as _signal

__all__ = ["convolve"]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] = ((), ()),
    mode: str = "full",
) -> Any:
    """Convolve along pairs of `axes`, sum over pairs of `dot_axes`, all of A with all of B.

    The result has the other axes of A, then those of B, then the convolved ones.
    """
    if axes is None:
        return _signal.convolve(A, B, mode)
    apart_a = [i for i in range(np.ndim(A)) if i not in axes[0] and i not in dot_axes[0]]
    apart_b = [i for i in range(np.ndim(B)) if i not in axes[1] and i not in dot_axes[1]]
    first = np.transpose(A, [*apart_a, *dot_axes[0], *axes[0]])
    second = np.transpose(B, [*apart_b, *dot_axes[1], *axes[1]])
    na, nb, ndot, nconv = len(apart_a), len(apart_b), len(dot_axes[0]), len(axes[0])
    first = np.reshape(first, (*first.shape[:na], *(1,) * nb, *first.shape[na:]))
    second = np.reshape(second, (*(1,) * na, *second.shape))
    if nconv:
        last = tuple(range(na + nb + ndot, na + nb + ndot + nconv))
        # SciPy's "same" takes the middle of broadcast axes too, autograd's of convolved ones alone
        kind = "full" if mode == "same" else mode
        product = _signal.fftconvolve(first, second, kind, axes=last)
        if mode == "same":
            starts = [(second.shape[i] - 1) // 2 for i in last]
            kept = [slice(n, n + first.shape[i]) for i, n in zip(last, starts, strict=True)]
            product = product[(..., *kept)]
    else:
        product = first * second
    return np.sum(product, axis=tuple(range(na + nb, na + nb + ndot))) if ndot else product
