"""Stand-ins for SciPy functions that NumPy's protocols cannot reach, in chapters named as SciPy's.

Change ``from scipy import linalg`` to ``from npgrad.scipy import linalg``: plain arguments still go
to SciPy itself, recorded ones are differentiated, in both modes and to any order. A name that has
no stand-in here is SciPy's own, so that the ufuncs of ``scipy.special``, which need none, and all
else can be used through the same module. SciPy is imported with the first chapter.

>>> import numpy as np, npgrad
>>> from npgrad.scipy import special
>>> npgrad.grad(special.logsumexp)(np.array([0.0, 0.0]))
array([0.5, 0.5])
"""

import importlib as _importlib
from typing import Any as _Any

_CHAPTERS = (
    "fft",
    "fftpack",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name: str) -> _Any:
    if name in _CHAPTERS:
        return _importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        theirs = _importlib.import_module("scipy")
        if hasattr(theirs, name):
            return getattr(theirs, name)  # optimize, constants, ...: no chapter of ours
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_CHAPTERS})
