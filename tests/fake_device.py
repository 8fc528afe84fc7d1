"""An array of a library that is not NumPy: NumPy's protocols, and no way back to the host.

It stands for CuPy where there is no GPU. NumPy's functions run on it through the protocols; what
CuPy refuses, it refuses: ``__array__``, iteration into host scalars, ``float()``, buffers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

PLAIN = (np, type)  # in a tuple, which `npgrad.wrap` overlooks: the functions of tests run wrapped


class LeftTheDevice(TypeError):
    """A rule asked a device array for host data."""


def to_device(value: Any) -> Any:
    """Arrays, also in tuples, lists and dicts, as device arrays; all else as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        return DeviceArray(PLAIN[0].asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_device, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(to_device, value))
    return value


def to_host(value: Any) -> Any:
    """The opposite of `to_device`."""
    if isinstance(value, DeviceArray):
        return value._host
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_host, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(to_host, value))
    if isinstance(value, dict):
        return {key: to_host(part) for key, part in value.items()}
    return value


def _seen(result: Any, source: DeviceArray) -> Any:
    """`result` of `source` on the device; a view of it holds on to the owner, as CuPy's do."""
    made = to_device(result)
    owner = getattr(result, "base", None)
    if owner is not None and (owner is source._host or owner is source._host.base):
        made._base = source if source._base is None else source._base
    return made


def _others(kind: type) -> bool:
    """Whether another library's arrays have the first say, as CuPy leaves it to them."""
    return (
        kind is not DeviceArray and kind.__module__ != "numpy" and hasattr(kind, "__array_ufunc__")
    )


class DeviceArray(NDArrayOperatorsMixin):
    """See the module's docstring."""

    __slots__ = ("_base", "_host")

    def __init__(self, host: Any) -> None:
        self._host = host
        self._base: Any = None

    @property
    def base(self) -> Any:
        """The array that owns the memory, if another one does."""
        return self._base

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(_others(PLAIN[1](value)) for value in inputs):
            return NotImplemented
        out = kwargs.pop("out", None)
        result = getattr(ufunc, method)(*map(to_host, inputs), **to_host(kwargs))
        if out is not None:
            for target, part in zip(out, result if len(out) > 1 else (result,), strict=True):
                target._host[...] = part
            return out if len(out) > 1 else out[0]
        return to_device(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(map(_others, types)):
            return NotImplemented
        result = func(*to_host(args), **to_host(kwargs))
        first = args[0] if args else None
        return _seen(result, first) if type(first) is DeviceArray else to_device(result)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise LeftTheDevice("__array__ of a device array")

    def __float__(self) -> float:
        raise LeftTheDevice("float() of a device array")

    __int__ = __complex__ = __index__ = __float__  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._host)  # CuPy waits for the device, and answers

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        index = to_host(index)
        found = self._host[index]
        if isinstance(found, np.generic):  # a view of no axes, as CuPy's
            found = self._host[(*index, ...) if isinstance(index, tuple) else (index, ...)]
        return _seen(found, self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[to_host(index)] = to_host(value)

    def __repr__(self) -> str:
        return f"DeviceArray({self._host!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in {"tolist", "data", "ctypes", "tobytes", "item"}:
            raise AttributeError(name)
        member = getattr(self._host, name)
        if name in {"shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides", "flags"}:
            return member
        if not callable(member):
            return _seen(member, self)

        def method(*args: Any, **kwargs: Any) -> Any:
            return _seen(member(*to_host(args), **to_host(kwargs)), self)

        return method
