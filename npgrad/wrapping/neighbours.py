"""``scipy.spatial.KDTree`` in wrapped code: neighbours of recorded points.

Which points are near is a question for their values; distances are computed anew, recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.for_class import ForClass
from npgrad.graph.array import GradArray, recorded
from npgrad.graph.modes import WRAPPED
from npgrad.graph.stacking import has_recorded
from npgrad.transforms.values import value
from npgrad.wrapping.lists import vector


class Tree:
    """A tree of SciPy's over points of which some coordinate may be recorded."""

    def __init__(self, original: type, data: Any, args: tuple[Any, ...], kwargs: Any) -> None:
        self._points = vector(data)
        self._tree = original(value(self._points), *args, **kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._tree)

    @property
    def data(self) -> Any:
        """The points."""
        return self._points

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        held = getattr(self._tree, name)
        if not callable(held):
            return held

        def asked(*args: Any, **kwargs: Any) -> Any:
            args = tuple([a._tree if type(a) is Tree else value(vector(a)) for a in args])
            kwargs = {
                k: a._tree if type(a) is Tree else value(vector(a)) for k, a in kwargs.items()
            }
            return held(*args, **kwargs)

        return asked

    def sparse_distance_matrix(self, other: Any, *args: Any, **kwargs: Any) -> Any:
        """Distances as a sparse matrix, which is plain."""
        if self._recorded(other._points if type(other) is Tree else other):
            raise NoDerivative(
                "npgrad: sparse_distance_matrix of recorded points; query, query_pairs and "
                "query_ball_point give the neighbours"
            )
        return self._tree.sparse_distance_matrix(getattr(other, "_tree", other), *args, **kwargs)

    def _recorded(self, *points: Any) -> bool:
        return any(
            recorded(p)
            if type(p) is GradArray
            else isinstance(p, (list, tuple)) and has_recorded(p)
            for p in (self._points, *points)
        )

    def query(self, x: Any, k: Any = 1, eps: Any = 0, p: Any = 2, *args: Any, **kwargs: Any) -> Any:
        """The nearest points: their distances and indices."""
        distances, indices = self._tree.query(value(vector(x)), k, eps, p, *args, **kwargs)
        if not self._recorded(x):
            return distances, indices
        if self._tree.boxsize is not None:
            raise NoDerivative("npgrad: distances of recorded points in a periodic box")
        x, points = vector(x), self._points
        found = np.asarray(indices) < self._tree.n
        near = points[np.where(found, indices, 0)]
        apart = (x if near.ndim == np.ndim(x) else np.expand_dims(x, -2)) - near
        made = np.linalg.norm(apart, p, axis=-1)
        return (made if np.all(found) else np.where(found, made, np.inf)), indices


class Kind(ForClass):
    """What stands for the class of such a tree."""

    def __call__(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """A tree over `data`."""
        if not WRAPPED.get():
            return self.original(data, *args, **kwargs)
        return Tree(self.original, data, args, kwargs)
