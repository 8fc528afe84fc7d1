"""``autograd.numpy.random``: NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as _np


def __getattr__(name: str) -> Any:
    return getattr(_np.random, name)
