"""What a handle holds as of now, and what is said of it: `array` has the class.

Ask `current` and not the handle's own fields: another handle may have written to its root.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..errors import GradientLost
from . import backend
from .deferred import LAZY
from .doors import asking, shut
from .modes import MODE, WRAPPED
from .node import Leaf, Node, claimed, recorded_at

if TYPE_CHECKING:
    from .array import GradArray


def storage(handle: GradArray) -> Any:
    """An array of the handle's shape and dtype, whose contents may be out of date."""
    array = handle._array
    return array if array is not None else handle._view.peek()


class Flags:
    """``x.flags``: how the memory is laid out, and whether the recorded array may be written to."""

    __slots__ = ("_handle",)

    def __init__(self, handle: GradArray) -> None:
        object.__setattr__(self, "_handle", handle)

    def __getattr__(self, name: str) -> Any:
        root = getattr(self._handle._view, "root", None)
        if name == "writeable" and root is not None and root.locked:
            return False
        return getattr(storage(self._handle).flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "writeable":  # as x.setflags: the memory itself may belong to others
            self._handle.setflags(write=value)
        else:
            setattr(storage(self._handle).flags, name, value)

    def __getitem__(self, key: str) -> Any:
        known = storage(self._handle).flags[key]
        return self.writeable if key in ("W", "WRITEABLE") else known

    def __setitem__(self, key: str, value: Any) -> None:
        if key in ("W", "WRITEABLE"):
            self.writeable = value
        else:
            storage(self._handle).flags[key] = value

    def __repr__(self) -> str:
        return repr(storage(self._handle).flags)


def current(handle: GradArray) -> tuple[Any, Node | None]:
    """The handle's array and node as of now."""
    if handle._view is not None:
        handle._view.refresh(handle)
    return handle._array, handle._node


def plain(handle: GradArray) -> Any:
    """The handle's array as of now; not to be written to."""
    return current(handle)[0]


def recorded(handle: GradArray) -> bool:
    """Whether a gradient could be lost with the handle's value."""
    node = current(handle)[1]
    return node is not None and claimed(node)


def leaf_node(handle: GradArray) -> Node | None:
    """The node of the leaf that `handle` was before any write to it; None if it never was one."""
    view = handle._view
    node = handle._node if view is None or view is LAZY else view.first_node()
    return node if node is not None and type(node.op) is Leaf else None


def is_public_leaf(handle: GradArray) -> bool:
    """Whether `npgrad.array` made it, outside any transform or tape, and nothing wrote to it."""
    node = current(handle)[1]
    return node is not None and type(node.op) is Leaf and node.op.public


def stands_alone(handle: GradArray) -> bool:
    """Whether a deep copy, or a pickle, of `handle` is a leaf of its own.

    One of a leaf of `npgrad.array`'s is, outside of wrapped code and tapes: there a program makes
    its defensive copy, as it does of the argument of a transform.
    """
    mode = MODE.get()
    inside = WRAPPED.get() or (mode is not None and mode.listeners)
    return not inside and is_public_leaf(handle)


def export(handle: GradArray, dtype: Any, copy: bool | None) -> Any:
    """The plain array of a constant, shared with it as NumPy shares memory."""
    from .views import share  # views knows this module

    array = share(handle) if current(handle)[1] is None else backend.snapshot_any(plain(handle))
    array = backend.asarray(array)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return backend.snapshot(array) if copy else array


def lost(handle: GradArray, what: str) -> str:
    """The message of a door that stays shut."""
    return shut(current(handle)[1], what, sys._getframe(2))


def hash_of_number(handle: GradArray) -> int:
    """A constant's is that of its value; what is recorded has none.

    By identity, ``table.get(x)`` and ``set(x.tolist())`` would not find the number that NumPy's
    finds; by value, a cache of results would answer with the gradient of another equal number.
    """
    if not recorded(handle):
        return hash(plain(handle))
    node = current(handle)[1]
    raise GradientLost(  # libraries that fall back where there is no hash look for the first words
        "unhashable type: npgrad.GradArray: a recorded number as a key of a dictionary, in a set "
        f"or in a cache of results.{recorded_at(node)}{asking()} Instead: npgrad.value(x) as the "
        "key; a list or a tuple for `in`, which compare by value; f.__wrapped__(x) past "
        "functools.lru_cache."
    )


def memory(handle: GradArray, name: str) -> Any:
    """An attribute that hands out the memory of a constant's buffer."""
    if recorded(handle):
        raise AttributeError(name)  # Python then asks for what is `missing`
    return getattr(export(handle, None, None), name)


def rounded(handle: GradArray) -> float:
    """The value of a real scalar, for rounding to a Python integer."""
    if handle.size != 1 or handle.dtype.kind != "f":
        raise TypeError("only real arrays of one element can be rounded to a Python integer")
    return float(plain(handle).item() if hasattr(plain(handle), "item") else plain(handle))


def itself(value: Any) -> Any:
    """What a pickled constant becomes: the plain array, or the number."""
    return value


_BUFFER = (
    "its memory would leave the recording, and the gradient with it; npgrad.value(x) cuts it on "
    "purpose"
)
_MISSING = {
    "__array_interface__": _BUFFER,
    "__array_struct__": _BUFFER,
    "__cuda_array_interface__": _BUFFER,
    "__array_namespace__": (
        "the array API's functions would meet plain arrays beside recorded ones and refuse them; "
        "NumPy's own functions record"
    ),
    "hex": "it is text of a float, which npgrad.value(x) gives",
}


def missing(handle: GradArray, name: str) -> str:
    """The message for an attribute that a handle has not, with the reason where ndarray has it."""
    if name in ("data", "ctypes"):
        return (
            f"npgrad: a recorded array has no .{name}: what is read from its memory has no "
            f"gradient. npgrad.value(x).{name} cuts it on purpose."
        )
    text = f"'GradArray' object has no attribute {name!r}"
    return f"{text}: {_MISSING[name]}" if name in _MISSING else text
