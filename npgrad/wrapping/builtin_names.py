"""What the names `float`, `complex` and `type` stand for in wrapped code.

``float(x)`` of a recorded number is `x`: C's number is never needed to go on computing. The name is
also a dtype and a class, so that what stands for it is a class that answers like the builtin
(``isinstance``, ``==``, ``dtype=float``). It is put into a module's globals, where it hides the
builtin, only if functions there use it, and never where the module asks ``is float`` (that question
could not be answered right for other threads), or names GradArray and asks for its type itself.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.array import GradArray, storage
from npgrad.graph.modes import WRAPPED


class _Meta(type):
    """A class that is another class in every answer."""

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls not in _RECORDING:  # somebody's subclass
            return type.__call__(cls, *args, **kwargs)
        if len(args) == 1 and type(args[0]) is GradArray and not kwargs and WRAPPED.get():
            return cls.recorded(args[0])  # type: ignore[attr-defined]
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls not in _RECORDING:
            return type.__instancecheck__(cls, instance)
        if type(instance) is GradArray and WRAPPED.get():
            return issubclass(_Type.recorded(instance), cls.original)
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.original) if cls in _RECORDING else _inherits(cls, subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls in _RECORDING and other is cls.original)

    def __hash__(cls) -> int:
        return hash(cls.original) if cls in _RECORDING else type.__hash__(cls)

    def __repr__(cls) -> str:
        return repr(cls.original) if cls in _RECORDING else type.__repr__(cls)


_RECORDING: tuple[Any, ...] = ()
_inherits = type.__subclasscheck__


class _Float(builtins.float, metaclass=_Meta):
    original = builtins.float
    dtype = np.dtype(np.float64)

    @staticmethod
    def recorded(x: GradArray) -> Any:
        """A recorded array of one element as a recorded number."""
        return _number(x, "f", np.float64)


class _Complex(builtins.complex, metaclass=_Meta):
    original = builtins.complex
    dtype = np.dtype(np.complex128)

    @staticmethod
    def recorded(x: GradArray) -> Any:
        """A recorded array of one element as a recorded complex number."""
        return _number(x, "fc", np.complex128)


class _Type(builtins.type, metaclass=_Meta):
    original = builtins.type

    @staticmethod
    def recorded(x: GradArray) -> Any:
        """The class that NumPy would have given it."""
        held = storage(x)
        return type(held) if backend.is_scalar(held) else np.ndarray


def _number(x: GradArray, kinds: str, dtype: Any) -> Any:
    if x.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    if x.dtype.kind not in kinds:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if x.shape:
        x = x.reshape(())[()]
    elif not backend.is_scalar(storage(x)):
        x = x[()]
    return x if x.dtype == dtype else x.astype(dtype)[()]


for _class in (_Float, _Complex, _Type):
    _class.__name__ = _class.__qualname__ = _class.original.__name__
    _class.__module__ = "builtins"
_RECORDING = (_Float, _Complex, _Type)
SHADOWS = {"float": _Float, "complex": _Complex, "type": _Type}


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def shadows_for(codes: Iterable[types.CodeType]) -> dict[str, Any]:
    """The builtins that `codes` use in a way that their stand-ins can serve."""
    used: set[str] = set()
    asked: set[str] = set()
    for outer in codes:
        for code in _nested(outer):
            if "GradArray" in code.co_names:  # it knows what it meets
                asked.add("type")
            names = SHADOWS.keys() & set(code.co_names)
            if not names:
                continue
            used |= names
            before = ""
            for instruction in dis.get_instructions(code):
                if instruction.opname == "IS_OP" and before in ("float", "complex"):
                    asked.add(before)
                before = instruction.argval if instruction.opname == "LOAD_GLOBAL" else ""
    return {name: SHADOWS[name] for name in used - asked}
