"""``scipy.spatial``: the distances have stand-ins; other names are SciPy's."""

from typing import Any

import scipy.spatial as original

from .._declare import theirs
from . import distance as distance


def __getattr__(name: str) -> Any:
    return theirs(original, name)
