"""`GradStore`: gradients of leaves, apart from the graph; and ``backward`` of a handle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import DTypeMismatch, NotDifferentiable, ShapeMismatch
from . import backend, placing
from .array import GradArray, current, unwrap
from .backward import Backward
from .conform import cast
from .handles import leaf_node
from .node import Leaf, Node, recorded_at
from .order import collect


class GradStore(Mapping[GradArray, Any]):
    """Gradients by leaf, as `GradArray.backward` returns them.

    A mapping from leaves to plain arrays (GradArrays after ``create_graph=True``), each of its
    leaf's shape and dtype. Leaves compare by identity.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> w = npgrad.array([2.0, -1.0])
    >>> store = np.sum(w * w).backward()
    >>> store[w]
    array([ 4., -2.])
    >>> np.sum(3.0 * w).backward_into(store)[w]  # accumulates
    array([7., 1.])
    >>> store.scale(0.5)[w]
    array([3.5, 0.5])
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[GradArray, Any]] = {}

    def __getitem__(self, leaf: GradArray) -> Any:
        node = _leaf_of(leaf)
        if node is None or node.id not in self._entries:
            raise KeyError(
                "npgrad: no gradient for this array: it is not a leaf, or the result does not "
                "depend on it. store.get(x) gives None. For the gradient of a value in the middle, "
                "make it a leaf, y = npgrad.array(npgrad.value(y)), and go on from there."
            )
        return self._entries[node.id][1]

    def __contains__(self, leaf: object) -> bool:
        node = _leaf_of(leaf) if type(leaf) is GradArray else None
        return node is not None and node.id in self._entries

    def get(self, leaf: GradArray, default: Any = None) -> Any:
        """The gradient of `leaf`, or `default`."""
        node = _leaf_of(leaf)
        found = self._entries.get(node.id) if node is not None else None
        return default if found is None else found[1]

    def __iter__(self) -> Iterator[GradArray]:
        return iter([handle for handle, _ in self._entries.values()])

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, leaf: GradArray, gradient: Any) -> None:
        """Add `gradient`, of the leaf's shape, to what the store holds for `leaf`.

        Raises
        ------
        ShapeMismatch
            The shapes differ.
        NotDifferentiable
            `leaf` is not a leaf.
        """
        node = _leaf_of(leaf)
        if node is None:
            raise NotDifferentiable(
                "npgrad: GradStore.add takes a leaf made by npgrad.array, not a computed array"
            )
        shape = backend.describe(gradient)[0]
        if shape != node.shape:
            raise ShapeMismatch(f"npgrad: gradient of shape {shape} for a leaf of {node.shape}")
        if backend.describe(gradient)[1].kind == "c" != node.dtype.kind:
            raise DTypeMismatch(f"npgrad: a complex gradient for a leaf of {node.dtype}")
        self._add(node, leaf, backend.snapshot_any(cast(gradient, node.dtype)))

    def _add(self, node: Node, handle: GradArray, gradient: Any) -> None:
        have = self._entries.get(node.id)
        if have is not None:
            gradient = have[1] + gradient
        self._entries[node.id] = (handle, gradient)

    def scale(self, factor: float) -> GradStore:
        """Multiply every gradient by `factor`, in this store; returns the store."""
        for key, (handle, gradient) in self._entries.items():
            self._entries[key] = (handle, gradient * factor)
        return self

    def clear(self) -> None:
        """Forget every gradient."""
        self._entries.clear()

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{g.dtype}{list(backend.describe(g)[0])}" for _, g in self._entries.values()
        )
        return f"GradStore({shapes})"

    def __reduce__(self) -> Any:
        return _restore, ([(handle, g) for handle, g in self._entries.values()],)


def _restore(entries: list[tuple[GradArray, Any]]) -> GradStore:
    store = GradStore()
    for handle, gradient in entries:
        store.add(handle, gradient)
    return store


def _leaf_of(handle: Any) -> Node | None:
    if type(handle) is not GradArray:
        raise TypeError(f"npgrad: a GradStore is asked with a GradArray, not {type(handle)}")
    return leaf_node(handle)


def _zeros(g: Any, leaf: Node) -> Any:
    return backend.zeros(unwrap(g), leaf.shape, leaf.dtype)[()]


