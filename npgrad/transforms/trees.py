"""Nested containers as arguments: lists, tuples, dicts, namedtuples, dataclasses of arrays.

Arrays and numbers are met without any of this; `optree` is imported at the first argument that is
neither.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import NotDifferentiable, OperandMutated
from ..graph import backend, fingerprints
from ..graph.array import GradArray, current, fresh_leaf, leaf, unwrap
from ..graph.deferred import LAZY
from ..graph.handles import leaf_node
from ..graph.modes import MODE
from ..graph.node import Node
from .reach import folded, overlap, reachable, refuse, refuse_folded

NAMESPACE = "npgrad"
Rebuild = Callable[[list[Any]], Any]


def is_single(value: Any) -> bool:
    """Whether `value` is one array or number and not a container."""
    return (
        type(value) is GradArray
        or backend.is_scalar(value)
        or backend.is_array(value)
        or isinstance(value, complex)
    )


def _stop(value: Any) -> bool:
    """Register a dataclass the first time it is seen; arrays and None are leaves."""
    kind = type(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        _register_dataclass(kind)
    return value is None or is_single(value)


_registered: set[type] = set()


def _register_dataclass(kind: type) -> None:
    if kind in _registered:
        return
    import optree

    names = tuple(field.name for field in dataclasses.fields(kind))

    def flatten(value: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
        return tuple(getattr(value, name) for name in names), None, names

    def unflatten(_: Any, children: Any) -> Any:
        made: Any = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    with contextlib.suppress(ValueError):  # its author registered it
        optree.register_pytree_node(kind, flatten, unflatten, namespace=NAMESPACE)
    _registered.add(kind)


def flatten(value: Any) -> tuple[list[Any], Rebuild]:
    """The arrays in `value`, and how to put others in their places."""
    if is_single(value):
        return [value], only
    import optree

    leaves, spec = optree.tree_flatten(value, is_leaf=_stop, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, lambda parts: optree.tree_unflatten(spec, parts)


def spots(value: Any) -> list[int]:
    """Which leaves of a container are arrays: None is nothing, and has None for its gradient."""
    if is_single(value) or value is None:
        return [0]
    return [i for i, part in enumerate(flatten(value)[0]) if part is not None]


def arrays_in(value: Any) -> tuple[list[Any], Rebuild]:
    """`flatten` without the leaves that are None, which come back when it is put together."""
    parts, rebuild = flatten(value)
    if is_single(value) or value is None or all(part is not None for part in parts):
        return parts, rebuild
    template, there = parts, spots(value)

    def around(parts: list[Any]) -> Any:
        filled = list(template)
        for spot, part in zip(there, parts, strict=True):
            filled[spot] = part
        return rebuild(filled)

    return [parts[spot] for spot in there], around


def only(parts: list[Any]) -> Any:
    """The `Rebuild` of one array or number."""
    return parts[0]


def same_structure(value: Any, like: Any, what: str) -> tuple[list[Any], Rebuild]:
    """The arrays of `value`, whose structure must be that of `like`."""
    from ..errors import ShapeMismatch

    parts, _ = flatten(value)
    wanted, rebuild = flatten(like)
    if len(parts) != len(wanted) or (not is_single(like) and _spec(value) != _spec(like)):
        raise ShapeMismatch(
            f"npgrad: {what} must have the structure of what it belongs to: {_named(like)}, got "
            f"{_named(value)}"
        )
    return parts, rebuild


def _named(value: Any) -> str:
    """A structure for a message: ``an array``, or ``[*, {'a': *}]`` with stars for arrays."""
    if is_single(value):
        return "one array or number"
    text = str(_spec(value)).removeprefix("PyTreeSpec(")
    return text.partition(", NoneIsLeaf")[0]


def _spec(value: Any) -> Any:
    import optree

    return optree.tree_structure(value, is_leaf=_stop, none_is_leaf=True, namespace=NAMESPACE)


def structure(value: Any) -> Any:
    """The containers of `value` without what is in them, to be compared and hashed."""
    return _spec(value)


def place(value: Any, name: str, index: int) -> str:
    """How the leaf `index` of `value` is reached: ``argument 0['rate']``."""
    if is_single(value):
        return name
    import optree

    ways = optree.tree_accessors(value, is_leaf=_stop, none_is_leaf=True, namespace=NAMESPACE)
    return str(ways[index].codify(name))


_FLOATS = {
    "V": "Its fields have, if they are floats: pass them apart, x['field']",
    "M": "Times since a moment have, as floats: pass (x - x[0]) / np.timedelta64(1, 's')",
    "m": "Durations as floats have: pass x / np.timedelta64(1, 's')",
}


def differentiable(value: Any, name: str) -> Any:
    """`value` as the array to differentiate with respect to; TypeError if it cannot be."""
    kind = type(value)
    if (kind is backend.NDARRAY or kind in backend.GENERIC) and value.dtype.kind in "fc":
        return value
    if kind is GradArray or kind is float or kind is complex:
        return value
    if kind is int:
        return float(value)
    if (backend.is_array(value) or backend.is_scalar(value)) and kind is not bool:
        dtype = backend.describe(value)[1]
        if backend.is_inexact(dtype):
            backend.foreign(value)
            return value
        raise NotDifferentiable(
            f"npgrad: {name} is an array of {dtype}, which has no gradient. "
            + _FLOATS.get(dtype.kind, "Pass it as floats, x.astype(float)")
            + ", or leave it out of argnums (of vjp and jvp: lambda x: f(x, i))."
        )
    raise NotDifferentiable(
        f"npgrad: {name} is {kind.__module__}.{kind.__qualname__}, which has no gradient; arrays, "
        "numbers and containers of them have. Pass settings in another argument, which argnums "
        "leaves out."
    )


def _copied_bytes(part: Any) -> int:
    """Arguments up to this size are copied: up to 1 MB a copy is cheaper than two fingerprints."""
    return backend.COPIED_BYTES if backend.on_device(part) else backend.WHOLE_BYTES


_CHANGED = (
    "npgrad: the array passed as {name} was changed in place while the function ran, through "
    "another name than its parameter, so the gradient would be wrong. Pass a copy (x.copy())."
)


def check_names(
    name: str, handle: GradArray, f: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """Raise if `f`, which wrote into the leaf `handle`, can reach its memory by another name."""
    for other in reachable(f, [*args, *kwargs.values()]) or ():
        if other is not handle and overlap(other, handle):
            refuse(name)


ALIKE: list[Any] = [0.0]  # what `Argument.likes` is for an array of NumPy's


class Argument:
    """One argument made into leaves, and how gradients come back in its structure."""

    __slots__ = ("guards", "likes", "nodes", "rebuild", "recorded", "value", "watched")

    guards: list[tuple[str, Any, Any, bool]]  # the caller's arrays that leaves hold as they are
    watched: list[tuple[str, GradArray, Any, bool]]  # leaves, the caller's arrays, is it a copy

    likes: list[Any]  # for each array: what zeros of its library are made like
    nodes: list[Node]
    rebuild: Rebuild

    def __init__(self, value: Any, name: str, later: bool = False) -> None:
        """`later`: the sweep comes after the call, when the caller may have changed `value`."""
        self.recorded = False
        self.guards = []
        if type(value) is backend.NDARRAY and value.dtype.kind in "fc":  # the everyday case
            copied = later or value.nbytes <= backend.WHOLE_BYTES
            self.value = handle = fresh_leaf(backend.snapshot(value) if copied else value, value)
            self.watched = [(name, handle, value, copied)]
            if not copied:
                handle._node.op.held = self._guard(value, name)  # type: ignore[union-attr]
            self.rebuild, self.likes, self.nodes = only, ALIKE, [handle._node]  # type: ignore[list-item]
            return
        if is_single(value):
            parts, self.rebuild = [value], only
        else:
            parts, self.rebuild = arrays_in(value)
        handles: list[GradArray] = []
        self.likes, self.nodes, self.watched = [], [], []
        for i, part in enumerate(parts):
            try:
                part = given = differentiable(part, name)
            except NotDifferentiable:
                differentiable(part, place(value, name, spots(value)[i]))  # says which leaf
                raise
            origin, copied, held = None, False, None
            if type(part) is GradArray:
                outer = leaf_node(part)
                given = None if outer is None else outer.op.given
                part, origin = current(part)
                self.recorded = True
            elif later or getattr(part, "nbytes", 0) <= _copied_bytes(part):
                part, copied = backend.snapshot_any(part), True
                held = part
            else:
                held = self._guard(part, name)
            self.likes.append(part if backend.on_device(part) else 0.0)
            handle = leaf(part, False, origin)
            handle._node.op.given = given  # type: ignore[union-attr]
            handle._node.op.held = held  # type: ignore[union-attr]
            if type(given) is backend.NDARRAY:
                self.watched.append((name, handle, given, copied))
            handles.append(handle)
            self.nodes.append(handle._node)  # type: ignore[arg-type]
        self.value = self.rebuild(handles)

    def _guard(self, value: Any, name: str) -> Any:
        """Take a fingerprint of the caller's array, of which the leaf is no copy, and return it.

        On a device, where the comparison would wait, only under `npgrad.debug`.
        """
        mode = MODE.get()
        whole = mode is not None and mode.checked
        if whole or not backend.on_device(value):
            digest = fingerprints.fingerprint(value, whole)
            self.guards.append((name, value, digest, whole))
            return digest
        return None

    def check(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Raise if `f` changed the caller's array, or a leaf that it knows by another name."""
        for name, handle, array, copied in self.watched:
            view = handle._view
            if view is None:
                held = handle._array
            elif view is LAZY:
                continue
            elif view.root.version:
                if folded(array):
                    refuse_folded(name)
                check_names(name, handle, f, args, kwargs)
                continue
            else:
                held = view.root.array
            if copied and not fingerprints.same(array, held):
                raise OperandMutated(_CHANGED.format(name=name))
        for name, array, digest, whole in self.guards:
            if fingerprints.changed(array, digest, whole):
                raise OperandMutated(_CHANGED.format(name=name))

    def collect(self, gradients: dict[int, tuple[Node, Any]], record: bool) -> Any:
        """The gradients in the argument's structure, zeros where none arrived."""
        if self.rebuild is only and not record:
            node = self.nodes[0]
            found = gradients.get(node.id)
            return as_scalar(found[1]) if found is not None else _zeros(node, self.likes[0])
        parts = []
        for node, like in zip(self.nodes, self.likes, strict=True):
            found = gradients.get(node.id)
            part = as_scalar(found[1]) if found is not None else _zeros(node, like)
            if record and type(part) is not GradArray:
                part = GradArray(part, None)
            parts.append(part)
        return self.rebuild(parts)


def device_of(arguments: list[Argument]) -> Any:
    """The first array of a device among `arguments`: the function runs where it lives."""
    for argument in arguments:
        if argument.likes is not ALIKE:
            for like in argument.likes:
                if type(like) is not float:
                    return like
    return None


def as_scalar(part: Any) -> Any:
    """A gradient of no axes as NumPy's scalar, whatever the rule made of it."""
    return part[()] if type(part) is backend.NDARRAY and not part.shape else part


def _zeros(node: Node, like: Any) -> Any:
    return backend.zeros(like, node.shape, node.dtype)[()]


__all__ = [
    "Argument",
    "device_of",
    "differentiable",
    "flatten",
    "is_single",
    "same_structure",
    "unwrap",
]
