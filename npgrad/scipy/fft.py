"""``scipy.fft``: Fourier transforms by NumPy's, which have rules, cosine and sine transforms.

Other names are SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ._cosines import TURNED, along_axes, along_axis
from ._declare import array_of, as_imported, refuse, stand_in, theirs

original: Any = as_imported(scipy.fft)

_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_MANY = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
_HERMITIAN = ("hfft2", "ihfft2", "hfftn", "ihfftn")
_SHIFTS = ("fftshift", "ifftshift")
_COSINES = ("dct", "idct", "dst", "idst")
_COSINES_OF_MANY = ("dctn", "idctn", "dstn", "idstn")

__all__ = [*_ONE, *_MANY, *_HERMITIAN, *_COSINES, *_COSINES_OF_MANY, *_SHIFTS]  # noqa: PLE0604 -- tuples of names


def __getattr__(name: str) -> Any:
    return theirs(scipy.fft, name)


def _one(name: str) -> Any:
    numpys = getattr(np.fft, name)

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        if plan is not None:
            raise refuse(f"fft.{name}", "with plan=")
        return numpys(array_of(x), n, axis, norm)

    return _named(transform, name)


def _hermitian(name: str) -> Any:
    """A transform of several axes from or to real numbers, by the opposite one.

    NumPy has none: hfftn(x) is irfftn(conj(x)), scaled the other way.
    """

    def numpys(x: Any, s: Any, axes: Any, norm: Any) -> Any:
        if norm not in TURNED:
            raise ValueError(
                f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'"
            )
        if name.startswith("h"):
            return np.fft.irfftn(np.conj(x), s, axes, TURNED[norm])
        return np.conj(np.fft.rfftn(x, s, axes, TURNED[norm]))

    return numpys


def _many(name: str) -> Any:
    numpys = getattr(np.fft, name, None) or _hermitian(name)
    last = (-2, -1) if name.endswith("2") else None

    @stand_in(getattr(original, name))
    def transform(
        x: Any,
        s: Any = None,
        axes: Any = last,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        if plan is not None:
            raise refuse(f"fft.{name}", "with plan=")
        x = array_of(x)
        s, axes = ((v,) if isinstance(v, (int, np.integer)) else v for v in (s, axes))
        if s is not None and axes is None:
            s = tuple(s)
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return numpys(x, s, axes, norm)

    return _named(transform, name)


def _shift(name: str) -> Any:
    numpys = getattr(np.fft, name)

    @stand_in(getattr(original, name))
    def shift(x: Any, axes: Any = None) -> Any:
        return numpys(array_of(x), axes)

    return _named(shift, name)


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"SciPy's ``{name}``."
    return function


globals().update({name: _one(name) for name in _ONE})
globals().update({name: _many(name) for name in (*_MANY, *_HERMITIAN)})
globals().update({name: _shift(name) for name in _SHIFTS})
globals().update({name: _named(along_axis(name), name) for name in _COSINES})
globals().update({name: _named(along_axes(name), name) for name in _COSINES_OF_MANY})
