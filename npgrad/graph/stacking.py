"""A list of recorded values as one array, where NumPy's functions take lists for arrays."""

from __future__ import annotations

import collections
import inspect
import sys
import types
from typing import Any

from ..errors import GradientLost
from . import backend
from .array import GradArray, current
from .modes import WRAPPED, users
from .node import Node
from .op import Op


class Stack(Op):
    """Elements, recorded or not, put together along new leading axes; ``kept`` is their places."""

    name = "stack"

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        for place, parent in zip(kept[0], node.parents, strict=True):
            if parent is not None and walk.wants(parent):
                walk.add(parent, walk.take(g, place), g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        buffer = walk.tangent_buffer(node, None, None)
        for place, tangent in zip(kept[0], tangents, strict=True):
            if tangent is not None:
                buffer[(slice(None), *place) if walk.batch else place] = tangent
        return buffer


STACK = Stack()


def has_recorded(items: Any) -> bool:
    """Whether a nested list holds a GradArray."""
    return any(
        type(item) is GradArray or (isinstance(item, (list, tuple)) and has_recorded(item))
        for item in items
    )


def items_of(a: Any) -> Any:
    """The items of what NumPy takes for a sequence: a list's subclass, a class with two methods."""
    if isinstance(a, (list, tuple)):
        return a
    kind = type(a)
    if isinstance(a, (collections.deque, collections.UserList)):
        return list(a)
    if hasattr(kind, "__array__") or issubclass(kind, (dict, collections.UserDict)):
        return None
    written = type(getattr(kind, "__getitem__", None)) is types.FunctionType
    if not written or not hasattr(kind, "__len__"):
        return None
    try:
        return list(a)
    except Exception:  # its keys are no numbers: an object to NumPy
        return None


def gathered(value: Any) -> Any:
    """A sequence of recorded numbers, of whatever class, as an array; any other value as it is."""
    kind = type(value)
    if kind is GradArray or backend.on_device(value):
        return value
    if backend.subclasses is not None and backend.subclasses.holds_elements(value):
        return backend.subclasses.elements(value)
    if WRAPPED.get() and type(getattr(kind, "__array__", None)) is types.FunctionType:
        made = inspect.unwrap(kind.__array__)(value)  # in wrapped code it may give a recorded one
        return made if type(made) is GradArray else value
    items = items_of(value)
    return stacked(items) if items is not None and has_recorded(items) else value


def unpacked(value: Any) -> Any:
    """An array of Python objects with recorded numbers among them as a recorded array.

    Also inside of lists and tuples; any other value as it is. NumPy would compute with each number
    by itself, and the array would count as a constant beside a recorded one.
    """
    kind = type(value)
    if kind is backend.NDARRAY:
        if not value.dtype.hasobject or not has_recorded(value.ravel().tolist()):
            return value
        return stacked(value.tolist())
    if kind is list or kind is tuple:
        parts = [unpacked(part) for part in value]
        changed = any(new is not old for new, old in zip(parts, value, strict=True))
        return kind(parts) if changed else value
    return value


def _collect(items: Any, place: tuple[int, ...], found: list[tuple[Any, Any, Any]]) -> Any:
    """The plain nested list of `items`; recorded elements are noted with their places."""
    plain = []
    for i, item in enumerate(items):
        here = (*place, i)
        if isinstance(item, (list, tuple)):
            plain.append(_collect(item, here, found))
        elif type(item) is GradArray:
            array, node = current(item)
            found.append((here, node, array))
            plain.append(array)
        else:
            plain.append(item)
    return plain


def in_objects(dtype: Any) -> str:
    """The message where recorded values would become entries of an array of another kind."""
    return (
        f"npgrad: a list that holds recorded numbers would become an array of {dtype}, and lose "
        "their gradient. Keep them in a list, or np.stack those that are numbers."
    )


def stacked(items: Any) -> GradArray:
    """The array NumPy would make of the nested list `items`, recorded."""
    found: list[tuple[Any, Any, Any]] = []
    array = backend.asarray(_collect(items, (), found))
    if array.dtype.kind not in "fc" and found:
        raise GradientLost(in_objects(array.dtype))
    recorded = [(place, node) for place, node, _ in found if node is not None]
    if not recorded:
        return GradArray(array, None)
    frame = users(sys._getframe(1))
    node = Node(
        STACK,
        tuple(node for _, node in recorded),
        (tuple(place for place, _ in recorded),),
        array.shape,
        array.dtype,
        frame.f_code,
        frame.f_lasti,
    )
    return GradArray(array, node)
