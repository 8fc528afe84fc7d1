"""What a node keeps of plain operands and parameters: copies, or the array and a fingerprint."""

from __future__ import annotations

from typing import Any

from . import backend, fingerprints, modes
from .deferred import settled

_MODE = modes.MODE.get
NDARRAY = backend.NDARRAY


def protect(value: Any, guards: list[tuple[Any, int, bool]]) -> Any:
    """`value`, a plain operand that a rule keeps: copied if small, fingerprinted if large."""
    if type(value) is NDARRAY:
        if value.nbytes <= backend.COPIED_BYTES:
            return value.copy("K")
    elif not backend.is_array(value):
        if not hasattr(type(value), "__array__"):
            return value
        value = backend.asarray(value)  # an object's array: it may give another one later
    elif backend.is_scalar(value):
        return value
    value = settled(value)
    if value.nbytes <= backend.COPIED_BYTES:
        return backend.snapshot(value)
    mode = _MODE()
    whole = mode is not None and mode.checked
    guards.append((value, fingerprints.fingerprint(value, whole), whole))
    return value


def parameter(value: Any) -> Any:
    """`value` of a parameter as it is kept: an index, a mask, a list of them is copied."""
    kind = type(value)
    if kind is list:
        return [parameter(item) for item in value]
    if kind is tuple:
        return tuple([parameter(item) for item in value])
    if backend.is_array(value) and not backend.is_scalar(value):
        return backend.snapshot(value)
    return value


def as_array(value: Any) -> Any:
    """`value` as NumPy sees it: lists become arrays."""
    listed = isinstance(value, (list, tuple)) or type(value) in backend.SEQUENCES
    return backend.asarray(value) if listed else value
