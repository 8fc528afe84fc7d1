"""``scipy.fftpack``, SciPy's older transforms, by those of ``scipy.fft``; other names are SciPy's.

It differs in names and in two conventions: the inverse cosine and sine transforms are not scaled,
and ``rfft`` gives real numbers, the parts of each frequency side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fftpack

from . import fft as _fft
from ._cosines import INVERSE, resized
from ._declare import array_of, as_imported, stand_in, theirs

original: Any = as_imported(scipy.fftpack)

_COSINES = ("dct", "idct", "dst", "idst")
_COSINES_OF_MANY = ("dctn", "idctn", "dstn", "idstn")

__all__ = [  # noqa: PLE0604 -- tuples of names
    *("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "ifftn"),
    *_COSINES,
    *_COSINES_OF_MANY,
]


def __getattr__(name: str) -> Any:
    return theirs(scipy.fftpack, name)


def _one(name: str) -> Any:
    @stand_in(getattr(original, name))
    def transform(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Any:
        return getattr(_fft, name)(x, n, axis)

    return transform


def _many(name: str, last: Any) -> Any:
    @stand_in(getattr(original, name))
    def transform(x: Any, shape: Any = None, axes: Any = last, overwrite_x: bool = False) -> Any:
        return getattr(_fft, name)(x, shape, axes)

    return transform


@stand_in(original.rfft)
def rfft(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    """SciPy's ``rfft``: ``[re(0), re(1), im(1), ...]``, for even sizes ended by a real part."""
    made = np.moveaxis(_fft.rfft(x, n, axis), axis, -1)
    size = array_of(x).shape[axis] if n is None else n
    parts = np.stack((made.real, made.imag), axis=-1).reshape((*made.shape[:-1], -1))
    parts = np.concatenate((parts[..., :1], parts[..., 2 : size + 1]), axis=-1)
    return np.moveaxis(parts, -1, axis)


@stand_in(original.irfft)
def irfft(x: Any, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Any:
    """SciPy's ``irfft``, of what `rfft` gives."""
    x = np.moveaxis(array_of(x), axis, -1)
    size = x.shape[-1] if n is None else n
    x = resized(x, size, -1)
    zero = np.zeros_like(x[..., :1])
    parts = np.concatenate((x[..., :1], zero, x[..., 1:], *[zero] * (1 - size % 2)), axis=-1)
    parts = parts.reshape((*x.shape[:-1], -1, 2))
    return np.moveaxis(_fft.irfft(parts[..., 0] + 1j * parts[..., 1], size), -1, axis)


def _cosine(name: str) -> Any:
    inverse, ours = name.startswith("i"), getattr(_fft, name.removeprefix("i"))

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
    ) -> Any:
        return ours(x, INVERSE.get(type, type) if inverse else type, n, axis, norm)

    return transform


def _cosine_of_many(name: str) -> Any:
    inverse, ours = name.startswith("i"), getattr(_fft, name.removeprefix("i"))

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        type: int = 2,
        shape: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
    ) -> Any:
        return ours(x, INVERSE.get(type, type) if inverse else type, shape, axes, norm)

    return transform


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"SciPy's ``{name}``."
    return function


globals().update({name: _named(_one(name), name) for name in ("fft", "ifft")})
globals().update({name: _named(_many(name, (-2, -1)), name) for name in ("fft2", "ifft2")})
globals().update({name: _named(_many(name, None), name) for name in ("fftn", "ifftn")})
globals().update({name: _named(_cosine(name), name) for name in _COSINES})
globals().update({name: _named(_cosine_of_many(name), name) for name in _COSINES_OF_MANY})
