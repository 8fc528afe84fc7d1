"""Views and in-place writes, as NumPy means them.

::

    y ----> Root: storage array, node of the newest version, version number
    v = y[1:] ------^   View: the step [1:] from y's view to v's

A handle that was never viewed nor written has no `View`; that is the everyday case and costs one
look at a slot. The first view of it makes a `Root`, shared by all handles of that memory. A write
changes the storage, makes a ``write`` node whose parents are the previous version and the value
written, and counts the version up; handles of an older version refresh themselves when used.

Storage is written to only while nobody else refers to it: the reference count of the storage array
counts every rule that keeps it and every view of it, because NumPy makes the owner of the memory
the ``base`` of each. Otherwise the root moves to a copy and leaves the old memory to them. Small
regions read out of a written root are copied, so that filling a buffer element by element, reading
as it goes, stays linear; a large region that is kept pays for one copy, as much as reading it cost.

Reverse: the cotangent of a root is one buffer in the root's layout. A write node reads its region
out as the cotangent of the value, zeroes the region, and hands the same buffer on.
"""

from __future__ import annotations

from typing import Any

from ..errors import InPlaceError
from . import backend, ownership
from .array import GradArray, storage
from .deferred import LAZY, lazily, settle_handle
from .modes import MODE
from .node import Leaf, Node, recorded_at

_new: Any = object.__new__


class Root:
    """Memory that several handles may see."""

    __slots__ = (
        "__weakref__", "array", "exported", "first", "locked", "node", "version", "windows",
    )  # fmt: skip

    def __init__(self, array: Any, node: Node | None) -> None:
        self.array = array
        self.node = node
        self.first = node
        self.version = 0
        self.exported: str | None = None  # where __array__ handed the storage out
        self.locked = False  # x.setflags(write=False)
        # References to roots of copies that are views in NumPy (as_strided), while those live.
        self.windows: tuple[Any, ...] = ()

    def own(self) -> None:
        """Make sure that writing to the storage changes nothing that somebody else holds."""
        if self.exported is None and not ownership.exclusive(self):
            self.array = backend.snapshot(self.array)

    def advance(self, node: Node | None) -> None:
        """A write happened; `node` is the newest version."""
        self.node = node
        self.version += 1


class Step:
    """One view operation, replayable on any array: storage, cotangents, tangents.

    What a write keeps of the way to its region; it knows no root, whose node keeps it.
    """

    __slots__ = ("kept", "op")

    def __init__(self, op: Any, kept: tuple[Any, ...]) -> None:
        self.op = op
        self.kept = kept

    def __call__(self, array: Any) -> Any:
        """The operation on another array."""
        return self.op.replay(array, self.kept)


class View:
    """How a handle sees its root: through `parent`'s view and one more step.

    The step is an operation and what it keeps. A root's own handle has no parent and no step.
    """

    __slots__ = ("kept", "op", "parent", "root", "version")

    def __init__(self, root: Root, parent: View | None, op: Any, kept: tuple[Any, ...]) -> None:
        self.root = root
        self.parent = parent
        self.op = op
        self.kept = kept
        self.version = root.version

    def path(self) -> tuple[Step, ...]:
        """The steps from the root to here."""
        steps = []
        view: View | None = self
        while view is not None and view.op is not None:
            steps.append(Step(view.op, view.kept))
            view = view.parent
        steps.reverse()
        return tuple(steps)

    def peek(self) -> Any:
        """The region itself, for a look that keeps nothing."""
        array = self.root.array
        for step in self.path():
            array = step(array)
        return array

    def trace(self) -> tuple[Any, Node | None]:
        """The region itself and its node; for a view the nodes of its steps are made anew."""
        array, node = self.root.array, self.root.node
        for step in self.path():
            array = step(array)
            if node is not None:
                shape, dtype = backend.describe(array)
                node = Node(step.op, (node,), step.kept, shape, dtype, node.code, node.lasti)
        return array, node

    def first_node(self) -> Node | None:
        """The node of the root before any write, for the root's own handles."""
        return self.root.first if self.op is None else None

    def operand(self, handle: GradArray) -> tuple[Any, Node | None, Any]:
        """Array and node for an elementwise operation, and what its result has for a view."""
        self.refresh(handle)
        array = handle._array
        if type(array) is backend.NDARRAY or not backend.on_device(array):
            return array, handle._node, None
        return lazily(array), handle._node, LAZY

    def refresh(self, handle: GradArray) -> None:
        """Bring `handle` up to the newest version of the root."""
        root = self.root
        if self.version == root.version and handle._array is not None:
            return
        array, handle._node = self.trace()
        handle._array = lend(root, array)
        self.version = root.version


def lend(root: Root, array: Any) -> Any:
    """`array`, a region of a written root, as a value that later writes do not change."""
    if root.version == 0 or backend.is_scalar(array):
        return array
    if backend.repeats(array):
        return array  # a copy would be laid out otherwise
    if array.nbytes <= backend.SMALL_BYTES or array.nbytes * 4 <= root.array.nbytes:
        return backend.snapshot(array)
    return array if array is not root.array else array[...]


def view_of(handle: GradArray) -> View:
    """The view of `handle`, with a root made for it if it had none."""
    settle_handle(handle)
    if handle._view is None:
        handle._view = View(Root(handle._array, handle._node), None, None, ())
    return handle._view  # type: ignore[no-any-return]