def cotangent_for(
    node: Node, cotangent: Any, what: str, value: Any, name: str = "the cotangent"
) -> Any:
    """`cotangent` checked against `value`, that of `node`; ones for a scalar if it is None."""
    if cotangent is None:
        if node.shape != ():
            raise NotDifferentiable(
                f"npgrad: {what} of an array of shape {node.shape} needs a cotangent of that shape:"
                f" y.backward(np.ones(y.shape)), or reduce it first: np.sum(y)."
                f"{recorded_at(node)}"
            )
        if node.dtype.kind == "c":
            raise NotDifferentiable(
                f"npgrad: {what} of a complex value needs a cotangent, or take np.real or np.abs of"
                f" it first.{recorded_at(node)}"
            )
        return backend.ones_like(node, value)
    if not backend.is_array(unwrap(cotangent)) and not backend.is_scalar(cotangent):
        cotangent = backend.asarray(cotangent)
    shape, dtype = backend.describe(unwrap(cotangent))
    placing.check_placed(what, "cotangent", unwrap(cotangent), value)
    if dtype.kind not in "fciub" or (dtype.kind == "c" and node.dtype.kind != "c"):
        raise DTypeMismatch(
            f"npgrad: {name} is {dtype}, its value {node.dtype}: a cotangent is of its value's "
            f"kind.{recorded_at(node)}"
        )
    if shape != node.shape:
        raise ShapeMismatch(
            f"npgrad: {name} has shape {shape}, the value has {node.shape}.{recorded_at(node)}"
        )
    cotangent = placing.placed(cotangent, value)
    if dtype != node.dtype or not hasattr(cotangent, "dtype"):
        return (
            cotangent.astype(node.dtype)
            if hasattr(cotangent, "astype")
            else node.dtype.type(cotangent)
        )
    return cotangent


def backward_into(
    handle: GradArray,
    store: GradStore,
    cotangent: Any = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> GradStore:
    """Add the gradients of this value into `store`, and return it.

    Parameters
    ----------
    store : GradStore
        What the gradients of every leaf are added to (gradient accumulation).
    cotangent : array_like, optional
        Of the value's shape; a scalar's is one.
    retain_graph : bool
        Keep what the recording holds, so that it can be swept again.
    create_graph : bool
        Record the sweep itself: the gradients are GradArrays and can be differentiated.

    Raises
    ------
    NotDifferentiable
        A non-scalar or complex value without a cotangent, or a value that nothing recorded.
    ShapeMismatch, DTypeMismatch
        The cotangent does not fit.
    GraphFreed
        The recording was swept before without ``retain_graph=True``.
    OperandMutated
        A plain operand was changed after it was recorded.
    """
    value, node = current(handle)
    if node is None:
        raise NotDifferentiable(
            "npgrad: nothing was recorded for this array: it does not depend on a leaf (or was made"
            " under no_grad). Make leaves with npgrad.array(x)."
        )
    g = cotangent_for(node, cotangent, "backward", value)
    order, _ = collect([node], 0)
    record = create_graph or type(g) is GradArray
    if not record:  # inside a transform, its argument must not be lost
        record = any(type(n.op) is Leaf and n.op.open for n in order)
    if record and type(g) is not GradArray:
        g = GradArray(g, None)
    leaves = [n for n in order if type(n.op) is Leaf]
    walk = Backward(record=record)
    walk.result = handle
    walk.run(order, [(node, g)], retain_graph)
    for leaf in leaves:
        owner = leaf.op.handle() if leaf.op.handle is not None else None
        if owner is not None:
            found = walk.leaves.get(leaf.id)
            gradient = found[1] if found is not None else _zeros(g, leaf)
            store._add(leaf, owner, gradient)
    return store


def backward(
    handle: GradArray,
    cotangent: Any = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> GradStore:
    """The gradients of this value with respect to every leaf it depends on.

    Parameters and errors are those of `backward_into`.

    Returns
    -------
    GradStore
        Leaf -> gradient, of the leaf's shape and dtype.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = npgrad.array([1.0, 2.0])
    >>> (x * 3.0).backward(np.ones(2))[x]
    array([3., 3.])
    """
    return backward_into(
        handle, GradStore(), cotangent, retain_graph=retain_graph, create_graph=create_graph
    )


GradArray.backward = backward
GradArray.backward_into = backward_into
