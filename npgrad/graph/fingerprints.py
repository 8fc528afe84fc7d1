"""Fingerprints of plain operands that a rule keeps, which tell whether one was changed.

Decision 0003: no locks. What is read of an array depends on its size; see `fingerprint`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import backend

Array = Any

SAMPLES = 4096  # entries read of an array of more than `backend.WHOLE_BYTES`, about


def fingerprint(array: Array, whole: bool = False) -> Any:
    """A digest of the contents: all of it up to 1 MB (or if `whole`), else samples."""
    if backend.on_device(array) and array.size:
        return _sampled(array, whole)  # kept there: to read them would wait for the device
    if not isinstance(array, np.ndarray) or array.size == 0 or array.dtype.hasobject:
        return 0
    if whole or array.nbytes <= backend.WHOLE_BYTES:
        return _digest(np.ascontiguousarray(array))
    if array.flags.c_contiguous or array.flags.f_contiguous:
        flat = array.reshape(-1, order="A")
        step = max(1, flat.size // SAMPLES)
        picked = [flat[::step], flat[:64], flat[-64:]]
    else:
        steps = max(1, round((array.size / SAMPLES) ** (1 / array.ndim)))
        picked = [array[(slice(None, None, steps),) * array.ndim]]
    return hash(b"".join(part.tobytes() for part in picked))


def changed(array: Array, digest: Any, whole: bool) -> bool:
    """Whether the contents of `array` are no longer those of which `digest` was taken."""
    if type(digest) is int:
        return bool(fingerprint(array, whole) != digest)
    return bool(differ(array, digest, whole))


def differ(array: Array, digest: Any, whole: bool) -> Array:
    """`changed` for an array of a device, whose answer stays there."""
    found: Array = None
    for now, then in zip(_sampled(array, whole), digest, strict=True):
        part = (_bits(now) != _bits(then)).any()
        found = part if found is None else found | part
    return found


def same(array: Array, copy: Array) -> bool:
    """Whether `array` still is what `copy` was made of; of a large one samples are compared."""
    if array.nbytes > backend.COPIED_BYTES:
        a, b = array.reshape(-1), copy.reshape(-1)
        step = max(1, array.size // SAMPLES)
        if a[-64:].tobytes() != b[-64:].tobytes():
            return False
        array, copy = a[::step], b[::step]
    return bool(array.tobytes() == copy.tobytes())


def _digest(array: Array) -> int:
    """Row and column sums of the bits laid out as a square, hashed: twice the cost of a sum.

    A plain sum would miss a permutation (``x.sort()``); two swapped entries change a row sum, or,
    within one row, two column sums.
    """
    bits = array.reshape(-1).view(np.uint8)
    words = bits[: bits.size // 8 * 8].view(np.uint64)
    side = max(1, int(words.size**0.5))
    square = words[: words.size // side * side].reshape(-1, side)
    rows, columns = np.add.reduce(square, axis=1), np.add.reduce(square, axis=0)
    rest = words[square.size :].tobytes() + bits[words.size * 8 :].tobytes()
    return hash((rows.tobytes(), columns.tobytes(), rest))


def _sampled(array: Array, whole: bool) -> list[Array]:
    """Copies of what a fingerprint reads of a device array: nothing waits for the device."""
    flat = array.reshape(-1)  # a view, or (rarely) a copy that is dropped
    if whole or array.nbytes <= backend.WHOLE_BYTES:
        return [backend.snapshot_any(flat)]
    parts = flat[:: max(1, flat.size // SAMPLES)], flat[-64:]
    return [backend.snapshot_any(part) for part in parts]


def _bits(array: Array) -> Array:
    """The memory of a copy as bytes: NaN equals itself, and -0.0 is not 0.0."""
    return array.view(np.uint8)
