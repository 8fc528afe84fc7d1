"""What can be wrong on a device, and is asked at the end of a sweep.

To ask at once would wait for all that was launched, while the host has nothing to do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Asked(threading.local):
    """Questions of this thread whose answers are on the device."""

    flags: list[tuple[Any, Callable[[], Exception]]] | None = None
    kept: list[tuple[Any, Callable[[], Exception]]] | None = None  # not to be answered now


_ASKED = _Asked()
MANY = 64  # questions that are put together


def ask_later(flag: Any, error: Callable[[], Exception]) -> None:
    """Raise ``error()`` if `flag`, on the device, turns out to be true: at the end of a sweep.

    To ask at once would wait for all that was launched, while the host has nothing to do.
    """
    if _ASKED.flags is None:
        _ASKED.flags = []
    _ASKED.flags.append((flag, error))
    if len(_ASKED.flags) >= MANY:
        answer()


def answer() -> None:
    """Wait for the device, and raise what is to be raised."""
    flags, _ASKED.flags = _ASKED.flags, None
    if _ASKED.kept is not None:
        _ASKED.kept += flags or ()
        return
    for flag, error in flags or ():
        if bool(flag):
            raise error()


@contextlib.contextmanager
def unanswered() -> Iterator[list[tuple[Any, Callable[[], Exception]]]]:
    """A list that the questions of the block go to, instead of being answered."""
    before = _ASKED.kept, _ASKED.flags
    _ASKED.kept, _ASKED.flags = [], None
    try:
        yield _ASKED.kept
        answer()
    finally:
        _ASKED.kept, _ASKED.flags = before
