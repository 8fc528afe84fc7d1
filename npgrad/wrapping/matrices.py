"""SciPy's sparse matrices in wrapped code: what their methods do with recorded operands.

``A @ x`` and ``x @ A`` come to the recorded array by themselves. ``A * x[0]``, ``A.multiply(x)``
and ``A[i, j] = x[0]`` are methods of SciPy's classes that compute in C; while a wrapped call runs
that knows of such matrices, the methods look at their operand first.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from npgrad.graph.array import GradArray, recorded
from npgrad.wrapping.patch import Patch
from npgrad.wrapping.places import written_in
from npgrad.wrapping.swaps import MISSING, Attributes

_METHODS = """
    __matmul__ __rmatmul__ __mul__ __rmul__ __truediv__ __add__ __radd__ __sub__ __rsub__
    dot multiply __setitem__ setdiag
"""


def _meeting(name: str, method: Any) -> Any:
    """A method of a sparse matrix that may be given a recorded operand."""
    ours = importlib.import_module("npgrad.scipy.sparse")
    writes = name in ("__setitem__", "setdiag")

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        for value in args:
            if (type(value) is GradArray and recorded(value)) or type(value) is ours.Sparse:
                if type(self) is ours.Sparse or not writes:
                    return getattr(ours.sparse_of(self), name)(*args, **kwargs)
                return getattr(ours.becoming(self), name)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return call


class _Matrices(Patch):
    """The methods of SciPy's classes of sparse matrices."""

    def __init__(self) -> None:
        super().__init__({}, [])

    def stale(self) -> bool:
        """Whether they were never looked at."""
        return not self.entries

    def look(self) -> None:
        """See `Patch.look`."""
        sparse = sys.modules["scipy.sparse"]
        kinds = {
            above
            for value in vars(sparse).values()
            if isinstance(value, type) and hasattr(value, "tocsr")
            for above in value.__mro__
            if above.__module__.startswith("scipy.sparse")
        }
        self.all = Attributes(
            [
                (kind, name, vars(kind)[name], _meeting(name, vars(kind)[name]))
                for kind in kinds
                for name in _METHODS.split()
                if name in vars(kind)
            ]
        )
        self.entries = [("", MISSING, None)]


MATRICES = _Matrices()


def names_matrices(patch: Patch) -> bool:
    """Whether a namespace names SciPy's sparse matrices, or holds one."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is None:
        return False
    modules = (sparse, sys.modules.get("scipy"), sys.modules.get("scipy.sparse.linalg"))
    return any(
        any(value is module for module in modules) or _of_matrices(value)
        for value in list(patch.space.values())
    )


def _of_matrices(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return hasattr(kind, "tocsr") or str(written_in(value)).startswith("scipy.sparse")
