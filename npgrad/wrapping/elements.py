"""Functions that call Python once for each element: ``np.vectorize``, ``np.frompyfunc``.

With plain arguments NumPy calls the function, until one result turns out to be recorded, by a value
that the function's closure holds: then all elements are met here.
"""

from __future__ import annotations

import functools
import gc
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.errors import GradientLost, NoDerivative
from npgrad.graph.array import GradArray, plain
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.rules import indexing
from npgrad.wrapping.lists import constant, holds_recorded, vector


class _Found(Exception):
    """A function that NumPy called with plain elements gave a recorded result."""


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as NumPy may call it: a recorded result ends the loop."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if holds_recorded(made):
            raise _Found
        return made

    return call


class Vectorize(np.vectorize):
    """``np.vectorize`` of a Python function: recorded arguments are met element by element."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The array of the results; recorded if one of them is."""
        given = (*args, *kwargs.values())
        by_keyword = self.signature is not None and (kwargs or self.excluded)
        if not ACTIVE.get() or by_keyword or not callable(self.pyfunc):
            return super().__call__(*args, **kwargs)
        if not any(
            type(a) is GradArray or (type(a) in (list, tuple) and has_recorded(a)) for a in given
        ):
            try:
                return self._by_numpy(*args, **kwargs)
            except _Found:
                pass
        if self.signature is not None:
            return self._by_cores(args)
        excluded: set[Any] = self.excluded  # positions and names
        fixed = {name: value for name, value in kwargs.items() if name in excluded}
        names = [name for name in kwargs if name not in excluded]
        loose = [i for i in range(len(args)) if i not in excluded]
        arrays: Any = [vector(args[i]) for i in loose] + [vector(kwargs[k]) for k in names]
        arrays = np.broadcast_arrays(*arrays)
        if arrays and arrays[0].size == 0:  # no call: NumPy asks for the types, or has them
            bare = [plain(a) if type(a) is GradArray else a for a in args]
            named = {k: plain(a) if type(a) is GradArray else a for k, a in kwargs.items()}
            return constant(self._by_numpy(*bare, **named))
        made = []
        for row in zip(*[np.ravel(a) for a in arrays], strict=True):
            filled = list(args)
            for i, item in zip(loose, row, strict=False):
                filled[i] = item
            named = dict(zip(names, row[len(loose) :], strict=True))
            made.append(self.pyfunc(*filled, **fixed, **named))
        shape = arrays[0].shape if arrays else ()
        return _laid_out(_gathered(made, shape, _characters(self.otypes)), arrays)

    def _by_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """What NumPy makes of plain arguments; `_Found` if a result is recorded."""
        usual = np.vectorize(
            _guarded(self.pyfunc), self.otypes, None, self.excluded, self.cache, self.signature
        )
        return usual(*args, **kwargs)

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
        return _gathered(made, loop, _characters(self.otypes))


def vectorized(original: np.vectorize) -> Vectorize:
    """What stands for an object that ``np.vectorize`` made when its module was imported."""
    made = Vectorize.__new__(Vectorize)
    made.__dict__.update(original.__dict__)
    return made


def _characters(otypes: Any) -> str:
    """The characters of the types that ``otypes`` names; none if it names none."""
    return "".join(np.dtype(kind).char for kind in otypes or ())


def _gathered(made: list[Any], shape: tuple[int, ...], types: str, objects: bool = False) -> Any:
    """The results of a Python function as one array, or a tuple of them.

    NumPy takes the type of the first result for all, if `types` does not name it; with `objects`
    each keeps its own.
    """
    if made and type(made[0]) is tuple:
        parts = list(zip(*made, strict=True))
        each = types or (None,) * len(parts)
        return tuple(
            _gathered(list(part), shape, kind or "", objects)
            for part, kind in zip(parts, each, strict=True)
        )
    if made and not types and not objects:
        first = made[0]
        types = (first if type(first) is GradArray else np.asarray(first)).dtype.char
        if types not in "O" + np.typecodes["AllFloat"] and holds_recorded(made):
            raise GradientLost(
                f"npgrad: np.vectorize takes the type of the first result, here {first!r}, and "
                "would cut all other results to it, recorded ones among them. Return 0.0 in place "
                "of 0, or name the type: np.vectorize(function, otypes=[float])."
            )
    if not has_recorded(made):
        array = constant(np.asarray(made, types or None))
    else:
        array = stacked(made)
        if types and types not in (array.dtype.char, "O"):
            array = array.astype(types, casting=_casting(types))
    return array.reshape((*shape, *array.shape[1:]))