def link(result: GradArray, source: GradArray, op: Any, kept: tuple[Any, ...]) -> None:
    """Make `result`, whose array is a view of `source`'s, a handle of the same root."""
    parent = source._view
    if parent is None or parent is LAZY:
        parent = view_of(source)
    root = parent.root
    result._view = view = _new(View)  # written out, as a node is in `written_out`
    view.root, view.parent, view.op, view.kept, view.version = root, parent, op, kept, root.version
    if root.version:
        result._array = lend(root, result._array)


def region(handle: GradArray) -> tuple[Any, Node | None]:
    """Array and node of `handle` for taking a view of: a written root is neither lent nor held."""
    settle_handle(handle)
    view = handle._view
    if view is None or not view.root.version:
        return handle._array, handle._node
    if view.version != view.root.version:
        return view.trace()  # type: ignore[no-any-return]
    return view.peek(), handle._node  # a lent copy may be laid out otherwise, and reshape asks


def share(handle: GradArray) -> Any:
    """Hand out the storage of a constant handle; later recorded writes to it are refused."""
    settle_handle(handle)
    array = handle._array
    if handle._view is None and backend.is_scalar(array):
        return backend.library(array).asarray(array)
    view = view_of(handle)
    if view.root.exported is None:
        view.root.own()
        view.root.exported = "a plain array was made of it"
    handle._array = view.peek()
    return handle._array


def _prepare(handle: GradArray, recorded: bool) -> View:
    """The view to write through, after every reason not to write was looked at."""
    settle_handle(handle)
    if handle._view is None and backend.is_scalar(handle._array):
        raise TypeError("npgrad: a scalar does not support item assignment, as in NumPy")
    view = view_of(handle)
    if view.root.locked:
        raise ValueError("assignment destination is read-only")
    if any(window() is not None for window in view.root.windows):
        raise InPlaceError(
            "npgrad: this would write into an array of which as_strided made windows; in a "
            "recording they are a copy, which would not see it. Instead: sliding_window_view, or "
            "indices; del the windows if they are not needed any more."
        )
    if view.root.exported is not None and recorded:
        raise InPlaceError(
            "npgrad: a recorded value would be written into a buffer of which a plain array was "
            "handed out (np.asarray); that array would not see the gradient."
            + recorded_at(view.root.node)
            + " Write before it is handed out, or write into x.copy()."
        )
    return view


def write(
    handle: GradArray,
    op: Any,
    index: Any,
    value: Any,
    value_node: Node | None,
    store: Any,
    kept: tuple[Any, ...],
    code: Any = None,
    lasti: int = -1,
) -> None:
    """Change a region of `handle`'s memory, and record it.

    Parameters
    ----------
    handle : GradArray
        What is written through: a root or a view.
    op : WriteOp
        How the reverse and forward sweeps treat the write.
    index, value : object
        Where and what, plain; NumPy's rules for an assignment hold.
    value_node : Node or None
        The node of `value`.
    store : callable
        ``store(region, index, value)``: the plain write.
    kept : tuple
        What `op` keeps besides the path.
    code, lasti : object
        The user's line.
    """
    root_node = view_of(handle).root.node if not backend.is_scalar(storage(handle)) else None
    view = _prepare(handle, value_node is not None or root_node is not None)
    root, path = view.root, view.path()
    handle._array = None  # drop this handle's own reference, so that it does not force a copy
    view.version = -1
    root.own()
    target = root.array
    for step in path:
        target = step(target)
    try:
        store(target, index, value)
    except BaseException:  # NumPy refused it: the program may go on with what was there
        view.refresh(handle)
        raise
    if updates_leaf(root):
        root.advance(root.node)
        return
    node = None
    if root.node is not None or value_node is not None:
        node = Node(
            op,
            (root.node, value_node),
            (path, index, *kept),
            root.array.shape,
            root.array.dtype,
            code,
            lasti,
        )
    root.advance(node)


def updates_leaf(root: Root) -> bool:
    """Whether a write gives a leaf another value: one of `npgrad.array`'s, under `npgrad.no_grad`.

    It stays the leaf that it was, and gradients of what was recorded before add to it as well. The
    argument of a transform is no such leaf: what is written there under `no_grad` is constant.
    """
    node, mode = root.node, MODE.get()
    if mode is None or mode.recording or node is None or node is not root.first:
        return False
    return type(node.op) is Leaf and node.op.own


def replace(handle: GradArray, array: Any, node: Node | None) -> None:
    """Give `handle`, a root or an unviewed handle, a new value as a whole (``x += y``)."""
    settle_handle(handle)
    if backend.layout(array) != backend.layout(storage(handle)):
        made = backend.zeros(array, array.shape, array.dtype, backend.layout(storage(handle)))
        made[...] = array  # views and reshapes depend on the layout, which a write does not change
        array = made
    if handle._view is None:
        if handle._node is None or type(handle._node.op) is not Leaf:
            handle._array, handle._node = array, node
            return
        view_of(handle)
    root = _prepare(handle, node is not None).root
    if root.exported is not None:
        root.array[...] = array
    else:
        root.array = array
    root.advance(root.node if updates_leaf(root) else node)
    handle._array = None
