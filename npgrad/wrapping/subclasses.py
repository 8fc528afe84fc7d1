"""Subclasses of ndarray in wrapped code: points, quaternions, masked arrays with recorded values.

A recorded array is no ndarray, so that no instance of somebody's subclass can be one. In its place
stands an object of a class that is made here: it has the attributes and methods of the subclass,
says that it is one (``__class__``), and holds a GradArray for its elements. Of which type the
result of an operation is, and with which attributes, NumPy is asked: it runs once with the plain
values, on a real instance of the subclass, while the recorded values go to npgrad. Where the two
disagree (a class whose ``__array_wrap__`` changes values) the operation is refused.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph import backend
from npgrad.graph.array import GradArray, plain, recorded
from npgrad.graph.modes import WRAPPED

ELEMENTS = "_npgrad_elements"  # the attribute that holds the GradArray
OWN = "_npgrad_getattr"  # where a class keeps the `__getattr__` that the subclass wrote


class _Kind(type):
    """The type of such a class: the original in every answer, and makes what that makes."""

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(original_type(subclass), cls.original)

    def __eq__(cls, other: object) -> bool:
        return cls is other or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __repr__(cls) -> str:
        return repr(cls.original)


class Elements(np.lib.mixins.NDArrayOperatorsMixin):
    """What every such object can: ndarray's operators, attributes and methods."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return through(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return through(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return elements(self).__array__(dtype, copy)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return original_type(type(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            if not name.startswith("__") and hasattr(type(self), OWN):
                return getattr(type(self), OWN)(self, name)  # which ndarray's come before
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return of_ndarray(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(np.ndarray, name) and not hasattr(type(self), name):
            setattr(elements(self), name, value)  # shape, real, imag
        else:
            object.__setattr__(self, name, value)

    def __getitem__(self, index: Any) -> Any:
        return through(operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        elements(self)[_recording(index)] = _recording(value)

    def __len__(self) -> int:
        return len(elements(self))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return _recording(item) in elements(self)

    def __bool__(self) -> bool:
        return bool(elements(self))

    def __int__(self) -> int:
        return int(elements(self))

    def __float__(self) -> Any:  # what `float` stands for in wrapped code takes a recorded number
        held = elements(self)
        return held if recorded(held) and WRAPPED.get() else float(held)

    def __complex__(self) -> Any:
        held = elements(self)
        return held if recorded(held) and WRAPPED.get() else complex(held)

    def __repr__(self) -> str:
        return repr(real(self))

    def __str__(self) -> str:
        return str(real(self))

    def __format__(self, spec: str) -> str:
        return format(real(self), spec)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Any:
        return of_ndarray(self, "copy")()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return of_ndarray(self, "copy")()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (
            real(self).__reduce_ex__(protocol)
            if not recorded(elements(self))
            else (elements(self).__reduce_ex__(protocol))
        )


OF_MASKED: dict[str, Any] = {}  # what np.ma.MaskedArray gets in place of its own
DIVISIONS: dict[Any, Any] = {}  # divisions of masked arrays, by ufunc


def elements(value: Any) -> Any:
    """The GradArray that an object holds."""
    return vars(value)[ELEMENTS]


def holds_elements(value: Any) -> bool:
    """Whether `value` is such an object."""
    return type(type(value)) is _Kind


def original_type(kind: type) -> type:
    """The subclass that `kind` stands for; itself if it stands for none."""
    return kind.original if type(kind) is _Kind else kind


# Attributes that a class gets anew, or that are about the instances of ndarray.
_LEFT = frozenset(("__dict__", "__weakref__", "__new__", "__slots__", "__array_finalize__"))


@functools.lru_cache(maxsize=256)
def class_for(kind: type) -> Any:
    """The class whose objects stand for recorded instances of `kind`."""
    for name in ("__array_ufunc__", "__array_function__"):
        if getattr(kind, name) is not getattr(np.ndarray, name):
            raise NoDerivative(
                f"npgrad: {kind.__name__} has an {name} of its own, which takes plain arrays; "
                "pass np.asarray(x)"
            )
    body: dict[str, Any] = {}
    above = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    mixed = [base for base in kind.__mro__ if base not in (*above, np.ndarray, object)]
    for base in reversed((*above, *mixed)):
        body.update({name: v for name, v in vars(base).items() if name not in _LEFT})
    if issubclass(kind, np.ma.MaskedArray):
        body.update(OF_MASKED)
    if "__getattr__" in body:
        body[OWN] = body.pop("__getattr__")
    body.update(original=kind, __module__=kind.__module__, __qualname__=kind.__qualname__)
    return _Kind(kind.__name__, (Elements,), body)


def made(kind: type, held: Any, attributes: dict[str, Any]) -> Any:
    """An object that stands for an instance of `kind` with the elements `held`."""
    new = object.__new__(class_for(original_type(kind)))
    vars(new).update(attributes)
    vars(new)[ELEMENTS] = held
    if attributes.get("_mask", True) is np.ma.nomask:  # `mean` and others would ask ndarray's own
        vars(new)["_mask"] = np.zeros(held.shape, bool)
    return new


def viewed(held: GradArray, kind: type) -> Any:
    """``held.view(kind)`` in wrapped code."""
    kind = original_type(kind)
    return made(kind, held[...], _attributes(_plainly(np.asarray(plain(held)).view, kind)))


def _attributes(instance: Any) -> dict[str, Any]:
    return getattr(instance, "__dict__", {})


def real(value: Any) -> Any:
    """An instance of the subclass with the plain values of `value`."""
    held = np.array(plain(elements(value)))
    new = _plainly(held.view, original_type(type(value)))
    _attributes(new).update({k: v for k, v in vars(value).items() if k != ELEMENTS})
    return new


def _plainly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call while which makers are NumPy's."""
    token = WRAPPED.set(False)
    try:
        return call(*args, **kwargs)
    finally:
        WRAPPED.reset(token)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([_mapped(part, change) for part in value])
    return change(value)


def _recording(value: Any) -> Any:
    """`value` as npgrad takes it."""

    def change(value: Any) -> Any:
        if holds_elements(value):
            return elements(value)
        kind = type(value)
        return value.view(np.ndarray) if kind is not np.ndarray and _is_array(value) else value

    return _mapped(value, change)


def written(value: Any) -> Any:
    """`value` as an array takes it in place: without its class, and without a mask."""
    served = WRAPPED.get() and (holds_elements(value) or _is_array(value))
    return _recording(value) if served else value


def _is_array(value: Any) -> bool:
    return issubclass(type(value), np.ndarray)


def _real(value: Any) -> Any:
    """`value` as NumPy takes it."""

    def change(value: Any) -> Any:
        if holds_elements(value):
            return real(value)
        return plain(value) if type(value) is GradArray else value

    return _mapped(value, change)


def through(call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of arrays, some of them of subclasses, with recorded values among them."""
    if masked := _of_masked(call, args):
        return masked(*map(_masked, args), **kwargs)
    out = kwargs.get("out")
    result = call(*_recording(tuple(args)), **{k: _recording(v) for k, v in kwargs.items()})
    if out is not None:
        return out[0] if type(out) is tuple and len(out) == 1 else out
    if result is None:
        return None
    like = _plainly(call, *_real(tuple(args)), **{k: _real(v) for k, v in kwargs.items()})
    return _merged(like, result)


def _of_masked(call: Any, args: Any) -> Any:
    """The function of ``numpy.ma`` to call, if one of `args` hides entries."""
    masked = any(isinstance(a, np.ma.MaskedArray) for a in args)
    hidden = any(map(hides, args))
    if not masked and not hidden:
        return None
    function = call.__self__ if getattr(call, "__name__", "") == "__call__" else call
    if not hidden and not isinstance(function, np.ufunc):
        return None
    if function is np.power:
        return DIVISIONS[function]
    if function in DIVISIONS:
        return functools.partial(DIVISIONS[function], function)
    name = getattr(function, "__name__", "")
    found = getattr(np.ma, name, None) if isinstance(function, np.ufunc) else _METHODS.get(name)
    if found is None and hidden:
        raise NoDerivative(
            f"npgrad: {_name(call)} of a masked array that hides entries; "
            "x.filled(0), x.compressed() and the functions of np.ma record"
        )
    return found


# NumPy's functions that call an array's own method, so that a masked array answers with its mask.
_BY_METHOD = """
    sum prod mean std var max min any all cumsum cumprod reshape ravel transpose squeeze repeat take
    swapaxes diagonal trace round
"""
_SHORT = {"amax": "max", "amin": "min", "around": "round"}


def _method(name: str) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    return call


_METHODS = {name: _method(_SHORT.get(name, name)) for name in (*_BY_METHOD.split(), *_SHORT)}


def _name(call: Any) -> str:
    return str(call.args[0]) if type(call) is functools.partial else getattr(call, "__name__", "it")


def hides(value: Any) -> bool:
    """Whether `value` is a masked array of which something is masked, or holds one."""
    if type(value) in (list, tuple):
        return any(map(hides, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(np.ma.getmask(value)))


def _masked(value: Any) -> Any:
    return viewed(value, np.ma.MaskedArray) if type(value) is GradArray else value


def _merged(like: Any, result: Any) -> Any:
    """`result`, of the type and with the attributes of NumPy's own result `like`."""
    if type(result) in (list, tuple) or (isinstance(result, tuple) and isinstance(like, tuple)):
        parts = [_merged(a, b) for a, b in zip(like, result, strict=True)]
        return parts if type(result) is list else tuple(parts)
    if type(result) is not GradArray:
        return like
    values = np.asarray(like)
    if not np.array_equal(values, plain(result), equal_nan=values.dtype.kind in "fc"):
        raise NoDerivative(
            f"npgrad: {type(like).__module__}.{type(like).__name__}, a subclass of ndarray, gives "
            "other values than NumPy for what it inherits; pass np.asarray(x)"
        )
    if _is_array(like) and type(like) is not np.ndarray:
        return made(type(like), result, _attributes(like))
    return result


_OF_ELEMENTS = ("T", "mT", "real", "imag")  # attributes that are arrays


def of_ndarray(value: Any, name: str) -> Any:
    """What ndarray itself has under `name`, of the object `value`."""
    if not callable(getattr(np.ndarray, name)):
        if name not in _OF_ELEMENTS:
            return getattr(elements(value), name)
        return through(lambda a: getattr(a, name), (value,), {})

    def method(*args: Any, **kwargs: Any) -> Any:
        if name == "view" and any(map(_is_subclass, (*args, *kwargs.values()))):
            kind = next(k for k in (*args, *kwargs.values()) if _is_subclass(k))
            held = elements(value)
            if original_type(kind) is np.ndarray:
                return held[...]
            return made(kind, held[...], _attributes(_plainly(real(value).view, kind)))
        return through(functools.partial(_inherited, name), (value, *args), kwargs)

    method.__name__ = name
    return method


def _inherited(name: str, a: Any, *args: Any, **kwargs: Any) -> Any:
    """ndarray's own method, whatever the subclass writes over it."""
    return getattr(np.ndarray if _is_array(a) else type(a), name)(a, *args, **kwargs)


def _is_subclass(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(original_type(kind), np.ndarray)


_SPECIAL = """
    add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod
    pow rpow ipow matmul rmatmul neg pos abs getitem setitem len iter contains
    lt le gt ge eq ne
"""


def unbound() -> dict[str, Any]:
    """``np.ndarray.__mul__(self, other)`` and its kin, for what stands for ndarray."""
    names = [f"__{name}__" for name in _SPECIAL.split()]
    names += [
        n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(np.ndarray, n))
    ]
    return {name: _unbound(name) for name in names}


def _unbound(name: str) -> Any:
    original = getattr(np.ndarray, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self) is GradArray:
            return getattr(GradArray, name)(self, *args, **kwargs)
        if not holds_elements(self):
            return original(self, *args, **kwargs)
        if name.startswith("__"):
            return getattr(Elements, name)(self, *args, **kwargs)
        return of_ndarray(self, name)(*args, **kwargs)

    return call


# --------------------------------------------------------------------------------- made in a class
def new(subtype: type, shape: Any, dtype: Any = float, buffer: Any = None, *args: Any) -> Any:
    """``np.ndarray.__new__``, of which ``__new__`` of a subclass makes its instance."""
    held = _recording(buffer)
    kind = original_type(subtype)
    inexact = np.dtype(dtype).kind in "fc"
    if not WRAPPED.get() or not inexact or (buffer is not None and type(held) is not GradArray):
        return np.ndarray.__new__(kind, shape, dtype, buffer, *args)
    if held is None:
        held = GradArray(np.ndarray(shape, dtype, None, *args), None)
    elif any(args) or held.dtype != dtype:
        raise NoDerivative("npgrad: np.ndarray.__new__ of a recorded buffer with offset or strides")
    else:
        held = held.reshape(-1)[: int(np.prod(shape))].reshape(shape)
    return held if kind is np.ndarray else made(kind, held, _attributes_of_new(kind, held))


def _attributes_of_new(kind: type, held: Any) -> dict[str, Any]:
    """What ``__array_finalize__(None)`` sets."""
    instance = _plainly(np.ndarray.__new__, kind, held.shape, held.dtype)
    return _attributes(instance)


class _Super:
    """``super()`` of an object that stands for an instance of a subclass."""

    def __init__(self, kind: type, of: Any) -> None:
        object.__getattribute__(self, "__dict__").update(kind=kind, of=of)

    def __getattribute__(self, name: str) -> Any:  # also of `__new__`, which every object has
        held = object.__getattribute__(self, "__dict__")
        kind, of = held["kind"], held["of"]
        is_class = isinstance(of, type)
        order = original_type(of if is_class else type(of)).__mro__
        for base in order[order.index(original_type(kind)) + 1 :]:
            if base is np.ndarray:
                if name == "__new__":
                    return new
                if not is_class and hasattr(np.ndarray, name):
                    special = name.startswith("__")
                    return getattr(Elements, name).__get__(of) if special else of_ndarray(of, name)
            elif name in vars(base):
                value = vars(base)[name]
                if not hasattr(value, "__get__"):
                    return value
                return value.__get__(None, of) if is_class else value.__get__(of, type(of))
        return getattr(super(kind, of), name)


def super_in_classes(*args: Any) -> Any:
    """What stands for ``super`` in a module that writes subclasses of ndarray."""
    if not args:
        frame = sys._getframe(1)
        args = (frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]])
    if len(args) == 2 and WRAPPED.get():
        kind, of = args
        if holds_elements(of) or (isinstance(of, type) and _is_subclass(of) and _is_subclass(kind)):
            return _Super(kind, of)
    return super(*args)


def writes_subclasses(space: dict[str, Any]) -> bool:
    """Whether a module's own classes are subclasses of ndarray."""
    name = space.get("__name__")
    return any(
        isinstance(value, type) and value.__module__ == name and issubclass(value, np.ndarray)
        for value in list(space.values())
    )


def released(value: Any) -> Any:
    """What a wrapped function gives to code that is not wrapped."""
    if not holds_elements(value):
        return value
    held = elements(value)
    return held if recorded(held) else real(value)


backend.subclasses = sys.modules[__name__]
