"""A compiled function recorded through its Python source, beside what the function itself gives.

Python is not what Numba compiles: its integers do not wrap, and a module's array that was changed
since is not the one compiled in. A call of the compiled function costs little beside the recording,
and shows whether the source computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.compiled.frozen import refuse_random
from npgrad.compiled.python import python_of
from npgrad.errors import GradientLost
from npgrad.graph.array import unwrap
from npgrad.graph.refusals import at, user_frame

_PLAIN = (int, float, complex, bool, str, type(None), np.generic)
# How far two ways to the same number may be apart: sums are taken in another order in parallel
# loops and under fastmath, and NumPy keeps float32 where Numba computes in float64.
_TOLERANCES = {np.dtype(np.float32): 1e-2, np.dtype(np.complex64): 1e-2}
_TOLERANCE = 1e-5


def recorded(dispatcher: Any, *args: Any) -> Any:
    """The result of the Python source on `args`, checked against the compiled function's."""
    name = dispatcher.py_func.__name__
    refuse_random(dispatcher, name)
    run = python_of(dispatcher)
    given = [_copy(a) for a in args]
    wide = [widened(a) for a in args]
    expected = _compiled_result(dispatcher, given)
    try:
        with np.errstate(all="ignore"):
            made = run(*wide)
    except TypeError as error:
        if "numpy boolean" in str(error):
            error.add_note(_OF_COMPARISONS)
        raise
    for a, w in zip(args, wide, strict=True):
        if w is not a and isinstance(a, np.ndarray):
            a[...] = w.astype(a.dtype)  # what it may have written
    if expected is not _UNKNOWN and not (agree(made, expected) and all(map(agree, args, given))):
        raise GradientLost(differs(name))
    return made


def differs(name: str) -> str:
    """The message where the compiled function and its source do not agree."""
    return (
        f"npgrad: {name}, compiled by Numba, computes something else than its Python source, "
        f"by which it would be differentiated. Recorded at {at(user_frame())}. An array of the "
        f"module that was changed after the compilation ({name}.recompile() takes it up), "
        "integers that do not fit their type, differences of unsigned ones, integer powers and "
        "sums of comparisons do that. Instead: a rule, npgrad.register_vjp; or npgrad.value(x) to "
        "cut the gradient on purpose."
    )


_OF_COMPARISONS = (
    "npgrad: a comparison counts as an integer where Numba compiles it, and is a bool in the "
    "source that is recorded: write int(v > 0), or np.sign(v) for (v > 0) - (v < 0)."
)
_UNKNOWN = object()


def _copy(value: Any) -> Any:
    """A plain copy that the compiled function may write to; `_UNKNOWN` for other objects."""
    value = unwrap(value)
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, tuple):
        return getattr(value, "_make", tuple)(map(_copy, value))
    return value if isinstance(value, _PLAIN) else _UNKNOWN


def _holds_unknown(value: Any) -> bool:
    return value is _UNKNOWN or (isinstance(value, tuple) and any(map(_holds_unknown, value)))


def widened(value: Any) -> Any:
    """Integers of few bits as those of 64 in which Numba computes with their entries."""
    narrow = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iu"
    return value.astype(np.int64) if narrow and value.dtype.itemsize < 8 else value


def _compiled_result(dispatcher: Any, given: list[Any]) -> Any:
    """What the compiled function gives; a division by zero raises, as the program's own call would.

    It is compiled now if it was not, as the program would compile it: where Numba computes
    something else than Python, nothing else shows it.
    """
    if any(map(_holds_unknown, given)):
        return _UNKNOWN
    try:
        return dispatcher(*given)
    except ZeroDivisionError:
        raise
    except Exception:  # the source raises as well, or is all that there is
        return _UNKNOWN


def agree(made: Any, expected: Any) -> bool:
    """Whether two results are the same numbers in the same places."""
    if isinstance(expected, tuple) or isinstance(made, (tuple, list)):
        same = isinstance(made, (tuple, list)) and isinstance(expected, (tuple, list))
        return same and len(made) == len(expected) and all(map(agree, made, expected))
    a, b = unwrap(made), expected
    if not isinstance(b, (np.ndarray, np.generic, int, float, complex)):
        return True
    if not isinstance(a, (np.ndarray, np.generic, int, float, complex)):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":
        return a.shape == b.shape
    loose = max(_TOLERANCES.get(part.dtype, _TOLERANCE) for part in (a, b))
    size = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=loose, atol=float(loose * size), equal_nan=True))
