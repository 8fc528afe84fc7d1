"""What Numba is told of the stand-ins of wrapped code.

A function that Numba compiles for the first time inside of a wrapped call finds them in its
globals. Each gets the type of what it stands for, so that the compiled function is the usual one.
"""

from __future__ import annotations

import builtins
import cmath
import math
import sys
from typing import Any

import numpy as np

from npgrad.wrapping.builtin_names import SHADOWS
from npgrad.wrapping.stand_ins import LISTENERS, original_of, replacement

_taught: list[Any] = []


def original(value: Any) -> Any:
    """What stood under a name before `wrap` put a stand-in there."""
    plain = original_of(value)
    return _originals().get(id(plain), plain)


def _originals() -> dict[int, Any]:
    if not _known:
        modules = (np, math, cmath, np.linalg, np.fft)
        functions = [v for m in modules for v in vars(m).values() if callable(v)]
        for value in (*modules, *functions):
            stand_in = replacement(value)
            if stand_in is not None:
                _known[id(stand_in)] = value
                _stand_ins.append(stand_in)
        for module in (math, cmath):
            for name, value in vars(replacement(module)).items():
                if callable(value) and value is not getattr(module, name, value):
                    _known[id(value)] = getattr(module, name)
                    _stand_ins.append(value)
        for name, shadow in SHADOWS.items():
            _known[id(shadow)] = getattr(builtins, name)
            _stand_ins.append(shadow)
    return _known


_known: dict[int, Any] = {}
_stand_ins: list[Any] = []


def teach() -> None:
    """Tell Numba, once it is loaded."""
    numba = sys.modules.get("numba")
    if _taught or numba is None or not hasattr(numba, "njit"):
        return
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    _taught.append(numba)
    context = cpu_target.typing_context
    context.refresh()
    known = _originals()
    for stand_in in {id(value): value for value in _stand_ins}.values():
        try:
            kind = context.resolve_value_type(known[id(stand_in)])
        except (ValueError, NumbaError):  # Numba does not know the original either
            continue
        if context._lookup_global(stand_in) is None:
            context.insert_global(stand_in, kind)


LISTENERS.append(teach)
