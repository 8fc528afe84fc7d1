"""Large operands that an expression leaves behind: the next operator writes its result over them.

Of ``x * y + z`` the product is nobody's once the sum is computed. NumPy then writes the sum over
it, and so does the recorded forward: a million float64 in fresh memory take twice as long. Nobody's
is an operand to which only the interpreter's stack refers, whose array nothing keeps (a rule that
names it, a view), at an operator in the text of a program: C code may lend references that it
holds. Where the counts do not tell a name from a stack entry (CPython 3.14 lends those of names
too), nothing is overwritten.
"""

from __future__ import annotations

import opcode
import sys
from typing import Any

from . import backend

LARGE = 1 << 18  # bytes from which on NumPy does so
_OPERATORS = {opcode.opmap[name] for name in ("BINARY_OP", "UNARY_NEGATIVE")}
_count = sys.getrefcount


def _counts(handle: Any, array: Any) -> tuple[int, int]:
    return _count(handle), _count(array)


class _Probe:
    """Stands for a handle, whose method counts as those of the operators do."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array = object()

    def __mul__(self, other: Any) -> Any:
        a = self.array
        return _counts(self, a), _at_operator(sys._getframe(1))


def _at_operator(frame: Any) -> bool:
    return frame.f_code.co_code[frame.f_lasti] in _OPERATORS


def _of_a_temporary() -> tuple[int, int] | None:
    """The counts of an operand that is nobody's; None where they cannot be told from others."""
    named = _Probe()
    (counts, seen), (others, _) = _Probe() * 1, named * 1
    return counts if seen and counts[0] < others[0] else None


_ALONE = _of_a_temporary()


def is_temporary(handle: Any, array: Any, frame: Any) -> bool:
    """Whether `array`, that of the operand `handle`, is nobody's once the operator is computed.

    Called by the operator's own method, whose frame refers to both; `frame` is the program's.
    """
    return (
        (_count(handle), _count(array)) == _ALONE
        and array.base is None
        and array.flags.writeable
        and _at_operator(frame)
    )


def holds(array: Any, other: Any) -> bool:
    """Whether an elementwise operator of both has a result of the shape and dtype of `array`."""
    kind, dtype = type(other), array.dtype
    if dtype.kind != "f":
        return False
    if kind is int or kind is float:
        return True
    if kind is not backend.NDARRAY and kind not in backend.GENERIC:
        return False
    shape = other.shape
    return other.dtype is dtype and (
        shape == array.shape or backend.broadcast_shapes(shape, array.shape) == array.shape
    )
