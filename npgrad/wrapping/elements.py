"""Functions that call Python once for each element: ``np.vectorize``, ``np.frompyfunc``."""

from __future__ import annotations

import gc
import re
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
            or (self.signature is not None and (kwargs or self.excluded))
            or not any(
                type(a) is GradArray or (type(a) in (list, tuple) and has_recorded(a))
                for a in given
            )
        ):
            return super().__call__(*args, **kwargs)
        if self.signature is not None:
            return self._by_cores(args)
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

    def _by_cores(self, args: tuple[Any, ...]) -> Any:
        """With a signature: a call for each element of the axes before those that it names."""
        cores = [
            part.count(",") + 1 if part.strip() else 0
            for part in re.findall(r"\(([^()]*)\)", str(self.signature).partition("->")[0])
        ]
        arrays: Any = [a if type(a) is GradArray else np.asarray(a) for a in map(vector, args)]
        starts = [a.ndim - core for a, core in zip(arrays, cores, strict=True)]
        loop = np.broadcast_shapes(*[a.shape[:n] for a, n in zip(arrays, starts, strict=True)])
        spread = [
            np.broadcast_to(a, loop + a.shape[n:]) for a, n in zip(arrays, starts, strict=True)
        ]
        made = [self.pyfunc(*[a[index] for a in spread]) for index in np.ndindex(loop)]
        return _gathered(made, loop)


def vectorized(original: np.vectorize) -> Vectorize:
    """What stands for an object that ``np.vectorize`` made when its module was imported."""
    made = Vectorize.__new__(Vectorize)
    made.__dict__.update(original.__dict__)
    return made


def _gathered(made: list[Any], shape: tuple[int, ...]) -> Any:
    """The results of a Python function as one array, or a tuple of them."""
    if made and type(made[0]) is tuple:
        return tuple(_gathered(list(part), shape) for part in zip(*made, strict=True))
    array = stacked(made) if has_recorded(made) else constant(np.asarray(made))
    return array.reshape((*shape, *array.shape[1:]))


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
        """The results; recorded if an argument is."""
        if not kwargs and any(type(a) is GradArray for a in args):
            return self._loop(*args)
        return self._plain(*args, **kwargs)


def python_ufunc(original: np.ufunc) -> Any:
    """What stands for a ufunc that ``np.frompyfunc`` made before the call; None for any other."""
    if not original.__name__.endswith(" (vectorized)"):
        return None
    func = next((held for held in gc.get_referents(original) if callable(held)), None)
    return None if func is None else _PythonUfunc(original, func)
