"""A compiled function recorded through its Python source, beside what the function itself gives.

Python is not what Numba compiles: its integers do not wrap, and a module's array that was changed
since is not the one compiled in. Where the function was compiled for such arguments before, a call
of it costs little beside the recording, and shows whether the source computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.compiled.frozen import refuse_random, source_of
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
    expected = _compiled_result(dispatcher, given)
    made = run(*args)
    if expected is not _UNKNOWN and not (_agree(made, expected) and all(map(_agree, args, given))):
        raise GradientLost(
            f"npgrad: {name}, compiled by Numba, computes something else than its Python source, "
            f"by which it would be differentiated. Recorded at {at(user_frame())}. An array of the "
            f"module that was changed after the compilation ({name}.recompile() takes it up) and "
            "integers beyond 64 bits do that. Give it a rule, npgrad.register_vjp; or "
            "npgrad.value(x) to cut the gradient on purpose."
        )
    return made


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


def _compiled_result(dispatcher: Any, given: list[Any]) -> Any:
    """What the compiled function gives, if it was compiled for such arguments or wraps integers."""
    if any(map(_holds_unknown, given)):
        return _UNKNOWN
    from numba import typeof

    try:
        known = tuple(map(typeof, given)) in dispatcher.overloads
        if known or _hashes(dispatcher):
            return dispatcher(*given)
    except Exception:  # the source raises as well, or is all that there is
        pass
    return _UNKNOWN


def _hashes(dispatcher: Any) -> bool:
    """Whether the code multiplies by integers or shifts bits as random generators and hashes do."""
    source = source_of(dispatcher)
    constants: tuple[Any, ...] = source.__code__.co_consts if source is not None else ()
    return any(type(value) is int and abs(value) > 2**31 for value in constants)


def _agree(made: Any, expected: Any) -> bool:
    """Whether two results are the same numbers in the same places."""
    if isinstance(expected, tuple) or isinstance(made, (tuple, list)):
        same = isinstance(made, (tuple, list)) and isinstance(expected, (tuple, list))
        return same and len(made) == len(expected) and all(map(_agree, made, expected))
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
