"""``scipy.sparse.linalg``: all names are SciPy's, which take plain numbers."""

from typing import Any

import scipy.sparse.linalg as original

from .._declare import theirs

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return theirs(original, name)
