"""What stands for `float`, `complex`, `type`, `hasattr`, and NumPy's types in wrapped code.

``float(x)`` of a recorded number is `x`: C's number is never needed to go on computing. The name is
also a dtype and a class, so that what stands for it is a class that answers like the builtin
(``isinstance``, ``==``, ``dtype=float``). It is put into a module's globals, where it hides the
builtin, only if functions there use it, and never where the module asks ``is float`` (that question
could not be answered right for other threads), or names GradArray and asks for its type itself.
``np.float64(x)`` is met in the same way, by what stands for the numpy module.
"""

from __future__ import annotations

import builtins
import collections.abc
import dis
import functools
import itertools
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.for_class import ForClass
from npgrad.graph import backend, doors
from npgrad.graph.array import GradArray, storage, unwrap
from npgrad.graph.handles import missing
from npgrad.graph.modes import WRAPPED
from npgrad.wrapping.lists import constant, vector
from npgrad.wrapping.subclasses import holds_elements, new, original_type, unbound


class _Meta(type):
    """A class that is another class in every answer."""

    original: type
    method = ""  # by which Python converts an object to the class

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if id(cls) not in _RECORDING:  # somebody's subclass
            return type.__call__(cls, *args, **kwargs)
        if WRAPPED.get():
            if cls.original is np.ndarray:  # np.ndarray(shape) is a maker
                return constant(np.ndarray(*args, **kwargs))
            if len(args) == 1 and not kwargs:
                value = vector(args[0]) if issubclass(cls, np.generic) else args[0]
                if type(value) is GradArray:
                    return cls.recorded(value)  # type: ignore[attr-defined]
                if cls is _Type and holds_elements(value):
                    return original_type(type(value))
                convert = getattr(type(value), cls.method, None) if cls.method else None
                if type(convert) is types.FunctionType:  # Python would take no GradArray from it
                    made = convert(value)
                    return cls(made) if type(made) is GradArray else cls.original(value)
            elif cls is _Complex and any(type(a) is GradArray for a in (*args, *kwargs.values())):
                return _of_parts(*args, **kwargs)
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if id(cls) not in _RECORDING:
            return type.__instancecheck__(cls, instance)
        if type(instance) is GradArray and WRAPPED.get():
            return issubclass(_Type.recorded(instance), cls.original)
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return (
            issubclass(subclass, cls.original)
            if id(cls) in _RECORDING
            else _inherits(cls, subclass)
        )

    def __eq__(cls, other: object) -> bool:
        same = cls is other or (id(cls) in _RECORDING and other is cls.original)
        return same or NotImplemented  # a dtype knows better

    def __hash__(cls) -> int:
        return hash(cls.original) if id(cls) in _RECORDING else type.__hash__(cls)

    def __repr__(cls) -> str:
        return repr(cls.original) if id(cls) in _RECORDING else type.__repr__(cls)


_RECORDING: set[int] = set()  # by identity: they compare equal to what they stand for
_inherits = type.__subclasscheck__


class _Float(builtins.float, metaclass=_Meta):
    original = builtins.float
    method = "__float__"
    dtype = np.dtype(np.float64)

    @staticmethod
    def recorded(x: GradArray) -> Any:
        """A recorded array of one element as a recorded number."""
        return _number(x, "f", np.float64)


class _Complex(builtins.complex, metaclass=_Meta):
    original = builtins.complex
    method = "__complex__"
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


def _of_parts(real: Any = 0.0, imag: Any = 0.0) -> Any:
    """``complex(real, imag)`` of numbers, one of them recorded."""
    if any(np.result_type(unwrap(part)).kind == "c" for part in (real, imag)):
        return real + imag * 1j
    made = GradArray(np.zeros(1, np.complex128), None)  # 1j * inf would have a real part, NaN
    made.real[0] = real
    made.imag[0] = imag
    return made[0]


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


def _numpy_type(kind: Any) -> Any:
    """What stands for a floating or complex type of NumPy's, of which an array is made as well."""

    def recorded(x: GradArray) -> Any:
        made = x.astype(kind)
        return made if made.shape else made[()]

    body = {"original": kind, "recorded": staticmethod(recorded), "dtype": np.dtype(kind)}
    return _Meta(kind.__name__, (kind,), body)


class _NDArray(np.ndarray, metaclass=_Meta):
    original = np.ndarray
    __new__ = staticmethod(new)  # type: ignore[assignment]


for _name, _function in unbound().items():
    setattr(_NDArray, _name, _function)


# Code for several array libraries that finds none takes NumPy, whose functions record.
_LIBRARY = "__array_namespace__"


def _hasattr(obj: Any, name: str, /) -> bool:
    """``hasattr``, by which programs ask what a recorded array or number is."""
    if type(obj) is GradArray and name != _LIBRARY and WRAPPED.get():
        return hasattr(storage(obj), name)
    return hasattr(obj, name)


def _getattr(obj: Any, name: str, /, *default: Any) -> Any:
    """``getattr``: the default is not for what an array has and a recorded one has not."""
    asked = default and type(obj) is GradArray and name != _LIBRARY and WRAPPED.get()
    if asked and not hasattr(obj, name) and hasattr(storage(obj), name):
        raise GradientLost(f"npgrad: {missing(obj, name).removeprefix('npgrad: ')}")
    return getattr(obj, name, *default)


class _Token:
    """An object whose identity stands for that of a recorded array, and stays for good."""

    __slots__ = ()


_tokens: dict[int, tuple[weakref.ref[GradArray], int]] = {}
_kept: list[_Token] = []


