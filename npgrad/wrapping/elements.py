"""Functions that call Python once for each element: ``np.vectorize``, ``np.frompyfunc``."""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.wrapping.lists import constant, vector


class Vectorize(np.vectorize):
    """``np.vectorize`` of a Python function: recorded arguments are met element by element."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The array of the results; recorded if one of them is."""
        given = (*args, *kwargs.values())
        if (
            not ACTIVE.get()
            or self.signature is not None
            or not any(
                type(a) is GradArray or (type(a) in (list, tuple) and has_recorded(a))
                for a in given
            )
        ):
            return super().__call__(*args, **kwargs)
        excluded: set[Any] = self.excluded  # positions and names
        fixed = {name: value for name, value in kwargs.items() if name in excluded}
        names = [name for name in kwargs if name not in excluded]
        loose = [i for i in range(len(args)) if i not in excluded]
        arrays: Any = [vector(args[i]) for i in loose] + [vector(kwargs[k]) for k in names]
        arrays = np.broadcast_arrays(*arrays)
        made = []
        for row in zip(*[np.ravel(a) for a in arrays], strict=True):
            filled = list(args)
            for i, item in zip(loose, row, strict=False):
                filled[i] = item
            named = dict(zip(names, row[len(loose) :], strict=True))
            made.append(self.pyfunc(*filled, **fixed, **named))
        return _gathered(made, arrays[0].shape)


def vectorized(original: np.vectorize) -> Vectorize:
    """What stands for an object that ``np.vectorize`` made when its module was imported."""
    made = Vectorize.__new__(Vectorize)
    made.__dict__.update(original.__dict__)
    return made


def _gathered(made: list[Any], shape: tuple[int, ...]) -> Any:
    """The results of a Python function as one array, or a tuple of them."""
    if made and type(made[0]) is tuple:
        return tuple(_gathered(list(part), shape) for part in zip(*made, strict=True))
    return (stacked(made) if has_recorded(made) else constant(np.asarray(made))).reshape(shape)


def frompyfunc(func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """``np.frompyfunc``: an object that records, if it is made in wrapped code."""
    plain = np.frompyfunc(func, nin, nout, **kwargs)
    return _PythonUfunc(plain, func) if ACTIVE.get() and not kwargs else plain


class _PythonUfunc:
    """A ufunc of a Python function; recorded arguments are met element by element."""

    def __init__(self, plain: Any, func: Any) -> None:
        self._plain = plain
        self._loop = Vectorize(func)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and any(type(a) is GradArray for a in args):
            return self._loop(*args)
        return self._plain(*args, **kwargs)