def _laid_out(made: Any, arrays: Any) -> Any:
    """`made`, of what Python computed of `arrays`, in the order in which NumPy's result lies."""
    if type(made) is tuple:
        return tuple(_laid_out(part, arrays) for part in made)
    if getattr(made, "ndim", 0) < 2 or made.shape != arrays[0].shape:
        return made
    order = indexing.iterated(made.shape, *[a.strides for a in arrays])
    return indexing.in_memory(made, order)


def _casting(kind: str) -> str:
    return "unsafe" if kind in "?" + np.typecodes["AllInteger"] else "same_kind"


@functools.wraps(np.apply_along_axis)  # type: ignore[arg-type]
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.apply_along_axis``, of a plain array as well."""
    arr = vector(arr) if ACTIVE.get() else arr
    if ACTIVE.get() and type(arr) is not GradArray:
        try:
            return np.apply_along_axis(_guarded(func1d), axis, arr, *args, **kwargs)
        except _Found:
            return indexing.apply_along_axis(func1d, axis, vector(arr), *args, **kwargs)
    return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)


def frompyfunc(func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """``np.frompyfunc``: an object that records, if it is made in wrapped code."""
    plain = np.frompyfunc(func, nin, nout, **kwargs)
    return _PythonUfunc(plain, func) if ACTIVE.get() and not kwargs else plain


class _PythonUfunc:
    """A ufunc of a Python function; recorded arguments are met element by element."""

    def __init__(self, plain: Any, func: Any) -> None:
        self._plain = plain
        self._func = func
        self._guarded = np.frompyfunc(_guarded(func), plain.nin, plain.nout)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results; recorded if one of them is."""
        if kwargs or not ACTIVE.get():
            return self._plain(*args, **kwargs)
        if not any(type(a) is GradArray for a in args):
            try:
                return self._guarded(*args)
            except _Found:
                pass
        arrays: Any = np.broadcast_arrays(*map(vector, args))
        made = [self._func(*row) for row in zip(*[np.ravel(a) for a in arrays], strict=True)]
        return _laid_out(_gathered(made, arrays[0].shape, "", objects=True), arrays)

    def _rows(self, name: str, array: Any, axis: Any, options: Any) -> Any:
        """The entries of `array` along `axis` if they are recorded; None for NumPy itself."""
        rows: Any = vector(array)
        if not ACTIVE.get() or type(rows) is not GradArray or self._plain.nin != 2:
            return None
        if options or not isinstance(axis, (int, np.integer)):
            raise NoDerivative(
                f"npgrad: {name} of a function that np.frompyfunc made takes an array and one axis"
            )
        return np.moveaxis(vector(array), axis, 0)

    def reduce(self, array: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        """The function between all entries along an axis."""
        rows = self._rows("reduce", array, axis, args or kwargs)
        if rows is None:
            return self._plain.reduce(array, axis, *args, **kwargs)
        return functools.reduce(self, list(rows))

    def accumulate(self, array: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        """What `reduce` has after each entry."""
        rows = self._rows("accumulate", array, axis, args or kwargs)
        if rows is None:
            return self._plain.accumulate(array, axis, *args, **kwargs)
        return np.moveaxis(np.stack(list(itertools.accumulate(rows, self))), 0, axis)

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        """The function of each entry of `a` with each of `b`."""
        a, b = vector(a), vector(b)
        if kwargs or not ACTIVE.get() or not has_recorded((a, b)):
            return self._plain.outer(a, b, **kwargs)
        return self(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b)


def python_ufunc(original: np.ufunc) -> Any:
    """What stands for a ufunc that ``np.frompyfunc`` made before the call; None for any other."""
    if not original.__name__.endswith(" (vectorized)"):
        return None
    func = next((held for held in gc.get_referents(original) if callable(held)), None)
    return None if func is None else _PythonUfunc(original, func)
