"""Where arrays live: an operation of arrays of the host and of a device is refused.

npgrad moves no array in silence; the messages say how to.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import backend

Array = Any


def device_of(value: Array) -> int | None:
    """The number of the device where `value` lives; None for one of the host."""
    return getattr(getattr(value, "device", None), "id", None)


def refuse_devices(name: str, arrays: Any) -> None:
    """Raise if arrays live on several devices: npgrad moves none of them in silence."""
    first: Array = next((a for a in arrays if device_of(a) is not None), None)
    for array in arrays:
        here, there = device_of(first), device_of(array)
        if there is not None and there != here:
            raise TypeError(
                f"npgrad: {name} was given a {first.dtype}{list(first.shape)} on device {here} and "
                f"a {array.dtype}{list(array.shape)} on device {there}. Nothing is copied in "
                f"silence: with cupy.cuda.Device({here}): cupy.asarray(x) brings one there."
            )


def refuse_mixed(name: str, values: Any) -> None:
    """Raise if arrays of the host meet arrays of a device: npgrad copies neither in silence."""
    arrays = solid(values)
    device = next((a for a in arrays if backend.on_device(a)), None)
    if device is None:  # a number on the device (0-d) counts too
        device = next((a for a in values if backend.on_device(a)), None)
    if type(device).__module__ == backend.DEFERRED:
        device = sys.modules[backend.DEFERRED].settled(device)
    host = next((a for a in arrays if isinstance(a, np.ndarray)), None)
    if device is not None and host is not None:
        raise TypeError(
            f"npgrad: {name} was given a NumPy array {host.dtype}{list(host.shape)} on the host "
            f"and a {type(device).__module__}.{type(device).__name__} {device.dtype}"
            f"{list(device.shape)} on the device. Nothing is copied in silence: "
            "npgrad.cuda.to_device(x) or npgrad.cuda.to_host(x) brings one to the other."
        )


def check_placed(name: str, what: str, value: Array, beside: Array) -> None:
    """Raise if `value`, an array with axes, lives elsewhere than `beside`."""
    if getattr(value, "ndim", 0) and backend.on_device(value) != backend.on_device(beside):
        refuse_mixed(f"{name} ({what})", (value, beside))
        raise TypeError(
            f"npgrad: {name}: the {what} is a {type(value).__module__}.{type(value).__name__} and "
            f"what it belongs to a {type(beside).__module__}.{type(beside).__name__}; "
            "npgrad.cuda.to_device(x) or npgrad.cuda.to_host(x) brings one to the other."
        )


def placed(value: Array, like: Array) -> Array:
    """A number `value` as an array of no axes where `like` lives; anything else as it is."""
    if backend.on_device(like) and backend.is_scalar(value):
        with backend.where_it_lives(like):
            return backend.library(like).asarray(value)
    return value


def solid(values: Any) -> list[Array]:
    """The arrays with axes among `values`, those in lists and tuples too."""
    found: list[Array] = []
    for value in values:
        if type(value) in (list, tuple):
            found += solid(value)
        elif getattr(value, "ndim", 0) and backend.is_array(value):
            found.append(value)
    return found
