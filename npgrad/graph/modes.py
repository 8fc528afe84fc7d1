"""What is switched on in this context: recording off, a tape listening, full checks.

One context variable holds None (the everyday case: record, nobody listens) or a `Mode`; threads
and tasks therefore never see each other's modes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import CodeType
from typing import Any, ClassVar, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Mode(NamedTuple):
    """Everything that differs from the everyday case."""

    recording: bool = True
    checked: bool = False
    listeners: tuple[Callable[[Any, Any], None], ...] = ()


EVERYDAY = Mode()
WRAPPED: ContextVar[Any] = ContextVar("npgrad_wrapped", default=False)  # true in a wrapped call
MODE: ContextVar[Mode | None] = ContextVar("npgrad_mode", default=None)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ours: dict[str, bool] = {}  # file -> whether it is npgrad's own


def users(frame: Any) -> Any:
    """`frame`, or the one below it that is not in a file of npgrad's: whose line is recorded."""
    while True:
        name = frame.f_code.co_filename
        ours = _ours.get(name)
        if ours is None:
            ours = _ours[name] = name.startswith(_PACKAGE)
        if not ours or frame.f_back is None:
            return frame
        frame = frame.f_back


def ours(code: CodeType) -> bool:
    """Whether `code` is npgrad's own."""
    return code.co_filename.startswith(_PACKAGE)


def change(**fields: Any) -> Token[Mode | None]:
    """Switch some fields for this context; give the token to ``MODE.reset``."""
    mode = (MODE.get() or EVERYDAY)._replace(**fields)
    return MODE.set(None if mode == EVERYDAY else mode)


class _Switch:
    """A context manager that is also a decorator, as `contextlib.ContextDecorator`; re-entrant."""

    _fields: ClassVar[dict[str, Any]]

    def __init__(self, *given: object) -> None:
        if given:
            name = type(self).__name__
            raise TypeError(f"npgrad: write npgrad.{name}(), with parentheses, also as a decorator")
        self._tokens: list[Token[Mode | None]] = []

    def __enter__(self) -> _Switch:
        self._tokens.append(change(**self._fields))
        return self

    def __exit__(self, *exc: object) -> None:
        MODE.reset(self._tokens.pop())

    def __call__(self, function: F) -> F:
        switch = type(self)

        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with switch():
                return function(*args, **kwargs)

        return inner  # type: ignore[return-value]


class no_grad(_Switch):  # noqa: N801 -- a public name, as a function
    """Compute without recording: results are constant GradArrays.

    Use it as a context manager or as a decorator. Other threads are not affected.

    Notes
    -----
    A leaf of `npgrad.array` or `Tape.leaf` that is written to here, as a whole, in part or through
    a view, gets another value and stays the leaf it is: an optimiser's step. What is written into
    any other recorded array, the argument of a transform too, is constant.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = npgrad.array([1.0, 2.0])
    >>> with npgrad.no_grad():
    ...     frozen = np.sum(x * x)
    >>> np.sum(x * frozen).backward()[x]
    array([5., 5.])
    >>> gradient = np.sum(x * x).backward()[x]
    >>> with npgrad.no_grad():
    ...     x -= 0.1 * gradient
    >>> x
    GradArray([0.8, 1.6])
    """

    _fields: ClassVar[dict[str, Any]] = {"recording": False}


class debug(_Switch):  # noqa: N801 -- a public name, as a function
    """Record with full checks: every kept array is fingerprinted whole, the first NaN is named.

    Raises
    ------
    OperandMutated
        At backward, when any kept array changed after it was recorded.
    FloatingPointError
        At the operation whose result is the first to hold a NaN that its inputs did not hold, or
        whose cotangent is the first of a reverse sweep to hold one.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> with npgrad.debug():
    ...     npgrad.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    _fields: ClassVar[dict[str, Any]] = {"checked": True}