def _id(obj: Any, /) -> int:
    """``id``, by which programs keep results of arrays that live as long as they do.

    Of a recorded array it is a number that no other object ever has: the array lives for one call,
    and the next one's may lie at its address.
    """
    if type(obj) is not GradArray or not WRAPPED.get():
        return id(obj)
    key = id(obj)
    found = _tokens.get(key)
    if found is None or found[0]() is not obj:
        _kept.append(_Token())
        gone = functools.partial(_forget, key)
        found = _tokens[key] = (weakref.ref(obj, gone), id(_kept[-1]))
    return found[1]


def _forget(key: int, gone: weakref.ref[GradArray]) -> None:
    if key in _tokens and _tokens[key][0] is gone:
        del _tokens[key]


@functools.cache
def _withheld() -> frozenset[str]:
    """The attributes of an array or a number that a recorded one has not."""
    found = frozenset((*dir(np.ndarray), *dir(np.float64))) - frozenset(dir(GradArray))
    return found | {"data", "ctypes"}  # which it has while it is a constant


class _Protocol(ForClass):
    """``collections.abc.Iterable`` and its kin."""

    def __instancecheck__(self, instance: Any) -> bool:
        if type(instance) is GradArray and WRAPPED.get():
            return issubclass(_Type.recorded(instance), self.original)
        return super().__instancecheck__(instance)

    def __getitem__(self, item: Any) -> Any:
        return self.original[item]

    def __or__(self, other: Any) -> Any:
        return self.original | other


# What every GradArray is by its methods, and a number, or an array, is not.
_PROTOCOLS = ("Iterable", "Sized", "Container", "Collection", "Hashable")
CONTAINERS = {
    id(original): _Protocol(original)
    for name in _PROTOCOLS
    for original in [getattr(collections.abc, name)]
}
SHADOWS: dict[str, Any] = {"float": _Float, "complex": _Complex, "type": _Type}
_KINDS = (np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.clongdouble)
NUMPY_TYPES = {id(kind): _numpy_type(kind) for kind in _KINDS}
NUMPY_TYPES[id(np.ndarray)] = _NDArray
for _class in (*SHADOWS.values(), *NUMPY_TYPES.values()):
    _class.__name__ = _class.__qualname__ = _class.original.__name__
    _class.__module__ = _class.original.__module__
    _RECORDING.add(id(_class))
SHADOWS.update(hasattr=_hasattr, getattr=_getattr, id=_id)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and the code of the functions written in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from nested(inner)


def types_asked_for(codes: Iterable[types.CodeType]) -> frozenset[Any]:
    """The types of NumPy's with a stand-in for which `codes` may ask ``is np.float64``.

    What is asked may lie in a variable: an ``is`` with something that is neither a constant nor
    named as one of these types counts as a question for each of them.
    """
    asked: set[Any] = set()
    for outer in codes:
        for code in nested(outer):
            if _NAMED.keys().isdisjoint(code.co_names):
                continue
            before: Any = None
            for instruction in dis.get_instructions(code):
                if instruction.opname == "IS_OP" and before.opname != "LOAD_CONST":
                    named = before.opname.startswith("LOAD_") and before.argval in _NAMED
                    asked.update([_NAMED[before.argval]] if named else _NAMED.values())
                    place = instruction.positions
                    line = None if place is None else place.lineno
                    for kind in _NAMED if not named else [before.argval]:
                        if kind in code.co_names:
                            doors.LEFT_ALONE.setdefault(code.co_filename, (kind, line))
                before = instruction
    return frozenset(asked)


def names_asked(codes: Iterable[types.CodeType]) -> frozenset[str]:
    """The names in code that asks whether something is the same object as another.

    A type that an attribute or a table of such a name holds may be what it asks for.
    """
    found: set[str] = set()
    for outer in codes:
        for code in nested(outer):
            if asks_identity(code):
                found.update(code.co_names)
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def asks_identity(code: types.CodeType) -> bool:
    """Whether `code` asks ``kind is float`` of what it holds, not only ``is None``."""
    if _IS not in code.co_code[::2]:
        return False
    steps = list(dis.get_instructions(code))
    pairs = itertools.pairwise(steps)
    return any(step.opname == "IS_OP" and before.opname != "LOAD_CONST" for before, step in pairs)


_IS = dis.opmap["IS_OP"]
_NAMED = {kind.__name__: kind for kind in (*_KINDS, np.ndarray)}
_NAMED.update(double=np.float64, single=np.float32)


def shadows_for(codes: Iterable[types.CodeType]) -> dict[str, Any]:
    """The builtins that `codes` use in a way that their stand-ins can serve."""
    used: set[str] = set()
    asked: set[str] = set()
    for outer in codes:
        for code in nested(outer):
            if "GradArray" in code.co_names:  # it knows what it meets
                asked.add("type")
            names = SHADOWS.keys() & set(code.co_names)
            if "getattr" in names and _withheld().isdisjoint(code.co_consts):
                names.discard("getattr")
            if not names:
                continue
            used |= names
            before = ""
            for instruction in dis.get_instructions(code):
                if instruction.opname == "IS_OP" and before in ("float", "complex"):
                    asked.add(before)
                    place = instruction.positions
                    line = None if place is None else place.lineno
                    doors.LEFT_ALONE[code.co_filename] = (before, line)
                before = instruction.argval if instruction.opname == "LOAD_GLOBAL" else ""
    return {name: SHADOWS[name] for name in used - asked}
