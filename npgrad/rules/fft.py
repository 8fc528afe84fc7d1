"""Every function of ``np.fft``.

Four transforms of one axis have rules: fft, ifft, rfft, irfft. The others are made of these, as in
NumPy, so that their values are NumPy's bit for bit.

Rules may use ``g``, ``shape`` and NumPy's parameters ``n``, ``axis``, ``norm``. They are adjoints
under Re(vdot): the adjoint of a transform is the opposite one, with ``norm`` scaling the other
direction. What ``n`` cropped comes back as zeros and what it padded is cut off. Of the half
spectrum of real numbers each inner bin stands for two, the first one (and for even n the last) for
itself.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.primitives import beside
from npgrad.table import composed, reverse

Array = Any
Axes = Any

# Which direction a norm scales, seen from the opposite transform.
OPPOSITE: dict[Any, Any] = {
    None: "forward",
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}


# ------------------------------------------------------------------------------------ one axis
def from_end(axis: int, shape: Any) -> int:
    """`axis` counted from the end, where leading batch axes do not move it."""
    return axis - len(shape) if axis >= 0 else axis


def fitted(a: Array, length: int, axis: int) -> Array:
    """`a` cropped, or padded with zeros, to `length` along a negative `axis`."""
    have = a.shape[axis]
    if have == length:
        return a
    if have > length:
        return a[(..., slice(length), *(slice(None),) * (-axis - 1))]
    place = a.ndim + axis
    shape = (*a.shape[:place], length - have, *a.shape[place + 1 :])
    return np.concatenate((a, np.zeros_like(a, shape=shape)), axis=axis)


def bin_weights(g: Array, n: int, axis: int, inner: float) -> Array:
    """1 for the bins of the half spectrum that stand for themselves, `inner` for the others."""
    weights = beside(g).full(n // 2 + 1, inner, dtype=np.finfo(g.dtype).dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape((-1,) + (1,) * (-axis - 1))


def fft_vjp(g: Array, shape: Any, axis: Any, norm: Any) -> Array:
    """The conjugated, symmetric matrix of fft is that of ifft."""
    axis = from_end(axis, shape)
    return fitted(np.fft.ifft(g, axis=axis, norm=OPPOSITE[norm]), shape[axis], axis)


def ifft_vjp(g: Array, shape: Any, axis: Any, norm: Any) -> Array:
    """And the other way round."""
    axis = from_end(axis, shape)
    return fitted(np.fft.fft(g, axis=axis, norm=OPPOSITE[norm]), shape[axis], axis)


def rfft_vjp(g: Array, shape: Any, n: Any, axis: Any, norm: Any) -> Array:
    """Inner bins count twice in irfft, so they enter it halved."""
    axis = from_end(axis, shape)
    n = shape[axis] if n is None else operator.index(n)
    full = np.fft.irfft(g * bin_weights(g, n, axis, 0.5), n, axis, OPPOSITE[norm])
    return fitted(full, shape[axis], axis)


def irfft_vjp(g: Array, shape: Any, axis: Any, norm: Any) -> Array:
    """Inner bins were counted twice; of the others only the real part entered."""
    axis = from_end(axis, shape)
    n = g.shape[axis]
    half = np.fft.rfft(g, axis=axis, norm=OPPOSITE[norm]) * bin_weights(g, n, axis, 2.0)
    return fitted(half, shape[axis], axis)


def along(transform: Callable[..., Array]) -> Callable[..., Array]:
    """The JVP of a linear transform of one axis: the transform itself."""

    def forward(g: Array, shape: Any, n: Any, axis: Any, norm: Any) -> Array:
        return transform(g, n, from_end(axis, shape), norm)

    return forward


for _transform, _vjp in (
    (np.fft.fft, fft_vjp),
    (np.fft.ifft, ifft_vjp),
    (np.fft.rfft, rfft_vjp),
    (np.fft.irfft, irfft_vjp),
):
    reverse(_transform, _vjp, along(_transform), holomorphic=False, batched=True)


def _out(out: Any) -> dict[str, Any]:
    """CuPy's transforms have no ``out=``: it is handed on only if it is given."""
    return {} if out is None else {"out": out}


