"""``autograd.builtins``: containers need no stand-ins here, recorded arrays pass for arrays."""

from __future__ import annotations

import builtins as _builtins
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray, unwrap

__all__ = [
    "DictBox",
    "ListBox",
    "SequenceBox",
    "TupleBox",
    "dict",
    "isinstance",
    "list",
    "tuple",
    "type",
]

dict, list, tuple = _builtins.dict, _builtins.list, _builtins.tuple
# containers of recorded arrays are plain ones
DictBox, ListBox, TupleBox, SequenceBox = dict, list, tuple, (list, tuple)


def type(x: Any) -> Any:
    """The type of `x`; of a recorded array, that of its value."""
    found = _builtins.type(x)
    return _builtins.type(unwrap(x)) if found is GradArray else found


def isinstance(x: Any, kinds: Any) -> bool:
    """Whether `x`, or the value of a recorded array, is one of `kinds`."""
    if _builtins.isinstance(x, kinds):
        return True
    if _builtins.type(x) is not GradArray:
        return False
    value = unwrap(x)
    return _builtins.isinstance(value, kinds) or (
        _builtins.isinstance(value, np.generic) and _builtins.isinstance(value.item(), kinds)
    )
