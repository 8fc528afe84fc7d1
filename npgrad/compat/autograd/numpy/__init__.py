"""``autograd.numpy``: NumPy itself, whose functions record already, and makers that do too.

Different from ``numpy`` are only the makers that NumPy's protocols do not reach (`array`,
`asarray`, `full`, ...): given recorded values they return a recorded array.
"""

from __future__ import annotations

import functools as _functools
from typing import Any

import numpy as _np

from npgrad.graph.array import GradArray, unwrap
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.wrapping.makers import MAKERS, Joined

from . import fft as fft
from . import linalg as linalg
from . import numpy_boxes as numpy_boxes
from . import numpy_vjps as numpy_vjps
from . import random as random

__all__ = sorted({*_np.__all__, "make_diagonal", "metadata"} - {"fft", "linalg", "random"})  # noqa: PLE0605

__version__ = _np.__version__


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **kwargs: Any
) -> Any:
    """``np.array``, recorded if `object` is or holds a recorded array."""
    if type(object) is GradArray:
        made = object.copy() if copy else object
    elif isinstance(object, (list, tuple)) and has_recorded(object):
        made = stacked(object)
    else:
        return _np.array(object, dtype, copy=copy, ndmin=ndmin, **kwargs)
    if dtype is not None and made.dtype != dtype:
        made = made.astype(dtype)
    return _np.reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if ndmin > made.ndim else made


def _through(original: Any) -> Any:
    """A maker that leaves a recorded array as it is."""

    def maker(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if type(a) is GradArray or (isinstance(a, (list, tuple)) and has_recorded(a)):
            return array(a, dtype, copy=False)
        return original(a, dtype, *args, **kwargs)

    maker.__name__ = original.__name__
    maker.__doc__ = original.__doc__
    return maker


asarray = _through(_np.asarray)
asanyarray = _through(_np.asanyarray)
ascontiguousarray = _through(_np.ascontiguousarray)
asfortranarray = _through(_np.asfortranarray)


@_functools.wraps(_np.where)
def where(condition: Any, *branches: Any, **named: Any) -> Any:
    """``np.where``, whose branches may be named x and y as in autograd."""
    return _np.where(condition, *branches, *(named[name] for name in ("x", "y") if name in named))


def _of_lists(original: Any) -> Any:
    """A function that takes a list of recorded numbers or arrays for an array."""

    @_functools.wraps(original)
    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(a, (list, tuple)) and has_recorded(a):
            a = stacked(a)
        if args and isinstance(args[0], list) and has_recorded(args[0]):
            args = (stacked(args[0]), *args[1:])
        return original(a, *args, **kwargs)

    return run


_TAKING_LISTS = """
append argmax argmin array_equal cumprod cumsum diag diff dot flip max mean median min nanmean
nansum outer prod ptp ravel reshape sort std sum transpose var
"""
for _name in _TAKING_LISTS.split():
    globals()[_name] = _of_lists(getattr(_np, _name))


# buffers: in a function that is being differentiated recorded values can be written into them
for _name in ("zeros", "ones", "empty"):
    globals()[_name] = MAKERS[_name]


class _Joined(Joined):
    """``np.r_`` and ``np.c_`` of recorded values, inside of a wrapped call or not."""

    def __getitem__(self, key: Any) -> Any:
        if not has_recorded(key if type(key) is tuple else (key,)):
            return self._original[key]
        token = ACTIVE.set(True)
        try:
            return super().__getitem__(key)
        finally:
            ACTIVE.reset(token)


r_ = _Joined(_np.r_)
c_ = _Joined(_np.c_)


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """``np.full``, recorded if `fill_value` is."""
    if type(fill_value) is not GradArray:
        return _np.full(shape, fill_value, dtype, **kwargs)
    return array(_np.broadcast_to(fill_value, shape), dtype)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with the last axis of `D` on their diagonals, and zeros elsewhere.

    The two axes of the matrices are `axis1` and `axis2`; only the main diagonal can be made.
    """
    if offset != 0 or {axis1, axis2} - {0, 1, -1, -2}:
        raise NotImplementedError("make_diagonal makes main diagonals in the first or last axes")
    D = asarray(D)
    whole = D[..., None] * _np.eye(D.shape[-1], dtype=D.dtype)
    if {axis1, axis2} <= {-1, -2}:
        return whole
    return _np.moveaxis(whole, (-2, -1), (axis1, axis2))


def metadata(A: Any) -> tuple[tuple[int, ...], int, Any, bool]:
    """Shape, number of axes, dtype, and whether complex."""
    A = unwrap(A)
    return _np.shape(A), _np.ndim(A), _np.result_type(A), _np.iscomplexobj(A)