def hfft(a: Array, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Array:
    """The irfft of the conjugate, scaled in the other direction."""
    return np.fft.irfft(np.conj(a), n, axis, OPPOSITE[norm], **_out(out))


def ihfft(a: Array, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Array:
    """The conjugate of rfft, scaled in the other direction."""
    return np.conj(np.fft.rfft(a, n, axis, OPPOSITE[norm]), **_out(out))


composed(np.fft.hfft, hfft)
composed(np.fft.ihfft, ihfft)


# --------------------------------------------------------------------------------- several axes
def lengths_and_axes(a: Array, s: Any, axes: Axes, half: bool = False) -> tuple[list[int], Any]:
    """NumPy's reading of `s` and `axes`; `half`: the last axis is half a spectrum by default."""
    given = s is not None
    s = list(s) if given else [a.shape[axis] for axis in (range(a.ndim) if axes is None else axes)]
    if axes is None:
        if given:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0)",
                DeprecationWarning,
                stacklevel=3,
            )
        axes = range(-len(s), 0)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if half and not given:
        s[-1] = (a.shape[axes[-1]] - 1) * 2
    return [
        a.shape[axis] if length in (None, -1) else length
        for length, axis in zip(s, axes, strict=True)
    ], axes


Body = Callable[..., Array]


def in_turn(a: Array, steps: Any, norm: Any, out: Any) -> Array:
    """Each (transform, length, axis) of `steps`, the last one into `out`."""
    steps = list(steps)
    for i, (transform, length, axis) in enumerate(steps):
        a = transform(a, length, axis, norm, **_out(out if i == len(steps) - 1 else None))
    return a


def over_axes(transform: Body, default: Axes) -> Body:
    """`transform` along several axes, the last one first."""

    def body(
        a: Array, s: Any = None, axes: Axes = default, norm: Any = None, out: Any = None
    ) -> Array:
        lengths, axes = lengths_and_axes(a, s, axes)
        steps = [(transform, n, axis) for n, axis in zip(lengths, axes, strict=True)]
        return in_turn(a, reversed(steps), norm, out)

    return body


def real_forward(default: Axes) -> Body:
    """First rfft along the last axis, then fft along the others."""

    def body(
        a: Array, s: Any = None, axes: Axes = default, norm: Any = None, out: Any = None
    ) -> Array:
        lengths, axes = lengths_and_axes(a, s, axes)
        steps: list[Any] = [(np.fft.fft, n, axis) for n, axis in zip(lengths, axes, strict=True)]
        steps[-1] = (np.fft.rfft, lengths[-1], axes[-1])
        return in_turn(a, reversed(steps), norm, out)

    return body


def real_inverse(default: Axes) -> Body:
    """First ifft along all axes but the last, then irfft."""

    def body(
        a: Array, s: Any = None, axes: Axes = default, norm: Any = None, out: Any = None
    ) -> Array:
        lengths, axes = lengths_and_axes(a, s, axes, half=True)
        steps: list[Any] = [(np.fft.ifft, n, axis) for n, axis in zip(lengths, axes, strict=True)]
        steps[-1] = (np.fft.irfft, lengths[-1], axes[-1])
        return in_turn(a, steps, norm, out)

    return body


composed(np.fft.fft2, over_axes(np.fft.fft, (-2, -1)))
composed(np.fft.ifft2, over_axes(np.fft.ifft, (-2, -1)))
composed(np.fft.fftn, over_axes(np.fft.fft, None))
composed(np.fft.ifftn, over_axes(np.fft.ifft, None))
composed(np.fft.rfft2, real_forward((-2, -1)))
composed(np.fft.rfftn, real_forward(None))
composed(np.fft.irfft2, real_inverse((-2, -1)))
composed(np.fft.irfftn, real_inverse(None))


# --------------------------------------------------------------------------------------- shifts
def shifted(direction: int) -> Callable[[Array, Any], Array]:
    """Half of each axis rolled to the other side."""

    def body(x: Array, axes: Any = None) -> Array:
        if axes is None:
            axes = range(x.ndim)
        elif isinstance(axes, (int, np.integer)):
            axes = (axes,)
        axes = tuple(from_end(axis, x.shape) for axis in axes)
        return np.roll(x, tuple(direction * (x.shape[axis] // 2) for axis in axes), axes)

    return body


composed(np.fft.fftshift, shifted(1))
composed(np.fft.ifftshift, shifted(-1))
