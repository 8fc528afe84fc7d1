"""What a recording refuses, by name and with the user's line and the remedy."""

from __future__ import annotations

import sys
from numbers import Number
from types import FrameType
from typing import Any

from ..errors import NoDerivative
from . import backend, modes
from .doors import asking
from .general import General

_frame = sys._getframe


def user_frame() -> FrameType:
    """The innermost running frame that is not npgrad's own."""
    return modes.users(_frame(1))  # type: ignore[no-any-return]


def at(frame: FrameType) -> str:
    """``file.py:12`` of a running frame."""
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def no_rule(op: Any, missing: int, frame: FrameType) -> str:
    """The message for an elementwise function whose input `missing` (a bit) has no rule."""
    name = tuple(op.rule.signature.parameters)[(missing & -missing).bit_length() - 1]
    return (
        f"npgrad: {op.name} has no derivative with respect to {name!r}. "
        f"Recorded at {at(frame)}. To treat it as a constant, pass npgrad.value of it."
    )


def is_number_or_array(value: Any) -> bool:
    """Whether `value` is what functions of arrays give: a sparse matrix, for one, is not."""
    return backend.is_array(value) or backend.is_scalar(value) or isinstance(value, Number)


def refuse_objects(name: str, result: Any, frame: FrameType) -> None:
    """Raise where a function of recorded arrays gave something that holds Python objects.

    A fraction, a sparse matrix or None among the arguments does that, and nothing in such a result
    is recorded.
    """
    array = backend.is_array(result)
    kind = "an array of Python objects" if array else f"a {type(result).__qualname__}"
    raise TypeError(
        f"npgrad: {name} of a recorded array would give {kind}, in which nothing is recorded. "
        f"Recorded at {at(frame)}. Make its arguments numbers or arrays of numbers first: "
        "float(fraction), matrix.toarray(), np.nan for None."
    )


def refuse_times(name: str, dtype: Any, frame: FrameType) -> None:
    """Raise where recorded numbers became durations or times, which count in whole units.

    The kinds of `dtype` are "m" and "M". They have no tangents, and so no gradient could pass.
    """
    raise TypeError(
        f"npgrad: {name} of a recorded array would give {dtype}, which counts whole units and has "
        f"no derivative. Recorded at {at(frame)}. Compute with numbers: "
        "duration / np.timedelta64(1, 's') before it meets x."
    )


def refuse_parameter(op: Any, name: str, frame: FrameType) -> None:
    """A recorded value in a place that has no derivative."""
    raise NoDerivative(
        f"npgrad: {op.name} has no derivative with respect to {name!r}. Recorded at {at(frame)}. "
        f"To treat it as a constant: {name}=npgrad.value({name})."
    )


def check_parameters(
    op: General, values: list[Any], recorded: tuple[bool, ...], frame: FrameType
) -> None:
    """Refuse by name what no rule handles."""
    for i in op.strict:
        if values[i] is not op.defaults[i] and not _same(values[i], op.defaults[i]):
            raise NoDerivative(
                f"npgrad: {op.name} has no derivative rule for {op.names[i]}={values[i]!r}. "
                f"Recorded at {at(frame)}. Leave it out, or compute with npgrad.value."
            )
    if op.typed >= 0 and values[op.typed] is not None:
        given = [values[i] for i in op.arrays]
        given += list(values[op.sequence]) if op.sequence >= 0 else []
        check_parts(op.name, values[op.typed], given, frame)
    for flag, back, name in zip(recorded, op.backs, op.order, strict=True):
        if flag and back is None:
            raise NoDerivative(
                f"npgrad: {op.name} has no derivative with respect to {name.lstrip('*')!r}. "
                f"Recorded at {at(frame)}. To treat it as a constant, pass npgrad.value of it."
            )


def check_parts(name: str, dtype: Any, operands: Any, frame: FrameType) -> None:
    """Refuse ``dtype=float`` of complex numbers, of which NumPy multiplies the real parts."""
    wanted = backend.dtype_of(dtype)
    if wanted.kind != "c" and any(backend.describe(a)[1].kind == "c" for a in operands):
        raise TypeError(
            f"npgrad: {name} with dtype={wanted} of complex numbers would drop their imaginary "
            f"parts. Recorded at {at(frame)}. Write np.real(x), or leave dtype out."
        )


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, str, float)) and a == b


def plain_out(name: str, frame: FrameType) -> str:
    """The message for a plain array as ``out=`` or left of ``+=``."""
    inner = str(frame.f_globals.get("__name__", "")).partition(".")[0] == "numpy"
    where = asking() if inner else f" Recorded at {at(frame)}."
    ways = (
        "np.array(y) or np.copy(y) makes a buffer that records, of an array y from before the "
        "wrapped call, whose own y.copy() is plain."
        if modes.WRAPPED.get()
        else "or npgrad.wrap(f), under which such buffers record."
    )
    return (
        f"npgrad: {name} would write a recorded value into a plain array (out=, or the left side "
        f"of an augmented assignment), and lose its gradient.{where} Instead: "
        f"y = y + x for y += x; np.zeros_like(x) or np.zeros(shape, like=x) for the buffer; {ways}"
    )
