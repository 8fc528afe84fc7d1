"""Structured arrays in wrapped code: a buffer with named fields, into which recorded values go.

What a maker gives for a structured type is an object that holds NumPy's own array, and for each
field that is asked for a GradArray over its memory. While nothing recorded was written it acts as
the array; afterwards the fields record, and what NumPy would do with whole records is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.errors import GradientLost, NoDerivative
from npgrad.graph import backend
from npgrad.graph.array import GradArray, plain, recorded

_SHAPING = ("ravel", "reshape", "flatten", "squeeze")  # methods, field by field


class Structured:
    """What stands for a structured array that wrapped code makes."""

    def __init__(self, base: Any, fields: dict[str, Any] | None = None) -> None:
        vars(self).update(_base=base, _fields={} if fields is None else fields)
        vars(self).update(_exported=False, _record=False)  # handed out; one entry of an array

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._base)

    # ------------------------------------------------------------------------------ the fields
    def _field(self, name: str) -> Any:
        found = self._fields.get(name)
        if found is None:
            held = self._base[name]
            if held.dtype.names is not None:
                found = Structured(held)
            elif not backend.is_inexact(held.dtype):
                return held
            else:
                found = GradArray(held, None)
                if self._exported:
                    np.asarray(found)
            self._fields[name] = found
        return found

    def _records(self) -> bool:
        """Whether a recorded value was written into a field."""
        return any(
            part._records() if type(part) is Structured else recorded(part)
            for part in self._fields.values()
        )

    def _plain(self, asked: str) -> Any:
        """NumPy's array, for code that may keep it."""
        if self._records():
            raise NoDerivative(
                f"npgrad: {asked} of a structured array with recorded fields; its fields one by "
                'one, a["x"], record, and so do a[i], a[i:j], a[mask] and a.copy()'
            )
        for name, part in self._fields.items():
            if type(part) is GradArray:
                held = self._base[name]
                if not np.shares_memory(held, plain(part)):  # a rule had kept the old contents
                    held[...] = plain(part)
                    part = self._fields[name] = GradArray(held, None)
                np.asarray(part)  # marks the memory as handed out
        vars(self)["_exported"] = True
        return self._base

    def _each(self, function: Any) -> Structured:
        """The fields, and NumPy's array, through one function of arrays."""
        names = self._base.dtype.names
        fields = {name: function(self._field(name)) for name in names}
        return Structured(function(self._base), fields)

    # ------------------------------------------------------------------------------- as an array
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            part = self._field(index)
            return part[()] if self._record and not np.shape(part) else part
        if isinstance(index, list) and index and isinstance(index[0], str):
            return Structured(self._base[index], {name: self._field(name) for name in index})
        entry = index if type(index) is tuple else (index,)
        if len(entry) == self._base.ndim and all(isinstance(i, (int, np.integer)) for i in entry):
            made = self._each(lambda a: a[(*entry, ...)])
            vars(made)["_record"] = True
            return made
        return self._each(lambda a: a[index])

    def _shaped(self, base: Any) -> Structured:
        """The fields in the shape of `base`, and before their own axes."""
        own = self._base.ndim
        fields = {}
        for name in self._base.dtype.names:
            part = self._field(name)
            fields[name] = part.reshape(base.shape + np.shape(part)[own:])
        return Structured(base, fields)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, str):
            self._field(index)[...] = value
            return
        names = self._base.dtype.names
        if type(value) is tuple and len(value) == len(names):
            for name, part in zip(names, value, strict=True):
                self._field(name)[index] = part
        elif type(value) is Structured or getattr(value, "dtype", np.dtype(float)).names:
            for name, theirs in zip(names, value.dtype.names, strict=True):  # by place, as NumPy
                self._field(name)[index] = value[theirs]
        elif isinstance(value, list):
            for i, row in zip(np.arange(len(self._base))[index], value, strict=True):
                self[int(i)] = row
        else:
            for name in names:
                self._field(name)[index] = value

    def __len__(self) -> int:
        return len(self._base)

    def __iter__(self) -> Iterator[Any]:
        if self._base.shape:
            return (self[i] for i in range(len(self._base)))
        return (self[name] for name in self._base.dtype.names)  # one record

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self._records():
            raise GradientLost(
                "npgrad: a structured array with recorded fields would become a plain one, and "
                'lose their gradients. Instead: its fields, a["x"]; npgrad.value(a["x"]) to cut.'
            )
        made = self._plain("np.asarray")
        return made if dtype is None and not copy else np.array(made, dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        if func is np.copy:
            return self.copy()
        if func in (np.shape, np.size, np.ndim):
            return func(self._base, *args[1:], **kwargs)
        if func in (np.zeros_like, np.empty_like, np.ones_like) and args[0] is self:
            return func(self._base, *args[1:], **kwargs)
        if func is np.concatenate and all(type(a) is Structured for a in args[0]):
            parts = args[0]
            names = parts[0]._base.dtype.names
            fields = {n: np.concatenate([p._field(n) for p in parts], **kwargs) for n in names}
            return Structured(np.concatenate([p._base for p in parts], **kwargs), fields)
        return func(*_plainly(args, name), **{k: _plainly(v, name) for k, v in kwargs.items()})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*_plainly(inputs, ufunc.__name__), **kwargs)

    def __getattr__(self, name: str) -> Any:
        base = vars(self)["_base"]
        if name == "copy":
            return lambda order="C": self._each(np.copy)
        if name in _SHAPING:
            source = self.copy() if name == "flatten" else self
            return lambda *a, **k: source._shaped(getattr(source._base, name)(*a, **k))
        if isinstance(base, np.recarray) and name in (base.dtype.names or ()):
            return self._field(name)
        if name in ("dtype", "shape", "size", "ndim", "nbytes", "itemsize", "strides", "flags"):
            return getattr(base, name)
        if name.startswith("__") or not hasattr(base, name):
            raise AttributeError(f"{type(base).__name__!r} object has no attribute {name!r}")
        return getattr(self._plain(name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        base = vars(self)["_base"]
        if isinstance(base, np.recarray) and name in (base.dtype.names or ()):
            self._field(name)[...] = value
        else:
            setattr(self._plain(name), name, value)

    def __eq__(self, other: object) -> Any:
        return self._plain("==") == _plainly(other, "==")

    def __ne__(self, other: object) -> Any:
        return self._plain("!=") != _plainly(other, "!=")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._plain("bool"))

    def __repr__(self) -> str:
        return repr(self._base)

    def __str__(self) -> str:
        return str(self._base)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._plain("pickle").__reduce_ex__(protocol)


def _plainly(value: Any, asked: str) -> Any:
    if type(value) is Structured:
        return value._plain(asked)
    if type(value) in (list, tuple):
        return type(value)(_plainly(part, asked) for part in value)
    return value


def holds_fields(dtype: Any) -> bool:
    """Whether a type has fields, one of them floating or complex."""
    if dtype.names is None:
        return dtype.base.kind in "fc"
    return any(holds_fields(dtype[name]) for name in dtype.names)


def structured(made: Any) -> Any:
    """What stands for the fresh structured array `made`; itself if it holds no floats."""
    return Structured(made) if holds_fields(made.dtype) else made


def of_rows(rows: Any, dtype: Any) -> Any:
    """``np.array(rows, dtype)`` of records with recorded values."""
    made = structured(np.zeros((len(rows),), dtype))
    for i, row in enumerate(rows):
        made[i] = tuple(row)
    return made
